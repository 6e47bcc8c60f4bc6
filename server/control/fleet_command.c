/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands to agents. Each is repeated until it is acknowledged (P-7). Each agent has a list of
 * them; one heap has all, by when they are due. Everything here runs under the control lock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "array.h"
#include "clock.h"
#include "fleet_int.h"
#include "metrics.h"

#define FIRST_WAIT_MS 1000u
#define MAX_WAIT_MS   10000u
/* Who asks for a list is content with one so fresh, and waits no longer than this. */
#define LIST_FRESH_NS UINT64_C(1000000000)
#define LIST_WAIT_NS  UINT64_C(1000000000)
#define LIST_LOOK_NS  5000000

/* ---- the heap of all commands, the next one due first ---- */

static void heap_place(struct fleet *f, size_t at, struct fleet_command *c) CONTROL_LOCKED
{
    f->due[at] = c;
    c->due_at = at;
}

static void heap_up(struct fleet *f, struct fleet_command *c) CONTROL_LOCKED
{
    size_t at = c->due_at;
    for (; at > 0 && f->due[(at - 1) / 2]->due_ns > c->due_ns; at = (at - 1) / 2)
        heap_place(f, at, f->due[(at - 1) / 2]);
    heap_place(f, at, c);
}

static void heap_down(struct fleet *f, struct fleet_command *c) CONTROL_LOCKED
{
    size_t at = c->due_at;
    for (size_t child; (child = at * 2 + 1) < f->due_count; at = child) {
        if (child + 1 < f->due_count && f->due[child + 1]->due_ns < f->due[child]->due_ns)
            child++;
        if (f->due[child]->due_ns >= c->due_ns)
            break;
        heap_place(f, at, f->due[child]);
    }
    heap_place(f, at, c);
}

static int heap_add(struct fleet *f, struct fleet_command *c) CONTROL_LOCKED
{
    if (!array_grow(f->due, f->due_count + 1, &f->due_cap))
        return SKEIN_NO_MEMORY;
    heap_place(f, f->due_count++, c);
    heap_up(f, c);
    return SKEIN_OK;
}

static void heap_remove(struct fleet *f, struct fleet_command *c) CONTROL_LOCKED
{
    struct fleet_command *last = f->due[--f->due_count];
    if (last == c)
        return;
    heap_place(f, c->due_at, last);
    heap_up(f, last);
    heap_down(f, last);
}

/* ---- commands ---- */

static void command_free(struct fleet_command *c)
{
    buf_fini(&c->body);
    free(c);
}

/* Adds a command; its message has a text that the acknowledgement repeats. */
static int command_add(struct fleet *f, const struct fleet_command *command,
                       const struct command *says) CONTROL_LOCKED
{
    char number[17];
    struct command numbered = *says;
    struct fleet_command *c = calloc(1, sizeof *c);
    if (c == NULL)
        return SKEIN_NO_MEMORY;
    *c = *command;
    c->number = f->next_number++;
    c->wait_ms = FIRST_WAIT_MS;
    c->rests_on = control_next_save(f->control);
    snprintf(number, sizeof number, "%016" PRIx64, c->number);
    numbered.command = number;
    command_put(&numbered, &c->body);
    int status = c->body.status;
    if (status == SKEIN_OK && c->body.len > WIRE_CONTROL_BODY_MAX)
        status = SKEIN_TOO_LARGE;
    if (status == SKEIN_OK)
        status = heap_add(f, c);
    if (status != SKEIN_OK) {
        command_free(c);
        return status;
    }
    struct fleet_command **end = &c->agent->commands;
    while (*end != NULL)
        end = &(*end)->next;
    *end = c; /* in the order in which they are made: a stop comes behind what it stops */
    fleet_wake(f);
    return SKEIN_OK;
}

int fleet_command(struct fleet *f, uint64_t agent, uint64_t due_ns, const struct command *says)
{
    control_assert_locked(f->control);
    struct fleet_command command = {.agent = fleet_agent_find(f, agent),
                                    .last_ns = due_ns,
                                    .capture = says->capture,
                                    .set = FLEET_SETS};
    return command.agent != NULL ? command_add(f, &command, says) : SKEIN_NOT_FOUND;
}

/* ---- asking for lists ---- */

static bool list_awaited(const struct fleet_agent *a, uint64_t now_ns)
{
    return a->online && a->list_asked_ns > a->list_ns && now_ns - a->list_asked_ns < LIST_WAIT_NS;
}

static void list_ask_for(struct fleet *f, struct fleet_agent *a, uint64_t now_ns) CONTROL_LOCKED
{
    const struct command says = {.kind = COMMAND_PROCESSES};
    const struct fleet_command command = {
        .agent = a, .last_ns = now_ns + LIST_WAIT_NS, .set = FLEET_SETS, .asks = true};
    bool fresh = a->list_ns != 0 && now_ns - a->list_ns < LIST_FRESH_NS;
    if (a->online && a->session && !fresh && !list_awaited(a, now_ns) &&
        command_add(f, &command, &says) == SKEIN_OK)
        a->list_asked_ns = now_ns;
}

static size_t lists_awaited(struct fleet *f, bool ask)
{
    size_t at = 0, count = 0;
    uint64_t now_ns = clock_monotonic_ns();
    control_lock(f->control);
    for (struct fleet_agent *a; (a = fleet_agent_next(f, &at)) != NULL;) {
        if (ask)
            list_ask_for(f, a, now_ns);
        count += list_awaited(a, now_ns);
    }
    control_unlock(f->control);
    return count;
}

