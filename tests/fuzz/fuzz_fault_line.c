/* SPDX-License-Identifier: Apache-2.0
 * Lines of the kernel's log, in which any process may write: what is read lies in the line. */
#include <stdlib.h>
#include <string.h>

#include "fault_line.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct fault_line line;
    char *copy = malloc(n + 1); /* its end is the end of memory */
    if (copy == NULL)
        return 0;
    memcpy(copy, bytes, n);
    if (fault_line_parse(copy, n, &line)) {
        if (strlen(line.name) >= sizeof line.name || memmem(copy, n, "]: segfault at ", 15) == NULL)
            abort();
    }
    free(copy);
    return 0;
}
