/* SPDX-License-Identifier: Apache-2.0
 *
 * Attaching through the agent's socket: now, later, again after the agent died, in fork children,
 * and the requests that go the same way; and that the visitor who does it takes nothing of the
 * program, keeps nothing that the program gave up, and is gone where it would be in the way.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach_client.h"
#include "decoded_ring.h"
#include "fake_agent.h"
#include "skein/skein.h"
#include "skein_atomic.h"
#include "start.h"
#include "support.h"
#include "writer_int.h"

static struct fake_agent agent, next_agent;
static struct decoded_ring decoded;
static char *folder, *path;

static void setup_path(void)
{
    folder = temp_dir_new();
    path = path_join(folder, "a.sock");
}

static void finish(void)
{
    skein_stop();
    temp_dir_free(&folder);
    free(path);
}

static void start(void)
{
    struct skein_options options = {.size = sizeof options,
                                    .service = "shop",
                                    .labels = "zone=a,canary=",
                                    .agent_socket = path};
    ck_assert_int_eq(skein_start(&options), SKEIN_OK);
}

static void decode(struct fake_peer *peer)
{
    ring_decode_free(&decoded);
    ck_assert_msg(ring_decode(peer->ring.ring, &peer->ring.geometry, &decoded), "%s",
                  decoded.error);
}

/* ---- conditions to wait for ---- */

static struct fake_peer *peer_of(struct fake_agent *a, pid_t pid)
{
    struct fake_peer *found = NULL;
    pthread_mutex_lock(&a->mutex);
    for (unsigned i = 0; i < a->peer_count; i++)
        if (a->peers[i].pid == pid)
            found = &a->peers[i];
    pthread_mutex_unlock(&a->mutex);
    return found;
}

static bool snapshot_is_told(void *context)
{
    int *status = context;
    return (*status = skein_snapshot("asked")) == SKEIN_OK;
}

/* On a machine that is busy the visitor may not be there in time, or not be connected yet; then one
 * asks again. */
static int snapshot_ask(void)
{
    int status = SKEIN_AGAIN;
    wait_until(snapshot_is_told, &status, 0);
    return status;
}

static bool snapshot_came(void *context)
{
    struct fake_peer *peer = context;
    pthread_mutex_lock(&agent.mutex);
    bool came = peer->snapshots > 0;
    pthread_mutex_unlock(&agent.mutex);
    return came;
}

static bool peer_is_gone(struct fake_agent *a, struct fake_peer *peer)
{
    pthread_mutex_lock(&a->mutex);
    bool gone = peer->gone;
    pthread_mutex_unlock(&a->mutex);
    return gone;
}

static bool peer_gone(void *context)
{
    return peer_is_gone(&agent, context);
}

static bool next_peer_gone(void *context)
{
    return peer_is_gone(&next_agent, context);
}

static bool agent_knows_us(void *context)
{
    (void)context;
    return peer_of(&agent, getpid()) != NULL;
}

static bool next_agent_knows_us(void *context)
{
    (void)context;
    return peer_of(&next_agent, getpid()) != NULL;
}

START_TEST(attaches_says_hello_and_goodbye)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    start(); /* a second call changes nothing */
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    SKEIN_INSTANT("hello", (u64, "n", 1));
    struct fake_peer *peer = peer_of(&agent, getpid());
    ck_assert_ptr_nonnull(peer);
    ck_assert_str_eq(peer->hello.service, "shop");
    ck_assert_str_eq(peer->hello.labels, "zone=a,canary=");
    ck_assert_int_eq(skein_snapshot("too slow"), SKEIN_OK);
    ck_assert(wait_until(snapshot_came, peer, 0));
    ck_assert_str_eq(peer->reason, "too slow");
    skein_stop();
    ck_assert(wait_until(peer_gone, peer, 0));
    ck_assert(peer->bye);
    SKEIN_INSTANT("after", (u64, "n", 1));
    decode(peer);
    ck_assert_uint_eq(decoded_count(&decoded, "hello"), 1);
    ck_assert_uint_eq(decoded_count(&decoded, "after"), 0);
    ck_assert_int_eq(skein_snapshot("late"), SKEIN_CLOSED);
    fake_agent_stop(&agent);
    finish();
}
END_TEST

static bool heartbeat_says(void *context)
{
    struct fake_peer *peer = peer_of(&agent, getpid());
    pthread_mutex_lock(&agent.mutex);
    bool says = strcmp(peer->heartbeat.why, context) == 0;
    pthread_mutex_unlock(&agent.mutex);
    return says;
}

