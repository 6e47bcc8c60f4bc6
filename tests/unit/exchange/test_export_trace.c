/* SPDX-License-Identifier: Apache-2.0
 * What holds for exports of all forms: the sink's failures, partitions that cannot be read, groups,
 * and what is told in the end. What is in the files is judged by *_rules.py.
 */
#include <check.h>
#include <stdio.h>

#include "../format/sample.h"
#include "export_trace.h"
#include "support.h"

enum { FORMS = 4 };

/* Counts what it is given; fails the nth time. */
struct drain {
    size_t calls, bytes, fail_at;
    bool named, unnamed;
};

static int drain_put(void *context, const char *name, const void *bytes, size_t n)
{
    struct drain *drain = context;
    (void)bytes;
    drain->bytes += n;
    drain->named = drain->named || name != NULL;
    drain->unnamed = drain->unnamed || name == NULL;
    return ++drain->calls == drain->fail_at ? SKEIN_FULL : SKEIN_OK;
}

static struct skein_trace *opened(const struct buf *bytes)
{
    char error[SKEIN_TRACE_ERROR_BYTES] = "";
    struct skein_trace *trace;
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    ck_assert_msg(skein_trace_add_memory(trace, bytes->data, bytes->len, "made", error) == SKEIN_OK,
                  "%s", error);
    return trace;
}

/* How it ended; *told and *gaps where it did well. */
static int exported(const struct buf *bytes, int form, uint64_t groups, struct drain *drain,
                    struct buf *told, size_t *gaps)
{
    const struct skein_gap *list;
    const struct export_sink sink = {drain_put, drain};
    struct skein_trace *trace = opened(bytes);
    struct export_run *run;
    int status = export_new(trace, (enum export_form)form, groups, &sink, &run);
    ck_assert_int_eq(status, SKEIN_OK);
    while ((status = export_some(run)) > 0)
        continue;
    if (told != NULL) {
        export_told(run, told);
        buf_put_u8(told, 0);
    }
    if (gaps != NULL)
        *gaps = export_gaps(run, &list);
    export_free(&run);
    ck_assert_ptr_null(run);
    skein_trace_free(&trace);
    return status;
}

static struct buf sample_made(void)
{
    struct buf bytes = {0};
    ck_assert_int_eq(sample_stacks_partition(&bytes), SKEIN_OK);
    return bytes;
}

START_TEST(a_form_that_is_none_is_refused)
{
    struct buf bytes = sample_made();
    struct skein_trace *trace = opened(&bytes);
    struct drain drain = {0};
    const struct export_sink sink = {drain_put, &drain};
    struct export_run *run;
    ck_assert_int_eq(export_new(trace, (enum export_form)FORMS, 0, &sink, &run), SKEIN_INVALID);
    ck_assert_ptr_null(run);
    skein_trace_free(&trace);
    buf_fini(&bytes);
}
END_TEST

START_TEST(folders_have_named_files_and_others_one_without_a_name)
{
    struct buf bytes = sample_made();
    for (int form = 0; form < FORMS; form++) {
        struct drain drain = {0};
        ck_assert_int_eq(exported(&bytes, form, 0, &drain, NULL, NULL), 0);
        ck_assert(drain.bytes > 0 && drain.named != drain.unnamed);
        ck_assert_int_eq(drain.named, export_is_folder((enum export_form)form));
    }
    buf_fini(&bytes);
}
END_TEST

START_TEST(a_sink_that_fails_ends_the_export_with_its_status)
{
    struct buf bytes = sample_made();
    for (int form = 0; form < FORMS; form++) {
        struct drain whole = {0};
        ck_assert_int_eq(exported(&bytes, form, 0, &whole, NULL, NULL), 0);
        for (size_t n = 1; n <= whole.calls; n++) {
            struct drain drain = {.fail_at = n};
            ck_assert_int_eq(exported(&bytes, form, 0, &drain, NULL, NULL), SKEIN_FULL);
            ck_assert_uint_eq(drain.calls, n);
        }
    }
    buf_fini(&bytes);
}
END_TEST

START_TEST(what_cannot_be_read_is_a_gap_and_all_else_is_there)
{
    struct buf bytes = sample_made(), twice = {0};
    buf_put(&twice, bytes.data, bytes.len);
    struct partition_info info = sample_info();
    struct partition_writer *w;
    info.key.sequence++;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    sample_fill(w);
    ck_assert_int_eq(partition_writer_finish(w, &twice, NULL), SKEIN_OK);
    partition_writer_free(&w);
    twice.data[bytes.len + 200] ^= 1; /* in the tables of the second */
    for (int form = 0; form < FORMS; form++) {
        struct drain one = {0}, two = {0};
        size_t gaps;
        ck_assert_int_eq(exported(&bytes, form, 0, &one, NULL, &gaps), 0);
        ck_assert_uint_eq(gaps, 0);
        ck_assert_int_eq(exported(&twice, form, 0, &two, NULL, &gaps), 0);
        ck_assert_uint_eq(gaps, 1);
        ck_assert_uint_ge(two.bytes, one.bytes * 9 / 10);
    }
    buf_fini(&bytes);
    buf_fini(&twice);
}
END_TEST

START_TEST(the_last_line_counts_what_is_there_and_what_is_not)
{
    static const char *const said[FORMS] = {
        [EXPORT_CHROME] = "44 regions, 1 instant, 1 count, 1 log, 2 open regions, 2 losses, 1 end "
                          "without its begin",
        [EXPORT_CTF] = "44 regions, 1 instant, 1 count, 1 log, 2 open regions, 2 losses, 1 end "
                       "without its begin; not in it: 1 loss of unknown size among the discarded "
                       "events",
        [EXPORT_FXT] = "44 regions, 1 instant, 1 count, 1 log, 2 open regions, 2 losses, 1 end "
                       "without its begin",
        [EXPORT_OTLP] = "nothing; not in it: 44 regions, 1 instant, 1 count, 1 log, 2 open "
                        "regions, 2 losses, 1 end without its begin; no region names a trace (an "
                        "argument trace_id of 32 hex digits)"};
    struct buf bytes = sample_made();
    for (int form = 0; form < FORMS; form++) {
        struct drain drain = {0};
        struct buf told = {0};
        ck_assert_int_eq(exported(&bytes, form, 0, &drain, &told, NULL), 0);
        ck_assert_str_eq((const char *)told.data, said[form]);
        buf_fini(&told);
    }
    buf_fini(&bytes);
}
END_TEST

START_TEST(groups_are_what_is_in_the_file_and_losses_always)
{
    struct buf bytes = sample_made();
    struct drain drain = {0};
    struct buf told = {0};
    ck_assert_int_eq(
        exported(&bytes, EXPORT_CHROME, UINT64_C(1) << SKEIN_GROUP_LOG, &drain, &told, NULL), 0);
    ck_assert_str_eq((const char *)told.data, "1 log, 2 losses, 1 end without its begin");
    buf_fini(&told);
    buf_fini(&bytes);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("export_trace", a_form_that_is_none_is_refused,
                              folders_have_named_files_and_others_one_without_a_name,
                              a_sink_that_fails_ends_the_export_with_its_status,
                              what_cannot_be_read_is_a_gap_and_all_else_is_there,
                              the_last_line_counts_what_is_there_and_what_is_not,
                              groups_are_what_is_in_the_file_and_losses_always, NULL));
}
