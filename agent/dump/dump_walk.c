/* SPDX-License-Identifier: Apache-2.0
 *
 * From copied stacks to return addresses, by the symbolizer. Where there is none, the pc of each
 * thread is all that is told, and, of one whose registers are known, what its frame pointers lead
 * to.
 *
 * Of a thread that sleeps, stack pointer and pc are known alone. That is enough where each function
 * finds its frame by the stack pointer, or some callee has saved the frame pointer. Where the walk
 * stops at a function that needs it, the places on the stack that may be that function's frame are
 * tried, from the inside: a return address above the callee's, with a call in front of it. The one
 * is believed that leads furthest, over all that was known before: a wrong one leaves frames out, or
 * ends at once.
 *
 *   sp ▶ | … callee's frame … | return address of the last known frame | … | fp ▶ saved fp | return
 *                                                                    tried from here on: ▲
 */
#include <stdlib.h>
#include <string.h>

#include "dump_int.h"
#include "symbolizer.h"

#define FRAMES_MAX 256
#define GUESSES    16

struct walk {
    struct dump_thread *thread;
    uint64_t *pcs; /* malloc */
    uint32_t count;
    uint8_t end;
    uint32_t sure;  /* frames of the first walk */
    uint64_t guess; /* the place that is tried; 0: none yet */
};

#define CODE_PAGE  4096u
#define CODE_PAGES 16

/* A page of the process's code, as it was read. */
struct code_page {
    uint64_t page; /* its number */
    uint8_t *bytes;
    size_t n;
};

struct walks {
    struct walk *items;
    size_t count;
    struct walk *asked[DUMP_STACKS_MAX]; /* of the call under way */
    size_t asked_count;
    struct dump *dump;
    struct code_page code[CODE_PAGES];  /* by number */
    struct partition_mapping *mappings; /* with code; their paths are `maps`' */
    size_t mapping_count;
    struct process_maps maps;
};

/* ---- the copy ---- */

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

