/* SPDX-License-Identifier: Apache-2.0
 *
 * `skein run` of programs that cannot be traced, or only in part: they run, and it says what is
 * missing, also in the capture.
 */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach_proto.h"
#include "decoded_ring.h"
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

/* It has a socket, and never looks: the program starts, the question waits, and is told as what it is. */
START_TEST(an_agent_that_is_stopped_is_told_and_not_waited_for)
{
    struct attach_watch ask;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char *folder = temp_dir_new(), *path = path_join(folder, "agent.sock"), command[8192];
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 4), 0);
    snprintf(command, sizeof command,
             SKEIN " run --socket %s --preload " PRELOAD " -- " STATIC " 2>&1", path);
    run(command);
    ck_says("has been asked to watch it from outside, and has not answered yet");
    ck_says("done\n");
    ck_assert_int_eq(WEXITSTATUS(status), 3);
    int asker = accept(listener, NULL, NULL);
    ck_assert_int_eq(recv(asker, &ask, sizeof ask, 0), sizeof ask);
    ck_assert_uint_eq(ask.what, ATTACH_WATCH_BECOMES);
    close(asker);
    close(listener);
    free(path);
    temp_dir_free(&folder);
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

START_TEST(a_program_with_another_c_library_runs_without_the_tracer)
{
    run("cp -L \"$(readelf -l " GO " | sed -n 's/.*interpreter: \\(.*\\)].*/\\1/p')\" " OTHER_LINKER
        " && printf '\\001' | dd of=" OTHER_LINKER " bs=1 seek=15 conv=notrunc status=none");
    ck_assert_int_eq(status, 0);
    RUN("", OTHER_LIBC);
    ck_says("another C library");
    ck_says("done\n");
    ck_assert_int_eq(WEXITSTATUS(status), 3);
    RUN("-q", OTHER_LIBC " preloads");
    ck_assert_str_eq(said, "none\ndone\n");
}
END_TEST

START_TEST(a_program_whose_warnings_nobody_reads_runs)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(dup2(ends[1], 9), 9);
    close(ends[0]);
    close(ends[1]);
    run(SKEIN " run --socket /nonexistent/agent.sock --preload " PRELOAD " -- " GO " 2>&9");
    close(9);
    ck_assert_str_eq(said, "done\n");
    ck_assert_int_eq(WEXITSTATUS(status), 3);
}
END_TEST

static int program_status(const char *starter, const char *before, const char *program)
{
    char command[8192];
    snprintf(command, sizeof command, "%s PATH=/usr/bin:/bin:$PWD; %s %s 2>/dev/null", before,
             starter, program);
    run(command);
    return WEXITSTATUS(status);
}

