/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of a `format` text look like
 *
 *   name: sched_switch
 *   ID: 372
 *           field:pid_t prev_pid;   offset:24;   size:4;   signed:1;
 *
 * Numbers are of this machine's order, little-endian as all that Skein runs on.
 */
#include "sched_layout.h"

#include <string.h>

#include "skein/status.h"

#define RECORD_MAX   4096 /* no field lies beyond */
#define FLAG_HARDIRQ 0x08u
#define FLAG_SOFTIRQ 0x10u
#define FLAG_NMI     0x40u

static const char *const names[] = {[SCHED_EVENT_SWITCH] = "sched/sched_switch",
                                    [SCHED_EVENT_WAKING] = "sched/sched_waking",
                                    [SCHED_EVENT_WAKING_NEW] = "sched/sched_wakeup_new",
                                    [SCHED_EVENT_NEW] = "task/task_newtask"};

const char *sched_layout_name(enum sched_event_kind kind)
{
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : NULL;
}

/* ---- texts ---- */

/* The next line of [*at, end), without its newline. False: there is none. */
static bool line_next(const char **at, const char *end, const char **line, size_t *n)
{
    if (*at == end)
        return false;
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    *line = *at;
    *n = (size_t)((newline == NULL ? end : newline) - *at);
    *at = newline == NULL ? end : newline + 1;
    return true;
}

