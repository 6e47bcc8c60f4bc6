/* SPDX-License-Identifier: Apache-2.0
 * Every body on control, with random members: what is put is read as the same. A fixed seed, or
 * SKEIN_TEST_SEED; it is printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "heartbeat.h"
#include "hello.h"
#include "loss.h"
#include "pushed_policy.h"
#include "report.h"
#include "support.h"

enum { ROUNDS = 2000, TEXTS = 16, TEXT_BYTES = 32, LIST_MAX = 8 };

static uint64_t state;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Small, around 2^53, where numbers become text, or as large as may be. */
static uint64_t number(uint64_t max)
{
    static const uint64_t near = UINT64_C(1) << 53;
    uint64_t v = next_random();
    switch (next_random() % 4) {
    case 0:
        v = v % 3;
        break;
    case 1:
        v = near - 2 + v % 5;
        break;
    case 2:
        v = max - v % 3;
        break;
    default:
        break;
    }
    return v <= max ? v : v % (max + 1);
}

static uint64_t any(void)
{
    return number(UINT64_MAX);
}

static uint64_t when(void)
{
    return number(UINT64_C(1) << 62);
}

static uint64_t at_most(uint64_t max)
{
    return number(max);
}

static bool coin(void)
{
    return next_random() % 2 == 0;
}

static int64_t offset(void)
{
    int64_t v = (int64_t)number(INT64_MAX);
    return coin() ? v : -v;
}

/* Letters that JSON escapes, and such that take more than a byte; "" is one of them. */
static const char *words(void)
{
    static char texts[TEXTS][TEXT_BYTES];
    static const char *const letters[] = {"a", "\"", "\\", "\n", "\t", "ü", "€", "𝄞", " ", "/"};
    static unsigned used;
    char *text = texts[used++ % TEXTS];
    size_t n = next_random() % 7;
    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        strcat(text, letters[next_random() % (sizeof letters / sizeof *letters)]);
    return text;
}

static const char *labels(void)
{
    static const char *const known[] = {"", "a=b", "zone=eu-1,tier=web"};
    return known[next_random() % 3];
}

static void id(uint8_t bytes[16])
{
    for (size_t i = 0; i < 16; i++)
        bytes[i] = (uint8_t)next_random();
}

/* What they own is compared, not where it lies. */
#define SAME(a, b, member)      ck_assert_uint_eq((uint64_t)(a).member, (uint64_t)(b).member)
#define SAME_TEXT(a, b, member) ck_assert_str_eq((a).member, (b).member)
#define SAME_ID(a, b, member)                                                                      \
    ck_assert_mem_eq((a).member.bytes, (b).member.bytes, sizeof(a).member.bytes)

static cJSON *put_and_parse(struct buf *text)
{
    char error[256] = "";
    ck_assert_int_eq(text->status, SKEIN_OK);
    cJSON *json = control_body_parse(text->data, text->len, error, sizeof error);
    ck_assert_msg(json != NULL, "%s", error);
    buf_fini(text);
    return json;
}

