/* SPDX-License-Identifier: Apache-2.0
 * The addresses of a network namespace in texts of /proc. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "check_place.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char out[INET6_ADDRSTRLEN];
    struct in6_addr address;
    FILE *file = n > 0 ? fmemopen((void *)(uintptr_t)bytes, n, "r") : NULL;
    if (file == NULL)
        return 0;
    if (check_ipv4_read(file, out) &&
        (memchr(out, '\0', sizeof out) == NULL || strncmp(out, "127.", 4) == 0))
        abort();
    rewind(file);
    if (check_ipv6_read(file, out) && inet_pton(AF_INET6, out, &address) != 1)
        abort();
    fclose(file);
    return 0;
}