START_TEST(a_heartbeat_reaches_the_agent_and_repetitions_are_held_back)
{
    char word[200];
    setup_path();
    ck_assert_int_eq(skein_health(true, NULL), SKEIN_CLOSED);
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    struct fake_peer *peer = peer_of(&agent, getpid());
    for (int i = 0; i < 100000; i++)
        ck_assert_int_eq(skein_health(true, "fine"), SKEIN_OK);
    ck_assert(wait_until(heartbeat_says, (char[]){"fine"}, 0));
    ck_assert_int_eq(skein_health(false, "queue full"), SKEIN_OK); /* news are never held back */
    ck_assert(wait_until(heartbeat_says, (char[]){"queue full"}, 0));
    pthread_mutex_lock(&agent.mutex);
    bool ok = peer->heartbeat.ok;
    unsigned heartbeats = peer->heartbeats;
    pthread_mutex_unlock(&agent.mutex);
    ck_assert(!ok);
    ck_assert_uint_lt(heartbeats, 50000);
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    ck_assert_int_eq(skein_health(false, word), SKEIN_OK);
    word[SKEIN_NAME_MAX] = '\0'; /* cut to what the message holds */
    ck_assert(wait_until(heartbeat_says, word, 0));
    finish();
    ck_assert_int_eq(skein_health(false, "late"), SKEIN_CLOSED);
    fake_agent_stop(&agent);
}
END_TEST

START_TEST(an_agent_of_the_first_version_is_sent_no_heartbeat)
{
    setup_path();
    fake_agent_init(&agent, 7);
    agent.old = true;
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    ck_assert_int_eq(skein_health(true, NULL), SKEIN_UNSUPPORTED);
    ck_assert_int_eq(skein_snapshot("asked"), SKEIN_OK);
    ck_assert(wait_until(snapshot_came, peer_of(&agent, getpid()), 0));
    ck_assert_uint_eq(peer_of(&agent, getpid())->heartbeats, 0);
    finish();
    fake_agent_stop(&agent);
}
END_TEST

START_TEST(a_program_that_a_check_runs_records_nothing)
{
    struct skein_options options = {
        .size = sizeof options, .service = "shop", .agent_socket = path};
    setenv("SKEIN_CHECK", "1", 1);
    ck_assert_int_eq(skein_start(&options), SKEIN_REFUSED);
    unsetenv("SKEIN_CHECK");
    start();
}
END_TEST

START_TEST(attaches_when_an_agent_appears_later)
{
    setup_path();
    start();
    SKEIN_INSTANT("nobody listens");
    ck_assert(!skein_attached());
    ck_assert_int_eq(skein_snapshot("x"), SKEIN_CLOSED);
    ck_assert_int_eq(skein_wait_attached(1), SKEIN_TIMEOUT);
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    ck_assert(skein_attached());
    finish();
    fake_agent_stop(&agent);
}
END_TEST

static void restart_agent(bool adopt)
{
    fake_agent_stop(&agent);
    SKEIN_INSTANT("without agent");
    fake_agent_init(&next_agent, UINT64_C(1) << 32);
    next_agent.refuse_adoption = !adopt;
    fake_agent_serve(&next_agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    ck_assert(wait_until(next_agent_knows_us, NULL, 0));
}

static bool view_is_new(void *context)
{
    return skein_gate_load(&skein_control_page->gate) != *(uint64_t *)context;
}

START_TEST(a_ring_survives_its_agent)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    uint64_t gate = skein_control_page->gate;
    SKEIN_BEGIN("across");
    SKEIN_INSTANT("before");
    restart_agent(true);
    ck_assert(wait_until(view_is_new, &gate, 0));
    SKEIN_INSTANT("after");
    SKEIN_END();
    struct fake_peer *peer = peer_of(&next_agent, getpid());
    ck_assert_uint_eq(peer->hello.has_ring, 1);
    decode(peer);
    ck_assert_uint_eq(decoded_nth(&decoded, "before", 0)->generation, 7);
    ck_assert_uint_eq(decoded_count(&decoded, "without agent"), 1);
    ck_assert_uint_eq(decoded_nth(&decoded, "after", 0)->generation, UINT64_C(1) << 32);
    finish();
    fake_agent_stop(&next_agent);
}
END_TEST

