/* SPDX-License-Identifier: Apache-2.0
 *
 * The stack of a record that has lasted: walked in the thread that waited, interned in the ring's
 * table, and named in a STACK record behind the record, before both are published together. Any
 * traced thread, also in a signal handler; with the lane held, so that a handler that interrupts
 * writes elsewhere. Where there is no stack to be had, the record goes without one.
 */
#include <errno.h>

#include "stack_walk.h"
#include "writer_int.h"

uint64_t stack_ticks_of(const struct skein_view *view)
{
    uint64_t ns = skein_load64(&view->stack_ns);
    return ns ? ticks_of_ns(view, ns) : STACK_TICKS_NEVER;
}

/* What was not written is counted where it can be read: R-3. */
static void stack_miss(const struct session *session)
{
    skein_add64(&session_record(session)->stacks_missed, 1);
}

uint8_t *stack_record_put(const struct skein_lane *lane, uint8_t *p, const void *frame)
{
    struct session *session = session_current();
    struct stack_frames frames;
    if (session == NULL || !stack_walk(frame, &frames))
        return p;
    uint64_t id = table_stack_id(session, lane, &frames);
    /* An id of the epoch that the segment is in; the next record with a name moves it on. R-18 */
    if (!id || (id ^ lane->string_epoch) > UINT32_MAX) {
        stack_miss(session);
        return p;
    }
    p = skein_put_leb(p, RING_RECORD_STACK);
    p = skein_put_leb(p, 0); /* no time has passed */
    return skein_put_leb(p, (uint32_t)id);
}

uint8_t *skein_slow_stack(struct skein_lane *lane, uint8_t *p)
{
    int saved = errno;
    if (lane->depth <= SKEIN_OPEN_MAX) /* else its start is another range's */
        p = stack_record_put(lane, p, __builtin_frame_address(0));
    errno = saved;
    return p;
}
