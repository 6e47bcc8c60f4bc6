// SPDX-License-Identifier: Apache-2.0
// The timeline of a made trace, for looking at it and for measuring its frames (tests/look/look.mjs): no collector.
import { render } from "preact";
import { LocationProvider } from "preact-iso";
import "../../src/style/theme.css";
import "../../src/style/base.css";
import "../../src/style/parts.css";
import { onFrames } from "../../src/timeline/canvas";
import { Timeline } from "../../src/timeline/timeline";
import { Toast } from "../../src/ui/parts";
import { settingsFollow } from "../../src/ui/settings";
import { madeTrace } from "../unit/made_trace";

const ask = new URLSearchParams(location.hash.slice(1));
const number = (name: string, otherwise: number): number => Number(ask.get(name) ?? otherwise);
const trace = madeTrace({
  processes: number("processes", 4),
  threads: number("threads", 6),
  rows: number("rows", 400),
  hostile: ask.has("hostile"),
});

const times: Record<"frame" | "strips", number[]> = { frame: [], strips: [] };
onFrames((what, ms) => times[what].push(ms));
Object.assign(globalThis, { madeFrames: times.frame, madeStrips: times.strips });
settingsFollow();
render(
  <LocationProvider>
    <main class="frame-main wide">
      <Timeline trace={trace} title="shop-ready fired · /readyz did not answer within 500 ms" linked>
        <a href="/captures/x">The capture</a>
      </Timeline>
    </main>
    <Toast />
  </LocationProvider>,
  document.getElementById("console")!,
);
