/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns segments of task paths as they are told: those next to each other that say the same become one,
 * short ones next to each other become one where there are too many, and each has its words. No time
 * is lost or counted twice in any of this. One thread enters.
 */
#include "task_path_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

#define NAME_BYTES 80 /* of a name in words */

const char *task_what_text(enum task_what what)
{
    static const char *const texts[] = {
        [TASK_WORK] = "work",       [TASK_WAIT] = "wait",       [TASK_READY] = "ready",
        [TASK_BLOCKED] = "blocked", [TASK_UNKNOWN] = "unknown", [TASK_SEVERAL] = "several"};
    return what >= TASK_WORK && what <= TASK_SEVERAL ? texts[what] : "unknown";
}

/* ---- segments become one ---- */

static bool says_the_same(const struct path_segment *a, const struct path_segment *b)
{
    return a->what == b->what && a->what != TASK_SEVERAL && a->why == b->why &&
           a->actor == b->actor && a->depth == b->depth && a->other == b->other &&
           a->object == b->object && a->text == b->text && a->state == b->state &&
           strcmp(a->name, b->name) == 0;
}

void path_segment_put(struct path_segments *out, const struct path_segment *segment)
{
    struct path_segment *last = out->count > 0 ? &out->items[out->count - 1] : NULL;
    if (segment->dur_ns == 0 || out->status != SKEIN_OK)
        return;
    if (last != NULL && says_the_same(last, segment)) {
        last->dur_ns += segment->dur_ns;
        last->longest_ns = last->dur_ns;
        return;
    }
    if (out->count >= TASK_MADE_MAX)
        path_segments_thin(out, TASK_MADE_MAX / 2);
    if (!array_grow(out->items, out->count + 1, &out->cap)) {
        out->status = SKEIN_NO_MEMORY;
        return;
    }
    out->items[out->count] = *segment;
    out->items[out->count++].longest_ns = segment->dur_ns;
}

static uint64_t unknown_of(const struct path_segment *s)
{
    return s->what == TASK_UNKNOWN ? s->dur_ns : s->unknown_ns;
}

static void several_make(struct path_segment *to, const struct path_segment *with)
{
    if (with->longest_ns > to->longest_ns) {
        to->longest_ns = with->longest_ns;
        to->name = with->name;
        to->actor = with->actor;
    }
    to->unknown_ns = unknown_of(to) + unknown_of(with);
    to->what = TASK_SEVERAL;
    to->why = WHY_SEVERAL;
    to->depth = with->depth < to->depth ? with->depth : to->depth;
    to->dur_ns += with->dur_ns;
    to->count += with->count;
}

void path_segments_thin(struct path_segments *out, size_t most)
{
    uint64_t short_ns = 1;
    while (out->count > most) {
        size_t kept = 0;
        for (size_t i = 0; i < out->count; i++) {
            const struct path_segment *s = &out->items[i];
            struct path_segment *last = kept > 0 ? &out->items[kept - 1] : NULL;
            if (last != NULL && s->longest_ns <= short_ns && last->longest_ns <= short_ns)
                several_make(last, s);
            else
                out->items[kept++] = *s;
        }
        out->count = kept;
        if (short_ns > UINT64_MAX / 2)
            return; /* not reached: all are one by then */
        short_ns *= 2;
    }
}

/* ---- words ---- */

static const char *word_keep(struct task_path *p, const char *words)
{
    if (words[0] == '\0')
        return "";
    for (size_t i = p->word_count; i > 0 && p->word_count - i < 64; i--)
        if (strcmp(p->words[i - 1], words) == 0)
            return p->words[i - 1];
    char *kept = strdup(words);
    if (kept == NULL || !array_grow(p->words, p->word_count + 1, &p->word_cap)) {
        free(kept);
        return NULL;
    }
    return p->words[p->word_count++] = kept;
}

static const char *path_text(const struct task_path *p, uint32_t text)
{
    return text > 0 ? (const char *)intern_table_bytes(&p->texts, text - 1) : "";
}

/* "; woken by `nginx`/17", "; blocked (D), …" */
static void woken_words(const struct task_path *p, const struct path_segment *s, char *to, size_t n)
{
    char state[8] = "";
    const char *by = path_text(p, s->text);
    if (s->state >= '!' && s->state <= '~')
        snprintf(state, sizeof state, " (%c)", s->state);
    if (*by != '\0' || s->other != 0)
        snprintf(to, n, "blocked%s, until `%.*s`/%" PRIu64 " ran where it was woken", state,
                 NAME_BYTES, by, s->other);
    else
        snprintf(to, n, "blocked%s", state);
}

