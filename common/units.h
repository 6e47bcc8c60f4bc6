/* SPDX-License-Identifier: Apache-2.0
 *
 * Durations and sizes as people write them: "10s", "1.5h", "64MiB". The one parser of the
 * configuration, the API and the command line. Pure; any thread; hostile input expected.
 *
 *   durations  ns us ms s m h d w
 *   sizes      B, kB MB GB TB (thousands), KiB MiB GiB TiB (1024s)
 */
#ifndef UNITS_H
#define UNITS_H

#include <stdint.h>

#include "skein/status.h"

/* What a number counts; told by the end of its name: "pre_ms", "max_bytes", "bytes_per_hour". */
enum unit { UNIT_NONE, UNIT_NS, UNIT_US, UNIT_MS, UNIT_BYTES };
enum unit unit_of_name(const char *name);

/* Reads a whole or decimal number with a unit of the same kind, in `unit`. SKEIN_OK; SKEIN_INVALID:
 * no such number, more than 64 bits, or a part of a `unit` is left over; SKEIN_TRUNCATED: a number
 * (other than 0) without a unit. On failure *value is as it was. */
int unit_parse(const char *text, enum unit unit, uint64_t *value);

/* For messages: an example ("10s"), what to put behind a bare number ("s"), the name of a number
 * without a unit ("milliseconds"). "" for UNIT_NONE. */
const char *unit_example(enum unit unit);
const char *unit_likely(enum unit unit);
const char *unit_words(enum unit unit);

#endif
