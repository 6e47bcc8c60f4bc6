/* SPDX-License-Identifier: Apache-2.0
 *
 * What the preload tracer writes events with beside skein.h. The writing thread; signal-safe.
 */
#ifndef EMIT_H
#define EMIT_H

#include "skein/skein.h"

/* skein_op_leave() with values that are asked for when the operation has taken long enough. `tell`
 * is called on this thread, and may not emit. NULL: `context` is the values, and the thread has been
 * taken out of the operation: the stack that it has now is another's. */
typedef const union skein_value *op_tell_fn(void *context);
void op_leave_told(struct skein_op *op, uint64_t threshold_ns, op_tell_fn *tell, void *context);
/* skein_emit() of an instant that carries its thread's stack, if the agent takes stacks at all. */
void emit_with_stack(struct skein_site *site, const union skein_value *values);

#endif