/* As the programs that do the same have it, env for one. */
START_TEST(what_does_not_start_ends_as_it_does_without_the_tracer)
{
    static const struct {
        const char *program;
        int status;
    } cases[] = {{"nosuch", 127},        {"./nosuch", 127},
                 {"./plain", 126},       {"plain", 126},
                 {"./folder", 126},      {"./plain/below", 126},
                 {"./interpreter", 127}, {"./ring", 126},
                 {"./text", 6},          {"text", 6}};
    char *folder = temp_dir_new(), before[4600];
    snprintf(before, sizeof before,
             "cd %s && cp /bin/true plain && chmod 644 plain && mkdir folder && ln -s ring ring && "
             "echo '#!/nonexistent/i' >interpreter && echo 'exit 6' >text && chmod +x interpreter "
             "text",
             folder);
    run(before);
    ck_assert_int_eq(status, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(before, sizeof before, "cd %s;", folder);
        ck_assert_int_eq(program_status("env", before, cases[i].program), cases[i].status);
        ck_assert_int_eq(
            program_status(SKEIN " run -q --socket /nonexistent/agent.sock --preload " PRELOAD
                                 " --",
                           before, cases[i].program),
            cases[i].status);
    }
    run(SKEIN " run -q --preload " PRELOAD " -- nosuch 2>&1");
    ck_says("nosuch: no such program in the PATH");
    temp_dir_free(&folder);
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

/* Runs the program, called by that name, with an agent until that has heard of it, and keeps the labels. */
static void attached_as(const char *how, const char *of_environment, char labels[512])
{
    char *folder = temp_dir_new(), *path = path_join(folder, "agent.sock"), socket[4200];
    snprintf(socket, sizeof socket, "SKEIN_SOCKET=%s", path);
    const char *const environment[] = {"LD_PRELOAD=" PRELOAD, socket, of_environment, NULL};
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

static void attached(const char *how, char labels[512])
{
    attached_as(how, "SKEIN_LABELS=zone=a", labels);
}

/* It is recorded, and the labels say that some are missing. */
START_TEST(labels_that_have_no_room_keep_no_program_from_being_recorded)
{
    char labels[512], many[2000], wanted[512];
    (void)snprintf(many, sizeof many, "SKEIN_LABELS=zone=a,long=%0600d,nonsense,=none,,last=b", 0);
    attached_as("stay", many, labels);
    (void)snprintf(wanted, sizeof wanted, "runtime=go,zone=a,last=b,labels_cut=3");
    ck_assert_str_eq(labels, wanted);
}
END_TEST

/* As a program may be started by any path. */
START_TEST(a_name_that_is_too_long_is_cut)
{
    char labels[512], name[512];
    (void)snprintf(name, sizeof name, "SKEIN_SERVICE=%0300d", 0);
    attached_as("stay", name, labels);
    ck_assert_uint_eq(strlen(agent.peers[0].hello.service), 127);
}
END_TEST

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

static uint64_t stack_ns; /* what the agent asks for */

#define TRIES 100

/* Runs a shell command to its end, with an agent. */
static void run_with_agent(const char *command)
{
    char *folder = temp_dir_new(), *path = path_join(folder, "agent.sock"), text[8192];
    fake_agent_init(&agent, 7);
    agent.stack_ns = stack_ns;
    agent.threshold_ns = stack_ns == 1; /* all, or as it is */
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    snprintf(text, sizeof text, "export SKEIN_SOCKET=%s; %s", path, command);
    run(text);
    fake_agent_stop(&agent);
    free(path);
    temp_dir_free(&folder);
}

/* The same with an agent that has answered in time: where much else is at work, it is not always
 * asked soon enough. */
static void run_recorded(const char *command)
{
    run_with_agent(command);
    for (int i = 1; i < TRIES && (agent.peer_count == 0 || fake_agent_was_late(&agent)); i++) {
        fake_agent_fini(&agent);
        memset(&agent, 0, sizeof agent);
        run_with_agent(command);
    }
}

static const struct ring_process_record *record_of(const struct fake_ring *ring)
{
    return (const void *)(ring->ring + ring->geometry.process_off);
}

/* The nth process that attached has recorded from its beginning on, and slept. */
static void ck_has_all(unsigned n)
{
    static struct decoded_ring decoded;
    ck_assert_uint_gt(agent.peer_count, n);
    struct fake_ring *ring = &agent.peers[n].ring;
    ck_assert_msg(ring_decode(ring->ring, &ring->geometry, &decoded), "%s", decoded.error);
    ck_assert_uint_eq(decoded_count(&decoded, "sleep") + decoded_count(&decoded, "wait_child"), 1);
    ck_assert_uint_eq(record_of(ring)->missed_ns, 0);
    ring_decode_free(&decoded);
}

/* The stack of the sleep that was asked for so long; NULL: it has none. */
static const struct decoded_stack *sleep_stack(const struct decoded_ring *decoded, int64_t ns)
{
    const struct decoded_event *found = NULL;
    for (size_t i = 0; i < decoded_count(decoded, "sleep"); i++) {
        const struct decoded_event *event = decoded_nth(decoded, "sleep", i);
        found = event->args[0].i64 == ns ? event : found;
    }
    ck_assert_msg(found != NULL, "no sleep of %lld ns", (long long)ns);
    return found->stack ? &decoded->stacks[found->stack - 1] : NULL;
}

/* A line of preload_waits.c: how long, and the addresses from the caller of who slept on. */
static void ck_stack_is(const struct decoded_ring *decoded, char *line)
{
    char *rest;
    int64_t ns = strtol(line, &rest, 10);
    const struct decoded_stack *stack = sleep_stack(decoded, ns);
    if (ns >= 3500000) { /* on stacks that are not the thread's, or that it had left */
        ck_assert_msg(stack == NULL, "a stack of the sleep of %lld ns", (long long)ns);
        return;
    }
    ck_assert_msg(stack != NULL, "no stack of the sleep of %lld ns", (long long)ns);
    ck_assert_uint_eq(stack->end, 0);
    uint32_t frame = 1; /* 0 lies in the function that slept */
    for (char *word = strtok(rest, " \n"); word != NULL; word = strtok(NULL, " \n"), frame++) {
        ck_assert_uint_lt(frame, stack->count);
        ck_assert_msg(stack->pcs[frame] == strtoul(word, NULL, 16),
                      "%lld ns, frame %u: %lx, not %s", (long long)ns, frame, stack->pcs[frame],
                      word);
    }
    ck_assert_uint_eq(frame, stack->count);
    bool of_program = false; /* whose code has no path; the tracer's own frames are left out */
    for (size_t i = 0; i < decoded->mapping_count; i++)
        of_program |= stack->pcs[0] >= decoded->mappings[i].start &&
                      stack->pcs[0] < decoded->mappings[i].end &&
                      decoded->mappings[i].path[0] == '\0';
    ck_assert(of_program);
}

/* Of a wait that a jump left it is not known what it found. */
static void ck_nothing_found(const struct decoded_event *poll)
{
    ck_assert_ptr_nonnull(poll);
    ck_assert_int_eq(poll->args[1].i64, -ECANCELED);
    ck_assert_int_eq(poll->args[2].i64, -1);
    ck_assert_uint_eq(poll->stack, 0);
}

START_TEST(waits_carry_the_stacks_of_their_threads)
{
    static struct decoded_ring decoded;
    stack_ns = 1000000;
    run_recorded(SKEIN " run -q --preload " PRELOAD " -- " WAITS " 2>&1");
    ck_assert_int_eq(status, 0);
    struct fake_ring *ring = &agent.peers[0].ring;
    ck_assert_msg(ring_decode(ring->ring, &ring->geometry, &decoded), "%s", decoded.error);
    unsigned lines = 0;
    char *next = said;
    while (*next != '\0') {
        char *line = next, *end = strchr(next, '\n');
        ck_assert_ptr_nonnull(end);
        *end = '\0';
        next = end + 1;
        ck_stack_is(&decoded, line);
        lines++;
    }
    ck_assert_uint_eq(lines, 8);
    ck_nothing_found(decoded_nth(&decoded, "poll", 0));
    ck_assert_uint_eq(record_of(ring)->stacks_missed, 0);
    ring_decode_free(&decoded);
}
END_TEST

/* Which depth a wait of preload_waits.c had that was asked for so long; 0: another wait. */
static unsigned storm_depth(int64_t ns)
{
    return ns >= 1000 && ns <= 24000 && ns % 1000 == 0 ? (unsigned)(ns / 1000) : 0;
}

/* No wait has the stack of another, also where handlers wait in its midst and jump away. */
START_TEST(in_a_storm_of_signals_each_wait_has_its_own_stack)
{
    static struct decoded_ring decoded;
    stack_ns = 1;
    run_recorded(SKEIN " run -q --preload " PRELOAD " -- " WAITS " storm 2>&1");
    ck_assert_int_eq(status, 0);
    struct fake_ring *ring = &agent.peers[0].ring;
    ck_assert_msg(ring_decode(ring->ring, &ring->geometry, &decoded), "%s", decoded.error);
    size_t own = 0, of_handlers = 0, count = decoded_count(&decoded, "sleep");
    uint32_t above = 0; /* frames of a thread's begin */
    for (size_t i = 0; i < count; i++) {
        const struct decoded_event *event = decoded_nth(&decoded, "sleep", i);
        const unsigned depth = storm_depth(event->args[0].i64);
        if (event->stack == 0)
            continue;
        const struct decoded_stack *stack = &decoded.stacks[event->stack - 1];
        if (depth == 0) {
            ck_assert_int_eq(event->args[0].i64, 777);
            must_hold(stack->end == 2 && stack->count == 2, "a handler's end %u, %u frames",
                      stack->end, stack->count);
            of_handlers++;
            continue;
        }
        must_hold(stack->end == 0 && stack->count > depth, "end %u of a stack of %u frames",
                  stack->end, stack->count);
        above = above ? above : stack->count - depth;
        must_hold(stack->count - depth == above, "depth %u, %u frames", depth, stack->count);
        own++;
    }
    ck_assert_uint_gt(own, 500);
    ck_assert_uint_gt(of_handlers, 500);
    ring_decode_free(&decoded);
}
END_TEST

START_TEST(the_service_is_recorded_from_its_first_event_on)
{
    run_recorded(SKEIN " run --preload " PRELOAD " -- " GO " crash");
    ck_has_all(0);
    run_recorded("SYSTEMD_EXEC_PID=$$; export SYSTEMD_EXEC_PID; "
                 "LD_PRELOAD=" PRELOAD " exec " GO " crash");
    ck_has_all(0);
}
END_TEST

/* Each program that the same process becomes is the service. */
START_TEST(a_service_that_is_started_by_another_program_is_recorded)
{
    run_recorded(SKEIN " run --preload " PRELOAD " -- nice " GO " crash");
    ck_has_all(agent.peer_count - 1);
}
END_TEST

START_TEST(what_the_service_starts_is_recorded_when_it_is_older)
{
    run_recorded(SKEIN " run --preload " PRELOAD " -- " GO " beget");
    ck_assert_uint_eq(agent.peer_count, 1);
    ck_has_all(0);
    run_with_agent(SKEIN " run --preload " PRELOAD " -- sh -c '" GO " crash; true'");
    ck_assert_uint_eq(agent.peer_count, 1);
}
END_TEST

START_TEST(the_number_of_another_process_means_nothing)
{
    run_with_agent("SKEIN_SERVICE_PID=$$ SYSTEMD_EXEC_PID=1 LD_PRELOAD=" PRELOAD " " GO
                   " crash; true");
    ck_assert_uint_eq(agent.peer_count, 0);
    run_with_agent("LD_PRELOAD=" PRELOAD " SKEIN_SERVICE_PID=-1 " GO " crash; true");
    ck_assert_uint_eq(agent.peer_count, 0);
}
END_TEST

START_TEST(an_age_that_is_given_holds_for_the_service_too)
{
    run_with_agent("SKEIN_ATTACH_MS=60000 " SKEIN " run --preload " PRELOAD " -- " GO " crash");
    ck_assert_uint_eq(agent.peer_count, 0);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "run", a_static_program_runs_and_is_told,
        an_agent_that_is_stopped_is_told_and_not_waited_for, a_go_program_runs_and_is_told,
        a_script_is_judged_by_its_interpreter, a_program_under_a_sanitizer_starts,
        a_program_that_changes_its_user_is_told,
        a_program_with_another_c_library_runs_without_the_tracer,
        a_program_whose_warnings_nobody_reads_runs,
        what_does_not_start_ends_as_it_does_without_the_tracer,
        captures_of_a_go_program_carry_a_label,
        labels_that_have_no_room_keep_no_program_from_being_recorded,
        a_name_that_is_too_long_is_cut,
        a_process_that_waits_for_a_signal_from_the_start_is_recorded,
        waits_carry_the_stacks_of_their_threads, in_a_storm_of_signals_each_wait_has_its_own_stack,
        the_service_is_recorded_from_its_first_event_on,
        a_service_that_is_started_by_another_program_is_recorded,
        what_the_service_starts_is_recorded_when_it_is_older,
        the_number_of_another_process_means_nothing, an_age_that_is_given_holds_for_the_service_too,
        NULL));
}