#define TRIP(type, value, read)                                                                    \
    do {                                                                                           \
        struct buf text = {0};                                                                     \
        type##_put(&(value), &text);                                                               \
        json = put_and_parse(&text);                                                               \
        ck_assert_msg(type##_get(json, &(read), error, sizeof error) == SKEIN_OK, "%s", error);    \
    } while (0)

START_TEST(hello_and_welcome_come_back)
{
    char error[256] = "";
    cJSON *json;
    for (int round = 0; round < ROUNDS; round++) {
        const struct hello a = {.agent = any(),
                                .epoch = any(),
                                .instance = any(),
                                .heartbeat_ms = any(),
                                .host = words(),
                                .version = words(),
                                .boot = words(),
                                .labels = labels()};
        struct hello b;
        TRIP(hello, a, b);
        SAME(a, b, agent);
        SAME(a, b, epoch);
        SAME(a, b, instance);
        SAME(a, b, heartbeat_ms);
        SAME_TEXT(a, b, host);
        SAME_TEXT(a, b, version);
        SAME_TEXT(a, b, boot);
        SAME_TEXT(a, b, labels);
        cJSON_Delete(json);
        const struct welcome c = {.collector = words(),
                                  .lease_ms = at_most(86400000),
                                  .heartbeat_ms = at_most(3600000),
                                  .rules_generation = at_most(INT64_MAX),
                                  .received_ns = at_most(INT64_MAX),
                                  .clock = at_most(INT64_MAX),
                                  .captures_per_hour =
                                      coin() ? at_most(INT64_MAX) : WELCOME_SAYS_NOT};
        struct welcome d;
        TRIP(welcome, c, d);
        SAME_TEXT(c, d, collector);
        SAME(c, d, lease_ms);
        SAME(c, d, heartbeat_ms);
        SAME(c, d, rules_generation);
        SAME(c, d, received_ns);
        SAME(c, d, clock);
        SAME(c, d, captures_per_hour);
        cJSON_Delete(json);
    }
}
END_TEST

START_TEST(heartbeats_come_back)
{
    char error[256] = "";
    cJSON *json;
    for (int round = 0; round < ROUNDS; round++) {
        struct heartbeat a = {.agent = any(),
                              .instance = any(),
                              .sent_ns = when(),
                              .knows_offset = coin(),
                              .rules_generation = any(),
                              .policies_generation = any(),
                              .processes_version = any(),
                              .state = {.cpu_ms = any(),
                                        .spool_bytes = any(),
                                        .spool_partitions = any(),
                                        .lost_partitions = any(),
                                        .lost_events = any()}};
        struct heartbeat b;
        a.clock_offset_ns = a.knows_offset ? offset() : 0;
        a.clock_error_ns = a.knows_offset && coin() ? any() : 0;
        a.clock = a.clock_error_ns != 0 ? any() : 0;
#define X(name, help) a.state.counters.name = any();
        AGENT_COUNTER_LIST(X)
#undef X
        if (coin())
            a.state.samples = (struct heartbeat_samples){true, any(), any(), any(), any(), ""};
        if (a.state.samples.told && coin())
            snprintf(a.state.samples.refused, sizeof a.state.samples.refused, "EPERM; needs more");
        if (coin())
            snprintf(a.state.refused.sched, sizeof a.state.refused.sched, "no tracefs");
        if (coin())
            snprintf(a.state.refused.threads, sizeof a.state.refused.threads, "no ptrace");
        TRIP(heartbeat, a, b);
        ck_assert_str_eq(a.state.refused.sched, b.state.refused.sched);
        ck_assert_str_eq(a.state.refused.threads, b.state.refused.threads);
        SAME(a, b, state.samples.told);
        SAME(a, b, state.samples.hz);
        SAME(a, b, state.samples.cpus);
        SAME(a, b, state.samples.bytes);
        SAME(a, b, state.samples.reach_ms);
        ck_assert_str_eq(a.state.samples.refused, b.state.samples.refused);
        SAME(a, b, agent);
        SAME(a, b, instance);
        SAME(a, b, sent_ns);
        SAME(a, b, knows_offset);
        SAME(a, b, clock_offset_ns);
        SAME(a, b, clock_error_ns);
        SAME(a, b, clock);
        SAME(a, b, rules_generation);
        SAME(a, b, policies_generation);
        SAME(a, b, processes_version);
        SAME(a, b, state.cpu_ms);
        SAME(a, b, state.spool_bytes);
        SAME(a, b, state.spool_partitions);
        SAME(a, b, state.lost_partitions);
        SAME(a, b, state.lost_events);
        ck_assert_mem_eq(&a.state.counters, &b.state.counters, sizeof a.state.counters);
        cJSON_Delete(json);
        const struct heartbeat_ack c = {.received_ns = at_most(INT64_MAX),
                                        .clock = at_most(INT64_MAX),
                                        .rules_generation = at_most(INT64_MAX),
                                        .hello = coin(),
                                        .cloned = coin()};
        struct heartbeat_ack d;
        TRIP(heartbeat_ack, c, d);
        SAME(c, d, received_ns);
        SAME(c, d, clock);
        SAME(c, d, rules_generation);
        SAME(c, d, hello);
        SAME(c, d, cloned);
        cJSON_Delete(json);
    }
}
END_TEST

static void fill_command(struct command *a, struct process_uid *list, cJSON *set, cJSON *names)
{
    *a = (struct command){.kind = (enum command_kind)(1 + next_random() % 6), .command = words()};
    if (a->kind == COMMAND_CAPTURE || a->kind == COMMAND_STOP) {
        id(a->capture.bytes);
    } else if (a->kind != COMMAND_PROCESSES) {
        a->generation = at_most(INT64_MAX);
        a->set = set;
        a->removed = a->kind == COMMAND_RULES_CHANGE ? names : NULL;
        a->base = a->kind == COMMAND_RULES_CHANGE ? at_most(INT64_MAX) : 0;
    }
    if (a->kind != COMMAND_CAPTURE)
        return;
    a->clock = at_most(INT64_MAX);
    a->sent_ns = at_most(INT64_MAX);
    a->at_ns = at_most(INT64_MAX);
    a->pre_ms = at_most(86400000);
    a->post_ms = at_most(86400000);
    a->deadline_ns = at_most(INT64_MAX);
    a->stream_ms = coin() ? 0 : COMMAND_STREAM_MS_MIN + at_most(1000);
    a->upload_after_ms = at_most(COMMAND_UPLOAD_AFTER_MS_MAX);
    a->unshared = coin();
    a->wish.only = coin();
    a->wish.kinds = EVIDENCE_BIT(a->wish.only ? EVIDENCE_KIND_COUNT : EVIDENCE_THREADS + 1) - 1;
    a->wish.kinds &= (uint32_t)next_random();
    a->processes = list;
    a->process_count = 1 + next_random() % LIST_MAX;
    for (size_t i = 0; i < a->process_count; i++)
        id(list[i].bytes);
}

START_TEST(commands_come_back)
{
    char error[256] = "";
    cJSON *json, *names = cJSON_Parse("[\"z\",\"\"]");
    cJSON *set = cJSON_Parse("[{\"name\":\"x\"},{\"name\":\"y\",\"list\":[1,2,{}]}]");
    struct process_uid list[LIST_MAX];
    for (int round = 0; round < ROUNDS; round++) {
        struct command a, b;
        fill_command(&a, list, set, names);
        TRIP(command, a, b);
        SAME(a, b, kind);
        SAME_TEXT(a, b, command);
        SAME_ID(a, b, capture);
        SAME(a, b, clock);
        SAME(a, b, sent_ns);
        SAME(a, b, at_ns);
        SAME(a, b, pre_ms);
        SAME(a, b, post_ms);
        SAME(a, b, deadline_ns);
        SAME(a, b, stream_ms);
        SAME(a, b, upload_after_ms);
        SAME(a, b, unshared);
        SAME(a, b, wish.only); /* P-32 */
        SAME(a, b, wish.kinds);
        SAME(a, b, generation);
        SAME(a, b, base);
        ck_assert((a.removed == NULL) == (b.removed == NULL));
        ck_assert(a.removed == NULL || cJSON_Compare(a.removed, b.removed, true));
        SAME(a, b, process_count);
        if (a.process_count > 0)
            ck_assert_mem_eq(a.processes, b.processes, a.process_count * sizeof *list);
        ck_assert((a.set == NULL) == (b.set == NULL));
        ck_assert(a.set == NULL || cJSON_Compare(a.set, b.set, true));
        command_fini(&b);
        cJSON_Delete(json);
    }
    cJSON_Delete(set);
    cJSON_Delete(names);
}
END_TEST

START_TEST(pushed_policies_come_back) /* P-25 */
{
    char error[256] = "";
    for (int round = 0; round < ROUNDS; round++) {
        struct pushed_policy a = {.name = "policy",
                                  .selector = words(),
                                  .generation = at_most(INT64_MAX),
                                  .record_ms = 1 + at_most(UINT32_MAX - 1),
                                  .every_ms = 1 + at_most(UINT32_MAX - 1),
                                  .agent_cpu_percent = at_most(100),
                                  .samples_hz = at_most(10000),
                                  .paused = coin()},
                             b;
        a.kinds = (uint32_t)next_random() & (EVIDENCE_BIT(EVIDENCE_KIND_COUNT) - 1); /* P-32 */
        cJSON *set = cJSON_CreateArray();
        ck_assert(pushed_policy_put(&a, set));
        ck_assert_int_eq(cJSON_GetArraySize(set), 1);
        const cJSON *item = cJSON_GetArrayItem(set, 0);
        ck_assert_msg(pushed_policy_get(item, &b, error, sizeof error) == SKEIN_OK, "%s", error);
        SAME_TEXT(a, b, name);
        SAME_TEXT(a, b, selector);
        SAME(a, b, generation);
        SAME(a, b, record_ms);
        SAME(a, b, every_ms);
        SAME(a, b, agent_cpu_percent);
        SAME(a, b, kinds);
        SAME(a, b, samples_hz);
        SAME(a, b, paused);
        cJSON_Delete(set);
    }
}
END_TEST

START_TEST(acknowledgements_come_back)
{
    char error[256] = "";
    cJSON *json;
    for (int round = 0; round < ROUNDS; round++) {
        struct command_ack a = {.agent = any(), .command = words(), .ok = coin()}, b;
        a.error = a.ok ? "" : words();
        TRIP(command_ack, a, b);
        SAME(a, b, agent);
        SAME(a, b, ok);
        SAME_TEXT(a, b, command);
        SAME_TEXT(a, b, error);
        cJSON_Delete(json);
        struct report_ack c = {.ok = coin(), .error = words()}, d;
        TRIP(report_ack, c, d);
        SAME(c, d, ok);
        if (!c.ok)
            SAME_TEXT(c, d, error);
        cJSON_Delete(json);
        struct control_error e = {words()}, f;
        TRIP(control_error, e, f);
        SAME_TEXT(e, f, error);
        cJSON_Delete(json);
    }
}
END_TEST

static void fill_process(struct report_process *p)
{
    *p = (struct report_process){.pid = (uint32_t)next_random(),
                                 .user = coin() ? (uint32_t)next_random() : SHARE_USER_UNKNOWN,
                                 .live = coin(),
                                 .service = words(),
                                 .labels = labels(),
                                 .exe = words(),
                                 .start_ns = when(),
                                 .ended_ns = when(),
                                 .attached_ns = when(),
                                 .not_recorded = coin() ? "" : loss_text(LOSS_REFUSED),
                                 .mode = "",
                                 .title = "",
                                 .ring_why = ""};
    id(p->uid.bytes);
    if (p->not_recorded[0] != '\0')
        return;
    p->mode = coin() ? "circular" : "oneshot";
    p->title = words();
    p->ring_bytes = any();
    p->ring_wished_bytes = any();
    p->ring_memory_bytes = any();
    p->ring_why = coin() ? "" : "its cgroup";
    p->used_bytes = any();
    p->bytes_per_s = any();
    p->reach_ms = any();
    p->events_lost = any();
    p->wrapped = any();
}

static void same_process(const struct report_process *a, const struct report_process *b)
{
    SAME_ID(*a, *b, uid);
    SAME(*a, *b, pid);
    SAME(*a, *b, user);
    SAME(*a, *b, live);
    SAME_TEXT(*a, *b, service);
    SAME_TEXT(*a, *b, labels);
    SAME_TEXT(*a, *b, exe);
    SAME(*a, *b, start_ns);
    SAME(*a, *b, ended_ns);
    SAME(*a, *b, attached_ns);
    SAME_TEXT(*a, *b, not_recorded);
    SAME_TEXT(*a, *b, mode);
    SAME_TEXT(*a, *b, title);
    SAME(*a, *b, ring_bytes);
    SAME(*a, *b, ring_wished_bytes);
    SAME(*a, *b, ring_memory_bytes);
    SAME_TEXT(*a, *b, ring_why);
    SAME(*a, *b, used_bytes);
    SAME(*a, *b, bytes_per_s);
    SAME(*a, *b, reach_ms);
    SAME(*a, *b, events_lost);
    SAME(*a, *b, wrapped);
}

START_TEST(lists_of_processes_come_back)
{
    char error[256] = "";
    cJSON *json;
    for (int round = 0; round < ROUNDS; round++) {
        struct report_process items[2]; /* words() keeps the texts of so many */
        struct report_processes a = {.agent = any(),
                                     .version = any(),
                                     .pages = 1 + at_most((1u << 20) - 1),
                                     .clock_offset_ns = offset(),
                                     .clock = at_most(INT64_MAX),
                                     .known_from_ns = when(),
                                     .items = items,
                                     .count = next_random() % 3};
        struct report r;
        a.page = at_most(a.pages - 1);
        for (size_t i = 0; i < a.count; i++)
            fill_process(&items[i]);
        struct buf text = {0};
        report_processes_put(&a, &text);
        json = put_and_parse(&text);
        ck_assert_msg(report_get(json, &r, error, sizeof error) == SKEIN_OK, "%s", error);
        ck_assert_int_eq(r.kind, REPORT_PROCESSES);
        ck_assert_uint_eq(r.agent, a.agent);
        const struct report_processes *b = &r.processes;
        SAME(a, *b, version);
        SAME(a, *b, page);
        SAME(a, *b, pages);
        SAME(a, *b, clock_offset_ns);
        SAME(a, *b, clock);
        SAME(a, *b, known_from_ns);
        SAME(a, *b, count);
        for (size_t i = 0; i < a.count; i++)
            same_process(&items[i], &b->items[i]);
        report_fini(&r);
        cJSON_Delete(json);
    }
}
END_TEST

START_TEST(firings_come_back)
{
    char error[256] = "";
    cJSON *json;
    struct process_uid with[LIST_MAX];
    for (int round = 0; round < ROUNDS; round++) {
        struct report_fired a = {.agent = any(),
                                 .with = with,
                                 .with_count = next_random() % LIST_MAX,
                                 .trigger = (enum trigger_type)(1 + next_random() % TRIGGER_POLICY),
                                 .rule = words(),
                                 .policy = "",
                                 .reason = words(),
                                 .pid = (uint32_t)next_random(),
                                 .user = coin() ? (uint32_t)next_random() : SHARE_USER_UNKNOWN,
                                 .service = words(),
                                 .labels = labels(),
                                 .exe = words(),
                                 .at_ns = when(),
                                 .pre_ms = at_most(UINT32_MAX),
                                 .post_ms = at_most(UINT32_MAX),
                                 .clock = {.offset_ns = offset(), .clock = any()}};
        struct report_fired b;
        id(a.capture.bytes);
        id(a.process.bytes);
        for (size_t i = 0; i < a.with_count; i++)
            id(with[i].bytes);
        if (a.trigger == TRIGGER_POLICY)
            a.policy = "p";
        TRIP(report_fired, a, b);
        SAME(a, b, agent);
        SAME_ID(a, b, capture);
        SAME_ID(a, b, process);
        SAME(a, b, with_count);
        if (a.with_count > 0)
            ck_assert_mem_eq(a.with, b.with, a.with_count * sizeof *with);
        SAME(a, b, trigger);
        SAME_TEXT(a, b, rule);
        SAME_TEXT(a, b, policy);
        SAME_TEXT(a, b, reason);
        SAME(a, b, pid);
        SAME(a, b, user);
        SAME_TEXT(a, b, service);
        SAME_TEXT(a, b, labels);
        SAME_TEXT(a, b, exe);
        SAME(a, b, at_ns);
        SAME(a, b, pre_ms);
        SAME(a, b, post_ms);
        SAME(a, b, clock.offset_ns);
        SAME(a, b, clock.clock);
        report_fired_fini(&b);
        cJSON_Delete(json);
    }
}
END_TEST

static void fill_target(struct report_target *a, struct report_range *ranges,
                        struct report_loss *losses, struct report_gap *gaps)
{
    *a = (struct report_target){.agent = any(),
                                .state = (enum report_state)(next_random() % 4),
                                .reason = words(),
                                .has_window = coin(),
                                .has_death = coin(),
                                .clock = {.offset_ns = offset(), .clock = any()},
                                .events = any(),
                                .partitions = ranges,
                                .losses = losses,
                                .gaps = gaps,
                                .partition_count = next_random() % LIST_MAX,
                                .loss_count = next_random() % LOSS_REASONS,
                                .gap_count = next_random() % LIST_MAX};
    id(a->capture.bytes);
    id(a->process.bytes);
    if (a->state == REPORT_CAPTURING)
        a->trigger = (enum trigger_type)(next_random() % TRIGGER_TYPES);
    a->began_ns = when();
    a->stream = a->state == REPORT_CAPTURING && next_random() % 2 == 0;
    a->from_ns = a->has_window ? when() : 0;
    a->to_ns = a->has_window ? when() : 0;
    if (coin())
        a->ring = (struct report_ring){1 + at_most(1 << 30), any(), any(), coin() ? "" : "short"};
    a->signal = a->has_death ? (int64_t)at_most(127) : 0;
    a->status = a->has_death ? (int64_t)at_most(INT32_MAX) : 0;
    for (size_t i = 0; i < a->partition_count; i++) {
        uint64_t first = any(), more = at_most(REPORT_LISTED_MAX / LIST_MAX - 1);
        uint64_t last = first <= UINT64_MAX - more ? first + more : first;
        ranges[i] =
            (struct report_range){any(), first, last, at_most(UINT64_MAX / LIST_MAX), any()};
        a->listed += last - first + 1;
        a->listed_events += ranges[i].events;
    }
    for (size_t i = 0; i < a->loss_count; i++)
        losses[i] = (struct report_loss){loss_text((enum loss_reason)i), any()};
    for (size_t i = 0; i < a->gap_count; i++)
        gaps[i] = (struct report_gap){when(), when(), loss_text((enum loss_reason)i)};
}

START_TEST(targets_come_back)
{
    char error[256] = "";
    cJSON *json;
    struct report_range ranges[LIST_MAX];
    struct report_loss losses[LOSS_REASONS];
    struct report_gap gaps[LIST_MAX];
    for (int round = 0; round < ROUNDS; round++) {
        struct report_target a, b;
        fill_target(&a, ranges, losses, gaps);
        TRIP(report_target, a, b);
        SAME(a, b, agent);
        SAME_ID(a, b, capture);
        SAME_ID(a, b, process);
        SAME(a, b, state);
        SAME(a, b, trigger);
        SAME(a, b, stream);
        SAME(a, b, began_ns);
        SAME_TEXT(a, b, reason);
        SAME(a, b, has_window);
        SAME(a, b, has_death);
        SAME(a, b, from_ns);
        SAME(a, b, to_ns);
        SAME(a, b, clock.offset_ns);
        SAME(a, b, clock.clock);
        SAME(a, b, clock.error_ns);
        SAME(a, b, events);
        SAME(a, b, signal);
        SAME(a, b, status);
        SAME(a, b, listed);
        SAME(a, b, listed_events);
        SAME(a, b, partition_count);
        SAME(a, b, loss_count);
        SAME(a, b, gap_count);
        SAME(a, b, ring.bytes);
        SAME(a, b, ring.wished_bytes);
        SAME(a, b, ring.memory_bytes);
        if (a.ring.bytes != 0)
            SAME_TEXT(a, b, ring.why);
        if (a.partition_count > 0)
            ck_assert_mem_eq(ranges, b.partitions, a.partition_count * sizeof *ranges);
        for (size_t i = 0; i < a.loss_count; i++) {
            SAME_TEXT(a, b, losses[i].reason);
            SAME(a, b, losses[i].events);
        }
        for (size_t i = 0; i < a.gap_count; i++) {
            SAME(a, b, gaps[i].from_ns);
            SAME(a, b, gaps[i].to_ns);
            SAME_TEXT(a, b, gaps[i].reason);
        }
        report_target_fini(&b);
        cJSON_Delete(json);
    }
}
END_TEST

START_TEST(rules_and_policies_come_back)
{
    static const char *const healths[] = {"passing", "failing", "unknown"};
    char error[256] = "";
    cJSON *json;
    for (int round = 0; round < ROUNDS; round++) {
        struct report_rule a = {.agent = any(),
                                .clock = {offset(), any(), coin() ? any() : 0},
                                .rule = words(),
                                .health = healths[next_random() % 3],
                                .last_error = words(),
                                .held = words(),
                                .since_ns = when(),
                                .checks = any(),
                                .failures = any(),
                                .fired = any(),
                                .suppressed = any()};
        struct report_rule b;
        id(a.process.bytes);
        TRIP(report_rule, a, b);
        SAME(a, b, agent);
        SAME_ID(a, b, process);
        SAME(a, b, clock.offset_ns);
        SAME(a, b, clock.clock);
        SAME_TEXT(a, b, rule);
        SAME_TEXT(a, b, health);
        SAME_TEXT(a, b, last_error);
        SAME_TEXT(a, b, held);
        SAME(a, b, since_ns);
        SAME(a, b, checks);
        SAME(a, b, failures);
        SAME(a, b, fired);
        SAME(a, b, suppressed);
        cJSON_Delete(json);
        const struct report_policy c = {
            .agent = any(), .policy = words(), .paused = coin(), .cpu_percent = any()};
        struct report_policy d;
        TRIP(report_policy, c, d);
        SAME(c, d, agent);
        SAME_TEXT(c, d, policy);
        SAME(c, d, paused);
        SAME(c, d, cpu_percent);
        cJSON_Delete(json);
    }
}
END_TEST

int main(void)
{
    const char *given = getenv("SKEIN_TEST_SEED");
    state = given != NULL ? strtoull(given, NULL, 10) : 20261122;
    fprintf(stderr, "SKEIN_TEST_SEED=%llu\n", (unsigned long long)state);
    return suite_run(suite_of(
        "control round trip", hello_and_welcome_come_back, heartbeats_come_back, commands_come_back,
        pushed_policies_come_back, acknowledgements_come_back, lists_of_processes_come_back,
        firings_come_back, targets_come_back, rules_and_policies_come_back, NULL));
}
