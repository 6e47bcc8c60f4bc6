/* SPDX-License-Identifier: Apache-2.0
 *
 * From the recorder's memory to events of a capture: counters of the host and of the process, who
 * was on top, and when the process was held back. Evidence thread. Never reads a file itself.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "vitals_int.h"

#define SPARSE_NS (2 * VITALS_EVERY_NS) /* rows further apart than this are told of */

struct collect {
    struct evidence_out *out;
    int64_t host, process; /* threads */
    uint64_t from_ns;      /* what is older counts for the past of states alone */
    /* counters of the host: the type of the one before */
    char name[STORE_NAME_BYTES];
    int64_t type;
    /* rows */
    int64_t types[PROCESS_COUNTERS];
    uint64_t row_ns, widest_ns, first_row_ns;
    bool too_many_threads;
    const char *state;          /* in which the last row found it; "": none that matters */
    uint64_t since_ns, free_ns; /* its first row; the last one before that, or 0 */
    uint64_t untyped;           /* events without room for their type */
    uint64_t whole_ns; /* rows of threads are whole since then; UINT64_MAX: there are none */
};

static int64_t counter_type(struct collect *c, const char *name, const char *unit)
{
    const struct partition_event_type type =
        EVIDENCE_TYPE(name, SKEIN_CLASS_COUNTER, VITALS_GROUP, EVIDENCE_ARG(F64, "value", unit));
    return evidence_type(c->out, &type);
}

static void counter_put(struct collect *c, int64_t thread, int64_t type, uint64_t at_ns,
                        double value)
{
    const struct partition_value arg = {.f64 = value};
    c->untyped += type < 0;
    (void)evidence_event(c->out, thread, type, at_ns, 0, &arg);
}

static void value_put(void *context, const char *name, const char *unit, uint64_t at_ns,
                      double value)
{
    struct collect *c = context;
    if (strcmp(name, c->name) != 0) {
        snprintf(c->name, sizeof c->name, "%s", name);
        c->type = counter_type(c, name, unit);
    }
    counter_put(c, c->host, c->type, at_ns, value);
}

/* ---- who was on top ---- */

#define TOP_TYPE(name, value, unit)                                                                \
    EVIDENCE_TYPE(name, SKEIN_CLASS_INSTANT, VITALS_GROUP, EVIDENCE_ARG(U64, "rank", ""),          \
                  EVIDENCE_ARG(U64, "pid", ""), EVIDENCE_ARG(STR, "name", ""),                     \
                  EVIDENCE_ARG(F64, value, unit), EVIDENCE_ARG(U64, "over", "ns"))

static const struct partition_event_type type_top[TOP_KINDS] = {
    TOP_TYPE("host.top.cpu", "cpu", "%"), TOP_TYPE("host.top.memory", "memory", "bytes"),
    TOP_TYPE("host.top.io", "io", "bytes/s")};

static void top_put(void *context, const struct top_row *top)
{
    struct collect *c = context;
    for (size_t kind = 0; kind < TOP_KINDS; kind++) {
        int64_t id = evidence_type(c->out, &type_top[kind]);
        for (uint32_t i = 0; i < top->count[kind]; i++) {
            const struct top_entry *entry = &top->entries[kind][i];
            const struct partition_value args[] = {{.u64 = i + 1},
                                                   {.u64 = entry->pid},
                                                   partition_text(entry->name),
                                                   {.f64 = entry->value},
                                                   {.u64 = top->took_ns}};
            (void)evidence_event(c->out, c->host, id, top->at_ns, 0, args);
        }
    }
}

/* ---- the process ---- */

/* What held it back, as its row tells; "": nothing. */
static const char *row_state(const struct process_row *row)
{
    if (row->state == 'T')
        return "stopped";
    if (row->state == 't')
        return "traced";
    if (row->values[PROCESS_CGROUP_FROZEN] > 0)
        return "frozen";
    return row->values[PROCESS_CGROUP_THROTTLED] > 0 ? "throttled" : "";
}

#define STATE_TYPE(...)                                                                            \
    EVIDENCE_TYPE("proc.state", SKEIN_CLASS_INSTANT, VITALS_GROUP, EVIDENCE_ARG(STR, "state", ""), \
                  __VA_ARGS__)

/* Without "at_most", and with it. */
static const struct partition_event_type type_state[] = {
    STATE_TYPE(EVIDENCE_ARG(U64, "at_least", "ns")),
    STATE_TYPE(EVIDENCE_ARG(U64, "at_least", "ns"), EVIDENCE_ARG(U64, "at_most", "ns"))};

/* Since when is known between two looks: "at_least" since the first that found it so, "at_most"
 * since the last that did not, where there was one. */
static void state_put(struct collect *c, uint64_t now_ns)
{
    const char *state = c->state[0] != '\0' ? c->state : "free";
    const struct partition_value args[] = {partition_text(state),
                                           {.u64 = now_ns - c->since_ns},
                                           {.u64 = c->free_ns != 0 ? now_ns - c->free_ns : 0}};
    (void)evidence_event(c->out, c->process, evidence_type(c->out, &type_state[c->free_ns != 0]),
                         now_ns, 0, args);
}

