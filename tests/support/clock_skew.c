/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into a program of a test: its wall clock goes SKEIN_TEST_SKEW_S seconds ahead, as that
 * of a host which nobody has set, and as many more as the file SKEIN_TEST_SKEW_FILE says at that
 * moment, as one that somebody sets while the program runs. The other clocks are as they are.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What the test has written there, as text; 0 where there is none. */
static long file_s(const char *path)
{
    char text[32] = "";
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 ? strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    long status = syscall(SYS_clock_gettime, id, now);
    if (status != 0 || id != CLOCK_REALTIME)
        return (int)status;
    const char *ahead = getenv("SKEIN_TEST_SKEW_S");
    now->tv_sec += ahead != NULL ? strtol(ahead, NULL, 10) : 0;
    now->tv_sec += file_s(getenv("SKEIN_TEST_SKEW_FILE"));
    return 0;
}
