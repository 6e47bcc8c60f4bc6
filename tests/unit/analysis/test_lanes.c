/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes of made traces, at many zooms, against sums over all rows: what is drawn has the longest row
 * of each place, and the share that is busy.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "lanes.h"
#include "support.h"

#define T0     UINT64_C(1800000000000000000)
#define SPAN   UINT64_C(4000000000)
#define PIXELS 1600

enum type {
    QUERY,
    PAUSE,
    RUN,
    RUNNABLE,
    BLOCKED,
    SCHED_LOST,
    QUEUE,
    SIGNED,
    RATIO,
    WORD,
    LOG,
    SAMPLE,
    OTHER
};
static const struct {
    const char *name;
    uint8_t first;
} types[] = {{"query", SKEIN_T_U64}, {"pause", 0},           {"sched.run", SKEIN_T_U64},
             {"sched.runnable", 0},  {"sched.blocked", 0},   {"sched.lost", 0},
             {"queue", SKEIN_T_U64}, {"level", SKEIN_T_I64}, {"ratio", SKEIN_T_F64},
             {"word", SKEIN_T_STR},  {"log", SKEIN_T_U64},   {"cpu.sample", SKEIN_T_U64},
             {"thread.state", 0}};

static const struct skein_event_type *type_of(const void *context, uint32_t number)
{
    static struct skein_event_type type;
    (void)context;
    must_hold(number < sizeof types / sizeof *types, "asked of type %u", number);
    type =
        (struct skein_event_type){.name = types[number].name, .arg_count = types[number].first > 0};
    type.args[0].type = types[number].first;
    return &type;
}

/* One row as a batch. */
struct one {
    uint8_t kind, flags;
    uint32_t process, thread, type, depth;
    uint64_t time, dur;
    struct skein_arg arg;
    uint8_t reason;
};

static int add(struct lanes *lanes, struct one row)
{
    struct skein_arg args[SKEIN_ARGS_MAX] = {row.arg};
    const struct skein_row_more more = {.loss_reason = row.reason};
    const uint32_t number = row.kind == SKEIN_ROW_LOSS ? 0 : SKEIN_NONE;
    row.time += T0;
    const struct skein_batch batch = {.count = 1,
                                      .kind = &row.kind,
                                      .flags = &row.flags,
                                      .process = &row.process,
                                      .thread = &row.thread,
                                      .time_ns = &row.time,
                                      .dur_ns = &row.dur,
                                      .type = &row.type,
                                      .depth = &row.depth,
                                      .args = args,
                                      .more = &number,
                                      .mores = &more};
    return lanes_add(lanes, &batch);
}

static struct lanes *lanes_made(size_t most_bytes)
{
    const struct lanes_options options = {
        .from_ns = T0, .to_ns = T0 + SPAN - 1, .most_bytes = most_bytes, .type = type_of};
    struct lanes *lanes;
    ck_assert_int_eq(lanes_new(&options, &lanes), SKEIN_OK);
    return lanes;
}

/* ---- what is true: rows of one lane, as they were given ---- */

struct truth {
    uint64_t begin, end;
    uint32_t type;
};

struct truths {
    struct truth *rows;
    size_t count;
};

static uint64_t state = 1;

static uint64_t random_below(uint64_t most)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return most > 0 ? (state >> 11) % most : 0;
}

/* As often short as long, of any order of magnitude. */
static uint64_t random_length(unsigned bits)
{
    return random_below(UINT64_C(1) << random_below(bits));
}

/* Rows one behind the other until the window's end; every so often a crowd or a silence. */
static struct truths truths_made(size_t most)
{
    struct truths truths = {calloc(most, sizeof *truths.rows), 0};
    uint64_t at = random_length(20);
    while (truths.count < most) {
        uint64_t length = random_length(random_below(50) == 0 ? 27 : 16);
        if (at + length > SPAN - 1)
            break;
        truths.rows[truths.count++] = (struct truth){at, at + length, (uint32_t)random_below(2)};
        at += length + (random_below(3) == 0 ? 0 : random_length(random_below(9) == 0 ? 26 : 14));
    }
    return truths;
}

static void truths_add(struct lanes *lanes, const struct truths *truths, uint32_t thread)
{
    for (size_t i = 0; i < truths->count; i++) {
        const struct truth *t = &truths->rows[i];
        must_hold(add(lanes, (struct one){.kind = SKEIN_ROW_REGION,
                                          .thread = thread,
                                          .type = t->type,
                                          .time = t->begin,
                                          .dur = t->end - t->begin}) == SKEIN_OK,
                  "a row is refused");
    }
}

