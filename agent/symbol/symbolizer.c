/* SPDX-License-Identifier: Apache-2.0
 *
 * Callers, the queue and the thread; see symbolizer.h. One mutex guards the queue and what callers
 * and thread share of a request. A request is referenced by its caller and by the queue.
 */
#include "symbolizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "cond_until.h"
#include "symbol_int.h"

#define MEMORY_BYTES (UINT64_C(1) << 30)
#define NAMES_BYTES  (UINT64_C(16) << 20)
#define HANG_MS      5000
#define IDLE_S       600 /* then the child ends; what it said is remembered */
#define QUEUE_MAX    64
#define PROGRAM      "skein-symbolizer"

/* ---- requests ---- */

static void request_free(struct symbol_request *request)
{
    for (size_t i = 0; i < request->address_count; i++)
        free(request->addresses[i].lines);
    for (size_t i = 0; request->walks != NULL && i < request->sample_count; i++)
        free(request->walks[i].pcs);
    if (request->opened)
        symbol_place_close(&request->place);
    process_maps_free(&request->maps);
    free(request->addresses);
    free(request->walks);
    free(request->mappings);
    free(request->paths);
    free(request);
}

static void request_unref_locked(struct symbol_request *request)
{
    if (--request->references == 0)
        request_free(request);
}

