/* SPDX-License-Identifier: Apache-2.0
 * The processes that read traces for the collector: what they answer, how they are confined, and
 * that one which dies, hangs, lies or takes too much costs its own answer alone. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyst.h"
#include "analyst_liar.h"
#include "clock.h"
#include "json.h"
#include "partition_make.h"
#include "summary.h"
#include "support.h"

#define SECOND_NS UINT64_C(1000000000)

struct memory {
    struct buf bytes;
    unsigned reads;
    int fails; /* the status of each read; SKEIN_OK: none */
    void (*look)(void);
};

static int memory_read(void *context, uint64_t offset, void *out, size_t n)
{
    struct memory *m = context;
    m->reads++;
    if (m->look != NULL)
        m->look();
    ck_assert_uint_le(offset, m->bytes.len);
    ck_assert_uint_le(n, m->bytes.len - offset);
    memcpy(out, m->bytes.data + offset, n);
    return m->fails;
}

static struct memory memory_make(void)
{
    struct memory m = {.bytes = {0}};
    struct partition_key key = key_of(1, 1, 1);
    partition_of(&key, 4000, &m.bytes);
    return m;
}

static struct analyst *analyst_make(const char *program, uint64_t memory_bytes)
{
    struct analyst_settings settings = {program, memory_bytes, 20};
    struct analyst *analyst;
    char error[ANALYST_ERROR_BYTES] = "";
    ck_assert_msg(analyst_new(&settings, &analyst, error) == SKEIN_OK, "%s", error);
    return analyst;
}

static uint64_t deadline(void)
{
    return clock_monotonic_ns() + support_deadline_ms() * UINT64_C(1000000);
}

static struct skein_trace_source source_of(struct memory *m)
{
    return (struct skein_trace_source){memory_read, m, m->bytes.len, "a trace"};
}

/* One job on the memory; what it answers is text in `answer`. */
static int job_run(struct memory *m, struct analyst_job job, struct buf *answer, char *error)
{
    struct analyst *analyst = analyst_make(ANALYST_PROGRAM, UINT64_C(512) << 20);
    struct skein_trace_source source = source_of(m);
    job.traces = &source;
    job.trace_count = 1;
    if (job.deadline_ns == 0)
        job.deadline_ns = deadline();
    if (job.answer_bytes == 0)
        job.answer_bytes = 1 << 20;
    int status = analyst_run(analyst, &job, answer, error);
    analyst_free(&analyst);
    return status;
}

static cJSON *json_of(const struct buf *answer)
{
    char error[128];
    cJSON *json = json_parse((const char *)answer->data, answer->len, error, sizeof error);
    ck_assert_msg(json != NULL, "%s: %.*s", error, (int)answer->len, (const char *)answer->data);
    return json;
}

START_TEST(rows_come_with_their_types)
{
    struct memory m = memory_make();
    struct buf answer = {0};
    char error[ANALYST_ERROR_BYTES];
    struct analyst_job job = {.kind = ANALYST_SQL,
                              .sql = "select 1 as a, 2.5 as b, 'x' as c, null as d, x'ff' as e "
                                     "union all select 9007199254740993, 1.0, 'y', null, x'00';"};
    ck_assert_int_eq(job_run(&m, job, &answer, error), SKEIN_OK);
    ck_assert_str_eq(error, "");
    buf_put_u8(&answer, 0);
    ck_assert_str_eq((const char *)answer.data,
                     "{\"columns\":[{\"name\":\"a\",\"type\":\"integer\"},"
                     "{\"name\":\"b\",\"type\":\"real\"},{\"name\":\"c\",\"type\":\"text\"},"
                     "{\"name\":\"d\",\"type\":\"null\"},{\"name\":\"e\",\"type\":\"blob\"}],"
                     "\"rows\":[[1,2.5,\"x\",null,\"ff\"],"
                     "[\"9007199254740993\",1.0,\"y\",null,\"00\"]],\"more\":false,\"gaps\":[]}\n");
    buf_fini(&answer);
    buf_fini(&m.bytes);
}
END_TEST

