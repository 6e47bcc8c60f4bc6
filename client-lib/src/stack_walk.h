/* SPDX-License-Identifier: Apache-2.0
 *
 * The calling thread's stack, as return addresses: for what has waited. Lock-free and signal-safe:
 * no lock, no allocation, no file. It reads the words of the thread's own stack and nothing else,
 * and only where it is known that the thread is on it, without a system call: not in a handler on an
 * alternate stack, and on a coroutine's only if the program has declared it. Of a declared one the
 * kernel is asked, page by page, whether it can be read. Included by client-lib's files only.
 */
#ifndef STACK_WALK_H
#define STACK_WALK_H

#include "code_object.h"

#define STACK_FRAMES_MAX 64

/* How the walk ended. */
enum stack_end {
    STACK_END_WHOLE = 0, /* at the outermost frame */
    STACK_END_CUT = 1,   /* there are more frames than room */
    STACK_END_BROKEN = 2 /* it could not go on, or some frame was found by a frame pointer alone */
};

struct stack_frames {
    uint64_t pcs[STACK_FRAMES_MAX]; /* return addresses, innermost first */
    uint32_t count;
    uint32_t sure; /* so many of them were found by rules: the others may be any number */
    uint8_t end;   /* enum stack_end */
};

/* Once, before there is a ring. own: code of the library itself, whose frames are left out where
 * they are the innermost ones (NULL: none is). */
struct stack_settings {
    code_object_finder *finder; /* NULL: frame pointers alone */
    const char *own_from, *own_to;
};
void stack_walk_prepare(const struct stack_settings *settings);

/* Who has made the calling thread knows its stack: so many bytes down from the thread pointer are
 * the stack's, guard and the C library's own part left out. 0: not known. A thread of which nobody
 * has told, other than the first one, has no stack. Kept across fork. */
void stack_walk_tell(uint64_t bytes);
/* Bytes that stack_walk_tell() wants, of a stack of that size. */
uint64_t stack_walk_usable(uint64_t stack_bytes, uint64_t guard_bytes);

/* Whether the frame is on the calling thread's own stack, and that is known. */
bool stack_walk_knows(const void *frame);

/* Besides its own stack, the thread is now and then on the one from `low` to `top`, a coroutine's, of
 * which the program says so, rightly or not. In place of the one before. Signal-safe. */
void stack_walk_declare(uint64_t low, uint64_t top);
#define STACK_ROOM_BYTES 8192 /* of stack that must be left below: for the walk and for handlers */

/* The frames from the caller of the function whose frame it is on: __builtin_frame_address(0).
 * False: none are to be had here. */
bool stack_walk(const void *frame, struct stack_frames *out);

#endif
