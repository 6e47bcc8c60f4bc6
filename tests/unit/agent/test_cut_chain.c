/* SPDX-License-Identifier: Apache-2.0
 * Captures that share cuts: whatever their windows, each holds every record of its own exactly
 * once. The ring is made by hand in a past of its own, a record every GRID_NS, and windows begin
 * and end between two records. */
#include <inttypes.h>

#include "agent_fixture.h"
#include "cut_chain.h"
#include "ring_memory.h"

#define RING_BYTES (UINT64_C(256) << 10)
#define GRID_NS    UINT64_C(20000000)
#define RECORDS    300
#define THREADS    4
#define CAPTURES   6
#define PARTITIONS 2000
#define GAPS       100

static struct host_page_owner *host;
static struct process *process;
static unsigned seed;

static unsigned dice(unsigned n)
{
    return (unsigned)rand_r(&seed) % n;
}

/* ---- a ring whose time the test makes ---- */

struct record {
    uint32_t thread;
    uint32_t overrun; /* the number of records there were when its chunk was used again; 0: not */
};
static struct record records[RECORDS + 1];
static uint32_t record_count;
static uint32_t next_chunk, chunk_of[THREADS]; /* UINT32_MAX: none */
static uint64_t sequence_of[THREADS];
static uint64_t zero_ns; /* of record 0 */
static struct clock_snapshot clock_first, clock_last;

static uint64_t ns_at(uint32_t number) /* between this record and the next */
{
    return zero_ns + number * GRID_NS + GRID_NS / 2;
}

static uint64_t ticks_at(uint32_t number)
{
    return clock_snapshot_ticks(&clock_first, &clock_last, zero_ns + number * GRID_NS);
}

/* A cut looks when the last record was put. */
static struct clock_snapshot line_at(uint64_t ns)
{
    uint64_t ago_ns = clock_first.realtime_ns - ns;
    return (struct clock_snapshot){clock_snapshot_ticks(&clock_first, &clock_last, ns),
                                   clock_first.monotonic_ns - ago_ns,
                                   clock_first.boottime_ns - ago_ns, ns};
}

void __wrap_host_page_line(const struct host_page_owner *owner, struct clock_snapshot *begin,
                           struct clock_snapshot *end);
void __wrap_host_page_line(const struct host_page_owner *owner, struct clock_snapshot *begin,
                           struct clock_snapshot *end)
{
    (void)owner;
    *begin = line_at(zero_ns);
    *end = line_at(ns_at(record_count));
}

static struct ring_chunk *chunk_at(uint32_t index)
{
    return (struct ring_chunk *)(void *)(process->ring +
                                         ring_small_offset(&process->geometry, index));
}

static void types_put(void)
{
    struct buf b = {0};
    for (uint8_t group = 0; group < 2; group++) {
        struct buf one = {0};
        buf_put_uleb(&one, (uint64_t)RING_EVENT_FIRST + group);
        const uint8_t head[] = {1, group, 1}; /* instant, 1 argument */
        buf_put(&one, head, sizeof head);
        buf_put_text(&one, "step", 4);
        buf_put_text(&one, "", 0);
        buf_put_text(&one, "a.c", 3);
        buf_put_uleb(&one, 12);
        buf_put_u8(&one, SKEIN_T_U64);
        buf_put_text(&one, "n", 1);
        buf_put_text(&one, "", 0);
        buf_put_u8(&b, RING_TABLE_EVENT_TYPE);
        buf_put_text(&b, (const char *)one.data, one.len);
        buf_fini(&one);
    }
    uint8_t *half = process->ring + process->geometry.table_off[0];
    const struct ring_table head = {UINT64_C(2) << 32 | b.len, 0};
    memcpy(half, &head, sizeof(head));
    memcpy(half + sizeof(head), b.data, b.len);
    buf_fini(&b);
}

static void ring_begin(void)
{
    ck_assert_int_eq(host_page_new(100, &host), SKEIN_OK);
    ck_assert_int_eq(process_new(&process), SKEIN_OK);
    ck_assert_int_eq(ring_geometry_init(&process->geometry, SKEIN_MODE_CIRCULAR, RING_BYTES),
                     SKEIN_OK);
    const struct ring_identity identity = {.pid = 1, .service = "hand"};
    ck_assert_int_eq(
        ring_memory_new(&process->geometry, &identity, &process->ring_fd, &process->ring),
        SKEIN_OK);
    host_page_first(host, &clock_first);
    do /* the longer the base, the truer the slope */
        host_page_snapshot(host, &clock_last);
    while (clock_last.monotonic_ns - clock_first.monotonic_ns < 2000000);
    process->attached_clock = clock_first;
    zero_ns = clock_first.realtime_ns - (RECORDS + 100) * GRID_NS;
    types_put();
    memset(records, 0, sizeof records);
    memset(chunk_of, 0xff, sizeof chunk_of);
    memset(sequence_of, 0, sizeof sequence_of);
    record_count = next_chunk = 0;
}

