/* SPDX-License-Identifier: Apache-2.0
 *
 * The control connection: HELLO, heartbeats, the clock's offset, reports until they are
 * acknowledged, commands in. Uplink thread only.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_clock.h"
#include "clock.h"
#include "heartbeat.h"
#include "hello.h"
#include "log.h"
#include "report.h"
#include "uplink_int.h"

#define REPORT_WAIT_MS        1000
#define REPORT_WAIT_MAX_MS    10000
#define COMMAND_ACK_TRIES_NS  (10 * NS_PER_S)
#define NOT_CONNECTED_WAIT_NS (50 * NS_PER_MS)
#define HELLOS_BEFORE_REDIAL  10
#define BEATS_BEFORE_REDIAL   3
#define CLOCK_STEP_NS         (10 * (int64_t)NS_PER_MS)

static void control_wake_by(uint64_t *wake_ns, uint64_t at_ns)
{
    if (at_ns < *wake_ns)
        *wake_ns = at_ns;
}

static uint64_t random_next(struct uplink *uplink)
{
    uplink->random ^= uplink->random << 13;
    uplink->random ^= uplink->random >> 7;
    uplink->random ^= uplink->random << 17;
    return uplink->random;
}

int uplink_control_send(struct uplink *uplink, uint8_t type, uint64_t id, const void *body,
                        size_t n)
{
    /* The handshake itself goes in plain. */
    bool sealed = uplink->seal != NULL && type != WIRE_OPEN;
    size_t head = sealed ? SEAL_HEAD_BYTES : WIRE_HEADER_BYTES;
    uint8_t *message = transport_alloc(head + n + (sealed ? SEAL_TAG_BYTES : 0));
    if (message == NULL)
        return SKEIN_NO_MEMORY;
    memcpy(message + head, body, n);
    int status = SKEIN_OK;
    if (sealed)
        status = uplink_seal_close(uplink->seal, SEAL_CONTROL, message, type, id, n);
    else
        wire_frame_seal(message, type, id, n);
    if (status == SKEIN_OK)
        status = transport_send(uplink->control, message, NULL, 0);
    if (status != SKEIN_OK)
        transport_alloc_free(message);
    return status;
}

static int body_send(struct uplink *uplink, uint8_t type, uint64_t id, struct buf *body)
{
    int status = body->status;
    if (status == SKEIN_OK)
        status = uplink_control_send(uplink, type, id, body->data, body->len);
    buf_fini(body);
    return status;
}

static void control_redial(struct uplink *uplink)
{
    transport_redial(uplink->control);
    if (uplink->data != NULL)
        transport_redial(uplink->data);
    if (uplink->seal != NULL)
        uplink_seal_doubt(uplink->seal, clock_monotonic_ns());
    UPLINK_COUNT(uplink, redials);
    log_warn("uplink", "the collector is silent: dialling again", "control",
             uplink->control_address, NULL);
}

/* Returns how long to wait for the next one: a second, or less without a connection. */
static uint64_t hello_say(struct uplink *uplink)
{
    if (uplink->hellos_unanswered >= HELLOS_BEFORE_REDIAL) {
        control_redial(uplink);
        uplink->hellos_unanswered = 0;
    }
    const struct hello hello = {.agent = uplink->agent,
                                .epoch = uplink->epoch,
                                .instance = uplink->instance,
                                .heartbeat_ms = uplink->heartbeat_ns / NS_PER_MS,
                                .host = uplink->host,
                                .version = uplink->version,
                                .boot = uplink->boot,
                                .labels = uplink->labels};
    struct buf body = {0};
    hello_put(&hello, &body);
    struct clock_sample sample = {++uplink->next_id, agent_clock_ns()};
    uplink->hello = sample;
    if (body_send(uplink, WIRE_HELLO, sample.id, &body) != SKEIN_OK)
        return NOT_CONNECTED_WAIT_NS;
    uplink->hellos_unanswered++;
    return NS_PER_S;
}

