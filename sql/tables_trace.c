/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of what a trace consists of, and of what is not in it: processes, threads, partitions,
 * losses, and stats, which are counted in one pass over all of it and kept. One thread.
 */
#include <stdlib.h>

#include "array.h"
#include "partition.h"
#include "sql_int.h"

#define FIELD(name, type, at)                                                                      \
    {                                                                                              \
        name, type, SQL_FIELD, at, NULL                                                            \
    }

static int nothing_begin(struct sql_engine *engine)
{
    (void)engine;
    return SKEIN_OK;
}

/* Of a trace that ends before 2262 these are whole numbers. */
static void known_give(sqlite3_context *to, uint64_t value)
{
    if (value != 0)
        sql_u64_give(to, value);
}

/* From the end of one to that of another: 0, 0 is nothing. */
static void length_give(sqlite3_context *to, uint64_t from_ns, uint64_t to_ns)
{
    if (to_ns != 0)
        sql_u64_give(to, to_ns > from_ns ? to_ns - from_ns : 0);
}

static const enum sql_what process_whats[] = {SQL_PROCESS, SQL_PID, SQL_SERVICE, SQL_HOST,
                                              SQL_PROCESS_ID};
#define PROCESS_FIELDS(from)                                                                       \
    FIELD("process", "TEXT", from), FIELD("pid", "INTEGER", (from) + 1),                           \
        FIELD("service", "TEXT", (from) + 2), FIELD("host", "TEXT", (from) + 3),                   \
        FIELD("process_id", "INTEGER", (from) + 4)

/* ---- process ---- */

enum {
    P_ID,
    P_PROCESS, /* the four of process_whats */
    P_LABELS = P_PROCESS + 4,
    P_EXE,
    P_TS,
    P_DUR,
    P_START,
    P_SIGNAL,
    P_STATUS,
    P_EVENTS,
    P_PARTITIONS
};

static size_t processes_count(const struct sql_engine *engine)
{
    return skein_trace_process_count(engine->trace);
}

static void process_value(sqlite3_context *to, const struct sql_engine *engine, size_t row,
                          int field)
{
    const struct skein_process *p = skein_trace_process(engine->trace, (uint32_t)row);
    if (field >= P_PROCESS && field < P_LABELS)
        sql_process_give(to, engine->trace, (uint32_t)row, process_whats[field - P_PROCESS]);
    else if (field == P_ID)
        sqlite3_result_int64(to, (sqlite3_int64)row);
    else if (field == P_LABELS || field == P_EXE)
        sql_text_give(to, field == P_LABELS ? p->labels : p->exe);
    else if (field == P_TS || field == P_START)
        known_give(to, field == P_TS ? p->from_ns : p->start_ns);
    else if (field == P_DUR)
        length_give(to, p->from_ns, p->to_ns);
    else if (field == P_EVENTS)
        sql_u64_give(to, p->events);
    else if (field == P_PARTITIONS)
        sqlite3_result_int64(to, p->partitions);
    else if (p->death.known)
        sqlite3_result_int(to, field == P_SIGNAL ? p->death.signal : p->death.status);
}

static int names_begin(struct sql_engine *engine)
{
    return sql_names_learn(engine);
}

static const struct sql_list process_list = {names_begin, processes_count, process_value};
static const struct sql_column process_columns[] = {FIELD("id", "INTEGER", P_ID),
                                                    FIELD("process", "TEXT", P_PROCESS),
                                                    FIELD("pid", "INTEGER", P_PROCESS + 1),
                                                    FIELD("service", "TEXT", P_PROCESS + 2),
                                                    FIELD("host", "TEXT", P_PROCESS + 3),
                                                    FIELD("labels", "TEXT", P_LABELS),
                                                    FIELD("exe", "TEXT", P_EXE),
                                                    FIELD("ts", "INTEGER", P_TS),
                                                    FIELD("dur", "INTEGER", P_DUR),
                                                    FIELD("start_ts", "INTEGER", P_START),
                                                    FIELD("signal", "INTEGER", P_SIGNAL),
                                                    FIELD("status", "INTEGER", P_STATUS),
                                                    FIELD("events", "INTEGER", P_EVENTS),
                                                    FIELD("partitions", "INTEGER", P_PARTITIONS),
                                                    SQL_COLUMNS_END};
