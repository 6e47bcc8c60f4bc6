/* SPDX-License-Identifier: Apache-2.0
 *
 * The control thread. A round takes the messages that have come, lets them change agents, captures
 * and rules under the control lock, saves all changes (control.h), and only then sends the
 * answers: what an agent has seen acknowledged survives a power cut. When saving fails no report is
 * acknowledged; agents repeat, and the next round saves again.
 */
#include "fleet.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "fleet_int.h"
#include "json.h"
#include "log.h"
#include "metrics.h"

#define ROUND_MESSAGES 64
#define ROUND_WAIT_MS  200
#define LEASE_CHECK_NS (UINT64_C(1000) * 1000000u)

static const char version_words[] = "this collector speaks version 1"; /* P-1 */

struct control *fleet_control(struct fleet *f)
{
    return f->control;
}

void fleet_wake(struct fleet *f)
{
    uint64_t one = 1;
    if (write(f->wake_fd, &one, sizeof one) < 0 && errno != EAGAIN)
        log_warn("control", "cannot wake the control thread", "error", strerror(errno), NULL);
}

/* ---- what is saved: the control's hooks ---- */

static bool is_dirty(void *context)
{
    struct fleet *f = context;
    return claims_dirty(f->claims);
}

static void fleet_save(void *context)
{
    struct fleet *f = context;
    control_assert_locked(f->control);
    f->claims_saving = claims_dirty(f->claims);
    fleet_save_agents(f);
    if (f->claims_saving)
        claims_save(f->claims);
    if (f->hooks.save != NULL)
        f->hooks.save(f->hooks.context);
}

static void fleet_saved(void *context, bool ok)
{
    struct fleet *f = context;
    control_assert_locked(f->control);
    fleet_saved_agents(f, ok);
    if (f->claims_saving && ok)
        claims_saved(f->claims);
    if (f->hooks.saved != NULL)
        f->hooks.saved(f->hooks.context, ok);
}

/* ---- messages ---- */

void fleet_answer(struct fleet *f, const struct transport_peer *peer, uint8_t type, uint64_t id,
                  struct buf *body)
{
    control_assert_locked(f->control);
    struct fleet_out *out = body->status == SKEIN_OK ? calloc(1, sizeof *out) : NULL;
    if (out != NULL) {
        out->peer = *peer;
        out->promise = type == WIRE_REPORT_ACK;
        out->at_once = type == WIRE_HEARTBEAT_ACK;
        wire_frame_put(&out->bytes, type, id, body->data, body->len);
    }
    if (out == NULL || out->bytes.status != SKEIN_OK) {
        metrics_add(control_unsent_total, 1);
        if (out != NULL)
            buf_fini(&out->bytes);
        free(out);
    } else {
        *f->answers_tail = out;
        f->answers_tail = &out->next;
    }
    buf_fini(body);
}

void fleet_answer_error(struct fleet *f, const struct transport_peer *peer, uint8_t type,
                        uint64_t id, const char *error)
{
    control_assert_locked(f->control);
    struct buf body = {0};
    if (type == WIRE_REPORT_ACK)
        report_ack_put(&(struct report_ack){.ok = false, .error = error}, &body);
    else
        control_error_put(&(struct control_error){error}, &body);
    fleet_answer(f, peer, type, id, &body);
}

void fleet_handle(struct fleet *f, const uint8_t *bytes, size_t n,
                  const struct transport_peer *peer)
{
    control_assert_locked(f->control);
    struct wire_frame frame;
    int status = wire_frame_get(bytes, n, &frame);
    if (status != SKEIN_OK) {
        metrics_add(control_malformed_total, 1);
        if (status == SKEIN_VERSION) /* P-1 */
            fleet_answer_error(f, peer, WIRE_ERROR, 0, version_words);
        return;
    }
    fleet_handle_frame(f, &frame, peer);
}

/* Whether the peer has proven to be the agent that the message names; a plain peer is believed. */
static bool is_from(const cJSON *json, const struct transport_peer *peer)
{
    char id[AGENT_TEXT_BYTES];
    const char *named = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "agent"));
    agent_text(peer->agent, id);
    return peer->session == 0 || (named != NULL && strcmp(named, id) == 0);
}

void fleet_handle_frame(struct fleet *f, const struct wire_frame *frame,
                        const struct transport_peer *peer)
{
    control_assert_locked(f->control);
    char error[256];
    cJSON *json = control_body_parse(frame->body, frame->body_bytes, error, sizeof error);
    if (json == NULL) {
        metrics_add(control_malformed_total, 1);
        return;
    }
    if (!is_from(json, peer)) {
        metrics_add(seal_denied_total, 1);
        cJSON_Delete(json);
        return;
    }
    metrics_add(control_messages_total, 1);
    switch (frame->type) {
    case WIRE_HELLO:
        fleet_on_hello(f, frame, json, peer);
        break;
    case WIRE_HEARTBEAT:
        fleet_on_heartbeat(f, frame, json, peer);
        break;
    case WIRE_COMMAND_ACK:
        fleet_on_ack(f, frame, json, peer);
        break;
    case WIRE_REPORT:
        fleet_on_report(f, frame, json, peer);
        break;
    default:
        metrics_add(control_malformed_total, 1);
        break;
    }
    cJSON_Delete(json);
}