/* Of what the heartbeat tells of the host's own clock: that of the line, and by how much the host's
 * clock has moved against the line since it was looked at last. */
static uint64_t beat_error_ns(const struct uplink *uplink)
{
    const uint64_t now_ns = agent_clock_ns();
    const int64_t moved_ns = agent_clock_host_ahead_ns() - uplink->host_ahead_ns;
    const uint64_t error_ns = clock_map_error(&uplink->map, now_ns, now_ns);
    return error_ns == 0 ? 0 : error_ns + (uint64_t)(moved_ns < 0 ? -moved_ns : moved_ns);
}

static void heartbeat_fill(struct uplink *uplink, struct heartbeat *beat)
{
    struct spool_counters spool;
    spool_count(uplink->spool, &spool);
    *beat = (struct heartbeat){
        .agent = uplink->agent,
        .instance = uplink->instance,
        .sent_ns = clock_realtime_ns(),
        .knows_offset = uplink->map.known,
        /* of the host's clock, which may be another than the line */
        .clock_offset_ns = uplink->map.offset_ns - uplink->host_ahead_ns,
        .clock_error_ns = beat_error_ns(uplink),
        .clock = uplink->map.clock,
        .rules_generation = __atomic_load_n(&uplink->rules_generation, __ATOMIC_RELAXED),
        .policies_generation = __atomic_load_n(&uplink->policies_generation, __ATOMIC_RELAXED),
        .processes_version = __atomic_load_n(&uplink->processes_version, __ATOMIC_RELAXED),
        .state = {.spool_bytes = spool.bytes,
                  .spool_partitions = spool.partitions,
                  .lost_partitions = spool.lost_partitions,
                  .lost_events = spool.lost_events,
                  .cpu_ms = clock_cpu_ns() / NS_PER_MS}};
    uplink_count(uplink, &beat->state.counters);
    pthread_mutex_lock(&uplink->mutex);
    beat->state.samples = uplink->samples;
    beat->state.refused = uplink->refused;
    pthread_mutex_unlock(&uplink->mutex);
}

/* Tells if the host's clock was set. No part of the agent follows it, but it dates the host's
 * logs. */
static void host_clock_look(struct uplink *uplink)
{
    int64_t ahead_ns = agent_clock_host_ahead_ns(), step_ns = ahead_ns - uplink->host_ahead_ns;
    if (step_ns < CLOCK_STEP_NS && step_ns > -CLOCK_STEP_NS)
        return;
    uplink->host_ahead_ns = ahead_ns;
    UPLINK_COUNT(uplink, clock_steps);
    log_warn("uplink", "the host's clock was set", "by_ms",
             log_fmt("%" PRId64, (step_ns / (int64_t)NS_PER_MS)), NULL);
}

static void control_beat(struct uplink *uplink, uint64_t now_ns)
{
    if (uplink->beats_unanswered >= BEATS_BEFORE_REDIAL) { /* P-10 */
        control_redial(uplink);
        uplink->beats_unanswered = 0;
    }
    host_clock_look(uplink);
    struct clock_sample sample = {++uplink->next_id, agent_clock_ns()};
    struct heartbeat heartbeat;
    struct buf body = {0};
    heartbeat_fill(uplink, &heartbeat);
    heartbeat_put(&heartbeat, &body);
    (void)body_send(uplink, WIRE_HEARTBEAT, sample.id, &body);
    uplink->beats[sample.id % 4] = sample;
    uplink->beats_unanswered++;
    UPLINK_COUNT(uplink, heartbeats);
    uint64_t jitter = uplink->heartbeat_ns / 5; /* 0.9 to 1.1 of the interval */
    uplink->next_beat_ns = now_ns + uplink->heartbeat_ns - jitter / 2 +
                           (jitter != 0 ? random_next(uplink) % jitter : 0);
}