static bool touches(const struct truth *t, double from, double to)
{
    double begin = (double)t->begin, end = (double)t->end;
    return begin < to && (end > from || (t->begin == t->end && begin >= from));
}

/* A cell or run: its share and longest are those of all rows there. rounding: what lengths in rows
 * may lose, in ns. */
static void cell_check(const struct truths *truths, const struct lanes_item *item)
{
    double busy = 0, longest = -1, rounding = 2;
    bool named = false;
    for (size_t i = 0; i < truths->count; i++) {
        const struct truth *t = &truths->rows[i];
        double begin = fmax((double)t->begin, item->from_ns),
               end = fmin((double)t->end, item->to_ns);
        double length = (double)t->end - (double)t->begin;
        if (!touches(t, item->from_ns, item->to_ns))
            continue;
        busy += end > begin ? end - begin : 0;
        rounding = fmax(rounding, 2 + length * 0x1p-23);
        longest = fmax(longest, length);
    }
    for (size_t i = 0; i < truths->count; i++)
        named |= touches(&truths->rows[i], item->from_ns, item->to_ns) &&
                 truths->rows[i].type == item->type &&
                 (double)(truths->rows[i].end - truths->rows[i].begin) >= longest * (1 - 0x1p-22);
    must_hold(fabs(item->longest_ns - longest) <= longest * 0x1p-23, "longest %f, is %f",
              item->longest_ns, longest);
    must_hold(named, "of type %u", item->type);
    must_hold(fabs(item->share * (item->to_ns - item->from_ns) - busy) <= rounding,
              "%f of %f busy, is %f", item->share, item->to_ns - item->from_ns, busy);
}

static void row_check(const struct truths *truths, const struct lanes_item *item)
{
    for (size_t i = 0; i < truths->count; i++) {
        const struct truth *t = &truths->rows[i];
        double length = (double)(t->end - t->begin);
        if (fabs((double)t->begin - item->from_ns) < 0.5 && t->type == item->type &&
            fabs(item->longest_ns - length) <= length * 0x1p-23)
            return;
    }
    ck_abort_msg("no row of %f ns at %f", item->longest_ns, item->from_ns);
}

/* What lanes_view gives is true, in order, no more than asked for; and no row is missing in it. */
static void view_check(const struct lanes *lanes, size_t lane, const struct truths *truths,
                       uint64_t from, uint64_t to, size_t pixels)
{
    static struct lanes_item items[PIXELS];
    size_t count = lanes_view(lanes, lane, from, to, pixels, items);
    double end = -1;
    must_hold(count <= pixels, "%zu items on %zu pixels", count, pixels);
    for (size_t i = 0; i < count; i++) {
        must_hold(items[i].from_ns >= end && items[i].to_ns >= items[i].from_ns, "out of order");
        end = items[i].to_ns;
        if (items[i].row)
            row_check(truths, &items[i]);
        else
            cell_check(truths, &items[i]);
    }
    for (size_t i = 0; i < truths->count; i++) {
        const struct truth *t = &truths->rows[i];
        double length = (double)(t->end - t->begin);
        bool shown = !touches(t, (double)from, (double)to);
        for (size_t k = 0; k < count && !shown; k++)
            shown = items[k].longest_ns >= length * (1 - 0x1p-23) &&
                    items[k].from_ns <= (double)t->end && items[k].to_ns >= (double)t->begin;
        must_hold(shown, "row %zu of %f ns is not to be seen", i, length);
    }
}

static void zooms_check(const struct lanes *lanes, size_t lane, const struct truths *truths)
{
    static const size_t pixels[] = {1, 7, 100, PIXELS};
    for (unsigned bits = 3; bits <= 32; bits++) {
        for (unsigned i = 0; i < sizeof pixels / sizeof *pixels; i++) {
            uint64_t span = UINT64_C(1) << bits < SPAN ? UINT64_C(1) << bits : SPAN;
            uint64_t from = random_below(SPAN - span);
            /* Around a row: most of a deep zoom is silence. */
            if (random_below(2) == 0)
                from = truths->rows[random_below(truths->count)].begin;
            view_check(lanes, lane, truths, from, from + span < SPAN ? from + span : SPAN,
                       pixels[i]);
        }
    }
    view_check(lanes, lane, truths, 0, SPAN, PIXELS);
}

