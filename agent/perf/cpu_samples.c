/* SPDX-License-Identifier: Apache-2.0
 *
 * The evidence of kind "samples"; see cpu_samples.h. What a collection needs is its own and on its
 * thread; shared with others are the rings alone, which have a mutex.
 */
#include "cpu_samples.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "kernel_names.h"
#include "log.h"
#include "neighbours.h"
#include "perf_host.h"
#include "proc_info.h"
#include "sample_batch.h"
#include "thread_cpu.h"

#define MS                UINT64_C(1000000)
#define KERNEL_NAME_BYTES 128 /* of one that is longer, the rest is left out */

struct cpu_samples {
    struct cpu_samples_settings settings; /* constant */
    struct perf_host *host;
    struct kernel_names *kernel; /* the evidence thread's */
    /* in the log; the loop's */
    unsigned said_refused; /* CPUs */
    unsigned said_hz;
    bool said_why;
};

static void state_log(const struct perf_host_state *state, uint64_t wished_ms)
{
    if (state->why[0] != '\0')
        log_warn("samples", "CPUs are not sampled, or not as often as they should be", "refused",
                 log_fmt("%u", state->refused), "sampled", log_fmt("%u", state->cpus), "reason",
                 state->why, NULL);
    if (state->cpus == 0)
        return;
    log_info("samples", "CPUs are sampled", "hz", log_fmt("%u", state->hz), "cpus",
             log_fmt("%u", state->cpus), "bytes", log_fmt("%" PRIu64, state->bytes), "reach_ms",
             log_fmt("%" PRIu64, state->reach_ms), NULL);
    if (state->reach_ms < wished_ms)
        log_warn("samples", "memory is too small for the wished reach of busy CPUs", "reach_ms",
                 log_fmt("%" PRIu64, state->reach_ms), "wished_ms", log_fmt("%" PRIu64, wished_ms),
                 NULL);
}

static void said_set(struct cpu_samples *samples, const struct perf_host_state *state)
{
    samples->said_refused = state->refused;
    samples->said_hz = state->hz;
    samples->said_why = state->why[0] != '\0';
}

int cpu_samples_new(const struct cpu_samples_settings *settings, struct cpu_samples **out)
{
    *out = NULL;
    struct cpu_samples *samples = calloc(1, sizeof *samples);
    if (samples == NULL)
        return SKEIN_NO_MEMORY;
    samples->settings = *settings;
    struct perf_host_settings host = {.hz = (unsigned)settings->hz,
                                      .reach_ms = settings->reach_ms,
                                      .memory_max = settings->memory_max};
    int status = kernel_names_new(NULL, NULL, &samples->kernel);
    if (status == SKEIN_OK)
        status = perf_host_new(&host, &samples->host);
    if (status != SKEIN_OK) {
        cpu_samples_free(&samples);
        return status;
    }
    struct perf_host_state state;
    perf_host_state(samples->host, &state);
    if (state.hz > 0)
        state_log(&state, settings->reach_ms);
    said_set(samples, &state);
    *out = samples;
    return SKEIN_OK;
}

void cpu_samples_free(struct cpu_samples **samples_p)
{
    struct cpu_samples *samples = *samples_p;
    if (samples == NULL)
        return;
    *samples_p = NULL;
    perf_host_free(&samples->host);
    kernel_names_free(&samples->kernel);
    free(samples);
}

/* CPUs that came later, and are refused, are told of as well. */
void cpu_samples_look(void *context)
{
    struct cpu_samples *samples = context;
    struct perf_host_state state;
    perf_host_look(samples->host);
    perf_host_state(samples->host, &state);
    bool news = state.refused != samples->said_refused || state.hz != samples->said_hz ||
                (state.why[0] != '\0') != samples->said_why;
    if (news && state.hz > 0)
        state_log(&state, samples->settings.reach_ms);
    said_set(samples, &state);
}

void cpu_samples_set_hz(struct cpu_samples *samples, uint64_t hz)
{
    if (samples->settings.hz != 0)
        perf_host_set_hz(samples->host, (unsigned)hz);
}

