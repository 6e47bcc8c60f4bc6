/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns an open trace file, the partition being read and the one before it. One thread.
 */
#include "cli_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_out.h"

/* One partition in memory. */
struct loaded {
    struct buf bytes;
    struct partition_reader *reader;
    const struct trace_entry *entry;
};

struct trace_walk {
    const char *path;
    struct trace_file *file;
    const struct trace_entry **order;
    size_t count, next;
    struct loaded now, before;
    bool sound, faulty_now;
};

/* When it begins: without events, when its window does. */
static uint64_t from_of(const struct partition_footer *footer)
{
    return footer->events || footer->to_ns ? footer->from_ns : footer->window_from_ns;
}

static int order_compare(const void *a, const void *b)
{
    const struct trace_entry *x = *(const struct trace_entry *const *)a;
    const struct trace_entry *y = *(const struct trace_entry *const *)b;
    int order = partition_trace_order(&x->footer.key, from_of(&x->footer), &y->footer.key,
                                      from_of(&y->footer));
    return order ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

static void loaded_fini(struct loaded *loaded)
{
    partition_reader_free(&loaded->reader);
    buf_fini(&loaded->bytes);
    loaded->entry = NULL;
}

struct trace_file *trace_open(const char *path)
{
    char error[512] = "";
    struct trace_file *file = NULL;
    int status = trace_file_open(path, &file, error, sizeof(error));
    if (status == SKEIN_OK)
        return file;
    if (error[0]) /* it names the file */
        say_error("%s", error);
    else
        say_error("%s: %s", path, skein_status_text(status));
    return NULL;
}

int trace_walk_new(const char *path, struct trace_walk **out)
{
    struct trace_walk *walk = calloc(1, sizeof(*walk));
    *out = NULL;
    if (!walk) {
        say_error("out of memory");
        return CLI_FAILED;
    }
    walk->path = path;
    walk->sound = true;
    walk->file = trace_open(path);
    if (!walk->file) {
        trace_walk_free(&walk);
        return CLI_FAILED;
    }
    walk->count = trace_file_count(walk->file);
    walk->order = calloc(walk->count + 1, sizeof(const struct trace_entry *));
    if (!walk->order) {
        say_error("out of memory");
        trace_walk_free(&walk);
        return CLI_FAILED;
    }
    for (size_t i = 0; i < walk->count; i++)
        walk->order[i] = trace_file_entry(walk->file, i);
    qsort(walk->order, walk->count, sizeof(const struct trace_entry *), order_compare);
    if (trace_file_torn(walk->file) > 0) {
        say_warning("%s: %" PRIu64 " bytes belong to no whole partition; `skein check` says more",
                    path, trace_file_torn(walk->file));
        walk->sound = false;
    }
    *out = walk;
    return CLI_OK;
}

void trace_walk_free(struct trace_walk **walk)
{
    if (!*walk)
        return;
    loaded_fini(&(*walk)->now);
    loaded_fini(&(*walk)->before);
    trace_file_free(&(*walk)->file);
    free((*walk)->order);
    free(*walk);
    *walk = NULL;
}

const struct trace_file *trace_walk_file(const struct trace_walk *walk)
{
    return walk->file;
}

static bool same_process(const struct trace_entry *a, const struct trace_entry *b)
{
    return a && b && process_uid_equal(&a->footer.key.process, &b->footer.key.process);
}

/* b was cut right after a. */
static bool follows(const struct trace_entry *a, const struct trace_entry *b)
{
    return same_process(a, b) && a->footer.key.epoch == b->footer.key.epoch &&
           a->footer.key.sequence + 1 == b->footer.key.sequence;
}

static bool same_key(const struct trace_entry *a, const struct trace_entry *b)
{
    return same_process(a, b) && a->footer.key.epoch == b->footer.key.epoch &&
           a->footer.key.sequence == b->footer.key.sequence;
}

static size_t index_of(const struct trace_walk *walk, const struct trace_entry *entry)
{
    size_t i = 0;
    while (trace_file_entry(walk->file, i) != entry)
        i++;
    return i;
}

static bool load(struct trace_walk *walk, const struct trace_entry *entry, struct loaded *into)
{
    char error[512] = "";
    buf_init(&into->bytes);
    int status = trace_file_read(walk->file, index_of(walk, entry), &into->bytes);
    if (status == SKEIN_OK)
        status = partition_reader_new(into->bytes.data, into->bytes.len, &into->reader, error,
                                      sizeof(error));
    into->entry = entry;
    if (status == SKEIN_OK)
        return true;
    say_error("%s: partition at byte %" PRIu64 ": %s", walk->path, entry->offset,
              error[0] ? error : skein_status_text(status));
    walk->sound = false;
    loaded_fini(into);
    return false;
}

bool trace_walk_next(struct trace_walk *walk, struct trace_step *step)
{
    while (walk->next < walk->count) {
        const struct trace_entry *entry = walk->order[walk->next++];
        if (walk->now.reader) {
            loaded_fini(&walk->before);
            walk->before = walk->now;
            memset(&walk->now, 0, sizeof(walk->now));
        }
        if (same_key(walk->before.entry, entry)) /* `cat a a`: the same partition twice */
            continue;
        if (!load(walk, entry, &walk->now))
            continue;
        if (follows(walk->before.entry, entry) && !walk->faulty_now)
            partition_reader_continue(walk->now.reader, walk->before.reader);
        walk->faulty_now = false;
        step->entry = entry;
        step->reader = walk->now.reader;
        step->last_of_process =
            walk->next == walk->count || !same_process(entry, walk->order[walk->next]);
        return true;
    }
    return false;
}

bool trace_walk_event(struct trace_walk *walk, struct trace_event *event)
{
    int got = partition_reader_next(walk->now.reader, event);
    if (got < 0) {
        say_error("%s: partition at byte %" PRIu64 ": %s", walk->path, walk->now.entry->offset,
                  partition_reader_error(walk->now.reader));
        walk->sound = false;
        walk->faulty_now = true;
    }
    return got > 0;
}

bool trace_walk_sound(const struct trace_walk *walk)
{
    return walk->sound;
}
