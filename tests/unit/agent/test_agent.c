/* SPDX-License-Identifier: Apache-2.0
 *
 * skein-agent as a process, with a real service and a collector that misbehaves.
 */
#include "agent.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "agent_daemon.h"
#include "clock.h"
#include "json.h"
#include "partition.h"
#include "spool_file.h"

static const char capture_a[] = "0123456789abcdef0123456789abcdef";

static const char capture_b[] = "b123456789abcdef0123456789abcdef";

START_TEST(a_capture_on_command_is_uploaded_and_reported)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    command_capture(capture_a, id, 0);
    free(
        fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_a, "\"state\":\"uploading\"")));
    fake_wait_stored(fake, 1);
    check_partition(0, 1);
    command_capture(capture_a, id, 0); /* repeated: only acknowledged */
    FAKE_WAIT(fake, command_acks, 2);
    struct fake_counters c;
    fake_count(fake, &c);
    ck_assert_uint_eq(c.stored, 1);
}
END_TEST

/* Its clock is an hour behind, which it knows with the answer to its HELLO. */
START_TEST(the_first_command_is_by_the_collectors_clock)
{
    const uint64_t hour_ns = UINT64_C(3600000000000);
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    ck_assert_int_eq(spawn_stop(agent, SIGTERM, 0), 0);
    fake_clock_offset(fake, (int64_t)hour_ns);
    struct fake_counters c;
    fake_count(fake, &c);
    start_agent();
    FAKE_WAIT(fake, hellos, c.hellos + 1);
    command_capture_at(capture_a, id, 0, clock_realtime_ns() + hour_ns);
    free(fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_a, "\"state\":\"uploading\"",
                                      "\"clock_offset_ns\":3", "\"clock_error_ns\":")));
    fake_wait_stored(fake, 1);
}
END_TEST

static uint64_t sum_of(const cJSON *list, const char *key)
{
    uint64_t sum = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
        sum += (uint64_t)cJSON_GetObjectItem(item, key)->valuedouble;
    return sum;
}

START_TEST(captures_that_overlap_list_the_same_partitions)
{
    char id[ID_TEXT_BYTES], why[160];
    start_subject();
    wait_attached(id);
    command_capture(capture_a, id, 0);
    fake_wait_stored(fake, 1);
    command_capture(capture_b, id, 0);
    char *text =
        fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_b, "\"state\":\"uploading\""));
    cJSON *root = json_parse(text, strlen(text), why, sizeof why);
    const cJSON *list = cJSON_GetObjectItem(root, "partitions");
    ck_assert_uint_eq(sum_of(list, "first"), 0); /* also that of the first capture */
    struct fake_counters c;
    unsigned partitions = (unsigned)sum_of(list, "last") + 1;
    fake_wait_stored(fake, partitions);
    fake_count(fake, &c);
    ck_assert_uint_eq(c.stored, partitions);
    cJSON_Delete(root);
    free(text);
}
END_TEST

START_TEST(an_unknown_process_is_reported_as_failed)
{
    FAKE_WAIT(fake, heartbeats, 1);
    command_capture(capture_a, "ffffffffffffffffffffffffffffffff", 0);
    free(fake_wait_report(
        fake, WORDS("\"kind\":\"target\"", capture_a, "\"state\":\"failed\"", "not attached")));
}
END_TEST

START_TEST(stop_ends_the_post_window_at_once)
{
    char id[ID_TEXT_BYTES], text[256];
    start_subject();
    wait_attached(id);
    command_capture(capture_a, id, 3600000);
    free(
        fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_a, "\"state\":\"capturing\"")));
    snprintf(text, sizeof text, "{\"command\":\"s\",\"kind\":\"stop\",\"capture\":\"%s\"}",
             capture_a);
    fake_command(fake, text);
    free(
        fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_a, "\"state\":\"uploading\"")));
    fake_wait_stored(fake, 2);
}
END_TEST

struct stored_check {
    cJSON *report;
};

