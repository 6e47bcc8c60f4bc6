// SPDX-License-Identifier: Apache-2.0
// What a page's address says behind its "?": filters and choices, so that a link is the view. Changes replace the
// history's entry where they refine (typing), and add one where they choose.
import { useCallback } from "preact/hooks";
import { useLocation } from "preact-iso";

export interface Address {
  get: (name: string) => string;
  set: (values: Readonly<Record<string, string>>, replace?: boolean) => void;
}

export function useAddress(): Address {
  const { path, query, route } = useLocation();
  const set = useCallback(
    (values: Readonly<Record<string, string>>, replace = false) => {
      const parameters = new URLSearchParams(location.search);
      for (const [name, value] of Object.entries(values))
        if (value === "") parameters.delete(name);
        else parameters.set(name, value);
      const text = parameters.toString();
      route(`${path}${text === "" ? "" : `?${text}`}`, replace);
    },
    [path, route],
  );
  return { get: (name) => query[name] ?? "", set };
}