static void ring_end(void)
{
    process_unref(&process);
    host_page_free(&host);
}

/* Which records each chunk holds, so that the test knows what goes with it. */
static struct {
    uint32_t numbers[64];
    uint32_t count;
    uint64_t ticks; /* of the last */
} held[256];

static void chunk_claim(uint32_t thread, uint32_t number)
{
    uint32_t index = next_chunk++ % ring_small_count(&process->geometry);
    while ((chunk_at(index)->state & RING_CHUNK_STATE_MASK) == RING_CHUNK_WRITING)
        index = next_chunk++ % ring_small_count(&process->geometry);
    struct ring_chunk *chunk = chunk_at(index);
    uint32_t epoch = (chunk->state >> RING_CHUNK_EPOCH_SHIFT) + 1;
    for (uint32_t i = 0; i < held[index].count && epoch > 1; i++)
        records[held[index].numbers[i]].overrun = number;
    struct ring_header *header = (struct ring_header *)(void *)process->ring;
    if (held[index].count > 0 && epoch > 1 && header->overwritten_ticks < held[index].ticks)
        header->overwritten_ticks = held[index].ticks;
    held[index].count = 0;
    held[index].ticks = ticks_at(number);
    *chunk = (struct ring_chunk){.state = RING_CHUNK_WRITING | epoch << RING_CHUNK_EPOCH_SHIFT,
                                 .committed = (uint64_t)epoch << 32,
                                 .first.sequence = sequence_of[thread]++,
                                 .first.base_ticks = held[index].ticks,
                                 .first.string_epoch = 2,
                                 .first.slot = thread,
                                 .first.tid = thread + 1,
                                 .first.incarnation = 1};
    chunk_of[thread] = index;
}

/* One record more, by some thread; one thread in four writes seldom. */
static void record_put(void)
{
    uint32_t number = ++record_count;
    uint32_t thread = dice(20) == 0 ? 3 : dice(3);
    if (chunk_of[thread] == UINT32_MAX)
        chunk_claim(thread, number);
    uint32_t index = chunk_of[thread];
    struct ring_chunk *chunk = chunk_at(index);
    records[number].thread = thread;
    struct buf row = {0};
    buf_put_uleb(&row, RING_EVENT_FIRST);
    buf_put_uleb(&row, ticks_at(number) - held[index].ticks);
    buf_put_uleb(&row, number);
    memcpy((uint8_t *)chunk + RING_CHUNK_HEADER_BYTES + (uint32_t)chunk->committed, row.data,
           row.len);
    chunk->committed += row.len;
    held[index].ticks = ticks_at(number);
    held[index].numbers[held[index].count++] = number;
    buf_fini(&row);
    if (held[index].count == 60 || dice(8) == 0) {
        chunk->state = (chunk->state & ~RING_CHUNK_STATE_MASK) | RING_CHUNK_FULL;
        chunk_of[thread] = UINT32_MAX;
    }
}

/* ---- captures ---- */

struct part { /* what a partition holds */
    uint32_t *numbers;
    size_t count;
};
static struct part parts[PARTITIONS];

struct capture {
    struct cut_member member;
    bool begun, cut, ended;
    uint32_t from, to; /* its window: records above `from`, up to `to` */
    uint32_t cut_at;   /* records there were when it was first cut */
    bool lists[PARTITIONS];
    struct cut_gap gaps[GAPS];
    size_t gap_count;
};
static struct capture captures[CAPTURES];
static bool spool_refuses;

static void part_read(const struct cut_result *cut)
{
    char error[256];
    struct part *part = &parts[cut->key.sequence];
    struct partition_reader *reader = NULL;
    struct trace_event event;
    ck_assert_uint_lt(cut->key.sequence, PARTITIONS);
    ck_assert_int_eq(
        partition_reader_new(cut->bytes.data, cut->bytes.len, &reader, error, sizeof error),
        SKEIN_OK);
    part->numbers = calloc(RECORDS + 1, sizeof *part->numbers);
    while (partition_reader_next(reader, &event) == 1)
        if (event.kind == TRACE_INSTANT)
            part->numbers[part->count++] = (uint32_t)event.args[0].u64;
    partition_reader_free(&reader);
}

