/* SPDX-License-Identifier: Apache-2.0 */
#include "reading.h"

struct folder {
    char *path, *file;
    struct buf bytes;
    size_t one; /* length of one partition */
};

static void folder_open(struct folder *f, unsigned partitions)
{
    *f = (struct folder){.path = temp_dir_new()};
    f->file = path_join(f->path, "t.skein");
    for (unsigned i = 0; i < partitions; i++)
        ck_assert_int_eq(sample_partition(&f->bytes), SKEIN_OK);
    f->one = partitions > 0 ? f->bytes.len / partitions : 0;
}

static struct trace_file *folder_read(struct folder *f)
{
    char error[512] = "";
    struct trace_file *file;
    file_write(f->file, f->bytes.data, f->bytes.len);
    ck_assert_msg(trace_file_open(f->file, &file, error, sizeof error) == SKEIN_OK, "%s", error);
    return file;
}

static void folder_close(struct folder *f)
{
    free(f->file);
    temp_dir_free(&f->path);
    buf_fini(&f->bytes);
}

static void expect_partitions(struct trace_file *file, const struct folder *f, size_t count,
                              uint64_t torn)
{
    struct buf bytes = {0};
    ck_assert_uint_eq(trace_file_count(file), count);
    ck_assert_uint_eq(trace_file_torn(file), torn);
    for (size_t i = 0; i < count; i++) {
        const struct trace_entry *entry = trace_file_entry(file, i);
        ck_assert_uint_eq(entry->bytes, f->one);
        ck_assert_str_eq(entry->footer.service, "checkout");
        ck_assert_int_eq(trace_file_read(file, i, &bytes), SKEIN_OK);
        char error[256] = "";
        ck_assert_msg(partition_check(bytes.data, bytes.len, error, sizeof error) == SKEIN_OK, "%s",
                      error);
    }
    ck_assert_ptr_null(trace_file_entry(file, count));
    ck_assert_int_eq(trace_file_read(file, count, &bytes), SKEIN_INVALID);
    buf_fini(&bytes);
}

START_TEST(partitions_in_a_row_are_listed)
{
    struct folder f;
    folder_open(&f, 3);
    struct trace_file *file = folder_read(&f);
    expect_partitions(file, &f, 3, 0);
    ck_assert_uint_eq(trace_file_entry(file, 2)->offset, 2 * f.one);
    trace_file_free(&file);
    folder_close(&f);
}
END_TEST

START_TEST(a_closing_table_and_files_joined_by_cat_are_listed)
{
    struct folder f;
    folder_open(&f, 3);
    uint64_t lengths[3] = {f.one, f.one, f.one};
    ck_assert_int_eq(trace_table_put(lengths, 3, &f.bytes), SKEIN_OK);
    struct trace_file *file = folder_read(&f);
    expect_partitions(file, &f, 3, 0);
    trace_file_free(&file);
    size_t n = f.bytes.len;
    uint8_t *again = malloc(n);
    memcpy(again, f.bytes.data, n);
    buf_put(&f.bytes, again, n);
    free(again);
    file = folder_read(&f);
    expect_partitions(file, &f, 6, 0);
    trace_file_free(&file);
    folder_close(&f);
}
END_TEST

START_TEST(a_table_is_no_partition)
{
    struct buf table = {0};
    char error[256] = "";
    uint64_t length, lengths[1] = {1000};
    bool is_table = false;
    struct partition_footer footer;
    size_t need;
    ck_assert_int_eq(trace_table_put(lengths, 1, &table), SKEIN_OK);
    ck_assert_int_eq(trace_head_get(table.data, table.len, &length, &is_table), SKEIN_OK);
    ck_assert(is_table);
    ck_assert_uint_eq(length, table.len);
    ck_assert_int_eq(partition_check(table.data, table.len, error, sizeof error), SKEIN_CORRUPT);
    ck_assert_int_eq(partition_footer_get(table.data, table.len, &footer, &need), SKEIN_CORRUPT);
    buf_fini(&table);
}
END_TEST

START_TEST(a_torn_tail_leaves_the_partitions_before_it)
{
    struct folder f;
    folder_open(&f, 2);
    for (size_t cut = 1; cut < f.one; cut += 37) {
        size_t whole = f.bytes.len;
        f.bytes.len = whole - cut;
        struct trace_file *file = folder_read(&f);
        expect_partitions(file, &f, 1, f.one - cut);
        trace_file_free(&file);
        f.bytes.len = whole;
    }
    folder_close(&f);
}
END_TEST

START_TEST(damage_in_the_middle_costs_that_partition_alone)
{
    struct folder f;
    folder_open(&f, 3);
    for (unsigned i = 0; i < 2; i++) {
        /* the head of the second, then its footer */
        size_t at = i == 0 ? f.one + 20 : 2 * f.one - 40;
        f.bytes.data[at] ^= 0x55;
        struct trace_file *file = folder_read(&f);
        expect_partitions(file, &f, 2, f.one);
        trace_file_free(&file);
        f.bytes.data[at] ^= 0x55;
    }
    folder_close(&f);
}
END_TEST

START_TEST(garbage_between_partitions_is_counted)
{
    struct folder f;
    folder_open(&f, 1);
    uint8_t *partition = malloc(f.one);
    memcpy(partition, f.bytes.data, f.one);
    size_t garbage = 200000; /* more than one search window, ending in the beginning of a magic */
    for (size_t i = 0; i < garbage; i++)
        buf_put_u8(&f.bytes, (uint8_t) "ske"[i % 3]);
    buf_put(&f.bytes, partition, f.one);
    buf_put(&f.bytes, "skein", 5);
    struct trace_file *file = folder_read(&f);
    expect_partitions(file, &f, 2, garbage + 5);
    trace_file_free(&file);
    free(partition);
    folder_close(&f);
}
END_TEST

START_TEST(what_is_no_trace_is_refused_with_a_sentence)
{
    struct folder f;
    struct trace_file *file;
    char error[512] = "";
    folder_open(&f, 0);
    ck_assert_int_eq(trace_file_open(f.file, &file, error, sizeof error), SKEIN_IO);
    ck_assert_ptr_nonnull(strstr(error, "No such file"));
    ck_assert_int_eq(trace_file_open(f.path, &file, error, sizeof error), SKEIN_IO);
    file_write_text(f.file, "");
    ck_assert_int_eq(trace_file_open(f.file, &file, error, sizeof error), SKEIN_CORRUPT);
    ck_assert_ptr_nonnull(strstr(error, "empty"));
    file_write_text(f.file, "this is no trace");
    ck_assert_int_eq(trace_file_open(f.file, &file, error, sizeof error), SKEIN_CORRUPT);
    ck_assert_ptr_null(file);
    ck_assert_ptr_nonnull(strstr(error, "byte 0"));
    ck_assert_int_eq(sample_partition(&f.bytes), SKEIN_OK);
    file_write(f.file, f.bytes.data, f.bytes.len - 1);
    ck_assert_int_eq(trace_file_open(f.file, &file, error, sizeof error), SKEIN_CORRUPT);
    ck_assert_ptr_nonnull(strstr(error, "too early"));
    folder_close(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("trace_file", partitions_in_a_row_are_listed,
                              a_closing_table_and_files_joined_by_cat_are_listed,
                              a_table_is_no_partition, a_torn_tail_leaves_the_partitions_before_it,
                              damage_in_the_middle_costs_that_partition_alone,
                              garbage_between_partitions_is_counted,
                              what_is_no_trace_is_refused_with_a_sentence, NULL));
}