START_TEST(every_zoom_shows_the_longest_row_and_the_busy_share)
{
    for (unsigned round = 0; round < 6; round++) {
        struct lanes *lanes = lanes_made(0);
        struct truths all[3];
        struct lanes_totals totals;
        uint64_t rows = 0;
        for (uint32_t i = 0; i < 3; i++) {
            all[i] = truths_made(i == 0 ? 3000 : round < 3 ? 700 : 40);
            truths_add(lanes, &all[i], i);
            rows += all[i].count;
        }
        ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
        ck_assert_uint_eq(lanes_count(lanes), 3);
        lanes_totals(lanes, &totals);
        ck_assert_uint_eq(totals.rows, rows);
        ck_assert_uint_eq(totals.left_out + totals.crowded + totals.outside + totals.pyramids, 0);
        for (uint32_t i = 0; i < 3; i++) {
            const struct lane *lane = lanes_at(lanes, i);
            ck_assert(lane->kind == LANE_REGION && lane->thread == i && lane->has_rows);
            ck_assert_uint_eq(lane->rows, all[i].count);
            zooms_check(lanes, i, &all[i]);
            free(all[i].rows);
        }
        lanes_free(&lanes);
    }
}
END_TEST

START_TEST(where_memory_is_short_rows_go_and_the_pyramid_stays_true)
{
    static const size_t most[] = {128 << 10, 64 << 10, 32 << 10};
    for (unsigned round = 0; round < 3; round++) {
        struct lanes *lanes = lanes_made(most[round]);
        struct truths all[2];
        struct lanes_totals totals;
        for (uint32_t i = 0; i < 2; i++) {
            all[i] = truths_made(3000);
            truths_add(lanes, &all[i], i);
            lanes_totals(lanes, &totals);
            ck_assert_uint_le(totals.bytes, most[round]);
        }
        ck_assert_uint_gt(totals.pyramids, 0);
        ck_assert_uint_eq(totals.left_out, 0);
        ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
        for (uint32_t i = 0; i < 2; i++) {
            const struct lane *lane = lanes_at(lanes, i);
            uint64_t busy = 0;
            for (size_t k = 0; k < all[i].count; k++)
                busy += all[i].rows[k].end - all[i].rows[k].begin;
            ck_assert_uint_eq(lane->busy_ns, busy);
            ck_assert_uint_eq(lane->rows, all[i].count);
            zooms_check(lanes, i, &all[i]);
            free(all[i].rows);
        }
        lanes_free(&lanes);
    }
}
END_TEST

START_TEST(lanes_without_memory_are_counted)
{
    struct lanes *lanes = lanes_made(20 << 10);
    struct lanes_totals totals;
    uint64_t there = 0;
    for (uint32_t i = 0; i < 1000; i++)
        ck_assert_int_eq(add(lanes, (struct one){.kind = SKEIN_ROW_REGION, .thread = i, .dur = 5}),
                         SKEIN_OK);
    ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
    lanes_totals(lanes, &totals);
    for (size_t i = 0; i < lanes_count(lanes); i++)
        there += lanes_at(lanes, i)->rows;
    ck_assert_uint_gt(there, 0);
    ck_assert_uint_eq(there + totals.left_out, 1000);
    ck_assert_uint_le(totals.bytes, 20 << 10);
    lanes_free(&lanes);
}
END_TEST

/* Losses that overlap: the scheduler's are told while a thread's go on. */
START_TEST(rows_that_overlap_stand_in_layers)
{
    struct lanes *lanes = lanes_made(0);
    struct lanes_item items[4];
    struct lanes_totals totals;
    struct one row = {.kind = SKEIN_ROW_LOSS, .type = SKEIN_NONE, .reason = 1};
    for (row.time = 0; row.time < 10; row.time++) {
        row.dur = 100 - row.time;
        ck_assert_int_eq(add(lanes, row), SKEIN_OK);
    }
    row.time = 100, row.dur = 1;
    add(lanes, row);
    ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
    lanes_totals(lanes, &totals);
    ck_assert_uint_eq(lanes_count(lanes), LANES_LAYERS);
    ck_assert_uint_eq(totals.crowded, 10 - LANES_LAYERS);
    for (uint32_t i = 0; i < LANES_LAYERS; i++) {
        const struct lane *lane = lanes_at(lanes, i);
        size_t count = lanes_view(lanes, i, 0, SPAN, 4, items);
        ck_assert_uint_eq(lane->layer, LANES_LAYERS - 1 - i);
        ck_assert(count > 0 && items[0].from_ns <= (double)lane->layer && items[0].to_ns >= 100);
    }
    ck_assert_uint_eq(lanes_at(lanes, LANES_LAYERS - 1)->rows, 2);
    lanes_free(&lanes);
}
END_TEST