/* What overlaps is one, as in a report. */
static unsigned counted_exact, counted_bounds; /* partitions that captures list */

static void gap_take(struct capture *capture, const struct cut_gap *gap)
{
    struct cut_gap whole = *gap;
    for (size_t i = 0; i < capture->gap_count;) {
        const struct cut_gap *other = &capture->gaps[i];
        if (other->from_ns > whole.to_ns || other->to_ns < whole.from_ns) {
            i++;
            continue;
        }
        whole.from_ns = other->from_ns < whole.from_ns ? other->from_ns : whole.from_ns;
        whole.to_ns = other->to_ns > whole.to_ns ? other->to_ns : whole.to_ns;
        capture->gaps[i] = capture->gaps[--capture->gap_count];
        i = 0;
    }
    ck_assert_uint_lt(capture->gap_count, GAPS);
    capture->gaps[capture->gap_count++] = whole;
}

/* What is counted of the window, where the partition should be lost. */
static void within_check(const struct capture *capture, const struct cut_entry *entry)
{
    const struct part *part = &parts[entry->key.sequence];
    uint64_t truth = 0;
    bool bound = false;
    for (size_t i = 0; i < part->count; i++)
        truth += part->numbers[i] > capture->from && part->numbers[i] <= capture->to;
    uint64_t told = cut_entry_within(entry, capture->member.from_ns, capture->member.to_ns, &bound);
    counted_bounds += bound;
    counted_exact += !bound;
    ck_assert_msg(bound ? told >= truth && told <= entry->events : told == truth,
                  "%" PRIu64 " of (%u, %u] are told%s, %" PRIu64 " are there of %" PRIu64, told,
                  capture->from, capture->to, bound ? " at most" : "", truth, entry->events);
}

static void capture_take(struct cut_member *member, const struct cut_entry *entry)
{
    struct capture *capture = (struct capture *)(void *)member;
    for (size_t i = 0; i < entry->gap_count; i++)
        gap_take(capture, &entry->gaps[i]);
    if (entry->reason != NULL)
        gap_take(capture, &(struct cut_gap){.from_ns = entry->from_ns, .to_ns = entry->to_ns});
    if (!entry->kept)
        return;
    within_check(capture, entry);
    ck_assert(!capture->lists[entry->key.sequence]);
    capture->lists[entry->key.sequence] = true;
}

static uint64_t now_or_end(const struct capture *capture)
{
    uint64_t now = ns_at(record_count);
    return now < capture->member.to_ns ? now : capture->member.to_ns;
}

static void cuts(struct capture *capture)
{
    struct cut_request request = {.to_ns = now_or_end(capture),
                                  .epoch = 1,
                                  .host = "test",
                                  .max_bytes = dice(3) == 0 ? 100 : 0};
    bool more = true;
    uint64_t edges_ns[PARTITION_EDGES_MAX];
    request.edge_count = cut_chain_edges(&capture->member, request.to_ns, edges_ns);
    request.edges_ns = edges_ns;
    while (more) {
        struct cut_result cut;
        int status = cut_chain_cut(&capture->member, host, &request, &cut);
        ck_assert(status == SKEIN_OK || status == SKEIN_NOT_FOUND);
        more = cut.more;
        bool refused = status == SKEIN_OK && spool_refuses;
        struct cut_entry entry = {.kept = status == SKEIN_OK && !refused,
                                  .reason = refused ? "refused" : NULL,
                                  .key = cut.key,
                                  .from_ns = cut.from_ns,
                                  .to_ns = cut.to_ns,
                                  .events = cut.events,
                                  .gaps = cut.gaps,
                                  .gap_count = cut.gap_count,
                                  .edge_count = request.edge_count};
        memcpy(entry.edges_ns, edges_ns, sizeof edges_ns);
        memcpy(entry.before, cut.before, sizeof cut.before);
        if (entry.kept)
            part_read(&cut);
        cut.gaps = NULL;
        cut_chain_add(&capture->member, &entry);
        cut_result_fini(&cut);
    }
}

static void capture_cut(struct capture *capture)
{
    if (!capture->cut)
        capture->cut_at = record_count;
    capture->cut = true;
    if (cut_chain_wants(&capture->member, now_or_end(capture)))
        cuts(capture);
}

