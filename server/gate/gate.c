/* SPDX-License-Identifier: Apache-2.0
 *
 * See gate.h. Sessions are found by their number and belong to an agent's slots. What a stranger
 * can make the gate do is bounded. X25519 runs so many times a second, and less often for one
 * connection, which must wait after an OPEN that proves nothing. The database is asked once for
 * each agent that has proven a key. Only enrolled agents have slots.
 */
#include "gate.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "control_body.h"
#include "idmap.h"
#include "log.h"
#include "metrics.h"

#define GRACE_NS       (60 * NS_PER_S)
#define RENEW_MS       3600000u
#define OPENS_A_SECOND 500u
#define PEERS          4096u
#define WAIT_NS        (NS_PER_S / 2)  /* between a connection's OPENs; agents repeat after 1 s */
#define WAIT_BAD_NS    (10 * NS_PER_S) /* after an OPEN that proves nothing */

/* FRESH: the newest OPEN by the agent's own clock. DOUBTFUL: an older one, which somebody replays,
 * or an agent sends whose clock was set back. It never takes a fresh one's place. */
enum slot { LIVE, OLD, FRESH, DOUBTFUL, SLOTS };

struct holder;
struct session {
    struct seal_session *seal;
    struct holder *holder;
    uint64_t until_ns; /* OLD: monotonic */
};
struct holder { /* an enrolled agent */
    uint64_t agent, newest_ns;
    struct session *slots[SLOTS];
    struct holder *next_bad;
};

struct visitor { /* a place: the newest of the connections that share it */
    uint32_t connection;
    uint64_t wait_ns; /* monotonic: its OPENs are dropped until then */
};

struct gate {
    struct gate_settings settings;
    pthread_mutex_t mutex;
    struct idmap holders, sessions;
    uint64_t opens, opens_since_ns; /* handshakes within this second, of all connections */
    struct visitor visitors[PEERS];
    uint64_t looked_ns;
    int64_t changes;
};

static void slot_drop(struct gate *g, struct holder *h, enum slot slot)
{
    struct session *s = h->slots[slot];
    if (s == NULL)
        return;
    h->slots[slot] = NULL;
    const uint64_t id = seal_session_id(s->seal);
    idmap_remove(&g->sessions, idmap_key_of(&id).id);
    seal_session_free(&s->seal);
    free(s);
    metrics_set(seal_sessions, g->sessions.count);
}

static struct session *gate_find(struct gate *g, uint64_t id)
{
    return idmap_get(&g->sessions, idmap_key_of(&id).id);
}

static bool has_room(struct gate *g, uint64_t agent)
{
    return g->holders.count < g->settings.max_agents ||
           idmap_get(&g->holders, idmap_key_of(&agent).id) != NULL;
}

static struct holder *holder_get(struct gate *g, uint64_t agent)
{
    struct holder *h = idmap_get(&g->holders, idmap_key_of(&agent).id);
    if (h != NULL)
        return h;
    h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    h->agent = agent;
    if (idmap_put(&g->holders, idmap_key_of(&agent).id, h) != SKEIN_OK) {
        free(h);
        return NULL;
    }
    return h;
}

/* ---- OPEN ---- */

static bool may_open(struct gate *g, uint64_t now_ns)
{
    if (now_ns - g->opens_since_ns >= NS_PER_S) {
        g->opens_since_ns = now_ns;
        g->opens = 0;
    }
    return g->opens++ < g->settings.opens_a_second;
}

/* nanomsg numbers connections in a row, and the number comes first in the return path. So
 * neighbours have different places. */
static struct visitor *visitor_of(struct gate *g, const struct transport_peer *peer)
{
    uint32_t number = (uint32_t)peer->bytes[0] << 24 | (uint32_t)peer->bytes[1] << 16 |
                      (uint32_t)peer->bytes[2] << 8 | peer->bytes[3];
    struct visitor *v = &g->visitors[number % PEERS];
    if (v->connection != number)
        *v = (struct visitor){.connection = number};
    return v;
}

