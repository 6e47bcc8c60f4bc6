/* SPDX-License-Identifier: Apache-2.0
 *
 * What skein-agent captures by itself, as a process: failing checks, rules, crashes, requests of
 * the service.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "agent_daemon.h"
#include "partition.h"

static int listen_health(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", health_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(fd, 1000), 0);
    return fd;
}

static void push_rule(const char *check, unsigned post_ms)
{
    char text[1024];
    snprintf(
        text, sizeof text,
        "{\"command\":\"rules-1\",\"kind\":\"rules\",\"generation\":4,\"rules\":[{\"name\":\"alive\",\"selector\":\"service=redis\","
        "\"enabled\":true,\"when\":{\"health\":{\"every_ms\":20,\"timeout_ms\":500,\"failures\":1,%s}},"
        "\"capture\":{\"pre_ms\":5000,\"post_ms\":%u},\"limits\":{\"cooldown_ms\":60000}}]}",
        check, post_ms);
    ck_assert_uint_ne(fake_command(fake, text), 0);
    FAKE_WAIT(fake, command_acks, 1);
}

/* A rule whose condition is not health. */
static void push_condition(const char *when, uint64_t generation)
{
    char text[1024];
    snprintf(
        text, sizeof text,
        "{\"command\":\"rules-%" PRIu64 "\",\"kind\":\"rules\",\"generation\":%" PRIu64
        ",\"rules\":[{\"name\":\"watch\",\"selector\":\"service=redis\","
        "\"enabled\":true,\"when\":{%s},"
        "\"capture\":{\"pre_ms\":1234,\"post_ms\":0},\"limits\":{\"cooldown_ms\":60000}},"
        "{\"name\":\"nightly\",\"selector\":\"\",\"when\":{\"schedule\":{\"every_ms\":1000}}}]}",
        generation, generation, when);
    struct fake_counters c;
    fake_count(fake, &c);
    ck_assert_uint_ne(fake_command(fake, text), 0);
    FAKE_WAIT(fake, command_acks, c.command_acks + 1);
}

static void push_health_rule(unsigned post_ms)
{
    char check[256];
    snprintf(check, sizeof check, "\"unix\":{\"path\":\"%s\"}", health_path);
    push_rule(check, post_ms);
}

