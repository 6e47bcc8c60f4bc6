/* SPDX-License-Identifier: Apache-2.0
 *
 * The source "go"; see go_source.h. A fetch's result is its thread's until it releases the task, and
 * then the evidence thread's. `running` and `stopped` are under the mutex.
 *
 *   collect, AT_BEGIN ──▶ thread: go_fetch ──▶ evidence_release ─ ─▶ collect, AT_END
 */
#include "go_source.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base64.h"
#include "checksum.h"
#include "clock.h"
#include "cond_until.h"
#include "go_fetch.h"

#define MS         UINT64_C(1000000)
#define PART_ROOM  160 /* bytes of memory that a part takes beside its text, at most */
#define STOP_S     5   /* a fetch hears of its end within one */
#define KINDS      2
#define PPROF_PATH "/debug/pprof/trace?seconds="

/* What comes of one address. */
struct fetch {
    struct go_source *source;
    struct evidence_task *task; /* held */
    struct process *process;    /* the task's */
    char address[sizeof((struct process_go *)0)->flight], path[64];
    uint64_t timeout_ms;
    bool asked;
    /* the thread's, until it releases the task */
    uint64_t ended_ns; /* CLOCK_MONOTONIC */
    struct buf bytes;
    char why[GO_WHY_BYTES]; /* "": they are there */
};
static const char *const kinds[KINDS] = {"before", "after"};

/* Of a task. */
struct go_state {
    struct fetch fetches[KINDS];
};

struct go_source {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    size_t running;
    bool stopped;
    int cancel;    /* atomic; all are to end */
    int leave_out; /* atomic */
};

int go_source_new(struct go_source **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    cond_init(&(*out)->ended);
    pthread_mutex_init(&(*out)->mutex, NULL);
    return SKEIN_OK;
}

size_t go_source_stop(struct go_source *source)
{
    if (source == NULL)
        return 0;
    uint64_t until_ns = clock_monotonic_ns() + STOP_S * 1000 * MS;
    __atomic_store_n(&source->cancel, 1, __ATOMIC_RELAXED); /* it leads to nothing else */
    pthread_mutex_lock(&source->mutex);
    source->stopped = true;
    while (source->running > 0 && cond_wait_until(&source->ended, &source->mutex, until_ns))
        continue;
    size_t hang = source->running > 0;
    pthread_mutex_unlock(&source->mutex);
    return hang;
}

void go_source_free(struct go_source **source_p)
{
    struct go_source *source = *source_p;
    *source_p = NULL;
    if (source == NULL)
        return;
    pthread_cond_destroy(&source->ended);
    pthread_mutex_destroy(&source->mutex);
    free(source);
}

void go_source_leave_out(struct go_source *source, bool leave_out)
{
    __atomic_store_n(&source->leave_out, leave_out,
                     __ATOMIC_RELAXED); /* it leads to nothing else */
}

bool go_source_concerns(const struct process *p)
{
    struct process_go go = process_go(p);
    return go.pprof[0] != '\0' || go.flight[0] != '\0';
}

void go_source_state_free(void *context)
{
    struct go_state *state = context;
    for (size_t i = 0; i < KINDS; i++)
        buf_fini(&state->fetches[i].bytes);
    free(state);
}

/* ---- a fetch ---- */

static void *fetch_run(void *context)
{
    struct fetch *fetch = context;
    struct go_source *source = fetch->source;
    struct evidence_task *task = fetch->task;
    char why[GO_WHY_BYTES];
    const struct go_request request = {.process = fetch->process,
                                       .address = fetch->address,
                                       .path = fetch->path,
                                       .timeout_ms = fetch->timeout_ms,
                                       .bytes_max = GO_TRACE_BYTES_MAX,
                                       .cancel = &source->cancel};
    const char *reason = go_fetch(&request, &fetch->bytes, why);
    snprintf(fetch->why, sizeof fetch->why, "%s", reason != NULL ? reason : "");
    fetch->ended_ns = clock_monotonic_ns();
    evidence_release(task); /* the fetch may be freed by now */
    pthread_mutex_lock(&source->mutex);
    source->running--;
    pthread_cond_broadcast(&source->ended);
    pthread_mutex_unlock(&source->mutex);
    return NULL;
}

