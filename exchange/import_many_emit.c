/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that leave the window, as records: begins wait for their ends, values become arguments.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "import_many_int.h"

#define OPENS_MAX  60000u /* of a process; F-4: 65 536 */
#define PAIRS_MAX  1000000u
#define PLAIN_ARGS (SKEIN_ARGS_MAX - 1u)

/* An item as it can be read: its name, category, and its values, to which an end's may be added. */
struct shown {
    const char *name, *category;
    struct import_value values[2 * IMPORT_VALUES_MAX];
    unsigned count;
};

static const char *shape_text(const uint8_t **at)
{
    const char *text = (const char *)*at;
    *at += strlen(text) + 1;
    return text;
}

static void item_show(const struct import_many *m, const struct many_item *item,
                      struct shown *shown)
{
    const uint8_t *at = intern_table_bytes(&m->shapes, item->shape);
    const char *text = (const char *)(item->values + item->count);
    shown->name = shape_text(&at);
    shown->category = shape_text(&at);
    for (unsigned i = 0; i < item->count; i++) {
        struct import_value *value = &shown->values[shown->count++];
        *value = (struct import_value){.type = *at++, .bits = item->values[i]};
        value->name = shape_text(&at);
        value->unit = shape_text(&at);
        if (value->type == SKEIN_T_STR) {
            value->text = text;
            value->n = (size_t)item->values[i];
            text += value->n;
        }
    }
}

/* ---- processes ---- */

static struct import_out *out_of(struct import_many *m, struct many_process *p)
{
    if (p->out != NULL)
        return p->out;
    const char *name = many_name(m, p->name);
    const char *host = many_name(m, p->host != 0 ? p->host : m->host);
    const struct import_process process = {.seed = m->seed,
                                           .number = p->key,
                                           .pid = p->pid,
                                           .host = m->to.host[0] != '\0' ? m->to.host : host,
                                           .service = name[0] != '\0' ? name : m->to.service,
                                           .ahead_ns = m->ahead_ns};
    int status = import_out_new(&m->to, &process, m->told, &p->out);
    if (status != SKEIN_OK)
        many_fail(m, status);
    m->with_records += status == SKEIN_OK;
    return p->out;
}

/* The number by which a frame's address is kept (F-44): the address itself, if that is no other frame's
 * of the process; else the next number that is shown as it. */
static uint64_t address_of(struct import_many *m, struct many_process *p, uint32_t frame,
                           bool has_pc, uint64_t pc)
{
    const uint64_t low = (UINT64_C(1) << PARTITION_LISTED_NAMES) - 1;
    bool real = partition_listed_address(pc) == pc; /* a stack may hold other numbers */
    bool kept = pc >> PARTITION_LISTED_SHIFT != PARTITION_LISTED_TAG;
    for (uint64_t k = 0; has_pc && kept && k < (real ? 32 : 1); k++) {
        uint64_t at =
            k == 0 ? pc : PARTITION_LISTED_NONE | k << PARTITION_LISTED_NAMES | (pc & low);
        uint32_t had = import_map_get(&p->pc_frames, at);
        if (had == frame)
            return at;
        if (had != IMPORT_MAP_NONE)
            continue;
        if (!import_map_set(&p->pc_frames, at, frame))
            many_fail(m, SKEIN_NO_MEMORY);
        return at;
    }
    if (has_pc)
        import_why(m->told, "an address has more than 32 names in a process, or is none that a "
                            "processor has; such frames are shown without it");
    return PARTITION_LISTED_NONE | frame;
}

static uint32_t stack_of(struct import_many *m, struct many_process *p, uint32_t number)
{
    uint64_t pcs[PARTITION_FRAMES_MAX];
    if (number == 0)
        return 0;
    uint32_t had = import_map_get(&p->stacks, number);
    if (had != IMPORT_MAP_NONE)
        return had;
    const struct many_stack *stack = &m->stacks[number - 1];
    for (uint32_t i = 0; i < stack->count; i++) {
        struct partition_line lines[PARTITION_LINES_MAX];
        bool has_pc;
        uint64_t pc;
        uint32_t frame = m->stack_frames[stack->at + i];
        uint32_t count = many_frame_get(m, frame, &has_pc, &pc, lines);
        pcs[i] = address_of(m, p, frame, has_pc, pc);
        import_name(p->out, pcs[i], lines, count);
    }
    uint32_t made = import_stack(p->out, pcs, stack->count, stack->cut);
    if (made > 0 && !import_map_set(&p->stacks, number, made))
        many_fail(m, SKEIN_NO_MEMORY);
    return made;
}

/* ---- arguments ---- */