void cpu_samples_state(struct cpu_samples *samples, struct cpu_samples_state *out)
{
    struct perf_host_state state;
    perf_host_state(samples->host, &state);
    *out = (struct cpu_samples_state){state.hz, state.cpus, state.bytes, state.reach_ms, ""};
    memcpy(out->refused, state.why, sizeof out->refused);
}

_Static_assert(CPU_SAMPLES_WHY == PERF_HOST_WHY_BYTES, "one is copied to the other");

/* ---- a collection ---- */

struct known_thread {
    uint32_t tid;
    int64_t thread; /* evidence_thread's */
};

struct collection {
    const struct evidence_ask *ask;
    struct evidence_out *out;
    struct process_maps maps;
    struct partition_mapping *mappings; /* of the maps */
    bool *used;                         /* by map: a stack leads there */
    bool asked_maps, has_maps;
    struct sample_batch batch;
    struct neighbours *others;
    int64_t type;
    struct known_thread *threads;
    size_t thread_count, thread_cap;
    uint64_t *kernel_pcs; /* of stacks, as they are looked up */
    size_t kernel_count, kernel_cap;
    uint64_t own, own_ns; /* samples of the process */
    bool no_memory;
};

static const struct partition_event_type type_sample =
    EVIDENCE_TYPE("cpu.sample", SKEIN_CLASS_INSTANT, SKEIN_GROUP_THREAD,
                  EVIDENCE_ARG(U64, "cpu", ""), EVIDENCE_ARG(U64, "weight", "ns"));
static const struct partition_event_type type_others = EVIDENCE_TYPE(
    "cpu.others", SKEIN_CLASS_INSTANT, SKEIN_GROUP_THREAD, EVIDENCE_ARG(U64, "weight", "ns"),
    EVIDENCE_ARG(U64, "samples", ""), EVIDENCE_ARG(U64, "pid", ""), EVIDENCE_ARG(STR, "name", ""));
static const struct partition_event_type type_window = EVIDENCE_TYPE(
    "cpu.window", SKEIN_CLASS_INSTANT, SKEIN_GROUP_THREAD, EVIDENCE_ARG(U64, "process", "ns"),
    EVIDENCE_ARG(U64, "busy", "ns"), EVIDENCE_ARG(U64, "room", "ns"), EVIDENCE_ARG(U64, "cpus", ""),
    EVIDENCE_ARG(U64, "samples", ""));

static int64_t thread_of(struct collection *c, uint32_t tid)
{
    char path[64], name[64];
    for (size_t i = c->thread_count; i > 0; i--) {
        if (c->threads[i - 1].tid == tid)
            return c->threads[i - 1].thread;
    }
    if (!array_grow(c->threads, c->thread_count + 1, &c->thread_cap)) {
        c->no_memory = true;
        return SKEIN_NO_MEMORY;
    }
    snprintf(path, sizeof path, "task/%u/comm", tid);
    (void)proc_file_read((pid_t)c->ask->process->pid, path, name,
                         sizeof name); /* "": it has ended */
    name[strcspn(name, "\n")] = '\0';
    int64_t thread = evidence_thread(c->out, tid, name);
    c->threads[c->thread_count++] = (struct known_thread){tid, thread};
    return thread;
}

/* Return addresses are looked up one before: the call is what was running. */
static void kernel_pcs_note(struct collection *c, const struct sample_stack *stack)
{
    if (!array_grow(c->kernel_pcs, c->kernel_count + stack->in_kernel, &c->kernel_cap)) {
        c->no_memory = true;
        return;
    }
    for (uint32_t i = 0; i < stack->in_kernel; i++)
        c->kernel_pcs[c->kernel_count++] = stack->pcs[i] - (i > 0);
}

static void maps_note(struct collection *c, const struct sample_stack *stack)
{
    for (uint32_t i = stack->in_kernel; c->has_maps && i < stack->count; i++) {
        const struct process_map *map = process_maps_find(&c->maps, stack->pcs[i] - (i > 0));
        if (map != NULL)
            c->used[map - c->maps.items] = true;
    }
}

