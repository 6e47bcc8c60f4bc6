/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns what is said of a change: a sentence for people, members for programs. Pure functions.
 */
#include <inttypes.h>
#include <string.h>

#include "diff_baseline.h"
#include "diff_int.h"
#include "event_groups.h"
#include "json.h"

#define FEW    20 /* events: then numbers say more than rates */
#define FRAMES 4  /* of a stack, as long as no other one begins so */

const char *diff_kind_text(enum diff_kind kind)
{
    static const char *const texts[] = {
#define X(name, word) word,
        DIFF_KIND_LIST(X)
#undef X
    };
    return texts[kind];
}

/* ---- for people ---- */

static void duration_put(struct buf *out, double ns)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    size_t i = 0;
    while (i < 3 && ns < units[i].ns)
        i++;
    buf_printf(out, "%.3g %s", ns / units[i].ns, units[i].unit);
}

/* "came 3.1 times as often (37 a second, 12 before)" */
static void number_put(struct buf *out, const struct diff_change *c)
{
    double a = c->before.rate, b = c->after.rate;
    if (c->before.count + c->after.count < FEW)
        buf_printf(out, "came %" PRIu64 " time%s in %.3g s (%" PRIu64 " in %.3g s before)",
                   c->after.count, c->after.count == 1 ? "" : "s", c->after.seen_s, c->before.count,
                   c->before.seen_s);
    else if (c->before.count == 0)
        buf_printf(out, "came %.3g times a second, and never before", b);
    else if (c->after.count == 0)
        buf_printf(out, "came no more (%.3g times a second before)", a);
    else if (b >= a)
        buf_printf(out, "came %.3g times as often (%.3g a second, %.3g before)", b / a, b, a);
    else
        buf_printf(out, "came %.3g times less often (%.3g a second, %.3g before)", a / b, b, a);
}

static void length_put(struct buf *out, const struct diff_change *c)
{
    const struct diff_side *a = &c->before, *b = &c->after;
    bool longer = c->longer > .5 || (c->longer == .5 && b->p99_ns > a->p99_ns);
    buf_printf(out, "took %s: half of them up to ", longer ? "longer" : "less long");
    duration_put(out, (double)b->p50_ns);
    buf_printf(out, " (");
    duration_put(out, (double)a->p50_ns);
    buf_printf(out, " before), 99 %% up to ");
    duration_put(out, (double)b->p99_ns);
    buf_printf(out, " (");
    duration_put(out, (double)a->p99_ns);
    buf_printf(out, ")");
}

static void busy_put(struct buf *out, const char *what, const struct diff_change *c)
{
    buf_printf(out, "%s ", what);
    duration_put(out, c->after.busy * 1e9);
    buf_printf(out, " of each second (");
    duration_put(out, c->before.busy * 1e9);
    buf_printf(out, " before)");
}

/* What tells rows of one name apart. */
static void twin_put(struct buf *out, const struct diff_change *c)
{
    if (!c->twin)
        return;
    buf_printf(out, "(%sgroup ", c->kind == DIFF_INSTANT ? "instants, " : "");
    if (c->group >= 0 && c->group < 64)
        event_groups_put(out, UINT64_C(1) << c->group);
    else
        buf_printf(out, "%d", c->group);
    buf_printf(out, ") ");
}

static void region_put(struct buf *out, const struct diff_pair *pair)
{
    const struct diff_change *c = &pair->change;
    bool number = pair->number_changed, length = pair->length_changed;
    buf_printf(out, "%s ", c->name);
    twin_put(out, c);
    if (number || !length)
        number_put(out, c);
    if (length) {
        buf_printf(out, "%s", number ? ", and " : "");
        length_put(out, c);
    }
    if (c->kind == DIFF_INSTANT)
        return;
    buf_printf(out, "; ");
    busy_put(out, c->kind == DIFF_WAIT ? "it waited" : "its own time is", c);
    if (!c->sure && c->after.count + c->before.count < FEW) {
        buf_printf(out, "; the longest was ");
        duration_put(
            out, (double)(c->after.max_ns > c->before.max_ns ? c->after.max_ns : c->before.max_ns));
    }
}

static void counter_put(struct buf *out, const struct diff_change *c)
{
    buf_printf(out, "%s is %.4g", c->name, c->after.mean);
    buf_printf(out, "%s%s in the mean, %.4g before (most %.4g, %.4g before)",
               c->unit[0] != '\0' ? " " : "", c->unit, c->before.mean, c->after.most,
               c->before.most);
}

size_t diff_stack_shown(const struct diff_change *c, const char **rest)
{
    const char *end = c->stack;
    for (unsigned i = 0; i < FRAMES && *end != '\0'; i++) {
        end += strcspn(end, ";");
        end += i + 1 < FRAMES && *end != '\0';
    }
    *rest = *end != '\0' ? ";..." : "";
    return (size_t)(end - c->stack);
}

/* Its first frames; all of them where another one begins so. */
static void stack_put(struct buf *out, const struct diff_change *c)
{
    const char *rest;
    size_t n = diff_stack_shown(c, &rest);
    if (c->twin)
        buf_printf(out, "%s at %s ", c->name, c->stack);
    else
        buf_printf(out, "%s at %.*s%s ", c->name, (int)n, c->stack, rest);
}