static void value_print(const struct import_value *value, struct buf *out)
{
    double number;
    memcpy(&number, &value->bits, sizeof number);
    switch (value->type) {
    case SKEIN_T_STR:
        buf_put(out, value->text, value->n);
        break;
    case SKEIN_T_F64:
        buf_printf(out, "%.17g", number);
        break;
    case SKEIN_T_I64:
        buf_printf(out, "%" PRId64, (int64_t)value->bits);
        break;
    case SKEIN_T_BOOL:
        buf_printf(out, "%s", value->bits != 0 ? "true" : "false");
        break;
    case SKEIN_T_PTR:
        buf_printf(out, "0x%" PRIx64, value->bits);
        break;
    default:
        buf_printf(out, "%" PRIu64, value->bits);
    }
}

/* Up to six are arguments; of more, the sixth is a text of all behind the fifth. */
static void args_put(struct import_many *m, struct import_out *out, const struct shown *shown,
                     struct partition_event_type *type, uint64_t bits[SKEIN_ARGS_MAX])
{
    unsigned plain = shown->count <= SKEIN_ARGS_MAX ? shown->count : PLAIN_ARGS;
    for (unsigned i = 0; i < plain; i++) {
        const struct import_value *value = &shown->values[i];
        type->args[i] = (struct partition_arg){value->type, value->name, value->unit};
        bits[i] =
            value->type == SKEIN_T_STR ? import_text(out, value->text, value->n) : value->bits;
    }
    type->nargs = (uint8_t)plain;
    if (plain == shown->count)
        return;
    buf_clear(&m->more);
    for (unsigned i = plain; i < shown->count; i++) {
        buf_printf(&m->more, "%s%s=", i > plain ? ", " : "", shown->values[i].name);
        value_print(&shown->values[i], &m->more);
    }
    if (m->more.status != SKEIN_OK)
        many_fail(m, SKEIN_NO_MEMORY);
    type->args[plain] = (struct partition_arg){SKEIN_T_STR, "more", ""};
    bits[plain] = import_text(out, (const char *)m->more.data, m->more.len);
    type->nargs++;
}

static uint8_t group_of(const char *category)
{
    static const char *const names[] = {"app", "net", "io", "lock", "thread", "sleep", "log"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(category, names[i]) == 0)
            return (uint8_t)i;
    bool digits = category[0] >= '1' && category[0] <= '6' && category[1] >= '0' &&
                  category[1] <= '9' && category[2] == '\0'; /* a service's own, 16 to 63 */
    unsigned number =
        digits ? (unsigned)(category[0] - '0') * 10 + (unsigned)(category[1] - '0') : 0;
    return number >= SKEIN_GROUP_USER && number < 64 ? (uint8_t)number : UINT8_MAX;
}

static uint8_t class_of(const struct many_item *item, const struct shown *shown)
{
    bool number = shown->count > 0 && shown->values[0].type != SKEIN_T_STR;
    switch ((enum import_what)item->what) {
    case IMPORT_BEGIN:
    case IMPORT_END:
    case IMPORT_SPAN:
        return SKEIN_CLASS_SPAN;
    case IMPORT_COUNTER:
        return number ? SKEIN_CLASS_COUNTER : SKEIN_CLASS_INSTANT;
    case IMPORT_LOG:
        return shown->count >= 2 && shown->values[0].type == SKEIN_T_U64 &&
                       shown->values[1].type == SKEIN_T_STR
                   ? SKEIN_CLASS_LOG
                   : SKEIN_CLASS_INSTANT;
    default:
        return SKEIN_CLASS_INSTANT;
    }
}

/* ---- records ---- */

static void outs_flush(struct import_many *m, struct many_process *full)
{
    if (import_out_full(full->out))
        many_fail(m, import_out_flush(full->out));
    if (++m->pending < IMPORT_RECORDS_MAX)
        return;
    m->pending = 0;
    for (size_t i = 0; i < m->process_count; i++)
        if (m->processes[i].out != NULL)
            many_fail(m, import_out_flush(m->processes[i].out));
}

static uint32_t type_of(struct import_many *m, struct import_out *out, const struct many_item *item,
                        const struct shown *shown, uint64_t bits[SKEIN_ARGS_MAX])
{
    uint8_t group = group_of(shown->category);
    struct partition_event_type type = {.name = shown->name[0] != '\0' ? shown->name : "(no name)",
                                        .text = group == UINT8_MAX ? shown->category : "",
                                        .file = "",
                                        .klass = class_of(item, shown),
                                        .group = group == UINT8_MAX ? SKEIN_GROUP_APP : group};
    args_put(m, out, shown, &type, bits);
    uint32_t number = import_type(out, &type, item->evidence);
    if (number != SKEIN_NONE)
        return number;
    m->told->left_out++;
    import_why(m->told, "there are more than %u kinds of events in a process", IMPORT_TYPES_MAX);
    return SKEIN_NONE;
}

