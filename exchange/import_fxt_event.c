/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of FXT and their arguments, as entries of import_many. What our own export writes beside
 * events, in names of arguments and categories, is read back (docs/exchange.md).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checksum.h"
#include "import_fxt_int.h"

/* ---- arguments ---- */

static bool argument(struct fxt_import *i, struct fxt_words *w, struct import_value *value)
{
    size_t begin = w->at;
    uint64_t head = fxt_word(w), high = fxt_bits(head, 32, 63);
    const char *name = fxt_text(i, w, fxt_bits(head, 16, 31));
    *value = (struct import_value){.name = name, .type = SKEIN_T_U64, .bits = high};
    switch (fxt_bits(head, 0, 3)) {
    case FXT_ARG_NULL:
        value->type = SKEIN_T_STR;
        value->text = "";
        break;
    case FXT_ARG_I32:
        value->type = SKEIN_T_I64;
        value->bits = (uint64_t)(int64_t)(int32_t)(uint32_t)high;
        break;
    case FXT_ARG_U32:
        break;
    case FXT_ARG_I64:
        value->type = SKEIN_T_I64;
        value->bits = fxt_word(w);
        break;
    case FXT_ARG_U64:
    case FXT_ARG_KOID:
        value->bits = fxt_word(w);
        break;
    case FXT_ARG_F64:
        value->type = SKEIN_T_F64;
        value->bits = fxt_word(w);
        break;
    case FXT_ARG_STRING:
        value->type = SKEIN_T_STR;
        value->text = name != NULL ? fxt_text(i, w, high & 0xffff) : NULL;
        value->n = value->text != NULL ? strlen(value->text) : 0;
        break;
    case FXT_ARG_POINTER:
        value->type = SKEIN_T_PTR;
        value->bits = fxt_word(w);
        break;
    case FXT_ARG_BOOL:
        value->type = SKEIN_T_BOOL;
        value->bits = (high & 1) != 0;
        break;
    default: /* from the future: its size says where the next one is */
        value->type = SKEIN_T_STR;
        value->text = "(of an unknown type)";
        value->n = strlen(value->text);
        i->told->not_read += i->second;
    }
    uint64_t size = fxt_bits(head, 4, 15) * 8;
    if (w->failed || name == NULL || (value->type == SKEIN_T_STR && value->text == NULL) ||
        size < w->at - begin || size > w->n - begin)
        return false;
    w->at = begin + (size_t)size;
    return true;
}

bool fxt_arguments(struct fxt_import *i, struct fxt_words *w, unsigned count)
{
    i->count = 0;
    while (i->count < count)
        if (!argument(i, w, &i->values[i->count++]))
            return false;
    return true;
}

const struct import_value *fxt_value(const struct fxt_import *i, const char *name)
{
    for (unsigned k = 0; k < i->count; k++)
        if (strcmp(i->values[k].name, name) == 0)
            return &i->values[k];
    return NULL;
}

/* The argument is not shown as one. */
static void value_remove(struct fxt_import *i, const struct import_value *value)
{
    size_t at = (size_t)(value - i->values);
    memmove(i->values + at, i->values + at + 1, (--i->count - at) * sizeof *i->values);
}

/* ---- what our own export has beside events ---- */

/* `skein.stack`: a frame a line, innermost first; "..." where there was more. */
static uint32_t stack_take(struct fxt_import *i)
{
    struct import_frame frames[256];
    char lines[FXT_TEXT_MAX + 1];
    uint32_t count = 0;
    bool cut = false;
    const struct import_value *stack = fxt_value(i, "skein.stack");
    if (stack == NULL || stack->type != SKEIN_T_STR)
        return 0;
    size_t n = stack->n < FXT_TEXT_MAX ? stack->n : FXT_TEXT_MAX;
    memcpy(lines, stack->text, n);
    lines[n] = '\0';
    value_remove(i, stack);
    char *at = lines;
    while (at != NULL && *at != '\0' && !cut) {
        char *line = at;
        at = strchr(at, '\n');
        if (at != NULL)
            *at++ = '\0';
        cut = strcmp(line, "...") == 0 || count == sizeof frames / sizeof *frames;
        if (!cut)
            frames[count++] = (struct import_frame){.function = line, .file = ""};
    }
    return import_many_stack(i->many, frames, count, cut);
}

static void loss_take(struct fxt_import *i, struct import_entry *entry)
{
    const struct import_value *reason = fxt_value(i, "reason"), *ns = fxt_value(i, "ns");
    const struct import_value *records = fxt_value(i, "records");
    entry->what = IMPORT_LOSS;
    entry->reason = PARTITION_LOSS_RING_FULL;
    for (uint8_t k = 1; reason != NULL && reason->type == SKEIN_T_STR && k < 16; k++)
        if (strcmp(partition_loss_text(k), reason->text) == 0)
            entry->reason = k;
    entry->dur_ns = ns != NULL ? ns->bits : 0;
    entry->time_ns += entry->dur_ns < IMPORT_TIME_MAX ? entry->dur_ns : 0;
    entry->values = records;
    entry->count = records != NULL;
}

/* Of our own export; false: it is not shown again. */
static void ours_take(struct fxt_import *i, struct import_entry *entry)
{
    entry->evidence = strcmp(entry->category, "evidence") == 0;
    if (entry->evidence)
        entry->category = "thread";
    entry->stack = stack_take(i);
    entry->count = i->count;
    if (strcmp(entry->name, "records lost") == 0)
        loss_take(i, entry);
    else if (entry->what == IMPORT_INSTANT && strcmp(entry->category, "log") == 0 && i->count >= 2)
        entry->what = IMPORT_LOG;
}