/* sample_stack_fn */
static void sample_write(void *context, const struct perf_sample *sample,
                         const struct sample_stack *stack)
{
    struct collection *c = context;
    struct partition_value args[] = {{.u64 = sample->cpu}, {.u64 = sample->period_ns}};
    c->own++;
    c->own_ns += sample->period_ns;
    int64_t thread = thread_of(c, sample->tid);
    if (!evidence_event(c->out, thread, c->type, sample->time_ns, 0, args))
        return; /* the asker counts what had no room */
    evidence_event_stack(c->out, evidence_stack(c->out, &(struct partition_stack){
                                                            stack->pcs, stack->count, stack->end}));
    kernel_pcs_note(c, stack);
    maps_note(c, stack);
}

/* Where the code of the process lies, if it still runs: what runs on with its pid after an exec is
 * another program. Asked for with its first samples. */
static void maps_take(struct collection *c)
{
    const struct process *process = c->ask->process;
    c->asked_maps = true;
    uint64_t now_ns = clock_monotonic_ns();
    if (process_state(process) != PROCESS_LIVE ||
        !proc_is_same((pid_t)process->pid, process->start_clock_ticks) ||
        now_ns >= c->ask->deadline_ns)
        return;
    uint64_t deadline_ns = now_ns + (c->ask->deadline_ns - now_ns) / 4;
    int status =
        c->ask->symbolizer != NULL
            ? symbolizer_maps(c->ask->symbolizer, (pid_t)process->pid, deadline_ns, &c->maps)
            : process_maps_read((pid_t)process->pid, &c->maps);
    if (status != SKEIN_OK)
        return;
    c->used = calloc(c->maps.count + 1, sizeof *c->used);
    c->mappings = calloc(c->maps.count + 1, sizeof *c->mappings);
    c->has_maps = c->used != NULL && c->mappings != NULL;
    for (size_t i = 0; c->has_maps && i < c->maps.count; i++)
        c->mappings[i] = c->maps.items[i].mapping;
    if (!c->has_maps)
        return;
    c->batch.maps = &c->maps;
    c->batch.process.mappings = c->mappings;
    c->batch.process.mapping_count = c->maps.count;
}

static void own_take(void *context, const uint8_t *records, size_t n)
{
    struct collection *c = context;
    if (n > 0 && !c->asked_maps)
        maps_take(c);
    sample_batch_give(&c->batch, records, n);
}

static void other_take(void *context, uint32_t pid, uint64_t ns)
{
    struct collection *c = context;
    neighbours_note(c->others, pid, ns);
}

/* ---- names of what lies in no file of the process ---- */

static int addresses_compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Names of the kernel's functions; all are marked, those without a name by their address. */
static void kernel_write(struct collection *c, struct kernel_names *known)
{
    size_t count = 0;
    if (c->kernel_count == 0)
        return;
    qsort(c->kernel_pcs, c->kernel_count, sizeof *c->kernel_pcs, addresses_compare);
    struct kernel_name *names = calloc(c->kernel_count, sizeof *names);
    if (names == NULL) {
        c->no_memory = true;
        return;
    }
    for (size_t i = 0; i < c->kernel_count; i++) {
        if (i == 0 || c->kernel_pcs[i] != c->kernel_pcs[i - 1])
            names[count++].address = c->kernel_pcs[i];
    }
    (void)kernel_names_find(known, names, count); /* a kernel that hides them: raw */
    for (size_t i = 0; i < count; i++) {
        char text[KERNEL_NAME_BYTES + 8];
        if (names[i].text != NULL)
            snprintf(text, sizeof text, "%.*s [k]", KERNEL_NAME_BYTES - 1, names[i].text);
        else
            snprintf(text, sizeof text, "0x%" PRIx64 " [k]", names[i].address);
        evidence_symbol(c->out, names[i].address, text);
    }
    free(names);
}

static void maps_write(struct collection *c)
{
    for (size_t i = 0; c->has_maps && i < c->maps.count; i++) {
        if (c->used[i])
            evidence_mapping(c->out, &c->mappings[i]);
    }
}

/* ---- who else ran ---- */

static void comm_read(uint32_t pid, char *name, size_t bytes)
{
    if (pid == 0) /* idle CPUs are not sampled */
        snprintf(name, bytes, "(outside of the agent's pid namespace)");
    else if (!proc_comm((pid_t)pid, name, bytes)) /* UINT32_MAX: it was just ending */
        snprintf(name, bytes, "(ended)");
}

