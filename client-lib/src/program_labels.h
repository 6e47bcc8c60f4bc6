/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels of a program, as `skein run` and libskein-preload.so pass them to the agent. Any thread.
 */
#ifndef PROGRAM_LABELS_H
#define PROGRAM_LABELS_H

/* Labels that an agent takes: pairs NAME=VALUE, `first` in front, as far as they have room whole. What is
 * no pair, or has no room, is left out, and counted by one more: labels_cut=N. Either may be NULL. A
 * program is recorded whatever they are. */
#define LABELS_BYTES 512
void labels_fit(const char *first, const char *labels, char out[LABELS_BYTES]);

#endif
