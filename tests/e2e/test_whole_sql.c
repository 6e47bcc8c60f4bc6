/* SPDX-License-Identifier: Apache-2.0
 *
 * SQL over a capture of a program of Debian's: redis-server under `skein run`, asked things by
 * redis-cli. What the tables hold is compared by another program (tests/unit/sql/truth.py) with what
 * `skein cat` prints of the same file. One thread.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "whole.h"

static struct whole w;
static char *out, *file;
static char port[8], url[64];
static pid_t redis;

static int run(const char *const argv[])
{
    return spawn_wait(spawn(argv, &(struct spawn_options){.out_file = out}), 0);
}
#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})

static void set_up(void)
{
    whole_init(&w, NULL, NULL);
    out = whole_path(&w, "out");
    file = whole_path(&w, "redis.skein");
    whole_collector_start(&w);
    whole_agent_start(&w);
    snprintf(port, sizeof port, "%u", free_port());
    snprintf(url, sizeof url, "http://127.0.0.1:%u", w.http);
}

static void tear_down(void)
{
    if (redis > 0)
        (void)spawn_stop(redis, SIGKILL, 0);
    whole_fini(&w);
    free(file);
    free(out);
}

static bool answers(void *context)
{
    (void)context;
    return RUN("redis-cli", "-p", port, "debug", "sleep", "0.02") == 0;
}

START_TEST(tables_hold_what_cat_prints)
{
    const char *const server[] = {SKEIN_PROGRAM,
                                  "run",
                                  "--socket",
                                  w.socket,
                                  "--service",
                                  "redis",
                                  "--preload",
                                  SKEIN_PRELOAD,
                                  "--",
                                  "redis-server",
                                  "--port",
                                  port,
                                  "--save",
                                  "",
                                  "--dir",
                                  w.folder,
                                  "--enable-debug-command",
                                  "yes",
                                  NULL};
    redis = spawn(server, &(struct spawn_options){.out_file = out});
    whole_wait_live(&w, "service=redis", 1);
    ck_assert(wait_until(answers, NULL, 0));
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(RUN("redis-cli", "-p", port, "incr", "counter"), 0);
    ck_assert_int_eq(RUN(SKEIN_PROGRAM, "snapshot", "-l", "service=redis", "--pre", "5s",
                         "--collector", url, "-o", file) |
                         3, /* an early hole of a young process is none of this test's */
                     3);
    remove(out);
    int status = RUN(SYSTEM_PYTHON, TRUTH, SKEIN_PROGRAM, "capture", file);
    char *said = file_read(out, NULL);
    ck_assert_msg(status == 0, "%d: %s", status, said);
    free(said);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_sql");
    TCase *tcase = tcase_create("whole_sql");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 0);
    tcase_add_test(tcase, tables_hold_what_cat_prints);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