/* ---- rounds ---- */

static void messages_free(struct fleet_out *list)
{
    while (list != NULL) {
        struct fleet_out *next = list->next;
        buf_fini(&list->bytes);
        free(list);
        list = next;
    }
}

static void messages_send(struct fleet *f, struct fleet_out *list)
{
    for (struct fleet_out *out = list; out != NULL; out = out->next) {
        void *message = NULL;
        struct wire_frame frame;
        if (wire_frame_get(out->bytes.data, out->bytes.len, &frame) == SKEIN_OK &&
            gate_make(f->gate, SEAL_CONTROL, &out->peer, frame.type, frame.id, frame.body,
                      frame.body_bytes, &message) == SKEIN_OK) {
            if (transport_send(f->transport, message, &out->peer, 0) == SKEIN_OK)
                continue;
            transport_alloc_free(message);
        }
        metrics_add(control_unsent_total, 1); /* lost: the peer or we will repeat it */
    }
    messages_free(list);
}

static void work_await(struct fleet *f, int wait_ms)
{
    struct pollfd fds[2] = {{.fd = transport_poll_fd(f->transport), .events = POLLIN},
                            {.fd = f->wake_fd, .events = POLLIN}};
    if (poll(fds, 2, wait_ms) > 0 && (fds[1].revents & POLLIN) != 0) {
        uint64_t count;
        ssize_t got = read(f->wake_fd, &count, sizeof count);
        (void)got; /* only a wake-up: whatever was read, nothing is missed */
    }
}

static void fleet_tick(struct fleet *f) CONTROL_LOCKED
{
    uint64_t now = clock_monotonic_ns();
    if (now >= f->next_second_ns) {
        fleet_check_leases(f);
        f->next_second_ns = now + LEASE_CHECK_NS;
    }
    fleet_follow_clock(f);
    if (f->hooks.tick != NULL)
        f->hooks.tick(f->hooks.context, clock_realtime_ns());
}

/* How long the thread may sleep: until a command is due again, at most ROUND_WAIT_MS. */
static int wait_ms(struct fleet *f)
{
    control_lock(f->control);
    uint64_t due = fleet_next_due_ns(f), now = clock_monotonic_ns();
    control_unlock(f->control);
    if (due <= now)
        return 0;
    uint64_t ms = (due - now) / 1000000u + 1;
    return ms < ROUND_WAIT_MS ? (int)ms : ROUND_WAIT_MS;
}

/* Takes the round's answers out of the fleet, without the promises where nothing was saved: agents
 * stay in touch, and report again. Returns where more may be appended. */
static struct fleet_out **answers_take(struct fleet *f, bool saved,
                                       struct fleet_out **ready) CONTROL_LOCKED
{
    struct fleet_out **tail = ready;
    *ready = NULL;
    while (f->answers != NULL) {
        struct fleet_out *out = f->answers;
        f->answers = out->next;
        out->next = NULL;
        if (out->promise && !saved) {
            messages_free(out);
            continue;
        }
        *tail = out;
        tail = &out->next;
    }
    f->answers_tail = &f->answers;
    return tail;
}

/* Takes out what need not wait until the round is saved, and sends it. */
static void answers_send_at_once(struct fleet *f) CONTROL_LOCKED
{
    struct fleet_out *ready = NULL, **tail = &ready, **at = &f->answers;
    while (*at != NULL) {
        struct fleet_out *out = *at;
        if (!out->at_once) {
            at = &out->next;
            continue;
        }
        *at = out->next;
        out->next = NULL;
        *tail = out;
        tail = &out->next;
    }
    f->answers_tail = at;
    if (ready == NULL)
        return;
    control_unlock(f->control);
    messages_send(f, ready);
    control_lock(f->control);
}

/* Hands a message to the gate, before the control lock is taken. False: the gate dealt with it. */
static bool gate_pass(struct fleet *f, struct transport_message *m, struct wire_frame *frame)
{
    struct buf answer = {0};
    int status = gate_take(f->gate, SEAL_CONTROL, m, frame, &answer);
    void *message = NULL;
    if (status != SKEIN_OK && status != SKEIN_AGAIN)
        metrics_add(control_malformed_total, 1);
    if (status == SKEIN_VERSION) { /* P-1 */
        struct buf body = {0};
        control_error_put(&(struct control_error){version_words}, &body);
        wire_frame_put(&answer, WIRE_ERROR, 0, body.data, body.len);
        buf_fini(&body);
    }
    if (answer.status == SKEIN_OK && answer.len > 0)
        message = transport_alloc(answer.len);
    if (message != NULL) {
        memcpy(message, answer.data, answer.len);
        if (transport_send(f->transport, message, &m->peer, 0) != SKEIN_OK)
            transport_alloc_free(message);
    }
    buf_fini(&answer);
    return status == SKEIN_OK;
}