START_TEST(rows_beyond_the_limit_are_named)
{
    struct memory m = memory_make();
    struct buf answer = {0};
    char error[ANALYST_ERROR_BYTES];
    const char *sql = "with recursive n(i) as (select 1 union all select i + 1 from n where "
                      "i < 100000) select i, 'some text to make it long' from n";
    struct analyst_job job = {.kind = ANALYST_SQL, .sql = sql, .rows = 3};
    ck_assert_int_eq(job_run(&m, job, &answer, error), SKEIN_OK);
    cJSON *json = json_of(&answer);
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(json, "rows")), 3);
    ck_assert(cJSON_IsTrue(cJSON_GetObjectItem(json, "more")));
    cJSON_Delete(json);
    buf_clear(&answer);
    /* and those that the answer has no room for */
    job.rows = 0;
    job.answer_bytes = 20000;
    ck_assert_int_eq(job_run(&m, job, &answer, error), SKEIN_OK);
    ck_assert_uint_le(answer.len, 20000);
    json = json_of(&answer);
    ck_assert_int_gt(cJSON_GetArraySize(cJSON_GetObjectItem(json, "rows")), 100);
    ck_assert(cJSON_IsTrue(cJSON_GetObjectItem(json, "more")));
    cJSON_Delete(json);
    buf_fini(&answer);
    buf_fini(&m.bytes);
}
END_TEST

