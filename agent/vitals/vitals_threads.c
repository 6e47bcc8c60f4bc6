/* SPDX-License-Identifier: Apache-2.0
 *
 * From the recorder's rows of threads to events of a capture, "thread.load" on each thread.
 * Evidence thread. Reads names of threads alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kept_file.h"
#include "vitals_int.h"

static const struct partition_event_type type_load =
    EVIDENCE_TYPE("thread.load", SKEIN_CLASS_COUNTER, VITALS_GROUP, EVIDENCE_ARG(F64, "run", "%"),
                  EVIDENCE_ARG(F64, "wait", "%"), EVIDENCE_ARG(F64, "gave_way", "/s"),
                  EVIDENCE_ARG(F64, "preempted", "/s"), EVIDENCE_ARG(U64, "over", "ns"));

/* The name of the thread of the first row; of one that has ended, as it was at the last look. */
static void name_read(const char *proc, const struct thread_row *rows, size_t count, char *name,
                      size_t bytes)
{
    char folder[512], file[64];
    size_t last = 0;
    while (last + 1 < count && rows[last + 1].tid == rows[0].tid)
        last++;
    snprintf(folder, sizeof folder, "%.400s/%u/task", proc, rows[0].pid);
    snprintf(file, sizeof file, "%u/comm", rows[0].tid);
    if (!once_read(folder, file, name, bytes))
        snprintf(name, bytes, "%s", rows[last].name);
    name[strcspn(name, "\n")] = '\0';
}

static void row_put(struct evidence_out *out, int64_t thread, int64_t type,
                    const struct thread_row *row)
{
    double over_us = row->over_us > 0 ? (double)row->over_us : 1;
    const struct partition_value args[] = {{.f64 = (double)row->run_us * 100 / over_us},
                                           {.f64 = (double)row->wait_us * 100 / over_us},
                                           {.f64 = (double)row->voluntary * 1e6 / over_us},
                                           {.f64 = (double)row->involuntary * 1e6 / over_us},
                                           {.u64 = (uint64_t)row->over_us * 1000}};
    (void)evidence_event(out, thread, type, row->at_ns, 0, args);
}

int vitals_threads_put(struct vitals *v, const struct evidence_ask *ask, uint64_t from_ns,
                       uint64_t to_ns, struct evidence_out *out, uint64_t *whole_ns)
{
    struct thread_row *rows;
    size_t count;
    int64_t thread = -1, type = evidence_type(out, &type_load);
    uint32_t pid = ask->process->pid;
    char name[64];
    int status = thread_rows_of(v->threads, pid, ask->process->start_clock_ticks, from_ns, to_ns,
                                &rows, &count, whole_ns);
    for (size_t i = 0; status == SKEIN_OK && i < count; i++) {
        if (i == 0 || rows[i].tid != rows[i - 1].tid) {
            name_read(v->roots.proc, &rows[i], count - i, name, sizeof name);
            thread = evidence_thread(out, rows[i].tid, name);
        }
        row_put(out, thread, type, &rows[i]);
    }
    free(rows);
    return status;
}
