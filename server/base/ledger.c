/* SPDX-License-Identifier: Apache-2.0
 *
 * Ledgers: sums and their JSON; see ledger.h. Entered by any thread. What is said to be produced is
 * always made from the parts, so the account cannot fail to balance.
 */
#include "ledger.h"

#include <stdlib.h>

#include "array.h"
#include "json.h"

#define EVENTS_MAX (UINT64_C(1) << 48)

void ledger_fini(struct ledger *ledger)
{
    free(ledger->gaps);
    *ledger = (struct ledger){0};
}

void ledger_lose(struct ledger *ledger, enum loss_reason reason, uint64_t events)
{
    ledger->events[reason] += events < EVENTS_MAX ? events : EVENTS_MAX;
}

void ledger_lose_most(struct ledger *ledger, enum loss_reason reason, uint64_t events)
{
    ledger_lose(ledger, reason, events);
    ledger->at_most[reason] |= events > 0;
}

/* A hundred million events a second is more than one program was ever seen to write (an event takes
 * some 12 ns of one processor); a second more for clocks that disagree. */
#define EVENTS_PER_S UINT64_C(100000000)

bool ledger_plausible(uint64_t events, uint64_t span_ns)
{
    return events / EVENTS_PER_S <= span_ns / 1000000000u + 1;
}

void ledger_claim(struct ledger *ledger, enum loss_reason reason, uint64_t events, uint64_t span_ns)
{
    if (ledger_plausible(events, span_ns))
        ledger_lose(ledger, reason, events);
    else
        ledger->implausible += events < EVENTS_MAX ? events : EVENTS_MAX;
}

static uint64_t lost_in(const struct ledger *ledger, enum loss_place place)
{
    uint64_t sum = 0;
    for (int i = 0; i < LOSS_REASONS; i++)
        if (loss_place((enum loss_reason)i) == place)
            sum += ledger->events[i];
    return sum;
}

uint64_t ledger_lost(const struct ledger *ledger)
{
    uint64_t sum = 0;
    for (int place = 0; place < LOSS_PLACES; place++)
        sum += lost_in(ledger, (enum loss_place)place);
    return sum;
}

bool ledger_complete(const struct ledger *ledger)
{
    return !ledger->open && ledger->gap_count == 0 && ledger->status == SKEIN_OK &&
           ledger_lost(ledger) == 0 && ledger->implausible == 0;
}

/* ---- gaps ---- */

static int gaps_compare(const void *left, const void *right)
{
    const struct loss_gap *a = left, *b = right;
    if (a->reason != b->reason)
        return a->reason < b->reason ? -1 : 1;
    if (a->from_ns != b->from_ns)
        return a->from_ns < b->from_ns ? -1 : 1;
    return a->to_ns < b->to_ns ? -1 : a->to_ns > b->to_ns;
}

void ledger_merge_gaps(struct ledger *ledger)
{
    if (ledger->gap_count == 0)
        return;
    qsort(ledger->gaps, ledger->gap_count, sizeof *ledger->gaps, gaps_compare);
    size_t n = 0;
    for (size_t i = 1; i < ledger->gap_count; i++) {
        struct loss_gap *gap = &ledger->gaps[n];
        const struct loss_gap *next = &ledger->gaps[i];
        if (next->reason != gap->reason || next->from_ns > gap->to_ns)
            ledger->gaps[++n] = *next;
        else if (next->to_ns > gap->to_ns)
            gap->to_ns = next->to_ns;
    }
    ledger->gap_count = n + 1;
}

/* Gaps that come in order are merged at once. */
void ledger_gap(struct ledger *ledger, const struct loss_gap *gap)
{
    struct loss_gap *last = ledger->gap_count > 0 ? &ledger->gaps[ledger->gap_count - 1] : NULL;
    if (last != NULL && last->reason == gap->reason && last->from_ns <= gap->from_ns &&
        gap->from_ns <= last->to_ns)
        last->to_ns = gap->to_ns > last->to_ns ? gap->to_ns : last->to_ns;
    else if (array_grow(ledger->gaps, ledger->gap_count + 1, &ledger->gap_cap))
        ledger->gaps[ledger->gap_count++] = *gap;
    else
        ledger->status = SKEIN_NO_MEMORY;
}

/* ---- JSON ---- */

static void at_most_add(cJSON *json, const struct ledger *ledger)
{
    cJSON *list = NULL;
    for (int i = 0; i < LOSS_REASONS; i++) {
        if (!ledger->at_most[i])
            continue;
        list = list != NULL ? list : cJSON_AddArrayToObject(json, "at_most");
        cJSON_AddItemToArray(list, cJSON_CreateString(loss_text((enum loss_reason)i)));
    }
}

cJSON *ledger_json(struct ledger *ledger)
{
    cJSON *json = cJSON_CreateObject();
    ledger_merge_gaps(ledger);
    json_add_u64(json, "produced", ledger->stored + ledger_lost(ledger));
    json_add_u64(json, "stored", ledger->stored);
    cJSON *lost = cJSON_AddObjectToObject(json, "lost");
    for (int i = 0; i < LOSS_PLACES; i++)
        json_add_u64(lost, loss_place_text((enum loss_place)i),
                     lost_in(ledger, (enum loss_place)i));
    cJSON *reasons = cJSON_AddObjectToObject(json, "reasons");
    for (int i = 0; i < LOSS_REASONS; i++)
        if (ledger->events[i] > 0 && loss_place((enum loss_reason)i) != LOSS_PLACE_KEPT)
            json_add_u64(reasons, loss_text((enum loss_reason)i), ledger->events[i]);
    at_most_add(json, ledger);
    if (ledger->events[LOSS_NAME] > 0)
        json_add_u64(json, "unnamed", ledger->events[LOSS_NAME]);
    if (ledger->implausible > 0)
        json_add_u64(json, "implausible", ledger->implausible);
    cJSON_AddBoolToObject(json, "complete", ledger_complete(ledger));
    cJSON *gaps = cJSON_AddArrayToObject(json, "gaps");
    for (size_t i = 0; i < ledger->gap_count; i++) {
        cJSON *gap = cJSON_CreateObject();
        json_add_time(gap, "from", ledger->gaps[i].from_ns);
        json_add_time(gap, "to", ledger->gaps[i].to_ns);
        cJSON_AddStringToObject(gap, "reason", loss_text(ledger->gaps[i].reason));
        cJSON_AddItemToArray(gaps, gap);
    }
    return json;
}