static void neighbour_write(struct collection *c, int64_t thread, int64_t type, const char *name,
                            const struct neighbour *one)
{
    struct partition_value args[] = {
        {.u64 = one->ns}, {.u64 = one->samples}, {.u64 = one->pid}, partition_text(name)};
    (void)evidence_event(c->out, thread, type, c->ask->to_ns, 0, args);
}

static void neighbours_write(struct collection *c, int64_t host)
{
    int64_t type = evidence_type(c->out, &type_others);
    struct neighbour top[NEIGHBOURS_SHOWN], rest;
    char name[64];
    size_t rest_count, count = neighbours_top(c->others, top, &rest, &rest_count);
    for (size_t i = 0; i < count; i++) {
        comm_read(top[i].pid, name, sizeof name);
        neighbour_write(c, host, type, name, &top[i]);
    }
    if (rest.samples == 0)
        return;
    snprintf(name, sizeof name, "(%zu other processes)", rest_count);
    neighbour_write(c, host, type, name, &rest);
}

/* How busy the CPUs were, and how much of that was the process. */
static void window_write(struct collection *c, int64_t host, const struct perf_reach *reach)
{
    int64_t type = evidence_type(c->out, &type_window);
    struct partition_value args[] = {{.u64 = c->own_ns},
                                     {.u64 = reach->busy_ns},
                                     {.u64 = reach->room_ns},
                                     {.u64 = reach->cpus},
                                     {.u64 = c->own}};
    (void)evidence_event(c->out, host, type, c->ask->to_ns, 0, args);
}

/* ---- collecting ---- */

/* The window, as far as the process ran this program: what its pid did before was another's, and
 * before or behind an exec another program's. The kernel tells its start in ticks, so it may have
 * been a tick later. One that is watched is so whatever it becomes: the program is that of the
 * window's end. */
struct lived {
    uint64_t from_ns, to_ns;
    uint64_t surely_ns; /* it ran by then, or the window has begun */
};

static struct lived process_lived(struct perf_host *host, const struct evidence_ask *ask)
{
    const struct process *process = ask->process;
    uint64_t start_ns = proc_start_monotonic_ns(process->start_clock_ticks);
    struct lived lived = {ask->from_ns, ask->to_ns, ask->from_ns};
    if (start_ns > ask->from_ns && start_ns < ask->to_ns) {
        uint64_t next_ns = proc_start_monotonic_ns(process->start_clock_ticks + 1);
        lived = (struct lived){start_ns, ask->to_ns, next_ns};
    }
    uint64_t attached_ns = process->attached_clock.monotonic_ns;
    bool attached = attached_ns != 0 && !process->watched;
    perf_host_program(host, process->pid, attached ? attached_ns : ask->to_ns, &lived.from_ns,
                      &lived.to_ns);
    if (lived.surely_ns < lived.from_ns)
        lived.surely_ns = lived.from_ns;
    return lived;
}

/* Half of the time is for walks; the rest is for names, and for whoever is asked next. */
static uint64_t walks_deadline_ns(const struct evidence_ask *ask)
{
    uint64_t now_ns = clock_monotonic_ns();
    return now_ns < ask->deadline_ns ? now_ns + (ask->deadline_ns - now_ns) / 2 : now_ns;
}

static bool collection_init(struct collection *c, const struct evidence_ask *ask, unsigned cpus,
                            struct lived lived, struct evidence_out *out)
{
    *c = (struct collection){.ask = ask, .out = out};
    if (neighbours_new(&c->others) != SKEIN_OK)
        return false;
    c->type = evidence_type(out, &type_sample);
    c->asked_maps = lived.to_ns != ask->to_ns; /* another program's by now */
    c->batch =
        (struct sample_batch){.symbolizer = ask->symbolizer,
                              .process = {.pid = (pid_t)ask->process->pid,
                                          .start_clock_ticks = ask->process->start_clock_ticks},
                              .deadline_ns = walks_deadline_ns(ask),
                              .cpus_left = cpus,
                              .fn = sample_write,
                              .context = c};
    return true;
}

