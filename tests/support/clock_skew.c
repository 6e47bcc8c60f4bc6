/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into a program of a test: its wall clock goes SKEIN_TEST_SKEW_S seconds ahead, as that
 * of a host which nobody has set. The other clocks are as they are.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now)
{
    const char *ahead = getenv("SKEIN_TEST_SKEW_S");
    long status = syscall(SYS_clock_gettime, id, now);
    if (status == 0 && id == CLOCK_REALTIME && ahead != NULL)
        now->tv_sec += strtol(ahead, NULL, 10);
    return (int)status;
}
