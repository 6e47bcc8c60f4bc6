/* SPDX-License-Identifier: Apache-2.0
 *
 * Cuts against a model of the writers, in a time of its own. Threads claim chunks, write, are held
 * between any two steps, end, leave their chunks to others, and go on while a cut is under way; all
 * of it is chosen by dice. The model keeps account of every record. Whatever of a row of cuts is in
 * no partition must lie in a gap that one of them told, and nothing may come twice.
 * SKEIN_MODEL_ROUNDS sets how many rings, SKEIN_MODEL_SEED which.
 */
#include "hand_ring.h"
#include "ring_reader.h"

#define RECORDS_MAX 60000
#define WRITERS     6
#define CHUNKS_MAX  32
#define SHELF       2
#define CUTS        8
#define GAPS_MAX    4000
#define ZERO_NS     UINT64_C(1000000000000)
#define TICK_NS     64

static unsigned seed;
static uint64_t now = 1000000; /* the model's time, in ticks */

static unsigned dice(unsigned n)
{
    return (unsigned)rand_r(&seed) % n;
}

static uint64_t ns_of(uint64_t ticks)
{
    return ZERO_NS + ticks * TICK_NS;
}

/* ---- the account ---- */

struct account {
    uint64_t ticks;
    uint32_t order; /* of its commit, among all steps */
    uint8_t times;  /* that it came */
};
static struct account records[RECORDS_MAX];
static uint32_t record_count, step_count;

struct told {
    uint64_t from, to, window_to;
};
static struct told gaps[GAPS_MAX];
static size_t gap_count;

/* When a cut looked at the clock. */
struct look {
    uint64_t ticks;
    uint32_t order;
};
static struct look look; /* of this cut */

/* A row of cuts by the same marks. */
struct row {
    struct cut_marks *marks;
    uint64_t from, to;
    bool in_parts, looks_only; /* looks_only: no generation ends */
    struct look looks[CUTS];   /* of the cuts that were whole */
    size_t look_count;
    uint32_t switched; /* step_count when the last cut ended its generation */
};

/* ---- the writers ---- */

enum phase { RESTS, WANTS, CLAIMS, STARTS, COMMITS };

struct writer {
    enum phase phase;
    bool holds;                  /* a chunk, from its claim on */
    uint32_t chunk, records, at; /* where its segment's records begin, and where it writes */
    uint32_t key, room;
    bool shares;                               /* the chunk came from the shelf */
    uint64_t sequence, generation, last, read; /* read: the time of the record that it writes */
    uint32_t state;                            /* that it saw, to claim from */
};
static struct writer writers[WRITERS];
static struct shelf_place {
    bool taken;
    uint32_t chunk, records, at;
} shelf[SHELF];
static uint32_t next_key;

static struct ring_header *header(void)
{
    return (struct ring_header *)(void *)process->ring;
}

static struct ring_chunk *chunk_of(uint32_t index)
{
    return (struct ring_chunk *)(void *)(process->ring +
                                         ring_small_offset(&process->geometry, index));
}

static uint32_t chunk_count(void)
{
    return ring_small_count(&process->geometry);
}

static void chunk_commit(uint32_t index, uint32_t at)
{
    struct ring_chunk *chunk = chunk_of(index);
    chunk->committed =
        (uint64_t)(chunk->state >> RING_CHUNK_EPOCH_SHIFT) << 32 | (at - (uint32_t)sizeof(*chunk));
}

static struct ring_segment *segment_of(uint32_t chunk, uint32_t records_at)
{
    return (struct ring_segment *)(void *)((uint8_t *)chunk_of(chunk) + records_at -
                                           RING_SEGMENT_BYTES);
}

static void rows_append(struct writer *w)
{
    memcpy((uint8_t *)chunk_of(w->chunk) + w->at, rows.data, rows.len);
    w->at += (uint32_t)rows.len;
    buf_clear(&rows);
    chunk_commit(w->chunk, w->at);
}