/* Puts a new session into its slot, and owns it from here on. */
static int session_keep(struct gate *g, const struct seal_hello *hello, struct seal_session *seal)
{
    struct holder *h = holder_get(g, hello->agent);
    struct session *s = h != NULL ? calloc(1, sizeof *s) : NULL;
    const uint64_t id = seal_session_id(seal);
    if (s == NULL || idmap_put(&g->sessions, idmap_key_of(&id).id, s) != SKEIN_OK) {
        free(s);
        seal_session_free(&seal);
        return SKEIN_NO_MEMORY;
    }
    enum slot slot = hello->time_ns > h->newest_ns ? FRESH : DOUBTFUL;
    if (slot == FRESH)
        h->newest_ns = hello->time_ns;
    slot_drop(g, h, slot);
    s->seal = seal;
    s->holder = h;
    h->slots[slot] = s;
    metrics_set(seal_sessions, g->sessions.count);
    return SKEIN_OK;
}

static int open_accept(struct gate *g, const struct seal_request *request,
                       const struct seal_pair *keys, struct buf *body)
{
    struct seal_grant grant = {
        .time_ns = clock_realtime_ns(), .renew_ms = g->settings.renew_ms, .current = keys[0].open};
    struct seal_session *seal;
    do
        seal_random(&grant.session, sizeof grant.session);
    while (grant.session == 0 || gate_find(g, grant.session) != NULL);
    int status = seal_accept_make(request, &grant, body, &seal);
    return status == SKEIN_OK ? session_keep(g, &request->hello, seal) : status;
}

static void gate_say(struct buf *answer, uint64_t id, const char *error)
{
    struct buf body = {0};
    control_error_put(&(struct control_error){error}, &body);
    wire_frame_put(answer, WIRE_ERROR, id, body.data, body.len);
    buf_fini(&body);
}

static void sessions_look(struct gate *g, uint64_t now_ns);

/* Reads an OPEN, if the budgets allow it. SKEIN_OK; SKEIN_AGAIN: it is dropped unread; or
 * seal_open_read's status. The budgets keep one connection, or many that stay and send noise, from
 * taking what others need; who connects anew for each OPEN still can. */
static int open_read(struct gate *g, struct visitor *v, const struct wire_frame *frame,
                     const struct seal_pair keys[ENROLL_KEYS], size_t count,
                     struct seal_request *request)
{
    uint64_t now = clock_monotonic_ns();
    if (now < v->wait_ns)
        return SKEIN_AGAIN;
    v->wait_ns = now + WAIT_NS;
    int status = seal_open_look(keys, count, frame->body, frame->body_bytes);
    if (status != SKEIN_OK)
        return status;
    if (!may_open(g, now))
        return SKEIN_AGAIN;
    status = seal_open_read(keys, count, frame->body, frame->body_bytes, request);
    if (status != SKEIN_OK)
        v->wait_ns = now + WAIT_BAD_NS;
    return status;
}

/* Lets in who may come in. SKEIN_OK, with the body of ACCEPT; SKEIN_REFUSED, with the body of
 * REFUSE (none: it cannot be made); else the agent should try again. */
static int gate_admit(struct gate *g, const struct seal_request *request,
                      const struct seal_pair *keys, struct buf *body)
{
    char reason[SEAL_REASON_MAX + 1] = "", id[17], by[ENROLL_ID_BYTES] = "";
    uint64_t agent = request->hello.agent;
    int status = SKEIN_REFUSED;
    sessions_look(
        g, clock_monotonic_ns()); /* an agent that was forgotten may come back with another key */
    if (!has_room(g, agent))      /* before a use of a join token is spent */
        snprintf(reason, sizeof reason, "the collector knows as many agents as agents.max allows");
    else
        status = enroll_admit(g->settings.enroll, agent, &request->agent, request->hello.token,
                              clock_realtime_ns(), by, reason, sizeof reason);
    if (by[0] != '\0' && g->settings.joined != NULL)
        g->settings.joined(g->settings.context, agent, by);
    if (status == SKEIN_OK)
        status = open_accept(g, request, keys, body);
    snprintf(id, sizeof id, "%016" PRIx64, agent);
    if (status == SKEIN_REFUSED) {
        metrics_add(seal_refused_total, 1);
        log_warn("control", "refused an agent", "agent", id, "reason", reason, NULL);
        (void)seal_refuse_make(request, reason, body);
    } else if (status != SKEIN_OK) {
        log_warn("control", "cannot let an agent in now", "agent", id, "error",
                 skein_status_text(status), NULL);
    }
    return status;
}

