/* SPDX-License-Identifier: Apache-2.0
 * A trace of LTTng without memory: each allocation fails once. What comes out is all of it, or the
 * word that there was no memory. */
#include <stdlib.h>

#include "alloc_fail.h"
#include "import_ctf.h"
#include "imported.h"
#include "skein/status.h"

static int count_put(void *context, const uint8_t *bytes, size_t n)
{
    (void)bytes;
    *(uint64_t *)context += n;
    return SKEIN_OK;
}

static struct skein_trace_source sources[2];

static int import_all(uint64_t *written, struct import_told *told)
{
    struct ctf_told ctf = {.packets = 0};
    const struct import_to to = {
        .put = count_put, .context = written, .host = "", .service = "test"};
    *told = (struct import_told){.partitions = 0};
    *written = 0;
    return import_ctf(&sources[0], &sources[1], 1, true, &to, told, &ctf);
}

START_TEST(an_import_survives_every_failed_allocation)
{
    static const char *const names[] = {"lttng/metadata", "lttng/ring_1"};
    struct bytes_source from[2];
    uint8_t *bytes[2];
    struct import_told all, told;
    uint64_t whole, written;
    for (unsigned i = 0; i < 2; i++) {
        char *path = path_join(TRACES, names[i]);
        bytes[i] = (uint8_t *)file_read(path, &from[i].n);
        ck_assert_ptr_nonnull(bytes[i]);
        from[i].bytes = bytes[i];
        sources[i] = (struct skein_trace_source){
            .read = bytes_source_read, .context = &from[i], .bytes = from[i].n, .name = names[i]};
        free(path);
    }
    ck_assert_int_eq(import_all(&whole, &all), SKEIN_OK);
    unsigned n = 1;
    for (bool failed = true; failed; n++) {
        alloc_fail_at(n);
        int status = import_all(&written, &told);
        failed = alloc_fail_end();
        must_hold(status == SKEIN_OK || (failed && status == SKEIN_NO_MEMORY), "%u: %d %s", n,
                  status, told.why);
        must_hold(status != SKEIN_OK || (written == whole && told.events == all.events),
                  "allocation %u failed, and a part is taken for all", n);
    }
    ck_assert_uint_gt(n, 50);
    free(bytes[0]);
    free(bytes[1]);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("import_ctf_memory", an_import_survives_every_failed_allocation, NULL));
}
