/* SPDX-License-Identifier: Apache-2.0
 * The agent's side of both ports, for tests of the collector. */
#include "fake_wire_agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "json.h"
#include "support.h"

#define REPEAT_MS 500

static struct transport *dial(uint16_t port)
{
    char address[64];
    struct transport *t;
    snprintf(address, sizeof address, "tcp://127.0.0.1:%u", port);
    ck_assert_int_eq(transport_dial(address, WIRE_DATA_MAX, &t), SKEIN_OK);
    return t;
}

void wire_agent_open(struct wire_agent *a, uint64_t id, const char *host, uint16_t control_port,
                     uint16_t data_port)
{
    memset(a, 0, sizeof *a);
    a->id = id;
    a->host = host;
    a->epoch = 1;
    a->next_frame = 1;
    a->control = dial(control_port);
    a->data_port = data_port;
}

void wire_agent_close(struct wire_agent *a)
{
    for (size_t i = 0; i < a->waiting_count; i++)
        cJSON_Delete(a->waiting[i]);
    transport_free(&a->control);
    if (a->data != NULL)
        transport_free(&a->data);
}

static void send_frame(struct wire_agent *a, uint8_t type, uint64_t id, const cJSON *json)
{
    struct buf body = {0}, frame = {0};
    json_print(json, &body);
    wire_frame_put(&frame, type, id, body.data, body.len);
    void *message = transport_alloc(frame.len);
    ck_assert_ptr_nonnull(message);
    memcpy(message, frame.data, frame.len);
    if (transport_send(a->control, message, NULL, REPEAT_MS) != SKEIN_OK)
        transport_alloc_free(message); /* not connected yet: the caller repeats */
    buf_fini(&body);
    buf_fini(&frame);
}

/* The next message within the time; commands are put aside unless they are what is awaited. */
static cJSON *receive(struct wire_agent *a, uint8_t type, uint64_t id, int timeout_ms)
{
    uint64_t end = clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000u;
    char error[128];
    for (;;) {
        struct transport_message message;
        struct wire_frame frame;
        uint64_t now = clock_monotonic_ns();
        int left = now < end ? (int)((end - now) / 1000000u) + 1 : 0;
        if (left == 0 || transport_receive(a->control, left, &message) != SKEIN_OK)
            return NULL;
        ck_assert_int_eq(wire_frame_get(message.data, message.len, &frame), SKEIN_OK);
        cJSON *json = json_parse((const char *)frame.body, frame.body_bytes, error, sizeof error);
        ck_assert_msg(json != NULL, "%s", error);
        uint8_t got = frame.type;
        uint64_t got_id = frame.id;
        transport_message_free(&message);
        if (got == type && (id == 0 || got_id == id))
            return json;
        if (got == WIRE_COMMAND && a->waiting_count < 64)
            a->waiting[a->waiting_count++] = json;
        else
            cJSON_Delete(json);
    }
}

/* Sends until the answer comes. */
static cJSON *ask(struct wire_agent *a, uint8_t type, uint8_t answer, const cJSON *json)
{
    uint64_t end = clock_monotonic_ns() + support_deadline_ms() * UINT64_C(1000000);
    uint64_t id = a->next_frame++;
    cJSON *got = NULL;
    while (got == NULL && clock_monotonic_ns() < end) {
        send_frame(a, type, id, json);
        got = receive(a, answer, id, REPEAT_MS);
    }
    return got;
}

static cJSON *object_of(const struct wire_agent *a)
{
    char id[17];
    cJSON *json = cJSON_CreateObject();
    snprintf(id, sizeof id, "%016llx", (unsigned long long)a->id);
    cJSON_AddStringToObject(json, "agent", id);
    return json;
}

cJSON *wire_agent_hello(struct wire_agent *a)
{
    cJSON *hello = object_of(a);
    cJSON_AddStringToObject(hello, "host", a->host);
    cJSON_AddStringToObject(hello, "version", "test");
    cJSON_AddStringToObject(hello, "boot", "boot-of-tests");
    json_add_u64(hello, "epoch", a->epoch);
    cJSON_AddStringToObject(hello, "labels", "zone=a");
    json_add_u64(hello, "heartbeat_ms", 1000);
    cJSON_AddNullToObject(hello, "seal");
    cJSON *welcome = ask(a, WIRE_HELLO, WIRE_WELCOME, hello);
    cJSON_Delete(hello);
    ck_assert_msg(welcome != NULL, "no WELCOME");
    return welcome;
}