/* What lanes have to show of each depth: rows by their begin, and how long. */
struct shown {
    uint32_t depth;
    double begin, length;
};

static void must_show(const struct lanes *lanes, const struct shown *rows, size_t count)
{
    struct lanes_item items[16];
    size_t at = 0;
    for (size_t i = 0; i < lanes_count(lanes); i++) {
        size_t there = lanes_view(lanes, i, 0, SPAN, 16, items);
        for (size_t k = 0; k < there; k++, at++) {
            must_hold(at < count, "more than %zu rows", count);
            must_hold(lanes_at(lanes, i)->number == rows[at].depth &&
                          lanes_at(lanes, i)->layer == 0 && items[k].row &&
                          fabs(items[k].from_ns - rows[at].begin) < 0.5 &&
                          fabs(items[k].longest_ns - rows[at].length) < 0.5,
                      "row %zu: depth %u, layer %u, at %f for %f", at, lanes_at(lanes, i)->number,
                      lanes_at(lanes, i)->layer, items[k].from_ns, items[k].longest_ns);
        }
    }
    must_hold(at == count, "%zu of %zu rows", at, count);
}

/* Depths as the reader has them, of regions as they are recorded: time, length, ranges around it. */
struct recorded {
    uint64_t time, dur;
    uint32_t depth;
};

static struct lanes *lanes_of_recorded(const struct recorded *rows, size_t count)
{
    struct lanes *lanes = lanes_made(0);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(add(lanes, (struct one){.kind = SKEIN_ROW_REGION,
                                                 .time = rows[i].time,
                                                 .dur = rows[i].dur,
                                                 .depth = rows[i].depth}),
                         SKEIN_OK);
    ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
    return lanes;
}

/* One record at its end: the reader knows of nothing around it. */
START_TEST(regions_of_one_record_lie_one_below_what_holds_them)
{
    static const struct recorded rows[] = {{10, 5, 0}, {20, 5, 0}, {8, 20, 0}, {30, 1, 0},
                                           {5, 40, 0}, {45, 5, 0}, {60, 1, 0}};
    static const struct shown shown[] = {{0, 5, 40}, {0, 45, 5}, {0, 60, 1}, {1, 8, 20},
                                         {1, 30, 1}, {2, 10, 5}, {2, 20, 5}};
    struct lanes *lanes = lanes_of_recorded(rows, 7);
    must_show(lanes, shown, 7);
    lanes_free(&lanes);
}
END_TEST

/* A range in one record's region is one deeper than its ranges; one record in a range is as deep. */
START_TEST(ranges_and_regions_of_one_record_nest_in_each_other)
{
    static const struct recorded rows[] = {
        {12, 2, 1}, {11, 6, 0}, {10, 20, 0}, /* record in a range in a record */
        {40, 5, 1}, {40, 5, 0},              /* a range that fills the one around it */
        {50, 0, 0}, {50, 0, 0},              /* no time passes: nothing is inside of nothing */
        {60, 3, 2}};                         /* what is around it is lost */
    static const struct shown shown[] = {{0, 10, 20}, {0, 40, 5}, {0, 50, 0}, {0, 50, 0},
                                         {1, 11, 6},  {1, 40, 5}, {2, 12, 2}, {2, 60, 3}};
    struct lanes *lanes = lanes_of_recorded(rows, 8);
    must_show(lanes, shown, 8);
    lanes_free(&lanes);
}
END_TEST

START_TEST(a_region_that_reaches_out_of_another_stands_at_the_next_free_depth)
{
    static const struct recorded rows[] = {{0, 10, 0}, {5, 10, 0}, {12, 8, 0}, {16, 1, 0}};
    static const struct shown shown[] = {{0, 0, 10}, {0, 12, 8}, {1, 5, 10}, {1, 16, 1}};
    struct lanes *lanes = lanes_of_recorded(rows, 4);
    struct lanes_totals totals;
    lanes_totals(lanes, &totals);
    ck_assert_uint_eq(totals.crowded, 0);
    ck_assert_uint_eq(lanes_count(lanes), 2);
    must_show(lanes, shown, 4);
    lanes_free(&lanes);
}
END_TEST

