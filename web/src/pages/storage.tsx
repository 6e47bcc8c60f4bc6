// SPDX-License-Identifier: Apache-2.0
// What takes how much room on the collector's disk, the quotas, and what will go next.
import type { JSX } from "preact";
import { useAsk, useMade } from "../api/ask";
import { type Listing, type Schemas, get, part } from "../api/client";
import "../manage/manage.css";
import { type Going, nextToGo } from "../manage/going";
import { labelSelector } from "../ui/label_selector";
import { Bar, Chip, Fact, Facts, Heading, Note, Shown, Table, Text, Time } from "../ui/parts";
import { bytes, count, numeric, share } from "../ui/units";

type Storage = Schemas["Storage"];

function Disk(props: { storage: Storage }): JSX.Element {
  const { storage } = props;
  const free = numeric(storage.free_bytes);
  const used = numeric(storage.bytes);
  const max = storage.quota.max_bytes;
  return (
    <>
      {storage.status === "full" && (
        <Note kind="bad">
          <p>
            <strong>The disk is full.</strong> Neither captures nor partitions are taken until {bytes(storage.min_free_bytes)} are free. Delete captures, lower their time to be kept, or give the disk more room.
          </p>
        </Note>
      )}
      {storage.quota.status === "exceeded" && (
        <Note kind="warn">
          <p>
            <strong>A quota is exceeded,</strong> and nothing more may be deleted: <Text text={storage.quota.reason ?? ""} />
          </p>
        </Note>
      )}
      <Facts>
        <Fact name="Disk"><Chip kind={storage.status === "ok" ? "ok" : "bad"}>{storage.status}</Chip></Fact>
        <Fact name="Free on disk">{bytes(free)}; {bytes(storage.min_free_bytes)} must stay free</Fact>
        <Fact name="Segments">
          {bytes(used)} in {count(storage.segments)} {numeric(storage.segments) === 1 ? "file" : "files"}
          {used + free > 0 && <Bar share={used / (used + free)} words={`${share(used / (used + free))} of what this disk has for it`} />}
        </Fact>
        <Fact name="… of these captured">{bytes(storage.live_bytes)}; a partition counts once, however many captures share it</Fact>
        <Fact name="… to be given back">{bytes(storage.dead_bytes)}, by compaction</Fact>
        {storage.catalog_bytes !== undefined && <Fact name="Rows about captures">{bytes(storage.catalog_bytes)}</Fact>}
        <Fact name="Quota">
          {max === undefined ? (
            <>none; <code>retention.max_bytes</code> of the collector's configuration sets one</>
          ) : (
            <>
              {bytes(used)} of {bytes(max)}
              <Bar share={used / Math.max(1, numeric(max))} words={`${bytes(used)} of ${bytes(max)}`} />
            </>
          )}
        </Fact>
      </Facts>
    </>
  );
}

function OfService(props: { service: string }): JSX.Element {
  const selector = labelSelector("service", props.service);
  const name = <Text text={props.service === "" ? "(no service)" : props.service} most={120} />;
  return selector === undefined ? name : <a href={`/captures?selector=${part(selector)}`}>{name}</a>;
}

function Services(props: { storage: Storage }): JSX.Element {
  const { services } = props.storage;
  const all = Math.max(1, numeric(props.storage.live_bytes));
  if (services.length === 0) return <p>Nothing is stored yet: what a rule, a policy or a request captures comes here.</p>;
  return (
    <Table caption="Services" head={<><th>Service</th><th class="number">Bytes</th><th>Share of all</th><th class="number">Quota</th></>}>
      {services.map((service) => (
        <tr key={service.service}>
          <td>
            <OfService service={service.service} />
          </td>
          <td class="number">{bytes(service.bytes)}</td>
          <td class="row-bar"><Bar share={numeric(service.bytes) / all} words={share(numeric(service.bytes) / all)} /></td>
          <td class="number">{service.max_bytes === undefined ? "none" : bytes(service.max_bytes)}</td>
        </tr>
      ))}
    </Table>
  );
}

/* ---- what goes next ---- */

const PAGES = 20;

async function all(signal: AbortSignal): Promise<Going> {
  const captures: Schemas["Capture"][] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const listing: Listing<Schemas["Capture"]> = await get("/captures", { limit: 500, cursor }, signal);
    captures.push(...listing.items);
    cursor = listing.next_cursor;
    if (cursor === undefined) break;
  }
  return nextToGo(captures, cursor === undefined);
}

function GoingTable(props: { caption: string; captures: readonly Schemas["Capture"][] }): JSX.Element {
  return (
    <Table caption={props.caption} head={<><th>Capture</th><th>Began</th><th>Kind</th><th>By</th><th>Goes</th></>}>
      {props.captures.map((capture) => (
        <tr key={capture.capture}>
          <td><a href={`/captures/${part(capture.capture)}`}>{capture.capture.slice(0, 12)}</a></td>
          <td><Time at={capture.created} /></td>
          <td>{capture.kind}</td>
          <td><Text text={capture.trigger?.rule ?? capture.trigger?.policy ?? capture.trigger?.type ?? "–"} most={100} /></td>
          <td class="nowrap">{capture.expires === undefined ? "not by time" : <Time at={capture.expires} short />}</td>
        </tr>
      ))}
    </Table>
  );
}

function Next(): JSX.Element {
  const answer = useMade("what goes next", all);
  return (
    <section aria-label="What will go next">
      <h2>What will go next</h2>
      <Shown of={answer} what="what will go next">
        {(going) => (
          <>
            <p>
              Of {going.complete ? "all" : "the newest"} {count(going.looked)} captures {count(going.pinned)} are pinned and {count(going.running)} run: those go neither by time nor by quota.
              {going.complete ? "" : " Older ones were not looked at."}
            </p>
            {going.byTime.length > 0 ? (
              <>
                <h3>By time</h3>
                <GoingTable caption="What goes by time, the next first" captures={going.byTime} />
              </>
            ) : (
              <p>Nothing goes by time.</p>
            )}
            {going.byQuota.length > 0 && (
              <>
                <h3>By quota</h3>
                <p>Where a quota is exceeded the oldest go first, if that frees something:</p>
                <GoingTable caption="What goes by quota, the next first" captures={going.byQuota} />
              </>
            )}
          </>
        )}
      </Shown>
    </section>
  );
}

export default function StoragePage(): JSX.Element {
  const answer = useAsk<Storage>("/storage", {}, 10_000);
  return (
    <>
      <Heading title="Storage" />
      <Shown of={answer} what="the storage">
        {(storage) => (
          <>
            <Disk storage={storage} />
            <h2>Services</h2>
            <Services storage={storage} />
          </>
        )}
      </Shown>
      <Next />
    </>
  );
}
