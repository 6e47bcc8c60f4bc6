/* SPDX-License-Identifier: Apache-2.0
 * Out of memory while a trace is exported: it is said, and nothing leaks; and the same bytes where
 * nothing is missing. */
#include <check.h>
#include <string.h>

#include "../unit/format/sample.h"
#include "alloc_fail.h"
#include "export_trace.h"
#include "support.h"

enum { FORMS = 4 };

static int bytes_add(void *context, const char *name, const void *bytes, size_t n)
{
    uint64_t *sum = context;
    const uint8_t *p = bytes;
    (void)name;
    for (size_t i = 0; i < n; i++)
        *sum = *sum * 31 + p[i];
    return SKEIN_OK;
}

static int trace_export(struct skein_trace *trace, int form, uint64_t *sum)
{
    const struct export_sink sink = {bytes_add, sum};
    struct export_run *run;
    struct buf told = {0};
    int status = export_new(trace, (enum export_form)form, 0, &sink, &run);
    while (status == SKEIN_OK && (status = export_some(run)) > 0)
        status = SKEIN_OK;
    if (status == SKEIN_OK) {
        export_told(run, &told);
        status = told.status;
    }
    buf_fini(&told);
    export_free(&run);
    return status;
}

/* All of a trace is opened anew each time: what it names is kept from run to run. */
static int file_export(const struct buf *bytes, int form, unsigned fail_at, bool *failed,
                       uint64_t *sum)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct skein_trace *trace;
    *sum = 0;
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    ck_assert_int_eq(skein_trace_add_memory(trace, bytes->data, bytes->len, "made", error),
                     SKEIN_OK);
    if (fail_at > 0)
        alloc_fail_at(fail_at);
    int status = trace_export(trace, form, sum);
    *failed = fail_at > 0 && alloc_fail_end();
    skein_trace_free(&trace);
    return status;
}

START_TEST(each_allocation_that_fails_is_told)
{
    struct buf bytes = {0};
    ck_assert_int_eq(sample_stacks_partition(&bytes), SKEIN_OK);
    for (int form = 0; form < FORMS; form++) {
        uint64_t whole, sum;
        bool failed = true;
        ck_assert_int_eq(file_export(&bytes, form, 0, &failed, &whole), SKEIN_OK);
        for (unsigned n = 1;; n++) {
            int status = file_export(&bytes, form, n, &failed, &sum);
            if (!failed) {
                ck_assert_int_eq(status, SKEIN_OK);
                ck_assert_uint_eq(sum, whole);
                ck_assert_uint_gt(n, 10);
                break;
            }
            ck_assert_msg(status == SKEIN_NO_MEMORY, "form %d, allocation %u: %d", form, n, status);
        }
    }
    buf_fini(&bytes);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("exchange_memory", each_allocation_that_fails_is_told, NULL));
}
