/* SPDX-License-Identifier: Apache-2.0
 *
 * A fleet of 10,000 processes, without agents and without a clock: how many are on at each moment,
 * by the functions that agents and collector use.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "sampling_place.h"
#include "support.h"

#define MS      UINT64_C(1000000)
#define FLEET   10000
#define PERIODS 3

static const struct sampling_plan plan = {1000, 1000000}, tenfold = {10000, 1000000};

struct fleet {
    struct sampling_member *members;
    size_t count;
    uint64_t made; /* processes so far */
};

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void fleet_add(struct fleet *f, size_t count)
{
    f->members = realloc(f->members, (f->count + count) * sizeof *f->members);
    ck_assert_ptr_nonnull(f->members);
    for (size_t i = 0; i < count; i++, f->count++) {
        struct process_uid uid = process_uid_make(f->made / 7, "boot", (uint32_t)f->made, 5);
        f->members[f->count] = (struct sampling_member){uid, SAMPLING_UNPLACED};
        f->made++;
    }
}

static void fleet_lose(struct fleet *f, size_t count, uint64_t *random)
{
    ck_assert_uint_le(count, f->count);
    for (; count > 0 && f->count > 0; count--) {
        f->members[next_random(random) % f->count] = f->members[f->count - 1];
        f->count--;
    }
}

/* Follows every process through some periods, as its agent would, and counts who is on in each
 * slot's time: nothing changes within one. Also its begin and its end are looked at. */
static double worst_share(const struct fleet *f, const struct sampling_plan *p)
{
    uint32_t slots = sampling_slots(p);
    size_t moments = (size_t)slots * PERIODS;
    uint32_t *on = calloc(moments, sizeof *on);
    ck_assert_ptr_nonnull(on);
    const uint64_t start = p->every_ms * MS * 1700000, end = start + p->every_ms * MS * PERIODS;
    for (size_t i = 0; i < f->count; i++) {
        uint64_t begin = start;
        while ((begin = sampling_next_ns(p, f->members[i].slot, begin)) < end) {
            uint64_t first = (begin - start) / (p->record_ms * MS);
            uint64_t last = (begin - start + p->record_ms * MS - 1) / (p->record_ms * MS);
            ck_assert_uint_eq(first, last);
            on[first]++;
            begin++;
        }
    }
    double planned = (double)f->count * (double)p->record_ms / (double)p->every_ms, worst = 0;
    for (size_t i = 0; i < moments; i++) {
        double off = fabs((double)on[i] - planned) / planned;
        worst = off > worst ? off : worst;
    }
    free(on);
    return worst;
}

START_TEST(the_share_that_is_on_is_the_plan)
{
    struct fleet f = {0};
    fleet_add(&f, FLEET);
    ck_assert_int_eq(sampling_place(&plan, f.members, f.count), SKEIN_OK);
    ck_assert_double_eq(worst_share(&f, &plan), 0);
    /* One field ten times as large. */
    for (size_t i = 0; i < f.count; i++)
        f.members[i].slot = SAMPLING_UNPLACED;
    ck_assert_int_eq(sampling_place(&tenfold, f.members, f.count), SKEIN_OK);
    ck_assert_double_eq(worst_share(&f, &tenfold), 0);
    free(f.members);
}
END_TEST

START_TEST(the_share_stays_while_processes_come_and_go)
{
    static const struct {
        size_t go, come;
    } days[] = {{3000, 3000}, {1, 0}, {0, 1}, {2000, 500}, {0, 1200}, {9000, 9600}, {7, 3}};
    const struct sampling_plan *const plans[] = {&plan, &tenfold};
    for (size_t k = 0; k < 2; k++) {
        struct fleet f = {0};
        uint64_t random = 11;
        fleet_add(&f, FLEET);
        ck_assert_int_eq(sampling_place(plans[k], f.members, f.count), SKEIN_OK);
        for (size_t i = 0; i < sizeof days / sizeof days[0]; i++) {
            fleet_lose(&f, days[i].go, &random);
            fleet_add(&f, days[i].come);
            ck_assert_int_eq(sampling_place(plans[k], f.members, f.count), SKEIN_OK);
            double worst = worst_share(&f, plans[k]);
            ck_assert_msg(worst <= 0.1, "plan %zu, day %zu: %zu processes, off by %.1f %%", k, i,
                          f.count, worst * 100);
        }
        free(f.members);
    }
}
END_TEST

START_TEST(hashes_alone_would_not_do)
{
    struct fleet f = {0};
    fleet_add(&f, FLEET);
    for (size_t i = 0; i < f.count; i++)
        f.members[i].slot = sampling_hash_slot(&plan, &f.members[i].process);
    ck_assert_double_gt(worst_share(&f, &plan), 0.5);
    free(f.members);
}
END_TEST

START_TEST(most_are_where_their_hash_puts_them_and_few_move)
{
    struct fleet f = {0};
    uint64_t random = 5;
    fleet_add(&f, FLEET);
    ck_assert_int_eq(sampling_place(&plan, f.members, f.count), SKEIN_OK);
    size_t elsewhere = 0, moved = 0;
    for (size_t i = 0; i < f.count; i++)
        elsewhere += f.members[i].slot != sampling_hash_slot(&plan, &f.members[i].process);
    ck_assert_uint_lt(elsewhere, FLEET / 5);
    fleet_lose(&f, 100, &random);
    struct sampling_member *before = malloc(f.count * sizeof *before);
    ck_assert_ptr_nonnull(before);
    memcpy(before, f.members, f.count * sizeof *before);
    ck_assert_int_eq(sampling_place(&plan, f.members, f.count), SKEIN_OK);
    for (size_t i = 0; i < f.count; i++)
        moved += f.members[i].slot != before[i].slot;
    ck_assert_uint_le(moved, 100);
    free(before);
    free(f.members);
}
END_TEST

START_TEST(small_fleets_have_a_slot_each)
{
    struct fleet f = {0};
    fleet_add(&f, 40);
    ck_assert_int_eq(sampling_place(&plan, f.members, f.count), SKEIN_OK);
    for (size_t i = 0; i < f.count; i++)
        for (size_t k = 0; k < i; k++)
            ck_assert_uint_ne(f.members[i].slot, f.members[k].slot);
    ck_assert_int_eq(sampling_place(&plan, f.members, 0), SKEIN_OK);
    free(f.members);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "sampling_place", the_share_that_is_on_is_the_plan,
        the_share_stays_while_processes_come_and_go, hashes_alone_would_not_do,
        most_are_where_their_hash_puts_them_and_few_move, small_fleets_have_a_slot_each, NULL));
}
