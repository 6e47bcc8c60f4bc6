/* SPDX-License-Identifier: Apache-2.0
 * What perf script prints: whatever is in them, what is made of them is a trace that can be read. */
#include "fuzz_imported.h"
#include "fuzz_target.h"
#include "import_perf_script.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct perf_script_told script;
    struct import_told told = {.partitions = 0};
    struct buf trace = {0};
    struct fuzz_source from;
    const struct skein_trace_source source = fuzz_source_make(&from, bytes, n);
    const struct import_to to = {.put = fuzz_put, .context = &trace, .host = "", .service = ""};
    int status = import_perf_script(&source, 99, &to, &told, &script);
    fuzz_source_fini(&from);
    fuzz_check(status == SKEIN_OK || status == SKEIN_NO_MEMORY || told.why[0] != '\0');
    fuzz_trace_read(&trace, told.events);
    buf_fini(&trace);
    return 0;
}
