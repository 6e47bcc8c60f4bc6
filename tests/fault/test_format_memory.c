/* SPDX-License-Identifier: Apache-2.0
 * The nth allocation fails in writer, reader, check, trace file and exporter: each says so, leaks
 * nothing (the sanitizers look), and works again. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "../unit/format/sample.h"
#include "alloc_fail.h"
#include "perfetto_export.h"
#include "stack_profile.h"
#include "support.h"
#include "trace_file.h"
#include "trace_json.h"

typedef int subject(void);

/* Runs the subject with its 1st, 2nd, … allocation failing, until it needs no more. */
static void fail_each(subject *run)
{
    unsigned n = 1;
    for (;; n++) {
        alloc_fail_at(n);
        int status = run();
        bool failed = alloc_fail_end();
        if (!failed) {
            ck_assert_int_eq(status, SKEIN_OK);
            break;
        }
        ck_assert_msg(status == SKEIN_NO_MEMORY, "allocation %u: %d", n, status);
        ck_assert_uint_lt(n, 100000);
    }
    ck_assert_uint_gt(n, 1);
}

static struct buf sample;

/* Enough to fill blocks, grow every table and take strings over more than one section. */
static int write_much(void)
{
    struct partition_info info = sample_info();
    struct partition_writer *w;
    struct buf out = {0};
    struct partition_footer footer = {0};
    int status = partition_writer_new(&info, &w);
    if (status != SKEIN_OK)
        return status;
    sample_fill(w);
    sample_stacks_fill(w);
    char text[64];
    uint32_t log = (uint32_t)partition_writer_type(w, &sample_log);
    partition_writer_batch(w, 0, 8, 900, false);
    for (unsigned i = 0; i < 12000; i++) {
        snprintf(text, sizeof text, "%u of many different lines of a log, long enough", i);
        struct partition_value args[2] = {sample_u64(i % 4), sample_str(text)};
        partition_writer_event(w, log, 10000 + i, 0, args);
    }
    for (uint64_t i = 0; i < 140; i++) {
        const struct partition_line line = {text, text, 1};
        const uint64_t pcs[] = {i, i + 1};
        partition_writer_stack(w, &(struct partition_stack){pcs, 2, 0});
        partition_writer_mapping(w, &(struct partition_mapping){i, i + 1, 0, text, {0}, 0});
        partition_writer_symbol(w, &(struct partition_symbol){i, &line, 1});
    }
    for (unsigned i = 0; i < 40; i++)
        partition_writer_loss(w, &(struct partition_loss){0, PARTITION_LOSS_NAME, 1, i, i});
    status = partition_writer_finish(w, &out, &footer);
    if (status != SKEIN_OK)
        ck_assert_uint_eq(out.len, 0);
    partition_footer_free(&footer);
    partition_writer_free(&w);
    buf_fini(&out);
    return status;
}

/* Blocks that are full before the end: the batch that does not fit into one has nowhere to go where
 * the list of blocks cannot grow. */
static int write_blocks(void)
{
    struct partition_info info = sample_info();
    struct partition_writer *w;
    struct buf out = {0};
    int status = partition_writer_new(&info, &w);
    if (status != SKEIN_OK)
        return status;
    sample_fill(w);
    uint32_t log = (uint32_t)partition_writer_type(w, &sample_log);
    partition_writer_batch(w, 0, 8, 900, false);
    for (uint64_t i = 0; i < 40000; i++) {
        struct partition_value args[2] = {sample_u64(i * UINT64_C(0x9e3779b97f4a7c15)),
                                          sample_str("one line")};
        partition_writer_event(w, log, 10000 + i, 0, args);
    }
    status = partition_writer_finish(w, &out, NULL);
    partition_writer_free(&w);
    buf_fini(&out);
    return status;
}

START_TEST(writer_survives_each_failed_allocation)
{
    fail_each(write_much);
    fail_each(write_blocks);
}
END_TEST

static int read_all(void)
{
    struct partition_reader *reader;
    struct trace_event event;
    char error[256];
    int status = partition_reader_new(sample.data, sample.len, &reader, error, sizeof error);
    while (status == SKEIN_OK && (status = partition_reader_next(reader, &event)) == 1)
        status = SKEIN_OK;
    partition_reader_free(&reader);
    return status;
}

static int check_all(void)
{
    char error[256];
    return partition_check(sample.data, sample.len, error, sizeof error);
}

static int export_all(void)
{
    struct partition_reader *reader = NULL;
    struct perfetto_export *exporter;
    struct buf out = {0};
    char error[256];
    int status = perfetto_export_new(0, &exporter);
    if (status == SKEIN_OK)
        status = partition_reader_new(sample.data, sample.len, &reader, error, sizeof error);
    if (status == SKEIN_OK)
        status = perfetto_export_some(exporter, reader, SIZE_MAX, &out);
    if (status == SKEIN_OK)
        status = perfetto_export_finish(exporter, &out);
    partition_reader_free(&reader);
    perfetto_export_free(&exporter);
    buf_fini(&out);
    return status;
}

static int profile_all(void)
{
    struct partition_reader *reader = NULL;
    struct stack_profile *profile;
    struct trace_event event;
    struct buf out = {0};
    char error[256];
    int status = stack_profile_new(0, &profile);
    if (status == SKEIN_OK)
        status = partition_reader_new(sample.data, sample.len, &reader, error, sizeof error);
    while (status == SKEIN_OK && (status = partition_reader_next(reader, &event)) == 1)
        status = stack_profile_add(profile, reader, &event);
    if (status == SKEIN_OK)
        status = stack_profile_pprof(profile, &out);
    if (status == SKEIN_OK)
        status = stack_profile_folded(profile, true, &out);
    partition_reader_free(&reader);
    stack_profile_free(&profile);
    buf_fini(&out);
    return status;
}

static char *path;

static int list_all(void)
{
    struct trace_file *file;
    struct buf bytes = {0};
    char error[512];
    int status = trace_file_open(path, &file, error, sizeof error);
    if (status == SKEIN_OK)
        status = trace_file_read(file, 1, &bytes);
    trace_file_free(&file);
    buf_fini(&bytes);
    return status;
}

START_TEST(reader_survives_each_failed_allocation)
{
    ck_assert_int_eq(sample_stacks_partition(&sample), SKEIN_OK);
    fail_each(read_all);
    fail_each(check_all);
    fail_each(export_all);
    fail_each(profile_all);
    buf_fini(&sample);
}
END_TEST

START_TEST(trace_file_survives_each_failed_allocation)
{
    char *folder = temp_dir_new();
    path = path_join(folder, "t.skein");
    for (unsigned with_table = 0; with_table < 2; with_table++) {
        struct buf bytes = {0};
        ck_assert_int_eq(sample_partition(&bytes), SKEIN_OK);
        uint64_t lengths[2] = {bytes.len, bytes.len};
        ck_assert_int_eq(sample_partition(&bytes), SKEIN_OK);
        if (with_table)
            ck_assert_int_eq(trace_table_put(lengths, 2, &bytes), SKEIN_OK);
        file_write(path, bytes.data, bytes.len);
        buf_fini(&bytes);
        fail_each(list_all);
    }
    free(path);
    temp_dir_free(&folder);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("format_memory", writer_survives_each_failed_allocation,
                              reader_survives_each_failed_allocation,
                              trace_file_survives_each_failed_allocation, NULL));
}
