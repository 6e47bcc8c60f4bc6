/* SPDX-License-Identifier: Apache-2.0
 *
 * Partitions of a trace that bear the same key (process, epoch, sequence): the same one twice, slices of
 * one, or others that took its number. None is taken for a copy before its bytes were compared.
 */
#ifndef TRACE_TWINS_H
#define TRACE_TWINS_H

#include <stdint.h>

#include "skein/trace.h"

struct trace_twins {
    uint64_t copies; /* left out: all that is in them is given */
    uint64_t
        others; /* differ from the one that was first, and are given as of processes of their own */
};

/* What was found while files were added. */
struct trace_twins trace_twins(const struct skein_trace *trace);

#endif
