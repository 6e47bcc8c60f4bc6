/* SPDX-License-Identifier: Apache-2.0 */
#include "checks.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "http_client.h"
#include "rule_program.h"
#include "support.h"

static char *folder;

static void setup(void)
{
    folder = temp_dir_new();
    ck_assert_int_eq(chmod(folder, 0777), 0); /* programs of checks are nobody's */
    ck_assert_int_eq(http_client_init(), SKEIN_OK);
}

static void teardown(void)
{
    temp_dir_free(&folder);
}

/* A check of this process from the JSON inside "health". */
static struct check_spec *check_of(const char *health, uint64_t timeout_ms,
                                   const char *const allow[])
{
    char text[4096], error[256] = "";
    snprintf(
        text, sizeof text,
        "{\"name\":\"r\",\"selector\":\"\",\"when\":{\"health\":{\"every_ms\":10,\"timeout_ms\":%llu,%s}}}",
        (unsigned long long)timeout_ms, health);
    cJSON *json = cJSON_Parse(text);
    struct rule_spec *rule;
    int status = rule_spec_new(json, &rule, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
    struct config_strs strs = {.count = 0};
    char *items[8];
    for (; allow != NULL && allow[strs.count] != NULL; strs.count++)
        items[strs.count] = strdup(allow[strs.count]);
    strs.items = items;
    const struct rule_program_bounds bounds = {&strs, "nobody"};
    struct check_spec *spec = rule_spec_check(rule, (uint32_t)getpid(), &bounds);
    ck_assert_ptr_nonnull(spec);
    for (size_t i = 0; i < strs.count; i++)
        free(items[i]);
    rule_spec_free(&rule);
    cJSON_Delete(json);
    return spec;
}

static struct check_result run_for(struct check_spec *spec, uint64_t timeout_ms, int cancel_fd)
{
    struct check_result result;
    struct check_until until = {.deadline_ns = clock_monotonic_ns() + timeout_ms * 1000000,
                                .cancel_fd = cancel_fd};
    check_run(spec, &until, &result);
    check_spec_free(&spec);
    return result;
}

static struct check_result run(const char *health, const char *const allow[])
{
    return run_for(check_of(health, 20000, allow), 20000, -1);
}

#define ALLOW(...) ((const char *const[]){__VA_ARGS__, NULL})
#define FAILS(result, words)                                                                       \
    ck_assert_msg(!(result).passed && strstr((result).reason, words) != NULL, "%s", (result).reason)

START_TEST(a_program_that_ends_with_0_passes)
{
    ck_assert(run("\"exec\":{\"command\":[\"true\"]}", ALLOW("true")).passed);
    struct check_result result = run("\"exec\":{\"command\":[\"false\"]}", ALLOW("false"));
    FAILS(result, "check `false` ended with status 1");
}
END_TEST

START_TEST(what_it_says_is_part_of_the_reason)
{
    struct check_result result =
        run("\"exec\":{\"command\":[\"ls\",\"/no/such/file\"]}", ALLOW("ls /no/such/file"));
    FAILS(result, "No such file");
}
END_TEST

START_TEST(expected_text_is_looked_for)
{
    ck_assert(
        run("\"exec\":{\"command\":[\"echo\",\"xPONGx\"],\"expect\":\"PONG\"}", ALLOW("echo *"))
            .passed);
    struct check_result result =
        run("\"exec\":{\"command\":[\"echo\",\"ERR\"],\"expect\":\"PONG\"}", ALLOW("echo ERR"));
    FAILS(result, "did not print \"PONG\"");
}
END_TEST

START_TEST(only_allowed_programs_run)
{
    static const char health[] = "\"exec\":{\"command\":[\"echo\"]}";
    FAILS(run(health, NULL), "not allowed");
    FAILS(run(health, ALLOW("ls", "echo2")), "not allowed");
    char *path = check_program_path("echo");
    ck_assert(run(health, ALLOW(path)).passed);
    char by_path[300];
    snprintf(by_path, sizeof by_path, "\"exec\":{\"command\":[\"%s\"]}", path);
    ck_assert(run(by_path, ALLOW("echo")).passed);
    free(path);
    char *fake = path_join(folder, "echo"); /* another program of the same name */
    file_write_text(fake, "#!/bin/sh\n");
    snprintf(by_path, sizeof by_path, "\"exec\":{\"command\":[\"%s\"]}", fake);
    FAILS(run(by_path, ALLOW("echo")), "not allowed");
    free(fake);
}
END_TEST

/* Whether a rule's command, words with '|' between, is allowed by the entry. */
static bool allows(const char *entry, const char *command)
{
    char *items[] = {strdup(entry)}, *words = strdup(command), *argv[16] = {NULL}, *rest = NULL;
    const struct config_strs strs = {.items = items, .count = 1};
    size_t count = 0;
    for (char *word = strtok_r(words, "|", &rest); word != NULL && count < 15;
         word = strtok_r(NULL, "|", &rest))
        argv[count++] = strcmp(word, "EMPTY") == 0 ? word + 5 : word;
    char *path = rule_program_allowed(argv, &strs);
    bool allowed = path != NULL;
    free(path);
    free(words);
    free(items[0]);
    return allowed;
}

/* redis-cli --eval FILE reads any file, find -exec runs any program: arguments count. */
START_TEST(command_line_is_allowed_as_a_whole)
{
    static const struct {
        const char *entry, *command;
        bool allowed;
    } cases[] = {
        {"echo", "echo", true},
        {"echo", "echo|--eval|/etc/shadow", false},
        {"echo ping", "echo|ping", true},
        {"echo ping", "echo|ping|--eval", false},
        {"echo ping", "echo", false},
        {"echo ping", "echo|pin", false},
        {"echo ping", "echo|pingx", false},
        {"  echo\t ping  ", "echo|ping", true},
        {"echo -p * ping", "echo|-p|6379|ping", true},
        {"echo -p * ping", "echo|-p|redis-1.local:6379|ping", true},
        {"echo -p * ping", "echo|-p|--eval|ping", false},
        {"echo -p * ping", "echo|-p|-x|ping", false},
        {"echo -p * ping", "echo|-p|/etc/shadow|ping", false},
        {"echo -p * ping", "echo|-p|a/b|ping", false},
        {"echo -p * ping", "echo|-p|@/etc/shadow|ping", false},
        {"echo -p * ping", "echo|-p|a b|ping", false},
        {"echo -p * ping", "echo|-p|a\nb|ping", false},
        {"echo -p * ping", "echo|-p|ping", false},
        {"echo -p * ping", "echo|-p|EMPTY|ping", false},
        {"echo *", "echo|one|two", false},
        {"echo --port=*", "echo|--port=1", true},
        {"echo --port=*", "echo|--port=", false},
        {"echo --port=*", "echo|--port=-1", true},
        {"echo --port=*", "echo|--eval=1", false},
        {"echo *-*", "echo|a-b", true},
        {"echo *-*", "echo|--b", false},
        {"echo /srv/*/status", "echo|/srv/a.b/status", true},
        {"echo /srv/*/status", "echo|/srv/../status", false},
        {"echo /srv/*/status", "echo|/srv/./status", false},
        {"echo /srv/.*/status", "echo|/srv/../status", false},
        {"echo --folder=*", "echo|--folder=..", false},
        {"echo *-*", "echo|..-a", false},
        {"echo '*'", "echo|*", true},
        {"echo '*'", "echo|x", false},
        {"echo 'update t set a = 3'", "echo|update t set a = 3", true},
        {"echo 'update t set a = 3'", "echo|update t set a = 4", false},
        {"echo \"it's\" x", "echo|it's|x", true},
        {"echo ''", "echo|EMPTY", true},
        {"echo", "echo|EMPTY", false},
        {"*", "echo", false},
        {"", "echo", false},
        {"   ", "echo", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(allows(cases[i].entry, cases[i].command) == cases[i].allowed, "%s: %s",
                      cases[i].entry, cases[i].command);
}
END_TEST

START_TEST(refusal_names_the_line_that_would_allow_it)
{
    static const char health[] =
        "\"exec\":{\"command\":[\"echo\",\"-p\",\"6379\",\"a b\",\"*\",\"\",\"it's\"]}";
    static const char line[] = "echo -p 6379 'a b' '*' '' \"it's\"";
    struct check_result result = run(health, ALLOW("echo"));
    ck_assert(result.not_run);
    FAILS(result, line);
    ck_assert(run(health, ALLOW(line)).passed); /* as it was told */
    char much[1000], filler[801];
    memset(filler, 'x', 800);
    filler[800] = '\0';
    snprintf(much, sizeof much, "\"exec\":{\"command\":[\"echo\",\"%s\"]}", filler);
    FAILS(run(much, NULL), "would need its whole command line");
}
END_TEST

/* What a check's program may do: nothing of root's. */
START_TEST(program_is_nobody_without_groups_rights_or_descriptors)
{
    char *secret = path_join(folder, "secret"), health[512], line[512];
    file_write_text(secret, "root's");
    ck_assert_int_eq(chmod(secret, 0600), 0);
    int left_open = open(secret, O_RDONLY); /* NOLINT: not O_CLOEXEC on purpose */
    static const char *const said[][2] = {{"NoNewPrivs:", "1"},
                                          {"CapEff:", "0000000000000000"},
                                          {"CapPrm:", "0000000000000000"},
                                          {"CapInh:", "0000000000000000"},
                                          {"CapAmb:", "0000000000000000"}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        snprintf(
            health, sizeof health,
            "\"exec\":{\"command\":[\"grep\",\"%s\",\"/proc/self/status\"],\"expect\":\"%s\\t%s\"}",
            said[i][0], said[i][0], said[i][1]);
        snprintf(line, sizeof line, "grep %s /proc/self/status", said[i][0]);
        struct check_result result = run(health, ALLOW(line));
        ck_assert_msg(result.passed, "%s", result.reason);
    }
    ck_assert(run("\"exec\":{\"command\":[\"sh\",\"-c\",\"test $(ulimit -c) = 0\"]}",
                  ALLOW("sh -c 'test $(ulimit -c) = 0'"))
                  .passed);
    ck_assert(run("\"exec\":{\"command\":[\"sh\",\"-c\",\"test $(ulimit -n) -le 1024\"]}",
                  ALLOW("sh -c 'test $(ulimit -n) -le 1024'"))
                  .passed);
    snprintf(line, sizeof line, "test ! -e /proc/self/fd/%d", left_open);
    snprintf(health, sizeof health,
             "\"exec\":{\"command\":[\"test\",\"!\",\"-e\",\"/proc/self/fd/%d\"]}", left_open);
    ck_assert(run(health, ALLOW(line)).passed);
    if (geteuid() == 0) { /* else it stays who it is */
        snprintf(line, sizeof line, "cat '%s'", secret);
        snprintf(health, sizeof health, "\"exec\":{\"command\":[\"cat\",\"%s\"]}", secret);
        FAILS(run(health, ALLOW(line)), "Permission denied");
        ck_assert(run("\"exec\":{\"command\":[\"id\",\"-u\"],\"expect\":\"65534\"}", ALLOW("id -u"))
                      .passed);
        ck_assert(run("\"exec\":{\"command\":[\"sh\",\"-c\",\"test \\\"$(id -G)\\\" = 65534\"]}",
                      ALLOW("sh -c 'test \"$(id -G)\" = 65534'"))
                      .passed);
    }
    close(left_open);
    free(secret);
}
END_TEST

START_TEST(user_that_there_is_not_runs_nothing)
{
    struct check_spec *spec = check_of("\"exec\":{\"command\":[\"true\"]}", 20000, ALLOW("true"));
    free(spec->user);
    spec->user = strdup("no-such-user-here");
    struct check_result result = run_for(spec, 20000, -1);
    if (geteuid() != 0)
        return; /* the agent's own user runs it */
    ck_assert(result.not_run);
    FAILS(result, "checks.user");
    /* of root's name there is nothing left but the name */
    spec = check_of("\"exec\":{\"command\":[\"grep\",\"CapEff:\",\"/proc/self/status\"],"
                    "\"expect\":\"0000000000000000\"}",
                    20000, ALLOW("grep CapEff: /proc/self/status"));
    spec->user[0] = '\0';
    result = run_for(spec, 20000, -1);
    ck_assert_msg(result.passed, "%s", result.reason);
}
END_TEST

struct as_user {
    const char *line; /* of the table of users, beside those that are there; "": none */
    const char *sees; /* what `id -u` prints */
};

/* Runs a program of the default user twice, where the table of users has the line or has it not. Its
 * standard error is the test's pipe. Ends this process: 0 is right, 77 that it may not mount. */
static void default_user_run(const struct as_user *as, const char *table)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(table, "/etc/passwd", NULL, MS_BIND, NULL) != 0)
        _exit(77);
    for (int i = 0; i < 2; i++) {
        char health[128];
        snprintf(health, sizeof health, "\"exec\":{\"command\":[\"id\",\"-u\"],\"expect\":\"%s\"}",
                 as->sees);
        struct check_spec *spec = check_of(health, 20000, ALLOW("id -u"));
        free(spec->user);
        spec->user = strdup(CHECK_USER);
        struct check_result result = run_for(spec, 20000, -1);
        if (!result.passed) {
            dprintf(STDERR_FILENO, "%s\n", result.reason);
            _exit(1);
        }
    }
    _exit(0);
}

START_TEST(program_runs_as_a_user_of_its_own_or_says_once_that_there_is_none)
{
    static const struct as_user cases[] = {
        {CHECK_USER ":x:64123:64123::/:/usr/sbin/nologin\n", "64123"}, {"", "65534"}};
    const struct as_user *as = &cases[_i];
    char *table = path_join(folder, "passwd"), text[512], said[4096] = "";
    snprintf(text, sizeof text,
             "root:x:0:0:root:/root:/bin/bash\n%snobody:x:65534:65534::/:/usr/sbin/nologin\n",
             as->line);
    file_write_text(table, text);
    ck_assert_int_eq(chmod(table, 0644), 0);
    int pipe_fds[2], status;
    ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
    pid_t pid = geteuid() == 0 ? fork() : -1;
    if (pid == 0) {
        dup2(pipe_fds[1], STDERR_FILENO);
        default_user_run(as, table);
    }
    close(pipe_fds[1]);
    size_t n = 0;
    for (ssize_t got;
         n + 1 < sizeof said && (got = read(pipe_fds[0], said + n, sizeof said - 1 - n)) > 0;)
        n += (size_t)got;
    close(pipe_fds[0]);
    free(table);
    if (pid < 0)
        return; /* who is not root stays who he is */
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        return;
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", said);
    const char *line = strstr(said, "there is no user " CHECK_USER);
    ck_assert_msg((line != NULL) == (as->line[0] == '\0'), "%s", said);
    ck_assert_msg(line == NULL || strstr(line + 1, "there is no user") == NULL, "%s", said);
}
END_TEST

/* What an agent could not end must not begin: a check of a service that hangs would never fail. */
START_TEST(nothing_runs_that_could_not_be_ended)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (geteuid() != 0)
        return; /* what runs is its own */
    ck_assert_int_eq(syscall(SYS_capget, &head, data), 0);
    data[0].effective &= ~(UINT32_C(1) << CAP_KILL);
    ck_assert_int_eq(syscall(SYS_capset, &head, data), 0);
    struct check_result result = run("\"exec\":{\"command\":[\"true\"]}", ALLOW("true"));
    ck_assert(result.not_run);
    FAILS(result, "CAP_KILL");
}
END_TEST

