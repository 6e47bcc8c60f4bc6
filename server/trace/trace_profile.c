/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles of a stream's partitions; see trace_stream.h. One owner.
 */
#include <string.h>

#include "clock.h"
#include "partition_reader.h"
#include "stack_profile.h"
#include "trace_stream_int.h"

/* Whether the process has no later cut: only that one tells what is still open. */
static bool is_last_cut(const struct trace_stream *s, size_t at)
{
    const struct process_uid *process = &s->list.pieces[at].key.process;
    for (size_t i = at + 1; i < s->list.count; i++) {
        const struct partition_key *key = &s->list.pieces[i].key;
        if (!process_uid_equal(&key->process, process))
            return true;
        if (key->sequence < PARTITION_EVIDENCE_FROM)
            return false;
    }
    return true;
}

/* Cuts the event down to what of it lies in the window; false: nothing does. What is added up must be
 * of the window alone, and not of the blocks that reach into it. */
static bool event_clip(const struct trace_stream *s, struct trace_event *event)
{
    int64_t offset_ns = partition_reader_info(s->pair.reader)->clock_offset_ns;
    if (s->from_ns == 0 && s->to_ns == UINT64_MAX)
        return true;
    uint64_t left_ns = UINT64_MAX - event->time_ns;
    uint64_t end_ns = event->time_ns + (event->dur_ns < left_ns ? event->dur_ns : left_ns);
    uint64_t from_ns = clock_shift_ns(event->time_ns, offset_ns);
    uint64_t to_ns = clock_shift_ns(end_ns, offset_ns);
    if (from_ns > s->to_ns || to_ns < s->from_ns)
        return false;
    uint64_t before_ns = from_ns < s->from_ns ? s->from_ns - from_ns : 0;
    uint64_t behind_ns = to_ns > s->to_ns ? to_ns - s->to_ns : 0;
    event->time_ns += before_ns;
    event->dur_ns = to_ns - from_ns - before_ns - behind_ns;
    return true;
}

static int events_profile(struct trace_stream *s, bool last, struct stack_profile *profile)
{
    struct trace_event event;
    int status = SKEIN_OK, got = 1;
    while (status == SKEIN_OK && got > 0) {
        got = partition_reader_next(s->pair.reader, &event);
        if (got > 0 && (event.kind != TRACE_OPEN || last) &&
            event_type_shown(event.type, s->groups) && event_clip(s, &event))
            status = stack_profile_add(profile, s->pair.reader, &event);
    }
    return status == SKEIN_OK && got < 0 ? got : status;
}

static int profile_put(struct trace_stream *s, const struct stack_profile *profile)
{
    uint64_t samples = stack_profile_samples(profile), waits = stack_profile_waits(profile);
    if (samples + waits == 0)
        return SKEIN_INVALID;
    if (s->format == TRACE_PPROF)
        return stack_profile_pprof(profile, &s->out);
    enum stack_profile_of of = samples > 0 ? STACK_PROFILE_SAMPLES : STACK_PROFILE_WAITS;
    if (s->of[0] != '\0' && !stack_profile_of_find(s->of, &of))
        return SKEIN_INVALID;
    size_t before = s->out.len;
    int status = stack_profile_folded(profile, of, &s->out);
    return status == SKEIN_OK && s->out.len == before ? SKEIN_INVALID : status;
}

/* Takes the piece at s->next. */
static int piece_profile(struct trace_stream *s, struct stack_profile *profile)
{
    size_t at = s->next;
    int status = trace_stream_load(s);
    bool bad = status == SKEIN_CORRUPT && s->entered != at; /* the disk's word */
    if (bad)
        return status;
    if (status == SKEIN_OK)
        status = events_profile(s, is_last_cut(s, at), profile);
    bool asks_much =
        status == SKEIN_TOO_LARGE &&
        (s->pair.reader == NULL || partition_reader_status(s->pair.reader) == SKEIN_TOO_LARGE);
    if (status == SKEIN_CORRUPT || status == SKEIN_TRUNCATED || status == SKEIN_VERSION ||
        asks_much)
        status = SKEIN_UNSUPPORTED; /* its bytes are as they came */
    return status;
}

int trace_stream_profile(struct trace_stream *s, const struct trace_profile_bounds *bounds,
                         struct partition_key *damaged)
{
    struct stack_profile *profile = NULL;
    int status = stack_profile_new(bounds->most_bytes, &profile);
    while (status == SKEIN_OK && s->next < s->list.count) {
        *damaged = s->list.pieces[s->next].key;
        if (bounds->stop(bounds->context))
            status = SKEIN_CLOSED;
        else if (clock_monotonic_ns() >= bounds->deadline_ns)
            status = SKEIN_TIMEOUT;
        else
            status = piece_profile(s, profile);
    }
    if (status == SKEIN_OK)
        status = profile_put(s, profile);
    stack_profile_free(&profile);
    stored_pair_fini(&s->pair);
    return status;
}
