// SPDX-License-Identifier: Apache-2.0
// The capture outside of this page: downloads, lines for a terminal, the JSON as it is.
import type { JSX } from "preact";
import { address, part } from "../../api/client";
import type { Capture } from "../../ui/capture_words";
import { Command, Text } from "../../ui/parts";
import { shownLines } from "../../ui/text";
import { bytes, numeric } from "../../ui/units";

export function storedBytes(capture: Capture): number {
  return (capture.targets ?? []).reduce((sum, target) => sum + numeric(target.bytes), 0);
}

export function Downloads(props: { capture: Capture }): JSX.Element {
  const { capture } = props;
  const id = capture.capture;
  const path = `/captures/${part(id)}/trace`;
  return (
    <div class="buttons">
      <a class="button" href={address(path)} download={`${id}.skein`}>
        .skein ({bytes(storedBytes(capture))})
      </a>
      <a class="button" href={address(path, { format: "perfetto" })} download={`${id}.pftrace`}>
        Perfetto
      </a>
      <a class="button" href={address(path, { format: "pprof" })} download={`${id}.pb.gz`}>
        pprof
      </a>
      <a class="button" href={address(path, { format: "folded" })} download={`${id}.folded`}>
        folded stacks
      </a>
    </div>
  );
}

const MOST = 200_000;

export function Raw(props: { capture: Capture }): JSX.Element {
  const { capture } = props;
  const id = capture.capture;
  const here = location.origin;
  return (
    <>
      <p>
        These lines ask this collector; where tokens are needed, <code>SKEIN_TOKEN</code> holds yours.
      </p>
      <Command text={`skein report ${id} --collector ${here}`} />
      <Command text={`skein fetch ${id} -o ${id}.skein --collector ${here}`} />
      <Command text={`skein sql --remote ${id} --collector ${here} "select name, count(*), max(dur) from slice group by name"`} />
      <Command text={`curl -fH "Authorization: Bearer $SKEIN_TOKEN" -o ${id}.skein ${here}${address(`/captures/${id}/trace`)}`} />
      <details>
        <summary>
          The capture as JSON, <Text text={id} />
        </summary>
        <pre>{shownLines(JSON.stringify(capture, null, 1), MOST)}</pre>
      </details>
    </>
  );
}