static void chunk_full(uint32_t index)
{
    struct ring_chunk *chunk = chunk_of(index);
    chunk->state = (chunk->state & ~RING_CHUNK_STATE_MASK) | RING_CHUNK_FULL;
}

/* the times of a chunk never fall. */
static void chunk_let_go(struct writer *w)
{
    if (w->at > w->records)
        chunk_of(w->chunk)->end_ticks = w->last;
    w->holds = false;
}

static bool shelf_give(const struct writer *w)
{
    for (unsigned i = 0; i < SHELF; i++)
        if (!shelf[i].taken) {
            shelf[i] = (struct shelf_place){true, w->chunk, w->records, w->at};
            return true;
        }
    return false;
}

static void thread_new(struct writer *w)
{
    *w = (struct writer){.key = ++next_key, .phase = RESTS};
}

static void thread_end(struct writer *w)
{
    if (w->holds) {
        chunk_let_go(w);
        if (!shelf_give(w))
            chunk_full(w->chunk);
    }
    thread_new(w);
}

static bool shelf_take(struct writer *w)
{
    for (unsigned i = 0; i < SHELF; i++) {
        if (!shelf[i].taken)
            continue;
        shelf[i].taken = false;
        uint32_t next = (uint32_t)ring_segment_behind(shelf[i].at) + RING_SEGMENT_BYTES;
        if (next + 512 > RING_SMALL_CHUNK) {
            chunk_full(shelf[i].chunk);
            continue;
        }
        w->chunk = shelf[i].chunk;
        w->shares = true;
        w->records = shelf[i].records; /* of the one before, until it starts */
        w->at = shelf[i].at;
        w->holds = true;
        w->phase = STARTS;
        return true;
    }
    return false;
}

/* A free one, else mostly the oldest. */
static bool claim_choose(struct writer *w)
{
    uint64_t best = UINT64_MAX;
    bool any = dice(5) == 0;
    uint32_t start = dice(chunk_count());
    for (uint32_t n = 0; n < chunk_count(); n++) {
        uint32_t i = (start + n) % chunk_count();
        struct ring_chunk *chunk = chunk_of(i);
        uint32_t kind = chunk->state & RING_CHUNK_STATE_MASK;
        if (kind == RING_CHUNK_WRITING || (chunk->state & RING_CHUNK_PIN) != 0)
            continue;
        uint64_t end = kind == RING_CHUNK_FREE ? 0 : chunk->end_ticks;
        if (end >= best)
            continue;
        best = end;
        w->chunk = i;
        w->state = chunk->state;
        if (any || kind == RING_CHUNK_FREE)
            break;
    }
    if (best == UINT64_MAX)
        return false;
    if (header()->overwritten_ticks < best)
        header()->overwritten_ticks = best;
    return true;
}

static void claim(struct writer *w)
{
    struct ring_chunk *chunk = chunk_of(w->chunk);
    w->phase = WANTS;
    if (chunk->state != w->state)
        return;
    chunk->state =
        ((w->state >> RING_CHUNK_EPOCH_SHIFT) + 1) << RING_CHUNK_EPOCH_SHIFT | RING_CHUNK_WRITING;
    w->shares = false;
    w->holds = true;
    w->records = w->at = sizeof(*chunk); /* so that it is not used yet */
    w->phase = STARTS;
}

static void segment_start(struct writer *w)
{
    struct ring_chunk *chunk = chunk_of(w->chunk);
    uint64_t end = w->shares ? chunk->end_ticks : 0;
    if (!w->shares)
        chunk->end_ticks = 0;
    w->last = now > end ? now : end + 1;
    w->generation = host_page_generation(host);
    uint32_t at = w->shares ? (uint32_t)ring_segment_behind(w->at) + RING_SEGMENT_BYTES
                            : (uint32_t)sizeof(*chunk);
    *segment_of(w->chunk, at) = (struct ring_segment){.sequence = w->sequence++,
                                                      .generation = w->generation,
                                                      .base_ticks = w->last,
                                                      .string_epoch = 2,
                                                      .slot = RING_SLOT_NONE,
                                                      .incarnation = w->key,
                                                      .tid = w->key};
    if (w->shares)
        segment_of(w->chunk, w->records)->end = w->at;
    w->records = w->at = at;
    chunk_commit(w->chunk, at);
    w->room = 1 + dice(12);
    w->phase = RESTS;
}