START_TEST(errors_say_where_they_are)
{
    struct memory m = memory_make();
    struct buf answer = {0};
    char error[ANALYST_ERROR_BYTES];
    static const struct {
        const char *sql, *error;
        int status;
    } cases[] = {
        {"select nowhere from event", "7: no such column: nowhere", SKEIN_INVALID},
        {"  -- no more\n", "-1: there is no statement", SKEIN_INVALID},
        {"select 1; select 2", "9: only one statement at a time is answered", SKEIN_INVALID},
        {"attach '/etc/passwd' as p", NULL, SKEIN_DENIED},
        {"create table t(a)", NULL, SKEIN_DENIED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct analyst_job job = {.kind = ANALYST_SQL, .sql = cases[i].sql};
        ck_assert_int_eq(job_run(&m, job, &answer, error), cases[i].status);
        ck_assert_uint_eq(answer.len, 0);
        if (cases[i].error != NULL)
            ck_assert_str_eq(error, cases[i].error);
        ck_assert_str_ne(error, "");
    }
    buf_fini(&m.bytes);
}
END_TEST

START_TEST(a_report_and_a_summary_are_answered)
{
    struct memory m = memory_make();
    struct buf answer = {0};
    char error[ANALYST_ERROR_BYTES];
    ck_assert_int_eq(job_run(&m, (struct analyst_job){.kind = ANALYST_REPORT}, &answer, error),
                     SKEIN_OK);
    cJSON *json = json_of(&answer);
    ck_assert(cJSON_IsArray(cJSON_GetObjectItem(json, "findings")));
    cJSON_Delete(json);
    buf_clear(&answer);
    ck_assert_int_eq(job_run(&m, (struct analyst_job){.kind = ANALYST_SUMMARY}, &answer, error),
                     SKEIN_OK);
    struct summary *summary;
    const struct summary_process *processes;
    ck_assert_int_eq(summary_bytes_get(answer.data, answer.len, 0, &summary), SKEIN_OK);
    ck_assert_uint_eq(summary_processes(summary, &processes), 1);
    summary_free(&summary);
    /* of a process that is not there, nothing */
    buf_clear(&answer);
    uint8_t other[16] = {1};
    struct analyst_job job = {.kind = ANALYST_SUMMARY, .process = other};
    ck_assert_int_eq(job_run(&m, job, &answer, error), SKEIN_OK);
    ck_assert_int_eq(summary_bytes_get(answer.data, answer.len, 0, &summary), SKEIN_OK);
    ck_assert_uint_eq(summary_processes(summary, &processes), 0);
    summary_free(&summary);
    buf_fini(&answer);
    buf_fini(&m.bytes);
}
END_TEST

START_TEST(a_broken_trace_and_a_broken_disk_are_told_apart)
{
    struct memory m = memory_make();
    struct buf answer = {0};
    char error[ANALYST_ERROR_BYTES];
    m.fails = SKEIN_IO;
    ck_assert_int_eq(job_run(&m, (struct analyst_job){.kind = ANALYST_REPORT}, &answer, error),
                     SKEIN_IO);
    m.fails = SKEIN_OK;
    memset(m.bytes.data, 0x5a, m.bytes.len);
    ck_assert_int_eq(job_run(&m, (struct analyst_job){.kind = ANALYST_REPORT}, &answer, error),
                     SKEIN_CORRUPT);
    ck_assert_str_ne(error, "");
    ck_assert_uint_eq(answer.len, 0);
    buf_fini(&m.bytes);
}
END_TEST

/* ---- limits ---- */

static const char endless[] = "with recursive n(i) as (select 1 union all select i + 1 from n) "
                              "select count(*) from n";

START_TEST(a_statement_without_end_ends_at_the_deadline)
{
    struct memory m = memory_make();
    struct buf answer = {0};
    char error[ANALYST_ERROR_BYTES];
    struct analyst_job job = {
        .kind = ANALYST_SQL, .sql = endless, .deadline_ns = clock_monotonic_ns() + SECOND_NS / 4};
    ck_assert_int_eq(job_run(&m, job, &answer, error), SKEIN_TIMEOUT);
    buf_fini(&m.bytes);
}
END_TEST

static bool stop_third(void *context)
{
    return ++*(unsigned *)context > 2;
}

START_TEST(a_statement_without_end_ends_when_nobody_waits)
{
    struct memory m = memory_make();
    struct buf answer = {0};
    char error[ANALYST_ERROR_BYTES];
    unsigned asked = 0;
    struct analyst_job job = {
        .kind = ANALYST_SQL, .sql = endless, .stop = stop_third, .context = &asked};
    ck_assert_int_eq(job_run(&m, job, &answer, error), SKEIN_CLOSED);
    buf_fini(&m.bytes);
}
END_TEST

START_TEST(memory_ends_the_answer_alone)
{
    struct memory m = memory_make();
    struct buf answer = {0};
    char error[ANALYST_ERROR_BYTES];
    struct analyst_job job = {.kind = ANALYST_SQL,
                              .sql = "with recursive n(i) as (select 1 union all select i + 1 from "
                                     "n) select i, zeroblob(100000) from n order by 2, 1"};
    ck_assert_int_eq(job_run(&m, job, &answer, error), SKEIN_TOO_LARGE);
    ck_assert_str_ne(error, "");
    buf_fini(&m.bytes);
}
END_TEST

/* ---- how it is confined ---- */

/* The child of this process; 0: none runs. */
static pid_t child_find(void)
{
    char path[64], text[64];
    pid_t found = 0;
    DIR *dir = opendir("/proc/self/task"); /* a child is its thread's */
    const struct dirent *entry;
    ck_assert_ptr_nonnull(dir);
    while (found == 0 && (entry = readdir(dir)) != NULL) {
        snprintf(path, sizeof path, "/proc/self/task/%.16s/children", entry->d_name);
        FILE *file = entry->d_name[0] != '.' ? fopen(path, "re") : NULL;
        if (file != NULL && fgets(text, sizeof text, file) != NULL)
            found = (pid_t)strtol(text, NULL, 10);
        if (file != NULL)
            fclose(file);
    }
    closedir(dir);
    return found;
}

static void child_look(void)
{
    char path[64];
    pid_t pid = child_find();
    ck_assert_int_gt(pid, 0);
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    char *text = file_read(path, NULL);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_nonnull(strstr(text, "\nCapEff:\t0000000000000000\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nNoNewPrivs:\t1\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nSeccomp:\t2\n")); /* a filter */
    free(text);
    snprintf(path, sizeof path, "/proc/%d/fd/3", pid);
    ck_assert_int_ne(access(path, F_OK), 0); /* but its socket and what it prints to */
}

START_TEST(the_first_byte_is_asked_for_from_the_sandbox)
{
    struct memory m = memory_make();
    struct buf answer = {0};
    char error[ANALYST_ERROR_BYTES];
    m.look = child_look;
    ck_assert_int_eq(job_run(&m, (struct analyst_job){.kind = ANALYST_REPORT}, &answer, error),
                     SKEIN_OK);
    ck_assert_uint_gt(m.reads, 0);
    ck_assert_int_eq(child_find(), 0);
    buf_fini(&answer);
    buf_fini(&m.bytes);
}
END_TEST

START_TEST(a_program_that_is_not_there_is_named)
{
    struct analyst_settings settings = {"/nonexistent/skein-analyst", 1 << 20, 1};
    struct analyst *analyst;
    char error[ANALYST_ERROR_BYTES];
    ck_assert_int_eq(analyst_new(&settings, &analyst, error), SKEIN_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error, "/nonexistent/skein-analyst"));
    ck_assert_ptr_null(analyst);
}
END_TEST