/* The number behind "key" in the line. */
static bool number_find(const char *line, size_t n, const char *key, uint64_t *out)
{
    const char *at = memmem(line, n, key, strlen(key)), *end = line + n;
    if (at == NULL)
        return false;
    at += strlen(key);
    while (at < end && *at == ' ')
        at++;
    uint64_t value = 0;
    const char *first = at;
    for (; at < end && *at >= '0' && *at <= '9' && value < UINT32_MAX; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    *out = value;
    return at > first;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Whether the line declares `name`: the last word before ';' or '['. */
static bool declares(const char *line, size_t n, const char *name)
{
    const char *field = memmem(line, n, "field:", 6);
    if (field == NULL)
        return false;
    const char *stop = memchr(field, ';', (size_t)(line + n - field));
    if (stop == NULL)
        return false;
    if (stop[-1] == ']') {
        while (stop > field && *stop != '[')
            stop--;
    }
    const char *word = stop;
    while (word > field && is_word(word[-1]))
        word--;
    return (size_t)(stop - word) == strlen(name) && memcmp(word, name, strlen(name)) == 0;
}

int sched_field_find(const char *text, size_t n, const char *name, struct sched_field *out)
{
    const char *at = text, *line;
    size_t length;
    while (line_next(&at, text + n, &line, &length)) {
        uint64_t offset, size;
        if (!declares(line, length, name))
            continue;
        if (!number_find(line, length, "offset:", &offset) ||
            !number_find(line, length, "size:", &size) || size == 0 || size > RECORD_MAX ||
            offset > RECORD_MAX)
            return SKEIN_CORRUPT;
        *out = (struct sched_field){.offset = (uint32_t)offset, .size = (uint32_t)size};
        return SKEIN_OK;
    }
    return SKEIN_NOT_FOUND;
}

static enum sched_event_kind kind_of_text(const char *text, size_t n)
{
    const char *at = text, *line;
    size_t length;
    while (line_next(&at, text + n, &line, &length)) {
        if (length < 6 || memcmp(line, "name: ", 6) != 0)
            continue;
        for (unsigned kind = SCHED_EVENT_SWITCH; kind <= SCHED_EVENT_NEW; kind++) {
            const char *name = strchr(names[kind], '/') + 1;
            if (length - 6 == strlen(name) && memcmp(line + 6, name, length - 6) == 0)
                return (enum sched_event_kind)kind;
        }
        return 0;
    }
    return 0;
}

static bool id_find(const char *text, size_t n, uint64_t *id)
{
    const char *at = text, *line;
    size_t length;
    while (line_next(&at, text + n, &line, &length))
        if (length > 3 && memcmp(line, "ID:", 3) == 0)
            return number_find(line, length, "ID:", id) && *id <= UINT16_MAX;
    return false;
}

struct wanted {
    const char *name;
    struct sched_field *to;
    bool text; /* else a number of 1, 2, 4 or 8 bytes */
};

static int fields_find(const char *text, size_t n, const struct wanted *wanted)
{
    struct sched_field type;
    if (sched_field_find(text, n, "common_type", &type) != SKEIN_OK || type.offset != 0 ||
        type.size != 2)
        return SKEIN_CORRUPT;
    for (; wanted->name != NULL; wanted++) {
        if (sched_field_find(text, n, wanted->name, wanted->to) != SKEIN_OK)
            return SKEIN_CORRUPT;
        uint32_t size = wanted->to->size;
        if (!wanted->text && size != 1 && size != 2 && size != 4 && size != 8)
            return SKEIN_CORRUPT;
    }
    return SKEIN_OK;
}

int sched_layout_add(struct sched_layout *layout, const char *text, size_t n)
{
    struct sched_shape s = {.known = true};
    const struct wanted of_switch[] = {
        {"common_flags", &s.flags, false}, {"common_pid", &s.current, false},
        {"prev_pid", &s.tid, false},       {"prev_comm", &s.comm, true},
        {"prev_state", &s.state, false},   {"next_pid", &s.next, false},
        {"next_comm", &s.next_comm, true}, {NULL, NULL, false}};
    const struct wanted of_waking[] = {{"common_flags", &s.flags, false},
                                       {"common_pid", &s.current, false},
                                       {"pid", &s.tid, false},
                                       {"comm", &s.comm, true},
                                       {"target_cpu", &s.target_cpu, false},
                                       {NULL, NULL, false}};
    const struct wanted of_new[] = {{"common_flags", &s.flags, false},
                                    {"common_pid", &s.current, false},
                                    {"pid", &s.tid, false},
                                    {"comm", &s.comm, true},
                                    {"clone_flags", &s.clone_flags, false},
                                    {NULL, NULL, false}};
    const struct wanted *const wanted[] = {[SCHED_EVENT_SWITCH] = of_switch,
                                           [SCHED_EVENT_WAKING] = of_waking,
                                           [SCHED_EVENT_WAKING_NEW] = of_waking,
                                           [SCHED_EVENT_NEW] = of_new};
    uint64_t id;
    enum sched_event_kind kind = kind_of_text(text, n);
    if (kind == 0)
        return SKEIN_UNSUPPORTED;
    if (!id_find(text, n, &id) || fields_find(text, n, wanted[kind]) != SKEIN_OK)
        return SKEIN_CORRUPT;
    s.id = (uint16_t)id;
    layout->shapes[kind] = s;
    return SKEIN_OK;
}

/* ---- records ---- */

enum sched_event_kind sched_layout_kind(const struct sched_layout *layout, uint64_t id)
{
    for (unsigned kind = SCHED_EVENT_SWITCH; kind <= SCHED_EVENT_NEW; kind++)
        if (layout->shapes[kind].known && layout->shapes[kind].id == id)
            return (enum sched_event_kind)kind;
    return 0;
}

struct record {
    const uint8_t *bytes;
    size_t n;
    bool whole; /* no field was beyond its end so far */
};

static const uint8_t *field_at(struct record *r, const struct sched_field *field)
{
    if (field->offset > r->n || field->size > r->n - field->offset) {
        r->whole = false;
        return NULL;
    }
    return r->bytes + field->offset;
}

static uint64_t number_at(struct record *r, const struct sched_field *field)
{
    uint64_t value = 0;
    const uint8_t *at = field->size != 0 ? field_at(r, field) : NULL;
    for (unsigned i = 0; at != NULL && i < field->size; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static void text_at(struct record *r, const struct sched_field *field, char to[SCHED_COMM_BYTES])
{
    const uint8_t *at = field->size != 0 ? field_at(r, field) : NULL;
    size_t n = field->size < SCHED_COMM_BYTES - 1 ? field->size : SCHED_COMM_BYTES - 1;
    memset(to, 0, SCHED_COMM_BYTES);
    if (at != NULL)
        memcpy(to, at, strnlen((const char *)at, n));
}

static uint8_t context_of(uint64_t flags)
{
    if ((flags & (FLAG_HARDIRQ | FLAG_NMI)) != 0)
        return SCHED_IN_HARDIRQ;
    return (flags & FLAG_SOFTIRQ) != 0 ? SCHED_IN_SOFTIRQ : SCHED_IN_TASK;
}

bool sched_layout_decode(const struct sched_layout *layout, const uint8_t *record, size_t n,
                         struct sched_event *out)
{
    if (n < 2)
        return false;
    enum sched_event_kind kind = sched_layout_kind(layout, record[0] | (uint64_t)record[1] << 8);
    if (kind == 0)
        return false;
    const struct sched_shape *shape = &layout->shapes[kind];
    struct record r = {.bytes = record, .n = n, .whole = true};
    struct sched_event event = {.kind = (uint8_t)kind,
                                .context = context_of(number_at(&r, &shape->flags)),
                                .current = (uint32_t)number_at(&r, &shape->current),
                                .tid = (uint32_t)number_at(&r, &shape->tid),
                                .next = (uint32_t)number_at(&r, &shape->next),
                                .state = number_at(&r, &shape->state),
                                .target_cpu = (uint32_t)number_at(&r, &shape->target_cpu),
                                .clone_flags = number_at(&r, &shape->clone_flags)};
    text_at(&r, &shape->comm, event.comm);
    text_at(&r, &shape->next_comm, event.next_comm);
    if (!r.whole)
        return false;
    *out = event;
    return true;
}
