// SPDX-License-Identifier: Apache-2.0
// The strip above the tracks: the whole trace, how dense it is, where records are lost, the failure, and the window,
// which is moved and stretched here by the pointer, or by the arrow keys.
import { effect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { duration } from "../ui/units";
import { paletteOf } from "./colours";
import { type Density, tracedDensity } from "./density";
import { joinGaps } from "./gaps";
import type { Model } from "./model";
import { pointWords } from "./words";
import { type Span, clamped, lengthOf } from "./zoom";

const HEIGHT = 44;
const EDGE_PX = 7;

function draw(canvas: HTMLCanvasElement, model: Model, density: Density | null): void {
  const context = canvas.getContext("2d", { alpha: false });
  const width = canvas.clientWidth;
  if (context === null || width < 2) return;
  const scale = Math.min(devicePixelRatio, 2);
  if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
  if (canvas.height !== Math.round(HEIGHT * scale)) canvas.height = Math.round(HEIGHT * scale);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  const palette = paletteOf(canvas);
  const x = (time: number): number => (time / Math.max(model.length, 1)) * width;
  context.fillStyle = palette.surface2;
  context.fillRect(0, 0, width, HEIGHT);
  const share = density?.share ?? new Float64Array(0);
  context.fillStyle = palette.lineStrong;
  share.forEach((value, i) => {
    const high = value > 0 ? Math.max(1, value * (HEIGHT - 8)) : 0;
    context.fillRect((i / share.length) * width, HEIGHT - high, width / share.length + 0.5, high);
  });
  for (const span of density?.lost ?? []) drawLost(context, x(span.from), Math.max(x(span.to), x(span.from) + 3), palette.bad);
  drawWindow(context, x(model.view.peek().from), x(model.view.peek().to), width, palette);
  const at = model.trace.at.peek();
  if (at === null) return;
  context.fillStyle = palette.bad;
  context.beginPath();
  context.moveTo(x(at) - 6, 0);
  context.lineTo(x(at) + 6, 0);
  context.lineTo(x(at), 9);
  context.fill();
  context.fillRect(x(at) - 0.5, 0, 1, HEIGHT);
}

function drawLost(context: CanvasRenderingContext2D, from: number, to: number, colour: string): void {
  context.save();
  context.beginPath();
  context.rect(from, 0, to - from, HEIGHT);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  for (let at = from - HEIGHT; at < to; at += 6) {
    context.beginPath();
    context.moveTo(at, HEIGHT);
    context.lineTo(at + HEIGHT, 0);
    context.stroke();
  }
  context.restore();
}

function drawWindow(context: CanvasRenderingContext2D, from: number, to: number, width: number, palette: { surface: string; accent: string }): void {
  context.save();
  context.globalAlpha = 0.6;
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, from, HEIGHT);
  context.fillRect(to, 0, width - to, HEIGHT);
  context.restore();
  context.strokeStyle = palette.accent;
  context.lineWidth = 2;
  context.strokeRect(from, 1, Math.max(to - from, 3), HEIGHT - 2);
}

/* The window by the pointer: its edges stretch it, its inside moves it, beside it a new one is drawn. */
function brush(canvas: HTMLCanvasElement, model: Model): () => void {
  let drag: { kind: "from" | "to" | "move" | "new"; at: number; view: Span } | null = null;
  const timeAt = (event: PointerEvent): number => {
    const box = canvas.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1) * model.length;
  };
  const down = (event: PointerEvent): void => {
    const at = timeAt(event);
    const view = model.view.peek();
    const edge = (EDGE_PX / canvas.clientWidth) * model.length;
    const kind = Math.abs(at - view.from) < edge ? "from" : Math.abs(at - view.to) < edge ? "to" : at > view.from && at < view.to ? "move" : "new";
    drag = { kind, at, view };
    canvas.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent): void => {
    if (drag === null) return;
    const at = timeAt(event);
    const { view } = drag;
    if (drag.kind === "move") model.show(clamped({ from: view.from + at - drag.at, to: view.to + at - drag.at }, model.length));
    else {
      const other = drag.kind === "from" ? view.to : drag.kind === "to" ? view.from : drag.at;
      if (Math.abs(at - other) > 0) model.show({ from: Math.min(at, other), to: Math.max(at, other) });
    }
  };
  const up = (event: PointerEvent): void => {
    if (drag !== null && drag.kind === "new" && Math.abs(timeAt(event) - drag.at) * canvas.clientWidth < 3 * model.length) {
      const half = lengthOf(drag.view) / 2;
      model.show({ from: drag.at - half, to: drag.at + half });
    }
    drag = null;
  };
  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  return () => {
    canvas.removeEventListener("pointerdown", down);
    canvas.removeEventListener("pointermove", move);
    canvas.removeEventListener("pointerup", up);
    canvas.removeEventListener("pointercancel", up);
  };
}

/* The collector's density where it was given; else that of what is read, made anew as more is. */
function useDensity(model: Model, given: Density | null): Density | null {
  const [made, setMade] = useState<Density | null>(null);
  const { generation } = model.trace.state.value;
  const lanes = model.trace.lanes.value;
  useEffect(() => {
    if (given !== null) return;
    let over = false;
    const timer = setTimeout(() => {
      tracedDensity(model.trace, joinGaps(model.trace.gaps.peek())).then(
        (density) => !over && density !== null && setMade(density),
        () => undefined,
      );
    }, 100);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [given, generation, lanes]);
  return given ?? made;
}

export function OverviewStrip(props: { model: Model; density: Density | null }): JSX.Element {
  const { model } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const density = useDensity(model, props.density);
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const paint = (): void => draw(element, model, density);
    const stop = effect(() => {
      void [model.view.value, model.trace.at.value, model.trace.length.value];
      paint();
    });
    const sizes = new ResizeObserver(paint);
    const theme = new MutationObserver(paint);
    sizes.observe(element);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const unbrush = brush(element, model);
    return () => {
      stop();
      sizes.disconnect();
      theme.disconnect();
      unbrush();
    };
  }, [model, density]);
  const view = model.view.value;
  const middle = (view.from + view.to) / 2;
  const keys = (event: KeyboardEvent): void => {
    const way = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (way === 0) return;
    event.preventDefault();
    event.stopPropagation();
    model.pan(way * (event.shiftKey ? 0.9 : 0.15));
  };
  return (
    <canvas
      ref={canvas}
      class="tl-overview"
      tabIndex={0}
      role="slider"
      aria-label={`The whole time, ${duration(model.trace.length.value)}: ${density?.what ?? "being read"}. The window is moved by the arrow keys`}
      aria-valuemin={0}
      aria-valuemax={Math.round(model.trace.length.value)}
      aria-valuenow={Math.round(middle)}
      aria-valuetext={`${duration(lengthOf(view))} from ${pointWords(view.from, model.base)}`}
      title={`The whole time: ${density?.what ?? "being read"}`}
      onKeyDown={keys}
    />
  );
}