/* ---- children that lie ---- */

static const struct {
    enum liar lie;
    int status;
} lies[] = {{LIAR_EXITS, SKEIN_CORRUPT},        {LIAR_ABORTS, SKEIN_CORRUPT},
            {LIAR_HANGS, SKEIN_TIMEOUT},        {LIAR_BABBLES, SKEIN_CORRUPT},
            {LIAR_ANSWERS_MORE, SKEIN_CORRUPT}, {LIAR_ASKS_BEHIND, SKEIN_CORRUPT},
            {LIAR_ASKS_OTHER, SKEIN_CORRUPT},   {LIAR_ASKS_NOTHING, SKEIN_CORRUPT},
            {LIAR_ENDS_BADLY, SKEIN_CORRUPT},   {LIAR_HEAD_ALONE, SKEIN_CORRUPT},
            {LIAR_READS_NOT, SKEIN_TIMEOUT},    {LIAR_CONFINED_NOT, SKEIN_UNSUPPORTED},
            {LIAR_SPINS, SKEIN_TOO_LARGE}};

START_TEST(a_child_that_lies_costs_its_own_answer)
{
    struct memory m = memory_make();
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct analyst *analyst = analyst_make(ANALYST_LIAR, (uint64_t)lies[i].lie);
        struct skein_trace_source source = source_of(&m);
        struct buf answer = {0};
        char error[ANALYST_ERROR_BYTES];
        bool waits = lies[i].status == SKEIN_TIMEOUT;
        struct analyst_job job = {.kind = ANALYST_REPORT,
                                  .traces = &source,
                                  .trace_count = 1,
                                  .answer_bytes = 100000,
                                  .deadline_ns =
                                      waits ? clock_monotonic_ns() + SECOND_NS / 5 : deadline()};
        buf_put_u8(&answer, 'b');
        ck_assert_msg(analyst_run(analyst, &job, &answer, error) == lies[i].status, "lie %d: %s",
                      lies[i].lie, error);
        ck_assert_str_ne(error, "");
        ck_assert_uint_eq(answer.len, 1); /* what was there is there */
        ck_assert_int_eq(child_find(), 0);
        buf_fini(&answer);
        analyst_free(&analyst);
    }
    buf_fini(&m.bytes);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("analyst", rows_come_with_their_types, rows_beyond_the_limit_are_named,
                 errors_say_where_they_are, a_report_and_a_summary_are_answered,
                 a_broken_trace_and_a_broken_disk_are_told_apart,
                 a_statement_without_end_ends_at_the_deadline,
                 a_statement_without_end_ends_when_nobody_waits, memory_ends_the_answer_alone,
                 the_first_byte_is_asked_for_from_the_sandbox, a_program_that_is_not_there_is_named,
                 a_child_that_lies_costs_its_own_answer, NULL));
}