START_TEST(an_agent_that_wants_no_old_ring_gives_a_new_one)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    uint64_t gate = skein_control_page->gate;
    SKEIN_BEGIN("across");
    SKEIN_INSTANT("before");
    restart_agent(false);
    ck_assert(wait_until(view_is_new, &gate, 0));
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    SKEIN_INSTANT("after");
    SKEIN_END();
    decode(peer_of(&next_agent, getpid()));
    ck_assert_uint_eq(decoded_count(&decoded, "before"), 0);
    ck_assert_uint_eq(decoded_count(&decoded, "after"), 1);
    ck_assert_int_eq(decoded.events[0].kind,
                     DECODED_OPEN); /* the range is known, its name is not */
    finish();
    fake_agent_stop(&next_agent);
}
END_TEST

/* ---- fork ---- */

static void child_traces(void)
{
    SKEIN_INSTANT("in the child"); /* too early: this one wakes the helper */
    bool good = skein_wait_attached(support_deadline_ms()) == SKEIN_OK;
    SKEIN_INSTANT("in the child");
    skein_stop();
    _exit(good ? 0 : 1);
}

static int child_status(pid_t pid)
{
    int status = -1;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(a_fork_child_that_traces_registers_as_its_own_process)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    SKEIN_REGION("around the fork");
    SKEIN_INSTANT("in the parent");
    pid_t pid = fork();
    if (pid == 0)
        child_traces();
    SKEIN_INSTANT("in the parent");
    ck_assert_int_eq(child_status(pid), 0);
    SKEIN_INSTANT("in the parent");
    decode(peer_of(&agent, getpid()));
    ck_assert_uint_eq(decoded_count(&decoded, "in the parent"), 3);
    ck_assert_uint_eq(decoded_count(&decoded, "in the child"), 0);
    struct fake_peer *child = peer_of(&agent, pid);
    ck_assert_ptr_nonnull(child);
    ck_assert(wait_until(peer_gone, child, 0));
    ck_assert(child->bye);
    ck_assert_uint_eq(child->hello.has_ring, 0);
    decode(child);
    ck_assert_uint_eq(decoded_count(&decoded, "in the child"), 1);
    ck_assert_uint_eq(decoded_count(&decoded, "in the parent"), 0);
    finish();
    fake_agent_stop(&agent);
}
END_TEST

/* Attached, and so is its child, whose pages are those that fork wiped. */
static int line_of_children(unsigned length)
{
    if (skein_wait_attached(support_deadline_ms()) != SKEIN_OK)
        return 1;
    SKEIN_INSTANT("in a line", (u64, "left", length));
    pid_t pid = length ? fork() : -1;
    if (pid == 0)
        _exit(line_of_children(length - 1));
    SKEIN_INSTANT("in a line", (u64, "left", length));
    int status = length ? child_status(pid) : 0;
    if (status == 0)
        SKEIN_INSTANT("in a line", (u64, "left", length));
    return status;
}

START_TEST(each_of_a_line_of_children_has_its_own_ring)
{
    enum { LENGTH = 4 };
    unsigned found = 0;
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    ck_assert_int_eq(line_of_children(LENGTH), 0);
    finish();
    for (unsigned i = 0; i < agent.peer_count; i++) {
        decode(&agent.peers[i]);
        if (decoded_count(&decoded, "in a line") == 0)
            continue;
        ck_assert_uint_eq(decoded_count(&decoded, "in a line"), 3);
        uint64_t left = decoded_nth(&decoded, "in a line", 0)->args[0].u64;
        for (uint64_t n = 1; n < 3; n++)
            ck_assert_uint_eq(decoded_nth(&decoded, "in a line", n)->args[0].u64, left);
        found |= 1u << left;
    }
    ck_assert_uint_eq(found, (1u << (LENGTH + 1)) - 1);
    fake_agent_stop(&agent);
}
END_TEST

START_TEST(a_fork_child_that_does_not_trace_stays_unknown)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    pid_t pid = fork();
    if (pid == 0)
        exit(skein_attached() ? 1 : 0); /* with the exit handlers */
    ck_assert_int_eq(child_status(pid), 0);
    ck_assert_ptr_null(peer_of(&agent, pid));
    SKEIN_INSTANT("still here");
    struct fake_peer *parent = peer_of(&agent, getpid());
    ck_assert(wait_until(peer_gone, parent, 0));
    ck_assert(parent->left && !parent->bye); /* at the fork; its ring goes on */
    decode(parent);
    ck_assert_uint_eq(decoded_count(&decoded, "still here"), 1);
    finish();
    fake_agent_stop(&agent);
}
END_TEST

static void trace_in_handler(int signal)
{
    (void)signal;
    SKEIN_INSTANT("handled");
}