void fleet_lists_refresh(struct fleet *f)
{
    const struct timespec pause = {.tv_nsec = LIST_LOOK_NS};
    for (size_t count = lists_awaited(f, true); count > 0; count = lists_awaited(f, false))
        nanosleep(&pause, NULL);
}

/* ---- their end ---- */

/* Removes *at from its agent's list and frees it. */
static void command_remove(struct fleet *f, struct fleet_command **at) CONTROL_LOCKED
{
    struct fleet_command *c = *at;
    *at = c->next;
    heap_remove(f, c);
    command_free(c);
}

void fleet_drop_agent_commands(struct fleet *f, struct fleet_agent *agent,
                               const struct capture_id *capture)
{
    control_assert_locked(f->control);
    for (struct fleet_command **at = &agent->commands; *at != NULL;) {
        if (capture == NULL ||
            ((*at)->set == FLEET_SETS && capture_id_equal(&(*at)->capture, capture)))
            command_remove(f, at);
        else
            at = &(*at)->next;
    }
}

void fleet_drop_commands(struct fleet *f, const struct capture_id *capture)
{
    control_assert_locked(f->control);
    size_t at = 0;
    for (struct fleet_agent *a; f->due_count > 0 && (a = fleet_agent_next(f, &at)) != NULL;)
        fleet_drop_agent_commands(f, a, capture);
}

/* ---- sets ---- */

const char *fleet_set_text(enum fleet_set set)
{
    static const char *const texts[] = {"rules", "policies"};
    return texts[set];
}

static struct fleet_command **push_find(struct fleet_agent *agent, enum fleet_set set)
{
    struct fleet_command **at = &agent->commands;
    while (*at != NULL && (*at)->set != set)
        at = &(*at)->next;
    return at;
}

bool fleet_has_push(struct fleet_agent *agent, enum fleet_set set)
{
    return *push_find(agent, set) != NULL;
}

int fleet_push(struct fleet *f, struct fleet_agent *agent, enum fleet_set set,
               const struct command *says)
{
    control_assert_locked(f->control);
    struct fleet_command **at = push_find(agent, set);
    if (*at != NULL)
        command_remove(f, at);
    return command_add(f, &(struct fleet_command){.agent = agent, .set = set}, says);
}

void fleet_on_ack(struct fleet *f, const struct wire_frame *frame, const cJSON *json,
                  const struct transport_peer *peer)
{
    control_assert_locked(f->control);
    struct command_ack ack;
    char error[256], number[17];
    (void)peer;
    (void)frame;
    if (command_ack_get(json, &ack, error, sizeof error) != SKEIN_OK) {
        metrics_add(control_malformed_total, 1);
        return;
    }
    struct fleet_agent *agent = fleet_agent_find(f, ack.agent);
    for (struct fleet_command **at = agent != NULL ? &agent->commands : NULL;
         at != NULL && *at != NULL; at = &(*at)->next) {
        snprintf(number, sizeof number, "%016" PRIx64, (*at)->number);
        if (strcmp(number, ack.command) != 0)
            continue;
        struct capture_id capture = (*at)->capture;
        enum fleet_set set = (*at)->set;
        bool asks = (*at)->asks;
        command_remove(f, at);
        if (asks) {
            agent->list_asked_ns =
                ack.ok ? agent->list_asked_ns : 0; /* refused: an older agent has no lists */
            return;
        }
        const char *words = ack.ok ? "" : ack.error[0] != '\0' ? ack.error : "the agent refused";
        if (set != FLEET_SETS && f->hooks.push_done != NULL)
            f->hooks.push_done(f->hooks.context, agent, set, words);
        if (set == FLEET_SETS && f->hooks.command_done != NULL)
            f->hooks.command_done(f->hooks.context, agent, &capture, words);
        return;
    }
}

uint64_t fleet_next_due_ns(const struct fleet *f)
{
    control_assert_locked(f->control);
    return f->due_count > 0 ? f->due[0]->due_ns : UINT64_MAX;
}

static void command_send(struct fleet_command *c, struct fleet_out ***tail)
{
    /* An agent that is away gets it when it says HELLO, which makes the command anew. */
    if (!c->agent->online || !c->agent->session)
        return;
    c->wait_ms = c->wait_ms * 2 < MAX_WAIT_MS ? c->wait_ms * 2 : MAX_WAIT_MS;
    struct fleet_out *out = calloc(1, sizeof *out);
    if (out == NULL)
        return;
    out->peer = c->agent->peer;
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
    control_assert_locked(f->control);
    uint64_t now = clock_monotonic_ns();
    while (f->due_count > 0 && f->due[0]->due_ns <= now) {
        struct fleet_command *c = f->due[0];
        if (c->last_ns != 0 && c->last_ns <= now) {
            struct fleet_command **at = &c->agent->commands;
            while (*at != c)
                at = &(*at)->next;
            command_remove(f, at);
            continue;
        }
        if (control_has_saved(f->control, c->rests_on)) {
            c->due_ns = now + c->wait_ms * 1000000u;
            command_send(c, tail);
        } else {
            c->due_ns = now + 1; /* made since this round's save: the next one's */
        }
        heap_down(f, c);
    }
}
