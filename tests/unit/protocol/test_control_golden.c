/* SPDX-License-Identifier: Apache-2.0
 * Every body on control as docs/protocol.md has it, written from there: the put makes these bytes,
 * and the get of these bytes is put as the same again. They are what agents and collectors of other
 * versions say, so none may change. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "evidence_kinds.h"
#include "heartbeat.h"
#include "hello.h"
#include "json.h"
#include "pushed_policy.h"
#include "report.h"
#include "support.h"
#include "wire.h"

#define AGENT    "\"agent\":\"00000000000000ff\""
#define CAPTURE  "\"01000000000000000000000000000000\""
#define PROCESS  "\"02000000000000000000000000000000\""
#define PROCESS2 "\"03000000000000000000000000000000\""

enum { AGENT_ID = 0xff };
static const struct capture_id capture = {{1}};
static const struct process_uid process = {{2}};
static struct process_uid processes[] = {{{2}}, {{3}}};

static void expect_text(struct buf *text, const char *golden)
{
    buf_put_u8(text, 0);
    ck_assert_int_eq(text->status, SKEIN_OK);
    ck_assert_str_eq((const char *)text->data, golden);
    buf_fini(text);
}

/* GOLDEN(type, struct, text): the put gives the text, and so does the put of what the get gives. */
#define GOLDEN_BEGIN(type, value, golden)                                                          \
    do {                                                                                           \
        char error[256] = "";                                                                      \
        struct buf text = {0};                                                                     \
        struct type read;                                                                          \
        type##_put(&(value), &text);                                                               \
        expect_text(&text, golden);                                                                \
        cJSON *json = control_body_parse(golden, strlen(golden), error, sizeof error);             \
        ck_assert_msg(type##_get(json, &read, error, sizeof error) == SKEIN_OK, "%s", error);      \
        type##_put(&read, &text);                                                                  \
    expect_text(&text, golden)
#define GOLDEN_END                                                                                 \
    cJSON_Delete(json);                                                                            \
    }                                                                                              \
    while (0)

#define GOLDEN(type, value, golden)                                                                \
    GOLDEN_BEGIN(type, value, golden);                                                             \
    GOLDEN_END
#define GOLDEN_OWNER(type, value, golden)                                                          \
    GOLDEN_BEGIN(type, value, golden);                                                             \
    type##_fini(&read);                                                                            \
    GOLDEN_END

START_TEST(a_session_begins)
{
    const struct hello hello = {.agent = AGENT_ID,
                                .epoch = 3,
                                .instance = 77,
                                .heartbeat_ms = 5000,
                                .host = "web-1",
                                .version = "0.1.0",
                                .boot = "b",
                                .labels = "zone=a"};
    GOLDEN(hello, hello,
           "{" AGENT ",\"host\":\"web-1\",\"version\":\"0.1.0\",\"boot\":\"b\",\"epoch\":3,"
           "\"instance\":77,\"labels\":\"zone=a\",\"heartbeat_ms\":5000,\"seal\":null}");
    const struct welcome welcome = {.collector = "00000000000000aa",
                                    .lease_ms = 15000,
                                    .heartbeat_ms = 5000,
                                    .rules_generation = 4,
                                    .received_ns = UINT64_C(1790000000000000000),
                                    .clock = 2,
                                    .captures_per_hour = 3600};
    GOLDEN(welcome, welcome,
           "{\"collector\":\"00000000000000aa\",\"lease_ms\":15000,\"heartbeat_ms\":5000,"
           "\"rules_generation\":4,\"received_ns\":\"1790000000000000000\",\"clock\":2,"
           "\"captures_per_hour\":3600,\"seal\":null}");
    const struct control_error error_message = {"no such session"};
    GOLDEN(control_error, error_message, "{\"error\":\"no such session\"}");
}
END_TEST

START_TEST(an_agent_says_that_it_lives)
{
    struct heartbeat beat = {.agent = AGENT_ID,
                             .instance = UINT64_MAX,
                             .sent_ns = UINT64_C(1790000000000000001),
                             .knows_offset = true,
                             .clock_offset_ns = -7,
                             .clock_error_ns = 81,
                             .clock = 2,
                             .rules_generation = 1,
                             .policies_generation = 2,
                             .processes_version = 3,
                             .state = {.cpu_ms = 8,
                                       .spool_bytes = 4,
                                       .spool_partitions = 5,
                                       .lost_partitions = 6,
                                       .lost_events = 7,
                                       .counters = {.attach_accepted = 9, .partitions_resent = 10},
                                       .samples = {true, 99, 2, 33554432, 19000, "EPERM"},
                                       .refused = {"no tracefs", ""}}};
    GOLDEN(
        heartbeat, beat,
        "{" AGENT ",\"instance\":\"18446744073709551615\",\"sent_ns\":\"1790000000000000001\","
        "\"clock_offset_ns\":-7,\"clock_error_ns\":81,\"clock\":2,\"rules_generation\":1,"
        "\"policies_generation\":2,"
        "\"processes_version\":3,\"spool\":{\"bytes\":4,\"partitions\":5},\"lost\":"
        "{\"spool_partitions\":6,\"spool_events\":7},\"cpu_ms\":8,\"counters\":{"
        "\"attach_accepted\":9,\"attach_adopted\":0,\"attach_refused\":0,\"attach_silent\":0,"
        "\"attach_malformed\":0,\"captures_refused\":0,\"stacks_missed\":0,\"welcomes\":0,\"heartbeats\":0,"
        "\"redials\":0,\"clock_steps\":0,\"malformed\":0,\"commands\":0,\"reports_acked\":0,"
        "\"reports_refused\":0,\"chunks_sent\":0,\"partitions_stored\":0,"
        "\"partitions_rejected\":0,\"partitions_resent\":10,\"symbols_asked\":0,"
        "\"symbols_named\":0,\"symbolizer_failures\":0,\"looks_given_up\":0},"
        "\"samples\":{\"hz\":99,\"cpus\":2,\"bytes\":33554432,\"reach_ms\":19000,"
        "\"refused\":\"EPERM\"},\"refused\":{\"sched\":\"no tracefs\"}}");
    struct heartbeat_ack ack = {
        .received_ns = UINT64_C(1790000000000000000), .clock = 2, .rules_generation = 4};
    GOLDEN(heartbeat_ack, ack,
           "{\"received_ns\":\"1790000000000000000\",\"clock\":2,\"rules_generation\":4,"
           "\"hello\":false}");
    ack.hello = ack.cloned = true;
    GOLDEN(
        heartbeat_ack, ack,
        "{\"received_ns\":\"1790000000000000000\",\"clock\":2,\"rules_generation\":4,\"hello\":true,"
        "\"cloned\":true}");
}
END_TEST

START_TEST(a_capture_is_commanded)
{
    struct command command = {.kind = COMMAND_CAPTURE,
                              .command = "0000000000000001",
                              .capture = capture,
                              .clock = 2,
                              .sent_ns = UINT64_C(1790000000000000002),
                              .at_ns = UINT64_C(1790000000000000001),
                              .pre_ms = 10000,
                              .post_ms = 5000,
                              .deadline_ns = UINT64_C(1790000060000000000),
                              .processes = processes,
                              .process_count = 2};
    GOLDEN_OWNER(command, command,
                 "{\"kind\":\"capture\",\"capture\":" CAPTURE ",\"clock\":2,"
                 "\"sent_ns\":\"1790000000000000002\",\"at_ns\":\"1790000000000000001\","
                 "\"pre_ms\":10000,\"post_ms\":5000,\"deadline_ns\":\"1790000060000000000\","
                 "\"processes\":[" PROCESS "," PROCESS2 "],\"command\":\"0000000000000001\"}");
    command.stream_ms = 250;
    command.upload_after_ms = 70;
    command.unshared = true;
    command.wish.kinds = EVIDENCE_BIT(EVIDENCE_THREADS);
    command.process_count = 1;
    GOLDEN_OWNER(
        command, command,
        "{\"kind\":\"capture\",\"capture\":" CAPTURE ",\"clock\":2,"
        "\"sent_ns\":\"1790000000000000002\",\"at_ns\":\"1790000000000000001\","
        "\"pre_ms\":10000,\"post_ms\":5000,\"stream_ms\":250,\"upload_after_ms\":70,"
        "\"share\":false,\"threads\":true,\"deadline_ns\":\"1790000060000000000\",\"processes\":[" PROCESS
        "],\"command\":\"0000000000000001\"}");
    /* P-32 */
    command.wish = (struct evidence_wish){true, EVIDENCE_BIT(EVIDENCE_THREADS) |
                                                    EVIDENCE_BIT(EVIDENCE_SAMPLES)};
    GOLDEN_OWNER(command, command,
                 "{\"kind\":\"capture\",\"capture\":" CAPTURE ",\"clock\":2,"
                 "\"sent_ns\":\"1790000000000000002\",\"at_ns\":\"1790000000000000001\","
                 "\"pre_ms\":10000,\"post_ms\":5000,\"stream_ms\":250,\"upload_after_ms\":70,"
                 "\"share\":false,\"threads\":true,\"evidence\":[\"threads\",\"samples\"],"
                 "\"deadline_ns\":\"1790000060000000000\",\"processes\":[" PROCESS
                 "],\"command\":\"0000000000000001\"}");
    const struct command stop = {.kind = COMMAND_STOP, .command = "x", .capture = capture};
    GOLDEN_OWNER(command, stop, "{\"kind\":\"stop\",\"capture\":" CAPTURE ",\"command\":\"x\"}");
}
END_TEST

START_TEST(sets_are_pushed)
{
    cJSON *rules = cJSON_Parse("[{\"name\":\"ping\"}]");
    struct command command = {.kind = COMMAND_RULES, .command = "x", .generation = 7, .set = rules};
    GOLDEN_OWNER(command, command,
                 "{\"kind\":\"rules\",\"generation\":7,\"rules\":[{\"name\":\"ping\"}],"
                 "\"command\":\"x\"}");
    cJSON *removed = cJSON_Parse("[\"pong\",\"pang\"]");
    struct command change = {.kind = COMMAND_RULES_CHANGE,
                             .command = "x",
                             .generation = 9,
                             .base = 7,
                             .set = rules,
                             .removed = removed};
    GOLDEN_OWNER(command, change,
                 "{\"kind\":\"rules_change\",\"generation\":9,\"rules\":[{\"name\":\"ping\"}],"
                 "\"base\":7,\"removed\":[\"pong\",\"pang\"],\"command\":\"x\"}");
    cJSON_Delete(removed);
    command.kind = COMMAND_POLICIES;
    GOLDEN_OWNER(command, command,
                 "{\"kind\":\"policies\",\"generation\":7,\"policies\":[{\"name\":\"ping\"}],"
                 "\"command\":\"x\"}");
    cJSON_Delete(rules);
}
END_TEST

static void expect_policy(const struct pushed_policy *policy, const char *golden)
{
    char error[256] = "";
    struct pushed_policy read = *policy;
    for (int round = 0; round < 2; round++) { /* what is put, and what is read of it */
        cJSON *set = cJSON_CreateArray();
        ck_assert(pushed_policy_put(&read, set));
        char *text = cJSON_PrintUnformatted(set);
        ck_assert_str_eq(text, golden);
        const cJSON *item = cJSON_GetArrayItem(set, 0);
        ck_assert_int_eq(pushed_policy_get(item, &read, error, sizeof error), SKEIN_OK);
        read.name = policy->name; /* what it points to goes with the set */
        read.selector = policy->selector;
        free(text);
        cJSON_Delete(set);
    }
}

START_TEST(a_policy_is_pushed)
{
    const struct pushed_policy least = {
        .name = "p", .selector = "", .generation = 7, .record_ms = 100, .every_ms = 1000};
    expect_policy(&least, "[{\"name\":\"p\",\"generation\":7,\"selector\":\"\",\"record_ms\":100,"
                          "\"every_ms\":1000,\"paused\":false}]");
    const struct pushed_policy most = {.name = "p",
                                       .selector = "service=a",
                                       .generation = 7,
                                       .record_ms = 100,
                                       .every_ms = 1000,
                                       .agent_cpu_percent = 5,
                                       .kinds = EVIDENCE_BIT(EVIDENCE_SAMPLES) |
                                                EVIDENCE_BIT(EVIDENCE_VITALS),
                                       .samples_hz = 300,
                                       .paused = true};
    expect_policy(&most, "[{\"name\":\"p\",\"generation\":7,\"selector\":\"service=a\","
                         "\"record_ms\":100,\"every_ms\":1000,\"agent_cpu_percent\":5,"
                         "\"evidence\":[\"samples\",\"vitals\"],\"samples_hz\":300,"
                         "\"paused\":true}]");
}
END_TEST

/* Texts of the longest, all of what JSON writes with more bytes; or of none. */
START_TEST(pages_of_processes_fit_a_message)
{
    static char text[CONTROL_LABELS_MAX + 1];
    static struct report_process items[1000];
    struct report_processes page = {.agent = AGENT_ID, .version = UINT64_MAX, .pages = 1};
    for (int kind = 0; kind < 4; kind++) {
        memset(text, "\x01\"\\x"[kind], sizeof text - 1);
        for (size_t i = 0; i < 1000; i++)
            items[i] = (struct report_process){.pid = UINT32_MAX,
                                               .user = UINT32_MAX - 1,
                                               .service = text + sizeof text - 128,
                                               .labels = i % 3 == 0 ? "" : text,
                                               .exe = text + sizeof text - 256,
                                               .title = text + sizeof text - 128,
                                               .mode = "streaming",
                                               .not_recorded = "",
                                               .live = true,
                                               .start_ns = UINT64_MAX,
                                               .ended_ns = UINT64_MAX,
                                               .attached_ns = UINT64_MAX,
                                               .ring_bytes = UINT64_MAX,
                                               .ring_wished_bytes = UINT64_MAX,
                                               .ring_memory_bytes = UINT64_MAX,
                                               .ring_why = text + sizeof text - 160,
                                               .used_bytes = UINT64_MAX,
                                               .events_lost = UINT64_MAX,
                                               .wrapped = UINT64_MAX,
                                               .bytes_per_s = UINT64_MAX,
                                               .reach_ms = UINT64_MAX};
        for (size_t at = 0; at < 1000; at += page.count) {
            struct buf body = {0};
            page.items = items + at;
            page.count = report_processes_fit(items + at, 1000 - at);
            ck_assert_uint_ge(page.count, 1);
            report_processes_put(&page, &body);
            ck_assert_uint_le(body.len, WIRE_CONTROL_BODY_MAX);
            buf_fini(&body);
        }
    }
}
END_TEST

START_TEST(a_list_is_asked_for)
{
    const struct command command = {.kind = COMMAND_PROCESSES, .command = "x"};
    GOLDEN_OWNER(command, command, "{\"kind\":\"processes\",\"command\":\"x\"}");
}
END_TEST

START_TEST(commands_and_reports_are_acknowledged)
{
    const struct command_ack done = {.agent = AGENT_ID, .command = "x", .ok = true};
    GOLDEN(command_ack, done, "{" AGENT ",\"command\":\"x\",\"status\":\"ok\"}");
    const struct command_ack failed = {
        .agent = AGENT_ID, .command = "x", .error = "rules: must be a list"};
    GOLDEN(command_ack, failed,
           "{" AGENT ",\"command\":\"x\",\"status\":\"failed\","
           "\"error\":\"rules: must be a list\"}");
    const struct report_ack yes = {.ok = true};
    GOLDEN(report_ack, yes, "{\"ok\":true}");
    const struct report_ack no = {.error = "another agent's"};
    GOLDEN(report_ack, no, "{\"ok\":false,\"error\":\"another agent's\"}");
}
END_TEST

START_TEST(processes_are_listed)
{
    struct report_process items[] = {{.uid = process,
                                      .pid = 42,
                                      .user = 1000,
                                      .live = true,
                                      .service = "shop",
                                      .labels = "a=b",
                                      .exe = "/usr/bin/shop",
                                      .start_ns = 100,
                                      .attached_ns = 101,
                                      .not_recorded = "",
                                      .mode = "circular",
                                      .title = "shop serve",
                                      .ring_bytes = 1048576,
                                      .ring_wished_bytes = 16777216,
                                      .ring_memory_bytes = 4096,
                                      .ring_why = "its cgroup",
                                      .used_bytes = 7,
                                      .bytes_per_s = 8,
                                      .reach_ms = 9,
                                      .events_lost = 5,
                                      .wrapped = 6},
                                     {.uid = processes[1],
                                      .pid = 43,
                                      .user = SHARE_USER_UNKNOWN,
                                      .service = "shop",
                                      .labels = "",
                                      .exe = "",
                                      .start_ns = 100,
                                      .ended_ns = 200,
                                      .not_recorded = "attach_refused",
                                      .mode = "",
                                      .title = ""}};
    struct report_processes list = {
        .agent = AGENT_ID, .version = 12, .page = 0, .pages = 1, .items = items, .count = 2};
    GOLDEN_OWNER(
        report_processes, list,
        "{" AGENT ",\"kind\":\"processes\",\"version\":12,\"page\":0,\"pages\":1,"
        "\"clock_offset_ns\":\"0\",\"processes\":[{\"process\":" PROCESS
        ",\"pid\":42,\"uid\":1000,\"service\":\"shop\",\"labels\":\"a=b\",\"exe\":\"/usr/bin/shop\","
        "\"start_ns\":100,\"state\":\"live\",\"mode\":\"circular\","
        "\"ring_bytes\":1048576,\"ring_wished_bytes\":16777216,"
        "\"ring_memory_bytes\":4096,\"ring_why\":\"its cgroup\",\"attached_ns\":101,\"events_lost\":5,\"wrapped\":6,"
        "\"used_bytes\":7,\"bytes_per_s\":8,\"reach_ms\":9,\"title\":\"shop serve\"},"
        "{\"process\":" PROCESS2
        ",\"pid\":43,\"service\":\"shop\",\"labels\":\"\",\"exe\":\"\",\"start_ns\":100,"
        "\"state\":\"gone\",\"ended_ns\":200,\"attached_ns\":0,"
        "\"not_recorded\":\"attach_refused\"}]}");
    struct report_processes none = {.agent = AGENT_ID,
                                    .page = 1,
                                    .pages = 2,
                                    .clock_offset_ns = -600000000000,
                                    .known_from_ns = UINT64_C(1790000000000000003)};
    GOLDEN_OWNER(report_processes, none,
                 "{" AGENT ",\"kind\":\"processes\",\"version\":0,\"page\":1,\"pages\":2,"
                 "\"clock_offset_ns\":\"-600000000000\",\"known_from_ns\":\"1790000000000000003\","
                 "\"processes\":[]}");
}
END_TEST

START_TEST(a_firing_is_reported)
{
    struct report_fired fired = {.agent = AGENT_ID,
                                 .capture = capture,
                                 .process = process,
                                 .with = &processes[1],
                                 .with_count = 1,
                                 .trigger = TRIGGER_HEALTH,
                                 .rule = "ping",
                                 .policy = "",
                                 .reason = "check fails",
                                 .pid = 42,
                                 .user = 33,
                                 .service = "shop",
                                 .labels = "a=b",
                                 .exe = "/usr/bin/shop",
                                 .at_ns = UINT64_C(1790000000000000001),
                                 .pre_ms = 10000,
                                 .post_ms = 5000,
                                 .clock = {.offset_ns = -600000000000, .clock = 42}};
    GOLDEN_OWNER(
        report_fired, fired,
        "{" AGENT ",\"kind\":\"fired\",\"capture\":" CAPTURE
        ",\"trigger\":\"health\",\"rule\":\"ping\",\"process\":" PROCESS ",\"with\":[" PROCESS2
        "],\"pid\":42,\"uid\":33,\"service\":\"shop\",\"labels\":\"a=b\",\"exe\":\"/usr/bin/shop\","
        "\"at_ns\":\"1790000000000000001\",\"clock_offset_ns\":-600000000000,"
        "\"clock\":42,\"reason\":\"check fails\",\"pre_ms\":10000,\"post_ms\":5000}");
    fired.trigger = TRIGGER_POLICY;
    fired.rule = "";
    fired.policy = "p";
    fired.user = SHARE_USER_UNKNOWN;
    fired.with_count = 0;
    fired.clock = (struct report_clock){0};
    GOLDEN_OWNER(report_fired, fired,
                 "{" AGENT ",\"kind\":\"fired\",\"capture\":" CAPTURE
                 ",\"trigger\":\"policy\",\"policy\":\"p\",\"process\":" PROCESS
                 ",\"pid\":42,\"service\":\"shop\",\"labels\":\"a=b\",\"exe\":\"/usr/bin/shop\","
                 "\"at_ns\":\"1790000000000000001\",\"reason\":\"check fails\",\"pre_ms\":10000,"
                 "\"post_ms\":5000}");
}
END_TEST

START_TEST(a_target_is_reported)
{
    struct report_range ranges[] = {{1, 4, 9, 60, 600}, {2, UINT64_MAX, UINT64_MAX, 7, 99}};
    struct report_gap gaps[] = {{11, 12, "overwritten"}};
    struct report_loss losses[] = {{"ring_full", 5}, {"spool_full", 3}};
    struct report_evidence evidence[] = {{"threads", "partial", "12 threads", 13, 900},
                                         {"samples", "none", "", 0, 0}};
    struct report_target target = {.agent = AGENT_ID,
                                   .capture = capture,
                                   .process = process,
                                   .state = REPORT_UPLOADING,
                                   .reason = "late",
                                   .has_window = true,
                                   .from_ns = 10,
                                   .to_ns = UINT64_C(1790000000000000001),
                                   .clock = {7, 3, 90},
                                   .events = 67,
                                   .partitions = ranges,
                                   .partition_count = 2,
                                   .losses = losses,
                                   .loss_count = 2,
                                   .gaps = gaps,
                                   .gap_count = 1,
                                   .evidence = evidence,
                                   .evidence_count = 2,
                                   .has_evidence_at = true,
                                   .evidence_epoch = 1,
                                   .evidence_sequence = UINT64_MAX,
                                   .has_death = true,
                                   .ring = {65536, 131072, 4096, "its cgroup"},
                                   .signal = 11};
    GOLDEN_OWNER(report_target, target,
                 "{" AGENT ",\"kind\":\"target\",\"capture\":" CAPTURE ",\"process\":" PROCESS
                 ",\"state\":\"uploading\",\"reason\":\"late\",\"window\":{\"from_ns\":10,"
                 "\"to_ns\":\"1790000000000000001\"},\"clock_offset_ns\":7,\"clock\":3,"
                 "\"clock_error_ns\":90,"
                 "\"partitions\":[{\"epoch\":1,\"first\":4,\"last\":9,\"events\":60,\"bytes\":600},"
                 "{\"epoch\":2,\"first\":\"18446744073709551615\","
                 "\"last\":\"18446744073709551615\",\"events\":7,\"bytes\":99}],"
                 "\"gaps\":[{\"from_ns\":11,\"to_ns\":12,\"reason\":\"overwritten\"}],"
                 "\"ledger\":{\"events\":67,\"lost\":{\"ring_full\":5,\"spool_full\":3}},"
                 "\"evidence\":[{\"kind\":\"threads\",\"state\":\"partial\","
                 "\"reason\":\"12 threads\",\"events\":13,\"took_us\":900},"
                 "{\"kind\":\"samples\",\"state\":\"none\",\"events\":0,\"took_us\":0}],"
                 "\"evidence_at\":{\"epoch\":1,\"sequence\":\"18446744073709551615\"},"
                 "\"death\":{\"signal\":11,\"status\":0},"
                 "\"ring\":{\"bytes\":65536,\"wished_bytes\":131072,\"memory_bytes\":4096,"
                 "\"why\":\"its cgroup\"}}");
    const struct report_target begun = {.agent = AGENT_ID,
                                        .capture = capture,
                                        .process = process,
                                        .state = REPORT_CAPTURING,
                                        .trigger = TRIGGER_CRASH,
                                        .reason = ""};
    GOLDEN_OWNER(report_target, begun,
                 "{" AGENT ",\"kind\":\"target\",\"capture\":" CAPTURE ",\"process\":" PROCESS
                 ",\"state\":\"capturing\",\"trigger\":\"crash\",\"partitions\":[],\"gaps\":[],"
                 "\"ledger\":{\"events\":0,\"lost\":{}}}");
}
END_TEST

START_TEST(rules_and_policies_are_reported)
{
    const struct report_rule rule = {.agent = AGENT_ID,
                                     .process = process,
                                     .clock = {.offset_ns = -5, .clock = 6},
                                     .rule = "ping",
                                     .health = "failing",
                                     .last_error = "exit status 1",
                                     .held = "the share of the user is used up",
                                     .since_ns = 1,
                                     .checks = 2,
                                     .failures = 3,
                                     .fired = 4,
                                     .suppressed = 5};
    GOLDEN(
        report_rule, rule,
        "{" AGENT ",\"kind\":\"rule\",\"rule\":\"ping\",\"process\":" PROCESS
        ",\"health\":\"failing\",\"since_ns\":1,\"clock_offset_ns\":-5,\"clock\":6,"
        "\"checks\":2,\"failures\":3,\"last_error\":\"exit status 1\",\"held\":\"the share of the user is used up\",\"fired\":4,"
        "\"suppressed\":5}");
    const struct report_policy policy = {
        .agent = AGENT_ID, .policy = "p", .paused = true, .cpu_percent = 12};
    GOLDEN(report_policy, policy,
           "{" AGENT ",\"kind\":\"policy\",\"policy\":\"p\",\"paused\":true,"
           "\"cpu_percent\":12}");
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "control golden", a_session_begins, an_agent_says_that_it_lives, a_capture_is_commanded,
        sets_are_pushed, a_policy_is_pushed, pages_of_processes_fit_a_message, a_list_is_asked_for,
        commands_and_reports_are_acknowledged, processes_are_listed, a_firing_is_reported,
        a_target_is_reported, rules_and_policies_are_reported, NULL));
}
