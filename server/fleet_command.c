/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands to agents, each repeated until it is acknowledged (P-7). The list belongs to the fleet;
 * everything here runs under the control lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "fleet_int.h"
#include "json.h"
#include "metrics.h"

#define FIRST_WAIT_MS 1000u
#define MAX_WAIT_MS   10000u

int fleet_command(struct fleet *f, uint64_t agent, const struct capture_id *capture,
                  uint64_t deadline_ns, cJSON *body)
{
    char number[17];
    struct fleet_command *c = calloc(1, sizeof *c);
    if (c == NULL) {
        cJSON_Delete(body);
        return SKEIN_NO_MEMORY;
    }
    c->number = f->next_number++;
    c->agent = agent;
    c->deadline_ns = deadline_ns;
    c->wait_ms = FIRST_WAIT_MS;
    if (capture != NULL)
        c->capture = *capture;
    snprintf(number, sizeof number, "%016llx", (unsigned long long)c->number);
    cJSON_AddStringToObject(body, "command", number);
    json_print(body, &c->body);
    cJSON_Delete(body);
    int status = c->body.status;
    if (status == SKEIN_OK && c->body.len > WIRE_CONTROL_MAX - WIRE_HEADER_BYTES)
        status = SKEIN_TOO_LARGE;
    if (status != SKEIN_OK) {
        buf_fini(&c->body);
        free(c);
        return status;
    }
    *f->commands_tail = c;
    f->commands_tail = &c->next;
    fleet_wake(f);
    return SKEIN_OK;
}

/* Removes *at from the list and frees it. */
static void remove_command(struct fleet *f, struct fleet_command **at)
{
    struct fleet_command *c = *at;
    *at = c->next;
    if (c->next == NULL)
        f->commands_tail = at;
    buf_fini(&c->body);
    free(c);
}

void fleet_drop_commands(struct fleet *f, const struct capture_id *capture)
{
    for (struct fleet_command **at = &f->commands; *at != NULL;) {
        if (capture_id_equal(&(*at)->capture, capture))
            remove_command(f, at);
        else
            at = &(*at)->next;
    }
}

void fleet_drop_rules_commands(struct fleet *f)
{
    fleet_drop_commands(f, &(struct capture_id){{0}});
}

void fleet_drop_agent_commands(struct fleet *f, uint64_t agent)
{
    for (struct fleet_command **at = &f->commands; *at != NULL;) {
        if ((*at)->agent == agent)
            remove_command(f, at);
        else
            at = &(*at)->next;
    }
}

bool fleet_has_rules_command(struct fleet *f, uint64_t agent)
{
    for (const struct fleet_command *c = f->commands; c != NULL; c = c->next)
        if (c->agent == agent && capture_id_is_zero(&c->capture))
            return true;
    return false;
}

void fleet_on_ack(struct fleet *f, const struct wire_frame *frame, const cJSON *json,
                  const struct transport_peer *peer)
{
    struct control_ack ack;
    char error[256], number[17];
    (void)peer;
    (void)frame;
    if (control_ack_get(json, &ack, error, sizeof error) != SKEIN_OK) {
        metrics_add(control_malformed_total, 1);
        return;
    }
    struct fleet_agent *agent = fleet_agent_find(f, ack.agent);
    for (struct fleet_command **at = &f->commands; agent != NULL && *at != NULL;
         at = &(*at)->next) {
        snprintf(number, sizeof number, "%016llx", (unsigned long long)(*at)->number);
        if ((*at)->agent != ack.agent || strcmp(number, ack.command) != 0)
            continue;
        struct capture_id capture = (*at)->capture;
        remove_command(f, at);
        const char *words = ack.ok ? "" : ack.error[0] != '\0' ? ack.error : "the agent refused";
        if (f->hooks.command_done != NULL)
            f->hooks.command_done(f->hooks.context, agent,
                                  capture_id_is_zero(&capture) ? NULL : &capture, words);
        return;
    }
}

uint64_t fleet_next_due_ns(const struct fleet *f)
{
    uint64_t due = UINT64_MAX;
    for (const struct fleet_command *c = f->commands; c != NULL; c = c->next)
        if (c->due_ns < due)
            due = c->due_ns;
    return due;
}

static void send_command(struct fleet *f, struct fleet_command *c, struct fleet_out ***tail)
{
    const struct fleet_agent *agent = fleet_agent_find(f, c->agent);
    c->due_ns = clock_monotonic_ns() + c->wait_ms * 1000000u;
    /* An agent that is away gets it when it says HELLO: that makes the command anew. */
    if (agent == NULL || !agent->online || !agent->session)
        return;
    c->wait_ms = c->wait_ms * 2 < MAX_WAIT_MS ? c->wait_ms * 2 : MAX_WAIT_MS;
    struct fleet_out *out = calloc(1, sizeof *out);
    if (out == NULL)
        return;
    out->peer = agent->peer;
    wire_frame_put(&out->bytes, WIRE_COMMAND, c->number, c->body.data, c->body.len);
    if (out->bytes.status != SKEIN_OK) {
        free(out);
        return;
    }
    metrics_add(commands_sent_total, 1);
    **tail = out;
    *tail = &out->next;
}

void fleet_due_commands(struct fleet *f, struct fleet_out ***tail)
{
    uint64_t now = clock_monotonic_ns(), now_real = clock_realtime_ns();
    for (struct fleet_command **at = &f->commands; *at != NULL;) {
        struct fleet_command *c = *at;
        if (c->deadline_ns != 0 && c->deadline_ns <= now_real) {
            remove_command(f, at);
            continue;
        }
        if (c->due_ns <= now)
            send_command(f, c, tail);
        at = &c->next;
    }
}
