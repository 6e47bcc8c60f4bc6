/* SPDX-License-Identifier: Apache-2.0
 *
 * Attaching through the agent's socket: now, later, again after the agent died, in fork children,
 * and the requests that go the same way.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_agent.h"
#include "ring_decode.h"
#include "skein/skein.h"
#include "skein_atomic.h"
#include "support.h"

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
    ck_assert_uint_eq(peer->heartbeat.ok, 0);
    ck_assert_uint_lt(peer->heartbeats, 50000);
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
    ck_assert(!peer_is_gone(&agent, parent));
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

START_TEST(a_handler_in_a_fork_child_starts_no_thread)
{
    setup_path();
    fake_agent_init(&agent, 7);
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 1 << 20);
    start();
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    signal(SIGUSR1, trace_in_handler);
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGUSR1);
        uint64_t armed = skein_control_page->gate;
        SKEIN_INSTANT("ordinary");
        _exit(armed && !skein_control_page->session ? 0 : 1);
    }
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
        tcase_add_test(forks, a_handler_in_a_fork_child_starts_no_thread);
        tcase_add_test(forks, a_vfork_child_does_no_harm);
        tcase_set_timeout(forks, 100);
        suite_add_tcase(suite, forks);
    }
    return suite_run(suite);
}