static void capture_begin(struct capture *capture)
{
    capture->begun = true;
    capture->from = dice(record_count + 1);
    if (dice(2) == 0) /* mostly of the near past */
        capture->from = record_count - dice(record_count < 120 ? record_count + 1 : 120);
    capture->to = capture->from + dice(80);
    if (dice(3) == 0) { /* a command that waited for long */
        capture->to = capture->from / 2;
        capture->from = dice(capture->to + 1);
    }
    capture->member = (struct cut_member){
        .from_ns = ns_at(capture->from), .to_ns = ns_at(capture->to), .take = capture_take};
    ck_assert_int_eq(cut_chain_join(&capture->member, process), SKEIN_OK);
    if (dice(3) > 0) /* else others go first */
        capture_cut(capture);
}

static void capture_end(struct capture *capture)
{
    if (capture->begun && !capture->ended) {
        capture_cut(capture);
        cut_chain_leave(&capture->member);
    }
    capture->ended = true;
}

/* ---- the property ---- */

static bool part_holds(const struct part *part, uint32_t number)
{
    for (size_t i = 0; i < part->count; i++)
        if (part->numbers[i] == number)
            return true;
    return false;
}

static bool lists(const struct capture *capture, uint32_t number)
{
    for (size_t i = 0; i < PARTITIONS; i++)
        if (capture->lists[i] && part_holds(&parts[i], number))
            return true;
    return false;
}

/* Between two records of a thread none is missing, also outside of the window. */
static void thread_check(const struct capture *capture, uint32_t thread)
{
    uint32_t first = 0, last = 0;
    for (uint32_t number = 1; number <= RECORDS; number++)
        if (records[number].thread == thread && lists(capture, number)) {
            first = first == 0 ? number : first;
            last = number;
        }
    for (uint32_t number = first; number > 0 && number <= last; number++)
        if (records[number].thread == thread && records[number].overrun == 0)
            ck_assert_msg(lists(capture, number), "%u is missing between %u and %u", number, first,
                          last);
}

static void record_check(const struct capture *capture, uint32_t number)
{
    unsigned times = 0;
    for (size_t i = 0; i < PARTITIONS; i++) {
        const struct part *part = &parts[i];
        for (size_t k = 0; capture->lists[i] && k < part->count; k++)
            times += part->numbers[k] == number;
    }
    ck_assert_uint_le(times, 1);
    const struct record *record = &records[number];
    bool wanted = number > capture->from && number <= capture->to;
    /* What was overrun before anybody could cut it is not there to be found. */
    bool excused = record->overrun != 0;
    if (wanted && !excused)
        ck_assert_msg(times == 1, "record %u of (%u, %u] is missing, first cut at %u", number,
                      capture->from, capture->to, capture->cut_at);
    if (wanted && excused && number <= capture->cut_at && record->overrun > capture->cut_at)
        ck_assert_msg(times == 1, "record %u of (%u, %u] was there", number, capture->from,
                      capture->to);
}

/* ---- the verdict ---- */

static bool gap_holds(const struct cut_gap *gap, uint32_t number)
{
    uint64_t at = zero_ns + number * GRID_NS;
    return at + GRID_NS / 4 >= gap->from_ns && at <= gap->to_ns + GRID_NS / 4;
}

static bool is_missing(const struct capture *capture, uint32_t number)
{
    return number > capture->from && number <= capture->to && !lists(capture, number);
}

/* What is missing of the window lies in a gap. */
static void missing_check(const struct capture *capture)
{
    for (uint32_t number = 1; number <= RECORDS; number++) {
        bool told = !is_missing(capture, number);
        for (size_t i = 0; i < capture->gap_count && !told; i++)
            told = gap_holds(&capture->gaps[i], number);
        ck_assert_msg(told, "record %u of (%u, %u] is missing and in no gap", number, capture->from,
                      capture->to);
    }
}

/* A gap that ends within the window holds something that is missing. Of a window that lies before
 * the horizon nobody can say that. */
static void gaps_check(const struct capture *capture)
{
    for (size_t i = 0; i < capture->gap_count && capture->from < capture->to; i++) {
        const struct cut_gap *gap = &capture->gaps[i];
        bool holds = gap->to_ns + GRID_NS / 4 >= capture->member.to_ns;
        for (uint32_t number = 1; number <= RECORDS && !holds; number++)
            holds = gap_holds(gap, number) && !lists(capture, number);
        ck_assert_msg(
            holds, "nothing is missing in a gap of (%u, %u]: %.1f to %.1f, first cut at %u",
            capture->from, capture->to, ((double)gap->from_ns - (double)zero_ns) / GRID_NS,
            ((double)gap->to_ns - (double)zero_ns) / GRID_NS, capture->cut_at);
    }
}

