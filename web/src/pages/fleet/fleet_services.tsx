// SPDX-License-Identifier: Apache-2.0
// Services with their processes, read anew every ten seconds; of a very large fleet the first 5,000 processes, and it
// says so.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useMade } from "../../api/ask";
import { getListing } from "../../api/client";
import { labelSelector } from "../../ui/label_selector";
import { Chip, Command, Empty, Note, Shown, Table, Text } from "../../ui/parts";
import { reasonWords } from "../../ui/gap_words";
import { bytes, count, duration, numeric } from "../../ui/units";
import { type Process, type Service, servicesOf } from "./services";

const PAGE = 1000;
const MOST = 5000;
const ROWS = 50; /* processes of a service that are listed here */

interface Fleet {
  processes: Process[];
  whole: boolean;
}

async function fleetRead(selector: string, signal: AbortSignal): Promise<Fleet> {
  const processes: Process[] = [];
  let cursor: string | undefined;
  do {
    const page = await getListing<Process>("/processes", { selector, gone: false, limit: PAGE, cursor }, signal);
    processes.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== undefined && processes.length < MOST);
  return { processes, whole: cursor === undefined };
}

function reach(service: Service): string {
  if (Number.isNaN(service.reachLeastMs)) return "–";
  const least = duration(service.reachLeastMs * 1e6);
  const most = duration(service.reachMostMs * 1e6);
  return least === most ? least : `${least} to ${most}`;
}

function ProcessLine(props: { of: Process }): JSX.Element {
  const { of } = props;
  return (
    <li>
      <a href={`/processes/${encodeURIComponent(of.process)}`}>
        <Text text={`${of.title ?? of.exe} [${of.pid}]`} most={100} />
      </a>{" "}
      on <Text text={of.host} most={64} />
      {of.status === "offline" && <> · its agent is offline</>}
      {of.not_recorded !== undefined ? (
        <> · not recorded: {reasonWords(of.not_recorded)}</>
      ) : (
        <>
          {" "}
          · reaches back {duration(numeric(of.reach_ms) * 1e6)} · {bytes(of.bytes_per_s)}/s
        </>
      )}
    </li>
  );
}

function Row(props: { of: Service }): JSX.Element {
  const { of } = props;
  const [open, setOpen] = useState(false);
  const selector = labelSelector("service", of.name);
  return (
    <>
      <tr>
        <th scope="row">
          <button type="button" class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? "▾" : "▸"} <Text text={of.name} most={80} />
          </button>
        </th>
        <td class="number">
          {count(of.live)}
          {of.offline > 0 && <> (+ {count(of.offline)} offline)</>}
        </td>
        <td class="number">{count(of.hosts)}</td>
        <td class="number">{reach(of)}</td>
        <td class="number">{bytes(of.bytesPerS)}/s</td>
        <td class="number">{of.lost > 0 ? <Chip kind="warn">⚠ {count(of.lost)}</Chip> : "0"}</td>
        <td class="number">{of.unrecorded > 0 ? <Chip kind="warn">⚠ {count(of.unrecorded)}</Chip> : "0"}</td>
      </tr>
      {open && (
        <tr>
          <td colSpan={7}>
            <ul class="lines">
              {of.processes.slice(0, ROWS).map((process) => (
                <ProcessLine key={process.process} of={process} />
              ))}
            </ul>
            {of.processes.length > ROWS && <p>{count(of.processes.length - ROWS)} further processes are not listed: filter by host.</p>}
            {selector !== undefined && <a href={`/captures?selector=${encodeURIComponent(selector)}`}>Captures of this service</a>}
          </td>
        </tr>
      )}
    </>
  );
}

function Services(props: { fleet: Fleet; selector: string }): JSX.Element {
  const { fleet } = props;
  if (fleet.processes.length === 0)
    return props.selector === "" ? (
      <Empty title="No process is recorded yet">
        <p>A program is recorded when it is started under the tracer, or linked with libskein:</p>
        <Command text="skein run --service NAME -- PROGRAM" />
      </Empty>
    ) : (
      <Empty title="No live process matches this selector">
        <p>
          A selector is a list of conditions, as in <code>service=checkout,zone in (a,b),!canary</code>.
        </p>
      </Empty>
    );
  const head = (
    <>
      <th>Service</th>
      <th class="number">Processes live</th>
      <th class="number">Hosts</th>
      <th class="number">Ring reaches back</th>
      <th class="number">Written</th>
      <th class="number">Events lost</th>
      <th class="number">Not recorded</th>
    </>
  );
  return (
    <>
      <Table caption="Services that run now" head={head}>
        {servicesOf(fleet.processes).map((service) => (
          <Row key={service.name} of={service} />
        ))}
      </Table>
      {!fleet.whole && (
        <Note kind="warn">
          <p>Only the first {count(fleet.processes.length)} processes are added up here; a selector shows the others.</p>
        </Note>
      )}
    </>
  );
}

export function FleetServices(props: { selector: string }): JSX.Element {
  const { selector } = props;
  const fleet = useMade(`fleet ${selector}`, (signal) => fleetRead(selector, signal), 10_000);
  return (
    <section aria-labelledby="services">
      <h2 id="services">Services</h2>
      <Shown of={fleet} what="the processes of the fleet">
        {(data) => <Services fleet={data} selector={selector} />}
      </Shown>
    </section>
  );
}
