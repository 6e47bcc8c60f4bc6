/* SPDX-License-Identifier: Apache-2.0
 * A perf map that a hostile program has written, asked for the addresses in it and beside. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buf.h"
#include "fuzz_target.h"
#include "symbol_jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const uint64_t addresses[] = {0, 1, 0x1000, 0x1fff, 0x7f0000000000, UINT64_MAX};
    struct symbol_jit *jit;
    struct buf out = {0};
    int fd = memfd_create("perf-1.map", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    if (symbol_jit_open(fd, &jit) == 0) {
        for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
            symbol_jit_put(jit, addresses[i], &out);
        symbol_jit_free(&jit);
    }
    buf_fini(&out);
    close(fd);
    return 0;
}