/* Whether every partition that the report lists is stored. */
static bool all_stored(void *context)
{
    struct stored_check *check = context;
    const cJSON *item;
    struct partition_key key;
    ck_assert_int_eq(
        id_parse(cJSON_GetObjectItem(check->report, "process")->valuestring, key.process.bytes),
        SKEIN_OK);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(check->report, "partitions")) {
        key.epoch = (uint64_t)cJSON_GetObjectItem(item, "epoch")->valuedouble;
        uint64_t last = (uint64_t)cJSON_GetObjectItem(item, "last")->valuedouble;
        key.sequence = (uint64_t)cJSON_GetObjectItem(item, "first")->valuedouble;
        for (; key.sequence <= last; key.sequence++)
            if (!fake_has_partition(fake, &key))
                return false;
    }
    return true;
}

static void wait_capture_stored(const char *capture)
{
    char *text =
        fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture, "\"state\":\"uploading\""));
    char why[160];
    struct stored_check check = {json_parse(text, strlen(text), why, sizeof why)};
    ck_assert_int_gt(cJSON_GetArraySize(cJSON_GetObjectItem(check.report, "partitions")), 0);
    ck_assert(wait_until(all_stored, &check, 0));
    cJSON_Delete(check.report);
    free(text);
}

#define CAPTURES 6

static void command_captures(const char *process)
{
    for (unsigned i = 0; i < CAPTURES; i++) {
        char capture[ID_TEXT_BYTES];
        snprintf(capture, sizeof capture, "%032x", i + 1);
        command_capture(capture, process, 0);
    }
}

START_TEST(killed_in_the_middle_of_uploads_it_loses_and_repeats_nothing)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    for (unsigned kill_after = 1; kill_after <= 3; kill_after++) {
        fake_hold_acks(fake, true);
        command_captures(id);
        fake_wait_stored(fake, kill_after);
        ck_assert_int_eq(spawn_stop(agent, SIGKILL, 0), 128 + SIGKILL);
        fake_hold_acks(fake, false);
        struct fake_counters c;
        fake_count(fake, &c);
        start_agent();
        FAKE_WAIT(fake, hellos, c.hellos + 1);
        command_captures(id); /* as P-7 says after a HELLO */
        for (unsigned i = 0; i < CAPTURES; i++) {
            char capture[ID_TEXT_BYTES];
            snprintf(capture, sizeof capture, "%032x", i + 1);
            wait_capture_stored(capture);
        }
    }
    struct fake_counters c;
    fake_count(fake, &c);
    ck_assert_uint_eq(c.checksum_failures, 0);
}
END_TEST

/* Nobody keeps rings: the place of the holder's socket is taken. */
static void start_agent_without_holder(void)
{
    char *state = path_join(folder, "state"), *path = path_join(state, "holder.2.sock");
    ck_assert_int_eq(spawn_stop(agent, SIGKILL, 0), 128 + SIGKILL);
    (void)mkdir(state, 0700); /* it may not have come so far */
    (void)unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    free(path);
    free(state);
    start_agent();
}

START_TEST(a_capture_interrupted_between_two_cuts_ends_with_a_gap_where_no_ring_was_kept)
{
    char id[ID_TEXT_BYTES];
    start_agent_without_holder();
    start_subject();
    wait_attached(id);
    const uint64_t at_ns = clock_realtime_ns();
    command_capture_at(capture_a, id, 3600000, at_ns);
    free(
        fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_a, "\"state\":\"capturing\"")));
    ck_assert_int_eq(spawn_stop(agent, SIGKILL, 0), 128 + SIGKILL);
    ck_assert_int_eq(spawn_stop(subject, SIGKILL, 0), 128 + SIGKILL);
    subject = 0;
    struct fake_counters c;
    fake_count(fake, &c);
    start_agent();
    FAKE_WAIT(fake, hellos, c.hellos + 1);
    command_capture_at(capture_a, id, 3600000, at_ns);
    char *report = fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_a,
                                                "\"state\":\"uploading\"", "agent_restarted"));
    ck_assert_msg(strstr(report, "\"epoch\":2") == NULL, "%s", report);
    free(report);
    wait_capture_stored(capture_a);
}
END_TEST

