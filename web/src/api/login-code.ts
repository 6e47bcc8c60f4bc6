// SPDX-License-Identifier: Apache-2.0
// The one-time code of `skein console`: it comes behind the "#" of /login, and is taken out of the address as soon as
// this file is loaded, so that neither history nor a copied link has it. It is given once.
import { codeOf } from "../manage/login-words";

function take(): string | undefined {
  if (location.pathname !== "/login" || location.hash === "") return undefined;
  const taken = codeOf(location.hash);
  history.replaceState(history.state, "", location.pathname + location.search);
  return taken;
}

let code = take();

export function loginCode(): string | undefined {
  const given = code;
  code = undefined;
  return given;
}