START_TEST(there_is_no_shell_and_the_environment_is_small)
{
    setenv("SECRET", "do-not-tell", 1);
    ck_assert(run("\"exec\":{\"command\":[\"echo\",\"$PATH;id\"],\"expect\":\"$PATH;id\"}",
                  ALLOW("echo $PATH;id"))
                  .passed);
    FAILS(run("\"exec\":{\"command\":[\"env\"],\"expect\":\"do-not-tell\"}", ALLOW("env")),
          "did not print");
}
END_TEST

START_TEST(the_pid_of_the_process_is_filled_in)
{
    char health[128];
    snprintf(health, sizeof health,
             "\"exec\":{\"command\":[\"echo\",\"<{pid}>\"],\"expect\":\"<%d>\"}", (int)getpid());
    /* `expect` is taken as it is */
    ck_assert(run(health, ALLOW("echo <{pid}>")).passed);
}
END_TEST

/* Whether a process has ended; nobody of us is its parent. */
static bool has_ended(void *context)
{
    const char *pid = context;
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/%ld/stat", strtol(pid, NULL, 10));
    FILE *file = fopen(path, "re");
    bool ended = file == NULL || fscanf(file, "%*d %*s %c", &state) != 1 || state == 'Z';
    if (file != NULL)
        fclose(file);
    return ended;
}

