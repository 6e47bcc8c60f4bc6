/* SPDX-License-Identifier: Apache-2.0
 * A trace of CTF: two bytes say how long its metadata is, which follows; the rest is its stream. */
#include "fuzz_imported.h"
#include "fuzz_target.h"
#include "import_ctf.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct import_told told = {.partitions = 0};
    struct ctf_told ctf = {.packets = 0};
    struct buf trace = {0};
    struct fuzz_source from[2];
    if (n < 2)
        return 0;
    size_t metadata = (size_t)bytes[0] | (size_t)bytes[1] << 8;
    bytes += 2;
    n -= 2;
    metadata = metadata < n ? metadata : n;
    const struct skein_trace_source source = fuzz_source_make(&from[0], bytes, metadata);
    const struct skein_trace_source stream =
        fuzz_source_make(&from[1], bytes + metadata, n - metadata);
    const struct import_to to = {.put = fuzz_put, .context = &trace, .host = "", .service = ""};
    int status = import_ctf(&source, &stream, 1, true, &to, &told, &ctf);
    fuzz_source_fini(&from[0]);
    fuzz_source_fini(&from[1]);
    fuzz_check(status == SKEIN_OK || status == SKEIN_NO_MEMORY || told.why[0] != '\0');
    fuzz_trace_read(&trace, told.events);
    buf_fini(&trace);
    return 0;
}
