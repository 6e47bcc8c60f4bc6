/* SPDX-License-Identifier: Apache-2.0
 *
 * Which processes of a capture begin late; see capture_begins.h.
 *
 *         window begins                                   window ends
 *               |        began |xxxx gap xxxx| recorded ...    |        late: at its begin alone
 *         began x|xxxx gap xxxx| recorded ...                  |        the same, if within a second
 *   began ... xxx|xxxx gap xxxx| recorded ...                  |        it was not young: a gap
 *               |    began |xxx| recorded ... |xxx| ...        |        a gap that is none of its begin
 */
#include "capture_begins.h"

#include "loss.h"

/* So long a process may take until it is recorded, and still be at its begin (docs/verdict.md). */
#define BEGIN_NS UINT64_C(1000000000)

/* Its begin lies in the window, or reaches into it. */
static bool is_young(const struct capture *c, const struct capture_target *t)
{
    uint64_t from_ns = t->facts.has_window ? t->facts.from_ns : capture_from_ns(c);
    return t->facts.began_ns != 0 && t->facts.began_ns + BEGIN_NS > from_ns;
}

static bool is_of_begin(const struct capture_target *t, const struct report_gap *gap)
{
    enum loss_reason reason = loss_parse(gap->reason);
    return (reason == LOSS_LATE || reason == LOSS_REPLACED) && gap->to_ns >= t->facts.began_ns &&
           gap->to_ns - t->facts.began_ns <= BEGIN_NS;
}

bool target_begins_late(const struct capture *c, const struct capture_target *t)
{
    bool ended = t->status == TARGET_COMPLETE || t->status == TARGET_NOTHING;
    if (!ended || t->damaged_count > 0 || t->facts.gap_count == 0 || !is_young(c, t))
        return false;
    for (size_t i = 0; i < t->facts.loss_count; i++)
        if (t->facts.losses[i].events > 0 && loss_parse(t->facts.losses[i].reason) != LOSS_NAME)
            return false;
    for (size_t i = 0; i < t->facts.gap_count; i++)
        if (!is_of_begin(t, &t->facts.gaps[i]))
            return false;
    return true;
}

static uint64_t lateness_ns(const struct capture_target *t)
{
    uint64_t longest_ns = 0;
    for (size_t i = 0; i < t->facts.gap_count; i++) {
        uint64_t ns = t->facts.gaps[i].to_ns - t->facts.began_ns;
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    return longest_ns;
}

void capture_begins_find(const struct capture *c, struct capture_begins *out)
{
    *out = (struct capture_begins){.rest_whole =
                                       c->status != CAPTURE_RUNNING && c->known_from_ns == 0};
    for (size_t i = 0; i < c->target_count; i++) {
        const struct capture_target *t = c->targets[i];
        bool late = target_begins_late(c, t);
        out->young += is_young(c, t);
        out->late += late;
        out->rest_whole &= late || t->whole;
        if (late && lateness_ns(t) > out->longest_ns)
            out->longest_ns = lateness_ns(t);
    }
    out->rest_whole &= out->late > 0;
}