/* Takes over what the journal has that is new; a target's final report supersedes "capturing". */
static void journal_pull(struct uplink *uplink)
{
    struct spool_report report;
    while (spool_report_next(uplink->spool, uplink->spool_revision, &report) == SKEIN_OK) {
        uplink->spool_revision = report.revision;
        char capture[ID_TEXT_BYTES], process[ID_TEXT_BYTES], key[128];
        id_text(report.capture.bytes, capture);
        id_text(report.process.bytes, process);
        snprintf(key, sizeof key, "%s:%s:%s", report.kind == SPOOL_FIRED ? "fired" : "target",
                 capture, process);
        struct outgoing *out = NULL;
        if (report.kind != SPOOL_INTENT && report.kind != SPOOL_FIRING)
            out = outgoing_new(WIRE_REPORT, key, report.text, report.len);
        if (out != NULL) {
            out->revision = report.revision;
            out->kind = report.kind;
            out->on_target = true;
            out->capture = report.capture;
            out->process = report.process;
            pthread_mutex_lock(&uplink->mutex);
            outgoing_put_locked(uplink, out);
            pthread_mutex_unlock(&uplink->mutex);
        }
        free(report.text);
    }
}

/* The collector must know of a capture before it is told of its targets. */
static bool waits_for_fired(struct uplink *uplink, const struct outgoing *out)
{
    if (!out->on_target || out->kind == SPOOL_FIRED)
        return false;
    struct outgoing *other;
    TAILQ_FOREACH(other, &uplink->list, link) {
        if (other->kind == SPOOL_FIRED && capture_id_equal(&other->capture, &out->capture))
            return true;
    }
    return false;
}

/* Sends what is due of the list; true to drop the entry. */
static bool outgoing_send_locked(struct uplink *uplink, struct outgoing *out, uint64_t now_ns)
{
    if (out->type == WIRE_COMMAND_ACK) {
        if (out->wait_ms == 0)
            out->wait_ms = now_ns;
        bool sent =
            uplink_control_send(uplink, out->type, out->id, out->text, out->len) == SKEIN_OK;
        out->next_ns = now_ns + 100 * NS_PER_MS;
        return sent || now_ns - out->wait_ms > COMMAND_ACK_TRIES_NS;
    }
    if (out->id == 0)
        out->id = ++uplink->next_id;
    if (uplink_control_send(uplink, out->type, out->id, out->text, out->len) != SKEIN_OK) {
        out->next_ns = now_ns + 100 * NS_PER_MS;
        return false;
    }
    out->wait_ms = out->wait_ms == 0 ? REPORT_WAIT_MS : out->wait_ms * 2;
    if (out->wait_ms > REPORT_WAIT_MAX_MS)
        out->wait_ms = REPORT_WAIT_MAX_MS;
    out->next_ns = now_ns + out->wait_ms * NS_PER_MS;
    return false;
}

static void outgoing_send(struct uplink *uplink, uint64_t now_ns, uint64_t *wake_ns)
{
    pthread_mutex_lock(&uplink->mutex);
    struct outgoing *out, *next;
    for (out = TAILQ_FIRST(&uplink->list); out != NULL; out = next) {
        next = TAILQ_NEXT(out, link);
        if (waits_for_fired(uplink, out))
            continue;
        if (now_ns >= out->next_ns && outgoing_send_locked(uplink, out, now_ns)) {
            TAILQ_REMOVE(&uplink->list, out, link);
            free(out);
            continue;
        }
        control_wake_by(wake_ns, out->next_ns);
    }
    pthread_mutex_unlock(&uplink->mutex);
}

