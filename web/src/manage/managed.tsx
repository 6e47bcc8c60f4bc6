// SPDX-License-Identifier: Apache-2.0
// What the pages of rules and of policies do alike: all of a kind with how a new one begins (?new, ?new&from=NAME for a
// copy, ?paste for several), and one by its name, looked at or edited.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import { useListing, useMade } from "../api/ask";
import { part } from "../api/client";
import { may } from "../api/who";
import { useAddress } from "../ui/address";
import { Command, Empty, Heading, More, Shown, Text } from "../ui/parts";
import { Delete, Switch, type WholeProps } from "./actions";
import type { JsonObject } from "./document";
import { Editing, type Managed } from "./editing";
import "./manage.css";
import { SeveralOf } from "./several";
import { type Versioned, useVersioned, versionedGet, withoutState } from "./versioned";

/* ---- all ---- */

function New(props: { of: Managed; start: JsonObject }): JSX.Element {
  const { route } = useLocation();
  const { folder } = props.of.kind;
  return (
    <Editing
      of={props.of}
      start={props.start}
      name={undefined}
      etag={undefined}
      done={(name) => route(`${folder}/${part(name)}`)}
      close={() => route(folder)}
    />
  );
}

function CopyOf(props: { of: Managed; name: string }): JSX.Element {
  const { kind } = props.of;
  const answer = useMade(`copy ${props.name}`, (signal) => versionedGet<JsonObject>(kind, props.name, signal));
  return (
    <Shown of={answer} what={`the ${kind.noun} that is copied`}>
      {(there) => <New of={props.of} start={{ ...withoutState(there.value), name: "" }} />}
    </Shown>
  );
}

/* children: what one is for; file: what a file of one might be called. */
export function NoneYet(props: { of: Managed; file: string; children: ComponentChildren }): JSX.Element {
  const { noun, several, folder } = props.of.kind;
  return (
    <Empty title={`No ${several} yet`}>
      <p>{props.children}</p>
      {may("admin") && (
        <p>
          <a class="button first" href={`${folder}?new=1`}>
            Create a {noun}
          </a>
        </p>
      )}
      <p>Or in a terminal, with a {noun} in a file:</p>
      <Command text={`skein ${noun} apply ${props.file}`} />
    </Empty>
  );
}

export function AllOf<T>(props: { of: Managed; title: string; children: (items: readonly T[]) => ComponentChildren }): JSX.Element {
  const { noun, several, folder } = props.of.kind;
  const address = useAddress();
  const adding = address.get("new") !== "" && may("admin");
  const from = address.get("from");
  const pasting = address.get("paste") !== "" && may("admin");
  const { route } = useLocation();
  const answer = useListing<T>(adding || pasting ? undefined : folder, {}, 10_000);
  if (pasting)
    return (
      <>
        <Heading title={`Paste ${several}`} />
        <SeveralOf kind={props.of.kind} close={() => route(folder)} />
      </>
    );
  if (adding)
    return (
      <>
        <Heading title={from === "" ? `A new ${noun}` : `A copy of ${from}`} />
        {from === "" ? <New of={props.of} start={props.of.start} /> : <CopyOf of={props.of} name={from} />}
      </>
    );
  return (
    <>
      <Heading title={props.title}>
        {may("admin") && (
          <>
            <a class="button" href={`${folder}?paste=1`}>
              Paste {several}
            </a>
            <a class="button first" href={`${folder}?new=1`}>
              New {noun}
            </a>
          </>
        )}
      </Heading>
      <Shown of={answer} what={`the ${several}`}>
        {props.children}
      </Shown>
      <More more={answer.more} />
    </>
  );
}

/* ---- one ---- */

/* Its state and why, and what may be done to it as a whole; children: what its kind alone can. */
export function OneHead(props: {
  status: JSX.Element | undefined;
  reason: string | undefined;
  whole: WholeProps;
  edit: () => void;
  description: string | undefined;
  children?: ComponentChildren;
}): JSX.Element {
  const { reason, whole, description } = props;
  return (
    <>
      <div class="buttons">
        {props.status}
        {reason !== undefined && reason !== "" && <Text text={reason} />}
        <span class="spacer" />
        {props.children}
        {may("admin") && (
          <>
            <button type="button" class="button first" onClick={props.edit}>
              Edit
            </button>
            <Switch {...whole} />
            <a class="button" href={`${whole.kind.folder}?new=1&from=${part(whole.name)}`}>
              Copy
            </a>
            <Delete {...whole} />
          </>
        )}
      </div>
      {description !== undefined && description !== "" && <p><Text text={description} /></p>}
    </>
  );
}

/* What a page of one shows of it, and what it may ask for. */
export interface LookedProps<T> {
  one: Versioned<T>;
  name: string;
  again: () => void;
  edit: () => void;
}

/* looked: it, where it is there; gone: what is said where there is none of this name. */
export function OneOf<T>(props: {
  of: Managed;
  title: string;
  looked: (looked: LookedProps<T>) => JSX.Element;
  gone: (name: string) => ComponentChildren;
  above?: (name: string) => ComponentChildren;
  below?: (name: string) => ComponentChildren;
}): JSX.Element {
  const { kind } = props.of;
  const name = useRoute().params["name"] ?? "";
  const [edited, setEdited] = useState<Versioned<T>>();
  const answer = useVersioned<T>(kind, name, edited === undefined ? 5000 : 0);
  const done = () => {
    setEdited(undefined);
    answer.again();
  };
  if (edited !== undefined)
    return (
      <>
        <Heading title={`Edit the ${kind.noun} ${name}`} />
        <Editing of={props.of} start={edited.value as unknown as JsonObject} name={name} etag={edited.etag} done={done} close={done} />
      </>
    );
  return (
    <>
      <Heading title={`${props.title} ${name}`} />
      {props.above?.(name)}
      {answer.error?.status === 404 ? (
        <div role="alert">
          <Empty title={`There is no ${kind.noun} of this name`}>
            <p>
              {props.gone(name)} <a href={kind.folder}>All {kind.several}</a>
            </p>
          </Empty>
        </div>
      ) : (
        <Shown of={answer} what={`the ${kind.noun}`}>
          {(one) => props.looked({ one, name, again: answer.again, edit: () => setEdited(one) })}
        </Shown>
      )}
      {props.below?.(name)}
    </>
  );
}
