/* SPDX-License-Identifier: Apache-2.0
 *
 * What a source of evidence has told, read back through the partition that it becomes. For tests of
 * sources; one thread.
 */
#ifndef EVIDENCE_TOLD_H
#define EVIDENCE_TOLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "evidence_out.h"
#include "partition_reader.h"
#include "support.h"

struct told_arg {
    char name[32], unit[16], text[600];
    double number;
};
struct told {
    char name[80], thread[32];
    uint8_t kind; /* enum trace_kind */
    uint32_t tid;
    uint64_t time_ns; /* differences count */
    uint8_t nargs;
    struct told_arg args[SKEIN_ARGS_MAX];
};
struct told_list {
    struct told *items;
    size_t count, room;
};

static inline void told_args_set(struct told *told, const struct trace_event *event)
{
    told->nargs = event->type->nargs;
    for (unsigned i = 0; i < told->nargs; i++) {
        const struct partition_value *value = &event->args[i];
        struct told_arg *arg = &told->args[i];
        snprintf(arg->name, sizeof arg->name, "%s", event->type->args[i].name);
        snprintf(arg->unit, sizeof arg->unit, "%s", event->type->args[i].unit);
        if (event->type->args[i].type == SKEIN_TYPE_str)
            snprintf(arg->text, sizeof arg->text, "%.*s", (int)value->str.len, value->str.text);
        else
            arg->number =
                event->type->args[i].type == SKEIN_TYPE_f64 ? value->f64 : (double)value->u64;
    }
}

/* Room doubles: an item has kilobytes, and a sanitizer's realloc copies all of them each time. */
static inline struct told *told_new(struct told_list *list)
{
    if (list->count == list->room) {
        list->room = list->room == 0 ? 8 : 2 * list->room;
        list->items = realloc(list->items, list->room * sizeof *list->items);
        must_hold(list->items != NULL, "out of memory");
    }
    return &list->items[list->count++];
}

/* Frees out. */
static inline struct told_list told_read(struct evidence_out **out)
{
    struct partition_info info = {.host = "h", .service = "s", .labels = "", .exe = "", .pid = 1};
    struct partition_writer *writer = NULL;
    struct partition_reader *reader = NULL;
    struct trace_event event;
    struct buf bytes = {0};
    char error[256] = "";
    struct told_list list = {NULL, 0, 0};
    uint64_t now_ns = clock_monotonic_ns();
    if (evidence_out_events(*out) == 0) {
        evidence_out_free(out);
        return list;
    }
    ck_assert_int_eq(evidence_out_pour(*out, &info, now_ns - 1000000000, now_ns, &writer),
                     SKEIN_OK);
    evidence_out_free(out);
    ck_assert_int_eq(partition_writer_finish(writer, &bytes, NULL), SKEIN_OK);
    partition_writer_free(&writer);
    ck_assert_int_eq(partition_reader_new(bytes.data, bytes.len, &reader, error, sizeof error),
                     SKEIN_OK);
    while (partition_reader_next(reader, &event) == 1) {
        struct told *told = told_new(&list);
        *told = (struct told){.kind = event.kind, .time_ns = event.time_ns};
        snprintf(told->name, sizeof told->name, "%s", event.type->name);
        snprintf(told->thread, sizeof told->thread, "%s", event.thread->name);
        told->tid = event.thread->tid;
        told_args_set(told, &event);
    }
    ck_assert_str_eq(partition_reader_error(reader), "");
    partition_reader_free(&reader);
    buf_fini(&bytes);
    return list;
}

static inline void told_free(struct told_list *list)
{
    free(list->items);
    *list = (struct told_list){NULL, 0, 0};
}

/* The n-th of that name, from 0; or NULL. */
static inline const struct told *told_find(const struct told_list *list, const char *name, size_t n)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0 && n-- == 0)
            return &list->items[i];
    return NULL;
}

static inline size_t told_count(const struct told_list *list, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < list->count; i++)
        n += strcmp(list->items[i].name, name) == 0;
    return n;
}

static inline const struct told_arg *told_arg(const struct told *told, const char *name)
{
    for (unsigned i = 0; told != NULL && i < told->nargs; i++)
        if (strcmp(told->args[i].name, name) == 0)
            return &told->args[i];
    return NULL;
}

#endif
