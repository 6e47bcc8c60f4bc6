// SPDX-License-Identifier: Apache-2.0
// /captures/latest?rule=NAME: goes to the newest capture that fits, for bookmarks and runbooks. Takes what the list's
// address takes.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useMade } from "../api/ask";
import { findCaptures } from "../api/captures";
import { useAddress } from "../ui/address";
import { Empty, Heading, Shown, Text } from "../ui/parts";
import { count } from "../ui/units";

const MOST = 2000;

export default function Latest(): JSX.Element {
  const { path, route } = useLocation();
  const { get } = useAddress();
  /* On the way to the capture the address is the capture's already, while this page still stands. */
  const asked = useRef(["", "", "", ""] as [string, string, string, string]);
  if (path === "/captures/latest") asked.current = [get("rule"), get("kind"), get("selector"), get("status")];
  const [rule, kind, selector, status] = asked.current;
  const found = useMade(`latest ${JSON.stringify([rule, kind, selector, status])}`, (signal) =>
    findCaptures(
      { selector, status },
      (capture) => (rule === "" || capture.trigger?.rule === rule) && (kind === "" || capture.kind === kind),
      { want: 1, most: MOST },
      signal,
    ),
  );
  const newest = found.data?.items[0]?.capture;
  useEffect(() => {
    if (newest !== undefined) route(`/captures/${encodeURIComponent(newest)}`, true);
  }, [newest]);
  return (
    <>
      <Heading title="The newest capture" />
      <Shown of={found} what="the newest capture">
        {(data) =>
          newest !== undefined ? (
            <p>Going there…</p>
          ) : (
            <Empty title="There is none">
              <p>
                {data.next === undefined ? "No capture" : `None of the newest ${count(data.looked)} captures`} fits
                {rule !== "" && (
                  <>
                    {" "}
                    the rule <Text text={rule} most={80} />
                  </>
                )}
                . <a href="/captures">All captures</a>
              </p>
            </Empty>
          )
        }
      </Shown>
    </>
  );
}