static bool attached_by_handler(void *unused)
{
    (void)unused;
    raise(SIGUSR1);
    return skein_attached();
}

START_TEST(a_handler_may_be_what_attaches_a_fork_child)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    signal(SIGUSR1, trace_in_handler);
    pid_t pid = fork();
    if (pid == 0)
        _exit(wait_until(attached_by_handler, NULL, 0) ? 0 : 1);
    ck_assert_int_eq(child_status(pid), 0);
    finish();
    fake_agent_stop(&agent);
}
END_TEST

START_TEST(a_vfork_child_does_no_harm)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    SKEIN_INSTANT("before");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    pid_t pid = vfork();
#pragma GCC diagnostic pop
    if (pid == 0) {
        /* It shares our memory: this is the parent's event, and what is tested.
         * NOLINTNEXTLINE(clang-analyzer-unix.Vfork): the rule forbids just that */
        SKEIN_INSTANT("in the vfork child");
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    ck_assert_int_eq(child_status(pid), 0);
    SKEIN_INSTANT("after");
    decode(peer_of(&agent, getpid()));
    ck_assert_uint_eq(decoded_count(&decoded, "before"), 1);
    ck_assert_uint_eq(decoded_count(&decoded, "in the vfork child"), 1);
    ck_assert_uint_eq(decoded_count(&decoded, "after"), 1);
    finish();
    fake_agent_stop(&agent);
}
END_TEST

/* ---- the visitor ---- */

/* Which descriptors are open, and what they are, as one text. */
static void descriptors(char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int fd = 0; fd < 256; fd++) {
        struct stat st;
        if (fstat(fd, &st) == 0)
            used += (size_t)snprintf(text + used, bytes - used, "%d:%lu:%lu ", fd,
                                     (unsigned long)st.st_dev, (unsigned long)st.st_ino);
    }
}

static bool opens_lowest(void *context)
{
    int *odd = context;
    close(0);
    int fd = open("/dev/null", O_RDONLY);
    if (fd != 0)
        (*odd)++;
    return skein_attached();
}

START_TEST(no_descriptor_of_the_program_is_ever_taken)
{
    static char before[8192], after[8192];
    int odd = 0;
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    close(0);
    ck_assert_int_eq(open("/dev/null", O_RDONLY), 0);
    pid_t pid = fork(); /* alone: the fake agent takes descriptors, too */
    if (pid == 0) {
        descriptors(before, sizeof before);
        start();
        bool attached = wait_until(opens_lowest, &odd, 0);
        descriptors(after, sizeof after);
        _exit(!attached ? 1 : odd ? 2 : strcmp(before, after) ? 3 : 0);
    }
    ck_assert_int_eq(child_status(pid), 0);
    finish();
    fake_agent_stop(&agent);
}
END_TEST

static bool next_agent_knows(void *pid)
{
    return peer_of(&next_agent, *(pid_t *)pid) != NULL;
}

/* The agent may know of the program before the program knows of the agent. */
static bool snapshot_is_asked(void *unused)
{
    (void)unused;
    return snapshot_ask() == SKEIN_OK;
}

START_TEST(a_program_that_closes_everything_stays_attached_over_agents)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    int down[2], up[2];
    ck_assert(pipe(down) == 0 && pipe(up) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        char c = 0;
        start();
        if (skein_wait_attached(support_deadline_ms()) != SKEIN_OK)
            _exit(1);
        for (int fd = 0; fd < 1024; fd++)
            if (fd != down[0] && fd != up[1])
                close(fd);
        SKEIN_INSTANT("before");
        bool good = write(up[1], "x", 1) == 1 && read(down[0], &c, 1) == 1;
        SKEIN_INSTANT("after");
        good = good && open("/dev/null", O_RDONLY) == 0 && wait_until(snapshot_is_asked, NULL, 0);
        skein_stop();
        _exit(good ? 0 : 2);
    }
    char c;
    ck_assert_int_eq(read(up[0], &c, 1), 1);
    fake_agent_stop(&agent);
    fake_agent_init(&next_agent, UINT64_C(1) << 32);
    fake_agent_serve(&next_agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    ck_assert(wait_until(next_agent_knows, &pid, 0));
    struct fake_peer *peer = peer_of(&next_agent, pid);
    ck_assert_int_eq(write(down[1], "x", 1), 1);
    ck_assert_int_eq(child_status(pid), 0);
    ck_assert_uint_eq(peer->hello.has_ring, 1);
    ck_assert(wait_until(next_peer_gone, peer, 0));
    ck_assert_str_eq(peer->reason, "asked");
    decode(peer);
    ck_assert_uint_eq(decoded_count(&decoded, "before"), 1);
    ck_assert_uint_eq(decoded_count(&decoded, "after"), 1);
    finish();
    fake_agent_stop(&next_agent);
}
END_TEST

