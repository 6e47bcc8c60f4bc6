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

const WHAT = ["rule", "policy", "kind", "selector", "status"] as const;
const PAGES = 10; /* of captures that the selector is tried on */

export default function Latest(): JSX.Element {
  const { path, route } = useLocation();
  const { get } = useAddress();
  /* On the way to the capture the address is the capture's already, while this page still stands. */
  const asked = useRef<Readonly<Record<string, string>>>({});
  if (path === "/captures/latest") asked.current = Object.fromEntries(WHAT.map((what) => [what, get(what)]));
  const query = asked.current;
  const [began, name] = query.rule !== "" ? ["rule", query.rule ?? ""] : ["policy", query.policy ?? ""];
  const found = useMade(`latest ${JSON.stringify(query)}`, (signal) => findCaptures(query, () => true, { want: 1, pages: PAGES }, signal));
  const newest = found.data?.items[0]?.capture;
  useEffect(() => {
    if (newest !== undefined) route(`/captures/${encodeURIComponent(newest)}`, true);
  }, [newest]);
  return (
    <>
      <Heading title="The newest capture" />
      <Shown of={found} what="the newest capture">
        {(data) =>
          data.items.length > 0 ? (
            <p>Going there…</p>
          ) : (
            <Empty title="There is none">
              <p>
                {data.next === undefined ? "No capture fits" : "None of the newest captures fits"}
                {name !== "" && (
                  <>
                    {" "}
                    the {began} <Text text={name} most={80} />
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
