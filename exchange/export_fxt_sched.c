/* SPDX-License-Identifier: Apache-2.0
 *
 * Scheduling records of Fuchsia's trace format, from evidence (docs/evidence-sched.md): sched.run is
 * a switch to the thread at its begin and one away from it at its end; why it left is said by what
 * begins at that time, so the switch away is written then. Other processes' threads are unknown: the
 * other side of each switch is the idle thread.
 */
#include <string.h>

#include "array.h"
#include "export_fxt_int.h"

static const struct skein_arg *argument_named(const struct export_row *row, const char *name,
                                              uint8_t type)
{
    for (unsigned i = 0; i < row->what->arg_count; i++)
        if (row->what->args[i].type == type && strcmp(row->what->args[i].name, name) == 0)
            return &row->args[i];
    return NULL;
}

/* A switch between the thread and idle; `to` says which way. */
static void switch_put(struct export_run *x, uint64_t ns, uint64_t cpu, uint64_t koid, bool to,
                       unsigned state)
{
    uint16_t idle = fxt_string(x, to ? "outgoing_weight" : "incoming_weight");
    buf_put_u64(&x->out, FXT_SCHEDULING | 5 << 4 | UINT64_C(1) << 16 | (cpu & 0xffff) << 20 |
                             (uint64_t)state << 36 | (uint64_t)FXT_SWITCH << 60);
    buf_put_u64(&x->out, ns);
    buf_put_u64(&x->out, to ? 0 : koid);
    buf_put_u64(&x->out, to ? koid : 0);
    /* The least weight there is says that it is the idle thread. */
    buf_put_u64(&x->out, FXT_ARG_I32 | 1 << 4 | (uint64_t)idle << 16 | UINT64_C(0x80000000) << 32);
}

static int leaving_of(struct fxt *f, uint32_t thread, struct fxt_leaving **out)
{
    if (!array_grow_zero(f->leaving, (size_t)thread + 1, &f->leaving_cap))
        return SKEIN_NO_MEMORY;
    *out = &f->leaving[thread];
    return SKEIN_OK;
}

static void leaving_end(struct export_run *x, struct fxt_leaving *leaving, unsigned state)
{
    if (leaving->waits)
        switch_put(x, leaving->ns, leaving->cpu, leaving->koid, false, state);
    leaving->waits = false;
}

/* Why it left, by what it did next. */
static unsigned state_of(const struct export_row *row)
{
    const struct skein_arg *state = argument_named(row, "state", SKEIN_T_STR);
    if (strcmp(row->what->name, "sched.blocked") != 0)
        return FXT_STATE_READY;
    bool stopped = state != NULL && (state->text[0] == 'T' || state->text[0] == 't');
    return stopped ? FXT_STATE_SUSPENDED : FXT_STATE_BLOCKED;
}

static void woken_put(struct export_run *x, const struct export_row *row, uint64_t koid)
{
    const struct skein_arg *why = argument_named(row, "why", SKEIN_T_STR);
    const struct skein_arg *cpu = argument_named(row, "cpu", SKEIN_T_U64);
    if (why == NULL || strcmp(why->text, "woken") != 0)
        return;
    buf_put_u64(&x->out, FXT_SCHEDULING | 3 << 4 | ((cpu != NULL ? cpu->u64 : 0) & 0xffff) << 20 |
                             (uint64_t)FXT_WAKEUP << 60);
    buf_put_u64(&x->out, row->time_ns);
    buf_put_u64(&x->out, koid);
}

int fxt_sched_row(struct export_run *x, const struct export_row *row)
{
    struct fxt_leaving *leaving;
    struct fxt_place place;
    bool region = row->kind == SKEIN_ROW_REGION && row->what != NULL && row->on != NULL;
    bool run = region && strcmp(row->what->name, "sched.run") == 0;
    bool ready = region && strcmp(row->what->name, "sched.runnable") == 0;
    if (!run && !ready && (!region || strcmp(row->what->name, "sched.blocked") != 0))
        return SKEIN_OK;
    int status = fxt_place(x, row, &place);
    if (status == SKEIN_OK)
        status = leaving_of(x->state, row->thread, &leaving);
    if (status != SKEIN_OK)
        return status;
    /* The thread itself, not what evidence says beside it. */
    uint64_t koid = (uint64_t)(row->process + 1) << 32 | row->on->tid;
    status = fxt_thread_name(x, koid, place.process, row->on->name);
    leaving_end(x, leaving, leaving->ns == row->time_ns ? state_of(row) : FXT_STATE_READY);
    if (ready)
        woken_put(x, row, koid);
    if (run) {
        const struct skein_arg *cpu = argument_named(row, "cpu", SKEIN_T_U64);
        uint64_t on = cpu != NULL ? cpu->u64 : 0;
        switch_put(x, row->time_ns, on, koid, true, FXT_STATE_READY);
        *leaving = (struct fxt_leaving){true, row->process, row->made_ns, on, koid};
    }
    return status;
}

int fxt_sched_end(struct export_run *x)
{
    struct fxt *f = x->state;
    for (size_t i = 0; i < f->leaving_cap; i++)
        leaving_end(x, &f->leaving[i], FXT_STATE_READY);
    return x->out.status;
}