/* What is in progress at the end comes last, the outer first, and so does what a merge mixed up. */
START_TEST(regions_nest_in_whatever_order_they_come)
{
    static struct recorded rows[3 * 200 + 2];
    size_t count = 0;
    rows[count++] = (struct recorded){0, 10000, 0};
    rows[count++] = (struct recorded){1, 9999, 0};
    for (uint64_t i = 200; i-- > 0;) {
        rows[count++] = (struct recorded){2 + i * 40, 30, 0};
        rows[count++] = (struct recorded){5 + i * 40, 20, 0};
        rows[count++] = (struct recorded){6 + i * 40, 10, 0};
    }
    struct lanes *lanes = lanes_of_recorded(rows, count);
    ck_assert_uint_eq(lanes_count(lanes), 5);
    for (uint32_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(lanes_at(lanes, i)->number, i);
        ck_assert_uint_eq(lanes_at(lanes, i)->rows, i < 2 ? 1 : 200);
    }
    lanes_free(&lanes);
}
END_TEST

/* Little memory: most go to their lanes before all have come, and nest all the same. A region around
 * all of them comes when they are there: it is drawn above them, in a layer. */
START_TEST(regions_nest_where_memory_is_short)
{
    struct lanes *lanes = lanes_made(256 << 10);
    struct lanes_totals totals;
    uint64_t rows[2] = {0, 0}, layers = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        add(lanes, (struct one){.kind = SKEIN_ROW_REGION, .time = 20 + i * 100, .dur = 50});
        add(lanes, (struct one){.kind = SKEIN_ROW_REGION, .time = 10 + i * 100, .dur = 90});
        lanes_totals(lanes, &totals);
        ck_assert_uint_le(totals.bytes, 256 << 10);
    }
    add(lanes, (struct one){.kind = SKEIN_ROW_REGION, .time = 0, .dur = 3000000});
    ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
    for (size_t i = 0; i < lanes_count(lanes); i++) {
        const struct lane *lane = lanes_at(lanes, i);
        must_hold(lane->number <= 2, "depth %u", lane->number);
        if (lane->layer > 0)
            layers += lane->rows;
        else if (lane->number < 2)
            rows[lane->number] += lane->rows;
    }
    lanes_totals(lanes, &totals);
    ck_assert_uint_eq(totals.left_out + totals.crowded, 0);
    ck_assert_uint_eq(layers, 1);
    ck_assert_uint_gt(rows[0], 10000); /* those that were still waiting are one deeper */
    ck_assert_uint_gt(rows[1], 19000);
    lanes_free(&lanes);
}
END_TEST

START_TEST(rows_are_clipped_to_the_window_and_deep_ones_counted)
{
    struct lanes *lanes = lanes_made(0);
    struct lanes_item item;
    struct lanes_totals totals;
    struct one row = {.kind = SKEIN_ROW_REGION, .time = (uint64_t)0 - 50, .dur = 60};
    ck_assert_int_eq(add(lanes, row), SKEIN_OK); /* from before the window into it */
    row.time = SPAN - 10, row.dur = UINT64_MAX;
    ck_assert_int_eq(add(lanes, row), SKEIN_OK);
    row.time = SPAN, row.dur = 1;
    ck_assert_int_eq(add(lanes, row), SKEIN_OK);
    row.time = (uint64_t)0 - 50, row.dur = 40;
    ck_assert_int_eq(add(lanes, row), SKEIN_OK);
    row.time = 0, row.depth = LANES_DEEP;
    ck_assert_int_eq(add(lanes, row), SKEIN_OK);
    ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
    ck_assert_uint_eq(lanes_count(lanes), 1);
    ck_assert_uint_eq(lanes_view(lanes, 0, 0, 100, 1, &item), 1);
    ck_assert(item.row && item.from_ns <= 0 && fabs(item.to_ns - 10) < 0.5);
    ck_assert_uint_eq(lanes_view(lanes, 0, SPAN - 1, SPAN, 1, &item), 1);
    ck_assert(fabs(item.to_ns - (double)SPAN) < 0.5);
    ck_assert_uint_eq(lanes_view(lanes, 0, 10, SPAN - 10, 1, &item), 0);
    ck_assert_uint_eq(lanes_view(lanes, 0, 10, 10, 1, &item), 0);
    ck_assert_uint_eq(lanes_view(lanes, 0, 0, SPAN, 0, NULL), 0);
    lanes_totals(lanes, &totals);
    ck_assert_uint_eq(totals.outside, 2);
    ck_assert_uint_eq(totals.left_out, 1);
    lanes_free(&lanes);
}
END_TEST

