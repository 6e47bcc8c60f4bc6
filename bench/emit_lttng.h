/* SPDX-License-Identifier: Apache-2.0
 * LTTng-UST's event with two integers, as its users write one. Read several times by its macros. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER skein_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./emit_lttng.h"
#if !defined(EMIT_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define EMIT_LTTNG_H
#include <stdint.h>

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(skein_bench, two, LTTNG_UST_TP_ARGS(uint64_t, key, uint64_t, size),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, key, key)
                                                   lttng_ust_field_integer(uint64_t, size, size)))
#endif
#include <lttng/tracepoint-event.h>
