/* SPDX-License-Identifier: Apache-2.0
 *
 * The stack of an event, frame by frame as people call them: an address that has several names,
 * because functions were inlined there, gives several frames (docs/format.md F-47, F-48). Owns
 * nothing; texts are the reader's and hostile. One thread.
 */
#ifndef TRACE_STACK_H
#define TRACE_STACK_H

#include "buf.h"
#include "partition_reader.h"

struct trace_frame {
    bool has_address;
    uint64_t address;                        /* as it was found on the stack */
    uint64_t looked_up;                      /* F-48 */
    uint64_t offset;                         /* in the mapping's file, of what was looked up */
    const char *function;                    /* "": unknown */
    const char *file;                        /* "": unknown */
    uint32_t line;                           /* 0: unknown */
    bool inlined;                            /* into the frame that comes next */
    const struct partition_mapping *mapping; /* NULL: none */
};

struct trace_frames {
    struct partition_reader *reader;
    struct partition_stack stack;
    struct partition_symbol symbol; /* of the frame at hand */
    uint32_t frame, line;
};

/* The frames of a stack, innermost first. false: the event has none (id 0). */
bool trace_frames_begin(struct trace_frames *frames, struct partition_reader *reader, uint32_t id);
bool trace_frames_next(struct trace_frames *frames, struct trace_frame *frame);

/* What a frame is called where its function has no name: "libc.so.6+0x28150" or "0x7f33028150". */
#define TRACE_PLACE_BYTES 96
void trace_frame_place(const struct trace_frame *frame, char out[TRACE_PLACE_BYTES]);

/* Whether that file is Skein's own library, which stands between a program and what it calls. */
bool trace_module_is_tracer(const char *path);

/* A line for each frame, each behind `indent` spaces, and one more where the walk ended too early;
 * nothing, where there is no stack:
 *
 *     at wait_for(lock&)  (lock.h:31)  inlined
 *     at pay(order const&)  (pay.cc:7)  checkout
 *     at libc.so.6+0x28150
 */
void trace_stack_text(struct buf *b, struct partition_reader *reader, uint32_t id, unsigned indent);

/* The same for a thread that waits in a call: what Skein's library has between the program and that
 * call is left out, as trace_stack_text does with stacks of the ring. */
void trace_wait_text(struct buf *b, struct partition_reader *reader, uint32_t id, unsigned indent);

/* `"frames":[{"function":"pay(order const&)","file":"src/pay.cc","line":7,
 * "module":"/usr/bin/checkout","offset":"0x1233","address":"0x55aa00001234"}],"stack_end":"whole"`;
 * what is not known is left out, "inlined" is there if true, "build_id" where the function has no
 * name. */
void trace_stack_json(struct buf *b, struct partition_reader *reader, uint32_t id);

#endif