const struct sql_table sql_process = {
    .name = "process", .columns = process_columns, .list = &process_list};

/* ---- thread ---- */

enum { T_ID, T_NAME, T_TID, T_INCARNATION, T_MAIN, T_EVIDENCE, T_PROCESS };

static size_t threads_count(const struct sql_engine *engine)
{
    return skein_trace_thread_count(engine->trace);
}

static void thread_value(sqlite3_context *to, const struct sql_engine *engine, size_t row,
                         int field)
{
    const struct skein_thread *t = skein_trace_thread(engine->trace, (uint32_t)row);
    if (field >= T_PROCESS)
        sql_process_give(to, engine->trace, t->process, process_whats[field - T_PROCESS]);
    else if (field == T_ID)
        sqlite3_result_int64(to, (sqlite3_int64)row);
    else if (field == T_NAME)
        sqlite3_result_text(to, t->name, -1, SQLITE_TRANSIENT);
    else if (field == T_TID)
        sqlite3_result_int64(to, t->tid);
    else if (field == T_INCARNATION)
        sql_u64_give(to, t->incarnation);
    else if (field == T_MAIN)
        sqlite3_result_int(to, t->tid == skein_trace_process(engine->trace, t->process)->pid);
    else
        sqlite3_result_int(to, t->evidence);
}

static const struct sql_list thread_list = {names_begin, threads_count, thread_value};
static const struct sql_column thread_columns[] = {
    FIELD("id", "INTEGER", T_ID),        FIELD("name", "TEXT", T_NAME),
    FIELD("tid", "INTEGER", T_TID),      FIELD("incarnation", "INTEGER", T_INCARNATION),
    FIELD("is_main", "INTEGER", T_MAIN), FIELD("evidence", "INTEGER", T_EVIDENCE),
    PROCESS_FIELDS(T_PROCESS),           SQL_COLUMNS_END};
const struct sql_table sql_thread = {
    .name = "thread", .columns = thread_columns, .list = &thread_list};

/* ---- partition ---- */

enum {
    N_ID,
    N_EPOCH,
    N_SEQUENCE,
    N_TS,
    N_DUR,
    N_WINDOW_TS,
    N_WINDOW_DUR,
    N_FILE,
    N_OFFSET,
    N_BYTES,
    N_EVENTS,
    N_LOST,
    N_FIXED_UP,
    N_THREADS,
    N_EVIDENCE,
    N_SLICE,
    N_PROCESS
};

static size_t partitions_count(const struct sql_engine *engine)
{
    return skein_trace_partition_count(engine->trace);
}

static void partition_value(sqlite3_context *to, const struct sql_engine *engine, size_t row,
                            int field)
{
    const struct skein_partition *p = skein_trace_partition(engine->trace, (uint32_t)row);
    const uint64_t numbers[] = {[N_ID] = row,
                                [N_EPOCH] = p->epoch,
                                [N_SEQUENCE] = p->sequence,
                                [N_TS] = p->from_ns,
                                [N_WINDOW_TS] = p->window_from_ns,
                                [N_FILE] = p->file,
                                [N_OFFSET] = p->offset,
                                [N_BYTES] = p->bytes,
                                [N_EVENTS] = p->events,
                                [N_LOST] = p->lost,
                                [N_FIXED_UP] = p->fixed_up,
                                [N_THREADS] = p->threads,
                                [N_EVIDENCE] = p->evidence,
                                [N_SLICE] = p->slice};
    if (field >= N_PROCESS)
        sql_process_give(to, engine->trace, p->process, process_whats[field - N_PROCESS]);
    else if (field == N_DUR)
        length_give(to, p->from_ns, p->to_ns);
    else if (field == N_WINDOW_DUR)
        length_give(to, p->window_from_ns, p->window_to_ns);
    else
        sql_u64_give(to, numbers[field]);
}

