// SPDX-License-Identifier: Apache-2.0
// A value of a label as a selector, where it reads as one. What a program calls itself may hold commas and operators: it
// would select others, so that there is no selector of it, and no link.

export function labelSelector(label: string, value: string | undefined): string | undefined {
  return value !== undefined && /^[A-Za-z0-9._/:@-]+$/.test(value) ? `${label}=${value}` : undefined;
}