static void words_of(const struct task_path *p, const struct path_segment *s, char *to, size_t n)
{
    const char *by = path_text(p, s->text);
    to[0] = '\0';
    switch (s->why) {
    case WHY_HOLDS:
        snprintf(to, n, "it had the lock 0x%" PRIx64 " that thread %" PRIu64 " waited for",
                 s->object, s->other);
        break;
    case WHY_HELD:
        snprintf(to, n,
                 "for the lock 0x%" PRIx64 " of thread %" PRIu64 ", of which no more is known",
                 s->object, s->other);
        break;
    case WHY_WOKE:
        snprintf(to, n, "thread %" PRIu64 " slept until it woke it", s->other);
        break;
    case WHY_CHILD:
        snprintf(to, n, "of the same trace id, while thread %" PRIu64 " waited", s->other);
        break;
    case WHY_INSTEAD:
        snprintf(to, n, "without a CPU%s%.*s%s", *by != '\0' ? ": `" : "", NAME_BYTES, by,
                 *by != '\0' ? "` had it" : "");
        break;
    case WHY_WOKEN:
        woken_words(p, s, to, n);
        break;
    case WHY_LOST:
        snprintf(to, n, "records are lost");
        break;
    case WHY_NO_RECORD:
        snprintf(to, n, "nothing is recorded of it then");
        break;
    case WHY_ELSEWHERE:
        snprintf(to, n, "it began while this thread was in something else");
        break;
    case WHY_TOO_MUCH:
        snprintf(to, n, "not looked at: it has too many parts");
        break;
    case WHY_SEVERAL:
        snprintf(to, n, "%" PRIu64 " short ones, of which this is the longest", s->count);
        break;
    default:
        break;
    }
}

/* ---- the list ---- */

static int segments_tell(struct task_path *p, const struct path_segments *made, struct task *task)
{
    struct task_segment *segments = calloc(made->count + 1, sizeof *segments);
    task->segments = segments;
    task->segment_count = made->count;
    if (segments == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < made->count; i++) {
        const struct path_segment *s = &made->items[i];
        const struct path_actor *a = &p->actors[s->actor];
        char words[256];
        words_of(p, s, words, sizeof words);
        const char *why = word_keep(p, words);
        if (why == NULL)
            return SKEIN_NO_MEMORY;
        segments[i] = (struct task_segment){.what = s->what,
                                            .process = a->process,
                                            .tid = a->tid,
                                            .thread = a->name,
                                            .name = s->name,
                                            .why = why,
                                            .depth = s->depth,
                                            .from_ns = s->from_ns,
                                            .dur_ns = s->dur_ns,
                                            .count = s->count};
        task->unknown_ns += unknown_of(s);
    }
    return SKEIN_OK;
}

static int task_tell(struct task_path *p, const struct path_task *from, struct task *to)
{
    struct path_segments made = {.status = SKEIN_OK};
    *to = (struct task){.process = from->process,
                        .tid = from->tid,
                        .thread = skein_trace_thread(p->trace, from->thread)->name,
                        .open = from->open,
                        .clipped = from->clipped,
                        .from_ns = from->from_ns,
                        .dur_ns = from->dur_ns};
    if ((from->id[0] | from->id[1]) != 0)
        snprintf(to->trace_id, sizeof to->trace_id, "%016" PRIx64 "%016" PRIx64, from->id[0],
                 from->id[1]);
    path_walk(p, from, &made);
    path_segments_thin(&made, TASK_SEGMENTS);
    int status = made.status == SKEIN_OK ? segments_tell(p, &made, to) : made.status;
    free(made.items);
    return status;
}

int path_tell(struct task_path *p)
{
    size_t names = p->name_keys.count < TASK_NAMES ? p->name_keys.count : TASK_NAMES;
    int status = SKEIN_OK;
    p->out_names = calloc(names + 1, sizeof *p->out_names);
    if (p->out_names == NULL)
        return SKEIN_NO_MEMORY;
    p->list.names = p->out_names;
    for (size_t i = 0; i < names && status == SKEIN_OK; i++) {
        const struct path_name *from = &p->names[i];
        struct task *tasks = calloc(from->slowest_count + 1, sizeof *tasks);
        if (tasks == NULL)
            return SKEIN_NO_MEMORY;
        p->out_names[p->list.name_count++] = (struct task_name){.service = from->service,
                                                                .name = from->name,
                                                                .count = from->count,
                                                                .total_ns = from->total_ns,
                                                                .tasks = tasks,
                                                                .task_count = from->slowest_count};
        for (size_t k = 0; k < from->slowest_count && status == SKEIN_OK; k++)
            status = task_tell(p, &from->slowest[k], &tasks[k]);
    }
    return status;
}
