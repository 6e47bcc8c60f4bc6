/* SPDX-License-Identifier: Apache-2.0
 *
 * The daemons as an ordinary user starts them: with the shipped files, without a folder that
 * anybody has made, ports by the environment. As root it becomes that user by setpriv.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

#define WORDS_MAX 16

static char *folder, *out_file, *socket_path, *state;
static char variables[9][256];
static const char *env[10];

static pid_t start(const char *const words[])
{
    static const char *const user[] = {"setpriv", "--reuid=61234", "--regid=61234",
                                       "--clear-groups"};
    const char *argv[WORDS_MAX] = {NULL};
    size_t n = 0;
    for (size_t i = 0; geteuid() == 0 && i < sizeof user / sizeof user[0]; i++)
        argv[n++] = user[i];
    for (size_t i = 0; words[i] != NULL; i++)
        argv[n++] = words[i];
    const struct spawn_options options = {.env = env, .out_file = out_file};
    return spawn(argv, &options);
}

static int run(const char *const words[])
{
    return spawn_wait(start(words), 0);
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

__attribute__((format(printf, 2, 3))) static void set(size_t i, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(variables[i], sizeof variables[i], format, arguments);
    va_end(arguments);
    env[i] = variables[i];
}

static bool answers(void *context)
{
    int fd = tcp_connect(*(const uint16_t *)context);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool is_there(void *context)
{
    return access(context, F_OK) == 0;
}

static void prepare(uint16_t http)
{
    uint16_t data = free_port(), control = free_port();
    folder = temp_dir_new();
    ck_assert_int_eq(chmod(folder, 0777), 0);
    char *run_folder = path_join(folder, "run");
    ck_assert_int_eq(mkdir(run_folder, 0777), 0);
    ck_assert_int_eq(chmod(run_folder, 0777), 0);
    out_file = path_join(folder, "out");
    file_write_text(out_file, "");
    ck_assert_int_eq(chmod(out_file, 0666), 0);
    socket_path = path_join(run_folder, "skein/agent.sock");
    state = path_join(folder, "state");
    set(0, "HOME=%s", folder);
    set(1, "XDG_STATE_HOME=%s", state);
    set(2, "XDG_RUNTIME_DIR=%s", run_folder);
    set(3, "SKEIND_LISTEN_HTTP=127.0.0.1:%u", http);
    set(4, "SKEIND_LISTEN_DATA=tcp://127.0.0.1:%u", data);
    set(5, "SKEIND_LISTEN_CONTROL=tcp://127.0.0.1:%u", control);
    set(6, "SKEIN_AGENT_COLLECTOR_DATA=tcp://127.0.0.1:%u", data);
    set(7, "SKEIN_AGENT_COLLECTOR_CONTROL=tcp://127.0.0.1:%u", control);
    set(8, "SKEIN_COLLECTOR=http://127.0.0.1:%u", http);
    free(run_folder);
}

/* Of a process that does nothing but wait, the capture has no event: what it waits in is told. */
static bool wait_is_told(void *context)
{
    (void)context;
    const char *const what =
        SKEIN_PROGRAM " snapshot -l service=nap --pre 1ms && " SKEIN_PROGRAM
                      " what $(" SKEIN_PROGRAM " captures -o json | sed -n "
                      "'s/.*\"capture\":[^0-9a-f]*\\([0-9a-f]*\\).*/\\1/p' | head -n 1)";
    return run(WORDS("sh", "-c", what)) == 0;
}

START_TEST(shipped_files_start_for_an_ordinary_user)
{
    static const char collector[] = SHIPPED_FOLDER "collector.json";
    static const char settings[] = SHIPPED_FOLDER "agent.json";
    uint16_t http = free_port();
    prepare(http);
    if (run(WORDS("test", "-x", SKEIND, "-a", "-r", collector)) != 0) {
        fprintf(stderr, "not shown: the build is not open to other users\n");
        return;
    }
    ck_assert_int_eq(run(WORDS(SKEIND, "--config", collector, "--check-config")), 0);
    ck_assert_int_eq(run(WORDS(SKEIN_AGENT, "--config", settings, "--check-config")), 0);
    ck_assert_int_ne(access(state, F_OK), 0); /* a look makes nothing */
    ck_assert_int_eq(run(WORDS(SKEIND, "--check-config", "--set", "data_dir=/proc/x")), 1);
    pid_t skeind = start(WORDS(SKEIND, "--config", collector));
    pid_t agent = start(WORDS(SKEIN_AGENT, "--config", settings));
    ck_assert_msg(wait_until(answers, &http, 0), "see %s", out_file);
    ck_assert_msg(wait_until(is_there, socket_path, 0), "see %s", out_file);
    ck_assert_int_eq(run(WORDS(SKEIN_PROGRAM, "run", "--service", "x", "--", "true")), 0);
    pid_t nap = start(WORDS(SKEIN_PROGRAM, "run", "--service", "nap", "--", "sleep", "60"));
    ck_assert_msg(wait_until(wait_is_told, NULL, 0), "see %s", out_file);
    (void)spawn_stop(nap, SIGTERM, 0);
    ck_assert_int_eq(spawn_stop(agent, SIGTERM, 0), 0);
    ck_assert_int_eq(spawn_stop(skeind, SIGTERM, 0), 0);
    char *said = file_read(out_file, NULL);
    ck_assert_msg(strstr(said, "no agent at") == NULL, "%s", said);
    free(said);
    free(state);
    free(socket_path);
    free(out_file);
    temp_dir_free(&folder);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("plain_user", shipped_files_start_for_an_ordinary_user, NULL));
}