cJSON *wire_agent_beat(struct wire_agent *a, uint64_t sent_ns, uint64_t rules_generation)
{
    cJSON *beat = object_of(a);
    json_add_u64(beat, "sent_ns", sent_ns != 0 ? sent_ns : clock_realtime_ns());
    json_add_u64(beat, "rules_generation", rules_generation);
    json_add_u64(beat, "policies_generation", a->policies_generation);
    json_add_u64(beat, "processes_version", a->version);
    if (a->samples != NULL)
        cJSON_AddItemToObject(beat, "samples", cJSON_Parse(a->samples));
    if (a->refused != NULL)
        cJSON_AddItemToObject(beat, "refused", cJSON_Parse(a->refused));
    cJSON *clock = a->clock != NULL ? cJSON_Parse(a->clock) : NULL;
    for (cJSON *item; clock != NULL && (item = cJSON_DetachItemFromArray(clock, 0)) != NULL;)
        cJSON_AddItemToObject(beat, item->string, item);
    cJSON_Delete(clock);
    cJSON *answer = ask(a, WIRE_HEARTBEAT, WIRE_HEARTBEAT_ACK, beat);
    cJSON_Delete(beat);
    ck_assert_msg(answer != NULL, "no answer to a heartbeat");
    return answer;
}

cJSON *wire_report(const struct wire_agent *a, const char *kind)
{
    cJSON *report = object_of(a);
    cJSON_AddStringToObject(report, "kind", kind);
    return report;
}

bool wire_agent_report(struct wire_agent *a, cJSON *report, char *error, size_t error_bytes)
{
    cJSON *answer = ask(a, WIRE_REPORT, WIRE_REPORT_ACK, report);
    cJSON_Delete(report);
    ck_assert_msg(answer != NULL, "a report is not answered");
    bool ok = cJSON_IsTrue(cJSON_GetObjectItem(answer, "ok"));
    const char *words = cJSON_GetStringValue(cJSON_GetObjectItem(answer, "error"));
    snprintf(error, error_bytes, "%s", words != NULL ? words : "");
    cJSON_Delete(answer);
    return ok;
}

static void add_process(cJSON *to, const char *key, uint32_t n)
{
    char text[ID_TEXT_BYTES];
    id_text(process_of(n).bytes, text);
    cJSON_AddStringToObject(to, key, text);
}

void wire_agent_processes(struct wire_agent *a, uint32_t first, uint32_t count, const char *service)
{
    char error[256];
    cJSON *report = wire_report(a, "processes");
    json_add_u64(report, "version", ++a->version);
    json_add_u64(report, "page", 0);
    json_add_u64(report, "pages", 1);
    cJSON *list = cJSON_AddArrayToObject(report, "processes");
    for (uint32_t i = 0; i < count; i++) {
        cJSON *p = cJSON_CreateObject();
        add_process(p, "process", first + i);
        json_add_u64(p, "pid", 100 + first + i);
        if (a->users != NULL)
            json_add_u64(p, "uid", a->users[first + i]);
        cJSON_AddStringToObject(p, "service", service);
        cJSON_AddStringToObject(p, "labels", "tier=front");
        cJSON_AddStringToObject(p, "exe", "/usr/bin/svc");
        cJSON_AddStringToObject(p, "state", "live");
        cJSON_AddStringToObject(p, "mode", "circular");
        json_add_u64(p, "start_ns", clock_realtime_ns());
        json_add_u64(p, "ring_bytes", 1 << 20);
        cJSON_AddItemToArray(list, p);
    }
    ck_assert_msg(wire_agent_report(a, report, error, sizeof error), "%s", error);
}

cJSON *wire_target(const struct wire_agent *a, const char *capture, uint32_t process,
                   const char *state, unsigned sequences, unsigned events)
{
    cJSON *report = wire_report(a, "target");
    cJSON_AddStringToObject(report, "capture", capture);
    add_process(report, "process", process);
    cJSON_AddStringToObject(report, "state", state);
    cJSON *list = cJSON_AddArrayToObject(report, "partitions");
    if (sequences > 0) {
        cJSON *range = cJSON_CreateObject();
        json_add_u64(range, "epoch", a->epoch);
        json_add_u64(range, "first", 0);
        json_add_u64(range, "last", sequences - 1);
        json_add_u64(range, "events", (uint64_t)events * sequences);
        json_add_u64(range, "bytes", UINT64_C(1000) * sequences);
        cJSON_AddItemToArray(list, range);
    }
    cJSON *ledger = cJSON_AddObjectToObject(report, "ledger");
    json_add_u64(ledger, "events", (uint64_t)events * sequences);
    cJSON_AddObjectToObject(ledger, "lost");
    cJSON_AddArrayToObject(report, "gaps");
    return report;
}

