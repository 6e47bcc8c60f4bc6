/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns an open trace file, the partition being read and the cut before it; merged, those of each
 * process: a lane is a walk over the cuts of one process in the same file, or over one of its
 * evidence partitions, which lie beside them in time. One thread.
 */
#include "cli_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_out.h"
#include "clock.h"
#include "event_groups.h"

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
    struct lane *lanes;
    size_t lane_count;
    struct lane **heap; /* of lanes with an event, the earliest first */
    size_t heap_count;
    bool given; /* the first event of the heap's first lane */
};

/* One process of a merged walk. */
struct lane {
    struct trace_walk walk; /* its file and order are the whole's */
    struct trace_step step;
    struct trace_event event; /* to be given next */
    uint64_t ns;              /* when its record was made; never goes back */
    bool waits;               /* nothing is read yet; ns is that of its first record */
};

/* Of each process the evidence comes first, by number. */
static int order_compare(const void *a, const void *b)
{
    const struct trace_entry *x = *(const struct trace_entry *const *)a;
    const struct trace_entry *y = *(const struct trace_entry *const *)b;
    const struct partition_footer *f = &x->footer, *g = &y->footer;
    bool evidence = f->evidence && g->evidence;
    int order = memcmp(f->key.process.bytes, g->key.process.bytes, sizeof f->key.process.bytes);
    if (order != 0)
        return order;
    if (f->evidence != g->evidence)
        return f->evidence ? -1 : 1;
    if (evidence && f->key.epoch != g->key.epoch)
        return f->key.epoch < g->key.epoch ? -1 : 1;
    if (evidence && f->key.sequence != g->key.sequence)
        return f->key.sequence < g->key.sequence ? -1 : 1;
    order = partition_trace_order(&x->footer.key, x->from_ns, &y->footer.key, y->from_ns);
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
    int status = trace_file_open(path, &file, error, sizeof error);
    if (status == SKEIN_OK)
        return file;
    if (error[0]) /* it names the file */
        say_error("%s", error);
    else
        say_error("%s: %s", path, skein_status_text(status));
    return NULL;
}

struct trace_bounds trace_bounds_of(const struct trace_file *file)
{
    struct trace_bounds bounds = {UINT64_MAX, 0};
    for (size_t i = 0; i < trace_file_count(file); i++) {
        const struct trace_entry *entry = trace_file_entry(file, i);
        if (entry->footer.events && entry->from_ns < bounds.from_ns)
            bounds.from_ns = entry->from_ns;
        bounds.to_ns = entry->to_ns > bounds.to_ns ? entry->to_ns : bounds.to_ns;
    }
    return bounds;
}

int trace_time_parse(const char *text, const struct trace_bounds *bounds, uint64_t *ns)
{
    uint64_t by;
    if (text[0] != '-' && text[0] != '+')
        return clock_parse(text, ns);
    if (cli_duration_parse(text + 1, &by) != SKEIN_OK)
        return SKEIN_INVALID;
    if (text[0] == '-')
        *ns = by < bounds->to_ns ? bounds->to_ns - by : 0;
    else
        *ns = by < UINT64_MAX - bounds->from_ns ? bounds->from_ns + by : UINT64_MAX;
    return SKEIN_OK;
}

int trace_groups_parse(const char *text, uint64_t *groups)
{
    if (text == NULL || event_groups_parse(text, groups))
        return CLI_OK;
    say_error("--groups %s: must be all, or some of " EVENT_GROUPS ", with commas between", text);
    return CLI_USAGE;
}