static void round_run(void)
{
    ring_begin();
    memset(captures, 0, sizeof captures);
    unsigned begun = 0;
    while (record_count < RECORDS) {
        record_put();
        if (begun < CAPTURES && dice(30) == 0)
            capture_begin(&captures[begun++]);
        for (unsigned i = 0; i < begun; i++) {
            struct capture *capture = &captures[i];
            if (!capture->ended && record_count > capture->to + dice(4))
                capture_end(capture);
            else if (!capture->ended && dice(25) == 0)
                capture_cut(capture); /* a stream */
        }
    }
    for (unsigned i = 0; i < begun; i++) {
        capture_end(&captures[i]);
        for (uint32_t number = 1; number <= RECORDS; number++)
            record_check(&captures[i], number);
        for (uint32_t thread = 0; thread < THREADS; thread++)
            thread_check(&captures[i], thread);
        missing_check(&captures[i]);
        gaps_check(&captures[i]);
    }
    for (size_t i = 0; i < PARTITIONS; i++) {
        free(parts[i].numbers);
        parts[i] = (struct part){0};
    }
    ring_end();
}

START_TEST(every_capture_holds_each_record_of_its_window_once)
{
    for (unsigned round = 1; round <= 40; round++) {
        seed = round * 7919;
        round_run();
    }
    /* Most captures know what of their partitions lies in their window. */
    ck_assert_uint_gt(counted_exact, counted_bounds);
    ck_assert_uint_gt(counted_bounds, 0);
}
END_TEST

/* ---- what is shared ---- */

static bool any_lost;

static bool is_lost(struct cut_member *member, const struct partition_key *key)
{
    (void)member;
    (void)key;
    return any_lost;
}

static void captures_clear(void)
{
    memset(captures, 0, sizeof captures);
}

static void join_window(struct capture *capture, uint32_t from, uint32_t to)
{
    *capture = (struct capture){.begun = true, .from = from, .to = to};
    capture->member = (struct cut_member){
        .from_ns = ns_at(from), .to_ns = ns_at(to), .is_lost = is_lost, .take = capture_take};
    ck_assert_int_eq(cut_chain_join(&capture->member, process), SKEIN_OK);
}

static void begin_window(struct capture *capture, uint32_t from, uint32_t to)
{
    join_window(capture, from, to);
    capture_cut(capture);
}

static unsigned listed(const struct capture *capture, uint32_t number)
{
    for (unsigned i = 0; i < PARTITIONS; i++)
        if (capture->lists[i] && part_holds(&parts[i], number))
            return i + 1;
    return 0;
}

static void parts_end(void)
{
    for (size_t i = 0; i < PARTITIONS; i++) {
        free(parts[i].numbers);
        parts[i] = (struct part){0};
    }
    ring_end();
}

START_TEST(windows_that_overlap_list_the_same_partition)
{
    seed = 3;
    ring_begin();
    captures_clear();
    while (record_count < 40)
        record_put();
    begin_window(&captures[0], 20, 40);
    capture_end(&captures[0]);
    begin_window(&captures[1], 30, 40);
    capture_end(&captures[1]);
    ck_assert_uint_ne(listed(&captures[0], 35), 0);
    ck_assert_uint_eq(listed(&captures[0], 35), listed(&captures[1], 35));
    parts_end();
}
END_TEST

static void whole_check(struct capture *capture)
{
    capture_end(capture);
    for (uint32_t number = 1; number <= record_count; number++)
        record_check(capture, number);
    for (uint32_t thread = 0; thread < THREADS; thread++)
        thread_check(capture, thread);
}

/* Those that come next go on with the chain of the one that was there, as far as that reaches. */
START_TEST(a_window_that_reaches_back_further_is_cut_privately)
{
    seed = 3;
    ring_begin();
    captures_clear();
    while (record_count < 100)
        record_put();
    begin_window(&captures[0], 80, 130);
    begin_window(&captures[1], 20, 100);
    begin_window(&captures[2], 90, 120);
    begin_window(&captures[3], 40, 100);
    while (record_count < 110)
        record_put();
    capture_cut(&captures[0]);
    ck_assert_uint_ne(listed(&captures[0], 95), 0);
    ck_assert_uint_eq(listed(&captures[0], 95), listed(&captures[2], 95));
    ck_assert_uint_eq(listed(&captures[0], 105), listed(&captures[2], 105));
    ck_assert_ptr_eq(captures[0].member.chain, captures[2].member.chain);
    for (unsigned i = 1; i < 4; i += 2) {
        ck_assert_uint_ne(listed(&captures[i], 95), 0);
        ck_assert_uint_ne(listed(&captures[i], 95), listed(&captures[0], 95));
    }
    ck_assert_uint_ne(listed(&captures[1], 95), listed(&captures[3], 95));
    for (unsigned i = 0; i < 4; i++)
        whole_check(&captures[i]);
    parts_end();
}
END_TEST