/* The agent is killed between two cuts, and the service while no agent is there. */
START_TEST(a_capture_of_a_process_that_died_with_its_agent_is_whole)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    const uint64_t at_ns = clock_realtime_ns();
    command_capture_at(capture_a, id, 3600000, at_ns);
    free(
        fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_a, "\"state\":\"capturing\"")));
    ck_assert_int_eq(spawn_stop(agent, SIGKILL, 0), 128 + SIGKILL);
    ck_assert_int_eq(spawn_stop(subject, SIGKILL, 0), 128 + SIGKILL);
    subject = 0;
    struct fake_counters c;
    fake_count(fake, &c);
    start_agent();
    FAKE_WAIT(fake, hellos, c.hellos + 1);
    command_capture_at(capture_a, id, 3600000, at_ns);
    char *report =
        fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_a, "\"state\":\"uploading\""));
    ck_assert_msg(strstr(report, "agent_restarted") == NULL, "%s", report);
    ck_assert_msg(strstr(report, "ring_released") == NULL, "%s", report);
    ck_assert_msg(strstr(report, "\"epoch\":1") == NULL, "%s", report);
    ck_assert_msg(strstr(report, "\"signal\":9") != NULL, "%s", report);
    free(report);
    wait_capture_stored(capture_a);
}
END_TEST

static void command_stream(const char *capture, const char *process, unsigned stream_ms)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"command\":\"s-%s\",\"kind\":\"capture\",\"capture\":\"%s\",\"at_ns\":\"%" PRIu64
             "\",\"pre_ms\":5000,\"post_ms\":3600000,\"stream_ms\":%u,\"processes\":[\"%s\"]}",
             capture, capture, clock_realtime_ns(), stream_ms, process);
    ck_assert_uint_ne(fake_command(fake, text), 0);
}

/* Events of the first n stored partitions, and of all that are stored where there are fewer. */
static uint64_t events_stored(size_t n)
{
    uint64_t events = 0;
    for (size_t i = 0; i < n; i++) {
        size_t bytes = 0, need;
        struct partition_key key;
        struct partition_footer footer;
        const uint8_t *data = fake_partition(fake, i, &bytes, &key);
        if (data == NULL)
            break;
        ck_assert_int_eq(partition_footer_get(data, bytes, &footer, &need), SKEIN_OK);
        events += footer.events;
        partition_footer_free(&footer);
    }
    return events;
}

/* The final report of the stream: one range of at least n partitions, whose events are stored. */
static void check_stream(const char *capture, double n)
{
    char why[160];
    char *text =
        fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture, "\"state\":\"uploading\""));
    cJSON *root = json_parse(text, strlen(text), why, sizeof why);
    const cJSON *list = cJSON_GetObjectItem(root, "partitions");
    ck_assert_int_eq(cJSON_GetArraySize(list), 1);
    ck_assert_double_ge(cJSON_GetObjectItem(list->child, "last")->valuedouble, n - 1);
    wait_capture_stored(capture);
    ck_assert_double_eq(cJSON_GetObjectItem(list->child, "events")->valuedouble,
                        (double)events_stored(SIZE_MAX));
    ck_assert_double_eq(
        cJSON_GetObjectItem(cJSON_GetObjectItem(root, "ledger"), "events")->valuedouble,
        (double)events_stored(SIZE_MAX));
    cJSON_Delete(root);
    free(text);
}

/* A pace is a thousand records of the paced subject, two thirds of a big chunk. Its ring has 26 of
 * those, and is cut once 14 have been begun since the last cut: that is after 20 paces, and it is full
 * after 36. */
#define PACE       1000
#define PACES      150
#define PACES_NEAR 26 /* that are in no cut: then one is due, and nothing is overwritten */

/* Events of the partitions that the agent keeps until their capture is over. */
static uint64_t events_kept(void)
{
    uint64_t events = 0;
    char *spool = state_path("spool");
    DIR *list = opendir(spool);
    ck_assert_ptr_nonnull(list);
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
        size_t n = 0;
        struct spool_head head = {.events = 0};
        char *path = path_join(spool, entry->d_name);
        char *bytes = strncmp(entry->d_name, "p-", 2) == 0 ? file_read(path, &n) : NULL;
        if (bytes != NULL)
            ck_assert_int_eq(spool_head_get((const uint8_t *)bytes, n, &head), SKEIN_OK);
        events += head.events;
        free(bytes);
        free(path);
    }
    closedir(list);
    free(spool);
    return events;
}

static bool is_near(void *written)
{
    return *(const uint64_t *)written - events_kept() <= PACES_NEAR * PACE;
}

