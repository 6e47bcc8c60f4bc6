/* SPDX-License-Identifier: Apache-2.0
 * The clocks of daemons and tools. Nanoseconds; never fail. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

uint64_t clock_realtime_ns(void);  /* UTC since 1970: what people and other hosts see */
uint64_t clock_monotonic_ns(void); /* for durations and deadlines */
uint64_t clock_boottime_ns(void);
uint64_t clock_cpu_ns(void); /* that this process has used */
uint64_t clock_thread_cpu_ns(void);

/* Clocks that are slewed run apart by a thousandth of the time at most. */
#define CLOCK_DRIFT_DIVISOR 1000

/* A time on another clock that is offset_ns ahead, held inside 0 to 2^64 - 1. */
uint64_t clock_shift_ns(uint64_t ns, int64_t offset_ns);

/* RFC 3339 in UTC with milliseconds, "2026-11-21T09:40:00.123Z": 24 characters and NUL. */
#define CLOCK_TEXT_BYTES 32
void clock_text(uint64_t realtime_ns, char out[CLOCK_TEXT_BYTES]);

/* The reverse, for RFC 3339 with any number of fraction digits and "Z" or +hh:mm. SKEIN_OK or
 * SKEIN_INVALID. */
int clock_parse(const char *text, uint64_t *realtime_ns);

#endif