START_TEST(a_slow_program_is_killed_with_all_that_it_started)
{
    char *script = path_join(folder, "slow");
    char *pids = path_join(folder, "pids");
    char text[512], health[512], line[512];
    snprintf(line, sizeof line, "sh %s", script);
    snprintf(text, sizeof text,
             "#!/bin/sh\nsleep 1000 &\necho $! > %s.tmp\nmv %s.tmp %s\nsleep 1000\n", pids, pids,
             pids);
    file_write_text(script, text);
    snprintf(health, sizeof health, "\"exec\":{\"command\":[\"sh\",\"%s\"]}", script);
    struct check_result result = run_for(check_of(health, 1000, ALLOW(line)), 1000, -1);
    FAILS(result, "did not answer within 1000 ms");
    size_t n;
    char *pid = file_read(pids, &n);
    if (pid != NULL) /* else the machine was too slow for the script to get there */
        ck_assert(wait_until(has_ended, pid, 0));
    free(pid);
    free(pids);
    free(script);
}
END_TEST

START_TEST(more_output_than_is_kept_does_not_stop_a_program)
{
    ck_assert(run("\"exec\":{\"command\":[\"head\",\"-c\",\"1000000\",\"/dev/zero\"]}",
                  ALLOW("head -c * /dev/zero"))
                  .passed);
}
END_TEST

