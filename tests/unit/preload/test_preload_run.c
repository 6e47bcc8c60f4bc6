/* SPDX-License-Identifier: Apache-2.0
 *
 * `skein run` of programs that cannot be traced, or only in part: they run, and it says what is
 * missing, also in the capture.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_agent.h"
#include "skein/skein.h"
#include "support.h"

static char said[8192];
static int status;

/* Runs a shell command to its end, and keeps what it said and its status. */
static void run(const char *command)
{
    FILE *out = popen(command, "r"); /* NOLINT(cert-env33-c): as a person types it */
    ck_assert_ptr_nonnull(out);
    size_t n = fread(said, 1, sizeof said - 1, out);
    said[n] = '\0';
    status = pclose(out);
}

#define RUN(options, program)                                                                      \
    run(SKEIN " run --socket /nonexistent/agent.sock --preload " PRELOAD " " options               \
              " -- " program " 2>&1")

#define ck_says(text) ck_assert_msg(strstr(said, text) != NULL, "%s", said)

START_TEST(a_static_program_runs_and_is_told)
{
    RUN("", STATIC);
    ck_says("statically linked");
    ck_says("done\n");
    ck_assert_int_eq(WEXITSTATUS(status), 3);
}
END_TEST

START_TEST(a_go_program_runs_and_is_told)
{
    RUN("", GO);
    ck_says("Go program");
    ck_says("done\n");
    ck_assert_int_eq(WEXITSTATUS(status), 3);
    RUN("-q", GO);
    ck_assert_str_eq(said, "done\n");
}
END_TEST

START_TEST(a_script_is_judged_by_its_interpreter)
{
    char *folder = temp_dir_new(), *path = path_join(folder, "script"), command[8192];
    file_write_text(path, "#!" GO "\n");
    ck_assert_int_eq(chmod(path, 0755), 0);
    snprintf(command, sizeof command,
             SKEIN " run --socket /nonexistent/agent.sock --preload " PRELOAD " -- %s 2>&1", path);
    run(command);
    ck_says("Go program");
    ck_says("done\n");
    ck_assert_int_eq(WEXITSTATUS(status), 3);
    free(path);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(a_program_under_a_sanitizer_starts)
{
    RUN("-q", ASAN);
    ck_assert_str_eq(said, "done\n");
    ck_assert_int_eq(WEXITSTATUS(status), 3);
}
END_TEST

START_TEST(a_program_that_changes_its_user_is_told)
{
    char command[8192];
    if (geteuid() != 0)
        return;
    char *folder = temp_dir_new();
    snprintf(
        command, sizeof command,
        "chmod 755 %s && cp /bin/true %s/other && chown 65534 %s/other && chmod 4755 %s/other && " SKEIN
        " run --socket /nonexistent/agent.sock --preload " PRELOAD " -- %s/other 2>&1",
        folder, folder, folder, folder, folder);
    run(command);
    temp_dir_free(&folder);
    ck_says("changes its user");
    ck_assert_int_eq(status, 0);
}
END_TEST

static struct fake_agent agent;

static bool has_hello(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&agent.mutex);
    bool has = agent.peer_count > 0 && agent.peers[0].pid != 0;
    pthread_mutex_unlock(&agent.mutex);
    return has;
}

/* Runs the program with an agent until that has heard of it, and keeps the labels. */
static void attached(const char *how, char labels[512])
{
    char *folder = temp_dir_new(), *path = path_join(folder, "agent.sock"), socket[4200];
    snprintf(socket, sizeof socket, "SKEIN_SOCKET=%s", path);
    const char *const environment[] = {"LD_PRELOAD=" PRELOAD, socket, "SKEIN_LABELS=zone=a", NULL};
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    pid_t pid =
        spawn((const char *const[]){GO, how, NULL}, &(struct spawn_options){.env = environment});
    ck_assert(wait_until(has_hello, NULL, 0));
    memcpy(labels, agent.peers[0].hello.labels, 512);
    spawn_stop(pid, SIGKILL, 0);
    fake_agent_stop(&agent);
    free(path);
    temp_dir_free(&folder);
}

START_TEST(captures_of_a_go_program_carry_a_label)
{
    char labels[512];
    attached("stay", labels);
    ck_assert_str_eq(labels, "runtime=go,zone=a");
}
END_TEST

/* As nginx's master does, which has no other event for hours. */
START_TEST(a_process_that_waits_for_a_signal_from_the_start_is_recorded)
{
    char labels[512];
    attached("pause", labels);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("run", a_static_program_runs_and_is_told, a_go_program_runs_and_is_told,
                 a_script_is_judged_by_its_interpreter, a_program_under_a_sanitizer_starts,
                 a_program_that_changes_its_user_is_told, captures_of_a_go_program_carry_a_label,
                 a_process_that_waits_for_a_signal_from_the_start_is_recorded, NULL));
}