static void record_put(struct import_many *m, const struct many_item *item,
                       const struct shown *shown, uint64_t from_ns)
{
    uint64_t bits[SKEIN_ARGS_MAX];
    struct many_thread *thread = &m->threads[item->thread];
    struct many_process *p = &m->processes[thread->process];
    struct import_out *out = out_of(m, p);
    if (out == NULL)
        return;
    uint64_t to_ns = item->time_ns;
    if (item->what == IMPORT_LOSS) {
        import_loss(out, item->reason, shown->count > 0 ? shown->values[0].bits : 0,
                    from_ns < to_ns ? from_ns : to_ns, to_ns);
        outs_flush(m, p);
        return;
    }
    uint32_t type = type_of(m, out, item, shown, bits);
    if (type == SKEIN_NONE)
        return;
    uint32_t number = import_thread(out, thread->tid, thread->incarnation,
                                    many_name(m, thread->name), thread->name != 0);
    import_event(out, type, number, to_ns, from_ns < to_ns ? to_ns - from_ns : 0, bits,
                 stack_of(m, p, item->stack));
    outs_flush(m, p);
}

/* ---- begins and ends ---- */

/* The end's values behind the begin's, by the begin's name and stack. Takes both. */
static void pair_put(struct import_many *m, struct many_item *begin, struct many_item *end)
{
    struct shown shown = {.count = 0};
    item_show(m, end, &shown);
    struct shown whole = {.count = 0};
    item_show(m, begin, &whole);
    for (unsigned i = 0; i < shown.count; i++)
        whole.values[whole.count++] = shown.values[i];
    m->open_bytes -= begin->bytes;
    end->evidence = begin->evidence;
    end->stack = begin->stack != 0 ? begin->stack : end->stack;
    record_put(m, end, &whole, begin->time_ns);
    free(begin);
    free(end);
}

static void item_leave(struct import_many *m, struct many_item *item, const char *what)
{
    m->told->left_out++;
    import_why(m->told, "%s", what);
    free(item);
}

/* What is open outlives the window, and must be bounded as that is. */
static bool has_room(const struct import_many *m, const struct many_item *begin)
{
    return begin->bytes <= IMPORT_OPEN_BYTES - m->open_bytes;
}

static void nested_begin(struct import_many *m, struct many_thread *thread, struct many_item *item)
{
    bool deep = thread->depth >= IMPORT_DEPTH_MAX;
    if (deep || thread->left_open > 0 || !has_room(m, item)) {
        thread->left_open++;
        item_leave(m, item,
                   deep ? "more regions are open at a time on a thread than 1,024"
                        : "what is open at a time takes more than 128 MiB");
        return;
    }
    m->open_bytes += item->bytes;
    item->below = thread->open;
    thread->open = item;
    thread->depth++;
}

static void nested_put(struct import_many *m, struct many_item *item)
{
    struct many_thread *thread = &m->threads[item->thread];
    struct many_item *begin = thread->open;
    if (item->what == IMPORT_BEGIN) {
        nested_begin(m, thread, item);
        return;
    }
    if (thread->left_open > 0) { /* else it would end what is around its region */
        thread->left_open--;
        item_leave(m, item, "it has ends of regions whose begins were left out");
        return;
    }
    if (begin == NULL) {
        item_leave(m, item, "it has ends of regions whose begins are not in it");
        return;
    }
    thread->open = begin->below;
    thread->depth--;
    pair_put(m, begin, item);
}

/* The pair has no begin any more: the last one takes its place. */
static void crossing_forget(struct import_many *m, uint32_t at)
{
    import_map_remove(&m->pairs, m->open[at].pair);
    m->open_count--;
    if (at == m->open_count)
        return;
    m->open[at] = m->open[m->open_count];
    (void)import_map_set(&m->pairs, m->open[at].pair, at); /* it is there: it needs no memory */
}

static void crossing_begin(struct import_many *m, struct many_item *item, uint32_t at)
{
    if (!has_room(m, item)) {
        item_leave(m, item, "what is open at a time takes more than 128 MiB");
        return;
    }
    if (at == IMPORT_MAP_NONE) {
        at = (uint32_t)m->open_count;
        if (m->open_count >= PAIRS_MAX) {
            item_leave(m, item, "more than 1,000,000 operations are open at a time");
            return;
        }
        if (!array_grow(m->open, m->open_count + 1, &m->open_cap) ||
            !import_map_set(&m->pairs, item->pair, at)) {
            free(item);
            many_fail(m, SKEIN_NO_MEMORY);
            return;
        }
        m->open[m->open_count++] = (struct many_open){.pair = item->pair};
    }
    m->open_bytes += item->bytes;
    item->below = m->open[at].top;
    m->open[at].top = item;
}