START_TEST(a_running_check_can_be_cancelled)
{
    int cancel = eventfd(1, EFD_CLOEXEC);
    FAILS(run_for(
              check_of("\"exec\":{\"command\":[\"sleep\",\"1000\"]}", 3000000, ALLOW("sleep 1000")),
              3000000, cancel),
          "cancelled");
    close(cancel);
}
END_TEST

static int listen_tcp(uint16_t *port, int backlog)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(fd, backlog), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

START_TEST(tcp_passes_while_somebody_listens)
{
    uint16_t port;
    int fd = listen_tcp(&port, 8);
    char health[128];
    snprintf(health, sizeof health, "\"tcp\":{\"address\":\"127.0.0.1:%u\"}", port);
    ck_assert(run(health, NULL).passed);
    snprintf(health, sizeof health, "\"tcp\":{\"address\":\"localhost:%u\"}", port);
    struct check_result named = run(health, NULL);
    ck_assert_msg(named.passed, "%s", named.reason);
    close(fd);
    snprintf(health, sizeof health, "\"tcp\":{\"address\":\"127.0.0.1:%u\"}", port);
    FAILS(run(health, NULL), "refused");
    FAILS(run("\"tcp\":{\"address\":\"nonsense\"}", NULL), "host:port");
}
END_TEST