/* Takes a place for one more. NULL; or why there is none. */
static const char *place_take(struct go_source *source)
{
    pthread_mutex_lock(&source->mutex);
    const char *why = source->stopped                     ? "the agent ends"
                      : source->running == GO_FETCHES_MAX ? "16 traces are being fetched already"
                                                          : NULL;
    source->running += why == NULL;
    pthread_mutex_unlock(&source->mutex);
    return why;
}

_Static_assert(GO_FETCHES_MAX == 16, "place_take says so");

static void fetch_begin(struct fetch *fetch, const struct evidence_ask *ask)
{
    struct go_source *source = fetch->source;
    pthread_attr_t detached;
    pthread_t thread;
    uint64_t now_ns = clock_monotonic_ns();
    const char *why = now_ns + MS < ask->deadline_ns ? place_take(source) : "no time was left";
    fetch->asked = true;
    if (why != NULL) {
        snprintf(fetch->why, sizeof fetch->why, "%s", why);
        return;
    }
    fetch->task = ask->task;
    fetch->process = ask->process;
    fetch->timeout_ms = (ask->deadline_ns - now_ns) / MS;
    evidence_hold(ask);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &detached, fetch_run, fetch) != 0) {
        snprintf(fetch->why, sizeof fetch->why, "no thread could be made to fetch it");
        pthread_mutex_lock(&source->mutex);
        source->running--;
        pthread_mutex_unlock(&source->mutex);
        evidence_release(ask->task);
    }
    pthread_attr_destroy(&detached);
}

static void fetches_begin(struct go_source *source, const struct evidence_ask *ask,
                          struct evidence_note *note)
{
    struct process_go go = process_go(ask->process);
    struct go_state *state = NULL;
    if (go.pprof[0] == '\0' && go.flight[0] == '\0')
        evidence_say(
            note, EVIDENCE_NONE,
            "no selector of the agent's config (watch.select) names go_pprof or go_flight");
    else if (__atomic_load_n(&source->leave_out, __ATOMIC_RELAXED))
        evidence_say(note, EVIDENCE_REFUSED, EVIDENCE_OFF "evidence.privacy is not off");
    else if (process_state(ask->process) != PROCESS_LIVE)
        evidence_say(note, EVIDENCE_NONE, "the process had ended");
    else if ((state = calloc(1, sizeof *state)) == NULL)
        evidence_say(note, EVIDENCE_NONE, "no memory to fetch it");
    if (state == NULL)
        return;
    *ask->state = state;
    for (size_t i = 0; i < KINDS; i++)
        state->fetches[i].source = source;
    uint64_t ms = ask->settings->deadline_ms / 4;
    ms = ms < GO_TRACE_MS ? ms : GO_TRACE_MS;
    snprintf(state->fetches[0].address, sizeof state->fetches[0].address, "%s", go.flight);
    snprintf(state->fetches[1].address, sizeof state->fetches[1].address, "%s", go.pprof);
    snprintf(state->fetches[1].path, sizeof state->fetches[1].path, PPROF_PATH "0.%03u",
             (unsigned)ms);
    for (size_t i = 0; i < KINDS; i++)
        if (state->fetches[i].address[0] != '\0')
            fetch_begin(&state->fetches[i], ask);
}

/* ---- what has come ---- */

static const struct partition_event_type type_trace =
    EVIDENCE_TYPE(GO_TRACE_EVENT, SKEIN_CLASS_INSTANT, SKEIN_GROUP_APP,
                  EVIDENCE_ARG(STR, "kind", ""), EVIDENCE_ARG(U64, "bytes", "bytes"),
                  EVIDENCE_ARG(U64, "checksum", ""), EVIDENCE_ARG(U64, "parts", ""));
