/* SPDX-License-Identifier: Apache-2.0
 * A file of perf's without memory: each allocation fails once. What comes out is all of it, or the
 * word that there was no memory, and never a part. */
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "perf_import.h"
#include "skein/status.h"
#include "support.h"

static uint8_t *bytes;
static size_t bytes_count;

static int import_all(struct buf *trace, struct perf_imported *imported)
{
    struct perf_data data;
    char error[160] = "";
    int status = perf_data_read(bytes, bytes_count, &data, error, sizeof error);
    if (status == SKEIN_OK)
        status = perf_import(&data, 0, trace, imported);
    perf_data_fini(&data);
    return status;
}

START_TEST(an_import_survives_every_failed_allocation)
{
    char *path = path_join(CORPUS, "sched");
    struct buf whole = {0};
    struct perf_imported all;
    bytes = (uint8_t *)file_read(path, &bytes_count);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(import_all(&whole, &all), SKEIN_OK);
    ck_assert_uint_gt(all.events, 10);
    unsigned n = 1;
    for (bool failed = true; failed; n++) {
        struct buf trace = {0};
        struct perf_imported imported;
        alloc_fail_at(n);
        int status = import_all(&trace, &imported);
        failed = alloc_fail_end();
        must_hold(status == SKEIN_OK || (failed && status == SKEIN_NO_MEMORY), "%u: %d", n, status);
        must_hold(status != SKEIN_OK || (trace.len == whole.len && imported.events == all.events &&
                                         memcmp(trace.data, whole.data, whole.len) == 0),
                  "allocation %u failed, and a part is taken for all", n);
        buf_fini(&trace);
    }
    ck_assert_uint_gt(n, 20);
    buf_fini(&whole);
    free(bytes);
    free(path);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("import_memory", an_import_survives_every_failed_allocation, NULL));
}