static int mappings_compare(const void *a, const void *b)
{
    const struct partition_mapping *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static bool mappings_copy(struct symbol_request *request, const struct symbolizer_process *process)
{
    size_t bytes = 1;
    for (size_t i = 0; i < process->mapping_count; i++)
        bytes += strlen(process->mappings[i].path) + 1;
    request->mappings = calloc(process->mapping_count + 1, sizeof *request->mappings);
    request->paths = malloc(bytes);
    if (request->mappings == NULL || request->paths == NULL)
        return false;
    char *to = request->paths;
    for (size_t i = 0; i < process->mapping_count; i++) {
        request->mappings[i] = process->mappings[i];
        request->mappings[i].path = to;
        to = stpcpy(to, process->mappings[i].path) + 1;
    }
    request->mapping_count = process->mapping_count;
    qsort(request->mappings, request->mapping_count, sizeof *request->mappings, mappings_compare);
    return true;
}

static struct symbol_request *request_new(enum symbol_request_kind kind,
                                          const struct symbolizer_process *process)
{
    struct symbol_request *request = calloc(1, sizeof *request);
    if (request == NULL)
        return NULL;
    request->kind = kind;
    request->references = 1;
    request->pid = process->pid;
    request->start_clock_ticks = process->start_clock_ticks;
    request->place.root = -1;
    if (mappings_copy(request, process))
        return request;
    request_free(request);
    return NULL;
}

static int addresses_compare(const void *a, const void *b)
{
    const struct request_address *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static bool addresses_copy(struct symbol_request *request, const uint64_t *addresses, size_t count)
{
    request->addresses = calloc(count + 1, sizeof *request->addresses);
    if (request->addresses == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        request->addresses[i].address = addresses[i];
    request->address_count = count;
    qsort(request->addresses, count, sizeof *request->addresses, addresses_compare);
    return true;
}

/* ---- the thread ---- */

/* Who waits for it comes first; what nobody waits for, last. */
static int request_urgency(const struct symbol_request *request)
{
    return request->left ? REQUEST_KINDS : (int)request->kind;
}

static struct symbol_request *queue_next(struct symbolizer *s)
{
    struct symbol_request *best = NULL, *request;
    TAILQ_FOREACH(request, &s->queue, link)
        if (best == NULL || request_urgency(request) < request_urgency(best))
            best = request;
    return best;
}

static void queue_remove(struct symbolizer *s, struct symbol_request *request)
{
    TAILQ_REMOVE(&s->queue, request, link);
    s->queued--;
    request->done = true;
    request_unref_locked(request);
    pthread_cond_broadcast(&s->changed);
}

/* Under the mutex. Ends the child when nobody asks for long. */
static void queue_wait(struct symbolizer *s)
{
    if (!cond_wait_until(&s->changed, &s->mutex, clock_monotonic_ns() + IDLE_S * 1000 * NS_PER_MS))
        symbol_child_stop(&s->child);
}

static void *symbolizer_run(void *context)
{
    struct symbolizer *s = context;
    pthread_mutex_lock(&s->mutex);
    while (!s->stopping) {
        struct symbol_request *request = queue_next(s);
        if (request == NULL) {
            queue_wait(s);
            continue;
        }
        s->current = request;
        const bool waits = !request->left;
        pthread_mutex_unlock(&s->mutex);
        symbol_child_hurry(&s->child, waits);
        bool done = symbol_request_step(s, request);
        pthread_mutex_lock(&s->mutex);
        s->current = NULL;
        s->counters.children = s->child.life;
        s->counters.crashed = s->child.crashed;
        s->counters.hung = s->child.hung;
        if (done)
            queue_remove(s, request);
    }
    while (!TAILQ_EMPTY(&s->queue))
        queue_remove(s, TAILQ_FIRST(&s->queue));
    pthread_mutex_unlock(&s->mutex);
    symbol_child_stop(&s->child);
    pthread_mutex_lock(&s->mutex);
    s->ended = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

/* ---- beginning and end ---- */

static int program_find(const struct symbolizer_settings *settings, char *out, size_t bytes)
{
    if (settings->program != NULL)
        return snprintf(out, bytes, "%s", settings->program) < (int)bytes ? SKEIN_OK
                                                                          : SKEIN_INVALID;
    return child_program_path(PROGRAM, out, bytes);
}

static void symbolizer_fini(struct symbolizer *s)
{
    symbol_cache_free(&s->cache);
    free(s->rows);
    buf_fini(&s->ask);
    buf_fini(&s->reply);
    buf_fini(&s->walked.asked);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    free(s);
}

int symbolizer_new(const struct symbolizer_settings *settings, struct symbolizer **out)
{
    *out = NULL;
    struct symbolizer *s = calloc(1, sizeof *s);
    if (s == NULL)
        return SKEIN_NO_MEMORY;
    pthread_mutex_init(&s->mutex, NULL);
    cond_init(&s->changed);
    TAILQ_INIT(&s->queue);
    s->find = settings->find;
    s->context = settings->context;
    s->memory_bytes = settings->memory_bytes != 0 ? settings->memory_bytes : MEMORY_BYTES;
    s->rows = calloc(SYMBOL_ROWS_MAX, sizeof *s->rows);
    int status = s->rows != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    if (status == SKEIN_OK)
        status = symbol_cache_new(settings->names_bytes != 0 ? settings->names_bytes : NAMES_BYTES,
                                  &s->cache);
    if (status == SKEIN_OK)
        status = program_find(settings, s->program, sizeof s->program);
    if (status == SKEIN_OK && access(s->program, X_OK) != 0)
        status = SKEIN_NOT_FOUND;
    symbol_child_init(&s->child, s->program, s->memory_bytes,
                      (settings->hang_ms != 0 ? settings->hang_ms : HANG_MS) * NS_PER_MS);
    if (status == SKEIN_OK && pthread_create(&s->thread, NULL, symbolizer_run, s) != 0)
        status = SKEIN_NO_MEMORY;
    if (status == SKEIN_OK)
        *out = s;
    else
        symbolizer_fini(s);
    return status;
}

bool symbolizer_free(struct symbolizer **s_p)
{
    struct symbolizer *s = *s_p;
    *s_p = NULL;
    if (s == NULL)
        return true;
    /* A step ends when the child has answered, or is given up. */
    uint64_t until_ns = clock_monotonic_ns() + 2 * s->child.hang_ns;
    pthread_mutex_lock(&s->mutex);
    s->stopping = true;
    pthread_cond_broadcast(&s->changed);
    while (!s->ended && cond_wait_until(&s->changed, &s->mutex, until_ns))
        continue;
    bool ended = s->ended;
    pthread_mutex_unlock(&s->mutex);
    if (!ended) {
        pthread_detach(s->thread);
        return false;
    }
    pthread_join(s->thread, NULL);
    symbolizer_fini(s);
    return true;
}

void symbolizer_count(struct symbolizer *s, struct symbolizer_counters *out)
{
    pthread_mutex_lock(&s->mutex);
    *out = s->counters;
    pthread_mutex_unlock(&s->mutex);
}

/* ---- asking ---- */

/* Gives up the oldest that nobody waits for. */
static void queue_make_room(struct symbolizer *s)
{
    struct symbol_request *request;
    TAILQ_FOREACH(request, &s->queue, link)
        if (request->left && request != s->current) {
            s->counters.dropped++;
            queue_remove(s, request);
            return;
        }
}

/* Hands a request over, with one more reference. SKEIN_OK, SKEIN_BUSY. */
static int request_post_locked(struct symbolizer *s, struct symbol_request *request)
{
    if (s->queued >= QUEUE_MAX)
        queue_make_room(s);
    if (s->queued >= QUEUE_MAX) {
        s->counters.dropped++;
        return SKEIN_BUSY;
    }
    request->references++;
    TAILQ_INSERT_TAIL(&s->queue, request, link);
    s->queued++;
    pthread_cond_broadcast(&s->changed);
    return SKEIN_OK;
}

/* Until it is done or the deadline is over, when the caller has left it. */
static int request_wait_locked(struct symbolizer *s, struct symbol_request *request,
                               uint64_t deadline_ns)
{
    int status = request_post_locked(s, request);
    while (status == SKEIN_OK && !request->done &&
           cond_wait_until(&s->changed, &s->mutex, deadline_ns))
        continue;
    request->left = true;
    if (status == SKEIN_OK && (!request->done || request->missed))
        return SKEIN_TIMEOUT;
    return status == SKEIN_OK ? request->status : status;
}

/* Frees the lines. */
static void name_give(struct request_address *known, symbolizer_name_fn *fn, void *context)
{
    struct partition_line *lines = NULL;
    char *texts = NULL;
    int count =
        known->lines != NULL ? symbol_lines_read(known->lines, known->bytes, &lines, &texts) : 0;
    if (count > 0)
        fn(context, &(struct partition_symbol){known->address, lines, (uint32_t)count});
    free(lines);
    free(texts);
    free(known->lines);
}

int symbolizer_names(struct symbolizer *s, const struct symbolizer_process *process,
                     const uint64_t *addresses, size_t count, uint64_t deadline_ns,
                     symbolizer_name_fn *fn, void *context)
{
    struct symbol_request *request = request_new(REQUEST_NAMES, process);
    if (request == NULL)
        return SKEIN_NO_MEMORY;
    struct request_address *known = calloc(count + 1, sizeof *known);
    if (known == NULL || !addresses_copy(request, addresses, count)) {
        free(known);
        request_free(request);
        return SKEIN_NO_MEMORY;
    }
    pthread_mutex_lock(&s->mutex);
    int status = request_wait_locked(s, request, deadline_ns);
    s->counters.asked += count;
    for (size_t i = 0; i < count; i++) {
        struct request_address *address = &request->addresses[i];
        known[i].address = address->address;
        known[i].looked = address->looked;
        known[i].lines = address->lines;
        known[i].bytes = address->bytes;
        address->lines = NULL;
        s->counters.named += known[i].lines != NULL;
        s->counters.late += !request->done && !known[i].looked;
    }
    request_unref_locked(request);
    pthread_mutex_unlock(&s->mutex);
    for (size_t i = 0; i < count; i++)
        name_give(&known[i], fn, context);
    free(known);
    return status;
}

static int walks_give(struct symbolizer *s, struct symbol_request *request, uint64_t deadline_ns,
                      symbolizer_stack_fn *fn, void *context)
{
    struct request_walk *walks = calloc(request->sample_count + 1, sizeof *walks);
    pthread_mutex_lock(&s->mutex);
    int status = walks != NULL ? request_wait_locked(s, request, deadline_ns) : SKEIN_NO_MEMORY;
    for (size_t i = 0; walks != NULL && i < request->sample_count; i++) {
        walks[i] = request->walks[i];
        request->walks[i].pcs = NULL;
        if (walks[i].pcs == NULL)
            *(request->done ? &s->counters.unwalked : &s->counters.late) += 1;
    }
    size_t count = request->sample_count;
    request_unref_locked(request);
    pthread_mutex_unlock(&s->mutex);
    for (size_t i = 0; walks != NULL && i < count; i++) {
        const struct partition_stack stack = {walks[i].pcs, walks[i].count, walks[i].end};
        if (walks[i].pcs != NULL)
            fn(context, i, &stack);
        free(walks[i].pcs);
    }
    free(walks);
    return status;
}

int symbolizer_unwind(struct symbolizer *s, const struct symbolizer_process *process,
                      const struct symbolizer_sample *samples, size_t count, uint32_t most_frames,
                      uint64_t deadline_ns, symbolizer_stack_fn *fn, void *context)
{
#ifndef __x86_64__
    (void)s, (void)process, (void)samples, (void)count, (void)most_frames, (void)deadline_ns;
    (void)fn, (void)context;
    return SKEIN_UNSUPPORTED;
#endif
    if (most_frames == 0 || most_frames > SYMBOL_FRAMES_MAX)
        most_frames = SYMBOL_FRAMES_MAX;
    struct symbol_request *request = request_new(REQUEST_UNWIND, process);
    if (request == NULL)
        return SKEIN_NO_MEMORY;
    request->samples = samples;
    request->most_frames = most_frames;
    request->walks = calloc(count + 1, sizeof *request->walks);
    request->sample_count = request->walks != NULL ? count : 0;
    if (request->walks != NULL)
        return walks_give(s, request, deadline_ns, fn, context);
    request_free(request);
    return SKEIN_NO_MEMORY;
}

int symbolizer_maps(struct symbolizer *s, pid_t pid, uint64_t deadline_ns, struct process_maps *out)
{
    *out = (struct process_maps){0};
    struct symbol_request *request =
        request_new(REQUEST_MAPS, &(struct symbolizer_process){.pid = pid});
    if (request == NULL)
        return SKEIN_NO_MEMORY;
    pthread_mutex_lock(&s->mutex);
    int status = request_wait_locked(s, request, deadline_ns);
    if (status == SKEIN_OK) {
        *out = request->maps;
        request->maps = (struct process_maps){0};
    }
    request_unref_locked(request);
    pthread_mutex_unlock(&s->mutex);
    return status;
}

/* ---- registers ---- */

bool symbolizer_registers_perf(const uint64_t *values, uint64_t mask, uint64_t *registers)
{
    /* perf: AX BX CX DX SI DI BP SP IP FLAGS CS SS DS ES FS GS R8 … R15 */
    static const int8_t places[24] = {0,  3,  2,  1,  4, 5, 6,  7,  16, -1, -1, -1,
                                      -1, -1, -1, -1, 8, 9, 10, 11, 12, 13, 14, 15};
    static const uint64_t needed = 1u << 6 | 1u << 7 | 1u << 8; /* BP SP IP */
    memset(registers, 0, SYMBOLIZER_REGISTERS * sizeof *registers);
    for (unsigned bit = 0; bit < 64; bit++) {
        if ((mask >> bit & 1) == 0)
            continue;
        if (bit < 24 && places[bit] >= 0)
            registers[places[bit]] = *values;
        values++;
    }
    return (mask & needed) == needed;
}