static const struct sql_list partition_list = {nothing_begin, partitions_count, partition_value};
static const struct sql_column partition_columns[] = {FIELD("id", "INTEGER", N_ID),
                                                      FIELD("epoch", "INTEGER", N_EPOCH),
                                                      FIELD("sequence", "INTEGER", N_SEQUENCE),
                                                      FIELD("ts", "INTEGER", N_TS),
                                                      FIELD("dur", "INTEGER", N_DUR),
                                                      FIELD("window_ts", "INTEGER", N_WINDOW_TS),
                                                      FIELD("window_dur", "INTEGER", N_WINDOW_DUR),
                                                      FIELD("file", "INTEGER", N_FILE),
                                                      FIELD("file_offset", "INTEGER", N_OFFSET),
                                                      FIELD("bytes", "INTEGER", N_BYTES),
                                                      FIELD("events", "INTEGER", N_EVENTS),
                                                      FIELD("lost", "INTEGER", N_LOST),
                                                      FIELD("fixed_up", "INTEGER", N_FIXED_UP),
                                                      FIELD("threads", "INTEGER", N_THREADS),
                                                      FIELD("evidence", "INTEGER", N_EVIDENCE),
                                                      FIELD("is_slice", "INTEGER", N_SLICE),
                                                      PROCESS_FIELDS(N_PROCESS),
                                                      SQL_COLUMNS_END};
const struct sql_table sql_partition = {
    .name = "partition", .columns = partition_columns, .list = &partition_list};

/* ---- loss ---- */

static const struct sql_column loss_columns[] = {{"reason", "TEXT", SQL_REASON, 0, NULL},
                                                 {"records", "INTEGER", SQL_RECORDS, 0, NULL},
                                                 {"bytes", "INTEGER", SQL_BYTES, 0, NULL},
                                                 {"ts", "INTEGER", SQL_TS, 0, NULL},
                                                 {"dur", "INTEGER", SQL_DUR, 0, NULL},
                                                 {"what", "TEXT", SQL_SENTENCE, 0, NULL},
                                                 SQL_THREAD_COLUMNS,
                                                 SQL_COLUMNS_END};
const struct sql_table sql_loss = {
    .name = "loss", .columns = loss_columns, .kinds = SQL_KIND_BIT(LOSS), .rows = SQL_ROWS_LOSSES};

/* ---- stats ---- */

static const struct {
    uint8_t reason; /* 0: all that this version does not know */
    const char *counted, *uncounted;
} reasons[] = {
#define X(name, value, text) {value, "lost_" text, "lost_uncounted_" text},
    PARTITION_LOSS_LIST(X)
#undef X
        {0, "lost_unknown", "lost_uncounted_unknown"}};
#define REASONS (sizeof reasons / sizeof *reasons)

struct reason_sums {
    uint64_t records[REASONS], uncounted[REASONS];
};

static int stat_add(struct sql_engine *engine, struct sql_stat stat)
{
    if (!array_grow(engine->stats, engine->stat_count + 1, &engine->stat_cap))
        return SKEIN_NO_MEMORY;
    engine->stats[engine->stat_count++] = stat;
    return SKEIN_OK;
}

static void losses_add(const struct skein_batch *batch, struct reason_sums *sums,
                       uint32_t processes, uint64_t *events)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        if (batch->kind[i] != SKEIN_ROW_LOSS || batch->more[i] == SKEIN_NONE) {
            (*events)++;
            continue;
        }
        const struct skein_row_more *loss = &batch->mores[batch->more[i]];
        size_t r = 0;
        while (r + 1 < REASONS && reasons[r].reason != loss->loss_reason)
            r++;
        struct reason_sums *of =
            &sums[batch->process[i] < processes ? batch->process[i] : processes];
        of->records[r] += loss->lost;
        of->uncounted[r] += loss->lost == 0;
    }
}

static int reasons_put(struct sql_engine *engine, const struct reason_sums *sums)
{
    int status = SKEIN_OK;
    for (uint32_t p = 0; p < skein_trace_process_count(engine->trace); p++)
        for (size_t r = 0; r < REASONS && status == SKEIN_OK; r++) {
            status = stat_add(engine,
                              (struct sql_stat){reasons[r].counted, "data_loss", "trace",
                                                "records that are missing", p, sums[p].records[r]});
            if (status == SKEIN_OK)
                status = stat_add(
                    engine,
                    (struct sql_stat){reasons[r].uncounted, "data_loss", "trace",
                                      "stretches in which nobody knows how many are missing", p,
                                      sums[p].uncounted[r]});
        }
    return status;
}

