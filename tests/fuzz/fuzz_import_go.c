/* SPDX-License-Identifier: Apache-2.0
 * Traces of Go: whatever is in them, what is made of them is a trace that can be read. */
#include "fuzz_imported.h"
#include "fuzz_target.h"
#include "import_go.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct go_told go;
    struct import_told told;
    struct buf trace = {0};
    struct fuzz_source from;
    const struct skein_trace_source source = fuzz_source_make(&from, bytes, n);
    const struct import_to to = {.put = fuzz_put, .context = &trace, .host = "", .service = ""};
    int status = import_go(&source, &to, &told, &go);
    fuzz_source_fini(&from);
    fuzz_check(status == SKEIN_OK || status == SKEIN_NO_MEMORY || told.why[0] != '\0');
    fuzz_trace_read(&trace, told.events);
    buf_fini(&trace);
    return 0;
}
