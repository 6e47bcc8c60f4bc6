/* SPDX-License-Identifier: Apache-2.0
 *
 * Scheduling records of FXT. Our own export has the spans beside them, which say more: of it they are
 * not read again.
 */

#include "import_fxt_int.h"

/* The kernel's bits of enum states here, as sched_timeline has them. */
static uint64_t state_bits(uint64_t state)
{
    enum { SLEEPS = 1, STOPPED = 4, DEAD = 16 };
    if (state == FXT_STATE_BLOCKED)
        return SLEEPS;
    if (state == FXT_STATE_SUSPENDED)
        return STOPPED;
    return state >= FXT_STATE_DYING ? DEAD : 0;
}

static uint32_t task_of(struct fxt_import *i, uint64_t koid)
{
    uint32_t at = import_map_get(&i->process_of, koid);
    const struct fxt_thread thread = {at != IMPORT_MAP_NONE ? i->owners[at].process : 0, koid};
    return import_many_task(i->many, fxt_process_of(i, &thread, false), koid);
}

/* The idle thread has the least weight there is, or no koid. */
static uint32_t task_or_idle(struct fxt_import *i, uint64_t koid, const char *weight)
{
    const struct import_value *value = fxt_value(i, weight);
    bool idle = value != NULL && value->type == SKEIN_T_I64 && (int64_t)value->bits == INT32_MIN;
    return koid == 0 || idle ? 0 : task_of(i, koid);
}

static bool switch_take(struct fxt_import *i, struct fxt_words *w, uint64_t head,
                        struct sched_event *event)
{
    event->kind = SCHED_EVENT_SWITCH;
    if (fxt_bits(head, 60, 63) == FXT_SWITCH) {
        uint64_t out = fxt_word(w), in = fxt_word(w);
        if (w->failed || !fxt_arguments(i, w, (unsigned)fxt_bits(head, 16, 19)))
            return false;
        event->tid = task_or_idle(i, out, "outgoing_weight");
        event->next = task_or_idle(i, in, "incoming_weight");
        event->cpu = (uint32_t)fxt_bits(head, 20, 35);
        event->state = state_bits(fxt_bits(head, 36, 39));
        return true;
    }
    struct fxt_thread out, in;
    if (!fxt_thread(i, w, fxt_bits(head, 28, 35), &out) ||
        !fxt_thread(i, w, fxt_bits(head, 36, 43), &in))
        return false;
    /* Priority 0 is the idle thread's. */
    event->tid = fxt_bits(head, 44, 51) > 0
                     ? import_many_task(i->many, fxt_process_of(i, &out, false), out.koid)
                     : 0;
    event->next = fxt_bits(head, 52, 59) > 0
                      ? import_many_task(i->many, fxt_process_of(i, &in, false), in.koid)
                      : 0;
    event->cpu = (uint32_t)fxt_bits(head, 16, 23);
    event->state = state_bits(fxt_bits(head, 24, 27));
    return true;
}

bool fxt_scheduling(struct fxt_import *i, struct fxt_words *w, uint64_t head)
{
    uint64_t kind = fxt_bits(head, 60, 63);
    struct sched_event event = {.time_ns = fxt_ns(i, fxt_word(w))};
    if (!i->second || kind > FXT_WAKEUP || i->provider->ours) {
        i->told->not_read += i->second && kind > FXT_WAKEUP;
        return !w->failed;
    }
    if (kind != FXT_WAKEUP) {
        if (!switch_take(i, w, head, &event))
            return false;
    } else {
        event.kind = SCHED_EVENT_WAKING;
        event.cpu = event.target_cpu = (uint32_t)fxt_bits(head, 20, 35);
        event.tid = task_of(i, fxt_word(w));
        if (w->failed || event.tid == 0)
            return !w->failed;
    }
    i->status = import_many_sched(i->many, &event);
    return true;
}