/* Answers an OPEN, or drops it. */
static void on_open(struct gate *g, const struct transport_peer *peer,
                    const struct wire_frame *frame, struct buf *answer)
{
    struct seal_pair keys[ENROLL_KEYS];
    struct seal_request request;
    struct buf body = {0};
    metrics_add(seal_opens_total, 1);
    size_t count = enroll_keys(g->settings.enroll, keys);
    int status = open_read(g, visitor_of(g, peer), frame, keys, count, &request);
    if (status != SKEIN_OK) {
        metrics_add(seal_dropped_total, 1);
        if (count > 0 && status == SKEIN_NOT_FOUND)
            gate_say(answer, frame->id, "not a key of this collector");
        seal_wipe(keys, sizeof keys);
        return;
    }
    status = gate_admit(g, &request, keys, &body);
    if (status == SKEIN_OK || (status == SKEIN_REFUSED && body.len > 0))
        wire_frame_put(answer, status == SKEIN_OK ? WIRE_ACCEPT : WIRE_REFUSE, frame->id, body.data,
                       body.len);
    seal_wipe(keys, sizeof keys);
    seal_wipe(&request, sizeof request);
    buf_fini(&body);
}

/* ---- messages ---- */

/* Makes a pending session the live one, at the first frame that verifies. */
static void exchange_go_live(struct gate *g, struct session *s)
{
    struct holder *h = s->holder;
    for (enum slot slot = FRESH; slot <= DOUBTFUL; slot++) {
        if (h->slots[slot] != s)
            continue;
        slot_drop(g, h, OLD);
        h->slots[OLD] = h->slots[LIVE];
        if (h->slots[OLD] != NULL)
            h->slots[OLD]->until_ns = clock_monotonic_ns() + GRACE_NS;
        h->slots[LIVE] = s;
        h->slots[slot] = NULL;
    }
}

static bool is_over(const struct session *s)
{
    return s == NULL || (s->until_ns != 0 && clock_monotonic_ns() > s->until_ns);
}

static int sealed_take(struct gate *g, enum seal_channel channel, uint64_t id,
                       struct transport_message *m, struct wire_frame *frame, struct buf *answer)
{
    struct session *s = gate_find(g, id);
    if (is_over(s)) {
        metrics_add(seal_broken_total, 1);
        if (channel == SEAL_CONTROL) /* a hint to open anew; not sealed, anybody could send it */
            gate_say(answer, 0, "no such session");
        return SKEIN_AGAIN;
    }
    int status = seal_frame_open(s->seal, channel, m->data, m->len, frame);
    if (status != SKEIN_OK) {
        if (status == SKEIN_EXISTS)
            metrics_add(seal_replayed_total, 1);
        else
            metrics_add(seal_broken_total, 1);
        return SKEIN_AGAIN;
    }
    exchange_go_live(g, s);
    m->peer.session = id;
    m->peer.agent = s->holder->agent;
    return SKEIN_OK;
}

int gate_take(struct gate *g, enum seal_channel channel, struct transport_message *m,
              struct wire_frame *frame, struct buf *answer)
{
    uint64_t id;
    m->peer.session = m->peer.agent = 0;
    if (g == NULL)
        return wire_frame_get(m->data, m->len, frame);
    if (seal_frame_session(m->data, m->len, &id) == SKEIN_OK) {
        pthread_mutex_lock(&g->mutex);
        int status = sealed_take(g, channel, id, m, frame, answer);
        pthread_mutex_unlock(&g->mutex);
        return status;
    }
    int status = wire_frame_get(m->data, m->len, frame);
    if (status != SKEIN_OK)
        return status;
    if (frame->type == WIRE_OPEN && channel == SEAL_CONTROL) {
        pthread_mutex_lock(&g->mutex);
        on_open(g, &m->peer, frame, answer);
        pthread_mutex_unlock(&g->mutex);
        return SKEIN_AGAIN;
    }
    if (g->settings.plain)
        return SKEIN_OK;
    metrics_add(seal_plain_total, 1);
    if (channel == SEAL_CONTROL)
        gate_say(answer, frame->id, "this collector takes sealed messages alone");
    return SKEIN_AGAIN;
}