/* The values of a line of all threads' status. */
static int threads_with(const char *line)
{
    int count = 0;
    DIR *folder_of_threads = opendir("/proc/self/task");
    struct dirent *entry;
    while ((entry = readdir(folder_of_threads)) != NULL) {
        char name[300], text[4096];
        snprintf(name, sizeof name, "/proc/self/task/%.20s/status", entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(name, "r");
        size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
        text[n] = '\0';
        count += strstr(text, line) != NULL;
        if (file)
            fclose(file);
    }
    closedir(folder_of_threads);
    return count;
}

START_TEST(the_visitor_has_no_capability_and_takes_no_signal)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    pid_t pid = fork();
    if (pid == 0) {
        start();
        if (skein_wait_attached(support_deadline_ms()) != SKEIN_OK)
            _exit(1);
        if (threads_with("Name:\tskein\n") != 1 || threads_with("Threads:\t2\n") != 2)
            _exit(2);
        if (threads_with("SigBlk:\tfffffffe7ffbfeff\n") +
                threads_with("SigBlk:\tfffffffffffbfeff\n") !=
            1)
            _exit(3);
        if (geteuid() == 0 && threads_with("CapEff:\t0000000000000000\n") != 1)
            _exit(4);
        _exit(threads_with("NoNewPrivs:\t1\n") >= 1 ? 0 : 5);
    }
    ck_assert_int_eq(child_status(pid), 0);
    finish();
    fake_agent_stop(&agent);
}
END_TEST

static uint64_t slack_of(pid_t tid)
{
    char name[64], text[32] = "";
    snprintf(name, sizeof name, "/proc/%d/timerslack_ns", tid);
    FILE *file = fopen(name, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
    fclose(file);
    return strtoull(text, NULL, 10);
}

static bool visitor_has_slack(void *context)
{
    pid_t *tid = context;
    return slack_of(*tid) > 1000000;
}

/* The thread of this process that is not the first. */
static pid_t visitor_tid(void)
{
    pid_t tid = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        pid_t number = (pid_t)strtol(entry->d_name, NULL, 10);
        if (number != 0 && number != getpid())
            tid = number;
    }
    closedir(tasks);
    return tid;
}

/* Who waits for it, as at the program's end, would wait as much longer. While it stays it shares
 * others' wake-ups. */
START_TEST(a_visitor_that_waits_for_an_agent_is_punctual)
{
    if (geteuid() != 0) /* the kernel tells it root alone */
        return;
    setup_path();
    fake_agent_init(&agent, 7);
    agent.mute = true;
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    ck_assert(wait_until(agent_knows_us, NULL, 0));
    pid_t tid = visitor_tid();
    ck_assert_uint_eq(slack_of(tid), slack_of(getpid()));
    skein_stop();
    fake_agent_stop(&agent);
    fake_agent_init(&next_agent, 7);
    fake_agent_serve(&next_agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    tid = visitor_tid();
    ck_assert(wait_until(visitor_has_slack, &tid, 0));
    finish();
    fake_agent_stop(&next_agent);
}
END_TEST

/* It would have been here within 200 ms. */
START_TEST(a_start_does_not_wait_for_an_agent_that_answers_late)
{
    setup_path();
    fake_agent_init(&agent, 7);
    agent.late_ms = 150;
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    ck_assert_int_eq(attach_client_now(), SKEIN_TIMEOUT);
    ck_assert(!skein_attached());
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    finish();
    fake_agent_stop(&agent);
}
END_TEST

START_TEST(a_program_that_wants_to_be_alone_is)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    pid_t pid = fork();
    if (pid == 0) {
        start();
        if (skein_wait_attached(support_deadline_ms()) != SKEIN_OK)
            _exit(1);
        SKEIN_INSTANT("with");
        attach_client_hold();
        bool alone = threads_with("Threads:\t1\n") == 1;
        /* Refused to a process of two threads; where root may not do it either, EPERM. */
        bool allowed = unshare(CLONE_NEWUSER) == 0 || errno != EINVAL;
        SKEIN_INSTANT("without");
        attach_client_release();
        _exit(!alone ? 2 : !allowed ? 3 : skein_attached() ? 0 : 4);
    }
    ck_assert_int_eq(child_status(pid), 0);
    struct fake_peer *peer = peer_of(&agent, pid);
    ck_assert(wait_until(peer_gone, peer, 0));
    ck_assert(peer->left && !peer->bye);
    decode(peer);
    ck_assert_uint_eq(decoded_count(&decoded, "with"), 1);
    ck_assert_uint_eq(decoded_count(&decoded, "without"), 1);
    finish();
    fake_agent_stop(&agent);
}
END_TEST