/* A long stream that began privately: those after it share with it. */
START_TEST(a_private_chain_goes_on_as_the_process_s_when_that_has_ended)
{
    seed = 3;
    ring_begin();
    captures_clear();
    while (record_count < 100)
        record_put();
    begin_window(&captures[0], 80, 100);
    begin_window(&captures[1], 20, 200);
    capture_end(&captures[0]);
    while (record_count < 110)
        record_put();
    capture_cut(&captures[1]);
    while (record_count < 120)
        record_put();
    begin_window(&captures[2], 60, 120);
    ck_assert_uint_ne(listed(&captures[1], 90), listed(&captures[0], 90));
    for (uint32_t number = 61; number <= 120; number++)
        ck_assert_uint_eq(listed(&captures[2], number), listed(&captures[1], number));
    for (unsigned i = 0; i < 3; i++)
        whole_check(&captures[i]);
    parts_end();
}
END_TEST

START_TEST(windows_apart_share_nothing)
{
    seed = 3;
    ring_begin();
    captures_clear();
    while (record_count < 40)
        record_put();
    begin_window(&captures[0], 20, 40);
    capture_end(&captures[0]);
    while (record_count < 80)
        record_put();
    begin_window(&captures[1], 60, 80);
    capture_end(&captures[1]);
    for (unsigned i = 0; i < PARTITIONS; i++)
        ck_assert_int_le(captures[0].lists[i] + captures[1].lists[i], 1);
    parts_end();
}
END_TEST

START_TEST(what_was_lost_since_is_cut_again)
{
    seed = 3;
    ring_begin();
    captures_clear();
    while (record_count < 40)
        record_put();
    begin_window(&captures[0], 20, 40);
    capture_end(&captures[0]);
    any_lost = true;
    begin_window(&captures[1], 30, 40);
    capture_end(&captures[1]);
    any_lost = false;
    ck_assert_uint_ne(listed(&captures[1], 35), 0);
    ck_assert_uint_ne(listed(&captures[1], 35), listed(&captures[0], 35));
    parts_end();
}
END_TEST

static void chunks_close(void)
{
    for (uint32_t thread = 0; thread < THREADS; thread++) {
        if (chunk_of[thread] == UINT32_MAX)
            continue;
        struct ring_chunk *chunk = chunk_at(chunk_of[thread]);
        chunk->state = (chunk->state & ~RING_CHUNK_STATE_MASK) | RING_CHUNK_FULL;
        chunk_of[thread] = UINT32_MAX;
    }
}

/* The partition ends with record 20, and what is overwritten behind it was told with it alone. */
START_TEST(what_is_lacking_behind_a_refused_partition_is_told_to_those_that_join_later)
{
    seed = 3;
    ring_begin();
    captures_clear();
    while (record_count < 20)
        record_put();
    chunks_close();
    uint32_t over = next_chunk;
    while (record_count < 30)
        record_put();
    chunks_close();
    uint32_t end = next_chunk;
    for (next_chunk = over; next_chunk < end;)
        record_put();
    spool_refuses = true;
    begin_window(&captures[0], 5, 30);
    spool_refuses = false;
    ck_assert_uint_ne(captures[0].gap_count, 0);
    begin_window(&captures[1], 25, 30);
    for (unsigned i = 0; i < 2; i++) {
        capture_end(&captures[i]);
        missing_check(&captures[i]);
    }
    parts_end();
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "cut_chain", every_capture_holds_each_record_of_its_window_once,
        windows_that_overlap_list_the_same_partition,
        a_window_that_reaches_back_further_is_cut_privately,
        a_private_chain_goes_on_as_the_process_s_when_that_has_ended, windows_apart_share_nothing,
        what_was_lost_since_is_cut_again,
        what_is_lacking_behind_a_refused_partition_is_told_to_those_that_join_later, NULL));
}
