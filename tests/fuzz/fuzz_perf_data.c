/* SPDX-License-Identifier: Apache-2.0
 * Files of perf: whatever is in them, what is made of them is a trace that can be read. */
#include "fuzz_imported.h"
#include "fuzz_target.h"
#include "perf_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct perf_data data;
    struct perf_imported imported;
    struct buf trace = {0};
    char error[160] = "";
    uint8_t *exact = malloc(n > 0 ? n : 1);
    if (exact == NULL)
        return 0;
    if (n > 0)
        memcpy(exact, bytes, n);
    int status = perf_data_read(exact, n, &data, error, sizeof error);
    free(exact);
    fuzz_check(status == SKEIN_OK || status == SKEIN_NO_MEMORY || error[0] != '\0');
    if (status == SKEIN_OK && perf_import(&data, 0, &trace, &imported) == SKEIN_OK)
        fuzz_trace_read(&trace, imported.events);
    perf_data_fini(&data);
    buf_fini(&trace);
    return 0;
}
