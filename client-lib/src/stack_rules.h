/* SPDX-License-Identifier: Apache-2.0
 *
 * How to get from a function to its caller on x86-64, as the compiler has said it in .eh_frame.
 * Lock-free and signal-safe: no lock, no allocation, no system call. Included by client-lib's files
 * only.
 */
#ifndef STACK_RULES_H
#define STACK_RULES_H

#include "code_object.h"

/* Where the caller's stack pointer (the CFA, just above the return address) is. */
enum stack_cfa {
    STACK_CFA_NONE = 0,      /* no rules here: code without CFI */
    STACK_CFA_RSP = 1,       /* rsp + cfa_offset */
    STACK_CFA_RBP = 2,       /* rbp + cfa_offset */
    STACK_CFA_AT_RBP = 3,    /* the word at rbp + cfa_offset: functions that align their stack */
    STACK_CFA_OUTERMOST = 4, /* there is no caller */
    STACK_CFA_STRANGE = 5    /* rules that are not followed: signal frames, hand-written code */
};

/* Where the caller's rbp is. */
enum stack_rbp {
    STACK_RBP_SAME = 0,
    STACK_RBP_AT_CFA = 1, /* the word at the CFA + rbp_offset */
    STACK_RBP_AT_RBP = 2, /* the word at rbp + rbp_offset */
    STACK_RBP_GONE = 3
};

struct stack_rule {
    uint8_t cfa, rbp;
    int32_t cfa_offset, rbp_offset; /* the latter of 24 bits */
};

/* The rule at an address inside of a function of the object, from a cache that all threads share,
 * or from the object's tables. */
struct stack_rule stack_rule_at(const struct code_object *object, uint64_t address);

/* The same, from the tables alone: for tests and measurements. */
struct stack_rule stack_rule_read(const struct code_object *object, uint64_t address);

#endif
