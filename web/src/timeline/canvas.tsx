// SPDX-License-Identifier: Apache-2.0
// The canvas of the tracks: its size, its frames, the pointer and the hover text. One frame at a time, drawn when the
// model has changed; it never waits for the worker.
import { effect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { settings } from "../ui/settings";
import { type Palette, paletteOf } from "./colours";
import { type Finder, firstFrom } from "./find";
import { hoverWords, sampleWords } from "./hover";
import type { Model } from "./model";
import { AXIS_PX, Painter } from "./paint";
import { type Below, Pointer } from "./pointer";
import { refOfPick } from "./select";
import { Strips } from "./strips";
import { valueWords } from "./words";

const REST_MS = 120; /* without a change the frame is drawn with all names */
const BESIDE_PX = 200; /* above and below what is seen: strips are there when it is scrolled to */
const HOVER_MS = 150; /* the pointer rests: arguments are asked for */

/* Draws when something has changed, at most once a frame of the screen. */
class Drawing {
  private asked = 0;
  private rest: ReturnType<typeof setTimeout> | undefined;
  private palette: Palette | null = null;
  readonly strips: Strips;
  private readonly painter: Painter;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly model: Model,
    private readonly finder: Finder,
  ) {
    this.strips = new Strips(model.trace, () => this.soon());
    this.painter = new Painter(model, this.strips);
  }

  forgetColours(): void {
    this.palette = null;
    this.soon();
  }

  soon(): void {
    this.asked ||= requestAnimationFrame(() => {
      this.asked = 0;
      this.frame(true);
      clearTimeout(this.rest);
      this.rest = setTimeout(() => this.frame(false), REST_MS);
    });
  }

  stop(): void {
    cancelAnimationFrame(this.asked);
    clearTimeout(this.rest);
  }

  private frame(moving: boolean): void {
    const { canvas, model } = this;
    const { width, height } = model.size.peek();
    const context = canvas.getContext("2d", { alpha: false });
    if (context === null || width < 1) return;
    const scale = Math.min(devicePixelRatio, 2);
    const [pxWidth, pxHeight] = [Math.round(width * scale), Math.round((height + AXIS_PX) * scale)];
    if (canvas.width !== pxWidth || canvas.height !== pxHeight) [canvas.width, canvas.height] = [pxWidth, pxHeight];
    context.setTransform(scale, 0, 0, scale, 0, 0);
    this.palette ??= paletteOf(canvas);
    const { palette } = this;
    this.painter.frame({ context, width, height: height + AXIS_PX, palette, moving, matches: this.matches() });
    const { ink, key } = this.painter.ink(palette);
    this.strips.want({
      span: model.view.peek(),
      width: pxWidth,
      rows: model.rowsInView(BESIDE_PX),
      generation: model.trace.state.peek().generation,
      length: model.length,
      ink,
      inkKey: key,
    });
  }

  private matches(): number[] {
    const { result } = this.finder.found.peek();
    if (result === null) return [];
    const { from, to } = this.model.view.peek();
    const times: number[] = [];
    const apart = (to - from) / this.model.size.peek().width;
    for (let i = firstFrom(result, from); i < result.kept && result.begin[i]! <= to; i++) {
      const time = result.begin[i]!;
      if (times.length === 0 || time - times[times.length - 1]! >= apart) times.push(time);
    }
    return times;
  }
}

/* The hover text, with arguments when the pointer rests on one event. */
function hoverFollow(model: Model): (below: Below | null, x: number, y: number) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let round = 0;
  const more = async (below: Below, x: number, y: number, mine: number): Promise<void> => {
    const sample = below.picked?.lane.kind === "sample";
    if (below.picked === null || !(sample || (below.picked.lane.kind === "region" && below.picked.row))) return;
    const ref = await refOfPick(model, below.picked);
    const details = ref === null ? null : await model.trace.details(ref);
    if (details === null || mine !== round) return;
    const args = details.args.slice(0, 6).map((arg) => `${valueWords(arg.name, "", false)}=${valueWords(arg.value, arg.unit, arg.pointer).slice(0, 120)}`);
    const source = details.file === "" ? [] : [valueWords(`${details.file}:${details.line}`, "", false)];
    const [first, ...rest] = hoverWords(model, below);
    const words = sample ? [sampleWords(first ?? "", below.picked.row, details), ...rest] : [first ?? "", ...rest, ...args, ...source];
    model.hovered.value = { x, y, row: below.row, time: below.time, words };
  };
  return (below, x, y) => {
    clearTimeout(timer);
    const mine = ++round;
    if (below === null) {
      model.hovered.value = null;
      return;
    }
    model.hovered.value = { x, y, row: below.row, time: below.time, words: hoverWords(model, below) };
    timer = setTimeout(() => void more(below, x, y, mine).catch(() => undefined), HOVER_MS);
  };
}

/* What a frame is made of: any change asks for one. */
function framesFollow(model: Model, finder: Finder, drawing: Drawing): () => void {
  return effect(() => {
    void [
      model.view.value, model.scroll.value, model.size.value, model.tracks.value, model.selected.value, model.span.value,
      model.marked.value, model.timeMode.value, model.trace.state.value.generation, model.trace.at.value,
      model.trace.types.value, finder.found.value, settings.zone.value,
    ];
    drawing.soon();
  });
}

function start(canvas: HTMLCanvasElement, model: Model, finder: Finder): () => void {
  const drawing = new Drawing(canvas, model, finder);
  const pointer = new Pointer(canvas, model, drawing.strips, hoverFollow(model));
  const detach = pointer.attach();
  const followed = framesFollow(model, finder, drawing);
  const theme = new MutationObserver(() => drawing.forgetColours());
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const sizes = new ResizeObserver(() => {
    const box = canvas.getBoundingClientRect();
    model.size.value = { width: Math.floor(box.width), height: Math.max(40, Math.floor(box.height) - AXIS_PX) };
    model.scrollTo(model.scroll.peek());
  });
  sizes.observe(canvas);
  return () => {
    detach();
    followed();
    theme.disconnect();
    sizes.disconnect();
    drawing.stop();
  };
}

function Hover(props: { model: Model }): JSX.Element | null {
  const hovered = props.model.hovered.value;
  if (hovered === null || hovered.words.length === 0) return null;
  const { width, height } = props.model.size.value;
  const left = hovered.x > width / 2;
  const top = hovered.y > height / 2;
  return (
    <div
      class="tl-hover"
      role="tooltip"
      style={{
        [left ? "right" : "left"]: `${(left ? width - hovered.x : hovered.x) + 12}px`,
        [top ? "bottom" : "top"]: `${(top ? height + AXIS_PX - hovered.y : hovered.y) + 12}px`,
      }}
    >
      {hovered.words.map((line, i) => (
        <div key={i} class={i === 0 ? "tl-hover-first" : ""}>
          {line}
        </div>
      ))}
    </div>
  );
}

export function TracksCanvas(props: { model: Model; finder: Finder; label: string; instructions: string }): JSX.Element {
  const { model, finder } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => (canvas.current === null ? undefined : start(canvas.current, model, finder)), [model, finder]);
  return (
    <div class="tl-canvas-wrap">
      <canvas
        ref={canvas}
        class="tl-canvas"
        tabIndex={0}
        role="application"
        aria-label={props.label}
        aria-describedby={props.instructions}
        data-timeline-keys=""
      />
      <Hover model={model} />
    </div>
  );
}
