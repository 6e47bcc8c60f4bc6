/* SPDX-License-Identifier: Apache-2.0
 * See footer_strip.h. Owns nothing but the strip's arrays. */
#include "footer_strip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "evidence_kinds.h"

#define RECORDS_MAX   (UINT64_C(1) << 40) /* of a block: more is no truth, and sums stay exact */
#define LOSSES_SETTLE 65536               /* so many are made fewer before the end */

int footer_strip_init(struct footer_strip *strip)
{
    strip->records = calloc(strip->buckets, sizeof *strip->records);
    return strip->records != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

void footer_strip_fini(struct footer_strip *strip)
{
    free(strip->records);
    free(strip->losses);
    *strip = (struct footer_strip){0};
}

/* ---- records ---- */

/* Where a bucket begins; that of `buckets` is the strip's end. */
static uint64_t bucket_from(const struct footer_strip *strip, size_t bucket)
{
    unsigned __int128 span = strip->to_ns - strip->from_ns;
    return strip->from_ns + (uint64_t)(span * bucket / strip->buckets);
}

/* The bucket of a time within the strip. */
static size_t bucket_of(const struct footer_strip *strip, uint64_t at_ns)
{
    unsigned __int128 span = strip->to_ns - strip->from_ns;
    size_t bucket = (size_t)((unsigned __int128)(at_ns - strip->from_ns) * strip->buckets / span);
    /* rounding of both may differ by one */
    while (bucket + 1 < strip->buckets && bucket_from(strip, bucket + 1) <= at_ns)
        bucket++;
    return bucket;
}

/* So many of n records at even distances from from_ns to to_ns, both included, lie before at_ns. */
static double before(double n, uint64_t from_ns, uint64_t to_ns, uint64_t at_ns)
{
    if (at_ns <= from_ns)
        return 0;
    if (at_ns > to_ns)
        return n;
    return floor(n * ((double)(at_ns - from_ns) / ((double)(to_ns - from_ns) + 1)));
}

/* What is added to neighbours adds up to n. */
static void records_spread(struct footer_strip *strip, uint64_t records, uint64_t from_ns,
                           uint64_t to_ns)
{
    double n = (double)(records < RECORDS_MAX ? records : RECORDS_MAX);
    double done = before(n, from_ns, to_ns, strip->from_ns);
    strip->outside += done;
    if (from_ns < strip->to_ns && to_ns >= strip->from_ns) {
        size_t i = from_ns > strip->from_ns ? bucket_of(strip, from_ns) : 0;
        for (; i < strip->buckets && done < n; i++) {
            double sum = before(n, from_ns, to_ns, bucket_from(strip, i + 1));
            strip->records[i] += sum - done;
            done = sum;
        }
    }
    strip->outside += n - done;
}

/* ---- losses ---- */

static int loss_put(struct footer_strip *strip, const struct partition_loss *loss, uint64_t from_ns,
                    uint64_t to_ns)
{
    if (to_ns < strip->from_ns || from_ns >= strip->to_ns)
        return SKEIN_OK;
    if (!array_grow(strip->losses, strip->loss_count + 1, &strip->loss_cap))
        return SKEIN_NO_MEMORY;
    strip->losses[strip->loss_count++] = (struct strip_loss){
        .reason = loss->reason,
        .from_ns = from_ns,
        .to_ns = to_ns > from_ns ? to_ns : from_ns,
        .records = loss->events < RECORDS_MAX ? loss->events : RECORDS_MAX,
        .unknown = loss->events == 0,
    };
    return SKEIN_OK;
}

static int loss_order(const void *left, const void *right)
{
    const struct strip_loss *a = left, *b = right;
    if (a->reason != b->reason)
        return a->reason < b->reason ? -1 : 1;
    return a->from_ns < b->from_ns ? -1 : a->from_ns > b->from_ns;
}

void footer_strip_settle(struct footer_strip *strip)
{
    uint64_t apart_ns = (strip->to_ns - strip->from_ns) / strip->buckets;
    size_t kept = 0;
    if (strip->loss_count > 0)
        qsort(strip->losses, strip->loss_count, sizeof *strip->losses, loss_order);
    for (size_t i = 0; i < strip->loss_count; i++) {
        const struct strip_loss *loss = &strip->losses[i];
        struct strip_loss *last = kept > 0 ? &strip->losses[kept - 1] : NULL;
        bool near = last != NULL && last->reason == loss->reason &&
                    (loss->from_ns <= last->to_ns || loss->from_ns - last->to_ns <= apart_ns);
        if (!near) {
            strip->losses[kept++] = *loss;
            continue;
        }
        last->to_ns = loss->to_ns > last->to_ns ? loss->to_ns : last->to_ns;
        last->records += loss->records;
        last->unknown += loss->unknown;
    }
    strip->loss_count = kept;
}

/* ---- evidence ---- */

/* Which kind an event is of, by how its name begins; the first that fits. */
static uint32_t kinds_of(const struct partition_footer *footer)
{
    static const struct {
        const char *begin;
        enum evidence_kind kind;
    } names[] = {{"thread.cpu", EVIDENCE_SAMPLES},
                 {"cpu.", EVIDENCE_SAMPLES},
                 {"thread.sched", EVIDENCE_SCHED},
                 {"sched.", EVIDENCE_SCHED},
                 {"thread.load", EVIDENCE_VITALS},
                 {"thread.", EVIDENCE_THREADS},
                 {"host.", EVIDENCE_VITALS},
                 {"proc.", EVIDENCE_VITALS},
                 {"crash.", EVIDENCE_CRASH},
                 {"go.", EVIDENCE_GO},
                 {"fd", EVIDENCE_FILES}};
    uint32_t kinds = 0;
    for (size_t i = 0; i < footer->type_count; i++)
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            if (strncmp(footer->types[i].name, names[k].begin, strlen(names[k].begin)) != 0)
                continue;
            kinds |= EVIDENCE_BIT(names[k].kind);
            break;
        }
    return kinds;
}