static void record_begin(struct writer *w)
{
    if (!w->holds || w->room == 0) {
        if (w->holds) {
            chunk_let_go(w);
            chunk_full(w->chunk);
        }
        w->phase = WANTS;
        return;
    }
    uint64_t generation = host_page_generation(host);
    uint64_t time = now > w->last ? now : w->last;
    if (generation != w->generation) {
        buf_put_uleb(&rows, RING_RECORD_GENERATION);
        buf_put_uleb(&rows, time - w->last);
        buf_put_uleb(&rows, generation);
        rows_append(w);
        w->generation = generation;
        w->last = time;
    }
    w->read = time;
    w->phase = COMMITS;
}

static void record_commit(struct writer *w)
{
    w->phase = RESTS;
    w->room--;
    if (record_count == RECORDS_MAX)
        return;
    buf_put_uleb(&rows, RING_EVENT_FIRST);
    buf_put_uleb(&rows, w->read - w->last);
    buf_put_uleb(&rows, record_count);
    buf_put_uleb(&rows, 1);
    rows_append(w);
    w->last = w->read;
    records[record_count++] = (struct account){.ticks = w->read, .order = step_count};
}

static void writer_step(struct writer *w)
{
    step_count++;
    switch (w->phase) {
    case RESTS:
        if (w->room > 0 && dice(30) == 0)
            thread_end(w);
        else
            record_begin(w);
        break;
    case WANTS:
        if ((w->sequence > 0 || !shelf_take(w)) && claim_choose(w))
            w->phase = CLAIMS;
        break;
    case CLAIMS:
        claim(w);
        break;
    case STARTS:
        segment_start(w);
        break;
    case COMMITS:
        record_commit(w);
        break;
    }
}

/* Some threads are held for long, so few have most of the turns. */
static void churn(unsigned most)
{
    unsigned steps = dice(most + 1), awake = 1 + dice(WRITERS), first = dice(WRITERS);
    for (unsigned i = 0; i < steps; i++) {
        now += dice(3);
        writer_step(&writers[(first + dice(awake)) % WRITERS]);
    }
    now += dice(8) == 0 ? dice(50) : 0;
}

/* ---- what happens while a cut is under way ---- */

static unsigned meanwhile; /* steps at most between two of its steps; 0: the writers hold still */

static void between(void)
{
    churn(dice(40) == 0 ? 30 * meanwhile : meanwhile);
}

static struct clock_snapshot snapshot_at(uint64_t ticks)
{
    return (struct clock_snapshot){ticks, ns_of(ticks), ns_of(ticks), ns_of(ticks)};
}

void __wrap_host_page_snapshot(const struct host_page_owner *owner, struct clock_snapshot *out);
void __wrap_host_page_snapshot(const struct host_page_owner *owner, struct clock_snapshot *out)
{
    (void)owner;
    between();
    *out = snapshot_at(now);
    between();
}

void __wrap_host_page_line(const struct host_page_owner *owner, struct clock_snapshot *begin,
                           struct clock_snapshot *end);
void __wrap_host_page_line(const struct host_page_owner *owner, struct clock_snapshot *begin,
                           struct clock_snapshot *end)
{
    (void)owner;
    between();
    *begin = snapshot_at(0);
    *end = snapshot_at(now);
    look = (struct look){now, step_count};
    between();
}

static uint32_t switched; /* step_count when the last cut ended its generation */
uint64_t __real_host_page_switch(struct host_page_owner *owner);
uint64_t __wrap_host_page_switch(struct host_page_owner *owner);
uint64_t __wrap_host_page_switch(struct host_page_owner *owner)
{
    switched = step_count;
    return __real_host_page_switch(owner);
}

