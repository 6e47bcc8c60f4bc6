/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent of a test, its service and its collector: see agent_daemon.h.
 */
#include "agent_daemon.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "json.h"
#include "partition.h"

char *folder, *config_file, *socket_path, *traced_path, *health_path;
struct fake_collector *fake;
pid_t agent, subject;
const char *ring_more = "";

/* Without evidence, where `more` says nothing of it: these tests count the partitions of rings. */
void write_config(const char *more)
{
    char text[2048];
    const char *none =
        strstr(more, "\"evidence\"") == NULL ? "\"evidence\":{\"enabled\":false}," : "";
    snprintf(
        text, sizeof text,
        "{\"collector\":{\"control\":\"%s\",\"data\":\"%s\"},\"socket\":\"%s\",\"state_dir\":\"%s/state\","
        "%s\"heartbeat_ms\":200,\"ring\":{\"bytes\":1048576%s},\"log\":{\"level\":\"debug\"}%s}",
        fake_control_address(fake), fake_data_address(fake), socket_path, folder, none, ring_more,
        more);
    file_write_text(config_file, text);
}

void start_agent(void)
{
    char *log = path_join(folder, "agent.log");
    struct spawn_options options = {.out_file = log};
    agent = spawn((const char *const[]){SKEIN_AGENT, "--config", config_file, NULL}, &options);
    free(log);
}

void start_subject(void)
{
    (void)unlink(traced_path);
    subject = spawn((const char *const[]){AGENT_SUBJECT, socket_path, "redis", NULL}, NULL);
}

char *state_path(const char *name)
{
    char *state = path_join(folder, "state"), *path = path_join(state, name);
    free(state);
    return path;
}

void agent_setup(void)
{
    folder = temp_dir_new();
    config_file = path_join(folder, "agent.json");
    socket_path = path_join(folder, "a.sock");
    traced_path = path_join(folder, "a.sock.traced");
    health_path = path_join(folder, "health.sock");
    fake = fake_collector_new(200);
    subject = 0;
    write_config(",\"checks\":{\"startup_grace_ms\":0,\"exec_allow\":[\"true\",\"sleep 30\"]}");
    start_agent();
}

void agent_teardown(void)
{
    if (subject > 0)
        spawn_stop(subject, SIGKILL, 0);
    if (agent > 0)
        spawn_stop(agent, SIGKILL, 0);
    fake_collector_free(&fake);
    temp_dir_free(&folder);
    free(config_file);
    free(socket_path);
    free(traced_path);
    free(health_path);
}

static bool is_traced(void *context)
{
    (void)context;
    return access(traced_path, F_OK) == 0;
}

struct listed {
    char id[ID_TEXT_BYTES], other[ID_TEXT_BYTES]; /* other: one that is not meant */
};

/* Whether the newest process list that shows the subject live has another id for it. */
static bool is_listed(void *context)
{
    struct listed *listed = context;
    char *text = fake_report(
        fake, WORDS("\"kind\":\"processes\"", "\"service\":\"redis\"", "\"state\":\"live\""));
    char *at = text != NULL ? strstr(text, "\"process\":\"") : NULL;
    if (at != NULL)
        snprintf(listed->id, sizeof listed->id, "%s", at + strlen("\"process\":\""));
    free(text);
    return at != NULL && strcmp(listed->id, listed->other) != 0;
}

/* Makes `id` that of the subject, another than it was, once there is something to capture: a
 * subject that has not run since it attached has no records. */
void wait_attached_anew(char id[ID_TEXT_BYTES])
{
    struct listed listed = {.id = ""};
    snprintf(listed.other, sizeof listed.other, "%s", id);
    ck_assert_msg(wait_until(is_traced, NULL, support_deadline_ms()), "the subject traces nothing");
    ck_assert_msg(wait_until(is_listed, &listed, support_deadline_ms()), "it is not listed");
    snprintf(id, ID_TEXT_BYTES, "%s", listed.id);
}

void wait_attached(char id[ID_TEXT_BYTES])
{
    id[0] = '\0';
    wait_attached_anew(id);
}

void check_partition(size_t n, uint64_t min_events)
{
    size_t bytes = 0;
    struct partition_key key;
    const uint8_t *data = fake_partition(fake, n, &bytes, &key);
    ck_assert_ptr_nonnull(data);
    struct partition_footer footer;
    size_t need;
    ck_assert_int_eq(partition_footer_get(data, bytes, &footer, &need), SKEIN_OK);
    ck_assert_uint_ge(footer.events, min_events);
    ck_assert_str_eq(footer.service, "redis");
    partition_footer_free(&footer);
}

void command_capture_at(const char *capture, const char *process, unsigned post_ms, uint64_t at_ns)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"command\":\"c-%s\",\"kind\":\"capture\",\"capture\":\"%s\",\"at_ns\":\"%" PRIu64
             "\",\"pre_ms\":5000,\"post_ms\":%u,"
             "\"deadline_ns\":\"%" PRIu64 "\",\"processes\":[\"%s\"]}",
             capture, capture, at_ns, post_ms, at_ns + 60000000000u, process);
    ck_assert_uint_ne(fake_command(fake, text), 0);
}

void command_capture(const char *capture, const char *process, unsigned post_ms)
{
    command_capture_at(capture, process, post_ms, clock_realtime_ns());
}

bool log_says(void *context)
{
    char *log = path_join(folder, "agent.log");
    size_t n;
    char *text = file_read(log, &n);
    bool found = text != NULL && strstr(text, context) != NULL;
    free(text);
    free(log);
    return found;
}