static bool came_back(void *context)
{
    SKEIN_INSTANT("tick");
    attach_client_event();
    pthread_mutex_lock(&agent.mutex);
    const struct fake_peer *last = &agent.peers[*(unsigned *)context];
    bool back = agent.peer_count > *(unsigned *)context && last->hello.comes_back;
    pthread_mutex_unlock(&agent.mutex);
    return back;
}

START_TEST(the_visitor_comes_back_to_the_same_ring)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    SKEIN_INSTANT("before");
    attach_client_hold();
    attach_client_release();
    unsigned next = agent.peer_count;
    ck_assert(wait_until(came_back, &next, 0));
    ck_assert_int_eq(snapshot_ask(), SKEIN_OK);
    ck_assert(wait_until(snapshot_came, &agent.peers[next], 0));
    SKEIN_INSTANT("after");
    decode(&agent.peers[next]);
    ck_assert_uint_eq(decoded_count(&decoded, "before"), 1);
    ck_assert_uint_eq(decoded_count(&decoded, "after"), 1);
    /* a request does not wait for the visitor's time */
    attach_client_hold();
    attach_client_release();
    ck_assert_int_eq(snapshot_ask(), SKEIN_OK);
    finish();
    fake_agent_stop(&agent);
}
END_TEST

static bool has_left(void *peer)
{
    pthread_mutex_lock(&agent.mutex);
    bool left = ((struct fake_peer *)peer)->left;
    pthread_mutex_unlock(&agent.mutex);
    return left;
}

/* To the agent it has come back, though it does not know: unless it says that it leaves, it has
 * ended, and gets another ring. */
START_TEST(a_visitor_that_is_sent_away_as_it_comes_says_so)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    attach_client_leave();
    pthread_mutex_lock(&agent.mutex);
    unsigned next = agent.peer_count;
    agent.mute = true;
    pthread_mutex_unlock(&agent.mutex);
    ck_assert(wait_until(came_back, &next, 0));
    attach_client_leave();
    ck_assert(wait_until(has_left, &agent.peers[next], 0));
    finish();
    fake_agent_stop(&agent);
}
END_TEST

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t due_at_ns(void)
{
    int64_t due = attach_client_due_ns();
    return due < 0 ? 0 : (uint64_t)due + now_ns();
}

static bool here_by_event(void *unused)
{
    (void)unused;
    attach_client_leave(); /* and is not let in, but in the end */
    SKEIN_INSTANT("tick");
    attach_client_event();
    return threads_with("Threads:\t1\n") != 1;
}

/* No agent is there, and the process is to be recorded at once: the visitor tries, and tries again. */
START_TEST(who_counts_its_threads_is_left_alone_until_it_has)
{
    enum { LEFT_ALONE_NS = 40000000 };
    setup_path();
    pid_t pid = fork();
    if (pid == 0) {
        start();
        uint64_t before = now_ns();
        attach_client_leave();
        if (due_at_ns() < before + LEFT_ALONE_NS)
            _exit(1);
        usleep(20000);
        before = now_ns();
        attach_client_leave(); /* though it is away */
        if (due_at_ns() < before + LEFT_ALONE_NS && threads_with("Threads:\t1\n") == 1)
            _exit(2);
        _exit(wait_until(here_by_event, NULL, 0) ? 0 : 3);
    }
    ck_assert_int_eq(child_status(pid), 0);
}
END_TEST

static bool attached_by_event(void *unused)
{
    (void)unused;
    SKEIN_INSTANT("event");
    return skein_attached();
}

static bool attached_now(void *unused)
{
    (void)unused;
    return skein_attached();
}