enum ring_read __real_ring_piece_copy(struct ring_copy *copy, struct ring_piece *piece);
enum ring_read __wrap_ring_piece_copy(struct ring_copy *copy, struct ring_piece *piece);
enum ring_read __wrap_ring_piece_copy(struct ring_copy *copy, struct ring_piece *piece)
{
    between();
    return __real_ring_piece_copy(copy, piece);
}

/* The survey asks for the next data between two chunks: each is an extent of its own. */
off_t __wrap_lseek(int fd, off_t offset, int whence);
off_t __wrap_lseek(int fd, off_t offset, int whence)
{
    (void)fd;
    if (whence == SEEK_HOLE)
        return offset + 1;
    between();
    return offset;
}

/* ---- cuts ---- */

static void present_count(const struct buf *bytes)
{
    char error[256] = "";
    struct partition_reader *reader = NULL;
    struct trace_event event;
    ck_assert_msg(partition_reader_new(bytes->data, bytes->len, &reader, error, sizeof(error)) ==
                      SKEIN_OK,
                  "%s", error);
    while (partition_reader_next(reader, &event) == 1)
        if (event.kind == TRACE_INSTANT) {
            uint64_t n = event.args[0].u64;
            must_hold(n < record_count, "record %lu", (unsigned long)n);
            records[n].times++;
            must_hold(records[n].times == 1, "record %lu comes twice", (unsigned long)n);
        }
    partition_reader_free(&reader);
}

static void gaps_note(const struct cut_result *result, uint64_t window_to)
{
    for (size_t i = 0; i < result->gap_count; i++) {
        const struct cut_gap *gap = &result->gaps[i];
        ck_assert_int_eq(gap->reason, PARTITION_LOSS_OVERWRITTEN);
        ck_assert_uint_lt(gap_count, GAPS_MAX);
        gaps[gap_count++] = (struct told){(gap->from_ns - ZERO_NS) / TICK_NS,
                                          (gap->to_ns - ZERO_NS) / TICK_NS, window_to};
    }
}

/* Whether there is more. */
static bool part_cut(struct row *row)
{
    const struct cut_request request = {.process = process,
                                        .from_ns = ns_of(row->from),
                                        .to_ns = ns_of(row->to),
                                        .marks = row->marks,
                                        .epoch = 1,
                                        .host = "test",
                                        .look = row->looks_only,
                                        .max_bytes = row->in_parts ? 30 + dice(300) : 0};
    struct cut_result result;
    int status = partition_cut(host, &request, &result);
    ck_assert(status == SKEIN_OK || status == SKEIN_NOT_FOUND);
    if (status == SKEIN_OK)
        present_count(&result.bytes);
    gaps_note(&result, row->to);
    bool more = status == SKEIN_OK && result.more;
    row->switched = row->looks_only ? look.order : switched;
    if (!more)
        row->looks[row->look_count++] = look;
    cut_result_fini(&result);
    return more;
}

static bool is_told(uint64_t ticks)
{
    for (size_t i = 0; i < gap_count; i++)
        if (gaps[i].from <= ticks && ticks <= gaps[i].to)
            return true;
    return false;
}

/* V-7: its thread had read the clock, and no more, when a cut looked that held its time. */
static bool was_being_written(const struct row *row, const struct account *r)
{
    for (size_t i = 0; i < row->look_count; i++)
        if (r->ticks <= row->looks[i].ticks && r->order > row->looks[i].order)
            return true;
    return false;
}

/* Of what was committed when the last cut ended its generation. */
static void all_is_told(unsigned round, const struct row *row)
{
    for (uint32_t n = 0; n < record_count; n++) {
        const struct account *r = &records[n];
        if (r->times > 0 || r->ticks < row->from || r->ticks > row->to ||
            r->order > row->switched || was_being_written(row, r))
            continue;
        must_hold(is_told(r->ticks),
                  "round %u: record %u at %lu is missing and in none of %zu gaps", round, n,
                  (unsigned long)r->ticks, gap_count);
    }
}

