/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that perf wrote on this kind of machine, cut to forty samples (tests/fuzz/corpus/perf_data):
 * its own header says where all lies, and samples are counted here by that alone.
 */
#include <stdlib.h>
#include <string.h>

#include "partition_reader.h"
#include "perf_import.h"
#include "skein/status.h"
#include "skein/trace.h"
#include "support.h"

static uint8_t *bytes;
static size_t count;
static struct buf record;

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
    buf_fini(&record);
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

/* What perf says that it lost is missing in the trace, too, and every event that is told is there. */
START_TEST(records_that_perf_lost_are_a_loss)
{
    struct perf_data data;
    struct perf_imported imported;
    struct skein_trace *trace;
    struct buf made = {0};
    char error[SKEIN_TRACE_ERROR_BYTES] = "";
    uint64_t lost = 0;
    ck_assert_int_eq(perf_data_read(bytes, count, &data, error, sizeof error), SKEIN_OK);
    ck_assert_uint_eq(data.gap_count, 0);
    data.gaps = calloc(1, sizeof *data.gaps);
    data.gap_count = 1;
    data.gaps[0] = (struct perf_gap){.from_ns = data.events[2].time_ns,
                                     .to_ns = data.events[data.count - 1].time_ns,
                                     .records = 7};
    ck_assert_int_eq(perf_import(&data, 0, &made, &imported), SKEIN_OK);
    ck_assert_uint_eq(imported.lost_records, 7);
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    ck_assert_int_eq(skein_trace_add_memory(trace, made.data, made.len, "made", error), SKEIN_OK);
    for (uint32_t i = 0; i < skein_trace_partition_count(trace); i++)
        lost += skein_trace_partition(trace, i)->lost;
    ck_assert_uint_eq(lost, 7);
    skein_trace_free(&trace);
    buf_fini(&made);
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

/* ---- records of processes, put behind those that are there ---- */

static void record_begin(uint32_t type, uint16_t misc)
{
    buf_clear(&record);
    buf_put_u32(&record, type);
    buf_put_u16(&record, misc);
    buf_put_u16(&record, 0); /* its size, later */
}

/* What every record ends with, by the sample type of the first event. */
static void record_end(uint32_t pid, uint32_t tid, uint64_t ns, uint32_t cpu)
{
    uint64_t type = u64_at(u64_at(24) + 24);
    const uint64_t task = (uint64_t)tid << 32 | pid;
    const struct {
        uint64_t bit, value;
    } parts[] = {{1, task}, {2, ns}, {6, 0}, {9, 0}, {7, cpu}, {16, 0}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if ((type >> parts[i].bit & 1) != 0)
            buf_put_u64(&record, parts[i].value);
    record.data[6] = (uint8_t)record.len;
}

/* The file with the record at the end of its data; what lies behind moves. */
static void record_add(void)
{
    size_t end = u64_at(40) + u64_at(48), n = record.len;
    uint8_t *larger = malloc(count + n);
    memcpy(larger, bytes, end);
    memcpy(larger + end, record.data, n);
    memcpy(larger + end + n, bytes + end, count - end);
    free(bytes);
    bytes = larger;
    count += n;
    uint64_t value = u64_at(48) + n, features = 0;
    memcpy(bytes + 48, &value, sizeof value);
    for (unsigned i = 0; i < 32; i++)
        for (unsigned bit = 0; bit < 8; bit++)
            features += bytes[72 + i] >> bit & 1;
    for (uint64_t i = 0; i < features; i++) {
        size_t at = end + n + i * 16;
        value = u64_at(at) >= end ? u64_at(at) + n : u64_at(at);
        memcpy(bytes + at, &value, sizeof value);
    }
}

static void exec_add(uint32_t pid, uint32_t tid, const char *name, uint64_t ns, uint32_t cpu)
{
    char comm[16] = "";
    memcpy(comm, name, strlen(name));
    record_begin(3, 1u << 13);
    buf_put_u32(&record, pid);
    buf_put_u32(&record, tid);
    buf_put(&record, comm, (strlen(name) + 8) / 8 * 8);
    record_end(pid, tid, ns, cpu);
    record_add();
}

static void fork_add(uint32_t pid, uint32_t tid, uint64_t ns)
{
    record_begin(7, 0);
    buf_put_u32(&record, pid);
    buf_put_u32(&record, 1);
    buf_put_u32(&record, tid);
    buf_put_u32(&record, 1);
    buf_put_u64(&record, ns);
    record_end(pid, tid, ns, 0);
    record_add();
}

/* A thread that comes to a CPU and leaves it again, and when. */
struct stay {
    uint32_t tid, cpu;
    uint64_t from_ns, to_ns;
};

static struct stay stay_find(void)
{
    struct perf_data data;
    struct stay stay = {0};
    char error[160] = "";
    ck_assert_int_eq(perf_data_read(bytes, count, &data, error, sizeof error), SKEIN_OK);
    for (size_t i = 0; i < data.count && stay.tid == 0; i++)
        for (size_t k = i + 1; k < data.count && data.events[i].next != 0; k++) {
            const struct sched_event *in = &data.events[i], *out = &data.events[k];
            if (in->kind != SCHED_EVENT_SWITCH || out->kind != SCHED_EVENT_SWITCH ||
                out->cpu != in->cpu)
                continue;
            if (out->tid == in->next && out->time_ns > in->time_ns + 10)
                stay = (struct stay){in->next, in->cpu, in->time_ns, out->time_ns};
            break;
        }
    ck_assert_uint_ne(stay.tid, 0);
    perf_data_fini(&data);
    return stay;
}

/* Time on CPUs of each process with this pid, and how many there are. */
static unsigned runs_of(uint32_t pid, uint64_t ns[8])
{
    unsigned n = 0;
    struct perf_data data;
    struct perf_imported imported;
    struct buf trace = {0};
    char error[256] = "";
    ck_assert_int_eq(perf_data_read(bytes, count, &data, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(perf_import(&data, 0, &trace, &imported), SKEIN_OK);
    for (size_t at = 0; at < trace.len;) {
        uint64_t length;
        struct partition_reader *reader;
        struct trace_event event;
        memcpy(&length, trace.data + at + 16, sizeof length); /* F-8 */
        ck_assert_int_eq(
            partition_reader_new(trace.data + at, length, &reader, error, sizeof error), SKEIN_OK);
        bool its = partition_reader_info(reader)->pid == pid;
        ck_assert_uint_lt(n, 8);
        ns[n] = 0;
        while (partition_reader_next(reader, &event) == 1)
            if (event.type != NULL && strcmp(event.type->name, "sched.run") == 0)
                ns[n] += event.dur_ns;
        n += its;
        partition_reader_free(&reader);
        at += length;
    }
    buf_fini(&trace);
    perf_data_fini(&data);
    return n;
}

START_TEST(a_process_that_runs_another_program_is_another_from_there_on)
{
    uint64_t before[8], behind[8];
    struct stay stay = stay_find();
    fork_add(stay.tid, stay.tid, 1); /* the file may not say of which process it is */
    ck_assert_uint_eq(runs_of(stay.tid, before), 1);
    uint64_t at_ns = stay.from_ns + (stay.to_ns - stay.from_ns) / 3;
    exec_add(stay.tid, stay.tid, "another", at_ns, stay.cpu);
    ck_assert_uint_eq(runs_of(stay.tid, behind), 2);
    ck_assert_uint_eq(behind[0] + behind[1], before[0]);
    ck_assert_uint_ge(behind[0], at_ns - stay.from_ns);
    ck_assert_uint_ge(behind[1], stay.to_ns - at_ns);
}
END_TEST

START_TEST(a_thread_is_of_the_process_that_had_it_then)
{
    struct perf_data data;
    char error[160] = "";
    fork_add(500, 500, 1000);
    fork_add(500, 501, 2000);
    fork_add(600, 501, 5000);
    fork_add(500, 500, 7000);
    ck_assert_int_eq(perf_data_read(bytes, count, &data, error, sizeof error), SKEIN_OK);
    ck_assert_uint_eq(perf_data_process(&data, 501, 100), 500); /* the first that is known */
    ck_assert_uint_eq(perf_data_process(&data, 501, 2000), 500);
    ck_assert_uint_eq(perf_data_process(&data, 501, 4999), 500);
    ck_assert_uint_eq(perf_data_process(&data, 501, 5000), 600);
    ck_assert_uint_eq(perf_data_process(&data, 700000000, 5000), 700000000);
    ck_assert_uint_eq(perf_data_life(&data, 500, 999), 0);
    ck_assert_uint_eq(perf_data_life(&data, 500, 6999), 1);
    ck_assert_uint_eq(perf_data_life(&data, 500, 7000), 2);
    ck_assert_uint_eq(perf_data_life(&data, 700000000, 7000), 0);
    perf_data_fini(&data);
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
    tcase_add_test(tests, records_that_perf_lost_are_a_loss);
    tcase_add_test(tests, a_file_without_its_last_byte_is_refused_with_a_sentence);
    tcase_add_test(tests, a_process_that_runs_another_program_is_another_from_there_on);
    tcase_add_test(tests, a_thread_is_of_the_process_that_had_it_then);
    tcase_add_test(tests, another_clock_is_refused);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