cJSON *wire_fired(const struct wire_agent *a, const char *capture, uint32_t process,
                  const char *rule, uint64_t at_ns)
{
    cJSON *report = wire_report(a, "fired");
    cJSON_AddStringToObject(report, "capture", capture);
    cJSON_AddStringToObject(report, "trigger", rule != NULL ? "health" : "application");
    if (rule != NULL)
        cJSON_AddStringToObject(report, "rule", rule);
    add_process(report, "process", process);
    json_add_u64(report, "at_ns", at_ns);
    cJSON_AddStringToObject(report, "reason", "no PONG within 500 ms");
    json_add_u64(report, "pre_ms", 5000);
    json_add_u64(report, "post_ms", 1000);
    return report;
}

cJSON *wire_agent_command(struct wire_agent *a, const char *kind, int timeout_ms)
{
    uint64_t end = clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000u;
    for (;;) {
        cJSON *command = NULL;
        for (size_t i = 0; i < a->waiting_count && command == NULL; i++) {
            const char *is = cJSON_GetStringValue(cJSON_GetObjectItem(a->waiting[i], "kind"));
            if (is == NULL || strcmp(is, kind) != 0)
                continue;
            command = a->waiting[i];
            memmove(&a->waiting[i], &a->waiting[i + 1],
                    (a->waiting_count - i - 1) * sizeof(cJSON *));
            a->waiting_count--;
        }
        if (command != NULL)
            return command;
        uint64_t now = clock_monotonic_ns();
        if (now >= end)
            return NULL;
        command = receive(a, WIRE_COMMAND, 0, (int)((end - now) / 1000000u) + 1);
        if (command == NULL)
            return NULL;
        ck_assert_uint_lt(a->waiting_count, 64);
        a->waiting[a->waiting_count++] = command;
    }
}

static bool is_command(const cJSON *json, const cJSON *number)
{
    return cJSON_Compare(cJSON_GetObjectItem(json, "command"), number, true);
}

/* Forgets what came of the command once more before the collector had heard of it. */
static void repeats_drop(struct wire_agent *a, const cJSON *number)
{
    size_t kept = 0;
    for (size_t i = 0; i < a->waiting_count; i++)
        if (is_command(a->waiting[i], number))
            cJSON_Delete(a->waiting[i]);
        else
            a->waiting[kept++] = a->waiting[i];
    a->waiting_count = kept;
}

void wire_agent_ack(struct wire_agent *a, const cJSON *command, const char *error)
{
    const cJSON *number = cJSON_GetObjectItem(command, "command");
    uint64_t end = clock_monotonic_ns() + support_deadline_ms() * UINT64_C(1000000);
    cJSON *ack = object_of(a), *question = wire_report(a, "none that there is"), *answer = NULL;
    cJSON_AddItemToObject(ack, "command", cJSON_Duplicate(number, false));
    cJSON_AddStringToObject(ack, "status", error == NULL ? "ok" : "failed");
    if (error != NULL)
        cJSON_AddStringToObject(ack, "error", error);
    /* Nobody answers an acknowledgement, but a question behind it, which changes nothing. */
    while (answer == NULL && clock_monotonic_ns() < end) {
        uint64_t id = a->next_frame++;
        send_frame(a, WIRE_COMMAND_ACK, a->next_frame++, ack);
        send_frame(a, WIRE_REPORT, id, question);
        answer = receive(a, WIRE_REPORT_ACK, id, REPEAT_MS);
    }
    ck_assert_msg(answer != NULL, "an acknowledgement is not heard");
    repeats_drop(a, number);
    cJSON_Delete(answer);
    cJSON_Delete(question);
    cJSON_Delete(ack);
}

static enum wire_ack_status upload(struct wire_agent *a, const struct partition_key *key,
                                   const char *capture, const struct buf *bytes)
{
    struct capture_id id;
    ck_assert_int_eq(id_parse(capture, id.bytes), SKEIN_OK);
    if (a->data == NULL)
        a->data = dial(a->data_port);
    return partition_upload(a->data, key, &id, bytes);
}

enum wire_ack_status wire_agent_upload(struct wire_agent *a, uint32_t process, uint64_t sequence,
                                       const char *capture, size_t noise_bytes)
{
    struct partition_key key = key_of(process, a->epoch, sequence);
    struct buf bytes = {0};
    partition_of(&key, noise_bytes, &bytes);
    enum wire_ack_status status = upload(a, &key, capture, &bytes);
    buf_fini(&bytes);
    return status;
}

enum wire_ack_status wire_agent_upload_of(struct wire_agent *a, uint32_t process, uint64_t sequence,
                                          const char *capture, const char *service)
{
    struct partition_spec spec = {.key = key_of(process, a->epoch, sequence),
                                  .from_ns = clock_realtime_ns(),
                                  .service = service,
                                  .host = a->host};
    struct buf bytes = {0};
    spec.to_ns = spec.from_ns;
    partition_make(&spec, &bytes);
    enum wire_ack_status status = upload(a, &spec.key, capture, &bytes);
    buf_fini(&bytes);
    return status;
}
