/* SPDX-License-Identifier: Apache-2.0
 * Who is remembered, whose ring is kept and for how long, and what is said where notes run out. */
#include "roster.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc_info.h"
#include "support.h"

struct place {
    struct loop *loop;
    struct roster *roster;
    uint64_t linger_ms;
};

static void place_init(struct place *place, uint64_t linger_ms, uint64_t max_bytes)
{
    place->linger_ms = linger_ms;
    ck_assert_int_eq(loop_new(&place->loop), SKEIN_OK);
    ck_assert_int_eq(roster_new(place->loop, &place->linger_ms, max_bytes, &place->roster),
                     SKEIN_OK);
}

static void place_fini(struct place *place)
{
    roster_free(&place->roster);
    loop_free(&place->loop);
}

/* The nth process, with a ring of so many bytes that nothing lies behind. */
static struct process *process_make(uint32_t n, uint64_t ring_bytes)
{
    struct process *p;
    ck_assert_int_eq(process_new(&p), SKEIN_OK);
    memcpy(p->uid.bytes, &n, sizeof n);
    p->pid = n;
    p->start_ns = 1000 + n;
    p->gone_ns = 2000 + n;
    p->geometry.total = ring_bytes;
    (void)snprintf(p->service, sizeof p->service, "s%u", n);
    return p;
}

static void keep(struct place *place, uint32_t n, uint64_t ring_bytes)
{
    struct process *p = process_make(n, ring_bytes);
    roster_keep(place->roster, p);
    process_unref(&p);
}

static const struct roster_entry *find(struct place *place, uint32_t n)
{
    struct process_uid uid = {{0}};
    memcpy(uid.bytes, &n, sizeof n);
    return roster_find(place->roster, &uid);
}

/* However many processes of one user end, another's ring is kept. */
START_TEST(who_ends_most_lets_go_of_his_own_rings)
{
    struct place place;
    place_init(&place, 3600000, 250);
    keep(&place, 1, 100);
    for (uint32_t n = 2; n < 50; n++) {
        struct process *p = process_make(n, 50);
        p->user = 65534;
        roster_keep(place.roster, p);
        process_unref(&p);
    }
    ck_assert_ptr_nonnull(find(&place, 1)->process);
    ck_assert_ptr_null(find(&place, 2)->process);
    ck_assert_ptr_nonnull(find(&place, 49)->process);
    place_fini(&place);
}
END_TEST

START_TEST(a_ring_is_kept_within_its_room_and_a_note_outlives_it)
{
    struct place place;
    place_init(&place, 3600000, 250);
    keep(&place, 1, 100);
    keep(&place, 2, 100);
    ck_assert_uint_eq(roster_ring_bytes(place.roster), 200);
    keep(&place, 3, 100); /* the oldest goes */
    ck_assert_uint_eq(roster_ring_bytes(place.roster), 200);
    ck_assert_ptr_null(find(&place, 1)->process);
    ck_assert_uint_eq(find(&place, 1)->ended_ns, 2001);
    ck_assert_str_eq(find(&place, 1)->service, "s1");
    ck_assert_ptr_nonnull(find(&place, 2)->process);
    ck_assert(roster_release_one(place.roster));
    ck_assert_ptr_null(find(&place, 2)->process);
    ck_assert(roster_release_one(place.roster));
    ck_assert(!roster_release_one(place.roster));
    ck_assert_uint_eq(roster_ring_bytes(place.roster), 0);
    place_fini(&place);
}
END_TEST

START_TEST(who_does_not_come_back_in_time_and_runs_is_named_as_not_recorded)
{
    struct place place;
    place_init(&place, 0, 0);
    struct process *here = process_make((uint32_t)getpid(), 0), *gone = process_make(2, 0);
    ck_assert_int_eq(proc_start_ticks(getpid(), &here->start_clock_ticks), SKEIN_OK);
    roster_recall(place.roster, here, 0);
    roster_recall(place.roster, gone, 2002);
    const struct roster_entry *e = find(&place, here->pid);
    ck_assert(roster_is_awaited(e));
    ck_assert(!roster_is_awaited(find(&place, 2)));
    ck_assert(roster_overdue(place.roster));
    ck_assert(!roster_overdue(place.roster));
    ck_assert(!roster_is_awaited(e) && e->expected);
    ck_assert_int_eq(e->reason, LOSS_AGENT_RESTARTED);
    ck_assert_int_eq(find(&place, 2)->reason, LOSS_RELEASED);
    ck_assert(!roster_refresh(place.roster));
    ck_assert_uint_eq(e->ended_ns, 0);
    roster_attached(place.roster, here); /* late, but here */
    ck_assert_ptr_null(find(&place, here->pid));
    process_unref(&here);
    process_unref(&gone);
    place_fini(&place);
}
END_TEST

