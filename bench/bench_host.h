/* SPDX-License-Identifier: Apache-2.0
 *
 * What benches that run the daemons need: a folder, free ports, child processes that die with the
 * bench. (tests/support has the same for tests, but libcheck's, which must not be called outside of
 * them.) Every failure ends the bench with a sentence and exit status 1. One thread.
 */
#ifndef BENCH_HOST_H
#define BENCH_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

_Noreturn void bench_fail(const char *what);

/* Ends the bench unless `fine`. */
static inline void bench_must(bool fine, const char *what)
{
    if (!fine)
        bench_fail(what);
}

/* A new folder below $TMPDIR or /tmp, in static memory; removed at exit. */
const char *bench_folder(void);
/* Removes a folder in it with all that it holds. */
void bench_folder_remove(const char *path);
uint16_t bench_free_port(void);

/* argv ends with NULL; argv[0] is looked up in PATH. */
pid_t bench_spawn(const char *const argv[]);
/* In a child: dies with the bench. */
void bench_die_with(pid_t parent);
/* SIGTERM, up to 10 s, then SIGKILL. */
void bench_stop(pid_t pid);

double bench_median(double *values, int n); /* sorts values; n > 0 */

#endif
