/* SPDX-License-Identifier: Apache-2.0
 *
 * For programs that hold keys, tokens and other people's traces.
 */
#ifndef NO_CORE_H
#define NO_CORE_H

/* From now on the process leaves no core file, wherever it may go, and no other process of its user may
 * look into its memory; root may. At the start; once is enough. */
void no_core_set(void);

#endif
