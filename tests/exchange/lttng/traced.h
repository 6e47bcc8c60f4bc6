/* SPDX-License-Identifier: Apache-2.0
 * Events of LTTng with all kinds of fields that its macros offer. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER skein_exchange
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./traced.h"

#if !defined(TRACED_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TRACED_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_ENUM(skein_exchange, color,
                          LTTNG_UST_TP_ENUM_VALUES(lttng_ust_field_enum_value("RED", 0)
                                                       lttng_ust_field_enum_value("GREEN", 1)
                                                           lttng_ust_field_enum_range("OTHERS", 2,
                                                                                      9)))

LTTNG_UST_TRACEPOINT_EVENT(
    skein_exchange, numbers, LTTNG_UST_TP_ARGS(int, n),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int8_t, tiny, -n)
                            lttng_ust_field_integer(uint64_t, huge, UINT64_MAX - (unsigned)n)
                                lttng_ust_field_integer_network(uint32_t, net, (uint32_t)n << 8)
                                    lttng_ust_field_float(double, ratio, n / 8.0)
                                        lttng_ust_field_enum(skein_exchange, color, int, paint,
                                                             n % 10)))

LTTNG_UST_TRACEPOINT_EVENT(
    skein_exchange, texts, LTTNG_UST_TP_ARGS(int, n, const char *, text, unsigned short *, data),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_string(text, text) lttng_ust_field_array(unsigned short, fixed, data, 3)
            lttng_ust_field_sequence(unsigned short, moving, data, size_t, (size_t)(n % 4))
                lttng_ust_field_sequence_text(char, part, text, size_t, (size_t)(n % 5))
                    lttng_ust_field_array_text(char, head, text, 4)
                        lttng_ust_field_integer(int, number, n)
                            lttng_ust_field_float(float, narrow, (float)n / 4)))

LTTNG_UST_TRACEPOINT_EVENT(skein_exchange, step_begin, LTTNG_UST_TP_ARGS(int, n),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, number, n)))
LTTNG_UST_TRACEPOINT_EVENT(skein_exchange, step_end, LTTNG_UST_TP_ARGS(int, n),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, number, n)))

#endif

#include <lttng/tracepoint-event.h>