static void round_run(struct fleet *f)
{
    struct transport_message messages[ROUND_MESSAGES];
    struct wire_frame frames[ROUND_MESSAGES];
    const bool sealed = f->gate != NULL;
    size_t count = 0;
    work_await(f, wait_ms(f));
    while (count < ROUND_MESSAGES &&
           transport_receive(f->transport, 0, &messages[count]) == SKEIN_OK) {
        /* Without a gate fleet_handle reads the frame, and answers another version. */
        if (!sealed || gate_pass(f, &messages[count], &frames[count]))
            count++;
        else
            transport_message_free(&messages[count]);
    }
    gate_tick(f->gate);
    control_lock(f->control);
    for (size_t i = 0; i < count; i++) {
        if (sealed)
            fleet_handle_frame(f, &frames[i], &messages[i].peer);
        else
            fleet_handle(f, messages[i].data, messages[i].len, &messages[i].peer);
        transport_message_free(&messages[i]);
    }
    answers_send_at_once(f);
    fleet_tick(f);
    bool saved = control_save(f->control) == SKEIN_OK;
    struct fleet_out *ready, **tail = answers_take(f, saved, &ready);
    if (saved)
        fleet_due_commands(f, &tail);
    control_unlock(f->control);
    messages_send(f, ready);
    if (f->hooks.unlocked != NULL)
        f->hooks.unlocked(f->hooks.context);
}

static void *fleet_run(void *context)
{
    struct fleet *f = context;
    while (!__atomic_load_n(&f->stopping, __ATOMIC_ACQUIRE))
        round_run(f);
    return NULL;
}

/* ---- life ---- */

int fleet_new(const struct fleet_settings *settings, struct catalog *catalog, struct fleet **out)
{
    *out = NULL;
    struct fleet *f = calloc(1, sizeof *f);
    if (f == NULL)
        return SKEIN_NO_MEMORY;
    f->settings = *settings;
    snprintf(f->address, sizeof f->address, "%s", settings->address);
    f->settings.address = f->address;
    f->catalog = catalog;
    pthread_mutex_init(&f->owners_lock, NULL);
    f->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int status = control_new(catalog, &(struct control_hooks){f, is_dirty, fleet_save, fleet_saved},
                             &f->control);
    if (status == SKEIN_OK)
        status = f->wake_fd < 0 ? SKEIN_IO : claims_new(catalog, &f->claims);
    if (status == SKEIN_OK) {
        control_lock(f->control);
        f->answers_tail = &f->answers;
        /* An acknowledgement of an earlier run may still be on its way: its numbers must not come
         * again. */
        f->next_number = clock_realtime_ns();
        status = fleet_load_agents(f);
        control_unlock(f->control);
    }
    *out = f;
    if (status != SKEIN_OK)
        fleet_free(out);
    return status;
}

void fleet_set_hooks(struct fleet *f, const struct fleet_hooks *hooks)
{
    f->hooks = *hooks;
}

void fleet_set_gate(struct fleet *f, struct gate *gate)
{
    f->gate = gate;
}

int fleet_start(struct fleet *f, char *error, size_t error_bytes)
{
    transport_enough(f->address, f->settings.max_agents);
    int status = transport_listen(f->address, WIRE_CONTROL_MAX, &f->transport);
    if (status != SKEIN_OK) {
        snprintf(error, error_bytes, "%s: %s", f->address, skein_status_text(status));
        return status;
    }
    if (pthread_create(&f->thread, NULL, fleet_run, f) != 0) {
        snprintf(error, error_bytes, "no thread for the control port");
        transport_free(&f->transport);
        return SKEIN_IO;
    }
    f->thread_started = true;
    return SKEIN_OK;
}

void fleet_stop(struct fleet *f)
{
    if (!f->thread_started)
        return;
    __atomic_store_n(&f->stopping, true, __ATOMIC_RELEASE);
    fleet_wake(f);
    pthread_join(f->thread, NULL);
    f->thread_started = false;
    transport_free(&f->transport);
}

void fleet_free(struct fleet **fleet)
{
    struct fleet *f = *fleet;
    if (f == NULL)
        return;
    fleet_stop(f);
    if (f->control != NULL) {
        control_lock(f->control);
        messages_free(f->answers);
        fleet_free_tables(f);
        control_unlock(f->control);
    }
    claims_free(&f->claims);
    if (f->wake_fd >= 0)
        close(f->wake_fd);
    pthread_mutex_destroy(&f->owners_lock);
    control_free(&f->control);
    free(f);
    *fleet = NULL;
}
