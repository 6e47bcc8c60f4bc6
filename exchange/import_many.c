/* SPDX-License-Identifier: Apache-2.0
 *
 * See import_many.h: who there is, stacks, and the window in which events wait for earlier ones.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "import_id.h"
#include "import_many_int.h"

#define NAMES_MAX       4000000u
#define SHAPES_MAX      1000000u
#define FRAMES_MAX      4000000u
#define FRAME_BYTES_MAX ((size_t)96 << 20)

void many_fail(struct import_many *m, int status)
{
    if (m->status == SKEIN_OK)
        m->status = status;
}

/* ---- the whole ---- */

int import_many_new(const struct import_to *to, const struct skein_trace_source *source,
                    struct import_told *told, struct import_many **out)
{
    struct import_many *m = *out = calloc(1, sizeof *m);
    if (m == NULL)
        return SKEIN_NO_MEMORY;
    m->to = *to;
    m->told = told;
    m->window_events = IMPORT_WINDOW_EVENTS;
    return import_seed(to, source, 1, &m->seed);
}

void import_many_window(struct import_many *m, size_t events)
{
    m->window_events = events;
}

void import_many_ahead(struct import_many *m, int64_t ahead_ns)
{
    m->ahead_ns = ahead_ns;
}

static void window_fini(struct many_window *w)
{
    for (size_t i = 0; i < w->count; i++)
        free(w->slots[i].item);
    free(w->slots);
}

static void items_free(struct many_item *item)
{
    while (item != NULL) {
        struct many_item *below = item->below;
        free(item);
        item = below;
    }
}

void import_many_free(struct import_many **many)
{
    struct import_many *m = *many;
    *many = NULL;
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->thread_keys.count; i++)
        items_free(m->threads[i].open);
    for (size_t i = 0; i < m->open_count; i++)
        items_free(m->open[i].top);
    for (size_t i = 0; i < m->process_count; i++) {
        import_out_free(&m->processes[i].out);
        import_map_fini(&m->processes[i].stacks);
        import_map_fini(&m->processes[i].pc_frames);
    }
    window_fini(&m->window);
    window_fini(&m->raw);
    sched_timeline_free(&m->timeline);
    import_map_fini(&m->process_at);
    import_map_fini(&m->pairs);
    struct intern_table *tables[] = {&m->thread_keys, &m->names, &m->shapes, &m->frames,
                                     &m->stack_keys};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        intern_table_fini(tables[i]);
    buf_fini(&m->key);
    buf_fini(&m->more);
    free(m->processes);
    free(m->threads);
    free(m->stacks);
    free(m->stack_frames);
    free(m->open);
    free(m);
}

/* ---- names ---- */

/* A name's number + 1; 0: "", or there are NAMES_MAX. */
static uint32_t name_put(struct import_many *m, const char *name)
{
    bool fresh;
    size_t n = strnlen(name, PARTITION_NAME_MAX);
    if (n == 0 || m->names.count >= NAMES_MAX)
        return 0;
    buf_clear(&m->key);
    buf_put(&m->key, name, n);
    buf_put_u8(&m->key, 0);
    int64_t at = m->key.status == SKEIN_OK
                     ? intern_table_put(&m->names, m->key.data, m->key.len, &fresh)
                     : SKEIN_NO_MEMORY;
    if (at < 0)
        many_fail(m, SKEIN_NO_MEMORY);
    return at < 0 ? 0 : (uint32_t)at + 1;
}

const char *many_name(const struct import_many *m, uint32_t name)
{
    return name > 0 ? (const char *)intern_table_bytes(&m->names, name - 1) : "";
}

static uint32_t process_at(struct import_many *m, uint64_t key)
{
    uint32_t at = import_map_get(&m->process_at, key);
    if (at != IMPORT_MAP_NONE)
        return at;
    if (m->process_count == IMPORT_PROCESSES_MAX)
        return SKEIN_NONE;
    at = (uint32_t)m->process_count;
    if (!array_grow(m->processes, m->process_count + 1, &m->process_cap) ||
        !import_map_set(&m->process_at, key, at)) {
        many_fail(m, SKEIN_NO_MEMORY);
        return SKEIN_NONE;
    }
    m->processes[m->process_count++] = (struct many_process){.key = key, .pid = m->to.pid};
    return at;
}

