/* SPDX-License-Identifier: Apache-2.0
 *
 * Why bytes are no partition: the rule of docs/format.md that they break, and the byte that breaks
 * it. Every refusal of the reader goes through here. Pure functions; no threads.
 */
#ifndef PARTITION_FAULT_H
#define PARTITION_FAULT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rules that a reader can find broken; the others are kept by writers, or define. */
/* clang-format off */
#define FORMAT_RULE_LIST(X) \
    X(1) X(3) X(4) X(5) X(6) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(18) X(19) X(20) \
    X(21) X(23) X(24) X(25) X(26) X(27) X(30) X(31) X(33) X(34) X(36) X(37) X(40) X(42) X(44) X(45) \
    X(46) X(47) X(50)
/* clang-format on */
enum format_rule {
    F_NONE = 0, /* no rule is broken: for want of memory */
#define X(n) F_##n = (n),
    FORMAT_RULE_LIST(X)
#undef X
};

struct partition_fault {
    enum format_rule rule;
    uint64_t byte;          /* from the first byte of the partition */
    bool packed;            /* the section at `byte` is packed, and what is wrong lies inside, */
    uint64_t unpacked_byte; /* at this byte of it when it is unpacked */
    char text[192];         /* what is wrong, without rule and byte */
};

/* Sets all of *fault, which may be NULL: then nothing is done. */
void partition_fault_set(struct partition_fault *fault, enum format_rule rule, uint64_t byte,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
void partition_fault_format(struct partition_fault *fault, enum format_rule rule, uint64_t byte,
                            const char *format, va_list args) __attribute__((format(printf, 4, 0)));

/* The sentence: "F-9, byte 4711: the section fails its checksum". `offset` is added to the byte:
 * where the partition begins in what the caller counts in. */
void partition_fault_print(const struct partition_fault *fault, uint64_t offset, char *out,
                           size_t n);

/* Full check of one partition: every checksum, every block decoded, footer against contents.
 * SKEIN_OK, or a status and in *fault why. */
int partition_fault_find(const uint8_t *bytes, size_t n, struct partition_fault *fault);

#endif
