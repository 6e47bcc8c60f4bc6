/* SPDX-License-Identifier: Apache-2.0
 * See diff_print.h. No state. */
#include "diff_print.h"

#include <inttypes.h>

#include "cli.h"
#include "cli_out.h"
#include "clock.h"

static void side_put(struct buf *out, const char *title, const cJSON *side, const char *name)
{
    char from[CLOCK_TEXT_BYTES], to[CLOCK_TEXT_BYTES];
    uint64_t processes = json_u64_at(side, "processes");
    clock_text(json_u64_at(side, "from_ns"), from);
    clock_text(json_u64_at(side, "to_ns"), to);
    buf_printf(out, "%s ", title);
    shown_put(out, name);
    buf_printf(out, ", %" PRIu64 " process%s", processes, processes == 1 ? "" : "es");
    if (json_u64_at(side, "to_ns") > 0)
        buf_printf(out, ", from %s to %s", from, to);
    buf_printf(out, "\n");
}

static void baseline_put(struct buf *out, const cJSON *diff)
{
    const cJSON *other, *others = json_at(diff, "baseline.others");
    if (json_at(diff, "baseline") == NULL)
        return;
    shown_put_between(out, "baseline: ", json_text_at(diff, "baseline.chosen"), ": ");
    shown_put_between(out, "", json_text_at(diff, "baseline.why"), "\n");
    cJSON_ArrayForEach(other, others) {
        shown_put_between(out, "  not ", json_text_at(other, "baseline"), ": ");
        shown_put_between(out, "", json_text_at(other, "why_not"), "\n");
    }
    if (json_at(diff, "onset") == NULL)
        return;
    shown_put_between(out, "onset: ", json_text_at(diff, "onset.words"), "\n");
}

static void changes_put(struct buf *out, const cJSON *diff, uint64_t top)
{
    const cJSON *change, *changes = json_at(diff, "changes");
    uint64_t count = (uint64_t)cJSON_GetArraySize(changes), i = 0;
    cJSON_ArrayForEach(change, changes) {
        if (i++ == top)
            break;
        buf_printf(out, "%s%2" PRIu64 ".%s ", colour_on(stdout, COLOUR_BOLD), i,
                   colour_off(stdout));
        shown_put_between(out, "", json_text_at(change, "words"), "\n");
    }
    if (count > top)
        buf_printf(out, "and %" PRIu64 " more (--top %" PRIu64 " lists them, --json has all)\n",
                   count - top, count);
    shown_put_between(out, count > 0 ? "\n" : "", json_text_at(diff, "outcome_words"), "\n");
}

int diff_print(const cJSON *diff, const char *const sides[2], uint64_t top)
{
    struct buf out = {0};
    const cJSON *note, *sure = json_at(diff, "sure_at_q"), *notes = json_at(diff, "notes");
    side_put(&out, "before:", json_at(diff, "before"), sides[0]);
    side_put(&out, "after: ", json_at(diff, "after"), sides[1]);
    baseline_put(&out, diff);
    buf_printf(&out, "\n");
    changes_put(&out, diff, top);
    if (json_u64_at(diff, "compared") > 0)
        buf_printf(&out,
                   "%" PRIu64 " rows compared, %" PRIu64
                   " tests; at most %g %% of the sure ones are chance\n",
                   json_u64_at(diff, "compared"), json_u64_at(diff, "tests"),
                   cJSON_IsNumber(sure) ? 100 * sure->valuedouble : 0);
    cJSON_ArrayForEach(note, notes) {
        const char *text = cJSON_IsString(note) ? note->valuestring : "";
        shown_put_between(&out, "note: ", text, "\n");
    }
    bool written = out_write(&out);
    buf_fini(&out);
    return written ? out_close() : CLI_FAILED;
}