static int totals_put(struct sql_engine *engine, const struct skein_cursor *cursor, uint64_t events)
{
    const struct skein_gap *gaps;
    size_t count = skein_cursor_gaps(cursor, &gaps);
    uint64_t missing = 0, broken = 0, torn = 0;
    for (size_t i = 0; i < count; i++) {
        missing += gaps[i].reason == SKEIN_GAP_MISSING;
        broken += gaps[i].reason == SKEIN_GAP_BROKEN;
        torn += gaps[i].reason == SKEIN_GAP_TORN ? gaps[i].bytes : 0;
    }
    const struct sql_stat totals[] = {
        {"partitions_missing", "data_loss", "trace", "holes in the numbers of a process's cuts", -1,
         missing},
        {"partitions_broken", "data_loss", "trace", "partitions that cannot be read to their end",
         -1, broken},
        {"bytes_torn", "data_loss", "trace", "bytes of the files that belong to no partition", -1,
         torn},
        {"unordered", "error", "analysis", "records that waited for each other in a circle", -1,
         skein_cursor_unordered(cursor)},
        {"fixed_up", "info", "analysis", "times that were raised, to be behind their causes", -1,
         skein_cursor_fixed_up(cursor)},
        {"events", "info", "trace", "rows of event, without those of losses", -1, events},
        {"partitions", "info", "trace", "partitions whose footers can be read", -1,
         skein_trace_partition_count(engine->trace)}};
    int status = SKEIN_OK;
    for (size_t i = 0; i < sizeof totals / sizeof *totals && status == SKEIN_OK; i++)
        status = stat_add(engine, totals[i]);
    return status;
}

/* All is decoded once: what is broken is known only then. */
static int stats_begin(struct sql_engine *engine)
{
    struct skein_query query = {.size = sizeof query,
                                .columns = SKEIN_COLUMN_TIME | SKEIN_COLUMN_TYPE};
    struct skein_batch batch;
    struct skein_cursor *cursor = NULL;
    uint64_t events = 0;
    if (engine->stats_known)
        return SKEIN_OK;
    engine->stat_count = 0;
    const uint32_t processes = skein_trace_process_count(engine->trace);
    struct reason_sums *sums = calloc((size_t)processes + 1, sizeof *sums);
    int status = sums == NULL ? SKEIN_NO_MEMORY : skein_cursor_new(engine->trace, &query, &cursor);
    while (status == SKEIN_OK && (status = skein_cursor_next(cursor, &batch)) > 0) {
        losses_add(&batch, sums, processes, &events);
        status = sql_may_go_on(engine, batch.count) ? SKEIN_OK : engine->ended;
    }
    if (status == SKEIN_OK)
        status = sql_gaps_note(engine, cursor);
    if (status == SKEIN_OK)
        status = totals_put(engine, cursor, events);
    if (status == SKEIN_OK)
        status = reasons_put(engine, sums);
    engine->stats_known = status == SKEIN_OK;
    skein_cursor_free(&cursor);
    free(sums);
    return status;
}

static size_t stats_count(const struct sql_engine *engine)
{
    return engine->stat_count;
}

enum { S_NAME, S_SEVERITY, S_SOURCE, S_VALUE, S_DESCRIPTION, S_PROCESS };

static void stat_value(sqlite3_context *to, const struct sql_engine *engine, size_t row, int field)
{
    const struct sql_stat *stat = &engine->stats[row];
    const char *const texts[] = {[S_NAME] = stat->name,
                                 [S_SEVERITY] = stat->severity,
                                 [S_SOURCE] = stat->source,
                                 [S_VALUE] = NULL,
                                 [S_DESCRIPTION] = stat->description};
    if (field == S_VALUE)
        sql_u64_give(to, stat->value);
    else if (field < S_PROCESS)
        sql_text_give(to, texts[field]);
    else if (stat->process >= 0)
        sql_process_give(to, engine->trace, (uint32_t)stat->process,
                         process_whats[field - S_PROCESS]);
}

static const struct sql_list stats_list = {stats_begin, stats_count, stat_value};
static const struct sql_column stats_columns[] = {FIELD("name", "TEXT", S_NAME),
                                                  FIELD("severity", "TEXT", S_SEVERITY),
                                                  FIELD("source", "TEXT", S_SOURCE),
                                                  FIELD("value", "INTEGER", S_VALUE),
                                                  FIELD("description", "TEXT", S_DESCRIPTION),
                                                  PROCESS_FIELDS(S_PROCESS),
                                                  SQL_COLUMNS_END};
const struct sql_table sql_stats = {.name = "stats", .columns = stats_columns, .list = &stats_list};
