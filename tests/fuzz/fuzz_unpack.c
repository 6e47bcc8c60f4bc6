/* SPDX-License-Identifier: Apache-2.0
 * Packed files: whatever is in them, it ends, within its bounds, and nothing is made of more bytes than
 * there are. */
#include "fuzz_imported.h"
#include "fuzz_target.h"
#include "unpack.h"

static int bytes_count(void *context, const uint8_t *bytes, size_t n)
{
    uint64_t *count = context;
    fuzz_check(n > 0 && bytes != NULL);
    *count += n;
    return SKEIN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct fuzz_source from;
    const struct skein_trace_source source = fuzz_source_make(&from, bytes, n);
    for (int form = UNPACK_GZIP; form <= UNPACK_ZSTD; form++) {
        uint64_t count = 0;
        struct unpack_told told;
        int status = unpack(&source, (enum unpack_form)form, bytes_count, &count, &told);
        fuzz_check(status == SKEIN_OK || status == SKEIN_NO_MEMORY || told.why[0] != '\0');
        fuzz_check(status == SKEIN_TOO_LARGE || count == told.bytes);
        fuzz_check(told.left <= n && (told.left == 0 || told.why[0] != '\0'));
    }
    (void)unpack_form_of(bytes, n < 4 ? n : 4);
    fuzz_source_fini(&from);
    return 0;
}