void import_many_process(struct import_many *m, uint64_t process, uint32_t pid, const char *name,
                         const char *host)
{
    uint32_t at = process_at(m, process);
    if (at == SKEIN_NONE)
        return;
    struct many_process *p = &m->processes[at];
    p->pid = pid;
    if (name[0] != '\0')
        p->name = name_put(m, name);
    if (host[0] != '\0')
        p->host = name_put(m, host);
}

bool import_many_process_is_named(const struct import_many *m, uint64_t process)
{
    uint32_t at = import_map_get(&m->process_at, process);
    return at != IMPORT_MAP_NONE && m->processes[at].name != 0;
}

void import_many_host(struct import_many *m, const char *host)
{
    m->host = name_put(m, host);
}

uint32_t many_thread_at(struct import_many *m, uint64_t process, uint64_t thread)
{
    bool fresh;
    const uint64_t key[2] = {process, thread};
    int64_t at = intern_table_find(&m->thread_keys, key, sizeof key);
    if (at >= 0)
        return (uint32_t)at;
    uint32_t of = process_at(m, process);
    if (of == SKEIN_NONE || m->thread_keys.count == IMPORT_ALL_THREADS_MAX)
        return SKEIN_NONE;
    at = SKEIN_NO_MEMORY;
    if (array_grow(m->threads, m->thread_keys.count + 1, &m->thread_cap))
        at = intern_table_put(&m->thread_keys, key, sizeof key, &fresh);
    if (at < 0) {
        many_fail(m, SKEIN_NO_MEMORY);
        return SKEIN_NONE;
    }
    m->threads[at] = (struct many_thread){.process = of, .tid = (uint32_t)thread, .key = thread};
    return (uint32_t)at;
}

void import_many_thread(struct import_many *m, uint64_t process, uint64_t thread, uint32_t tid,
                        uint64_t incarnation, const char *name)
{
    uint32_t at = many_thread_at(m, process, thread);
    if (at == SKEIN_NONE)
        return;
    m->threads[at].tid = tid;
    m->threads[at].incarnation = incarnation;
    if (name[0] != '\0')
        m->threads[at].name = name_put(m, name);
}

bool import_many_is_named(const struct import_many *m, uint64_t process, uint64_t thread)
{
    const uint64_t key[2] = {process, thread};
    int64_t at = intern_table_find(&m->thread_keys, key, sizeof key);
    return at >= 0 && m->threads[at].name != 0;
}

/* ---- stacks ---- */

/* The number of what lies at one address: that, and then a line for each frame, of which all but the
 * last are inlined. */
struct frame_head {
    uint64_t pc;
    uint32_t has_pc, lines;
};