/* ---- events ---- */

static void pair_set(struct import_entry *entry, uint64_t id)
{
    const uint64_t key[4] = {entry->process, id, checksum64(entry->name, strlen(entry->name)),
                             checksum64(entry->category, strlen(entry->category))};
    entry->pair = checksum64(key, sizeof key) | 1;
    entry->evidence = true;
}

static void id_put(struct fxt_import *i, const char *name, uint64_t id)
{
    if (i->count < FXT_ARGS_MAX)
        i->values[i->count++] =
            (struct import_value){.name = name, .type = SKEIN_T_PTR, .bits = id};
}

/* What the event is, by its kind and its last word; false: it is broken. */
static bool event_kind(struct fxt_import *i, struct fxt_words *w, unsigned kind,
                       struct import_entry *entry, char name[FXT_TEXT_MAX + 1])
{
    static const char *const flows[] = {"flow begin", "flow", "flow end"};
    uint64_t last = kind == FXT_EVENT_COUNTER || kind >= FXT_EVENT_COMPLETE ? fxt_word(w) : 0;
    entry->what = IMPORT_INSTANT;
    switch (kind) {
    case FXT_EVENT_COUNTER:
        entry->what = IMPORT_COUNTER;
        if (last == 0 || i->provider->ours)
            break;
        snprintf(name, FXT_TEXT_MAX + 1, "%s:%" PRIu64, entry->name, last);
        entry->name = name;
        break;
    case FXT_EVENT_BEGIN:
    case FXT_EVENT_END:
        entry->what = kind == FXT_EVENT_BEGIN ? IMPORT_BEGIN : IMPORT_END;
        break;
    case FXT_EVENT_COMPLETE: {
        uint64_t from_ns = entry->time_ns;
        entry->what = IMPORT_SPAN;
        entry->time_ns = fxt_ns(i, last);
        entry->dur_ns = entry->time_ns - from_ns;
        if (entry->time_ns < from_ns)
            i->wrong = "ends before it begins";
        return !w->failed && entry->time_ns >= from_ns;
    }
    case FXT_EVENT_ASYNC_BEGIN:
    case FXT_EVENT_ASYNC_END:
        entry->what = kind == FXT_EVENT_ASYNC_BEGIN ? IMPORT_BEGIN : IMPORT_END;
        pair_set(entry, last);
        if (kind == FXT_EVENT_ASYNC_BEGIN)
            id_put(i, "id", last);
        break;
    case FXT_EVENT_ASYNC_INSTANT:
        id_put(i, "id", last);
        break;
    case FXT_EVENT_FLOW_BEGIN:
    case FXT_EVENT_FLOW_STEP:
    case FXT_EVENT_FLOW_END:
        id_put(i, flows[kind - FXT_EVENT_FLOW_BEGIN], last);
        break;
    default:
        break;
    }
    return !w->failed;
}

bool fxt_event(struct fxt_import *i, struct fxt_words *w, uint64_t head)
{
    char name[FXT_TEXT_MAX + 1];
    struct fxt_thread thread;
    unsigned kind = (unsigned)fxt_bits(head, 16, 19);
    uint64_t time_ns = fxt_ns(i, fxt_word(w));
    if (kind > FXT_EVENT_FLOW_END) { /* from the future */
        i->told->not_read += i->second;
        return true;
    }
    if (!fxt_thread(i, w, fxt_bits(head, 24, 31), &thread))
        return false;
    struct import_entry entry = {
        .process = fxt_process_of(i, &thread, true), .thread = thread.koid, .time_ns = time_ns};
    entry.category = fxt_text(i, w, fxt_bits(head, 32, 47));
    entry.name = entry.category != NULL ? fxt_text(i, w, fxt_bits(head, 48, 63)) : NULL;
    if (entry.name == NULL || !fxt_arguments(i, w, (unsigned)fxt_bits(head, 20, 23)) ||
        !event_kind(i, w, kind, &entry, name))
        return false;
    if (!i->second && thread.process != 0) /* one that no record names has its koid all the same */
        import_many_process(i->many, entry.process, (uint32_t)thread.process, "", "");
    if (!i->second)
        return true;
    struct fxt_provider *p = i->provider;
    if (!p->any)
        p->loss_ns = p->last_ns = time_ns;
    p->any = true;
    p->last = thread;
    p->last_ns = time_ns > p->last_ns ? time_ns : p->last_ns;
    entry.values = i->values;
    entry.count = i->count;
    if (i->provider->ours)
        ours_take(i, &entry);
    i->status = import_many_add(i->many, &entry);
    return true;
}

bool fxt_log(struct fxt_import *i, struct fxt_words *w, uint64_t head)
{
    struct fxt_thread thread;
    uint64_t time_ns = fxt_ns(i, fxt_word(w)), n = fxt_bits(head, 16, 30);
    if (!fxt_thread(i, w, fxt_bits(head, 32, 39), &thread))
        return false;
    const char *text = fxt_text(i, w, 0x8000 | n);
    uint64_t process = fxt_process_of(i, &thread, text != NULL);
    if (text == NULL || !i->second ||
        i->provider->ours) /* ours has an instant with the level, too */
        return text != NULL;
    const struct import_value values[] = {
        {.name = "level", .type = SKEIN_T_U64},
        {.name = "text", .type = SKEIN_T_STR, .text = text, .n = strlen(text)}};
    const struct import_entry entry = {.what = IMPORT_LOG,
                                       .process = process,
                                       .thread = thread.koid,
                                       .time_ns = time_ns,
                                       .name = "log",
                                       .category = "log",
                                       .values = values,
                                       .count = 2};
    i->status = import_many_add(i->many, &entry);
    return true;
}
