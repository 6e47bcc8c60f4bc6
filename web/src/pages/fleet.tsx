// SPDX-License-Identifier: Apache-2.0
// The first page: what went wrong, what runs, who is away, how full it is.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { lazy } from "preact-iso";
import { may } from "../api/who";
import { useAddress } from "../ui/address";
import { Heading } from "../ui/parts";
import { SelectorFilter } from "../ui/selector_filter";
import { FleetAgents, FleetStorage } from "./fleet/fleet_side";
import { FleetServices } from "./fleet/fleet_services";
import { WentWrong } from "./fleet/went_wrong";

const CaptureNow = lazy(() => import("../ui/capture_now"));

export default function Fleet(): JSX.Element {
  const address = useAddress();
  const selector = address.get("selector");
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Heading title="Fleet">
        {may("operator") && (
          <button type="button" class="button first" onClick={() => setAsking(true)}>
            Capture now…
          </button>
        )}
      </Heading>
      <SelectorFilter value={selector} set={(text) => address.set({ selector: text })} />
      <WentWrong selector={selector} />
      <FleetServices selector={selector} />
      {may("viewer", true) && (
        <div class="columns">
          <FleetAgents />
          <FleetStorage />
        </div>
      )}
      {asking && <CaptureNow selector={selector} close={() => setAsking(false)} />}
    </>
  );
}