static bool answers(void *context)
{
    const uint16_t *port = context;
    int fd = tcp_connect(*port);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static char *fired_capture(const char *const words[], char capture[ID_TEXT_BYTES])
{
    char *text = fake_wait_report(fake, words), *at = strstr(text, "\"capture\":\"");
    ck_assert_ptr_nonnull(at);
    snprintf(capture, ID_TEXT_BYTES, "%s", at + strlen("\"capture\":\""));
    return text;
}

START_TEST(a_failing_check_is_captured_without_the_collector)
{
    char id[ID_TEXT_BYTES];
    int health = listen_health();
    start_subject();
    wait_attached(id);
    push_health_rule(100);
    free(fake_wait_report(fake, WORDS("\"kind\":\"rule\"", "\"health\":\"passing\"")));
    fake_collector_die(fake);
    close(health);
    fake_collector_live(fake);
    fake_ask_hello(fake);
    char *fired = fake_wait_report(
        fake, WORDS("\"kind\":\"fired\"", "\"trigger\":\"health\"", "\"rule\":\"alive\""));
    ck_assert_ptr_nonnull(strstr(fired, "check unix "));
    free(fired);
    free(fake_wait_report(fake, WORDS("\"kind\":\"target\"", "\"state\":\"uploading\"")));
    free(fake_wait_report(fake,
                          WORDS("\"kind\":\"rule\"", "\"health\":\"failing\"", "\"fired\":1")));
    fake_wait_stored(fake, 1);
    check_partition(0, 1);
}
END_TEST

/* Processes that serve a connection of a forking service: now, the most at once, all so far. */
static const uint32_t *start_forker(uint16_t port)
{
    char text[16], *path = path_join(folder, "counts");
    snprintf(text, sizeof text, "%u", port);
    subject =
        spawn((const char *const[]){AGENT_FORKER, socket_path, "redis", text, folder, NULL}, NULL);
    ck_assert(wait_until(answers, &port, 0));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    const uint32_t *counts = mmap(NULL, 3 * sizeof *counts, PROT_READ, MAP_SHARED, fd, 0);
    ck_assert(counts != MAP_FAILED);
    close(fd);
    free(path);
    return counts;
}

static bool is_zero(void *context)
{
    return __atomic_load_n((const uint32_t *)context, __ATOMIC_RELAXED) == 0;
}

/* A service that forks a process for each connection, and for two seconds answers nobody. */
static void hang_a_forking_service(const char *per, const char *with)
{
    char text[1024], *lock = path_join(folder, "lock");
    uint16_t port = free_port();
    const uint32_t *counts = start_forker(port);
    free(fake_wait_report(
        fake, WORDS("\"kind\":\"processes\"", "\"service\":\"redis\"", "\"state\":\"live\"")));
    ck_assert(wait_until(is_zero, (void *)(uintptr_t)counts, 0));
    snprintf(
        text, sizeof text,
        "{\"command\":\"rules-1\",\"kind\":\"rules\",\"generation\":4,\"rules\":[{\"name\":\"alive\",\"selector\":\"\","
        "\"when\":{\"health\":{\"per\":\"%s\",\"every_ms\":20,\"timeout_ms\":200,\"failures\":100,"
        "\"http\":{\"url\":\"http://127.0.0.1:%u/\"}}},\"capture\":{\"pre_ms\":5000}}]}",
        per, port);
    ck_assert_uint_ne(fake_command(fake, text), 0);
    free(fake_wait_report(fake, WORDS("\"kind\":\"rule\"", "\"health\":\"passing\"")));
    file_write_text(lock, "");
    char *fired = fake_wait_report(fake, WORDS("\"kind\":\"fired\"", "has not answered for", with));
    free(fired);
    ck_assert_uint_eq(__atomic_load_n(&counts[1], __ATOMIC_RELAXED), 1);
    ck_assert_int_eq(unlink(lock), 0);
    free(fake_wait_report(fake,
                          WORDS("\"kind\":\"rule\"", "\"health\":\"passing\"", "\"fired\":1")));
    ck_assert_uint_eq(__atomic_load_n(&counts[1], __ATOMIC_RELAXED), 1);
    free(lock);
}

START_TEST(a_check_of_a_service_that_forks_and_hangs_is_one_connection)
{
    hang_a_forking_service("service", "\"with\":[\"");
}
END_TEST

START_TEST(checks_of_each_process_of_it_are_one_connection_at_a_time)
{
    hang_a_forking_service("process", "\"rule\":\"alive\"");
}
END_TEST

START_TEST(an_exec_check_that_is_too_slow_fails_and_one_that_is_not_allowed_is_not_run)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    push_rule("\"exec\":{\"command\":[\"sleep\",\"30\"]}", 0);
    char *fired = fake_wait_report(fake, WORDS("\"kind\":\"fired\""));
    ck_assert_ptr_nonnull(strstr(fired, "check `sleep 30` did not answer within 500 ms"));
    free(fired);
    push_rule("\"exec\":{\"command\":[\"id\"]}", 0);
    free(fake_wait_report(fake, WORDS("\"kind\":\"rule\"", "\"health\":\"unknown\"",
                                      "not allowed here", "\"fired\":0")));
}
END_TEST

START_TEST(a_service_that_says_it_is_unwell_or_falls_silent_fires)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    push_rule("\"heartbeat\":{\"silent_ms\":500}", 0);
    free(fake_wait_report(fake, WORDS("\"kind\":\"rule\"", "\"health\":\"passing\"")));
    ck_assert_int_eq(kill(subject, SIGUSR2), 0);
    free(fake_wait_report(fake, WORDS("\"kind\":\"fired\"", "\"rule\":\"alive\"",
                                      "the service says that it is not well: the queue is full")));
    ck_assert_int_eq(kill(subject, SIGUSR2), 0);
    free(fake_wait_report(fake, WORDS("\"kind\":\"rule\"", "\"health\":\"failing\"",
                                      "no heartbeat for", "(limit 500 ms)")));
}
END_TEST

