/* SPDX-License-Identifier: Apache-2.0
 * A trace of Go without memory: each allocation fails once. What comes out is all of it, or the word
 * that there was no memory. */
#include <stdlib.h>

#include "alloc_fail.h"
#include "import_go.h"
#include "imported.h"
#include "skein/status.h"

static int count_put(void *context, const uint8_t *bytes, size_t n)
{
    (void)bytes;
    *(uint64_t *)context += n;
    return SKEIN_OK;
}

START_TEST(an_import_survives_every_failed_allocation)
{
    struct bytes_source from;
    struct import_told all, told;
    struct go_told go;
    uint64_t whole = 0, written = 0;
    char *path = path_join(TRACES, "go1.22.trace");
    uint8_t *bytes = (uint8_t *)file_read(path, &from.n);
    ck_assert_ptr_nonnull(bytes);
    from.bytes = bytes;
    const struct skein_trace_source source = {
        .read = bytes_source_read, .context = &from, .bytes = from.n, .name = "golden"};
    struct import_to to = {.put = count_put, .context = &whole, .host = "", .service = ""};
    ck_assert_int_eq(import_go(&source, &to, &all, &go), SKEIN_OK);
    to.context = &written;
    unsigned n = 1;
    for (bool failed = true; failed; n++) {
        written = 0;
        alloc_fail_at(n);
        int status = import_go(&source, &to, &told, &go);
        failed = alloc_fail_end();
        must_hold(status == SKEIN_OK || (failed && status == SKEIN_NO_MEMORY), "%u: %d %s", n,
                  status, told.why);
        must_hold(status != SKEIN_OK || (written == whole && told.events == all.events),
                  "allocation %u failed, and a part is taken for all", n);
    }
    ck_assert_uint_gt(n, 100);
    free(bytes);
    free(path);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("import_go_memory", an_import_survives_every_failed_allocation, NULL));
}
