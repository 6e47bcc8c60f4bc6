/* SPDX-License-Identifier: Apache-2.0
 *
 * Which kinds of evidence a task asks for, and what is said of each; see evidence_task.h. Any thread
 * that has the task.
 */
#include <string.h>

#include "evidence_int.h"

/* Whether somebody asks for it by its name. */
static bool is_by_name(const struct evidence_task *task, size_t i)
{
    const struct evidence_wish named = {.only = true, .kinds = task->order.wish.kinds};
    return evidence_wish_has(&named, task->evidence->sources[i].kind);
}

bool evidence_is_wished(const struct evidence_task *task, size_t i)
{
    const struct evidence_source *source = &task->evidence->sources[i];
    bool concerned = (task->concerned & UINT32_C(1) << i) != 0 || is_by_name(task, i);
    return concerned && evidence_wish_has(&task->order.wish, source->kind) &&
           (source->when != EVIDENCE_AT_DEATH || task->dead);
}

static const char *state_text(enum evidence_state state)
{
    static const char *const texts[] = {"none", "taken", "partial", "refused"};
    return texts[state];
}

/* Why nothing is told of a kind that is asked for by name; NULL: its source tells. */
static const char *lacking_why(const struct evidence_task *task, const char *kind)
{
    const struct evidence *evidence = task->evidence;
    size_t i = 0;
    while (i < evidence->source_count && strcmp(evidence->sources[i].kind, kind) != 0)
        i++;
    if (i == evidence->source_count)
        return "this agent takes none of this kind";
    return evidence_is_wished(task, i) ? NULL : "the process has not ended";
}

/* What is asked for by name, and no source tells of. */
static size_t notes_lacking(const struct evidence_task *task, size_t count,
                            struct report_evidence out[EVIDENCE_KINDS_MAX])
{
    for (unsigned kind = 0; kind < EVIDENCE_KIND_COUNT && count < EVIDENCE_KINDS_MAX; kind++) {
        const char *name = evidence_kind_name(kind);
        const char *why =
            (task->order.wish.kinds & EVIDENCE_BIT(kind)) != 0 ? lacking_why(task, name) : NULL;
        if (why != NULL)
            out[count++] = (struct report_evidence){name, state_text(EVIDENCE_NONE), why, 0, 0};
    }
    return count;
}

size_t evidence_notes(const struct evidence_task *task,
                      struct report_evidence out[EVIDENCE_KINDS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < task->evidence->source_count; i++) {
        const struct evidence_note *note = &task->notes[i];
        if (evidence_is_wished(task, i))
            out[count++] =
                (struct report_evidence){task->evidence->sources[i].kind, state_text(note->state),
                                         note->why, note->events, note->took_ns / 1000};
    }
    return notes_lacking(task, count, out);
}

size_t evidence_notes_none(const struct evidence_task *task, const char *why,
                           struct report_evidence out[EVIDENCE_KINDS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < task->evidence->source_count; i++)
        if (evidence_is_wished(task, i))
            out[count++] = (struct report_evidence){task->evidence->sources[i].kind,
                                                    state_text(EVIDENCE_NONE), why, 0, 0};
    return notes_lacking(task, count, out);
}

const struct evidence_partition *evidence_result(const struct evidence_task *task)
{
    return &task->partition;
}
