/* SPDX-License-Identifier: Apache-2.0
 *
 * From copied stacks to return addresses. Where nobody can unwind, the pc of each thread is all that
 * is told, and, of one whose registers are known, what its frame pointers lead to.
 */
#include <string.h>

#include "dump_int.h"

#define FRAMES_MAX 256

/* The word at an address of the copy. */
static bool stack_word(const struct dump_thread *thread, uint64_t address, uint64_t *word)
{
    uint64_t at = address - thread->registers[DUMP_SP];
    if (address < thread->registers[DUMP_SP] || at > thread->stack_bytes ||
        sizeof *word > thread->stack_bytes - at)
        return false;
    memcpy(word, thread->stack + at, sizeof *word);
    return true;
}

static uint32_t stack_by_frame_pointers(struct evidence_out *out, const struct dump_thread *thread)
{
    uint64_t pcs[FRAMES_MAX] = {thread->registers[DUMP_PC]};
    uint64_t frame = thread->whole_registers ? thread->registers[DUMP_FP] : 0, above, pc;
    uint32_t count = 1;
    while (count < FRAMES_MAX && frame % sizeof frame == 0 && stack_word(thread, frame, &above) &&
           stack_word(thread, frame + sizeof frame, &pc) && pc != 0) {
        pcs[count++] = pc;
        if (above <= frame)
            break;
        frame = above;
    }
    const struct partition_stack stack = {
        .pcs = pcs, .count = count, .end = PARTITION_STACK_EXACT | PARTITION_STACK_BROKEN};
    return evidence_stack(out, &stack);
}

void dump_walk(const struct evidence_ask *ask, struct evidence_out *out, struct dump *dump)
{
    (void)ask;
    for (size_t i = 0; i < dump->count; i++) {
        struct dump_thread *thread = &dump->threads[i];
        if (thread->fate == DUMP_STACK_TAKEN)
            thread->stack_id = stack_by_frame_pointers(out, thread);
    }
}
