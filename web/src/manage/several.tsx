// SPDX-License-Identifier: Apache-2.0
// Rules or policies that are pasted, as `skein rule apply FILE` takes them: what each would change is shown first, then
// they are put one by one. What somebody changes meanwhile is not overwritten.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { asRefused } from "../api/ask";
import { TextField } from "../ui/form";
import { Chip, Failure, Note, Table, Text } from "../ui/parts";
import { shown } from "../ui/text";
import { type Difference, type Json, type JsonObject, differences, parseSeveral } from "./document";
import { type Kind, isConflict, versionedGet, versionedPut, withoutState } from "./versioned";

interface Planned {
  name: string;
  mine: JsonObject;
  etag: string | "none" | undefined; /* of what is there */
  differ: Difference[];
  result?: "applied" | { refused: string };
}

/* What is there now, and how it differs from the pasted one. */
async function planned(kind: Kind, item: JsonObject): Promise<Planned> {
  const mine = withoutState(item);
  const name = String(mine["name"]);
  try {
    const there = await versionedGet<JsonObject>(kind, name);
    return { name, mine, etag: there.etag, differ: differences(withoutState(there.value), mine) };
  } catch (error) {
    if (asRefused(error).status !== 404) throw error;
    return { name, mine, etag: "none", differ: [] };
  }
}

/* What is there as it was pasted is not put: a version that changes nothing would go to every agent. */
function toPut(row: Planned): boolean {
  return row.result !== "applied" && (row.etag === "none" || row.differ.length > 0);
}

function words(of: Json | undefined): string {
  return of === undefined ? "– (not there)" : shown(typeof of === "string" ? of : JSON.stringify(of), 200);
}

function What(props: { of: Planned }): JSX.Element {
  const { result, etag, differ } = props.of;
  if (result === "applied") return <Chip kind="ok">applied</Chip>;
  if (result !== undefined) return <Chip kind="bad">refused</Chip>;
  return <Chip>{etag === "none" ? "new" : differ.length === 0 ? "as it is" : "changes"}</Chip>;
}

function Changes(props: { of: Planned }): JSX.Element {
  const { result, differ } = props.of;
  if (typeof result === "object") return <Text text={result.refused} most={600} />;
  if (differ.length === 0) return <>–</>;
  return (
    <ul class="lines">
      {differ.map((row) => (
        <li key={row.path}>
          <code>{shown(row.path, 200)}</code>: {words(row.theirs)} → {words(row.mine)}
        </li>
      ))}
    </ul>
  );
}

/* The plan of a text, and what became of it. */
function useSeveral(kind: Kind, text: string) {
  const [plan, setPlan] = useState<{ text: string; rows: Planned[] }>();
  const [refused, setRefused] = useState<ReturnType<typeof asRefused>>();
  const [busy, setBusy] = useState(false);
  const gone = useRef(false);
  useEffect(() => () => void (gone.current = true), []);
  const parsed = parseSeveral(text);
  const rows = plan !== undefined && plan.text === text ? plan.rows : undefined;
  const guarded = async (work: () => Promise<void>) => {
    setBusy(true);
    setRefused(undefined);
    await work().catch((error: unknown) => setRefused(asRefused(error)));
    setBusy(false);
  };
  const look = () =>
    guarded(async () => {
      const found: Planned[] = [];
      for (const item of parsed.items ?? []) found.push(await planned(kind, item));
      setPlan({ text, rows: found });
    });
  const apply = () =>
    guarded(async () => {
      const next = rows?.slice() ?? [];
      for (const [i, row] of next.entries()) {
        if (!toPut(row)) continue;
        if (gone.current) return; /* who leaves stops it */
        next[i] = { ...row, result: await applied(kind, row) };
        setPlan({ text, rows: next.slice() });
      }
    });
  return { parsed, rows, refused, busy, look, apply };
}

async function applied(kind: Kind, row: Planned): Promise<"applied" | { refused: string }> {
  try {
    await versionedPut(kind, row.name, row.mine, row.etag);
    return "applied";
  } catch (error) {
    return { refused: isConflict(error) ? "somebody has changed it meanwhile: look again at what would change" : asRefused(error).message };
  }
}

export function SeveralOf(props: { kind: Kind; close: () => void }): JSX.Element {
  const { noun, several } = props.kind;
  const [text, setText] = useState("");
  const { parsed, rows, refused, busy, look, apply } = useSeveral(props.kind, text);
  const wrong = text.trim() === "" || parsed.error === undefined ? undefined : `${parsed.error.line > 0 ? `line ${parsed.error.line}: ` : ""}${parsed.error.words}`;
  const left = rows?.filter(toPut).length ?? 0;
  const table = useRef<HTMLDivElement>(null);
  return (
    <>
      <TextField
        label={`One ${noun}, or an array of ${several}, as JSON`}
        hint={`as a file of skein ${noun} apply, or as skein ${noun} ls --json and GET ${props.kind.folder} give; their state is left out`}
        value={text}
        set={setText}
        wrong={wrong}
        disabled={busy}
        lines={14}
      />
      {refused !== undefined && <Failure error={refused} what={`The ${several} that are there could not be read`} />}
      {rows !== undefined && (
        <>
          <Table caption="What would change" seen place={table} head={<><th>Name</th><th>What</th><th>Changes: there now → pasted</th></>}>
            {rows.map((row) => (
              <tr key={row.name}>
                <td><Text text={row.name} most={100} /></td>
                <td><What of={row} /></td>
                <td class="words"><Changes of={row} /></td>
              </tr>
            ))}
          </Table>
          <Note><p>A {noun} is replaced as a whole: what the text leaves out gets its usual value. Others stay as they are.</p></Note>
        </>
      )}
      <div class="buttons">
        <button type="button" class={`button ${rows === undefined ? "first" : ""}`} disabled={busy || parsed.error !== undefined} onClick={() => void look()}>
          Show what would change
        </button>
        {rows !== undefined && left > 0 && (
          <button type="button" class="button first" disabled={busy} onClick={() => void apply().then(() => table.current?.focus())}>
            Apply {left === 1 ? `1 ${noun}` : `${left} ${several}`}
          </button>
        )}
        <button type="button" class="button" disabled={busy} onClick={props.close}>
          {rows !== undefined && left === 0 ? "Done" : "Cancel"}
        </button>
      </div>
    </>
  );
}