static void stop(void *loop)
{
    loop_stop(loop);
}

START_TEST(a_ring_goes_when_its_time_is_over)
{
    struct place place;
    place_init(&place, 1, 1000);
    keep(&place, 1, 100);
    ck_assert_ptr_nonnull(find(&place, 1)->process);
    struct loop *loop = place.loop;
    ck_assert_ptr_nonnull(loop_timer_add(loop, 50, 0, stop, loop));
    ck_assert_int_eq(loop_run(loop), SKEIN_OK);
    ck_assert_ptr_null(find(&place, 1)->process);
    place_fini(&place);
}
END_TEST

START_TEST(a_refusal_is_news_once_and_forgotten_when_the_process_is_taken)
{
    struct place place;
    place_init(&place, 0, 1000);
    struct process *p = process_make(1, 0);
    ck_assert(roster_refuse(place.roster, p, SKEIN_FULL));
    ck_assert(!roster_refuse(place.roster, p, SKEIN_FULL));
    ck_assert_int_eq(find(&place, 1)->reason, LOSS_REFUSED);
    ck_assert_uint_eq(find(&place, 1)->ended_ns, 0);
    roster_refresh(place.roster); /* there is no such process */
    ck_assert_uint_ne(find(&place, 1)->ended_ns, 0);
    roster_attached(place.roster, p);
    ck_assert_ptr_null(find(&place, 1));
    ck_assert(roster_refuse(place.roster, p, SKEIN_CLOSED)); /* it had ended */
    ck_assert_uint_ne(find(&place, 1)->ended_ns, 0);
    process_unref(&p);
    place_fini(&place);
}
END_TEST

START_TEST(where_notes_run_out_it_is_known_from_when_on_all_are_there)
{
    struct place place;
    place_init(&place, 0, 1000);
    for (uint32_t n = 1; n <= ROSTER_NOTES_MAX; n++)
        keep(&place, n, 0);
    ck_assert_uint_eq(roster_known_from_ns(place.roster), 0);
    keep(&place, ROSTER_NOTES_MAX + 1, 0);
    ck_assert_uint_eq(roster_known_from_ns(place.roster), 2001);
    ck_assert_ptr_null(find(&place, 1));
    ck_assert_ptr_nonnull(find(&place, 2));
    place_fini(&place);
}
END_TEST

START_TEST(what_was_listed_is_told_once_that_list_is_answered)
{
    struct place place;
    place_init(&place, 0, 1000);
    keep(&place, 1, 0);
    roster_told(place.roster);
    ck_assert(!find(&place, 1)->told);
    TAILQ_FIRST(roster_entries(place.roster))->listed = true;
    roster_told(place.roster);
    ck_assert(find(&place, 1)->told);
    roster_untold(place.roster);
    ck_assert(!find(&place, 1)->told);
    place_fini(&place);
}
END_TEST

/* The collector knows those that it was told of, but one that is started anew. */
START_TEST(what_the_collector_was_told_is_known_to_it)
{
    struct place place;
    place_init(&place, 0, 1000);
    for (uint32_t n = 1; n <= ROSTER_NOTES_MAX; n++)
        keep(&place, n, 0);
    struct roster_entry *e;
    TAILQ_FOREACH(e, roster_entries(place.roster), link)
        e->listed = true;
    roster_told(place.roster);
    keep(&place, ROSTER_NOTES_MAX + 1, 0);
    ck_assert_ptr_null(find(&place, 1));
    ck_assert_uint_eq(roster_known_from_ns(place.roster), 0);
    roster_untold(place.roster);
    ck_assert_uint_eq(roster_known_from_ns(place.roster), 2001);
    place_fini(&place);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("roster", who_ends_most_lets_go_of_his_own_rings,
                              a_ring_is_kept_within_its_room_and_a_note_outlives_it,
                              a_ring_goes_when_its_time_is_over,
                              who_does_not_come_back_in_time_and_runs_is_named_as_not_recorded,
                              a_refusal_is_news_once_and_forgotten_when_the_process_is_taken,
                              where_notes_run_out_it_is_known_from_when_on_all_are_there,
                              what_the_collector_was_told_is_known_to_it,
                              what_was_listed_is_told_once_that_list_is_answered, NULL));
}