START_TEST(scheduling_is_three_lanes_of_states_and_other_evidence_none)
{
    struct lanes *lanes = lanes_made(0);
    struct lanes_totals totals;
    struct one row = {
        .kind = SKEIN_ROW_REGION, .flags = SKEIN_ROW_EVIDENCE, .thread = 3, .type = RUN};
    row.dur = 300;
    add(lanes, row);
    row.type = RUNNABLE, row.time = 300, row.dur = 100;
    add(lanes, row);
    row.type = BLOCKED, row.time = 400, row.dur = 600;
    add(lanes, row);
    row.type = SCHED_LOST, row.time = 1000;
    add(lanes, row);
    row.type = OTHER;
    add(lanes, row);
    row.kind = SKEIN_ROW_INSTANT;
    add(lanes, row);
    row = (struct one){.kind = SKEIN_ROW_REGION, .thread = 3, .type = RUN, .dur = 7};
    add(lanes, row); /* a service's own region may be called so */
    ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
    ck_assert_uint_eq(lanes_count(lanes), 5);
    static const uint64_t busy[] = {300, 100, 600, 7, 600};
    static const enum lane_kind kinds[] = {LANE_STATE, LANE_STATE, LANE_STATE, LANE_REGION,
                                           LANE_LOSS};
    for (uint32_t i = 0; i < 5; i++) {
        ck_assert_int_eq(lanes_at(lanes, i)->kind, kinds[i]);
        ck_assert_uint_eq(lanes_at(lanes, i)->busy_ns, busy[i]);
        ck_assert_uint_eq(lanes_at(lanes, i)->number, i < 3 ? LANE_RUNNING + i : 0);
    }
    lanes_totals(lanes, &totals);
    ck_assert_uint_eq(totals.evidence, 2);
    lanes_free(&lanes);
}
END_TEST

/* Values by hand: a number for each kind, and what is none. */
START_TEST(counters_keep_least_and_most_of_each_cell)
{
    struct lanes *lanes = lanes_made(0);
    struct lanes_totals totals;
    static struct lanes_item items[64];
    double least = 1e300, most = -1e300;
    for (uint64_t i = 0; i < 5000; i++) {
        struct one row = {.kind = SKEIN_ROW_COUNTER, .type = RATIO, .time = i * 800000};
        row.arg.f64 = i == 2500 ? 1e6 : i == 2600 ? -5 : (double)(i % 10);
        add(lanes, row);
    }
    add(lanes, (struct one){.kind = SKEIN_ROW_COUNTER, .type = QUEUE, .arg.u64 = 9});
    add(lanes, (struct one){.kind = SKEIN_ROW_COUNTER, .type = SIGNED, .arg.i64 = -9});
    add(lanes, (struct one){.kind = SKEIN_ROW_COUNTER, .type = WORD, .arg.text = "nine"});
    add(lanes, (struct one){.kind = SKEIN_ROW_COUNTER, .type = RATIO, .arg.f64 = (double)NAN});
    ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
    lanes_totals(lanes, &totals);
    ck_assert_uint_eq(totals.no_number, 2);
    ck_assert_uint_eq(lanes_count(lanes), 3);
    ck_assert(lanes_at(lanes, 0)->number == QUEUE && lanes_at(lanes, 1)->number == SIGNED);
    ck_assert(fabs(lanes_at(lanes, 1)->least + 9) < 1e-9 &&
              fabs(lanes_at(lanes, 0)->most - 9) < 1e-9);
    size_t count = lanes_view(lanes, 2, 0, SPAN, 64, items);
    ck_assert(count > 10);
    for (size_t i = 0; i < count; i++) {
        least = fmin(least, items[i].least);
        most = fmax(most, items[i].most);
    }
    ck_assert(fabs(least + 5) < 1e-9 && fabs(most - 1e6) < 1e-9);
    lanes_free(&lanes);
}
END_TEST

