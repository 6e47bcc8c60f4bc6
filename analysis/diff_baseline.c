/* SPDX-License-Identifier: Apache-2.0
 * See diff_baseline.h. No state; any thread. */
#include "diff_baseline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "json.h"

#define TIMES_LONGER 2   /* than 99 of 100 others */
#define LIVES_SHARE  10  /* one tenth of what is known must lie before a region's begin */
#define LONG_SHARE   100 /* of all the time, where nobody says when the failure was */

static const char *const baselines[] = {
#define X(baseline, word) word,
    DIFF_BASELINE_LIST(X)
#undef X
};

const char *diff_baseline_text(enum diff_baseline baseline)
{
    return baselines[baseline];
}

bool diff_baseline_parse(const char *text, enum diff_baseline *baseline)
{
    *baseline = DIFF_BASELINES;
    if (strcmp(text, "auto") == 0)
        return true;
    for (unsigned i = 0; i < DIFF_GIVEN; i++)
        if (strcmp(text, baselines[i]) == 0)
            *baseline = (enum diff_baseline)i;
    return *baseline != DIFF_BASELINES;
}

/* ---- the onset ---- */

/* What 99 of 100 took at most, of all but one that took dur_ns; 0: there are no others. */
static uint64_t others_p99(const struct histogram *h, uint64_t dur_ns, bool is_in)
{
    uint64_t others = h->count - (is_in && h->count > 0), seen = 0;
    unsigned own = histogram_level(dur_ns);
    for (unsigned level = 0; level < HISTOGRAM_LEVELS && others > 0; level++) {
        uint64_t count = histogram_count(h, level);
        seen += count - (is_in && level == own && count > 0);
        if ((double)seen >= .99 * (double)others)
            return histogram_level_to(level);
    }
    return 0;
}

static void text_take(char out[DIFF_TEXT_BYTES], const char *text)
{
    snprintf(out, DIFF_TEXT_BYTES, "%s", text);
}

struct candidate {
    const struct summary *s;
    const struct summary_name *name;
    const struct summary_process *process;
    uint64_t begin_ns, dur_ns;
    bool is_in; /* its name's histogram */
};

static void candidate_try(const struct candidate *c, struct diff_onset *onset)
{
    uint64_t from_ns, to_ns;
    summary_bounds(c->s, &from_ns, &to_ns);
    if (c->process->row.first_ns > from_ns)
        from_ns = c->process->row.first_ns;
    if (c->begin_ns > onset->at_ns ||
        c->dur_ns < (onset->sought ? (to_ns - from_ns) / LONG_SHARE : onset->at_ns - c->begin_ns))
        return; /* it was not in progress then, or is too short to be sought */
    uint64_t lasted_ns = onset->sought ? c->dur_ns : onset->at_ns - c->begin_ns;
    if (c->begin_ns <= from_ns ||
        c->begin_ns - from_ns < (c->begin_ns + lasted_ns - from_ns) / LIVES_SHARE)
        return;
    uint64_t p99_ns = others_p99(&c->name->lasted, c->dur_ns, c->is_in);
    if (c->dur_ns / TIMES_LONGER <= p99_ns || (onset->found && lasted_ns <= onset->lasted_ns))
        return;
    onset->found = true;
    onset->from_ns = c->begin_ns;
    onset->lasted_ns = lasted_ns;
    onset->p99_ns = p99_ns;
    onset->until_ns = c->begin_ns + c->dur_ns;
    text_take(onset->name, summary_text(c->s, c->name->row.text));
    text_take(onset->service, summary_text(c->s, c->process->service));
}

static void name_try(const struct summary *s, const struct summary_name *name,
                     struct diff_onset *onset)
{
    const struct summary_process *processes;
    size_t count = summary_processes(s, &processes);
    if (name->row.of >= count || name->row.number >= SUMMARY_INSTANTS || name->row.merged > 0 ||
        name->idle_ns > (name->total_ns + name->open_ns) / 2)
        return;
    struct candidate c = {.s = s, .name = name, .process = &processes[name->row.of], .is_in = true};
    for (size_t i = 0; i < HISTOGRAM_EXAMPLES; i++) {
        c.begin_ns = name->lasted.examples[i].time_ns;
        c.dur_ns = name->lasted.examples[i].dur_ns;
        if (c.dur_ns > 0)
            candidate_try(&c, onset);
    }
    if (name->open == 0)
        return;
    /* of several in progress at the end, as long as they took in the mean */
    uint64_t open_ns = name->open_ns / name->open, end_ns = name->row.last_ns;
    c.begin_ns = end_ns > open_ns ? end_ns - open_ns : 0;
    c.dur_ns = open_ns;
    if (!onset->sought && onset->at_ns > end_ns) /* the record ended shortly before */
        c.dur_ns = onset->at_ns - c.begin_ns;
    c.is_in = false;
    candidate_try(&c, onset);
}

static void names_try(const struct summary *summary, struct diff_onset *onset)
{
    const struct summary_name *names;
    size_t count = summary_names(summary, &names);
    for (size_t i = 0; i < count; i++)
        name_try(summary, &names[i], onset);
}

