/* SPDX-License-Identifier: Apache-2.0
 *
 * One call of each function that the preload library records, made from a library of its own: calls
 * from the preload library itself are not recorded, and in the test that is the whole program.
 */
#ifndef PRELOAD_CALLS_H
#define PRELOAD_CALLS_H

#include <stddef.h>
#include <stdint.h>

#define NOT_LOOKED_AT INT64_MIN

struct expect {
    int64_t detail, result;
    const char *text, *text_2; /* arguments 2 and 3; NULL: none, or not looked at */
    int64_t number, number_2;  /* the same where they are numbers */
    char room[2][128];         /* for texts that are made */
};

struct call {
    const char *function, *event;
    void (*make)(struct expect *expect);
};

extern const struct call calls[];
extern const size_t call_count;

void calls_prepare(void);
/* The calling thread names itself; the result of the call. */
int call_of_name(const char *name);

/* preload_calls_words.c: those whose events have more to say. */
extern const struct call calls_of_words[];
extern const size_t call_of_words_count;
/* The same functions in other ways. */
extern const struct call calls_again[];
extern const size_t call_again_count;

#endif