static void collection_fini(struct collection *c)
{
    neighbours_free(&c->others);
    process_maps_free(&c->maps);
    free(c->mappings);
    free(c->used);
    free(c->threads);
    free(c->kernel_pcs);
}

/* What the capture is told of one that has samples: all that is missing. */
static void collection_say(const struct collection *c, struct lived lived,
                           const struct perf_reach *reach, const struct perf_host_state *state,
                           struct evidence_note *note)
{
    uint64_t by_pointers = c->batch.pointers;
    uint64_t lost = reach->lost + reach->unread + c->batch.unread;
    unsigned cpus = state->refused + reach->not_read;
    bool late = reach->from_ns > lived.surely_ns;
    struct buf text = {0};
    if (late)
        buf_printf(&text, "; the first %" PRIu64 " ms of the window are not sampled",
                   (reach->from_ns - lived.from_ns) / MS);
    if (cpus > 0)
        buf_printf(&text, "; not of %u CPUs", cpus);
    if (lost > 0)
        buf_printf(&text, "; %" PRIu64 " samples lost", lost);
    if (c->no_memory || c->batch.no_memory)
        buf_printf(&text, "; no memory for all of it");
    bool partial = text.len > 0 || (by_pointers > 0 && c->ask->symbolizer != NULL);
    if (by_pointers > 0)
        buf_printf(&text, "; %" PRIu64 " stacks by frame pointers", by_pointers);
    buf_put_u8(&text, '\0');
    const char *why = text.status == SKEIN_OK ? (const char *)text.data : "; no memory";
    if (!partial && c->own == 0)
        evidence_say(note, EVIDENCE_NONE,
                     "it did not run when CPUs were sampled, %u times a second", state->hz);
    else
        evidence_say(note, partial ? EVIDENCE_PARTIAL : EVIDENCE_TAKEN, "%" PRIu64 " samples%s",
                     c->own, why);
    buf_fini(&text);
}

/* What there is where samples are refused, at both ends of the capture. */
static void refused_write(const struct evidence_ask *ask, struct evidence_out *out,
                          const struct perf_host_state *state, struct evidence_note *note)
{
    uint64_t left_out = 0;
    (void)thread_cpu_write(ask, out, &left_out);
    if (left_out > 0)
        evidence_say(note, EVIDENCE_REFUSED, "no CPU times of %" PRIu64 " threads; %s", left_out,
                     state->why);
    else
        evidence_say(note, EVIDENCE_REFUSED, "%s", state->why);
}

static void samples_write(struct cpu_samples *samples, const struct evidence_ask *ask,
                          const struct perf_host_state *state, struct evidence_out *out,
                          struct evidence_note *note)
{
    struct perf_reach reach;
    struct collection c;
    struct lived lived = process_lived(samples->host, ask);
    if (collection_init(&c, ask, state->cpus, lived, out)) {
        const struct perf_wish wish = {.from_ns = lived.from_ns,
                                       .to_ns = lived.to_ns,
                                       .deadline_ns = ask->deadline_ns,
                                       .pid = ask->process->pid,
                                       .own = own_take,
                                       .other = other_take,
                                       .context = &c};
        perf_host_collect(samples->host, &wish, &reach);
        int64_t host = evidence_thread(out, 0, EVIDENCE_THREAD_HOST);
        window_write(&c, host, &reach);
        neighbours_write(&c, host);
        kernel_write(&c, samples->kernel);
        maps_write(&c);
        collection_say(&c, lived, &reach, state, note);
    } else {
        evidence_say(note, EVIDENCE_PARTIAL, "no memory");
    }
    collection_fini(&c);
}

void cpu_samples_collect(void *source, const struct evidence_ask *ask, struct evidence_out *out,
                         struct evidence_note *note)
{
    struct cpu_samples *samples = source;
    struct perf_host_state state;
    perf_host_state(samples->host, &state);
    if (state.hz == 0)
        evidence_say(note, EVIDENCE_NONE, EVIDENCE_OFF "samples.hz is 0");
    else if (state.cpus == 0)
        refused_write(ask, out, &state, note);
    else if (ask->when == EVIDENCE_AT_END)
        samples_write(samples, ask, &state, out, note);
}
