// SPDX-License-Identifier: Apache-2.0
// A long list of which only the rows in view are in the page; heights are measured.
import { Virtualizer, elementScroll, measureElement, observeElementOffset, observeElementRect } from "@tanstack/virtual-core";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export function VirtualList<T>(props: {
  items: readonly T[];
  keyOf: (item: T) => string | number;
  row: (item: T) => ComponentChildren;
  label: string;
  height: number; /* of a row, as long as it is not measured, px */
}): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const [, draw] = useState(0);
  const [virtual] = useState(
    () => new Virtualizer<HTMLDivElement, HTMLDivElement>({
      count: 0,
      getScrollElement: () => scroller.current,
      estimateSize: () => props.height,
      scrollToFn: elementScroll,
      observeElementRect,
      observeElementOffset,
    }),
  );
  virtual.setOptions({
    ...virtual.options,
    count: props.items.length,
    getItemKey: (index) => {
      const item = latest.current.items[index];
      return item === undefined ? index : latest.current.keyOf(item);
    },
    measureElement,
    overscan: 6,
    onChange: () => draw((n) => n + 1),
  });
  useEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());
  return (
    <div class="live-list" ref={scroller} tabIndex={0} role="region" aria-label={props.label}>
      <div class="live-inner" role="list" style={{ height: `${virtual.getTotalSize()}px` }}>
        {virtual.getVirtualItems().map((place) => {
          const item = props.items[place.index];
          return item === undefined ? null : (
            <div
              key={place.key as string}
              class="live-row"
              role="listitem"
              aria-setsize={props.items.length}
              aria-posinset={place.index + 1}
              data-index={place.index}
              ref={(element: HTMLDivElement | null) => virtual.measureElement(element)}
              style={{ transform: `translateY(${place.start}px)` }}
            >
              {props.row(item)}
            </div>
          );
        })}
      </div>
    </div>
  );
}
