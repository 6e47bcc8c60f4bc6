// SPDX-License-Identifier: Apache-2.0
// Mouse, wheel, touch and pinch on the canvas: drag pans, Shift-drag selects a span, the wheel scrolls tracks, Ctrl and
// the wheel zoom at the pointer, two fingers pinch, a click selects, a double click fits.
import { told, wheelFactor, wheelPixels } from "./actions";
import type { Model } from "./model";
import { AXIS_PX } from "./paint";
import { type Picked, pickLanes, pickLoss, refOfPick, selectPick, selectRef } from "./select";
import type { Strips } from "./strips";
import { bandAt, rowAt, type Row } from "./tracks";
import { type Span, lengthOf, panned, zoomed } from "./zoom";

const CLICK_PX = 4;

interface Drag {
  kind: "pan" | "span" | "pinch";
  x: number;
  y: number;
  view: Span;
  scroll: number;
  moved: boolean;
}

export interface Below {
  row: Row;
  time: number;
  picked: Picked | null;
  lost: Picked | null;
}

export class Pointer {
  private readonly fingers = new Map<number, { x: number; y: number }>();
  private drag: Drag | null = null;
  private fit = 0; /* distance of two fingers, when they came */

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly model: Model,
    private readonly strips: Strips,
    private readonly hover: (below: Below | null, x: number, y: number) => void,
  ) {}

  timeAt(x: number): number {
    const { from, to } = this.model.view.peek();
    return from + (x / this.model.size.peek().width) * (to - from);
  }

  below(x: number, y: number): Below | null {
    const { rows } = this.model.tracks.peek();
    const down = y - AXIS_PX + this.model.scroll.peek();
    const row = y < AXIS_PX ? undefined : rows[rowAt(rows, down)];
    if (row === undefined) return null;
    const time = this.timeAt(x);
    const near = (3 * lengthOf(this.model.view.peek())) / this.model.size.peek().width;
    const set = this.strips.near ?? this.strips.whole;
    const band = bandAt(row, down - row.y);
    const picked = band === undefined ? null : pickLanes(set, band.lanes, time, near);
    return { row, time, picked, lost: pickLoss(set, row, time, near) };
  }

  attach(): () => void {
    const { canvas } = this;
    const on: [string, (event: never) => void, AddEventListenerOptions?][] = [
      ["pointerdown", this.down],
      ["pointermove", this.move],
      ["pointerup", this.up],
      ["pointercancel", this.up],
      ["pointerleave", this.leave],
      ["wheel", this.wheel, { passive: false }],
      ["dblclick", this.double],
    ];
    for (const [name, act, options] of on) canvas.addEventListener(name, act as EventListener, options);
    return () => on.forEach(([name, act]) => canvas.removeEventListener(name, act as EventListener));
  }

  private place(event: MouseEvent): { x: number; y: number } {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  private readonly down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    const { x, y } = this.place(event);
    this.fingers.set(event.pointerId, { x, y });
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.focus({ preventScroll: true });
    const [view, scroll] = [this.model.view.peek(), this.model.scroll.peek()];
    const kind = this.fingers.size > 1 ? "pinch" : event.shiftKey || y < AXIS_PX ? "span" : "pan";
    this.drag = { kind, x, y, view, scroll, moved: kind === "pinch" };
    if (kind === "pinch") this.fit = this.spread();
    this.hover(null, 0, 0);
  };

  private spread(): number {
    const [a, b] = [...this.fingers.values()];
    return a === undefined || b === undefined ? 1 : Math.max(1, Math.abs(a.x - b.x));
  }

  private readonly move = (event: PointerEvent): void => {
    const { x, y } = this.place(event);
    this.model.pointer.value = this.timeAt(x);
    const { drag } = this;
    if (drag === null) {
      this.hover(this.below(x, y), x, y);
      return;
    }
    if (this.fingers.has(event.pointerId)) this.fingers.set(event.pointerId, { x, y });
    drag.moved ||= Math.abs(x - drag.x) > CLICK_PX || Math.abs(y - drag.y) > CLICK_PX;
    if (!drag.moved) return;
    if (drag.kind === "pan") this.dragPan(drag, x, y);
    else if (drag.kind === "pinch") this.dragPinch(drag);
    else this.dragSpan(drag, x);
  };

  private dragPan(drag: Drag, x: number, y: number): void {
    const perPx = lengthOf(drag.view) / this.model.size.peek().width;
    this.model.view.value = panned(drag.view, (drag.x - x) * perPx, this.model.length);
    this.model.scrollTo(drag.scroll + drag.y - y);
  }

  private dragPinch(drag: Drag): void {
    const [a, b] = [...this.fingers.values()];
    if (a === undefined || b === undefined) return;
    const middle = (a.x + b.x) / 2;
    const at = drag.view.from + (middle / this.model.size.peek().width) * lengthOf(drag.view);
    this.model.view.value = zoomed(drag.view, at, this.fit / this.spread(), this.model.length);
  }

  private dragSpan(drag: Drag, x: number): void {
    const [a, b] = [this.timeAt(drag.x), this.timeAt(x)];
    const span = { from: Math.max(0, Math.min(a, b)), to: Math.min(this.model.length, Math.max(a, b)) };
    this.model.span.value = lengthOf(span) >= 1 ? span : null;
  }

  private readonly up = (event: PointerEvent): void => {
    this.fingers.delete(event.pointerId);
    const { drag } = this;
    if (drag === null || this.fingers.size > 0) return;
    this.drag = null;
    if (event.type === "pointercancel") return;
    const { x, y } = this.place(event);
    if (drag.kind === "span" && drag.moved) this.model.selectSpan(this.model.span.peek());
    else if (!drag.moved) this.click(x, y);
  };

  private click(x: number, y: number): void {
    const below = this.below(x, y);
    if (below?.picked != null) told(this.model, selectPick(this.model, below.picked));
    else if (below?.row.kind === "idle" || below?.row.kind === "vitals" || (below?.row.kind === "process" && below.row.folded)) this.model.toggleFold(below.row.key.replace(/^!/, ""));
  }

  private readonly double = (event: MouseEvent): void => {
    const { x, y } = this.place(event);
    const picked = this.below(x, y)?.picked ?? null;
    if (picked === null || picked.lane.kind !== "region") return;
    const fitPicked = async (): Promise<void> => {
      const ref = await refOfPick(this.model, picked);
      if (ref === null) return;
      await selectRef(this.model, ref);
      this.model.fitRef(ref);
    };
    told(this.model, fitPicked());
  };

  private readonly leave = (): void => {
    if (this.drag !== null) return;
    this.model.pointer.value = null;
    this.hover(null, 0, 0);
  };

  private readonly wheel = (event: WheelEvent): void => {
    event.preventDefault();
    const { x } = this.place(event);
    const { width, height } = this.model.size.peek();
    const down = wheelPixels(event.deltaY, event.deltaMode, height);
    const across = wheelPixels(event.deltaX, event.deltaMode, width);
    if (event.ctrlKey || event.metaKey) this.model.zoom(wheelFactor(event.ctrlKey && Math.abs(down) < 30 ? down * 4 : down), this.timeAt(x));
    else if (event.shiftKey || Math.abs(across) > Math.abs(down)) this.model.pan((event.shiftKey && across === 0 ? down : across) / width);
    else this.model.scrollTo(this.model.scroll.peek() + down);
  };
}
