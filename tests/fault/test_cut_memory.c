/* SPDX-License-Identifier: Apache-2.0
 * A cut without memory: every allocation fails once, no cut half succeeds, and the next one with
 * memory brings everything, since a failed cut moves neither marks nor sequence. */
#include "../unit/agent/agent_fixture.h"
#include "alloc_fail.h"
#include "cut_chain.h"
#include "ring_memory.h"

static struct host_page_owner *host;

/* A ring with one chunk: a self-described event, a loss, and a thread's slot. */
static struct process *process_make(void)
{
    struct process *p = NULL;
    ck_assert_int_eq(process_new(&p), SKEIN_OK);
    ck_assert_int_eq(ring_geometry_init(&p->geometry, SKEIN_MODE_CIRCULAR, RING_BYTES_MIN),
                     SKEIN_OK);
    const struct ring_identity identity = {.pid = 1, .service = "hand"};
    ck_assert_int_eq(ring_memory_new(&p->geometry, &identity, &p->ring_fd, &p->ring), SKEIN_OK);
    host_page_first(host, &p->attached_clock);
    static const uint8_t rows[] = "\4\1\1\0\1\4self\1\1x\7"   /* INLINE: instant, one u64 */
                                  "\3\1\5"                    /* LOST: 5 */
                                  "\4\1\1\0\1\4self\1\1x\10"; /* again */
    struct ring_chunk head = {.state = RING_CHUNK_WRITING | 1u << RING_CHUNK_EPOCH_SHIFT,
                              .committed = UINT64_C(1) << 32 | (sizeof(rows) - 1),
                              .first.sequence = 3,
                              .first.base_ticks = p->attached_clock.ticks,
                              .first.lost_before = 2,
                              .first.incarnation = 1,
                              .first.tid = 9,
                              .first.name = "main"};
    uint8_t *at = p->ring + ring_small_offset(&p->geometry, 0);
    memcpy(at, &head, sizeof(head));
    memcpy(at + sizeof(head), rows, sizeof(rows) - 1);
    return p;
}

START_TEST(a_cut_survives_every_failed_allocation)
{
    ck_assert_int_eq(host_page_new(1000, &host), SKEIN_OK);
    struct process *p = process_make();
    struct cut_marks *marks = NULL;
    ck_assert_int_eq(cut_marks_new(p, &marks), SKEIN_OK);
    bool failed = true;
    for (unsigned n = 1; failed; n++) {
        struct cut_result result;
        alloc_fail_at(n);
        int status = fixture_cut(host, p, marks, 0, &result);
        failed = alloc_fail_end();
        if (status == SKEIN_OK) {
            ck_assert_uint_eq(partition_sum_get(&result.bytes).instants, 2);
            ck_assert_uint_eq(p->next_sequence, 1);
            failed = false; /* the one that failed was what the next cut may do without */
        } else {
            ck_assert_int_eq(status, SKEIN_NO_MEMORY);
            ck_assert_uint_eq(p->next_sequence, 0);
        }
        cut_result_fini(&result);
    }
    cut_marks_free(&marks);
    process_unref(&p);
    host_page_free(&host);
}
END_TEST

START_TEST(making_a_process_and_its_marks_fails_cleanly)
{
    ck_assert_int_eq(host_page_new(1000, &host), SKEIN_OK);
    struct process *p = process_make();
    bool failed = true;
    for (unsigned n = 1; failed; n++) {
        struct cut_marks *marks = NULL;
        struct process *other = NULL;
        alloc_fail_at(n);
        int first = cut_marks_new(p, &marks);
        int second = process_new(&other);
        failed = alloc_fail_end();
        ck_assert_int_eq(failed, first != SKEIN_OK || second != SKEIN_OK);
        if (marks != NULL)
            cut_marks_free(&marks);
        process_unref(&other);
    }
    process_unref(&p);
    host_page_free(&host);
}
END_TEST

static uint64_t taken; /* instants that the member was told of */

static void member_take(struct cut_member *member, const struct cut_entry *entry)
{
    (void)member;
    taken += entry->events;
}

static int member_cut(struct cut_member *member, struct cut_result *cut)
{
    struct cut_request request = {.to_ns = UINT64_MAX / 2, .epoch = 1, .host = "test"};
    int status = cut_chain_cut(member, host, &request, cut);
    struct cut_entry entry = {.kept = status == SKEIN_OK,
                              .key = cut->key,
                              .from_ns = cut->from_ns,
                              .to_ns = cut->to_ns,
                              .events = cut->events,
                              .gaps = cut->gaps,
                              .gap_count = cut->gap_count};
    if (status != SKEIN_OK && status != SKEIN_NOT_FOUND)
        return status;
    cut->gaps = NULL; /* the chain's now */
    cut_chain_add(member, &entry);
    return status;
}

/* Two captures of the same window, the second of which shares what the first has had cut. */
START_TEST(captures_that_share_survive_every_failed_allocation)
{
    ck_assert_int_eq(host_page_new(1000, &host), SKEIN_OK);
    bool failed = true;
    for (unsigned n = 1; failed; n++) {
        struct process *p = process_make();
        struct cut_member members[2] = {{.to_ns = UINT64_MAX / 2, .take = member_take},
                                        {.to_ns = UINT64_MAX / 2, .take = member_take}};
        struct cut_result cuts[2] = {0};
        int status[2];
        uint64_t told[2];
        alloc_fail_at(n);
        for (unsigned i = 0; i < 2; i++) {
            taken = 0;
            status[i] = cut_chain_join(&members[i], p);
            if (status[i] == SKEIN_OK && taken == 0)
                status[i] = member_cut(&members[i], &cuts[i]);
            told[i] = taken;
        }
        failed = alloc_fail_end();
        for (unsigned i = 0; i < 2; i++) {
            ck_assert(status[i] == SKEIN_OK || status[i] == SKEIN_NO_MEMORY);
            ck_assert_uint_eq(told[i], status[i] == SKEIN_OK ? 2 : 0);
            cut_result_fini(&cuts[i]);
        }
        ck_assert_uint_le(p->next_sequence, failed ? 2 : 1);
        cut_chain_leave(&members[0]);
        cut_chain_leave(&members[1]);
        process_unref(&p);
    }
    host_page_free(&host);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("cut_memory", a_cut_survives_every_failed_allocation,
                              making_a_process_and_its_marks_fails_cleanly,
                              captures_that_share_survive_every_failed_allocation, NULL));
}