/* Gaps behind `at_ns`. */
static void check_no_gap(const char *report, uint64_t at_ns)
{
    char why[160];
    cJSON *json = json_parse(report, strlen(report), why, sizeof why);
    const cJSON *gap;
    ck_assert_ptr_nonnull(json);
    cJSON_ArrayForEach(gap, cJSON_GetObjectItem(json, "gaps")) {
        const char *to_ns = cJSON_GetStringValue(cJSON_GetObjectItem(gap, "to_ns"));
        ck_assert_msg(strtoull(to_ns, NULL, 10) <= at_ns, "%s", report);
    }
    cJSON_Delete(json);
}

/* Of several times what a ring holds. The subject is never so far ahead that the ring could be full,
 * whenever the agent gets its turn. */
START_TEST(a_record_longer_than_the_ring_reaches_is_whole)
{
    char id[ID_TEXT_BYTES], *path = path_join(folder, "a.sock.pace");
    uint64_t written = 1, at_ns;
    (void)unlink(traced_path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    subject =
        spawn((const char *const[]){AGENT_SUBJECT, socket_path, "redis", "paced", NULL}, NULL);
    int paces = open(path, O_WRONLY | O_CLOEXEC);
    wait_attached(id);
    at_ns = clock_realtime_ns();
    for (int i = 0; i < PACES; i++) {
        if (i == PACES_NEAR) /* of a time that is over: half a ring came since */
            command_capture_at(capture_a, id, 3600000, at_ns);
        ck_assert(wait_until(is_near, &written, 0));
        ck_assert_int_eq(write(paces, "x", 1), 1);
        written += PACE;
    }
    close(paces);
    ck_assert_int_eq(spawn_wait(subject, 0), 0);
    subject = 0;
    char *text =
        fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_a, "\"state\":\"uploading\""));
    check_no_gap(text, at_ns);
    wait_capture_stored(capture_a);
    ck_assert_uint_eq(events_stored(SIZE_MAX), written);
    free(text);
    free(path);
}
END_TEST

START_TEST(a_stream_uploads_while_it_runs_and_ends_when_stopped)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    command_stream(capture_a, id, 100);
    fake_wait_stored(fake, 4);
    free(fake_wait_report(
        fake, WORDS("\"kind\":\"target\"", capture_a, "\"state\":\"capturing\"", "\"last\":2")));
    char stop[256];
    snprintf(stop, sizeof stop, "{\"command\":\"t\",\"kind\":\"stop\",\"capture\":\"%s\"}",
             capture_a);
    ck_assert_uint_ne(fake_command(fake, stop), 0);
    check_stream(capture_a, 4);
}
END_TEST

START_TEST(a_stream_ends_with_its_process)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    command_stream(capture_a, id, 100);
    fake_wait_stored(fake, 2);
    ck_assert_int_eq(spawn_stop(subject, SIGTERM, 0), 0);
    subject = 0;
    check_stream(capture_a, 2);
}
END_TEST

START_TEST(a_stream_that_a_killed_agent_left_lists_all_it_brought)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    command_stream(capture_a, id, 100);
    fake_wait_stored(fake, 3);
    ck_assert_int_eq(spawn_stop(agent, SIGKILL, 0), 128 + SIGKILL);
    start_agent();
    free(fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_a, "\"state\":\"uploading\"",
                                      "agent_restarted")));
    check_stream(capture_a, 3);
}
END_TEST

START_TEST(a_command_right_after_a_restart_waits_for_the_service_to_come_back)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    ck_assert_int_eq(spawn_stop(agent, SIGKILL, 0), 128 + SIGKILL);
    struct fake_counters c;
    fake_count(fake, &c);
    start_agent();
    FAKE_WAIT(fake, hellos, c.hellos + 1);
    command_capture(capture_a, id, 0);
    wait_capture_stored(capture_a);
}
END_TEST

