/* SPDX-License-Identifier: Apache-2.0
 *
 * Where small variables lie. A shell loop loads this library hundreds of times a second, and pays a
 * page fault for each page that a process writes. The pages of initialised data are written anyway,
 * by the dynamic linker; what a start or a fork writes lies beside them, not among the arrays of
 * the zeroed section. Included by client-lib's files only.
 */
#ifndef PLACEMENT_H
#define PLACEMENT_H

#define BESIDE_DATA __attribute__((section(".data")))

#endif
