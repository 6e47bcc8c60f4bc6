/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns what a region that ended adds to a summary: to its name in its process, its thread, its lock
 * and its stack. One thread enters.
 *
 * A region comes when it ends, after what lies in it. So its own time is found in one pass: a thread
 * keeps its regions that ended, and one that ends takes away those that began no earlier than itself,
 * which are in it. Nobody knows how long others may still find their parent: of the last 64 each is
 * kept, those before in pairs, fours and so on; a parent that begins within such a pair does not take
 * it, and how much that may be is unsure_ns.
 *
 *     thread    |--- query ---------------------------|
 *                  |- read -|   |- lock -|                 self(query) = query - read - lock
 *     ended:         read         lock                query
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "summary_feed.h"

#define STACK_FRAMES 64
#define STACK_BYTES  2000 /* of a stack's text */
#define TRACER       "libskein-preload.so"

/* ---- calls: a name on a thread, and in its process ---- */

static bool calls_grow(struct summary_feed *f)
{
    size_t slots = f->call_slots > 0 ? f->call_slots * 2 : 256;
    struct feed_call *calls = calloc(slots, sizeof *calls);
    if (calls == NULL)
        return false;
    for (size_t i = 0; i < f->call_slots; i++) {
        size_t at = (size_t)(f->calls[i].key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
        while (f->calls[i].key != 0 && calls[at & (slots - 1)].key != 0)
            at++;
        if (f->calls[i].key != 0)
            calls[at & (slots - 1)] = f->calls[i];
    }
    free(f->calls);
    f->calls = calls;
    f->call_slots = slots;
    return true;
}

static int name_find(struct summary_feed *f, const struct feed_event *event, uint64_t number,
                     uint32_t *name)
{
    bool fresh;
    struct summary_row *row =
        summary_row_get(f->s, SUMMARY_NAME, event->process, event->type->text, number, &fresh);
    if (row == NULL)
        return SKEIN_NO_MEMORY;
    *name = (uint32_t)((struct summary_name *)row -
                       (struct summary_name *)(void *)f->s->tables[SUMMARY_NAME].rows);
    return SKEIN_OK;
}

static int call_find(struct summary_feed *f, const struct feed_event *event, uint32_t thread,
                     uint32_t type, struct feed_call *out)
{
    uint64_t key = ((uint64_t)thread << 32 | type) + 1;
    bool fresh;
    if ((f->call_count + 1) * 2 > f->call_slots && !calls_grow(f))
        return SKEIN_NO_MEMORY;
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32), mask = f->call_slots - 1;
    while (f->calls[at & mask].key != 0 && f->calls[at & mask].key != key)
        at++;
    *out = f->calls[at & mask];
    if (out->key != 0)
        return SKEIN_OK;
    struct summary_row *row = summary_row_get(f->s, SUMMARY_CALL, event->thread, event->type->text,
                                              event->type->group, &fresh);
    if (row == NULL || name_find(f, event, event->type->group, &out->name) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    out->key = key;
    out->call = (uint32_t)((struct summary_call *)row -
                           (struct summary_call *)(void *)f->s->tables[SUMMARY_CALL].rows);
    f->calls[at & mask] = *out;
    f->call_count++;
    return SKEIN_OK;
}

static struct summary_name *name_at(const struct summary_feed *f, uint32_t i)
{
    return (struct summary_name *)(void *)f->s->tables[SUMMARY_NAME].rows + i;
}
static struct summary_call *call_at(const struct summary_feed *f, uint32_t i)
{
    return (struct summary_call *)(void *)f->s->tables[SUMMARY_CALL].rows + i;
}

/* ---- regions ---- */

/* Nobody has claimed it: it was idle. */
static void region_settle(struct summary_feed *f, const struct feed_thread *thread,
                          struct feed_region *region)
{
    if (region->idle_ns == 0)
        return;
    sum_add(&name_at(f, region->name)->idle_ns, region->idle_ns);
    sum_add(&call_at(f, region->call)->idle_ns, region->idle_ns);
    sum_add(&feed_process(f, thread->process)->idle_ns, region->idle_ns);
    if (thread->thread != SUMMARY_NONE)
        sum_add(&feed_thread(f, thread->thread)->idle_ns, region->idle_ns);
    region->idle_ns = 0;
}

/* How much of a region is not in the one behind it, which begins later and may cross it. */
static uint64_t region_apart(const struct feed_region *region, uint64_t next_ns)
{
    uint64_t shared = region->end_ns > next_ns ? region->end_ns - next_ns : 0;
    return shared < region->sum_ns ? region->sum_ns - shared : 0;
}

/* The older half becomes half as many. */
static void regions_pair(struct summary_feed *f, struct feed_thread *thread)
{
    struct feed_region *regions = thread->regions;
    size_t half = thread->count / 2, kept = 0;
    for (size_t i = 0; i < half; i += 2, kept++) {
        struct feed_region *one = &regions[i], *two = &regions[i + 1];
        region_settle(f, thread, one);
        region_settle(f, thread, two);
        regions[kept] = (struct feed_region){.begin_ns = one->begin_ns,
                                             .end_ns = two->end_ns,
                                             .sum_ns = region_apart(one, two->begin_ns),
                                             .several = true};
        sum_add(&regions[kept].sum_ns, two->sum_ns);
    }
    memmove(&regions[kept], &regions[half], (thread->count - half) * sizeof *regions);
    thread->count -= half - kept;
}

/* Takes away what lies in a region; how long that took goes to *in_ns, and to *unsure_ns how much
 * more it may be. */
static void regions_claim(struct summary_feed *f, struct feed_thread *thread, bool work,
                          uint64_t begin_ns, uint64_t *in_ns, uint64_t *unsure_ns)
{
    uint64_t next_ns = UINT64_MAX;
    *in_ns = *unsure_ns = 0;
    for (; thread->count > 0; thread->count--) {
        struct feed_region *last = &thread->regions[thread->count - 1];
        if (last->begin_ns < begin_ns) {
            uint64_t in = last->end_ns > begin_ns ? last->end_ns - begin_ns : 0;
            if (last->several)
                *unsure_ns = in < last->sum_ns ? in : last->sum_ns;
            return;
        }
        sum_add(in_ns, region_apart(last, next_ns));
        next_ns = last->begin_ns;
        if (!work)
            region_settle(f, thread, last);
    }
}

/* Where no work is around it, such waits are for what comes next. */
static bool is_idle(const struct wait_kind *kind, uint32_t depth)
{
    return kind->wait && !kind->for_lock && depth == 0 && (kind->for_anything || kind->own_time);
}

/* Where the thread's next region goes, to be filled in place; NULL: no memory. */
static struct feed_region *region_push(struct summary_feed *f, struct feed_thread *thread)
{
    if (thread->regions == NULL)
        thread->regions = calloc(FEED_NESTED, sizeof *thread->regions);
    if (thread->regions == NULL)
        return NULL;
    if (thread->count == FEED_NESTED)
        regions_pair(f, thread);
    return &thread->regions[thread->count++];
}

static void wait_add(struct summary_feed *f, const struct feed_event *event, uint64_t ns)
{
    unsigned reason = event->type->group - 1u;
    if (!event->type->kind.wait)
        return;
    sum_add(&feed_process(f, event->process)->wait_ns[reason], ns);
    sum_add(&feed_thread(f, event->thread)->wait_ns[reason], ns);
}

static int lock_add(struct summary_feed *f, const struct feed_event *event, bool open)
{
    bool fresh;
    struct summary_lock *lock = (struct summary_lock *)summary_row_get(
        f->s, SUMMARY_LOCK, event->process, event->type->text, event->args[0].u64, &fresh);
    if (lock == NULL)
        return SKEIN_NO_MEMORY;
    row_touch(&lock->row, event->end_ns);
    lock->count += !open;
    lock->open += open;
    sum_add(&lock->total_ns, event->dur_ns);
    lock->most_ns = event->dur_ns > lock->most_ns ? event->dur_ns : lock->most_ns;
    int8_t owner = event->type->args[0];
    if (owner >= 0 && !open && event->args[owner].i64 > 0)
        holder_add(lock,
                   &(struct summary_holder){(uint64_t)event->args[owner].i64, 1, event->dur_ns, 0});
    return SKEIN_OK;
}

static int region_count(struct summary_feed *f, const struct feed_event *event,
                        const struct feed_call *at, uint64_t self_ns, uint64_t unsure_ns)
{
    const struct summary_process *process = feed_process(f, event->process);
    struct summary_thread *thread = feed_thread(f, event->thread);
    struct summary_name *name = name_at(f, at->name);
    struct summary_call *call = call_at(f, at->call);
    const struct histogram_example example = {event->begin_ns, event->dur_ns,
                                              (uint32_t)process->pid, (uint32_t)thread->row.number};
    uint8_t clipped = SKEIN_ROW_BEGIN_CLIPPED | SKEIN_ROW_END_CLIPPED;
    row_touch(&name->row, event->end_ns);
    row_touch(&call->row, event->end_ns);
    name->count++;
    sum_add(&name->total_ns, event->dur_ns);
    sum_add(&name->self_ns, self_ns);
    sum_add(&name->unsure_ns, unsure_ns);
    name->clipped += (event->batch->flags[event->row] & clipped) != 0;
    call->count++;
    sum_add(&call->total_ns, event->dur_ns);
    sum_add(&call->self_ns, self_ns);
    call->most_ns = event->dur_ns > call->most_ns ? event->dur_ns : call->most_ns;
    thread->regions++;
    feed_process(f, event->process)->regions++;
    return histogram_add(&name->lasted, &example);
}

int feed_region_take(struct summary_feed *f, const struct feed_event *event)
{
    const struct skein_batch *batch = event->batch;
    struct feed_thread *thread = &f->threads[batch->thread[event->row]];
    struct feed_call at;
    uint64_t in_ns, unsure_ns;
    bool idle = is_idle(&event->type->kind, batch->depth[event->row]);
    int status = call_find(f, event, batch->thread[event->row], batch->type[event->row], &at);
    if (status != SKEIN_OK)
        return status;
    regions_claim(f, thread, !event->type->kind.wait, event->begin_ns, &in_ns, &unsure_ns);
    if (event->begin_ns < f->from_ns) /* what was in it before is not asked for */
        sum_add(&unsure_ns, f->from_ns - event->begin_ns);
    uint64_t self_ns = event->dur_ns > in_ns ? event->dur_ns - in_ns : 0;
    struct feed_region *region = region_push(f, thread);
    if (region == NULL)
        return SKEIN_NO_MEMORY;
    region->begin_ns = event->begin_ns;
    region->end_ns = event->end_ns;
    region->sum_ns = event->dur_ns;
    region->idle_ns = idle ? self_ns : 0;
    region->call = at.call;
    region->name = at.name;
    region->several = false;
    wait_add(f, event, self_ns);
    status = region_count(f, event, &at, self_ns, unsure_ns < self_ns ? unsure_ns : self_ns);
    if (status == SKEIN_OK && event->type->lock)
        status = lock_add(f, event, false);
    if (status == SKEIN_OK && batch->stack[event->row] != 0)
        status = feed_stack_add(f, event, self_ns);
    return status;
}

/* In progress at the end of what is known. */
int feed_open_take(struct summary_feed *f, const struct feed_event *event)
{
    struct feed_call at;
    const struct skein_batch *batch = event->batch;
    int status = call_find(f, event, batch->thread[event->row], batch->type[event->row], &at);
    if (status != SKEIN_OK)
        return status;
    struct summary_name *name = name_at(f, at.name);
    struct summary_call *call = call_at(f, at.call);
    row_touch(&name->row, event->end_ns);
    row_touch(&call->row, event->end_ns);
    name->open++;
    call->open++;
    sum_add(&name->open_ns, event->dur_ns);
    sum_add(&call->open_ns, event->dur_ns);
    wait_add(f, event, event->dur_ns);
    if (is_idle(&event->type->kind, batch->depth[event->row])) {
        sum_add(&name->open_idle_ns, event->dur_ns);
        sum_add(&call->open_idle_ns, event->dur_ns);
        sum_add(&feed_process(f, event->process)->idle_ns, event->dur_ns);
        sum_add(&feed_thread(f, event->thread)->idle_ns, event->dur_ns);
    }
    return event->type->lock ? lock_add(f, event, true) : SKEIN_OK;
}

void feed_regions_settle(struct summary_feed *f, struct feed_thread *thread)
{
    for (size_t i = 0; i < thread->count; i++)
        region_settle(f, thread, &thread->regions[i]);
}

/* ---- stacks ---- */

static void frame_put(struct buf *out, const struct skein_frame *frame)
{
    const char *slash = strrchr(frame->module, '/');
    const char *file = slash != NULL ? slash + 1 : frame->module;
    if (frame->function[0] != '\0')
        buf_put(out, frame->function, strlen(frame->function));
    else if (file[0] != '\0')
        buf_printf(out, "%s+0x%" PRIx64, file, frame->offset);
    else
        buf_printf(out, "0x%" PRIx64, frame->address);
}

static void frames_put(struct buf *out, const struct skein_frame *frames, size_t count, bool more)
{
    bool begun = false;
    for (size_t i = 0; i < count && out->len < STACK_BYTES; i++) {
        if (strstr(frames[i].module, TRACER) != NULL && !begun)
            continue; /* between the program and what it calls */
        if (begun)
            buf_put_u8(out, ';');
        begun = true;
        frame_put(out, &frames[i]);
    }
    if (more || out->len >= STACK_BYTES)
        buf_put(out, ";...", 4);
}

static int stack_find(struct summary_feed *f, const struct feed_event *event, uint32_t *text)
{
    struct skein_frame frames[STACK_FRAMES];
    uint32_t stack = event->batch->stack[event->row], at = stack & (FEED_STACKS - 1);
    struct buf out = {0};
    size_t total = 0;
    *text = f->stacks[at].text;
    if (f->stacks[at].stack == stack)
        return SKEIN_OK;
    int status = skein_cursor_stack(event->cursor, event->row, frames, STACK_FRAMES, &total, NULL);
    if (status != SKEIN_OK)
        return status;
    frames_put(&out, frames, total < STACK_FRAMES ? total : STACK_FRAMES, total > STACK_FRAMES);
    int64_t number =
        out.status == SKEIN_OK
            ? text_intern(f->s, out.data != NULL ? (const char *)out.data : "", out.len)
            : SKEIN_NO_MEMORY;
    buf_fini(&out);
    if (number < 0)
        return SKEIN_NO_MEMORY;
    f->stacks[at].stack = stack;
    f->stacks[at].text = *text = (uint32_t)number;
    return SKEIN_OK;
}

int feed_stack_add(struct summary_feed *f, const struct feed_event *event, uint64_t ns)
{
    uint32_t text;
    bool fresh;
    int status = stack_find(f, event, &text);
    if (status != SKEIN_OK)
        return status == SKEIN_NO_MEMORY ? status : SKEIN_OK; /* one that cannot be read */
    struct summary_stack *stack = (struct summary_stack *)summary_row_get(
        f->s, SUMMARY_STACK, event->process, event->type->text, text, &fresh);
    if (stack == NULL)
        return SKEIN_NO_MEMORY;
    row_touch(&stack->row, event->end_ns);
    stack->count++;
    sum_add(&stack->total_ns, ns);
    return SKEIN_OK;
}

/* ---- what has no length ---- */

int feed_instant_take(struct summary_feed *f, const struct feed_event *event)
{
    uint32_t name;
    if (name_find(f, event, event->type->group + SUMMARY_INSTANTS, &name) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    name_at(f, name)->count++;
    row_touch(&name_at(f, name)->row, event->end_ns);
    return SKEIN_OK;
}
