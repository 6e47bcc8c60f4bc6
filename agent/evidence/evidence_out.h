/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes events of any thread in any order, with times of CLOCK_MONOTONIC, and makes one partition
 * of them: sorted, clock MONOTONIC, shift 0, `evidence` set. Bounded in bytes; what is beyond is
 * left out and counted. One owner, one thread at a time. Failures are sticky and come out of
 * evidence_out_pour.
 *
 *   static const struct partition_event_type cpu_sample =
 *       EVIDENCE_TYPE("cpu.sample", SKEIN_CLASS_INSTANT, SKEIN_GROUP_THREAD,
 *                     EVIDENCE_ARG(U64, "cpu", ""), EVIDENCE_ARG(U64, "weight", "ns"));
 *   int64_t type = evidence_type(out, &cpu_sample), thread = evidence_thread(out, tid, name);
 *   evidence_event(out, thread, type, at_ns, 0, args);
 *   evidence_event_stack(out, evidence_stack(out, &stack));
 */
#ifndef EVIDENCE_OUT_H
#define EVIDENCE_OUT_H

#include "buf.h"
#include "partition.h"
#include "partition_writer.h"

#define EVIDENCE_OUT_BYTES ((size_t)8 << 20)

/* Threads that are none: counters of the host, and of the process as a whole. Their tid is 0. */
#define EVIDENCE_THREAD_HOST    "host"
#define EVIDENCE_THREAD_PROCESS "process"

/* A type, as its initializer, and one of its arguments: see the example above. */
#define EVIDENCE_TYPE(type_name, of_class, of_group, ...)                                          \
    {                                                                                              \
        .name = (type_name), .klass = (of_class), .group = (of_group),                             \
        .nargs = sizeof((struct partition_arg[]){__VA_ARGS__}) / sizeof(struct partition_arg),     \
        .args = {                                                                                  \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define EVIDENCE_ARG(of_type, arg_name, arg_unit)                                                  \
    {                                                                                              \
        SKEIN_T_##of_type, arg_name, arg_unit                                                      \
    }

struct evidence_out;

/* bytes_max: of memory for all that is written to it; 0: EVIDENCE_OUT_BYTES. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int evidence_out_new(size_t bytes_max, struct evidence_out **out);
void evidence_out_free(struct evidence_out **out);

/* Each returns an index for later calls, equal content giving the same one, or a status below 0,
 * with which later calls do nothing. */
int64_t evidence_type(struct evidence_out *out, const struct partition_event_type *type);
int64_t evidence_thread(struct evidence_out *out, uint32_t tid, const char *name);

/* One event: at monotonic_ns, or, of a span, from monotonic_ns for dur_ns. args as the type says;
 * texts are copied. Returns whether there was room. */
bool evidence_event(struct evidence_out *out, int64_t thread, int64_t type, uint64_t monotonic_ns,
                    uint64_t dur_ns, const struct partition_value *args);

/* A stack of the process for evidence_event_stack: from 1; 0: no room. pcs are copied. */
uint32_t evidence_stack(struct evidence_out *out, const struct partition_stack *stack);
/* Of the event that the call before wrote, if there was room for it. */
void evidence_event_stack(struct evidence_out *out, uint32_t stack);
/* Where the process's files lay when the stacks were taken. */
void evidence_mapping(struct evidence_out *out, const struct partition_mapping *mapping);

/* The name of a function at an address (partition_stack_address) that no file of the process's
 * holds, as one of the kernel. Copied. */
void evidence_symbol(struct evidence_out *out, uint64_t address, const char *function);

/* Sorts all and makes it a partition's writer, for its names (symbolizer) and
 * partition_writer_finish. Of `info`, the caller sets key, process, names, clock offset; the rest is
 * made of the window [from_ns, to_ns], CLOCK_MONOTONIC. `out` is empty afterwards. SKEIN_OK;
 * SKEIN_NOT_FOUND: it holds no event; SKEIN_INVALID, SKEIN_NO_MEMORY. */
int evidence_out_pour(struct evidence_out *out, struct partition_info *info, uint64_t from_ns,
                      uint64_t to_ns, struct partition_writer **writer);

uint64_t evidence_out_events(const struct evidence_out *out);
uint64_t evidence_out_left_out(const struct evidence_out *out); /* events without room, so far */
size_t evidence_out_room(const struct evidence_out *out);       /* bytes, about */

#endif