/* Sends an OPEN where one is due. False while there is no session. */
static bool seal_step(struct uplink *uplink, uint64_t now_ns, uint64_t *wake_ns)
{
    struct buf body = {0};
    if (uplink->seal == NULL)
        return true;
    if (uplink_seal_step(uplink->seal, now_ns, uplink->next_id + 1, &body, wake_ns) == SKEIN_OK) {
        uplink->next_id++;
        if (uplink_control_send(uplink, WIRE_OPEN, uplink->next_id, body.data, body.len) !=
            SKEIN_OK) {
            uplink_seal_unsent(uplink->seal, now_ns);
            control_wake_by(wake_ns, now_ns + NOT_CONNECTED_WAIT_NS);
        } else if (uplink_seal_unanswered(uplink->seal) % HELLOS_BEFORE_REDIAL == 0) {
            control_redial(uplink);
        }
    }
    buf_fini(&body);
    return uplink_seal_ready(uplink->seal);
}

void uplink_control_step(struct uplink *uplink, uint64_t now_ns, uint64_t *wake_ns)
{
    journal_pull(uplink);
    if (!seal_step(uplink, now_ns, wake_ns))
        return;
    if (!uplink->up && now_ns >= uplink->next_beat_ns) {
        uplink->next_beat_ns = now_ns + hello_say(uplink);
    } else if (uplink->up && now_ns >= uplink->next_beat_ns) {
        control_beat(uplink, now_ns);
    }
    control_wake_by(wake_ns, uplink->next_beat_ns);
    if (uplink->up)
        outgoing_send(uplink, now_ns, wake_ns);
}

/* ---- what comes in ---- */

static void malformed(struct uplink *uplink, const char *what, const char *why)
{
    UPLINK_COUNT(uplink, malformed);
    log_debug("uplink", "dropped a message from the collector", "type", what, "reason", why, NULL);
}

static void held_drop(struct uplink *uplink)
{
    while (uplink->held_count > 0)
        agent_command_free(&uplink->held[--uplink->held_count]);
}

static void hello_go(struct uplink *uplink)
{
    uplink->up = false;
    uplink->hello_first_id = uplink->next_id + 1;
    uplink->hellos_unanswered = 0;
    uplink->next_beat_ns = 0;
    held_drop(uplink); /* the collector starts over (P-7) */
}

static void command_pass_on(struct uplink *uplink, struct agent_command *command)
{
    command->map = uplink_clock_of(&uplink->clock, command->says.clock);
    if (command->says.kind == COMMAND_CAPTURE)
        uplink->data_hold_ms = command->says.upload_after_ms;
    uplink->hooks.command(uplink->hooks.context, command);
}

/* Whether its times can be put on the agent's line. That takes a sample of the clock that they were
 * read from; one that the agent took before it was stopped for a while does not do. */
static bool is_placed(const struct uplink *uplink, const struct agent_command *command)
{
    return command->says.kind != COMMAND_CAPTURE ||
           uplink_clock_allows(&uplink->clock, command->says.clock, command->says.sent_ns,
                               agent_clock_ns());
}

/* Passes held commands on after a new sample. One that this cannot place was sent before the clock
 * was set: the collector sends it anew (P-7). */
static void held_release(struct uplink *uplink)
{
    size_t count = uplink->held_count;
    uplink->held_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_placed(uplink, uplink->held[i]))
            command_pass_on(uplink, uplink->held[i]);
        else
            agent_command_free(&uplink->held[i]);
    }
}

/* A sample of the collector's clock, which held commands wait for. */
static void sample_take(struct uplink *uplink, const struct clock_sample *sample, uint64_t number,
                        uint64_t received_ns)
{
    int64_t step_ns;
    const struct clock_trip trip = {sample->sent_ns, agent_clock_ns(), received_ns};
    bool stepped = uplink_clock_take(&uplink->clock, number, &trip, &step_ns);
    pthread_mutex_lock(&uplink->mutex);
    uplink->map = uplink_clock_newest(&uplink->clock);
    uplink->counters.clock_steps += stepped;
    pthread_mutex_unlock(&uplink->mutex);
    if (stepped)
        log_warn("uplink", "the collector's clock was set", "by_ms",
                 log_fmt("%" PRId64, (step_ns / (int64_t)NS_PER_MS)), NULL);
    held_release(uplink);
}