static void crossing_put(struct import_many *m, struct many_item *item)
{
    uint32_t at = import_map_get(&m->pairs, item->pair);
    if (item->what == IMPORT_BEGIN) {
        crossing_begin(m, item, at);
        return;
    }
    if (at == IMPORT_MAP_NONE) {
        item_leave(m, item, "it has ends of operations whose begins are not in it");
        return;
    }
    struct many_item *begin = m->open[at].top;
    m->open[at].top = begin->below;
    if (begin->below == NULL)
        crossing_forget(m, at);
    item->thread = begin->thread;
    pair_put(m, begin, item);
}

/* The first of all: where it lies before 1970, all times are moved, so that what lies between them stays. */
static void first_note(struct import_many *m, const struct many_item *item)
{
    uint64_t from_ns = item->time_ns > item->dur_ns ? item->time_ns - item->dur_ns : 0;
    if (m->any)
        return;
    m->any = true;
    if (m->ahead_ns >= 0 || from_ns >= 0 - (uint64_t)m->ahead_ns)
        return;
    import_why(m->told,
               "it begins %" PRIu64
               " s before 1970, where no trace can; all its times are moved, so that it "
               "begins with 1970",
               (0 - (uint64_t)m->ahead_ns - from_ns) / 1000000000u);
    m->ahead_ns = -(int64_t)from_ns;
}

void many_emit(struct import_many *m, struct many_item *item)
{
    struct shown shown = {.count = 0};
    first_note(m, item);
    m->last_ns = item->time_ns > m->last_ns ? item->time_ns : m->last_ns;
    if (item->what == IMPORT_BEGIN || item->what == IMPORT_END) {
        if (item->pair != 0)
            crossing_put(m, item);
        else
            nested_put(m, item);
        return;
    }
    item_show(m, item, &shown);
    record_put(m, item, &shown, item->time_ns > item->dur_ns ? item->time_ns - item->dur_ns : 0);
    free(item);
}

/* ---- what has not ended ---- */

static void open_put(struct import_many *m, const struct many_item *item, uint32_t *opens)
{
    uint64_t bits[SKEIN_ARGS_MAX] = {0};
    struct shown shown = {.count = 0};
    struct many_thread *thread = &m->threads[item->thread];
    struct many_process *p = &m->processes[thread->process];
    struct import_out *out = out_of(m, p);
    if (out == NULL)
        return;
    if (opens[thread->process]++ == OPENS_MAX) {
        m->told->left_out++;
        import_why(m->told, "more than %u regions are open at the end", OPENS_MAX);
    }
    if (opens[thread->process] > OPENS_MAX)
        return;
    item_show(m, item, &shown);
    uint32_t type = type_of(m, out, item, &shown, bits);
    uint32_t number = import_thread(out, thread->tid, thread->incarnation,
                                    many_name(m, thread->name), thread->name != 0);
    bool integer = shown.count > 0 &&
                   (shown.values[0].type == SKEIN_T_U64 || shown.values[0].type == SKEIN_T_I64);
    if (type != SKEIN_NONE)
        import_open(out, type, number, item->time_ns, integer ? (int64_t)bits[0] : 0);
}

/* One that lies across others cannot be open in a cut: it is given up to here, and says so. */
static void crossing_end(struct import_many *m, struct many_item *item)
{
    struct shown shown = {.count = 0};
    uint64_t from_ns = item->time_ns;
    item_show(m, item, &shown); /* which leaves room for as many again */
    shown.values[shown.count++] = (struct import_value){
        .name = "cut", .unit = "", .type = SKEIN_T_STR, .text = "end", .n = 3};
    item->time_ns = m->last_ns;
    record_put(m, item, &shown, from_ns);
}

void many_opens_end(struct import_many *m)
{
    for (size_t i = 0; i < m->open_count; i++)
        while (m->open[i].top != NULL && m->status == SKEIN_OK) {
            struct many_item *item = m->open[i].top;
            m->open[i].top = item->below;
            crossing_end(m, item);
            free(item);
        }
    uint32_t *opens = calloc(m->process_count + 1, sizeof *opens);
    if (opens == NULL) {
        many_fail(m, SKEIN_NO_MEMORY);
        return;
    }
    for (size_t i = 0; i < m->thread_keys.count; i++)
        for (const struct many_item *item = m->threads[i].open; item != NULL; item = item->below)
            open_put(m, item, opens);
    free(opens);
}
