// SPDX-License-Identifier: Apache-2.0
// What the reader chooses for this browser, who the reader is, and all keys.
import type { JSX } from "preact";
import { logOut, who } from "../api/who";
import { KEYS, keyWords } from "../timeline/keys";
import { ChoiceField } from "../ui/form";
import { Fact, Facts, Heading, Table, Text, Time } from "../ui/parts";
import { choose, settings } from "../ui/settings";

function Keys(): JSX.Element {
  return (
    <>
      <h2>Keys of the timeline</h2>
      <p>No key works while a field has the focus. On the timeline <kbd>?</kbd> shows them, too.</p>
      <Table caption="Keys" head={<><th>Key</th><th>What it does</th><th>For</th></>}>
        {KEYS.map((key) => (
          <tr key={key.action}>
            <td>
              {key.keys.map((keys, i) => (
                <span key={keys}>
                  {i > 0 && " or "}
                  <kbd>{keyWords(keys)}</kbd>
                </span>
              ))}
            </td>
            <td>{key.words}</td>
            <td>{key.group}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

const VIA = { local: "no token exists yet; root and the collector's own user are admins on its machine", token: "a token", session: "a session of this browser" } as const;

function Reader(): JSX.Element | null {
  const reader = who.value;
  if (reader === undefined) return null;
  return (
    <>
      <h2>You</h2>
      <Facts>
        <Fact name="Name"><Text text={reader.name} most={100} /></Fact>
        <Fact name="Scope">{reader.scope}</Fact>
        <Fact name="Sees">{reader.selector === undefined ? "the whole fleet" : <>what matches <code><Text text={reader.selector} most={400} /></code></>}</Fact>
        <Fact name="By">{VIA[reader.via]}</Fact>
        {reader.expires !== undefined && <Fact name="Ends"><Time at={reader.expires} />, at the latest</Fact>}
        <Fact name="Collector">version <Text text={reader.version} most={60} /></Fact>
      </Facts>
      {reader.via === "session" && (
        <button type="button" class="button" onClick={() => void logOut()}>
          Log out
        </button>
      )}
    </>
  );
}

export default function Settings(): JSX.Element {
  return (
    <>
      <Heading title="Settings" />
      <p>They are kept in this browser, and told to nobody.</p>
      <ChoiceField
        label="Theme"
        value={settings.theme.value}
        set={(value) => choose("theme", value)}
        choices={[
          ["system", "as the system has it"],
          ["light", "light"],
          ["dark", "dark"],
        ]}
      />
      <ChoiceField
        label="Time zone"
        value={settings.zone.value}
        set={(value) => choose("zone", value)}
        choices={[
          ["local", "this browser's"],
          ["utc", "UTC"],
        ]}
      />
      <ChoiceField
        label="Hours"
        value={settings.hours.value}
        set={(value) => choose("hours", value)}
        choices={[
          ["24", "24 (18:05)"],
          ["12", "12 (06:05 PM)"],
        ]}
      />
      <ChoiceField
        label="Motion"
        value={settings.motion.value}
        set={(value) => choose("motion", value)}
        choices={[
          ["system", "as the system has it"],
          ["less", "none"],
        ]}
      />
      <p>
        {/* in a tab of its own: the router takes no file for a page then */}
        <a href="/assets/licences.txt" target="_blank" rel="noopener">
          Licences
        </a>{" "}
        of what this console is made of.
      </p>
      <Reader />
      <Keys />
    </>
  );
}