int trace_walk_new(const char *path, struct trace_walk **out)
{
    struct trace_walk *walk = calloc(1, sizeof *walk);
    *out = NULL;
    if (walk == NULL) {
        say_error("out of memory");
        return CLI_FAILED;
    }
    walk->path = path;
    walk->sound = true;
    walk->file = trace_open(path);
    if (walk->file == NULL) {
        trace_walk_free(&walk);
        return CLI_FAILED;
    }
    walk->count = trace_file_count(walk->file);
    walk->order = calloc(walk->count + 1, sizeof(const struct trace_entry *));
    if (walk->order == NULL) {
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
    if (*walk == NULL)
        return;
    loaded_fini(&(*walk)->now);
    loaded_fini(&(*walk)->before);
    for (size_t i = 0; i < (*walk)->lane_count; i++) {
        loaded_fini(&(*walk)->lanes[i].walk.now);
        loaded_fini(&(*walk)->lanes[i].walk.before);
    }
    free((*walk)->lanes);
    free((*walk)->heap);
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
    return a != NULL && b != NULL &&
           process_uid_equal(&a->footer.key.process, &b->footer.key.process);
}

/* How many numbers between two of a process are of evidence that is in the file. */
static uint64_t evidence_between(const struct trace_walk *walk, const struct partition_key *a,
                                 const struct partition_key *b)
{
    uint64_t found = 0, last = a->sequence;
    for (size_t i = 0; i < walk->count; i++) {
        const struct partition_footer *f = &walk->order[i]->footer;
        if (!f->evidence || f->key.epoch != a->epoch || f->key.sequence <= last ||
            f->key.sequence >= b->sequence || !process_uid_equal(&f->key.process, &a->process))
            continue;
        last = f->key.sequence;
        found++;
    }
    return found;
}

/* b was cut right after a (F-50). */
static bool follows(const struct trace_walk *walk, const struct trace_entry *a,
                    const struct trace_entry *b)
{
    if (!same_process(a, b) || a->footer.evidence || b->footer.evidence ||
        a->footer.key.epoch != b->footer.key.epoch ||
        a->footer.key.sequence >= b->footer.key.sequence)
        return false;
    uint64_t between = b->footer.key.sequence - a->footer.key.sequence - 1;
    return between == 0 || (between <= walk->count &&
                            evidence_between(walk, &a->footer.key, &b->footer.key) == between);
}

static bool same_key(const struct trace_entry *a, const struct trace_entry *b)
{
    return a != NULL && b != NULL && partition_key_equal(&a->footer.key, &b->footer.key);
}

/* Entries lie in a row. */
static size_t index_of(const struct trace_walk *walk, const struct trace_entry *entry)
{
    return (size_t)(entry - trace_file_entry(walk->file, 0));
}

static bool trace_load(struct trace_walk *walk, const struct trace_entry *entry,
                       struct loaded *into)
{
    char error[512] = "";
    buf_init(&into->bytes);
    int status = trace_file_read(walk->file, index_of(walk, entry), &into->bytes);
    if (status == SKEIN_OK)
        status = partition_reader_new(into->bytes.data, into->bytes.len, &into->reader, error,
                                      sizeof error);
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
        if (walk->now.reader != NULL) {
            loaded_fini(&walk->before);
            walk->before = walk->now;
            memset(&walk->now, 0, sizeof walk->now);
        }
        if (same_key(walk->before.entry, entry)) /* `cat a a`: the same partition twice */
            continue;
        if (!trace_load(walk, entry, &walk->now))
            continue;
        if (follows(walk, walk->before.entry, entry) && !walk->faulty_now)
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

/* ---- merged ---- */

static bool is_earlier(const struct lane *a, const struct lane *b)
{
    return a->ns != b->ns ? a->ns < b->ns : a < b;
}

/* Puts the lane at i of the heap where it belongs, further down. */
static void heap_sink(struct trace_walk *walk, size_t i)
{
    struct lane **heap = walk->heap;
    for (;;) {
        size_t least = i, left = 2 * i + 1;
        for (size_t child = left; child < left + 2 && child < walk->heap_count; child++)
            if (is_earlier(heap[child], heap[least]))
                least = child;
        if (least == i)
            return;
        struct lane *lane = heap[i];
        heap[i] = heap[least];
        heap[least] = lane;
        i = least;
    }
}

/* Reads the lane's next event; false at its end. A region is recorded when it ends. */
static bool lane_read(struct lane *lane)
{
    while (lane->walk.now.reader == NULL || !trace_walk_event(&lane->walk, &lane->event))
        if (!trace_walk_next(&lane->walk, &lane->step)) {
            loaded_fini(&lane->walk.now);
            loaded_fini(&lane->walk.before);
            return false;
        }
    uint64_t ns = lane->event.time_ns + lane->event.dur_ns;
    lane->ns = ns > lane->ns ? ns : lane->ns;
    return true;
}

/* Evidence may begin long after its process: it is read when its time has come. */
static void lane_begin(struct trace_walk *walk, struct lane *lane)
{
    lane->waits = lane->walk.order[lane->walk.next]->footer.evidence;
    lane->ns = lane->waits ? lane->walk.order[lane->walk.next]->from_ns : 0;
    if (lane->waits || lane_read(lane))
        walk->heap[walk->heap_count++] = lane;
}

int trace_walk_merge(struct trace_walk *walk, trace_wanted *wanted, const void *context)
{
    walk->lanes = calloc(walk->count + 1, sizeof *walk->lanes);
    walk->heap = calloc(walk->count + 1, sizeof(struct lane *));
    if (walk->lanes == NULL || walk->heap == NULL) {
        say_error("out of memory");
        return CLI_FAILED;
    }
    for (size_t i = 0, end; i < walk->count; i = end) {
        end = i + 1;
        while (!walk->order[i]->footer.evidence && end < walk->count &&
               same_process(walk->order[i], walk->order[end]))
            end++;
        if (!wanted(context, &walk->order[i]->footer) ||
            (walk->order[i]->footer.evidence && i > 0 &&
             same_key(walk->order[i - 1], walk->order[i]))) /* `cat a a` */
            continue;
        struct lane *lane = &walk->lanes[walk->lane_count++];
        /* of the file's order, so that a cut finds the evidence between its neighbours */
        lane->walk = (struct trace_walk){.path = walk->path,
                                         .file = walk->file,
                                         .order = walk->order,
                                         .next = i,
                                         .count = end,
                                         .sound = true};
        lane_begin(walk, lane);
    }
    for (size_t i = walk->heap_count; i-- > 0;)
        heap_sink(walk, i);
    return CLI_OK;
}

const struct trace_event *trace_walk_merged(struct trace_walk *walk, struct trace_step *step)
{
    if (walk->given && walk->heap_count > 0) {
        if (!lane_read(walk->heap[0]))
            walk->heap[0] = walk->heap[--walk->heap_count];
        heap_sink(walk, 0);
    }
    while (walk->heap_count > 0 && walk->heap[0]->waits) {
        walk->heap[0]->waits = false;
        if (!lane_read(walk->heap[0]))
            walk->heap[0] = walk->heap[--walk->heap_count];
        heap_sink(walk, 0);
    }
    walk->given = true;
    if (walk->heap_count == 0)
        return NULL;
    *step = walk->heap[0]->step;
    return &walk->heap[0]->event;
}

bool trace_walk_sound(const struct trace_walk *walk)
{
    bool sound = walk->sound;
    for (size_t i = 0; i < walk->lane_count; i++)
        sound = sound && walk->lanes[i].walk.sound;
    return sound;
}