START_TEST(http_compares_the_status_and_keeps_the_time)
{
    uint16_t port;
    int fd = listen_tcp(&port, 8); /* accepts, never answers */
    char health[128];
    snprintf(health, sizeof health, "\"http\":{\"url\":\"http://127.0.0.1:%u/\"}", port);
    FAILS(run_for(check_of(health, 200, NULL), 200, -1), "did not answer within 200 ms");
    close(fd);
    FAILS(run(health, NULL), "check GET http://127.0.0.1");
}
END_TEST

START_TEST(unix_sockets_are_connected_to)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/s-%d", folder, (int)getpid());
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    char health[256];
    snprintf(health, sizeof health, "\"unix\":{\"path\":\"%s/s-{pid}\"}", folder);
    ck_assert(run(health, NULL).passed);
    close(fd);
    FAILS(run(health, NULL), "refused");
}
END_TEST

/* psql and its like take back what they have asked for when they are interrupted. */
START_TEST(a_slow_program_is_asked_to_end_before_it_is_killed)
{
    char *script = path_join(folder, "polite"), *told = path_join(folder, "told"), *text = NULL;
    char line[512], health[512], entry[512];
    snprintf(entry, sizeof entry, "sh '%s'", script);
    snprintf(line, sizeof line,
             "#!/bin/sh\ntrap 'echo interrupted >%s; exit 1' INT\n"
             "echo ready >%s/ready\nwhile :; do read -r x <%s/never; done\n",
             told, folder, folder);
    file_write_text(script, line);
    snprintf(line, sizeof line, "%s/never", folder);
    ck_assert_int_eq(mkfifo(line, 0600), 0);
    ck_assert_int_eq(chmod(line, 0644), 0);
    snprintf(health, sizeof health, "\"exec\":{\"command\":[\"sh\",\"%s\"]}", script);
    snprintf(line, sizeof line, "%s/ready", folder);
    uint64_t timeout_ms = 500;
    do { /* again where the machine was too slow for the script to get there */
        timeout_ms *= 2;
        FAILS(run_for(check_of(health, timeout_ms, ALLOW(entry)), timeout_ms, -1),
              "did not answer within");
    } while (access(line, F_OK) != 0 && timeout_ms < 30000);
    size_t n;
    text = file_read(told, &n);
    ck_assert_ptr_nonnull(text);
    free(text);
    free(told);
    free(script);
}
END_TEST