START_TEST(memory_over_a_limit_fires_once_also_over_a_restart)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    push_condition("\"memory\":{\"above_bytes\":4096,\"for_ms\":0}", 7);
    char *fired = fake_wait_report(
        fake, WORDS("\"kind\":\"fired\"", "\"trigger\":\"memory\"", "\"pre_ms\":1234"));
    ck_assert_ptr_nonnull(strstr(fired, "memory of the process was at least"));
    ck_assert_ptr_nonnull(strstr(fired, "(limit 4096 bytes); rule watch"));
    free(fired);
    free(fake_wait_report(fake,
                          WORDS("\"kind\":\"rule\"", "\"health\":\"failing\"", "\"fired\":1")));
    ck_assert_int_eq(spawn_stop(agent, SIGTERM, 0), 0);
    start_agent();
    /* It still holds, and its cooldown too. */
    free(fake_wait_report(fake, WORDS("\"kind\":\"rule\"", "\"health\":\"failing\"", "\"fired\":1",
                                      "\"suppressed\":1")));
}
END_TEST

static bool is_there(void *context)
{
    return access(context, F_OK) == 0;
}

/* Between the journal's entry and the write of its cooldown: there the file is as it was before. */
START_TEST(killed_before_it_has_saved_the_cooldown_a_rule_has_fired_once)
{
    char id[ID_TEXT_BYTES], first[ID_TEXT_BYTES], last[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    fake_drop_reports(fake, UINT32_MAX); /* so that the journal keeps them */
    push_condition("\"memory\":{\"above_bytes\":4096,\"for_ms\":0}", 7);
    free(fired_capture(WORDS("\"kind\":\"fired\""), first));
    char *rules = state_path("rules.json");
    ck_assert(wait_until(is_there, rules, 0));
    free(rules);
    ck_assert_int_eq(spawn_stop(agent, SIGKILL, 0), 128 + SIGKILL);
    char *saved = state_path("rules-state.json");
    (void)unlink(saved);
    free(saved);
    fake_drop_reports(fake, 0);
    start_agent();
    free(fake_wait_report(fake, WORDS("\"kind\":\"rule\"", "\"health\":\"failing\"", "\"fired\":1",
                                      "\"suppressed\":1")));
    free(fired_capture(WORDS("\"kind\":\"fired\""), last));
    ck_assert_str_eq(first, last);
}
END_TEST

static void push_change(unsigned base, unsigned generation, const char *put, const char *removed)
{
    char text[1024];
    struct fake_counters c;
    snprintf(text, sizeof text,
             "{\"command\":\"change-%u\",\"kind\":\"rules_change\",\"generation\":%u,\"base\":%u,"
             "\"rules\":[%s],\"removed\":[%s]}",
             generation, generation, base, put, removed);
    fake_count(fake, &c);
    ck_assert_uint_ne(fake_command(fake, text), 0);
    FAKE_WAIT(fake, command_acks, c.command_acks + 1);
}

#define CHANGED(name, selector)                                                                    \
    "{\"name\":\"" name "\",\"selector\":\"" selector "\",\"when\":{\"memory\":{\"above_bytes\":"  \
    "4096,\"for_ms\":0}},\"capture\":{\"pre_ms\":7},\"limits\":{\"cooldown_ms\":60000}}"

/* The rules that stay go on with what they have counted, and a restart knows the changed set. */
START_TEST(a_change_of_the_set_touches_what_it_names_alone)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    push_condition("\"memory\":{\"above_bytes\":4096,\"for_ms\":0}", 7);
    free(fake_wait_report(fake,
                          WORDS("\"rule\":\"watch\"", "\"health\":\"failing\"", "\"fired\":1")));
    push_change(7, 8, CHANGED("more", "service=redis") "," CHANGED("other", "service=mysql"),
                "\"nobody\"");
    free(fake_wait_report(fake, WORDS("\"kind\":\"fired\"", "\"rule\":\"more\"")));
    push_change(8, 10, CHANGED("third", "service=redis"), "\"more\"");
    free(fake_wait_report(fake, WORDS("\"kind\":\"fired\"", "\"rule\":\"third\"")));
    struct fake_counters before, after;
    fake_count(fake, &before);
    push_change(11, 12, CHANGED("fourth", "service=redis"), ""); /* of a set that is not here */
    push_change(2, 9, CHANGED("fourth", "service=redis"), "");   /* that leads back */
    fake_count(fake, &after);
    ck_assert_uint_eq(after.commands_failed, before.commands_failed + 2);
    ck_assert_ptr_null(fake_report(fake, WORDS("\"kind\":\"fired\"", "\"rule\":\"fourth\"")));
    ck_assert_int_eq(spawn_stop(agent, SIGTERM, 0), 0);
    char *path = state_path("rules.json"), *kept = file_read(path, NULL);
    ck_assert_ptr_nonnull(strstr(kept, "\"generation\":10"));
    ck_assert_ptr_nonnull(strstr(kept, "\"watch\""));
    ck_assert_ptr_nonnull(strstr(kept, "\"other\""));
    ck_assert_ptr_nonnull(strstr(kept, "\"third\""));
    ck_assert_ptr_null(strstr(kept, "\"more\""));
    free(kept);
    free(path);
    start_agent();
    free(fake_wait_report(fake, WORDS("\"rule\":\"watch\"", "\"fired\":1", "\"suppressed\":1")));
    free(fake_wait_report(fake, WORDS("\"rule\":\"third\"", "\"fired\":1", "\"suppressed\":1")));
    push_change(10, 11, "", "\"watch\",\"third\",\"other\"");
}
END_TEST