static void row_put(void *context, const struct process_row *row)
{
    static const struct {
        const char *name, *unit;
    } counters[PROCESS_COUNTERS] = {
#define X(id, text, of) {text, of},
        PROCESS_COUNTER_LIST(X)
#undef X
    };
    struct collect *c = context;
    const char *state = row_state(row);
    if (strcmp(state, c->state) != 0) {
        bool told = c->row_ns != 0 || state[0] != '\0';
        c->state = state;
        c->since_ns = row->at_ns;
        c->free_ns = c->row_ns;
        if (told && row->at_ns >= c->from_ns)
            state_put(c, row->at_ns);
    }
    if (row->at_ns >= c->from_ns && c->row_ns != 0 && row->at_ns - c->row_ns > c->widest_ns)
        c->widest_ns = row->at_ns - c->row_ns;
    if (c->first_row_ns == 0)
        c->first_row_ns = row->at_ns;
    c->row_ns = row->at_ns;
    if (row->at_ns < c->from_ns)
        return;
    c->too_many_threads |= row->too_many_threads;
    for (size_t i = 0; i < PROCESS_COUNTERS; i++) {
        if (!STORE_IS_KNOWN(row->values[i]))
            continue;
        if (c->types[i] < 0)
            c->types[i] = counter_type(c, counters[i].name, counters[i].unit);
        counter_put(c, c->process, c->types[i], row->at_ns, row->values[i]);
    }
}

/* ---- what is missing ---- */

struct missing {
    char text[EVIDENCE_WHY_BYTES];
    size_t used;
};

static void missing_add(struct missing *missing, const char *what)
{
    size_t room = sizeof missing->text - missing->used;
    int n =
        snprintf(missing->text + missing->used, room, "%s%s", missing->used > 0 ? "; " : "", what);
    missing->used += n > 0 && (size_t)n < room ? (size_t)n : 0;
    missing->text[missing->used] = '\0'; /* whole sentences only */
}

static void switched_off_add(const struct vitals *v, struct missing *missing)
{
    if (!v->settings.host)
        missing_add(missing, "vitals.host is off");
    if (!v->settings.processes)
        missing_add(missing, "vitals.processes is off");
    if (!v->settings.top)
        missing_add(missing, "vitals.top is off");
}

static void gaps_add(struct vitals *v, const struct evidence_ask *ask, const struct collect *c,
                     int sampled, struct missing *missing)
{
    char text[EVIDENCE_WHY_BYTES];
    uint64_t first_ns, last_ns;
    if (sampled == SKEIN_TIMEOUT)
        missing_add(missing, "a file of the kernel did not answer at the end");
    bool some = store_bounds(v->store, &first_ns, &last_ns);
    if (v->settings.host && !some)
        missing_add(missing, "the host was not looked at yet");
    if (v->settings.host && some && first_ns > ask->from_ns + VITALS_EVERY_NS) {
        snprintf(text, sizeof text, "what is remembered begins %" PRIu64 " s after the window did",
                 (first_ns - ask->from_ns) / UINT64_C(1000000000));
        missing_add(missing, text);
    }
    if (v->settings.processes && c->row_ns == 0)
        missing_add(missing, "the process was gone before it was looked at");
    if (c->widest_ns > SPARSE_NS) {
        snprintf(text, sizeof text, "looks at the process are up to %u s apart, as there are many",
                 (unsigned)((c->widest_ns + VITALS_EVERY_NS / 2) / VITALS_EVERY_NS));
        missing_add(missing, text);
    }
    if (c->too_many_threads) {
        snprintf(text, sizeof text, "no run delay and loads of more than %d threads",
                 LOOK_THREADS_MAX);
        missing_add(missing, text);
    }
    if (c->whole_ns > ask->from_ns)
        missing_add(missing, "loads of threads have no room for all of the window");
    if (store_left_out(v->store) > 0 || c->untyped > 0)
        missing_add(missing, "there are more devices and cores than have room");
}

void vitals_collect(void *source, const struct evidence_ask *ask, struct evidence_out *out,
                    struct evidence_note *note)
{
    struct vitals *v = source;
    struct missing missing = {.used = 0};
    uint32_t pid = ask->process->pid;
    uint64_t start_ticks = ask->process->start_clock_ticks;
    uint64_t before_ns = ask->from_ns > VITALS_BEFORE_NS ? VITALS_BEFORE_NS : ask->from_ns;
    struct collect c = {.out = out, .from_ns = ask->from_ns - before_ns, .state = ""};
    if (!v->settings.host && !v->settings.processes && !v->settings.top) {
        evidence_say(note, EVIDENCE_NONE,
                     EVIDENCE_OFF "vitals.host, .processes and .top are false");
        return;
    }
    for (size_t i = 0; i < PROCESS_COUNTERS; i++)
        c.types[i] = -1;
    int sampled = vitals_now(v, pid, start_ticks, ask->deadline_ns);
    uint64_t events = evidence_out_events(out), now_ns = clock_monotonic_ns();
    c.host = evidence_thread(out, 0, EVIDENCE_THREAD_HOST);
    c.process = evidence_thread(out, 0, EVIDENCE_THREAD_PROCESS);
    /* Rows first: where room ends, the host's counters are the ones left out. */
    store_rows_each(v->store, pid, start_ticks, 0, now_ns, row_put, &c);
    if (c.state[0] != '\0' && c.row_ns != c.since_ns)
        state_put(&c, c.row_ns);
    if (v->settings.processes &&
        vitals_threads_put(v, ask, c.from_ns, now_ns, out, &c.whole_ns) != SKEIN_OK)
        c.whole_ns = UINT64_MAX;
    store_values_each(v->store, c.from_ns, now_ns, value_put, &c);
    store_tops_each(v->store, c.from_ns, now_ns, top_put, &c);
    switched_off_add(v, &missing);
    gaps_add(v, ask, &c, sampled, &missing);
    if (evidence_out_events(out) == events)
        evidence_say(note, EVIDENCE_NONE, "%s", missing.text);
    else
        evidence_say(note, missing.used > 0 ? EVIDENCE_PARTIAL : EVIDENCE_TAKEN, "%s",
                     missing.text);
}