START_TEST(what_a_check_starts_bears_its_mark)
{
    ck_assert(
        run("\"exec\":{\"command\":[\"env\"],\"expect\":\"SKEIN_CHECK=1\"}", ALLOW("env")).passed);
    ck_assert(!check_began(getpid()));
    ck_assert(!check_began(1));
    pid_t child = spawn((const char *const[]){"sleep", "1000", NULL}, NULL);
    ck_assert(check_began(child)); /* of this process, as a check is of the agent */
    spawn_stop(child, SIGKILL, 0);
}
END_TEST

struct seen {
    struct loop *loop;
    unsigned results;
};

static void on_result(void *context, const struct check_result *result)
{
    struct seen *seen = context;
    ck_assert(result->passed);
    seen->results++;
    loop_stop(seen->loop);
}

static void stop_loop(void *context)
{
    loop_stop(context);
}

struct start {
    struct checks *checks;
    struct seen *seen;
    struct check *check;
};

static bool check_starts(void *context)
{
    struct start *start = context;
    struct check_spec *passes = check_of("\"exec\":{\"command\":[\"true\"]}", 20000, ALLOW("true"));
    return check_start(start->checks, passes, on_result, start->seen, &start->check) == SKEIN_OK;
}

START_TEST(a_slow_run_delays_no_other_and_gives_its_place_back)
{
    struct seen seen = {0}, never = {0};
    struct start third = {.seen = &seen};
    struct check *slow, *stopped;
    static const char sleeps[] = "\"exec\":{\"command\":[\"sleep\",\"1000\"]}";
    ck_assert_int_eq(loop_new(&seen.loop), SKEIN_OK);
    ck_assert_int_eq(checks_new(seen.loop, 2, &third.checks), SKEIN_OK);
    ck_assert_int_eq(check_start(third.checks, check_of(sleeps, 3000000, ALLOW("sleep 1000")),
                                 on_result, &never, &slow),
                     SKEIN_OK);
    ck_assert_int_eq(check_start(third.checks, check_of(sleeps, 3000000, ALLOW("sleep 1000")),
                                 on_result, &never, &stopped),
                     SKEIN_OK);
    ck_assert(!check_starts(&third));
    check_stop(&stopped);
    ck_assert(wait_until(check_starts, &third, 0));
    ck_assert_int_eq(loop_run(seen.loop), SKEIN_OK);
    ck_assert_uint_eq(seen.results, 1);
    ck_assert_uint_eq(never.results, 0);
    check_stop(&third.check);
    ck_assert_uint_eq(checks_free(&third.checks, support_deadline_ms()), 0);
    /* Results under way are handed over, to nobody, before the loop goes. */
    ck_assert_int_eq(loop_post(seen.loop, stop_loop, seen.loop), SKEIN_OK);
    ck_assert_int_eq(loop_run(seen.loop), SKEIN_OK);
    loop_free(&seen.loop);
}
END_TEST

