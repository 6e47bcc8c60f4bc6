/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said of bytes that are refused: rule, byte, sentence. Owns nothing.
 */
#include "partition_fault.h"

#include <inttypes.h>
#include <stdio.h>

void partition_fault_format(struct partition_fault *fault, enum format_rule rule, uint64_t byte,
                            const char *format, va_list args)
{
    if (fault == NULL)
        return;
    *fault = (struct partition_fault){.rule = rule, .byte = byte};
    vsnprintf(fault->text, sizeof fault->text, format, args);
}

void partition_fault_set(struct partition_fault *fault, enum format_rule rule, uint64_t byte,
                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    partition_fault_format(fault, rule, byte, format, args);
    va_end(args);
}

void partition_fault_print(const struct partition_fault *fault, uint64_t offset, char *out,
                           size_t n)
{
    uint64_t byte = offset + fault->byte;
    if (fault->rule == F_NONE)
        snprintf(out, n, "%s", fault->text);
    else if (fault->packed)
        snprintf(out, n, "F-%u, byte %" PRIu64 " (unpacked byte %" PRIu64 "): %s",
                 (unsigned)fault->rule, byte, fault->unpacked_byte, fault->text);
    else
        snprintf(out, n, "F-%u, byte %" PRIu64 ": %s", (unsigned)fault->rule, byte, fault->text);
}
