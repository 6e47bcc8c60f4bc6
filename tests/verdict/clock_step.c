/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into a daemon of a test: its wall clock is ahead by the nanoseconds that the file named
 * by SKEIN_TEST_STEP holds now, so that a test can let it step while the daemon runs. The other
 * clocks are as they are, and the kernel cancels no timer (TFD_TIMER_CANCEL_ON_SET): a daemon has
 * to find such a step by itself, as it has to find one of another host.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t ahead_ns(void)
{
    int64_t ahead = 0;
    const char *path = getenv("SKEIN_TEST_STEP");
    int saved = errno;
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        if (syscall(SYS_read, fd, &ahead, sizeof ahead) != (long)sizeof ahead)
            ahead = 0;
        syscall(SYS_close, fd);
    }
    errno = saved;
    return ahead;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    long status = syscall(SYS_clock_gettime, id, now);
    if (status == 0 && id == CLOCK_REALTIME) {
        int64_t ns = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec + ahead_ns();
        now->tv_sec = ns / 1000000000;
        now->tv_nsec = ns % 1000000000;
    }
    return (int)status;
}