START_TEST(a_young_process_costs_nothing_and_an_older_one_attaches_at_its_next_event)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    setenv("SKEIN_SOCKET", path, 1);
    pid_t pid = fork();
    if (pid == 0) {
        if (start_when_old(NULL, 60000) != SKEIN_OK)
            _exit(1);
        SKEIN_INSTANT("event");
        _exit(threads_with("Threads:\t1\n") == 1 && attach_client_due_ns() > 0 ? 0 : 2);
    }
    ck_assert_int_eq(child_status(pid), 0);
    ck_assert_ptr_null(peer_of(&agent, pid));
    pid = fork();
    if (pid == 0) {
        if (start_when_old(NULL, 60000) != SKEIN_OK)
            _exit(1);
        attach_client_block(1000000); /* soon over */
        bool early = threads_with("Threads:\t1\n") != 1;
        attach_client_block(INT64_MAX);
        _exit(early ? 2 : wait_until(attached_now, NULL, 0) ? 0 : 3);
    }
    ck_assert_int_eq(child_status(pid), 0);
    pid = fork();
    if (pid == 0)
        _exit(start_when_old(NULL, 20) == SKEIN_OK && wait_until(attached_by_event, NULL, 0) ? 0
                                                                                             : 1);
    ck_assert_int_eq(child_status(pid), 0);
    ck_assert_ptr_nonnull(peer_of(&agent, pid));
    finish();
    fake_agent_stop(&agent);
}
END_TEST

/* What a server does that forks for each client: one event, and the next fork. */
static void client_serve(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    if (waitpid(pid, NULL, 0) == pid)
        attach_client_event();
}

static bool attached_between_forks(void *unused)
{
    client_serve();
    return attached_now(unused);
}

static bool came_back_between_forks(void *next)
{
    client_serve();
    pthread_mutex_lock(&agent.mutex);
    bool back = agent.peer_count > *(unsigned *)next;
    pthread_mutex_unlock(&agent.mutex);
    return back;
}

START_TEST(who_forks_all_the_time_is_recorded_and_comes_back)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    setenv("SKEIN_SOCKET", path, 1);
    pid_t pid = fork();
    if (pid == 0)
        _exit(start_when_old(NULL, 20) != SKEIN_OK           ? 1
              : !wait_until(attached_between_forks, NULL, 0) ? 2
                                                             : 0);
    ck_assert_int_eq(child_status(pid), 0);
    ck_assert_ptr_nonnull(peer_of(&agent, pid));
    start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    attach_client_leave();
    unsigned next = agent.peer_count;
    ck_assert(wait_until(came_back_between_forks, &next, 0));
    finish();
    fake_agent_stop(&agent);
}
END_TEST

/* As a daemon does it: no traced call between the forks, signals blocked before the second. */
START_TEST(the_grandchild_of_a_double_fork_is_recorded)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        if (fork() == 0) {
            pid_t self = wait_until(attached_by_event, NULL, 0) ? getpid() : -1;
            SKEIN_INSTANT("grandchild");
            _exit(write(ends[1], &self, sizeof self) == (ssize_t)sizeof self ? 0 : 1);
        }
        _exit(0);
    }
    ck_assert_int_eq(child_status(pid), 0);
    pid_t grandchild = -1;
    ck_assert_int_eq(read(ends[0], &grandchild, sizeof grandchild), (ssize_t)sizeof grandchild);
    ck_assert_int_gt(grandchild, 0);
    decode(peer_of(&agent, grandchild));
    ck_assert_uint_eq(decoded_count(&decoded, "grandchild"), 1);
    finish();
    fake_agent_stop(&agent);
}
END_TEST

START_TEST(nothing_comes_to_a_program_that_has_barred_system_calls)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    setenv("SKEIN_SOCKET", path, 1);
    pid_t pid = fork();
    if (pid == 0) {
        if (start_when_old(NULL, 60000) != SKEIN_OK)
            _exit(1);
        attach_client_hold();
        attach_client_bar(); /* attaches while it still can */
        attach_client_release();
        SKEIN_INSTANT("inside");
        bool alone = threads_with("Threads:\t1\n") == 1;
        _exit(!skein_attached()                      ? 2
              : !alone                               ? 3
              : skein_snapshot("no") != SKEIN_CLOSED ? 4
              : attach_client_due_ns() != -1         ? 5
                                                     : 0);
    }
    ck_assert_int_eq(child_status(pid), 0);
    decode(peer_of(&agent, pid));
    ck_assert_uint_eq(decoded_count(&decoded, "inside"), 1);
    finish();
    fake_agent_stop(&agent);
}
END_TEST

static int bar_twice(void *context)
{
    (void)context;
    attach_client_hold();
    bool first = attach_client_bar(), again = attach_client_bar();
    attach_client_release();
    return first && !again && attach_client_is_barred() ? 7 : 8;
}