START_TEST(a_rule_for_crashes_takes_the_place_of_the_default)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    push_condition("\"crash\":{}", 8);
    ck_assert_int_eq(spawn_stop(subject, SIGKILL, 0), 128 + SIGKILL);
    subject = 0;
    free(fake_wait_report(fake,
                          WORDS("\"kind\":\"fired\"", "\"trigger\":\"crash\"",
                                "killed by signal 9 (SIGKILL); rule watch", "\"pre_ms\":1234")));
    fake_wait_stored(fake, 1);
    ck_assert_ptr_null(fake_report(fake, WORDS("\"kind\":\"fired\"", "\"pre_ms\":30000")));
}
END_TEST

START_TEST(a_rule_for_snapshots_decides_by_the_reason)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    push_condition("\"application\":{\"match\":\"^something else\"}", 8);
    ck_assert_int_eq(kill(subject, SIGUSR1), 0);
    ck_assert(wait_until(log_says, (char[]){"matches no rule"}, 0));
    push_condition("\"application\":{\"match\":\"^the test\"}", 9);
    ck_assert_int_eq(kill(subject, SIGUSR1), 0);
    free(fake_wait_report(fake, WORDS("\"kind\":\"fired\"", "\"trigger\":\"application\"",
                                      "\"rule\":\"watch\"", "the test asked; rule watch")));
    ck_assert_ptr_null(fake_report(fake, WORDS("\"kind\":\"fired\"", "\"pre_ms\":10000")));
}
END_TEST

START_TEST(rules_are_in_force_after_a_restart_without_a_collector)
{
    char id[ID_TEXT_BYTES];
    int health = listen_health();
    start_subject();
    wait_attached(id);
    push_health_rule(0);
    free(fake_wait_report(fake, WORDS("\"kind\":\"rule\"", "\"health\":\"passing\"")));
    ck_assert_int_eq(spawn_stop(agent, SIGTERM, 0), 0);
    fake_collector_die(fake);
    start_agent();
    close(health);
    /* The collector comes back knowing nothing; nothing is pushed to the agent. */
    fake_collector_live(fake);
    free(fake_wait_report(fake, WORDS("\"kind\":\"fired\"", "\"rule\":\"alive\"")));
    fake_wait_stored(fake, 1);
}
END_TEST

START_TEST(a_crash_is_captured_with_the_signal)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    ck_assert_int_eq(spawn_stop(subject, SIGKILL, 0), 128 + SIGKILL);
    subject = 0;
    free(fake_wait_report(fake, WORDS("\"kind\":\"fired\"", "\"trigger\":\"crash\"")));
    free(fake_wait_report(
        fake, WORDS("\"kind\":\"target\"", "\"state\":\"uploading\"", "\"death\":{\"signal\":9")));
    fake_wait_stored(fake, 1);
    check_partition(0, 1);
}
END_TEST

static void exit_once(void)
{
    subject = spawn((const char *const[]){AGENT_SUBJECT, socket_path, "redis", "exit", NULL}, NULL);
    ck_assert_int_eq(spawn_wait(subject, 0), 3);
    subject = 0;
}