START_TEST(marks_are_counted_and_the_most_severe_is_kept)
{
    struct lanes *lanes = lanes_made(0);
    struct lanes_item item;
    for (uint64_t i = 0; i < 1000; i++)
        add(lanes, (struct one){.kind = SKEIN_ROW_INSTANT, .type = QUERY, .time = i});
    add(lanes,
        (struct one){.kind = SKEIN_ROW_LOG, .type = LOG, .time = 1000, .arg.u64 = SKEIN_ERROR});
    add(lanes,
        (struct one){.kind = SKEIN_ROW_LOG, .type = LOG, .time = 1001, .arg.u64 = SKEIN_INFO});
    ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
    ck_assert_uint_eq(lanes_count(lanes), 1);
    ck_assert_uint_eq(lanes_view(lanes, 0, 0, SPAN, 1, &item), 1);
    ck_assert(fabs(item.share - 1002) < 1e-9 && item.type == LOG &&
              item.severity == 1 + SKEIN_ERROR);
    lanes_free(&lanes);
}
END_TEST

/* Of the agent alone: a program's own instant may be called so, and is a mark. */
START_TEST(samples_of_the_cpu_are_a_lane_of_their_own_and_counted)
{
    struct lanes *lanes = lanes_made(0);
    struct lanes_totals totals;
    static struct lanes_item items[64];
    struct one row = {
        .kind = SKEIN_ROW_INSTANT, .flags = SKEIN_ROW_EVIDENCE, .thread = 3, .type = SAMPLE};
    for (uint64_t i = 0; i < 2000; i++) {
        row.time = i * 1000000;
        add(lanes, row);
    }
    row.kind = SKEIN_ROW_REGION, row.dur = 7; /* no sample has a length */
    add(lanes, row);
    add(lanes, (struct one){.kind = SKEIN_ROW_INSTANT, .thread = 3, .type = SAMPLE});
    ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
    ck_assert_uint_eq(lanes_count(lanes), 2);
    ck_assert_int_eq(lanes_at(lanes, 0)->kind, LANE_MARK);
    const struct lane *lane = lanes_at(lanes, 1);
    ck_assert(lane->kind == LANE_SAMPLE && lane->evidence && lane->number == 0);
    ck_assert_uint_eq(lane->rows, 2000);
    ck_assert_uint_eq(lane->busy_ns, 0);
    double count = 0;
    size_t n = lanes_view(lanes, 1, 0, SPAN, 64, items);
    for (size_t i = 0; i < n; i++) {
        ck_assert(!items[i].row && items[i].type == SAMPLE && items[i].severity == 0);
        count += items[i].share;
    }
    ck_assert(n > 16 && fabs(count - 2000) < 1e-9);
    n = lanes_view(lanes, 1, 5000000, 8000001, 64, items);
    ck_assert_uint_eq(n, 4);
    ck_assert(items[0].row && fabs(items[0].from_ns - 5e6) < 1e-9 &&
              fabs(items[0].to_ns - 5e6) < 1e-9);
    lanes_totals(lanes, &totals);
    ck_assert_uint_eq(totals.evidence, 1);
    lanes_free(&lanes);
}
END_TEST

START_TEST(samples_without_room_are_counted_by_their_pyramid)
{
    struct lanes *lanes = lanes_made(64u << 10);
    struct lanes_totals totals;
    static struct lanes_item items[64];
    struct one row = {.kind = SKEIN_ROW_INSTANT, .flags = SKEIN_ROW_EVIDENCE, .type = SAMPLE};
    double count = 0;
    for (uint64_t i = 0; i < 40000; i++) {
        row.time = i * 99991;
        add(lanes, row);
    }
    ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
    ck_assert_uint_eq(lanes_count(lanes), 1);
    ck_assert(lanes_at(lanes, 0)->rows == 40000 && !lanes_at(lanes, 0)->has_rows);
    size_t n = lanes_view(lanes, 0, 0, SPAN, 64, items);
    for (size_t i = 0; i < n; i++)
        count += items[i].share;
    ck_assert(fabs(count - 40000) < 1e-6);
    lanes_totals(lanes, &totals);
    ck_assert(totals.pyramids == 1 && totals.left_out == 0 && totals.bytes <= 64u << 10);
    lanes_free(&lanes);
}
END_TEST