static void welcome_take(struct uplink *uplink, const struct wire_frame *frame, const cJSON *json)
{
    char why[256] = "";
    struct welcome welcome;
    if (welcome_get(json, &welcome, why, sizeof why) != SKEIN_OK) {
        malformed(uplink, "welcome", why);
        return;
    }
    if (uplink->up || frame->id < uplink->hello_first_id || frame->id > uplink->next_id)
        return; /* the answer to an older HELLO */
    if (welcome.heartbeat_ms >= 50)
        uplink->heartbeat_ns = welcome.heartbeat_ms * NS_PER_MS;
    uplink->up = true;
    uplink->beats_unanswered = 0;
    uplink->next_beat_ns = 0;
    if (welcome.received_ns != 0 && frame->id == uplink->hello.id)
        sample_take(uplink, &uplink->hello, welcome.clock, welcome.received_ns);
    pthread_mutex_lock(&uplink->mutex);
    uplink->counters.welcomes++;
    if (welcome.captures_per_hour != WELCOME_SAYS_NOT)
        uplink->captures_per_hour = welcome.captures_per_hour;
    struct outgoing *out;
    TAILQ_FOREACH(out, &uplink->list, link)
        out->next_ns = 0;
    pthread_mutex_unlock(&uplink->mutex);
    log_info("uplink", "connected to the collector", "control", uplink->control_address, NULL);
    if (uplink->hooks.welcomed != NULL)
        uplink->hooks.welcomed(uplink->hooks.context, welcome.rules_generation);
}

static void heartbeat_ack_take(struct uplink *uplink, const struct wire_frame *frame,
                               const cJSON *json)
{
    char why[256] = "";
    struct heartbeat_ack ack;
    if (heartbeat_ack_get(json, &ack, why, sizeof why) != SKEIN_OK) {
        malformed(uplink, "heartbeat ack", why);
        return;
    }
    const struct clock_sample *sample = &uplink->beats[frame->id % 4];
    if (!uplink->up || sample->id != frame->id)
        return;
    uplink->beats_unanswered = 0;
    if (ack.received_ns != 0)
        sample_take(uplink, sample, ack.clock, ack.received_ns);
    if (ack.cloned && !uplink->cloned)
        log_error("uplink",
                  "another agent has this one's identity: its state folder was copied; stop one, "
                  "and remove agent.json and its keys",
                  NULL);
    uplink->cloned = ack.cloned;
    if (ack.hello) {
        log_info("uplink", "the collector asks who we are", NULL);
        hello_go(uplink);
    }
}

static void report_ack_take(struct uplink *uplink, const struct wire_frame *frame,
                            const cJSON *json)
{
    char why[256] = "";
    struct report_ack ack;
    if (report_ack_get(json, &ack, why, sizeof why) != SKEIN_OK) {
        malformed(uplink, "report ack", why);
        return;
    }
    uint64_t revision = 0;
    char key[192] = "";
    pthread_mutex_lock(&uplink->mutex);
    struct outgoing *out;
    TAILQ_FOREACH(out, &uplink->list, link) {
        if (out->type == WIRE_REPORT && out->id == frame->id && out->id != 0)
            break;
    }
    if (out != NULL) {
        revision = out->revision;
        snprintf(key, sizeof key, "%s", out->key);
        TAILQ_REMOVE(&uplink->list, out, link);
        free(out);
        if (ack.ok)
            uplink->counters.reports_acked++;
        else
            uplink->counters.reports_refused++;
    }
    pthread_mutex_unlock(&uplink->mutex);
    if (revision != 0)
        spool_report_acked(uplink->spool, revision);
    if (key[0] != '\0' && !ack.ok)
        log_warn("uplink", "the collector refused a report", "report", key, "reason", ack.error,
                 NULL);
}

/* Holds a command until a sample of its clock comes; a heartbeat goes at once to get one. */
static void control_hold(struct uplink *uplink, struct agent_command *command)
{
    uplink->next_beat_ns = 0;
    if (uplink->held_count < UPLINK_HELD)
        uplink->held[uplink->held_count++] = command;
    else
        agent_command_free(&command); /* it comes again (P-7) */
}