START_TEST(rules_that_are_wrong_are_refused_with_the_path)
{
    static const char *const bad[][2] = {
        {"[]", "object"},
        {"{}", "name"},
        {"{\"name\":\"x\"}", "when"},
        {"{\"name\":\"x\",\"when\":{\"health\":{}}}", "when.health"},
        {"{\"name\":\"x\",\"when\":{\"health\":{\"exec\":{\"command\":[]}}}}",
         "when.health.exec.command"},
        {"{\"name\":\"x\",\"when\":{\"health\":{\"exec\":{\"command\":[1]}}}}",
         "when.health.exec.command"},
        {"{\"name\":\"x\",\"when\":{\"health\":{\"tcp\":{}}}}", "when.health.tcp.address"},
        {"{\"name\":\"x\",\"when\":{\"health\":{\"http\":{\"url\":\"file:///etc\"}}}}",
         "when.health.http.url"},
        {"{\"name\":\"x\",\"when\":{\"health\":{\"tcp\":{\"address\":\"a:1\"},\"unix\":{\"path\":\"/x\"}}}}",
         "one of"},
        {"{\"name\":\"x\",\"when\":{\"health\":{\"every_ms\":0,\"tcp\":{\"address\":\"a:1\"}}}}",
         "when.health.every_ms"},
        {"{\"name\":\"x\",\"when\":{\"health\":{\"per\":\"host\",\"tcp\":{\"address\":\"a:1\"}}}}",
         "when.health.per"},
        {"{\"name\":\"x\",\"when\":{\"health\":{\"per\":\"service\",\"heartbeat\":{}}}}",
         "when.health.per"},
        {"{\"name\":\"x\",\"selector\":\"==\",\"when\":{\"health\":{\"tcp\":{\"address\":\"a:1\"}}}}",
         "selector"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cJSON *json = cJSON_Parse(bad[i][0]);
        struct rule_spec *rule;
        char error[256] = "";
        ck_assert_int_eq(rule_spec_new(json, &rule, error, sizeof error), SKEIN_INVALID);
        ck_assert_ptr_null(rule);
        ck_assert_msg(strstr(error, bad[i][1]) != NULL, "%s: %s", bad[i][0], error);
        cJSON_Delete(json);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checks");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 280);
    tcase_add_test(tc, a_program_that_ends_with_0_passes);
    tcase_add_test(tc, what_it_says_is_part_of_the_reason);
    tcase_add_test(tc, expected_text_is_looked_for);
    tcase_add_test(tc, only_allowed_programs_run);
    tcase_add_test(tc, there_is_no_shell_and_the_environment_is_small);
    tcase_add_test(tc, command_line_is_allowed_as_a_whole);
    tcase_add_test(tc, refusal_names_the_line_that_would_allow_it);
    tcase_add_test(tc, program_is_nobody_without_groups_rights_or_descriptors);
    tcase_add_test(tc, user_that_there_is_not_runs_nothing);
    tcase_add_loop_test(tc, program_runs_as_a_user_of_its_own_or_says_once_that_there_is_none, 0,
                        2);
    tcase_add_test(tc, nothing_runs_that_could_not_be_ended);
    tcase_add_test(tc, the_pid_of_the_process_is_filled_in);
    tcase_add_test(tc, a_slow_program_is_killed_with_all_that_it_started);
    tcase_add_test(tc, more_output_than_is_kept_does_not_stop_a_program);
    tcase_add_test(tc, a_running_check_can_be_cancelled);
    tcase_add_test(tc, tcp_passes_while_somebody_listens);
    tcase_add_test(tc, http_compares_the_status_and_keeps_the_time);
    tcase_add_test(tc, unix_sockets_are_connected_to);
    tcase_add_test(tc, a_slow_run_delays_no_other_and_gives_its_place_back);
    tcase_add_test(tc, a_slow_program_is_asked_to_end_before_it_is_killed);
    tcase_add_test(tc, what_a_check_starts_bears_its_mark);
    tcase_add_test(tc, rules_that_are_wrong_are_refused_with_the_path);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