START_TEST(losses_and_gaps_have_their_reason)
{
    struct lanes *lanes = lanes_made(0);
    struct lanes_item items[4];
    struct lanes_totals totals;
    const struct skein_gap gaps[] = {
        {.reason = SKEIN_GAP_MISSING, .process = 0, .from_ns = T0 + 900, .to_ns = T0 + 950},
        {.reason = SKEIN_GAP_BROKEN, .process = 0, .from_ns = T0 + 100, .to_ns = T0 + 200},
        {.reason = SKEIN_GAP_TORN, .process = SKEIN_NONE}};
    add(lanes, (struct one){.kind = SKEIN_ROW_LOSS,
                            .type = SKEIN_NONE,
                            .thread = 5,
                            .time = 10,
                            .dur = 5,
                            .reason = 2});
    ck_assert_int_eq(lanes_add_gaps(lanes, gaps, 3), SKEIN_OK);
    ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
    ck_assert_uint_eq(lanes_count(lanes), 2);
    ck_assert_uint_eq(lanes_view(lanes, 0, 0, SPAN, 4, items), 1);
    ck_assert_uint_eq(items[0].type, 2);
    ck_assert_uint_eq(lanes_view(lanes, 1, 0, SPAN, 4, items), 2);
    ck_assert(items[0].type == LANES_GAP + SKEIN_GAP_BROKEN &&
              items[1].type == LANES_GAP + SKEIN_GAP_MISSING);
    lanes_totals(lanes, &totals);
    ck_assert_uint_eq(totals.left_out, 1);
    lanes_free(&lanes);
}
END_TEST

START_TEST(a_window_as_long_as_time_itself_is_drawn)
{
    const struct lanes_options options = {.from_ns = 0, .to_ns = UINT64_MAX};
    struct lanes *lanes;
    struct lanes_item items[3];
    ck_assert_int_eq(lanes_new(&options, &lanes), SKEIN_OK);
    for (uint64_t i = 0; i < 1000; i++)
        add(lanes, (struct one){.kind = SKEIN_ROW_REGION,
                                .time = i << 53,
                                .dur = i % 2 ? 1 : UINT64_C(1) << 53});
    ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
    for (size_t lane = 0; lane < lanes_count(lanes); lane++)
        for (size_t pixels = 1; pixels <= 3; pixels++)
            ck_assert_uint_ge(lanes_view(lanes, lane, 0, UINT64_MAX, pixels, items), 1);
    lanes_free(&lanes);
}
END_TEST

/* All that allocates; true: each step was fine. */
static int all_of_it(struct lanes **lanes)
{
    const struct lanes_options options = {
        .from_ns = T0, .to_ns = T0 + SPAN - 1, .most_bytes = 40000, .type = type_of};
    const struct skein_gap gap = {SKEIN_GAP_MISSING, 0, SKEIN_NONE, T0, T0 + 9, 0, ""};
    int status = lanes_new(&options, lanes);
    for (uint64_t i = 0; i < 600 && status == SKEIN_OK; i++)
        status = add(*lanes, (struct one){.kind = SKEIN_ROW_REGION,
                                          .type = i % 2 ? QUERY : PAUSE,
                                          .thread = (uint32_t)i % 40,
                                          .time = i * 5000000,
                                          .dur = 1 + i});
    if (status == SKEIN_OK)
        status = lanes_add_gaps(*lanes, &gap, 1);
    return status == SKEIN_OK ? lanes_settle(*lanes) : status;
}

START_TEST(no_memory_is_a_status_at_each_allocation)
{
    for (unsigned n = 1;; n++) {
        struct lanes *lanes = NULL;
        alloc_fail_at(n);
        int status = all_of_it(&lanes);
        bool failed = alloc_fail_end();
        lanes_free(&lanes);
        if (!failed) {
            ck_assert_int_eq(status, SKEIN_OK);
            break;
        }
        /* What becomes coarser for the budget alone may do without. */
        ck_assert(status == SKEIN_NO_MEMORY || status == SKEIN_OK);
        ck_assert(n > 20 || status == SKEIN_NO_MEMORY);
    }
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "lanes", every_zoom_shows_the_longest_row_and_the_busy_share,
        where_memory_is_short_rows_go_and_the_pyramid_stays_true, lanes_without_memory_are_counted,
        rows_that_overlap_stand_in_layers, regions_of_one_record_lie_one_below_what_holds_them,
        ranges_and_regions_of_one_record_nest_in_each_other,
        a_region_that_reaches_out_of_another_stands_at_the_next_free_depth,
        regions_nest_in_whatever_order_they_come, regions_nest_where_memory_is_short,
        rows_are_clipped_to_the_window_and_deep_ones_counted,
        scheduling_is_three_lanes_of_states_and_other_evidence_none,
        counters_keep_least_and_most_of_each_cell, marks_are_counted_and_the_most_severe_is_kept,
        samples_of_the_cpu_are_a_lane_of_their_own_and_counted,
        samples_without_room_are_counted_by_their_pyramid, losses_and_gaps_have_their_reason,
        a_window_as_long_as_time_itself_is_drawn, no_memory_is_a_status_at_each_allocation, NULL));
}