static int sealed_message_make(struct gate *g, enum seal_channel channel, uint64_t session,
                               uint8_t *to, uint8_t type, uint64_t id, size_t n)
{
    pthread_mutex_lock(&g->mutex);
    struct session *s = gate_find(g, session);
    int status = is_over(s) ? SKEIN_CLOSED : seal_frame_close(s->seal, channel, to, type, id, n);
    pthread_mutex_unlock(&g->mutex);
    return status == SKEIN_OK ? SKEIN_OK : SKEIN_CLOSED;
}

int gate_make(struct gate *g, enum seal_channel channel, const struct transport_peer *peer,
              uint8_t type, uint64_t id, const void *body, size_t n, void **message)
{
    bool sealed = g != NULL && peer->session != 0;
    size_t head = sealed ? SEAL_HEAD_BYTES : WIRE_HEADER_BYTES;
    uint8_t *to = transport_alloc(head + n + (sealed ? SEAL_TAG_BYTES : 0));
    *message = NULL;
    if (to == NULL)
        return SKEIN_NO_MEMORY;
    memcpy(to + head, body, n);
    int status = SKEIN_OK;
    if (sealed)
        status = sealed_message_make(g, channel, peer->session, to, type, id, n);
    else
        wire_frame_seal(to, type, id, n);
    if (status != SKEIN_OK)
        transport_alloc_free(to);
    else
        *message = to;
    return status;
}

/* ---- life ---- */

static void holder_free(struct gate *g, struct holder *h)
{
    for (enum slot slot = LIVE; slot < SLOTS; slot++)
        slot_drop(g, h, slot);
    free(h);
}

static void bad_drop(struct gate *g)
{
    struct holder *bad = NULL, *next;
    size_t at = 0;
    for (struct holder *h; (h = idmap_next(&g->holders, &at)) != NULL;) {
        if (enroll_is_good(g->settings.enroll, h->agent))
            continue;
        h->next_bad = bad;
        bad = h;
    }
    for (; bad != NULL; bad = next) {
        next = bad->next_bad;
        idmap_remove(&g->holders, idmap_key_of(&bad->agent).id);
        holder_free(g, bad);
    }
}

static void sessions_look(struct gate *g, uint64_t now_ns)
{
    g->looked_ns = now_ns;
    int64_t changes = enroll_changes(g->settings.enroll);
    if (changes >= 0 && changes != g->changes) {
        bad_drop(g);
        g->changes = changes;
    }
}

void gate_look(struct gate *g)
{
    if (g == NULL)
        return;
    pthread_mutex_lock(&g->mutex);
    sessions_look(g, clock_monotonic_ns());
    pthread_mutex_unlock(&g->mutex);
}

void gate_tick(struct gate *g)
{
    uint64_t now = clock_monotonic_ns();
    if (g == NULL)
        return;
    pthread_mutex_lock(&g->mutex);
    if (now - g->looked_ns >= NS_PER_S)
        sessions_look(g, now);
    pthread_mutex_unlock(&g->mutex);
}

int gate_new(const struct gate_settings *settings, struct gate **out)
{
    struct gate *g = *out = calloc(1, sizeof *g);
    if (g == NULL)
        return SKEIN_NO_MEMORY;
    g->settings = *settings;
    if (g->settings.renew_ms == 0)
        g->settings.renew_ms = RENEW_MS;
    if (g->settings.opens_a_second == 0)
        g->settings.opens_a_second = OPENS_A_SECOND;
    pthread_mutex_init(&g->mutex, NULL);
    g->changes = enroll_changes(settings->enroll);
    return SKEIN_OK;
}

void gate_free(struct gate **gate)
{
    struct gate *g = *gate;
    size_t at = 0;
    if (g == NULL)
        return;
    *gate = NULL;
    for (struct holder *h; (h = idmap_next(&g->holders, &at)) != NULL;)
        holder_free(g, h);
    idmap_fini(&g->holders);
    idmap_fini(&g->sessions);
    pthread_mutex_destroy(&g->mutex);
    free(g);
}
