/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of Fuchsia's trace format, for its export and its import. Words are 64 bits, little-endian; a
 * record begins with one that says its kind (bits 0 to 3) and its words (bits 4 to 15).
 */
#ifndef FXT_NUMBERS_H
#define FXT_NUMBERS_H

#include <stdint.h>

#define FXT_MAGIC       UINT64_C(0x0016547846040010)
#define FXT_WORDS_MAX   4095
#define FXT_STRINGS_MAX 0x7fff

enum {
    FXT_METADATA = 0,
    FXT_INITIALIZATION = 1,
    FXT_STRING = 2,
    FXT_THREAD = 3,
    FXT_EVENT = 4,
    FXT_BLOB = 5,
    FXT_USER_OBJECT = 6,
    FXT_KERNEL_OBJECT = 7,
    FXT_SCHEDULING = 8,
    FXT_LOG = 9,
    FXT_LARGE = 15 /* bits 4 to 35 are its words */
};
enum {
    FXT_PROVIDER_INFO = 1,
    FXT_PROVIDER_SECTION = 2,
    FXT_PROVIDER_EVENT = 3,
    FXT_TRACE_INFO = 4
};
enum {
    FXT_EVENT_INSTANT = 0,
    FXT_EVENT_COUNTER = 1,
    FXT_EVENT_BEGIN = 2,
    FXT_EVENT_END = 3,
    FXT_EVENT_COMPLETE = 4,
    FXT_EVENT_ASYNC_BEGIN = 5,
    FXT_EVENT_ASYNC_INSTANT = 6,
    FXT_EVENT_ASYNC_END = 7,
    FXT_EVENT_FLOW_BEGIN = 8,
    FXT_EVENT_FLOW_STEP = 9,
    FXT_EVENT_FLOW_END = 10
};
enum { FXT_OBJECT_PROCESS = 1, FXT_OBJECT_THREAD = 2 };
enum { FXT_SWITCH_OLD = 0, FXT_SWITCH = 1, FXT_WAKEUP = 2 };
enum { FXT_STATE_READY = 0, FXT_STATE_SUSPENDED = 2, FXT_STATE_BLOCKED = 3, FXT_STATE_DYING = 4 };
enum {
    FXT_ARG_NULL = 0,
    FXT_ARG_I32 = 1,
    FXT_ARG_U32 = 2,
    FXT_ARG_I64 = 3,
    FXT_ARG_U64 = 4,
    FXT_ARG_F64 = 5,
    FXT_ARG_STRING = 6,
    FXT_ARG_POINTER = 7,
    FXT_ARG_KOID = 8,
    FXT_ARG_BOOL = 9
};

#endif
