// SPDX-License-Identifier: Apache-2.0
// What the reader chooses for this browser.
import type { JSX } from "preact";
import { ChoiceField } from "../ui/form";
import { Heading } from "../ui/parts";
import { choose, settings } from "../ui/settings";

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
    </>
  );
}
