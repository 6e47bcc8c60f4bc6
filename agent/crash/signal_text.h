/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals in words. Pure; any thread.
 */
#ifndef SIGNAL_TEXT_H
#define SIGNAL_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* "SIGSEGV", or "signal 40". */
#define SIGNAL_NAME_BYTES 24
void signal_name_put(int32_t signal, char out[SIGNAL_NAME_BYTES]);

/* What its code (siginfo's si_code) says of its cause: "address not mapped"; "": nothing is known. */
const char *signal_cause(int32_t signal, int32_t code);

#endif
