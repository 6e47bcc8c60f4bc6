/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that perf wrote on this kind of machine, cut to forty samples (tests/fuzz/corpus/perf_data):
 * its own header says where all lies, and samples are counted here by that alone.
 */
#include <stdlib.h>
#include <string.h>

#include "perf_import.h"
#include "skein/status.h"
#include "support.h"

static uint8_t *bytes;
static size_t count;

static uint64_t u64_at(size_t at)
{
    uint64_t value;
    memcpy(&value, bytes + at, sizeof value);
    return value;
}

static void set_up(void)
{
    char *path = path_join(CORPUS, "sched");
    bytes = (uint8_t *)file_read(path, &count);
    ck_assert_ptr_nonnull(bytes);
    free(path);
}

static void tear_down(void)
{
    free(bytes);
}

static uint64_t samples_count(void)
{
    size_t at = u64_at(40), end = at + u64_at(48);
    uint64_t samples = 0;
    while (at < end) {
        uint16_t size;
        memcpy(&size, bytes + at + 6, sizeof size);
        samples += bytes[at] == 9;
        at += size;
    }
    return samples;
}

START_TEST(each_sample_is_an_event_or_counted_as_another)
{
    struct perf_data data;
    struct perf_imported imported;
    struct buf trace = {0};
    char error[160] = "";
    ck_assert_int_eq(perf_data_read(bytes, count, &data, error, sizeof error), SKEIN_OK);
    ck_assert_uint_eq(samples_count(), 40);
    ck_assert_uint_eq(data.count + data.others, 40);
    ck_assert_uint_gt(data.count, 10);
    ck_assert(data.has_realtime);
    for (size_t i = 1; i < data.count; i++)
        ck_assert_uint_ge(data.events[i].time_ns, data.events[i - 1].time_ns);
    ck_assert_int_eq(perf_import(&data, 0, &trace, &imported), SKEIN_OK);
    ck_assert_uint_gt(imported.events, 10);
    buf_fini(&trace);
    perf_data_fini(&data);
}
END_TEST

START_TEST(a_file_without_its_last_byte_is_refused_with_a_sentence)
{
    for (size_t n = 0; n < count; n++) {
        struct perf_data data;
        char error[160] = "";
        uint8_t *cut = malloc(n + 1);
        memcpy(cut, bytes, n);
        must_hold(perf_data_read(cut, n, &data, error, sizeof error) != SKEIN_OK, "%zu bytes", n);
        must_hold(error[0] != '\0' && data.events == NULL, "%zu bytes: no sentence", n);
        free(cut);
    }
}
END_TEST

START_TEST(another_clock_is_refused)
{
    struct perf_data data;
    char error[160] = "";
    size_t attr = u64_at(24), each = u64_at(16), end = attr + u64_at(32);
    for (; attr < end; attr += each)
        bytes[attr + 92] = 0; /* CLOCK_REALTIME */
    ck_assert_int_eq(perf_data_read(bytes, count, &data, error, sizeof error), SKEIN_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error, "--clockid CLOCK_MONOTONIC"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("perf_data");
    TCase *tests = tcase_create("perf_data");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, each_sample_is_an_event_or_counted_as_another);
    tcase_add_test(tests, a_file_without_its_last_byte_is_refused_with_a_sentence);
    tcase_add_test(tests, another_clock_is_refused);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
