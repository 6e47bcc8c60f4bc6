/* SPDX-License-Identifier: Apache-2.0
 *
 * See sched_types.h.
 */
#include "sched_types.h"

#define TYPE(type_name, of_class, words, count, ...)                                               \
    {                                                                                              \
        .name = type_name, .text = words, .file = "", .klass = of_class,                           \
        .group = SKEIN_GROUP_THREAD, .nargs = count, .args = {                                     \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define NUMBER(arg)                                                                                \
    {                                                                                              \
        .type = SKEIN_T_U64, .name = arg, .unit = ""                                               \
    }
#define DURATION(arg)                                                                              \
    {                                                                                              \
        .type = SKEIN_T_U64, .name = arg, .unit = "ns"                                             \
    }
#define TEXT(arg)                                                                                  \
    {                                                                                              \
        .type = SKEIN_T_STR, .name = arg, .unit = ""                                               \
    }

const struct partition_event_type sched_types[SCHED_TYPES] = {
    [SCHED_TYPE_RUN] =
        TYPE(SCHED_NAME_RUN, SKEIN_CLASS_SPAN, "had a CPU", 2, NUMBER("cpu"), TEXT("cut")),
    [SCHED_TYPE_RUNNABLE] = TYPE(SCHED_NAME_RUNNABLE, SKEIN_CLASS_SPAN, "waited for a CPU", 6,
                                 NUMBER("cpu"), TEXT("why"), NUMBER("instead_tid"), TEXT("instead"),
                                 DURATION("instead_ns"), TEXT("cut")),
    [SCHED_TYPE_BLOCKED] =
        TYPE(SCHED_NAME_BLOCKED, SKEIN_CLASS_SPAN, "waited for an event", 6, TEXT("state"),
             NUMBER("waker_tid"), TEXT("waker"), TEXT("context"), NUMBER("waker_cpu"), TEXT("cut")),
    [SCHED_TYPE_NEIGHBOUR] =
        TYPE(SCHED_NAME_NEIGHBOUR, SKEIN_CLASS_INSTANT, "used CPUs", 6, NUMBER("pid"), TEXT("comm"),
             DURATION("cpu_ns"), DURATION("window_ns"), NUMBER("runs"), NUMBER("threads")),
    [SCHED_TYPE_LOST] = TYPE(SCHED_NAME_LOST, SKEIN_CLASS_SPAN, "records of a CPU are missing", 2,
                             NUMBER("cpu"), NUMBER("records")),
    [SCHED_TYPE_SUMS] =
        TYPE(SCHED_NAME_SUMS, SKEIN_CLASS_INSTANT, "since the thread began", 5, DURATION("run_ns"),
             DURATION("runnable_ns"), NUMBER("runs"), NUMBER("gave_way"), NUMBER("preempted")),
};

static struct partition_value number_value(uint64_t number)
{
    return (struct partition_value){.u64 = number};
}

static const char *cut_text(uint8_t cut)
{
    static const char *const texts[] = {"", "begin", "end", "both"};
    if ((cut & SCHED_CUT_UNSEEN) != 0)
        return "unseen";
    return texts[cut & (SCHED_CUT_BEGIN | SCHED_CUT_END)];
}

/* As ps shows it; a text that lasts. */
static const char *state_text(char state)
{
    static const char *const texts[] = {"S", "D", "T", "t", "P", "I"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i][0] == state)
            return texts[i];
    return "?";
}

enum sched_type sched_span_values(const struct sched_span *span,
                                  struct partition_value values[SKEIN_ARGS_MAX])
{
    static const char *const whys[] = {"", "woken", "preempted", "new"};
    static const char *const contexts[] = {"task", "softirq", "hardirq"};
    switch (span->kind) {
    case SCHED_SPAN_RUN:
        values[0] = number_value(span->cpu);
        values[1] = partition_text(cut_text(span->cut));
        return SCHED_TYPE_RUN;
    case SCHED_SPAN_RUNNABLE:
        values[0] = number_value(span->cpu);
        values[1] = partition_text(whys[span->why & 3]);
        values[2] = number_value(span->instead);
        values[3] = partition_text(span->instead_comm);
        values[4] = number_value(span->instead_ns);
        values[5] = partition_text(cut_text(span->cut));
        return SCHED_TYPE_RUNNABLE;
    default:
        values[0] = partition_text(state_text(span->state));
        values[1] = number_value(span->waker.tid);
        values[2] = partition_text(span->waker.comm);
        values[3] = partition_text(span->waker.known ? contexts[span->waker.context % 3] : "");
        values[4] = number_value(span->waker.cpu);
        values[5] = partition_text(cut_text(span->cut));
        return SCHED_TYPE_BLOCKED;
    }
}

void sched_neighbour_values(const struct sched_neighbour *neighbour, uint64_t window_ns,
                            struct partition_value values[SKEIN_ARGS_MAX])
{
    values[0] = number_value(neighbour->pid);
    values[1] = partition_text(neighbour->comm);
    values[2] = number_value(neighbour->cpu_ns);
    values[3] = number_value(window_ns);
    values[4] = number_value(neighbour->runs);
    values[5] = number_value(neighbour->threads);
}
