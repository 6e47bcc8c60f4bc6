/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns what a comparison comes to as a whole: whether there was anything to compare, what makes it less
 * sure, and which of its rows have one name. One thread enters.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "diff_int.h"
#include "statistics.h"

#define SERVICES_NAMED 4 /* in a sentence; the rest is counted */

const char *diff_outcome_text(enum diff_outcome outcome)
{
    static const char *const texts[] = {
#define X(outcome, word) word,
        DIFF_OUTCOME_LIST(X)
#undef X
    };
    return texts[outcome];
}

const struct summary_process *diff_service_find(const struct summary *s, const char *name)
{
    const struct summary_process *processes;
    size_t count = summary_processes(s, &processes);
    for (size_t i = 0; i < count; i++)
        if (strcmp(summary_text(s, processes[i].row.text), name) == 0)
            return &processes[i];
    return NULL;
}

static const char *service_name(const char *name)
{
    return name[0] != '\0' ? name : "a service without a name";
}

/* ---- notes ---- */

static int note_add(struct diff *d, struct buf *text)
{
    struct diff_list *list = &d->list;
    buf_put_u8(text, 0);
    if (text->status != SKEIN_OK || !array_grow(list->notes, list->note_count + 1, &d->note_cap))
        return SKEIN_NO_MEMORY;
    char *note = strdup((const char *)text->data);
    if (note == NULL)
        return SKEIN_NO_MEMORY;
    list->notes[list->note_count++] = note;
    return SKEIN_OK;
}

/* What this side alone has: services; or of those that both have, samples of the CPU. */
static int services_note(struct diff *d, unsigned side, bool samples)
{
    const char *when = side == 0 ? "before" : "after";
    const struct summary *s = d->sides[side];
    const struct summary_process *processes;
    size_t count = summary_processes(s, &processes);
    int status = SKEIN_OK;
    for (size_t i = 0; i < count && status == SKEIN_OK; i++) {
        const char *name = summary_text(s, processes[i].row.text);
        const struct summary_process *other = diff_service_find(d->sides[1 - side], name);
        struct buf text = {0};
        if (samples ? other == NULL || other->samples > 0 || processes[i].samples == 0
                    : other != NULL)
            continue;
        buf_printf(&text,
                   samples ? "samples of the CPU of %s are there %s alone, and are not compared"
                           : "%s is there %s alone: nothing of it is compared",
                   service_name(name), when);
        status = note_add(d, &text);
        buf_fini(&text);
    }
    return status;
}

int diff_notes_add(struct diff *d, unsigned side)
{
    const char *when = side == 0 ? "before" : "after";
    const struct summary_loss *losses;
    const struct summary_gap *gaps;
    struct buf text = {0};
    uint64_t records = 0, times = 0;
    int status = services_note(d, side, false);
    if (status == SKEIN_OK)
        status = services_note(d, side, true);
    size_t count = summary_losses(d->sides[side], &losses);
    for (size_t i = 0; i < count; i++) {
        records += losses[i].records; /* that they wrap round is of no interest */
        times += losses[i].count;
    }
    if (times > 0 && status == SKEIN_OK) {
        buf_printf(&text, "records are lost %s, %" PRIu64 " times (%" PRIu64 " that were counted)",
                   when, times, records);
        status = note_add(d, &text);
        buf_clear(&text);
    }
    if (summary_gaps(d->sides[side], &gaps) > 0 && status == SKEIN_OK) {
        buf_printf(&text, "parts of the trace are missing %s (skein check)", when);
        status = note_add(d, &text);
    }
    buf_fini(&text);
    return status;
}

/* ---- rows of one name ---- */

/* What words say of a row before its figures. */
static void look_put(struct buf *key, const struct diff_change *c)
{
    const char *rest = "";
    size_t shown = c->kind == DIFF_STACK ? diff_stack_shown(c, &rest) : 0;
    buf_put_u8(key, c->kind == DIFF_LOG || c->kind == DIFF_STACK ? (uint8_t)c->kind : 0);
    buf_put(key, c->service, strlen(c->service) + 1);
    buf_put(key, c->name, strlen(c->name) + 1);
    buf_put(key, c->stack, shown);
}