static unsigned empty_gaps, all_gaps;

/* Few do not: V-2. */
static void gaps_hold_something(uint64_t to)
{
    for (size_t i = 0; i < gap_count; i++) {
        bool holds = gaps[i].to >= to || gaps[i].to >= gaps[i].window_to;
        for (uint32_t n = 0; n < record_count && !holds; n++)
            holds = records[n].times == 0 && records[n].ticks >= gaps[i].from &&
                    records[n].ticks <= gaps[i].to;
        empty_gaps += !holds;
        all_gaps++;
    }
}

static void model_begin(unsigned round)
{
    seed = 1000003 * round + 17;
    record_count = step_count = 0;
    gap_count = 0;
    meanwhile = 0;
    now = 1000000 + dice(1000);
    memset(shelf, 0, sizeof shelf);
    ck_assert_int_eq(host_page_new(100, &host), SKEIN_OK);
    ck_assert_int_eq(process_new(&process), SKEIN_OK);
    ck_assert_int_eq(ring_geometry_init(&process->geometry, SKEIN_MODE_CIRCULAR, RING_BYTES_MIN),
                     SKEIN_OK);
    const struct ring_identity identity = {.pid = 1, .service = "model"};
    ck_assert_int_eq(
        ring_memory_new(&process->geometry, &identity, &process->ring_fd, &process->ring),
        SKEIN_OK);
    process->attached_clock = snapshot_at(now);
    table_put(2);
    for (unsigned i = 0; i < WRITERS; i++)
        thread_new(&writers[i]);
}

/* All parts of a cut, or some where it is not the last. */
static void row_cut(struct row *row, bool last)
{
    for (unsigned parts = 0; part_cut(row); parts++) {
        if (!last && parts > 4 && dice(3) == 0)
            break;
        meanwhile = last && parts > 20 ? 0 : meanwhile;
        churn(meanwhile * 10);
    }
}

static void row_begin(struct row *row, uint64_t from)
{
    *row = (struct row){.from = from, .in_parts = dice(3) == 0};
    ck_assert_int_eq(cut_marks_new(process, &row->marks), SKEIN_OK);
}

static void round_run(unsigned round)
{
    struct row row;
    model_begin(round);
    churn(1000);
    uint64_t from = now;
    churn(2000);
    row_begin(&row, from - dice(100));
    row.looks_only = dice(5) == 0;
    unsigned cuts = 1 + dice(CUTS), pace = dice(3) == 0 ? 3000 : dice(2) ? 300 : 60;
    meanwhile = dice(4) == 0 ? 0 : 1 + dice(6);
    for (unsigned i = 0; i < cuts; i++) {
        bool last = i + 1 == cuts;
        uint64_t next = last || dice(3) > 0 ? now + dice(200) : now - dice(200);
        row.to = next > row.to ? next : row.to;
        row_cut(&row, last);
        if (!last)
            churn(pace);
    }
    all_is_told(round, &row);
    gaps_hold_something(row.to);
    cut_marks_free(&row.marks);
    ring_end();
}

START_TEST(what_no_cut_of_a_row_has_taken_is_in_a_gap)
{
    const char *text = getenv("SKEIN_MODEL_ROUNDS"), *first = getenv("SKEIN_MODEL_SEED");
    unsigned rounds = text != NULL ? (unsigned)strtoul(text, NULL, 10) : 500;
    unsigned from = first != NULL ? (unsigned)strtoul(first, NULL, 10) : 1;
    for (unsigned round = from; round < from + rounds; round++)
        round_run(round);
    ck_assert_uint_gt(all_gaps, rounds);
    ck_assert_uint_lt(empty_gaps * 50, all_gaps);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("cut_model", what_no_cut_of_a_row_has_taken_is_in_a_gap, NULL));
}