/* Captures all that there is of the process; how many events that is. */
static uint64_t capture_all(const char *process, unsigned n)
{
    char text[512], capture[ID_TEXT_BYTES], why[160];
    uint64_t events = 0, now = clock_realtime_ns();
    snprintf(capture, sizeof capture, "%032x", n);
    snprintf(text, sizeof text,
             "{\"command\":\"c-%u\",\"kind\":\"capture\",\"capture\":\"%s\",\"at_ns\":\"%" PRIu64
             "\",\"pre_ms\":600000,\"post_ms\":0,\"deadline_ns\":\"%" PRIu64
             "\",\"processes\":[\"%s\"]}",
             n, capture, now, now + 60000000000u, process);
    ck_assert_uint_ne(fake_command(fake, text), 0);
    char *report =
        fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture, "\"state\":\"uploading\""));
    cJSON *json = json_parse(report, strlen(report), why, sizeof why), *range;
    cJSON_ArrayForEach(range, cJSON_GetObjectItem(json, "partitions"))
        events += (uint64_t)cJSON_GetNumberValue(cJSON_GetObjectItem(range, "events"));
    cJSON_Delete(json);
    free(report);
    return events;
}

/* As in a container without a disk of its own: the rings still hold what was traced before. */
START_TEST(an_agent_that_lost_its_state_finds_what_the_rings_hold)
{
    char id[ID_TEXT_BYTES], *state = path_join(folder, "state"), *lost = path_join(folder, "lost");
    start_subject();
    wait_attached(id);
    unsigned n = 1;
    uint64_t first = capture_all(id, n), last = first;
    while (last < first + 3000) /* each ends a generation */
        last = capture_all(id, ++n);
    ck_assert_int_eq(spawn_stop(agent, SIGKILL, 0), 128 + SIGKILL);
    ck_assert_int_eq(rename(state, lost), 0);
    start_agent();
    wait_attached_anew(id);
    ck_assert_uint_ge(capture_all(id, ++n), last);
    free(state);
    free(lost);
}
END_TEST

START_TEST(garbage_on_its_socket_leaves_it_serving)
{
    for (int i = 0; i < 300; i++) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path);
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
            char bytes[700];
            memset(bytes, i, sizeof bytes);
            (void)send(fd, bytes, (size_t)(i * 2 % 700), MSG_NOSIGNAL);
        }
        close(fd);
    }
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
}
END_TEST

START_TEST(sigterm_ends_captures_and_drains)
{
    char id[ID_TEXT_BYTES];
    start_subject();
    wait_attached(id);
    command_capture(capture_a, id, 3600000);
    free(
        fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_a, "\"state\":\"capturing\"")));
    ck_assert_int_eq(spawn_stop(agent, SIGTERM, 0), 0);
    agent = 0;
    free(
        fake_wait_report(fake, WORDS("\"kind\":\"target\"", capture_a, "\"state\":\"uploading\"")));
    fake_wait_stored(fake, 2);
}
END_TEST

START_TEST(sighup_reads_the_file_again)
{
    FAKE_WAIT(fake, heartbeats, 1);
    write_config(",\"spool\":{\"max_bytes\":7000000}");
    ck_assert_int_eq(kill(agent, SIGHUP), 0);
    ck_assert(wait_until(log_says, (char[]){"configuration reloaded"}, 0));
    ck_assert(log_says((char[]){"spool.max_bytes"}));
    file_write_text(config_file, "{\"nonsense\":1}");
    ck_assert_int_eq(kill(agent, SIGHUP), 0);
    ck_assert(wait_until(log_says, (char[]){"the configuration stays as it was"}, 0));
}
END_TEST