START_TEST(an_exit_with_another_status_than_0_is_captured_as_a_crash)
{
    FAKE_WAIT(fake, hellos, 1);
    exit_once();
    free(fake_wait_report(
        fake, WORDS("\"kind\":\"fired\"", "\"trigger\":\"crash\"", "ended with status 3")));
    free(fake_wait_report(fake, WORDS("\"kind\":\"target\"", "\"state\":\"uploading\"",
                                      "\"death\":{\"signal\":0,\"status\":3}")));
    fake_wait_stored(fake, 1);
    check_partition(0, 1);
}
END_TEST

START_TEST(a_crash_rule_may_leave_exits_out)
{
    FAKE_WAIT(fake, hellos, 1);
    push_condition("\"crash\":{\"exit\":false}", 8);
    exit_once();
    free(fake_wait_report(fake, WORDS("\"kind\":\"processes\"", "\"state\":\"gone\"")));
    ck_assert_ptr_null(fake_report(fake, WORDS("\"kind\":\"fired\"")));
}
END_TEST

static bool log_says_held(void)
{
    return log_says((char[]){"a failing end that is no service's: not captured"});
}

static void child_exit_once(void)
{
    subject =
        spawn((const char *const[]){AGENT_SUBJECT, socket_path, "redis", "child", NULL}, NULL);
    ck_assert_int_eq(spawn_wait(subject, 0), 0);
    subject = 0;
}

/* Where much else is at work, a child may take more than the second that makes it a service. */
START_TEST(a_brief_child_that_fails_is_no_crash)
{
    FAKE_WAIT(fake, hellos, 1);
    for (int i = 0; i < 20 && !log_says_held(); i++)
        child_exit_once();
    ck_assert(wait_until(log_says, (char[]){"a failing end that is no service's"}, 0));
    ck_assert(log_says((char[]){"it was not started as the service, and lived for less than"}));
    exit_once(); /* the service itself counts, however brief it is */
    free(fake_wait_report(
        fake, WORDS("\"kind\":\"fired\"", "\"trigger\":\"crash\"", "ended with status 3")));
    fake_wait_stored(fake, 1);
}
END_TEST

START_TEST(a_crash_rule_says_why_a_brief_child_does_not_fire_it)
{
    FAKE_WAIT(fake, hellos, 1);
    push_condition("\"crash\":{}", 8);
    bool told = false;
    for (int i = 0; i < 20 && !told; i++) {
        child_exit_once();
        char *report = fake_report(
            fake, WORDS("\"kind\":\"rule\"", "\"suppressed\":1",
                        "\"held\":\"the process ended with status 3: it was not started as "
                        "the service, and lived for less than a second\""));
        told = report != NULL;
        free(report);
    }
    if (!told) /* the last one's is on its way */
        free(fake_wait_report(fake, WORDS("\"kind\":\"rule\"", "\"held\":\"")));
}
END_TEST

#define CRASHES 4

static bool log_says_often(void *context)
{
    char *log = path_join(folder, "agent.log"), *text = file_read(log, NULL);
    size_t count = 0;
    for (const char *at = text; at != NULL && (at = strstr(at, context)) != NULL; at++)
        count++;
    free(text);
    free(log);
    return count >= CRASHES - 1;
}

static void crash_once(const char *program)
{
    const char *const words[] = {program, socket_path, "redis", "abort", NULL};
    subject = spawn(words, NULL);
    ck_assert_int_eq(spawn_wait(subject, 0), 128 + SIGABRT);
    subject = 0;
}

/* By the program, not by the process; also over a restart of the agent. */
START_TEST(a_service_that_crashes_again_and_again_is_captured_once)
{
    char first[ID_TEXT_BYTES], last[ID_TEXT_BYTES];
    for (int i = 0; i < CRASHES; i++) {
        crash_once(AGENT_SUBJECT);
        if (i == 0)
            free(fired_capture(WORDS("\"kind\":\"fired\"", "\"trigger\":\"crash\""), first));
        if (i == CRASHES / 2) {
            ck_assert_int_eq(spawn_stop(agent, SIGTERM, 0), 0);
            start_agent();
        }
    }
    ck_assert(wait_until(log_says_often, (char[]){"crash within the cooldown: not captured"}, 0));
    free(fired_capture(WORDS("\"kind\":\"fired\""), last));
    ck_assert_str_eq(first, last);
    /* Another program of the same service is another matter. */
    char *other = path_join(folder, "other");
    size_t n;
    char *bytes = file_read(AGENT_SUBJECT, &n);
    file_write(other, bytes, n);
    ck_assert_int_eq(chmod(other, 0700), 0);
    crash_once(other);
    free(fired_capture(WORDS("\"kind\":\"fired\"", "/other\""), last));
    ck_assert_str_ne(first, last);
    free(bytes);
    free(other);
}
END_TEST

