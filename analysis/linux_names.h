/* SPDX-License-Identifier: Apache-2.0
 *
 * What Linux calls its numbers of errors and signals. A trace is of Linux, whatever reads it: the C
 * library of a browser has others. Constants; any thread.
 */
#ifndef LINUX_NAMES_H
#define LINUX_NAMES_H

#include <stdint.h>

/* "ECONNREFUSED" of 111; "SIGSEGV" of 11. NULL: none, or a real-time signal. */
const char *linux_error_name(int64_t number);
const char *linux_signal_name(int64_t number);

#endif