static const struct partition_event_type type_part = EVIDENCE_TYPE(
    GO_PART_EVENT, SKEIN_CLASS_INSTANT, SKEIN_GROUP_APP, EVIDENCE_ARG(STR, "kind", ""),
    EVIDENCE_ARG(U64, "offset", "bytes"), EVIDENCE_ARG(STR, "data", ""));

/* Whole, or nothing. */
static bool bytes_write(struct evidence_out *out, const char *kind, const struct fetch *fetch)
{
    const struct buf *bytes = &fetch->bytes;
    size_t parts = (bytes->len + GO_PART_BYTES - 1) / GO_PART_BYTES;
    if (evidence_out_room(out) / (BASE64_LETTERS(GO_PART_BYTES) + PART_ROOM) <= parts)
        return false;
    int64_t thread = evidence_thread(out, 0, EVIDENCE_THREAD_PROCESS);
    int64_t trace = evidence_type(out, &type_trace), part = evidence_type(out, &type_part);
    const struct partition_value values[] = {partition_text(kind),
                                             {.u64 = bytes->len},
                                             {.u64 = checksum64(bytes->data, bytes->len)},
                                             {.u64 = parts}};
    bool written = evidence_event(out, thread, trace, fetch->ended_ns, 0, values);
    for (size_t at = 0; at < bytes->len; at += GO_PART_BYTES) {
        char text[BASE64_LETTERS(GO_PART_BYTES) + 1];
        size_t n = bytes->len - at < GO_PART_BYTES ? bytes->len - at : GO_PART_BYTES;
        base64_put(bytes->data + at, n, text);
        const struct partition_value of[] = {
            partition_text(kind), {.u64 = at}, partition_text(text)};
        written = evidence_event(out, thread, part, fetch->ended_ns, 0, of) && written;
    }
    return written;
}

/* How one ended, as part of the note: "before: 1234 bytes". */
struct outcome {
    bool kept;
    enum evidence_state state; /* where it is not kept */
    char text[GO_WHY_BYTES + 16];
};

static void fetch_take(struct fetch *fetch, const char *kind, struct evidence_out *out,
                       struct outcome *outcome)
{
    *outcome = (struct outcome){.state = EVIDENCE_REFUSED};
    if (fetch->why[0] != '\0') {
        snprintf(outcome->text, sizeof outcome->text, "%s: %s", kind, fetch->why);
    } else if (!bytes_write(out, kind, fetch)) {
        outcome->state = EVIDENCE_NONE;
        snprintf(outcome->text, sizeof outcome->text,
                 "%s: its %zu bytes had no room (evidence.max_bytes)", kind, fetch->bytes.len);
    } else {
        outcome->kept = true;
        snprintf(outcome->text, sizeof outcome->text, "%s: %zu bytes", kind, fetch->bytes.len);
    }
    buf_fini(&fetch->bytes);
}

static void results_take(struct go_state *state, struct evidence_out *out,
                         struct evidence_note *note)
{
    struct outcome outcomes[KINDS] = {{.kept = false}};
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < KINDS; i++) {
        if (!state->fetches[i].asked)
            continue;
        fetch_take(&state->fetches[i], kinds[i], out, &outcomes[count]);
        kept += outcomes[count++].kept;
    }
    enum evidence_state as = kept == count ? EVIDENCE_TAKEN : EVIDENCE_PARTIAL;
    if (count == 1)
        evidence_say(note, kept == 1 ? as : outcomes[0].state, "%s", outcomes[0].text);
    else
        evidence_say(note, kept > 0 ? as : outcomes[0].state, "%.78s; %.78s", outcomes[0].text,
                     outcomes[1].text);
}

void go_source_collect(void *context, const struct evidence_ask *ask, struct evidence_out *out,
                       struct evidence_note *note)
{
    if (ask->when == EVIDENCE_AT_BEGIN)
        fetches_begin(context, ask, note);
    else if (*ask->state != NULL)
        results_take(*ask->state, out, note);
}