static bool partition_has(size_t n, const char *type)
{
    struct partition_key key;
    struct partition_footer footer;
    size_t bytes = 0, need;
    bool found = false;
    const uint8_t *data = fake_partition(fake, n, &bytes, &key);
    ck_assert_ptr_nonnull(data);
    ck_assert_int_eq(partition_footer_get(data, bytes, &footer, &need), SKEIN_OK);
    for (size_t i = 0; i < footer.type_count; i++)
        found = found || strcmp(footer.types[i].name, type) == 0;
    ck_assert_uint_ge(footer.window_to_ns, footer.to_ns);
    partition_footer_free(&footer);
    return found;
}

/* Agents that have just started know their clocks the least. */
START_TEST(the_last_record_before_an_abort_is_in_the_capture)
{
    for (size_t i = 0; i < 12; i++) {
        if (i % 4 == 0) {
            FAKE_WAIT(fake, hellos, i / 4 + 1); /* it has begun */
            ck_assert_int_eq(spawn_stop(agent, SIGTERM, 0), 0);
            write_config(",\"crash\":{\"cooldown_ms\":0}");
            start_agent();
        }
        crash_once(AGENT_SUBJECT);
        fake_wait_stored(fake, i + 1);
        ck_assert_msg(partition_has(i, "the end"), "crash %zu", i);
    }
}
END_TEST

START_TEST(a_normal_end_is_not_captured)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    ck_assert_int_eq(spawn_stop(subject, SIGTERM, 0), 0);
    subject = 0;
    free(fake_wait_report(fake, WORDS("\"kind\":\"processes\"", "\"processes\":[]")));
    ck_assert_ptr_null(fake_report(fake, WORDS("\"kind\":\"fired\"")));
}
END_TEST

START_TEST(a_service_can_ask_for_a_snapshot)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    ck_assert_int_eq(kill(subject, SIGUSR1), 0);
    free(fake_wait_report(
        fake, WORDS("\"kind\":\"fired\"", "\"trigger\":\"application\"", "the test asked")));
    fake_wait_stored(fake, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_rules");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, agent_setup, agent_teardown);
    tcase_set_timeout(tc, 280);
    tcase_add_test(tc, a_failing_check_is_captured_without_the_collector);
    tcase_add_test(tc, a_check_of_a_service_that_forks_and_hangs_is_one_connection);
    tcase_add_test(tc, checks_of_each_process_of_it_are_one_connection_at_a_time);
    tcase_add_test(tc, an_exec_check_that_is_too_slow_fails_and_one_that_is_not_allowed_is_not_run);
    tcase_add_test(tc, a_service_that_says_it_is_unwell_or_falls_silent_fires);
    tcase_add_test(tc, memory_over_a_limit_fires_once_also_over_a_restart);
    tcase_add_test(tc, killed_before_it_has_saved_the_cooldown_a_rule_has_fired_once);
    tcase_add_test(tc, a_change_of_the_set_touches_what_it_names_alone);
    tcase_add_test(tc, a_rule_for_crashes_takes_the_place_of_the_default);
    tcase_add_test(tc, a_rule_for_snapshots_decides_by_the_reason);
    tcase_add_test(tc, rules_are_in_force_after_a_restart_without_a_collector);
    tcase_add_test(tc, a_crash_is_captured_with_the_signal);
    tcase_add_test(tc, an_exit_with_another_status_than_0_is_captured_as_a_crash);
    tcase_add_test(tc, a_crash_rule_may_leave_exits_out);
    tcase_add_test(tc, a_brief_child_that_fails_is_no_crash);
    tcase_add_test(tc, a_crash_rule_says_why_a_brief_child_does_not_fire_it);
    tcase_add_test(tc, a_service_that_crashes_again_and_again_is_captured_once);
    tcase_add_test(tc, the_last_record_before_an_abort_is_in_the_capture);
    tcase_add_test(tc, a_normal_end_is_not_captured);
    tcase_add_test(tc, a_service_can_ask_for_a_snapshot);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