/* As vfork() makes it. */
START_TEST(a_filter_of_a_child_in_our_memory_bars_us_only_until_it_is_gone)
{
    static char memory[1 << 16] __attribute__((aligned(16)));
    setup_path();
    ck_assert_int_eq(start_when_old(NULL, 60000), SKEIN_OK);
    pid_t pid = clone(bar_twice, memory + sizeof memory, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    ck_assert_int_eq(child_status(pid), 7);
    ck_assert(!attach_client_is_barred());
    ck_assert(attach_client_bar()); /* for good, but this filter fails */
    attach_client_unbar();
    ck_assert(!attach_client_is_barred());
    finish();
}
END_TEST

/* While the visitor is being made. */
static int child_of_start;

static void copy_process(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0) {
        attach_client_hold(); /* as setuid() does */
        attach_client_release();
        _exit(7);
    }
    child_of_start = child_status(pid);
}

START_TEST(a_child_that_clone_made_while_the_visitor_was_made_waits_for_nobody)
{
    setup_path();
    const struct start_settings settings = {
        .service = "shop", .labels = "", .socket_path = path, .prepare = copy_process};
    ck_assert_int_eq(start_recording(&settings), SKEIN_OK);
    ck_assert_int_eq(child_of_start, 7);
    finish();
}
END_TEST

START_TEST(wrong_options_are_refused)
{
    char name[200];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    ck_assert_int_eq(
        skein_start(&(struct skein_options){.size = sizeof(struct skein_options), .service = name}),
        SKEIN_INVALID);
    ck_assert_int_eq(skein_start(&(struct skein_options){.size = sizeof(struct skein_options),
                                                         .labels = "zone"}),
                     SKEIN_INVALID);
    ck_assert_int_eq(
        skein_start(&(struct skein_options){.size = sizeof(struct skein_options), .labels = "=a"}),
        SKEIN_INVALID);
    ck_assert(!skein_attached());
    skein_stop();
}
END_TEST

int main(void)
{
    Suite *suite =
        suite_of("attach_client", attaches_says_hello_and_goodbye,
                 a_heartbeat_reaches_the_agent_and_repetitions_are_held_back,
                 an_agent_of_the_first_version_is_sent_no_heartbeat,
                 a_program_that_a_check_runs_records_nothing, attaches_when_an_agent_appears_later,
                 a_ring_survives_its_agent, an_agent_that_wants_no_old_ring_gives_a_new_one,
                 a_fork_child_that_does_not_trace_stays_unknown, wrong_options_are_refused, NULL);
    if (!SKEIN_UNDER_TSAN) { /* which starts no thread in a fork child, and makes vfork a fork */
        TCase *forks = tcase_create("forks");
        tcase_add_test(forks, a_fork_child_that_traces_registers_as_its_own_process);
        tcase_add_test(forks, each_of_a_line_of_children_has_its_own_ring);
        tcase_add_test(forks, a_handler_may_be_what_attaches_a_fork_child);
        tcase_add_test(forks, a_vfork_child_does_no_harm);
        tcase_add_test(forks, no_descriptor_of_the_program_is_ever_taken);
        tcase_add_test(forks, a_program_that_closes_everything_stays_attached_over_agents);
        tcase_add_test(forks, the_visitor_has_no_capability_and_takes_no_signal);
        tcase_add_test(forks, a_program_that_wants_to_be_alone_is);
        tcase_add_test(forks, a_visitor_that_waits_for_an_agent_is_punctual);
        tcase_add_test(forks, a_start_does_not_wait_for_an_agent_that_answers_late);
        tcase_add_test(forks, the_visitor_comes_back_to_the_same_ring);
        tcase_add_test(forks, a_visitor_that_is_sent_away_as_it_comes_says_so);
        tcase_add_test(forks, who_counts_its_threads_is_left_alone_until_it_has);
        tcase_add_test(forks,
                       a_young_process_costs_nothing_and_an_older_one_attaches_at_its_next_event);
        tcase_add_test(forks, who_forks_all_the_time_is_recorded_and_comes_back);
        tcase_add_test(forks, the_grandchild_of_a_double_fork_is_recorded);
        tcase_add_test(forks, nothing_comes_to_a_program_that_has_barred_system_calls);
        tcase_add_test(forks, a_filter_of_a_child_in_our_memory_bars_us_only_until_it_is_gone);
        tcase_add_test(forks, a_child_that_clone_made_while_the_visitor_was_made_waits_for_nobody);
        tcase_set_timeout(forks, 280);
        suite_add_tcase(suite, forks);
    }
    return suite_run(suite);
}