static const struct partition_mapping *mapping_of(const struct walks *walks, uint64_t address)
{
    size_t low = 0, high = walks->mapping_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (walks->mappings[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < walks->mapping_count && walks->mappings[low].start <= address
               ? &walks->mappings[low]
               : NULL;
}

/* The byte of the process's code; -1: it cannot be had. */
static int code_byte(struct walks *walks, uint64_t address)
{
    const uint64_t page = address / CODE_PAGE;
    struct code_page *kept = &walks->code[page % CODE_PAGES];
    if (kept->page != page) {
        free(kept->bytes);
        *kept = (struct code_page){.page = page};
        if (dump_read_apart(walks->dump, page * CODE_PAGE, CODE_PAGE, &kept->bytes, &kept->n) !=
            SKEIN_OK)
            kept->n = 0;
    }
    return address % CODE_PAGE < kept->n ? kept->bytes[address % CODE_PAGE] : -1;
}

/* Whether a call stands in front of the address. */
static bool is_return_address(struct walks *walks, uint64_t address)
{
    uint8_t code[8];
    if (mapping_of(walks, address) == NULL || address < sizeof code)
        return false;
    for (size_t i = 0; i < sizeof code; i++) {
        int byte = code_byte(walks, address - sizeof code + i);
        if (byte < 0)
            return false;
        code[i] = (uint8_t)byte;
    }
    if (code[3] == 0xe8) /* near, relative */
        return true;
    for (int n = 2; n <= 7; n++) /* near, by register or memory: ff /2 */
        if (code[8 - n] == 0xff && (code[8 - n + 1] & 0x38) == 0x10)
            return true;
    return false;
}

/* Behind the return address that led to the last frame of the walk. */
static uint64_t frames_end(const struct walk *walk)
{
    uint64_t at = walk->thread->registers[DUMP_SP], word;
    for (uint32_t i = 1; i < walk->sure; i++) {
        while (stack_word(walk->thread, at, &word) && word != walk->pcs[i])
            at += sizeof word;
        at += sizeof word;
    }
    return at;
}

/* The next place that may be the frame; false: there is none. */
static bool guess_next(struct walks *walks, struct walk *walk)
{
    uint64_t pc, at = walk->guess != 0 ? walk->guess + sizeof pc : frames_end(walk);
    for (at = (at + 7) & ~UINT64_C(7); stack_word(walk->thread, at + sizeof pc, &pc);
         at += sizeof pc)
        if (is_return_address(walks, pc)) {
            walk->guess = at;
            return true;
        }
    return false;
}

/* ---- walking ---- */

/* A walk that goes on where the first one ended, and further than all. */
static bool is_better(const struct walk *walk, const struct partition_stack *stack)
{
    return stack->count > walk->count &&
           memcmp(stack->pcs, walk->pcs, walk->sure * sizeof *walk->pcs) == 0;
}

static void stack_take(void *context, size_t sample, const struct partition_stack *stack)
{
    struct walks *walks = context;
    struct walk *walk = walks->asked[sample];
    if (walk->count > 0 && !is_better(walk, stack))
        return;
    uint64_t *pcs = malloc(stack->count * sizeof *pcs);
    if (pcs == NULL)
        return;
    memcpy(pcs, stack->pcs, stack->count * sizeof *pcs);
    free(walk->pcs);
    walk->pcs = pcs;
    walk->count = stack->count;
    if (walk->guess == 0)
        walk->sure = stack->count;
    walk->end = stack->end;
}

static int walks_ask(struct walks *walks, const struct evidence_ask *ask)
{
    struct symbolizer_sample *samples = calloc(walks->asked_count, sizeof *samples);
    if (samples == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < walks->asked_count; i++) {
        const struct walk *walk = walks->asked[i];
        memcpy(samples[i].registers, walk->thread->registers, sizeof samples[i].registers);
        if (walk->guess != 0)
            samples[i].registers[DUMP_FP] = walk->guess;
        samples[i].address = walk->thread->registers[DUMP_SP];
        samples[i].stack = walk->thread->stack;
        samples[i].stack_bytes = walk->thread->stack_bytes;
    }
    const struct symbolizer_process process = {.pid = (pid_t)walks->dump->pid,
                                               .start_clock_ticks = ask->process->start_clock_ticks,
                                               .mappings = walks->mappings,
                                               .mapping_count = walks->mapping_count};
    int status = symbolizer_unwind(ask->symbolizer, &process, samples, walks->asked_count,
                                   FRAMES_MAX, ask->deadline_ns, stack_take, walks);
    free(samples);
    return status;
}

static int walks_run(struct walks *walks, const struct evidence_ask *ask)
{
    for (size_t i = 0; i < walks->count; i++)
        walks->asked[walks->asked_count++] = &walks->items[i];
    int first = walks_ask(walks, ask), status = first;
    for (int round = 0; round < GUESSES && status == SKEIN_OK; round++) {
        walks->asked_count = 0;
        for (size_t i = 0; i < walks->count; i++) {
            struct walk *walk = &walks->items[i];
            bool broken = (walk->end & ~(unsigned)PARTITION_STACK_EXACT) == PARTITION_STACK_BROKEN;
            if (walk->count > 0 && broken && !walk->thread->whole_registers &&
                guess_next(walks, walk))
                walks->asked[walks->asked_count++] = walk;
        }
        if (walks->asked_count == 0)
            break;
        status = walks_ask(walks, ask);
    }
    return first;
}

/* ---- without the symbolizer ---- */

static void walk_by_frame_pointers(struct walk *walk)
{
    const struct dump_thread *thread = walk->thread;
    uint64_t frame = thread->whole_registers ? thread->registers[DUMP_FP] : 0, above, pc;
    walk->pcs = malloc(FRAMES_MAX * sizeof *walk->pcs);
    if (walk->pcs == NULL)
        return;
    walk->pcs[walk->count++] = thread->registers[DUMP_PC];
    walk->end = (uint8_t)(PARTITION_STACK_EXACT | PARTITION_STACK_BROKEN);
    while (walk->count < FRAMES_MAX && frame % sizeof frame == 0 &&
           stack_word(thread, frame, &above) && stack_word(thread, frame + sizeof frame, &pc) &&
           pc != 0) {
        walk->pcs[walk->count++] = pc;
        if (above <= frame)
            break;
        frame = above;
    }
}

/* ---- the evidence ---- */

static void walk_write(struct evidence_out *out, const struct walks *walks, struct walk *walk)
{
    if (walk->count == 0)
        walk_by_frame_pointers(walk);
    const struct partition_stack stack = {.pcs = walk->pcs, .count = walk->count, .end = walk->end};
    if (walk->count > 0)
        walk->thread->stack_id = evidence_stack(out, &stack);
    for (uint32_t i = 0; i < walk->count; i++) {
        const struct partition_mapping *mapping = mapping_of(walks, walk->pcs[i]);
        if (mapping != NULL)
            evidence_mapping(out, mapping);
    }
    free(walk->pcs);
}

static int mappings_take(struct walks *walks, const struct evidence_ask *ask)
{
    int status = ask->symbolizer != NULL ? symbolizer_maps(ask->symbolizer, (pid_t)walks->dump->pid,
                                                           ask->deadline_ns, &walks->maps)
                                         : SKEIN_NOT_FOUND;
    if (status != SKEIN_OK)
        return status;
    walks->mappings = calloc(walks->maps.count + 1, sizeof *walks->mappings);
    for (size_t i = 0; walks->mappings != NULL && i < walks->maps.count; i++)
        walks->mappings[walks->mapping_count++] = walks->maps.items[i].mapping;
    return walks->mappings != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

void dump_walk(const struct evidence_ask *ask, struct evidence_out *out, struct dump *dump)
{
    struct walks walks = {.dump = dump};
    walks.items = calloc(dump->count + 1, sizeof *walks.items);
    if (walks.items == NULL)
        return;
    dump->walk_status = mappings_take(&walks, ask);
    for (size_t i = 0; i < dump->count && walks.count < DUMP_STACKS_MAX; i++)
        if (dump->threads[i].fate == DUMP_STACK_TAKEN)
            walks.items[walks.count++].thread = &dump->threads[i];
    if (walks.mapping_count > 0 && walks.count > 0)
        dump->walk_status = walks_run(&walks, ask);
    for (size_t i = 0; i < walks.count; i++) {
        dump->unwalked += walks.items[i].count == 0;
        walk_write(out, &walks, &walks.items[i]);
    }
    for (size_t i = 0; i < CODE_PAGES; i++)
        free(walks.code[i].bytes);
    if (walks.maps.items != NULL)
        process_maps_free(&walks.maps);
    free(walks.mappings);
    free(walks.items);
}
