/* SPDX-License-Identifier: Apache-2.0
 *
 * What a Perfetto trace's own statistics say was lost.
 */
#include "import_perfetto_int.h"

enum { STATS_BUFFER = 1, STATS_CHUNKS_DISCARDED = 8, STATS_INVALID_PACKETS = 10 };
enum { BUFFER_OVERWRITTEN = 3, BUFFER_DISCARDED = 18, BUFFER_PACKETS_LOST = 19 };
enum { KERNEL_PHASE = 1, KERNEL_CPU = 2, KERNEL_BEGIN = 1, KERNEL_END = 2 };
enum { CPU_OVERRUN = 3, CPU_COMMIT_OVERRUN = 4, CPU_DROPPED = 8 };

/* So that no sum of hostile ones goes round. */
static uint64_t few(uint64_t value)
{
    return value < UINT32_MAX ? value : UINT32_MAX;
}

void pf_stats_note(struct pf_import *i, struct pb_reader stats)
{
    struct pb_field field, part;
    i->lost_in_buffers = 0; /* the last one counts */
    while (pb_next(&stats, &field)) {
        struct pb_reader buffer = pb_message_of(&field);
        if (field.number == STATS_CHUNKS_DISCARDED || field.number == STATS_INVALID_PACKETS)
            i->lost_in_buffers += few(field.value);
        while (field.number == STATS_BUFFER && pb_next(&buffer, &part))
            if (part.number == BUFFER_OVERWRITTEN || part.number == BUFFER_DISCARDED ||
                part.number == BUFFER_PACKETS_LOST)
                i->lost_in_buffers += few(part.value);
    }
}

/* What the kernel's buffers had no room for: counts of each CPU, at the begin of the trace and at its end. */
void pf_kernel_stats_note(struct pf_import *i, struct pb_reader stats)
{
    struct pb_field field, part;
    uint64_t lost = 0, phase = 0;
    while (pb_next(&stats, &field)) {
        struct pb_reader cpu = pb_message_of(&field);
        if (field.number == KERNEL_PHASE)
            phase = field.value;
        while (field.number == KERNEL_CPU && pb_next(&cpu, &part))
            if (part.number == CPU_OVERRUN || part.number == CPU_COMMIT_OVERRUN ||
                part.number == CPU_DROPPED)
                lost += few(part.value);
    }
    if (phase == KERNEL_BEGIN)
        i->kernel_lost_before = lost;
    else if (phase == KERNEL_END)
        i->lost_of_kernel = lost > i->kernel_lost_before ? lost - i->kernel_lost_before : 0;
}

static void lost_of(struct pf_import *i, uint64_t records)
{
    const struct import_value value = {.name = "records", .type = SKEIN_T_U64, .bits = records};
    const struct import_entry loss = {.what = IMPORT_LOSS,
                                      .process = PF_GLOBAL,
                                      .time_ns = i->last_ns,
                                      .dur_ns = i->last_ns - i->first_ns,
                                      .name = "",
                                      .reason = PARTITION_LOSS_RING_FULL,
                                      .values = &value,
                                      .count = 1};
    i->status = import_many_add(i->many, &loss);
}

/* What its statistics say was lost, somewhere between the first event and the last: of buffers a number of
 * pieces, each of which held nobody knows how many events; of the kernel a number of events. */
void pf_lost_put(struct pf_import *i)
{
    i->perfetto->overwritten = i->lost_in_buffers;
    i->perfetto->kernel_lost = i->lost_of_kernel;
    if (i->first_ns == 0 && i->last_ns == 0)
        return;
    if (i->lost_in_buffers > 0 && i->status == SKEIN_OK)
        lost_of(i, 0);
    if (i->lost_of_kernel > 0 && i->status == SKEIN_OK)
        lost_of(i, i->lost_of_kernel);
}