/* ---- one partition ---- */

static int evidence_tally(struct footer_strip *strip, const struct partition_footer *footer)
{
    strip->kinds |= kinds_of(footer);
    for (size_t i = 0; i < footer->block_count; i++) {
        uint64_t records = footer->blocks[i].events;
        strip->evidence += (double)(records < RECORDS_MAX ? records : RECORDS_MAX);
    }
    return SKEIN_OK;
}

/* times: begin and end of each block, then of each loss. */
static int times_add(struct footer_strip *strip, const struct partition_footer *footer,
                     const uint64_t *times)
{
    int status = SKEIN_OK;
    if (strip->loss_count > LOSSES_SETTLE)
        footer_strip_settle(strip);
    if (!array_grow(strip->losses, strip->loss_count + footer->loss_count, &strip->loss_cap))
        return SKEIN_NO_MEMORY; /* before anything is added */
    for (size_t i = 0; i < footer->block_count; i++, times += 2)
        records_spread(strip, footer->blocks[i].events, times[0],
                       times[1] > times[0] ? times[1] : times[0]);
    for (size_t i = 0; i < footer->loss_count && status == SKEIN_OK; i++, times += 2)
        status = loss_put(strip, &footer->losses[i], times[0], times[1]);
    return status;
}

int footer_strip_add(struct footer_strip *strip, const struct partition_source *source)
{
    struct partition_footer footer;
    int status = partition_footer_read(source, &footer, NULL);
    if (status != SKEIN_OK)
        return status;
    size_t count = 2 * (footer.block_count + footer.loss_count), n = 0;
    uint64_t *times = malloc((count + 1) * sizeof *times);
    for (size_t i = 0; times != NULL && i < footer.block_count; i++) {
        times[n++] = footer.blocks[i].from_ticks;
        times[n++] = footer.blocks[i].to_ticks;
    }
    for (size_t i = 0; times != NULL && i < footer.loss_count; i++) {
        times[n++] = footer.losses[i].from_ticks;
        times[n++] = footer.losses[i].to_ticks;
    }
    status = times == NULL ? SKEIN_NO_MEMORY : partition_times(source, times, n);
    if (status == SKEIN_OK && footer.evidence)
        status = evidence_tally(strip, &footer);
    else if (status == SKEIN_OK)
        status = times_add(strip, &footer, times);
    free(times);
    partition_footer_free(&footer);
    return status;
}