char *diff_words(const struct diff_pair *pair)
{
    const struct diff_change *c = &pair->change;
    struct buf out = {0};
    if (c->service[0] != '\0')
        buf_printf(&out, "%s: ", c->service);
    if (c->host[0] != '\0')
        buf_printf(&out, "host %s: ", c->host);
    switch (c->kind) {
    case DIFF_REGION:
    case DIFF_WAIT:
    case DIFF_INSTANT:
        region_put(&out, pair);
        break;
    case DIFF_STACK:
        stack_put(&out, c);
        number_put(&out, c);
        busy_put(&out, ";", c);
        break;
    case DIFF_CPU:
        busy_put(&out, "it was on CPUs, by samples,", c);
        break;
    case DIFF_SCHED:
        busy_put(&out, "its threads were ready and had no CPU for", c);
        break;
    case DIFF_COUNTER:
        counter_put(&out, c);
        break;
    case DIFF_LOG:
        buf_printf(&out, "the log line \"%s\" ", c->name);
        if (c->twin)
            buf_printf(&out, "(level %d) ", c->level);
        number_put(&out, c);
        break;
    }
    if (!c->sure)
        buf_printf(&out, " (may be chance)");
    buf_put_u8(&out, '\0');
    if (out.status == SKEIN_OK)
        return (char *)out.data;
    buf_fini(&out);
    return NULL;
}

/* ---- for programs ---- */

static void key_put(struct buf *out, const char *key)
{
    if (out->len > 0 && out->data[out->len - 1] != '{')
        buf_put_u8(out, ',');
    buf_printf(out, "\"%s\":", key);
}

static void text_member(struct buf *out, const char *key, const char *text)
{
    if (text[0] == '\0')
        return;
    key_put(out, key);
    json_put_text(out, text, strlen(text));
}

static void real_member(struct buf *out, const char *key, double value)
{
    key_put(out, key);
    buf_printf(out, "%.9g", value);
}

static void u64_member(struct buf *out, const char *key, uint64_t value)
{
    key_put(out, key);
    buf_printf(out, value > UINT64_C(1) << 53 ? "\"%" PRIu64 "\"" : "%" PRIu64, value);
}

static void side_json(struct buf *out, const char *key, enum diff_kind kind,
                      const struct diff_side *side)
{
    key_put(out, key);
    buf_put_u8(out, '{');
    u64_member(out, "count", side->count);
    if (kind == DIFF_COUNTER) {
        real_member(out, "mean", side->mean);
        real_member(out, "most", side->most);
    } else {
        real_member(out, "seen_s", side->seen_s);
        real_member(out, "rate", side->rate);
        real_member(out, "busy", side->busy);
    }
    if (side->max_ns > 0) {
        u64_member(out, "p50_ns", side->p50_ns);
        u64_member(out, "p99_ns", side->p99_ns);
        u64_member(out, "max_ns", side->max_ns);
    }
    buf_put_u8(out, '}');
}

static void change_json(struct buf *out, const struct diff_change *c)
{
    buf_put_u8(out, '{');
    text_member(out, "kind", diff_kind_text(c->kind));
    text_member(out, "service", c->service);
    text_member(out, "host", c->host);
    text_member(out, "name", c->name);
    if (c->group >= 0)
        u64_member(out, "group", (uint64_t)c->group);
    if (c->level >= 0)
        u64_member(out, "level", (uint64_t)c->level);
    text_member(out, "stack", c->stack);
    text_member(out, "unit", c->unit);
    text_member(out, "words", c->words);
    key_put(out, "sure");
    buf_printf(out, c->sure ? "true" : "false");
    real_member(out, "size", c->size);
    real_member(out, "q_count", c->q_count);
    real_member(out, "q_lasted", c->q_lasted);
    real_member(out, "longer", c->longer);
    side_json(out, "before", c->kind, &c->before);
    side_json(out, "after", c->kind, &c->after);
    buf_put_u8(out, '}');
}

void diff_json(const struct diff_list *list, const struct diff_choice *choice, struct buf *out)
{
    static const char *const names[] = {"before", "after"};
    buf_put_u8(out, '{');
    u64_member(out, "version", DIFF_VERSION);
    text_member(out, "outcome", diff_outcome_text(list->outcome));
    text_member(out, "outcome_words", list->outcome_words);
    if (choice != NULL)
        diff_choice_json(choice, out);
    for (unsigned side = 0; side < 2; side++) {
        key_put(out, names[side]);
        buf_put_u8(out, '{');
        u64_member(out, "from_ns", list->from_ns[side]);
        u64_member(out, "to_ns", list->to_ns[side]);
        u64_member(out, "processes", list->processes[side]);
        buf_put_u8(out, '}');
    }
    u64_member(out, "compared", list->compared);
    u64_member(out, "tests", list->tests);
    real_member(out, "sure_at_q", DIFF_Q);
    key_put(out, "notes");
    buf_put_u8(out, '[');
    for (size_t i = 0; i < list->note_count; i++) {
        if (i > 0)
            buf_put_u8(out, ',');
        json_put_text(out, list->notes[i], strlen(list->notes[i]));
    }
    buf_put_u8(out, ']');
    key_put(out, "changes");
    buf_put_u8(out, '[');
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            buf_put_u8(out, ',');
        change_json(out, &list->changes[i]);
    }
    buf_printf(out, "]}");
}