int diff_twins_mark(struct diff *d)
{
    struct intern_table looks = {0};
    struct buf key = {0};
    size_t *first = calloc(d->pair_count + 1, sizeof *first);
    int status = first != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    for (size_t i = 0; i < d->pair_count && status == SKEIN_OK; i++) {
        struct diff_change *c = &d->pairs[i].change;
        bool fresh;
        if (c->kind == DIFF_COUNTER || c->kind == DIFF_CPU || c->kind == DIFF_SCHED)
            continue;
        buf_clear(&key);
        look_put(&key, c);
        int64_t at = key.status == SKEIN_OK ? intern_table_put(&looks, key.data, key.len, &fresh)
                                            : SKEIN_NO_MEMORY;
        if (at < 0) {
            status = SKEIN_NO_MEMORY;
        } else if (fresh) {
            first[at] = i;
        } else {
            c->twin = true;
            d->pairs[first[at]].change.twin = true;
        }
    }
    buf_fini(&key);
    intern_table_fini(&looks);
    free(first);
    return status;
}

/* ---- the outcome ---- */

/* Whether any figures of so many events could make the row sure. */
static bool is_decidable(const struct diff_pair *pair)
{
    const struct diff_side *a = &pair->change.before, *b = &pair->change.after;
    uint64_t all = a->count + b->count;
    if (pair->change.kind == DIFF_COUNTER)
        return pair->p[1] >= 0;
    if (pair->p[1] >= 0) /* lengths */
        return true;
    return pair->p[0] >= 0 && (counts_test(all, a->seen_s, 0, b->seen_s) <= DIFF_Q ||
                               counts_test(0, a->seen_s, all, b->seen_s) <= DIFF_Q);
}

static void services_put(struct buf *out, const struct summary *s)
{
    const struct summary_process *processes;
    size_t count = summary_processes(s, &processes);
    if (count == 0)
        buf_printf(out, "nothing");
    for (size_t i = 0; i < count && i < SERVICES_NAMED; i++)
        buf_printf(out, "%s%s", i > 0 ? ", " : "",
                   service_name(summary_text(s, processes[i].row.text)));
    if (count > SERVICES_NAMED)
        buf_printf(out, " and %zu more", count - SERVICES_NAMED);
}

static bool side_is_empty(const struct summary *s)
{
    const struct summary_process *processes;
    size_t count = summary_processes(s, &processes);
    uint64_t seen_ns = 0;
    for (size_t i = 0; i < count; i++)
        seen_ns |= processes[i].seen_ns;
    return seen_ns == 0;
}

static void incomparable_put(struct diff *d, struct buf *out)
{
    bool empty[2] = {side_is_empty(d->sides[0]), side_is_empty(d->sides[1])};
    buf_printf(out, "nothing can be compared: ");
    if (empty[0] || empty[1]) {
        buf_printf(out, "nothing is recorded %s",
                   empty[0] && empty[1] ? "on either side"
                   : empty[0]           ? "before"
                                        : "after");
        return;
    }
    buf_printf(out, "no service is on both sides (before: ");
    services_put(out, d->sides[0]);
    buf_printf(out, "; after: ");
    services_put(out, d->sides[1]);
    buf_printf(out, ")");
}

static bool comparable(const struct diff *d)
{
    const struct summary_process *processes;
    size_t count = summary_processes(d->sides[0], &processes);
    for (size_t i = 0; i < count; i++) {
        const struct summary_process *other =
            diff_service_find(d->sides[1], summary_text(d->sides[0], processes[i].row.text));
        if (other != NULL && other->seen_ns > 0 && processes[i].seen_ns > 0)
            return true;
    }
    return d->pair_count > 0; /* counters of hosts */
}

int diff_outcome_find(struct diff *d)
{
    struct diff_list *list = &d->list;
    struct buf out = {0};
    size_t sure = 0, decidable = 0;
    for (size_t i = 0; i < list->count; i++)
        sure += list->changes[i].sure;
    for (size_t i = 0; i < d->pair_count; i++)
        decidable += is_decidable(&d->pairs[i]);
    if (!comparable(d)) {
        list->outcome = DIFF_INCOMPARABLE;
        incomparable_put(d, &out);
    } else if (list->count > 0) {
        list->outcome = DIFF_CHANGED;
        buf_printf(&out, "%zu change%s sure, %zu may be chance", sure, sure == 1 ? " is" : "s are",
                   list->count - sure);
    } else if (decidable == 0) {
        list->outcome = DIFF_FEW;
        buf_printf(&out, "too few events to tell: of %zu rows none has enough on both sides",
                   d->pair_count);
    } else {
        list->outcome = DIFF_SAME;
        buf_printf(&out,
                   "nothing changed that is more than chance (of %zu rows %zu have enough "
                   "events to tell)",
                   d->pair_count, decidable);
    }
    buf_put_u8(&out, '\0');
    if (out.status == SKEIN_OK) {
        list->outcome_words = (char *)out.data;
        return SKEIN_OK;
    }
    buf_fini(&out);
    return SKEIN_NO_MEMORY;
}
