/* SPDX-License-Identifier: Apache-2.0
 *
 * Slots, begins and capture ids of samples; see sampling.h. No state; any thread.
 */
#include "sampling.h"

#include <string.h>

#include "checksum.h"
#include "clock.h"

#define SPAN_MS_MAX 60000

bool sampling_plan_valid(const struct sampling_plan *plan)
{
    if (plan->record_ms == 0 || plan->every_ms % plan->record_ms != 0)
        return false;
    uint64_t slots = plan->every_ms / plan->record_ms;
    return slots >= 2 && slots <= SAMPLING_SLOTS_MAX;
}

uint32_t sampling_slots(const struct sampling_plan *plan)
{
    return (uint32_t)(plan->every_ms / plan->record_ms);
}

uint32_t sampling_slot_of(const struct sampling_plan *plan, const struct process_uid *process)
{
    return (uint32_t)(checksum64(process->bytes, sizeof process->bytes) % sampling_slots(plan));
}

uint32_t sampling_slot_at(const struct sampling_plan *plan, uint64_t now_ns)
{
    return (uint32_t)(now_ns / NS_PER_MS % plan->every_ms / plan->record_ms);
}

uint64_t sampling_next_ns(const struct sampling_plan *plan, uint32_t slot, uint64_t now_ns)
{
    uint64_t every_ns = plan->every_ms * NS_PER_MS;
    uint64_t begin_ns = now_ns - now_ns % every_ns + slot * plan->record_ms * NS_PER_MS;
    return begin_ns >= now_ns ? begin_ns : begin_ns + every_ns;
}

bool sampling_is_astray(const struct sampling_plan *plan, uint64_t begin_ns, uint64_t now_ns)
{
    return begin_ns > now_ns && begin_ns - now_ns > 2 * plan->every_ms * NS_PER_MS;
}

uint64_t sampling_span_ms(const struct sampling_plan *plan)
{
    return plan->every_ms < SPAN_MS_MAX ? plan->every_ms : SPAN_MS_MAX;
}

struct capture_id sampling_capture(const struct sampling_plan *plan, const char *policy,
                                   uint64_t generation, uint64_t begin_ns)
{
    /* Milliseconds first, as in every capture's id; the rest is what no other capture has. */
    uint8_t seed[1 + 8 + 8 + 64] = {0};
    uint64_t span = begin_ns - begin_ns % (sampling_span_ms(plan) * NS_PER_MS);
    uint64_t ms = span / NS_PER_MS;
    for (unsigned i = 0; i < 8; i++) {
        seed[1 + i] = (uint8_t)(generation >> (8 * i));
        seed[9 + i] = (uint8_t)(span >> (8 * i));
    }
    strncpy((char *)seed + 17, policy, 63);
    struct capture_id id;
    for (unsigned i = 0; i < 6; i++)
        id.bytes[i] = (uint8_t)(ms >> (8 * (5 - i)));
    uint64_t low = checksum64(seed, sizeof seed);
    seed[0] = 1;
    uint64_t high = checksum64(seed, sizeof seed);
    for (unsigned i = 0; i < 8; i++)
        id.bytes[6 + i] = (uint8_t)(low >> (8 * i));
    id.bytes[14] = (uint8_t)high;
    id.bytes[15] = (uint8_t)(high >> 8);
    return id;
}

uint64_t sampling_span_begin_ns(const struct capture_id *id)
{
    uint64_t ms = 0;
    for (unsigned i = 0; i < 6; i++)
        ms = ms << 8 | id->bytes[i];
    return ms * NS_PER_MS;
}