static int64_t frame_put(struct import_many *m, const struct import_frame *frames, uint32_t count)
{
    bool fresh;
    const struct frame_head head = {frames->pc, frames->has_pc, count};
    buf_clear(&m->key);
    buf_put(&m->key, &head, sizeof head);
    for (uint32_t i = 0; i < count; i++) {
        buf_put(&m->key, &frames[i].line, sizeof frames[i].line);
        buf_put(&m->key, frames[i].function, strnlen(frames[i].function, PARTITION_NAME_MAX));
        buf_put_u8(&m->key, 0);
        buf_put(&m->key, frames[i].file, strnlen(frames[i].file, PARTITION_NAME_MAX));
        buf_put_u8(&m->key, 0);
    }
    if (m->key.status != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    if (m->frames.count < FRAMES_MAX && m->key.len <= FRAME_BYTES_MAX - m->frames.bytes.len)
        return intern_table_put(&m->frames, m->key.data, m->key.len, &fresh);
    int64_t at = intern_table_find(&m->frames, m->key.data, m->key.len);
    return at < 0 ? SKEIN_TOO_LARGE : at;
}

uint32_t many_frame_get(const struct import_many *m, uint32_t frame, bool *has_pc, uint64_t *pc,
                        struct partition_line lines[PARTITION_LINES_MAX])
{
    struct frame_head head;
    const uint8_t *at = intern_table_bytes(&m->frames, frame);
    memcpy(&head, at, sizeof head);
    at += sizeof head;
    for (uint32_t i = 0; i < head.lines; i++) {
        memcpy(&lines[i].line, at, sizeof lines[i].line);
        lines[i].function = (const char *)at + sizeof lines[i].line;
        lines[i].file = lines[i].function + strlen(lines[i].function) + 1;
        at = (const uint8_t *)lines[i].file + strlen(lines[i].file) + 1;
    }
    *has_pc = head.has_pc != 0;
    *pc = head.pc;
    return head.lines;
}

/* How many frames from here on lie at one address. */
static uint32_t inlined_count(const struct import_frame *frames, uint32_t count)
{
    uint32_t n = 1;
    while (n < count && n < PARTITION_LINES_MAX && frames[n - 1].inlined && frames[n].has_pc &&
           frames[n - 1].has_pc && frames[n].pc == frames[n - 1].pc)
        n++;
    return n;
}

static uint32_t stack_put(struct import_many *m, const uint32_t *frames, uint32_t count, bool cut)
{
    bool fresh;
    uint32_t last = cut;
    buf_clear(&m->key);
    buf_put(&m->key, &last, sizeof last);
    buf_put(&m->key, frames, count * sizeof *frames);
    int64_t at = SKEIN_NO_MEMORY;
    if (m->key.status == SKEIN_OK &&
        array_grow(m->stacks, m->stack_keys.count + 1, &m->stack_cap) &&
        array_grow(m->stack_frames, m->stack_frame_count + count, &m->stack_frame_cap))
        at = intern_table_put(&m->stack_keys, m->key.data, m->key.len, &fresh);
    if (at < 0) {
        many_fail(m, SKEIN_NO_MEMORY);
        return 0;
    }
    if (fresh) {
        m->stacks[at] = (struct many_stack){m->stack_frame_count, count, cut};
        memcpy(m->stack_frames + m->stack_frame_count, frames, count * sizeof *frames);
        m->stack_frame_count += count;
    }
    return (uint32_t)at + 1;
}

uint32_t import_many_stack(struct import_many *m, const struct import_frame *frames, uint32_t count,
                           bool cut)
{
    uint32_t numbers[PARTITION_FRAMES_MAX];
    if (count > PARTITION_FRAMES_MAX) {
        count = PARTITION_FRAMES_MAX;
        cut = true;
    }
    if (count == 0)
        return 0;
    int64_t at = m->stack_keys.count < IMPORT_STACKS_MAX ? SKEIN_OK : SKEIN_TOO_LARGE;
    uint32_t kept = 0;
    for (uint32_t i = 0, n; i < count && at >= 0; i += n) {
        n = inlined_count(&frames[i], count - i);
        at = frame_put(m, &frames[i], n);
        numbers[kept++] = (uint32_t)at;
    }
    if (at >= 0)
        return stack_put(m, numbers, kept, cut);
    if (at == SKEIN_NO_MEMORY) {
        many_fail(m, SKEIN_NO_MEMORY);
        return 0;
    }
    m->told->left_out++;
    import_why(m->told,
               "there are more than %u stacks, %u frames or 96 MiB of frames' names; records go "
               "without more",
               IMPORT_STACKS_MAX, FRAMES_MAX);
    return 0;
}

/* ---- the window ---- */

static bool is_before(const struct many_slot *a, const struct many_slot *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

bool many_window_put(struct many_window *w, uint64_t time_ns, void *item)
{
    const struct many_slot slot = {time_ns, w->number++, item};
    if (!array_grow(w->slots, w->count + 1, &w->cap))
        return false;
    size_t at = w->count++;
    for (; at > 0 && is_before(&slot, &w->slots[(at - 1) / 2]); at = (at - 1) / 2)
        w->slots[at] = w->slots[(at - 1) / 2];
    w->slots[at] = slot;
    return true;
}

void *many_window_take(struct many_window *w)
{
    void *item = w->slots[0].item;
    const struct many_slot last = w->slots[--w->count];
    size_t at = 0;
    for (size_t child = 1; child < w->count; child = 2 * at + 1) {
        if (child + 1 < w->count && is_before(&w->slots[child + 1], &w->slots[child]))
            child++;
        if (!is_before(&w->slots[child], &last))
            break;
        w->slots[at] = w->slots[child];
        at = child;
    }
    w->slots[at] = last;
    return item;
}

/* The shape of an entry: its name, category, and each value's type, name and unit. SKEIN_NONE: there are
 * too many, or no memory. */
static uint32_t shape_put(struct import_many *m, const struct import_entry *entry, unsigned count)
{
    bool fresh;
    const char *category = entry->category != NULL ? entry->category : "";
    buf_clear(&m->key);
    buf_put(&m->key, entry->name, strnlen(entry->name, PARTITION_NAME_MAX));
    buf_put_u8(&m->key, 0);
    buf_put(&m->key, category, strnlen(category, PARTITION_NAME_MAX));
    buf_put_u8(&m->key, 0);
    for (unsigned i = 0; i < count; i++) {
        const struct import_value *value = &entry->values[i];
        const char *unit = value->unit != NULL ? value->unit : "";
        buf_put_u8(&m->key, value->type);
        buf_put(&m->key, value->name, strnlen(value->name, PARTITION_NAME_MAX));
        buf_put_u8(&m->key, 0);
        buf_put(&m->key, unit, strlen(unit) + 1);
    }
    int64_t at = m->key.status != SKEIN_OK ? SKEIN_NO_MEMORY
                 : m->shapes.count < SHAPES_MAX
                     ? intern_table_put(&m->shapes, m->key.data, m->key.len, &fresh)
                     : intern_table_find(&m->shapes, m->key.data, m->key.len);
    if (at == SKEIN_NO_MEMORY)
        many_fail(m, SKEIN_NO_MEMORY);
    return at < 0 ? SKEIN_NONE : (uint32_t)at;
}

static struct many_item *item_make(const struct import_entry *entry, unsigned count)
{
    size_t texts = 0;
    for (unsigned i = 0; i < count; i++)
        if (entry->values[i].type == SKEIN_T_STR)
            texts += entry->values[i].n <= PARTITION_NAME_MAX ? entry->values[i].n
                                                              : PARTITION_NAME_MAX + 1;
    size_t bytes = sizeof(struct many_item) + count * sizeof(uint64_t) + texts;
    struct many_item *item = malloc(bytes);
    if (item == NULL)
        return NULL;
    *item = (struct many_item){.what = (uint8_t)entry->what,
                               .evidence = entry->evidence,
                               .reason = entry->reason,
                               .count = (uint8_t)count,
                               .stack = entry->stack,
                               .bytes = (uint32_t)bytes,
                               .time_ns = entry->time_ns,
                               .dur_ns = entry->dur_ns,
                               .pair = entry->pair};
    char *at = (char *)(item->values + count);
    for (unsigned i = 0; i < count; i++) {
        const struct import_value *value = &entry->values[i];
        if (value->type != SKEIN_T_STR) {
            item->values[i] = value->bits;
            continue;
        }
        size_t n = value->n <= PARTITION_NAME_MAX ? value->n : PARTITION_NAME_MAX + 1;
        if (n > 0)
            memcpy(at, value->text, n);
        at += n;
        item->values[i] = n;
    }
    return item;
}

static int left_out(struct import_many *m, const char *what, unsigned most)
{
    m->told->left_out++;
    import_why(m->told, "there are more than %u %s; records of more are left out", most, what);
    return m->status;
}

int import_many_add(struct import_many *m, const struct import_entry *entry)
{
    unsigned count = entry->count <= IMPORT_VALUES_MAX ? entry->count : IMPORT_VALUES_MAX;
    if (m->status != SKEIN_OK)
        return m->status;
    if (entry->count > count)
        import_why(m->told, "an event has %u arguments; read are %u", entry->count, count);
    uint32_t thread = many_thread_at(m, entry->process, entry->thread);
    uint32_t shape = shape_put(m, entry, count);
    if (m->status == SKEIN_OK && thread == SKEIN_NONE)
        return left_out(m, "processes or threads", IMPORT_PROCESSES_MAX);
    if (m->status == SKEIN_OK && shape == SKEIN_NONE)
        return left_out(m, "kinds of events", SHAPES_MAX);
    struct many_item *item = m->status == SKEIN_OK ? item_make(entry, count) : NULL;
    if (item == NULL || !many_window_put(&m->window, entry->time_ns, item)) {
        free(item);
        many_fail(m, SKEIN_NO_MEMORY);
        return m->status;
    }
    item->thread = thread;
    item->shape = shape;
    m->window.bytes += item->bytes;
    while (m->window.count > m->window_events ||
           (m->window.bytes > IMPORT_WINDOW_BYTES && m->window.count > 0)) {
        item = many_window_take(&m->window);
        m->window.bytes -= item->bytes;
        many_emit(m, item);
    }
    return m->status;
}

int import_many_finish(struct import_many *m)
{
    many_sched_end(m);
    while (m->status == SKEIN_OK && m->window.count > 0)
        many_emit(m, many_window_take(&m->window));
    if (m->status == SKEIN_OK)
        many_opens_end(m);
    for (size_t i = 0; i < m->process_count && m->status == SKEIN_OK; i++)
        if (m->processes[i].out != NULL)
            m->status = import_out_flush(m->processes[i].out);
    return m->status;
}

uint64_t import_many_processes(const struct import_many *m)
{
    return m->with_records;
}