START_TEST(a_wrong_config_is_named_by_its_key)
{
    static const char *const bad[][2] = {
        {"{\"ring\":{\"bytes\":1}}", "ring.bytes"},
        {"{\"log\":{\"level\":\"loud\"}}", "log.level"},
        {"{\"evidence\":{\"privacy\":\"on\"}}", "evidence.privacy"},
        {"{\"labels\":\"a b\"}", "labels"},
        {"{\"soket\":\"/x\"}", "soket"},
        {"{\"state_dir\":\"relative\"}", "state_dir"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct agent_config config;
        char error[512] = "";
        file_write_text(config_file, bad[i][0]);
        ck_assert_int_ne(agent_config_load(&(struct config_sources){.file = config_file}, &config,
                                           error, sizeof error),
                         SKEIN_OK);
        ck_assert_msg(strstr(error, bad[i][1]) != NULL, "%s", error);
        pid_t pid = spawn(
            (const char *const[]){SKEIN_AGENT, "--config", config_file, "--check-config", NULL},
            NULL);
        ck_assert_int_eq(spawn_wait(pid, 0), 1);
    }
}
END_TEST

/* The agent of the fixture has made its key: whether it is let in by that is not for the token. */
START_TEST(the_file_of_a_used_join_token_may_go)
{
    static const char key[] = "mDk1JN0RbijzWlThP90jJ5YPNHRmhqK0HVHQdgT_rCQ";
    char *fresh = path_join(folder, "fresh"), *used = path_join(folder, "used");
    const char *const folders[] = {fresh, used};
    ck_assert_int_eq(mkdir(used, 0700), 0);
    char *made = path_join(used, "agent.key"), text[1024];
    /* The fixture's agent may be about to read its own, and would make a key. */
    char *checked = path_join(folder, "checked.json");
    file_write_text(made, "");
    for (int i = 0; i < 2; i++) {
        snprintf(
            text, sizeof text,
            "{\"state_dir\":\"%s\",\"socket\":\"%s/socket\",\"collector\":{\"public_key\":[\"%s\"],"
            "\"join_token_file\":\"%s/gone\"}}",
            folders[i], folder, key, folder);
        file_write_text(checked, text);
        pid_t pid = spawn(
            (const char *const[]){SKEIN_AGENT, "--config", checked, "--check-config", NULL}, NULL);
        ck_assert_int_eq(spawn_wait(pid, 0), i == 0 ? 1 : 0);
    }
    free(checked);
    free(made);
    free(fresh);
    free(used);
}
END_TEST

/* Its services are another agent's: it would be listed, and might use up a join token. Ten times,
 * as one that speaks is not always heard before it ends. */
START_TEST(an_agent_whose_socket_is_anothers_says_nothing_to_the_collector)
{
    struct fake_counters before, after;
    char text[1024];
    FAKE_WAIT(fake, heartbeats, 1);
    snprintf(text, sizeof text,
             "{\"collector\":{\"control\":\"%s\",\"data\":\"%s\"},\"socket\":\"%s\","
             "\"state_dir\":\"%s/other\"}",
             fake_control_address(fake), fake_data_address(fake), socket_path, folder);
    file_write_text(config_file, text);
    fake_count(fake, &before);
    for (int i = 0; i < 10; i++) {
        pid_t second =
            spawn((const char *const[]){SKEIN_AGENT, "--config", config_file, NULL}, NULL);
        ck_assert_int_eq(spawn_wait(second, 0), 1);
    }
    FAKE_WAIT(fake, heartbeats, before.heartbeats + 2);
    fake_count(fake, &after);
    ck_assert_uint_eq(after.hellos, before.hellos);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, agent_setup, agent_teardown);
    tcase_set_timeout(tc, 280);
    tcase_add_test(tc, a_capture_on_command_is_uploaded_and_reported);
    tcase_add_test(tc, the_first_command_is_by_the_collectors_clock);
    tcase_add_test(tc, captures_that_overlap_list_the_same_partitions);
    tcase_add_test(tc, an_unknown_process_is_reported_as_failed);
    tcase_add_test(tc, stop_ends_the_post_window_at_once);
    tcase_add_test(tc, killed_in_the_middle_of_uploads_it_loses_and_repeats_nothing);
    tcase_add_test(tc,
                   a_capture_interrupted_between_two_cuts_ends_with_a_gap_where_no_ring_was_kept);
    tcase_add_test(tc, a_capture_of_a_process_that_died_with_its_agent_is_whole);
    tcase_add_test(tc, a_record_longer_than_the_ring_reaches_is_whole);
    tcase_add_test(tc, a_stream_uploads_while_it_runs_and_ends_when_stopped);
    tcase_add_test(tc, a_stream_ends_with_its_process);
    tcase_add_test(tc, a_stream_that_a_killed_agent_left_lists_all_it_brought);
    tcase_add_test(tc, a_command_right_after_a_restart_waits_for_the_service_to_come_back);
    tcase_add_test(tc, an_agent_that_lost_its_state_finds_what_the_rings_hold);
    tcase_add_test(tc, garbage_on_its_socket_leaves_it_serving);
    tcase_add_test(tc, sigterm_ends_captures_and_drains);
    tcase_add_test(tc, sighup_reads_the_file_again);
    tcase_add_test(tc, an_agent_whose_socket_is_anothers_says_nothing_to_the_collector);
    tcase_add_test(tc, a_wrong_config_is_named_by_its_key);
    tcase_add_test(tc, the_file_of_a_used_join_token_may_go);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
