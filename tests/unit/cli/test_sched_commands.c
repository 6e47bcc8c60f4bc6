/* SPDX-License-Identifier: Apache-2.0
 *
 * skein import perf and skein sched, as they are typed, on a file that perf wrote (cut to forty
 * samples). What threads did is held against itself here: test_perf_data.c has the file's own
 * numbers, test_sched_timeline.c the states.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

static char *folder, *data, *out, *trace;

static void set_up(void)
{
    size_t n;
    char *corpus = path_join(CORPUS, "sched"), *bytes = file_read(corpus, &n);
    ck_assert_ptr_nonnull(bytes);
    folder = temp_dir_new();
    data = path_join(folder, "perf.data");
    trace = path_join(folder, "perf.skein");
    out = path_join(folder, "out");
    file_write(data, bytes, n);
    free(bytes);
    free(corpus);
}

static void tear_down(void)
{
    free(data);
    free(trace);
    free(out);
    temp_dir_free(&folder);
}

/* What it says, freed by the caller. */
static char *said(int status, const char *const *words)
{
    const char *argv[16] = {SKEIN_PROGRAM};
    for (size_t n = 0; words[n] != NULL; n++)
        argv[n + 1] = words[n];
    (void)remove(out);
    const struct spawn_options options = {.folder = folder, .out_file = out};
    int got = spawn_wait(spawn(argv, &options), 0);
    char *text = file_read(out, NULL);
    ck_assert_msg(got == status, "skein %s: %d: %s", words[0], got, text);
    return text;
}
#define SAID(status, ...) said(status, (const char *const[]){__VA_ARGS__, NULL})

static cJSON *printed(const char *const *words)
{
    char *text = said(0, words);
    cJSON *json = cJSON_Parse(text);
    ck_assert_msg(json != NULL, "no JSON: %s", text);
    free(text);
    return json;
}
#define PRINTED(...) printed((const char *const[]){__VA_ARGS__, NULL})

static double number(const cJSON *object, const char *name)
{
    const cJSON *member = cJSON_GetObjectItem(object, name);
    ck_assert_msg(cJSON_IsNumber(member), "no number %s", name);
    return member->valuedouble;
}

START_TEST(an_import_is_a_trace_that_sched_reads)
{
    const cJSON *thread, *user, *blocked;
    cJSON *imported = PRINTED("import", "perf", "perf.data", "-o", "json");
    ck_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(imported, "file")), "perf.skein");
    ck_assert(number(imported, "events") > 10 && number(imported, "processes") > 1);
    free(SAID(0, "check", "perf.skein"));
    cJSON *sums = PRINTED("sched", "perf.skein", "-o", "json");
    const cJSON *threads = cJSON_GetObjectItem(sums, "threads");
    ck_assert_int_gt(cJSON_GetArraySize(threads), 1);
    double run_ns = 0, used_ns = 0;
    cJSON_ArrayForEach(thread, threads) {
        double sum = number(thread, "run_ns") + number(thread, "runnable_ns");
        cJSON_ArrayForEach(blocked, cJSON_GetObjectItem(thread, "blocked_ns"))
            sum += blocked->valuedouble;
        run_ns += number(thread, "run_ns");
        ck_assert_msg(sum == number(thread, "span_ns"), "a thread has holes: %s",
                      cJSON_Print(thread));
    }
    cJSON_ArrayForEach(user, cJSON_GetObjectItem(sums, "cpu_users"))
        if (number(user, "pid") != 0)
            used_ns += number(user, "cpu_ns");
    ck_assert(run_ns > 0 && run_ns == used_ns); /* spans and users are two ways of counting */
    cJSON_Delete(sums);
    cJSON_Delete(imported);
    char *text = SAID(0, "sched", "perf.skein");
    ck_assert_msg(strstr(text, "WAITED FOR A CPU") != NULL &&
                      strstr(text, "Who had the CPUs") != NULL,
                  "%s", text);
    free(text);
}
END_TEST

START_TEST(it_is_written_where_it_is_asked_for)
{
    char *text = SAID(0, "import", "perf", "perf.data", "-o", "host.skein");
    char *file = path_join(folder, "host.skein");
    ck_assert_msg(strstr(text, "skein sched host.skein") != NULL, "%s", text);
    ck_assert(access(file, F_OK) == 0 && access(trace, F_OK) != 0);
    free(file);
    free(text);
}
END_TEST

START_TEST(a_damaged_file_is_refused_with_a_sentence)
{
    ck_assert_int_eq(truncate(data, 300), 0);
    char *text = SAID(1, "import", "perf", "perf.data");
    ck_assert_msg(strstr(text, "perf.data: ") != NULL && strlen(text) > 30, "%s", text);
    ck_assert_int_ne(access(trace, F_OK), 0);
    free(text);
    text = SAID(1, "import", "perf", "nothing.data");
    ck_assert_msg(strstr(text, "nothing.data: No such file") != NULL, "%s", text);
    free(text);
    free(SAID(2, "import", "perf"));
}
END_TEST

/* What is read and what was good before are there as they were, and nothing else is. */
static void nothing_is_destroyed(const char *tool)
{
    size_t n, m;
    char *before = file_read(data, &n), *part = path_join(folder, "to.skein.part");
    char *to = path_join(folder, "to.skein");
    char *text = SAID(1, "import", tool, "perf.data", "-o", "perf.data");
    ck_assert_msg(strstr(text, "is what is read") != NULL, "%s", text);
    free(text);
    ck_assert_int_eq(link(data, part), 0);
    free(SAID(1, "import", tool, "perf.data", "-o", "to.skein"));
    ck_assert_int_eq(unlink(part), 0);
    char *after = file_read(data, &m);
    ck_assert_uint_eq(m, n);
    ck_assert_mem_eq(after, before, n);

    free(SAID(0, "import", tool, "perf.data", "-o", "to.skein"));
    char *good = file_read(to, &n);
    ck_assert_uint_gt(n, 0);
    ck_assert_int_eq(truncate(data, 30), 0);
    free(SAID(1, "import", tool, "perf.data", "-o", "to.skein"));
    char *still = file_read(to, &m);
    ck_assert_uint_eq(m, n);
    ck_assert_mem_eq(still, good, n);
    ck_assert_int_ne(access(part, F_OK), 0);
    free(before);
    free(after);
    free(good);
    free(still);
    free(part);
    free(to);
}

START_TEST(an_import_destroys_neither_what_it_reads_nor_what_was_there)
{
    size_t n;
    nothing_is_destroyed("perf");
    char *bytes = file_read(GO_TRACE, &n), *to = path_join(folder, "to.skein");
    ck_assert_ptr_nonnull(bytes);
    file_write(data, bytes, n);
    ck_assert_int_eq(unlink(to), 0);
    nothing_is_destroyed("go");
    free(bytes);
    free(to);
}
END_TEST

START_TEST(a_trace_without_records_says_so)
{
    file_write_text(trace, "no trace");
    free(SAID(1, "sched", "perf.skein"));
    free(SAID(1, "sched", "none.skein"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched_commands");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, an_import_is_a_trace_that_sched_reads);
    tcase_add_test(t, it_is_written_where_it_is_asked_for);
    tcase_add_test(t, a_damaged_file_is_refused_with_a_sentence);
    tcase_add_test(t, an_import_destroys_neither_what_it_reads_nor_what_was_there);
    tcase_add_test(t, a_trace_without_records_says_so);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