/* Takes json over. */
static void command_take(struct uplink *uplink, const struct wire_frame *frame, cJSON *json)
{
    char why[256] = "", refuse[64];
    struct agent_command *command;
    int status = agent_command_new(json, &command, refuse, why, sizeof why);
    if (status == SKEIN_OK) {
        command->frame_id = frame->id;
        UPLINK_COUNT(uplink, commands);
        if (is_placed(uplink, command))
            command_pass_on(uplink, command);
        else
            control_hold(uplink, command);
        return;
    }
    malformed(uplink, "command", why);
    if (refuse[0] != '\0' && status == SKEIN_INVALID)
        uplink_command_ack(uplink, frame->id, refuse, why);
}

/* The collector could not read one of our messages. */
static void error_take(struct uplink *uplink, const cJSON *json)
{
    char why[256];
    struct control_error message;
    bool told = control_error_get(json, &message, why, sizeof why) == SKEIN_OK;
    malformed(uplink, "error", told ? message.error : why);
}

/* A sealed agent takes two things that are not sealed: the handshake, and a hint that the collector
 * has lost the session. Anybody could send that hint, so it only begins a handshake. */
static void plain_take(struct uplink *uplink, const struct transport_message *message)
{
    struct wire_frame frame;
    uint64_t now_ns = clock_monotonic_ns();
    int status = wire_frame_get(message->data, message->len, &frame);
    if (status == SKEIN_OK && (frame.type == WIRE_ACCEPT || frame.type == WIRE_REFUSE)) {
        if (uplink_seal_answer(uplink->seal, &frame, now_ns) && !uplink->up)
            uplink->next_beat_ns = 0;
    } else if (status == SKEIN_OK && frame.type == WIRE_ERROR) {
        uplink_seal_doubt(uplink->seal, now_ns);
    } else {
        malformed(uplink, "frame", "it is not sealed");
    }
}

static void body_take(struct uplink *uplink, const struct wire_frame *frame)
{
    char why[256] = "";
    cJSON *json = control_body_parse(frame->body, frame->body_bytes, why, sizeof why);
    if (json == NULL) {
        malformed(uplink, "frame", why);
        return;
    }
    switch (frame->type) {
    case WIRE_WELCOME:
        welcome_take(uplink, frame, json);
        break;
    case WIRE_HEARTBEAT_ACK:
        heartbeat_ack_take(uplink, frame, json);
        break;
    case WIRE_REPORT_ACK:
        report_ack_take(uplink, frame, json);
        break;
    case WIRE_COMMAND:
        command_take(uplink, frame, json);
        return;
    case WIRE_ERROR:
        error_take(uplink, json);
        break;
    default:
        malformed(uplink, "frame", "type");
    }
    cJSON_Delete(json);
}

static void message_take(struct uplink *uplink, const struct transport_message *message)
{
    struct wire_frame frame;
    uint64_t session;
    bool sealed = seal_frame_session(message->data, message->len, &session) == SKEIN_OK;
    if (uplink->seal != NULL && !sealed) {
        plain_take(uplink, message);
        return;
    }
    int status = uplink->seal != NULL ? uplink_seal_open(uplink->seal, SEAL_CONTROL, message->data,
                                                         message->len, &frame)
                                      : wire_frame_get(message->data, message->len, &frame);
    if (status != SKEIN_OK) {
        malformed(uplink, "frame", skein_status_text(status));
        return;
    }
    body_take(uplink, &frame);
}

void uplink_control_receive(struct uplink *uplink)
{
    struct transport_message message;
    /* Bounded, so that a flood on control does not hold up the data connection. */
    for (int i = 0; i < 64 && transport_receive(uplink->control, 0, &message) == SKEIN_OK; i++) {
        message_take(uplink, &message);
        transport_message_free(&message);
    }
}