void diff_onset_find(const struct summary *summary, uint64_t at_ns, struct diff_onset *onset)
{
    bool unknown = at_ns == DIFF_AT_UNKNOWN;
    uint64_t from_ns, to_ns;
    summary_bounds(summary, &from_ns, &to_ns);
    at_ns = at_ns > to_ns ? to_ns : at_ns;
    at_ns = at_ns < from_ns ? from_ns : at_ns;
    *onset = (struct diff_onset){.at_ns = at_ns};
    if (!unknown)
        names_try(summary, onset);
    if (!onset->found) {
        onset->sought = true;
        names_try(summary, onset);
    }
    if (!onset->found)
        onset->from_ns = at_ns > DIFF_ONSET_USUAL_NS ? at_ns - DIFF_ONSET_USUAL_NS : 0;
    else if (unknown)
        onset->at_ns = onset->until_ns < to_ns ? onset->until_ns : to_ns;
}

/* ---- words ---- */

static const char *duration_text(uint64_t ns, char out[32])
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    size_t i = 0;
    while (i < 3 && (double)ns < units[i].ns)
        i++;
    snprintf(out, 32, "%.3g %s", (double)ns / units[i].ns, units[i].unit);
    return out;
}

void diff_onset_words(const struct diff_onset *onset, char out[DIFF_WHY_BYTES])
{
    char from[CLOCK_TEXT_BYTES], lasted[32], p99[32];
    clock_text(onset->from_ns, from);
    if (!onset->found) {
        snprintf(out, DIFF_WHY_BYTES, "%s, a second before the failure: no region stood out", from);
        return;
    }
    duration_text(onset->lasted_ns, lasted);
    int n = snprintf(out, DIFF_WHY_BYTES, "%s, when %s%s%s began: it %s %s, ", from, onset->name,
                     onset->service[0] != '\0' ? " of " : "", onset->service,
                     onset->sought ? "lasted" : "was in progress at the failure, for", lasted);
    if (onset->p99_ns == 0)
        snprintf(out + n, DIFF_WHY_BYTES - (size_t)n, "and no other of its name has ended");
    else
        snprintf(out + n, DIFF_WHY_BYTES - (size_t)n,
                 "and 99 %% of the others of its name take up to %s",
                 duration_text(onset->p99_ns, p99));
}

bool diff_earlier_exists(const struct summary *summary, uint64_t from_ns,
                         struct diff_choice *choice)
{
    uint64_t first_ns, last_ns;
    char lasts[32];
    summary_bounds(summary, &first_ns, &last_ns);
    from_ns = from_ns > first_ns ? from_ns : first_ns;
    uint64_t before_ns = choice->onset.from_ns > from_ns ? choice->onset.from_ns - from_ns : 0;
    if (before_ns >= DIFF_BEFORE_LEAST)
        return true;
    snprintf(choice->why_not[DIFF_EARLIER], DIFF_WHY_BYTES,
             "there is %s of the record before the onset, and it takes a second at least",
             before_ns > 0 ? duration_text(before_ns, lasts) : "nothing");
    return false;
}

/* ---- for programs ---- */

static void member_text(struct buf *out, const char *key, const char *text)
{
    buf_printf(out, ",\"%s\":", key);
    json_put_text(out, text, strlen(text));
}

static void member_u64(struct buf *out, const char *key, uint64_t v)
{
    buf_printf(out, v > UINT64_C(1) << 53 ? ",\"%s\":\"%" PRIu64 "\"" : ",\"%s\":%" PRIu64, key, v);
}

void diff_choice_json(const struct diff_choice *choice, struct buf *out)
{
    char words[DIFF_WHY_BYTES], time[CLOCK_TEXT_BYTES];
    buf_printf(out, ",\"baseline\":{\"chosen\":\"%s\",\"asked\":\"%s\"", baselines[choice->chosen],
               choice->automatic ? "auto" : baselines[choice->chosen]);
    if (choice->why[0] != '\0')
        member_text(out, "why", choice->why);
    if (choice->capture[0] != '\0')
        member_text(out, "capture", choice->capture);
    buf_printf(out, ",\"others\":[");
    bool first = true;
    for (unsigned i = 0; i < DIFF_BASELINES; i++) {
        if (i == (unsigned)choice->chosen || choice->why_not[i][0] == '\0')
            continue;
        buf_printf(out, "%s{\"baseline\":\"%s\"", first ? "" : ",", baselines[i]);
        member_text(out, "why_not", choice->why_not[i]);
        buf_printf(out, "}");
        first = false;
    }
    buf_printf(out, "]}");
    if (!choice->has_onset)
        return;
    const struct diff_onset *onset = &choice->onset;
    clock_text(onset->from_ns, time);
    diff_onset_words(onset, words);
    buf_printf(out, ",\"onset\":{\"found\":%s", onset->found ? "true" : "false");
    member_text(out, "at", time);
    member_u64(out, "at_ns", onset->from_ns);
    clock_text(onset->at_ns, time);
    member_text(out, "failure", time);
    member_u64(out, "failure_ns", onset->at_ns);
    member_text(out, "words", words);
    if (onset->found) {
        member_text(out, "name", onset->name);
        member_text(out, "service", onset->service);
        member_u64(out, "lasted_ns", onset->lasted_ns);
    }
    buf_printf(out, "}");
}
