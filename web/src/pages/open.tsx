// SPDX-License-Identifier: Apache-2.0
// A .skein file, opened by drag or picker: read by a worker of this browser, sent nowhere. What it holds, what it says,
// and its timeline.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { FileFindings, FileGaps, FileProcesses, FileSummary } from "../manage/file-report";
import "../manage/manage.css";
import { Timeline } from "../timeline/timeline";
import { openTrace } from "../trace/client";
import { Command, Heading } from "../ui/parts";
import { shown } from "../ui/text";

/* A file may be dropped anywhere on the page. */
function useDrop(take: (file: File) => void): boolean {
  const [over, setOver] = useState(false);
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    const holdsFile = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true;
    const enter = (event: DragEvent) => {
      if (!holdsFile(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      if (!holdsFile(event)) return;
      event.preventDefault();
      setOver(false);
      const file = event.dataTransfer?.files[0];
      if (file !== undefined) latest.current(file);
    };
    const told: readonly (readonly [string, (event: DragEvent) => void])[] = [["dragenter", enter], ["dragover", enter], ["dragleave", leave], ["drop", drop]];
    for (const [name, listener] of told) addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of told) removeEventListener(name, listener as EventListener);
    };
  }, []);
  return over;
}

function Picker(props: { take: (file: File) => void; label: string }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" class="button first" onClick={() => input.current?.click()}>
        {props.label}
      </button>
      <input
        ref={input}
        type="file"
        accept=".skein"
        class="visually-hidden"
        tabIndex={-1}
        aria-label="A .skein file"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = "";
          if (file !== undefined) props.take(file);
        }}
      />
    </>
  );
}

function Lesson(props: { take: (file: File) => void; over: boolean }): JSX.Element {
  return (
    <div class="page">
      <Heading title="Open a file" />
      <div class={`drop ${props.over ? "over" : ""}`}>
        <p>Drop a .skein file here. It is read in this browser, and sent nowhere.</p>
        <Picker take={props.take} label="Choose a file" />
      </div>
      <p>A file comes from a capture, or from what another tool has recorded:</p>
      <Command text="skein fetch CAPTURE -o a.skein" />
      <Command text="skein import perf perf.data -o a.skein" />
    </div>
  );
}

function Opened(props: { file: File; take: (file: File) => void }): JSX.Element {
  const { file } = props;
  const trace = useMemo(() => openTrace(file), [file]);
  useEffect(() => () => trace.close(), [trace]);
  const { phase, problem } = trace.state.value;
  if (phase === "failed")
    return (
      <div class="page">
        <Heading title={file.name} />
        <div class="note bad" role="alert">
          <p>
            <strong>This is no trace that can be read.</strong> {shown(problem?.text ?? "Its end does not read as that of a .skein file.", 1000)}
          </p>
          <p>What of it is whole, and which rule of the format is broken at which byte, says</p>
          <Command text="skein check FILE" />
        </div>
        <Picker take={props.take} label="Choose another file" />
      </div>
    );
  return (
    <>
      <Timeline trace={trace} title={file.name}>
        <Picker take={props.take} label="Choose another file" />
      </Timeline>
      <div class="page">
        <FileGaps trace={trace} />
        <FileFindings trace={trace} />
        <h2>What the file holds</h2>
        <FileSummary trace={trace} file={file} />
        <FileProcesses trace={trace} />
      </div>
    </>
  );
}

export default function Open(): JSX.Element {
  const [file, setFile] = useState<{ file: File; number: number }>();
  const take = (next: File) => setFile((old) => ({ file: next, number: (old?.number ?? 0) + 1 }));
  const over = useDrop(take);
  return file === undefined ? <Lesson take={take} over={over} /> : <Opened key={file.number} file={file.file} take={take} />;
}
