/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs of any content, as they are looked at before they start. A file without a name: nothing
 * that it names is started, and what it names as its interpreter is opened at most.
 */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_target.h"
#include "program_kind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char *const arguments[] = {"ld.so", "--library-path", "/nonexistent", "/bin/true", NULL};
    struct program_kind kind;
    int fd = memfd_create("program", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    program_look(&(struct program_call){fd, "", arguments, true}, &kind);
    close(fd);
    return 0;
}
