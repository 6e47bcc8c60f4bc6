/* SPDX-License-Identifier: Apache-2.0
 * Stacks in partitions: writer, reader, and what neither accepts (docs/format.md, section 8).
 */
#include <check.h>

#include "partition_entries_int.h"
#include "partition_int.h"
#include "reading.h"

static uint32_t stack_add(struct partition_writer *w, const uint64_t *pcs, uint32_t n, uint8_t end)
{
    int64_t id = partition_writer_stack(w, &(struct partition_stack){pcs, n, end});
    ck_assert_int_ge(id, 1);
    return (uint32_t)id;
}

static uint32_t instant_type(struct partition_writer *w)
{
    static const struct partition_event_type tick = {.name = "tick", .klass = SKEIN_CLASS_INSTANT};
    return (uint32_t)partition_writer_type(w, &tick);
}

START_TEST(each_kind_of_record_gets_its_stack)
{
    static const uint64_t pcs[] = {0x7f0000001000, 0x7f0000000010, 0x400123};
    struct reading reading;
    struct partition_writer *w = writer();
    uint32_t query = (uint32_t)partition_writer_type(w, &sample_query);
    uint32_t read = (uint32_t)partition_writer_type(w, &sample_read);
    uint32_t tick = instant_type(w);
    uint32_t stacks[5];
    for (uint32_t i = 0; i < 5; i++)
        stacks[i] = stack_add(w, pcs, i % 4, (uint8_t)(i == 4 ? PARTITION_STACK_CUT : 0));
    struct partition_value args[2] = {sample_str("q"), sample_u64(1)};
    partition_writer_batch(w, add_thread(w, 1), 7, 0, false);
    partition_writer_event(w, query, 100, 0, args);
    partition_writer_event_stack(w, stacks[0]);
    partition_writer_event(w, query, 110, 0, args);
    partition_writer_event(w, tick, 120, 0, args);
    partition_writer_event_stack(w, stacks[1]);
    partition_writer_event(w, read, 130, 5, args);
    partition_writer_event_stack(w, stacks[2]);
    partition_writer_end(w, 140);
    partition_writer_event_stack(w, stacks[3]);
    partition_writer_end(w, 150);
    partition_writer_event(w, query, 160, 0, args);
    partition_writer_event_stack(w, stacks[4]);
    reading_open(&reading, &w);
    static const struct {
        uint8_t kind;
        uint64_t ticks;
        uint32_t stack;
    } want[] = {{TRACE_BEGIN, 100, 1},  {TRACE_BEGIN, 110, 0},  {TRACE_INSTANT, 120, 2},
                {TRACE_REGION, 130, 3}, {TRACE_REGION, 140, 4}, {TRACE_REGION, 150, 1},
                {TRACE_BEGIN, 160, 5},  {TRACE_OPEN, 160, 5}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct trace_event event = next(&reading);
        ck_assert_int_eq(event.kind, want[i].kind);
        ck_assert_uint_eq(event.ticks, want[i].ticks);
        ck_assert_uint_eq(event.stack, want[i].stack);
    }
    expect_end(&reading);
    const struct partition_footer *footer = partition_reader_footer(reading.reader);
    ck_assert_uint_eq(footer->events, 12);
    ck_assert_uint_eq(partition_footer_stacks(footer), 5);
    struct partition_stack stack;
    ck_assert(partition_reader_stack(reading.reader, 4, &stack));
    ck_assert_uint_eq(stack.count, 3);
    ck_assert_mem_eq(stack.pcs, pcs, sizeof pcs);
    ck_assert(!partition_reader_stack(reading.reader, 0, &stack));
    ck_assert(!partition_reader_stack(reading.reader, 6, &stack));
    reading_close(&reading);
}
END_TEST

START_TEST(equal_stacks_are_kept_once_and_extremes_survive)
{
    static const uint64_t pcs[] = {0, UINT64_MAX, 1, UINT64_C(1) << 63, 5};
    struct reading reading;
    struct partition_writer *w = writer();
    uint32_t first = stack_add(w, pcs, 5, PARTITION_STACK_BROKEN | PARTITION_STACK_EXACT);
    ck_assert_uint_eq(first, 1);
    ck_assert_uint_eq(stack_add(w, pcs, 5, PARTITION_STACK_BROKEN), 2);
    ck_assert_uint_eq(stack_add(w, pcs, 5, PARTITION_STACK_BROKEN | PARTITION_STACK_EXACT), 1);
    ck_assert_uint_eq(stack_add(w, pcs, 4, PARTITION_STACK_BROKEN), 3);
    ck_assert_uint_eq(partition_writer_stack_count(w), 3);
    struct partition_stack stack;
    ck_assert(partition_writer_stack_at(w, 1, &stack));
    ck_assert_uint_eq(stack.count, 5);
    ck_assert_mem_eq(stack.pcs, pcs, sizeof pcs);
    ck_assert_uint_eq(partition_stack_address(&stack, 0), 0);
    ck_assert_uint_eq(partition_stack_address(&stack, 2), 0);
    ck_assert(!partition_writer_stack_at(w, 0, &stack));
    ck_assert(!partition_writer_stack_at(w, 4, &stack));
    reading_open(&reading, &w);
    ck_assert_uint_eq(partition_reader_stack_count(reading.reader), 3);
    ck_assert(partition_reader_stack(reading.reader, 1, &stack));
    ck_assert_uint_eq(stack.end, PARTITION_STACK_BROKEN | PARTITION_STACK_EXACT);
    ck_assert_str_eq(partition_stack_end_text(stack.end), "broken");
    ck_assert_mem_eq(stack.pcs, pcs, sizeof pcs);
    ck_assert(partition_reader_stack(reading.reader, 2, &stack));
    ck_assert_uint_eq(partition_stack_address(&stack, 0), UINT64_MAX);
    reading_close(&reading);
}
END_TEST

/* Any batch may be full when the stack comes: it goes with its record all the same. */
START_TEST(a_stack_is_never_split_from_its_record)
{
    enum { EVENTS = 60000 };
    static const uint64_t pcs[] = {0x1000};
    struct reading reading;
    struct partition_writer *w = writer();
    uint32_t all = (uint32_t)partition_writer_type(w, &sample_all);
    uint32_t tick = instant_type(w);
    uint32_t id = stack_add(w, pcs, 1, 0);
    uint64_t state = 3;
    partition_writer_batch(w, add_thread(w, 1), 7, 0, false);
    for (uint32_t i = 0; i < EVENTS; i++) {
        struct partition_value args[6] = {sample_u64(0)};
        for (unsigned k = 0; k < 6; k++)
            if (k != 3)
                args[k].u64 = state = state * UINT64_C(6364136223846793005) + 1;
        args[3] = sample_str("x");
        args[4] = sample_seq(1, i);
        /* long and short batches: bytes fill the ones, records the others */
        partition_writer_event(w, i < EVENTS / 2 ? all : tick, 100 + i, 0, args);
        if (i % 3 != 0)
            partition_writer_event_stack(w, id);
    }
    reading_open(&reading, &w);
    for (uint32_t i = 0; i < EVENTS; i++) {
        struct trace_event event = next(&reading);
        must_hold(event.kind == TRACE_INSTANT && event.ticks == 100 + i, "%u", i);
        must_hold(event.stack == (i % 3 != 0 ? id : 0), "%u", i);
    }
    expect_end(&reading);
    ck_assert_uint_gt(partition_reader_footer(reading.reader)->block_count, 4);
    reading_close(&reading);
}
END_TEST

START_TEST(mappings_are_sorted_and_found)
{
    struct reading reading;
    struct partition_writer *w = writer();
    struct partition_mapping libc = {0x7000, 0x9000, 0x1000, "/lib/libc.so.6", {1, 2, 3}, 3};
    struct partition_mapping exe = {0x1000, 0x2000, 0, "/usr/bin/checkout", {0}, 0};
    struct partition_mapping late = {0x7800, 0x7900, 0, "", {0}, 0};
    struct partition_mapping bad = {0x5000, 0x5000, 0, "", {0}, 0};
    ck_assert_int_eq(partition_writer_mapping(w, &libc), SKEIN_OK);
    ck_assert_int_eq(partition_writer_mapping(w, &late), SKEIN_OK);
    ck_assert_int_eq(partition_writer_mapping(w, &exe), SKEIN_OK);
    ck_assert_int_eq(partition_writer_mapping(w, &libc), SKEIN_OK);
    ck_assert_int_eq(partition_writer_mapping(w, &bad), SKEIN_INVALID);
    bad.end = 0x6000;
    bad.build_id_bytes = PARTITION_BUILD_ID_MAX + 1;
    ck_assert_int_eq(partition_writer_mapping(w, &bad), SKEIN_INVALID);
    ck_assert_uint_eq(partition_writer_mapping_count(w), 3);
    struct partition_mapping got;
    ck_assert(partition_writer_mapping_at(w, 0, &got));
    ck_assert_str_eq(got.path, "/lib/libc.so.6");
    ck_assert(!partition_writer_mapping_at(w, 3, &got));
    reading_open(&reading, &w);
    const struct partition_reader *r = reading.reader;
    ck_assert_uint_eq(partition_reader_mapping_count(r), 3);
    ck_assert_str_eq(partition_reader_mapping_at(r, 0)->path, "/usr/bin/checkout");
    ck_assert_ptr_null(partition_reader_mapping_at(r, 3));
    ck_assert_ptr_null(partition_reader_mapping(r, 0xfff));
    ck_assert_str_eq(partition_reader_mapping(r, 0x1fff)->path, "/usr/bin/checkout");
    ck_assert_ptr_null(partition_reader_mapping(r, 0x2000));
    const struct partition_mapping *found = partition_reader_mapping(r, 0x7000);
    ck_assert_uint_eq(found->offset, 0x1000);
    ck_assert_uint_eq(found->build_id_bytes, 3);
    ck_assert_uint_eq(found->build_id[2], 3);
    ck_assert_str_eq(partition_reader_mapping(r, 0x7800)->path, "");
    ck_assert_ptr_null(partition_reader_mapping(r, 0x7900)); /* what it was is not known any more */
    reading_close(&reading);
}
END_TEST

static void symbol_add(struct partition_writer *w, uint64_t address, const char *function,
                       int expected)
{
    struct partition_line lines[2] = {{"inlined<int>(char const*)", "a.h", 7},
                                      {function, "a.cc", 4000000000}};
    struct partition_symbol symbol = {address, lines, 2};
    ck_assert_int_eq(partition_writer_symbol(w, &symbol), expected);
}

START_TEST(many_symbols_are_found_by_address)
{
    enum { SYMBOLS = 20000 };
    struct reading reading;
    struct partition_writer *w = writer();
    char name[64];
    struct partition_symbol got;
    for (uint64_t i = 0; i < SYMBOLS; i++) { /* in any order: 7919 is prime */
        uint64_t k = i * 7919 % SYMBOLS;
        snprintf(name, sizeof name, "function_%u()", (unsigned)k);
        symbol_add(w, k * 16, name, SKEIN_OK);
    }
    symbol_add(w, 16, "another", SKEIN_OK); /* named before */
    reading_open(&reading, &w);
    ck_assert_uint_eq(partition_reader_symbol_count(reading.reader), SYMBOLS);
    for (unsigned k = 0; k < SYMBOLS; k++) {
        snprintf(name, sizeof name, "function_%u()", k);
        must_hold(partition_reader_symbol(reading.reader, k * 16, &got), "%u", k);
        must_hold(got.line_count == 2 && got.address == k * 16, "%u", k);
        must_hold(strcmp(got.lines[0].function, "inlined<int>(char const*)") == 0, "%u", k);
        must_hold(strcmp(got.lines[1].function, name) == 0, "%u", k);
        must_hold(got.lines[0].line == 7 && got.lines[1].line == 4000000000, "%u", k);
        must_hold(!partition_reader_symbol(reading.reader, k * 16 + 1, &got), "%u", k);
    }
    reading_close(&reading);
}
END_TEST

START_TEST(a_long_name_is_cut_between_letters_and_says_so)
{
    struct reading reading;
    struct partition_writer *w = writer();
    char name[PARTITION_NAME_MAX + 2];
    memset(name, 'f', sizeof name);
    name[sizeof name - 1] = 0;
    memcpy(name + PARTITION_NAME_MAX - 4, "\xe2\x82\xac", 3); /* over the place of the cut */
    symbol_add(w, 1, name, SKEIN_OK);
    name[PARTITION_NAME_MAX] = 0;
    symbol_add(w, 2, name, SKEIN_OK);
    reading_open(&reading, &w);
    struct partition_symbol got;
    ck_assert(partition_reader_symbol(reading.reader, 1, &got));
    ck_assert_uint_eq(strlen(got.lines[1].function), PARTITION_NAME_MAX - 1);
    ck_assert_str_eq(got.lines[1].function + PARTITION_NAME_MAX - 5, "f...");
    ck_assert(partition_reader_symbol(reading.reader, 2, &got));
    ck_assert_str_eq(got.lines[1].function, name);
    reading_close(&reading);
}
END_TEST

START_TEST(a_full_table_leaves_the_writer_as_it_was)
{
    struct reading reading;
    struct partition_writer *w = writer();
    static uint64_t pcs[PARTITION_FRAMES_MAX + 1];
    struct partition_line lines[PARTITION_LINES_MAX + 1];
    struct partition_symbol symbol = {1, lines, PARTITION_LINES_MAX + 1};
    struct partition_stack stack = {pcs, PARTITION_FRAMES_MAX + 1, 0};
    for (unsigned i = 0; i <= PARTITION_LINES_MAX; i++)
        lines[i] = (struct partition_line){"f", "", 0};
    ck_assert_int_eq(partition_writer_stack(w, &stack), SKEIN_TOO_LARGE);
    ck_assert_int_eq(partition_writer_symbol(w, &symbol), SKEIN_TOO_LARGE);
    for (uint64_t n = 0; n < FRAMES_MAX / PARTITION_FRAMES_MAX; n++) {
        pcs[0] = n;
        stack.count = PARTITION_FRAMES_MAX;
        must_hold(partition_writer_stack(w, &stack) > 0, "%u", (unsigned)n);
    }
    pcs[0] = 1u << 30;
    ck_assert_int_eq(partition_writer_stack(w, &stack), SKEIN_TOO_LARGE);
    reading_open(&reading, &w);
    ck_assert_uint_eq(partition_reader_stack_count(reading.reader),
                      FRAMES_MAX / PARTITION_FRAMES_MAX);
    reading_close(&reading);
}
END_TEST

static void expect_misuse(struct partition_writer *w)
{
    struct buf bytes = {0};
    ck_assert_int_eq(partition_writer_finish(w, &bytes, NULL), SKEIN_INVALID);
    partition_writer_free(&w);
    buf_fini(&bytes);
}

START_TEST(a_stack_without_its_record_is_misuse)
{
    static const uint64_t pcs[] = {1};
    static const struct partition_event_type own = {
        .name = "stack", .klass = SKEIN_CLASS_STACK, .nargs = 1, .args = {{SKEIN_T_U64, "id", ""}}};
    for (unsigned i = 0; i < 5; i++) {
        struct partition_writer *w = writer();
        uint32_t tick = instant_type(w), thread = add_thread(w, 1);
        uint32_t id = stack_add(w, pcs, 1, 0);
        if (i == 0)
            ck_assert_int_eq(partition_writer_type(w, &own), SKEIN_INVALID);
        partition_writer_batch(w, thread, 7, 0, false);
        if (i > 1)
            partition_writer_event(w, tick, 100, 0, NULL);
        if (i == 2) /* the next batch of the thread is merged into it */
            partition_writer_batch(w, thread, 7, 1, false);
        if (i == 3)
            partition_writer_event_stack(w, id);
        partition_writer_event_stack(w, i == 4 ? id + 1 : id);
        expect_misuse(w);
    }
}
END_TEST

/* ---- hostile bytes ---- */

/* The partition with a section in front of its first block, or with the type "own" made one of
 * stacks (kind TYPES). What its reader says to the end. */
static int spoiled_read(const struct buf *whole, uint16_t kind, const struct buf *payload)
{
    struct buf out = {0};
    struct partition_footer footer;
    struct cursor c;
    struct section section;
    size_t need, footer_at = 0;
    ck_assert_int_eq(partition_footer_get(whole->data, whole->len, &footer, &need), SKEIN_OK);
    cursor_init(&c, whole->data + HEAD_BYTES, whole->len - HEAD_BYTES - TAIL_BYTES);
    head_put(&out, HEAD_PARTITION, 0);
    for (size_t blocks = 0; section_get(&c, 0, &section) == SKEIN_OK;) {
        const uint8_t *head = section.payload - SECTION_HEAD_BYTES;
        if (section.kind == SECTION_BLOCK && blocks == 0 && payload != NULL) {
            size_t at = section_begin(&out, kind);
            buf_put(&out, payload->data, payload->len);
            section_end(&out, at);
        }
        size_t at = out.len;
        if (section.kind == SECTION_BLOCK)
            footer.blocks[blocks++].offset = at;
        if (section.kind == SECTION_FOOTER) {
            footer_at = section_begin(&out, SECTION_FOOTER);
            footer_put(&out, &footer);
            section_end(&out, at);
        } else if (section.kind == SECTION_TYPES && payload == NULL) {
            section_begin(&out, SECTION_TYPES);
            buf_put(&out, section.payload, (size_t)section.length);
            out.data[at + SECTION_HEAD_BYTES + 2] = SKEIN_CLASS_STACK; /* of the first type */
            section_end(&out, at);
        } else {
            buf_put(&out, head, SECTION_HEAD_BYTES + (size_t)section.length);
        }
    }
    tail_put(&out, 0, footer_at, HEAD_PARTITION);
    size_t len = out.len;
    out.len = 0;
    head_put(&out, HEAD_PARTITION, len);
    out.len = len;
    char error[256] = "";
    struct partition_reader *reader;
    struct trace_event event;
    int status = partition_reader_new(out.data, out.len, &reader, error, sizeof error);
    if (status == SKEIN_OK) {
        while ((status = partition_reader_next(reader, &event)) == 1)
            continue;
        partition_reader_free(&reader);
    }
    partition_footer_free(&footer);
    buf_fini(&out);
    return status;
}

static struct buf plain_partition(void)
{
    struct buf bytes = {0};
    ck_assert_int_eq(sample_partition(&bytes), SKEIN_OK);
    return bytes;
}

static int section_read(uint16_t kind, const char *payload, size_t n)
{
    struct buf whole = plain_partition();
    struct buf bytes = {0};
    buf_put(&bytes, payload, n);
    int status = spoiled_read(&whole, kind, &bytes);
    buf_fini(&bytes);
    buf_fini(&whole);
    return status;
}
#define SECTION_READ(kind, payload) section_read(kind, payload, sizeof(payload) - 1)

START_TEST(malformed_tables_are_corrupt)
{
    ck_assert_int_eq(SECTION_READ(SECTION_STACKS, "\1\0\2\5\1"), 0);
    ck_assert_int_eq(SECTION_READ(SECTION_STACKS, ""), SKEIN_CORRUPT);
    ck_assert_int_eq(SECTION_READ(SECTION_STACKS, "\2\0\2\5\1"), SKEIN_CORRUPT);
    ck_assert_int_eq(SECTION_READ(SECTION_STACKS, "\1\0\3\5\1"), SKEIN_CORRUPT);
    ck_assert_int_eq(SECTION_READ(SECTION_STACKS, "\1\0\2\5\x80"), SKEIN_CORRUPT);
    ck_assert_int_eq(SECTION_READ(SECTION_STACKS, "\xff\xff\xff\x7f\0\0"), SKEIN_CORRUPT);
    ck_assert_int_eq(SECTION_READ(SECTION_MAPPINGS, "\1\5\1\2\3\0\0"), 0);
    ck_assert_int_eq(SECTION_READ(SECTION_MAPPINGS, "\1\6\1\2\3\0\0!"), 0); /* F-6 */
    ck_assert_int_eq(SECTION_READ(SECTION_MAPPINGS, "\1\5\2\2\3\0\0"), SKEIN_CORRUPT);
    ck_assert_int_eq(SECTION_READ(SECTION_MAPPINGS, "\1\5\1\2\3\0\1"), SKEIN_CORRUPT);
    ck_assert_int_eq(SECTION_READ(SECTION_MAPPINGS, "\2\5\4\5\3\0\0\5\3\5\3\0\0"), SKEIN_CORRUPT);
    ck_assert_int_eq(SECTION_READ(SECTION_MAPPINGS, "\1\4\1\2\3\0\0"), SKEIN_CORRUPT);
    ck_assert_int_eq(SECTION_READ(SECTION_SYMBOLS, "\1\6\1\1\1f\0\0"), 0);
    ck_assert_int_eq(SECTION_READ(SECTION_SYMBOLS, "\2\2\1\0\2\2\0"), 0);
    ck_assert_int_eq(SECTION_READ(SECTION_SYMBOLS, "\2\2\1\0\2\1\0"), SKEIN_CORRUPT);
    ck_assert_int_eq(SECTION_READ(SECTION_SYMBOLS, "\1\6\1\2\1f\0\0"), SKEIN_CORRUPT);
    ck_assert_int_eq(SECTION_READ(SECTION_SYMBOLS, "\1\6\1\1\2f\0\0"), SKEIN_CORRUPT);
}
END_TEST

START_TEST(symbols_have_their_place_among_the_sections)
{
    static const char symbols[] = "\1\2\1\0", stacks[] = "\1\0\1\5";
    struct buf whole = {0}, payload = {0};
    ck_assert_int_eq(sample_stacks_partition(&whole), SKEIN_OK);
    /* behind the symbols that are there: stacks may not be, more symbols must rise */
    buf_put(&payload, stacks, sizeof stacks - 1);
    ck_assert_int_eq(spoiled_read(&whole, SECTION_STACKS, &payload), SKEIN_CORRUPT);
    buf_clear(&payload);
    buf_put(&payload, symbols, sizeof symbols - 1);
    ck_assert_int_eq(spoiled_read(&whole, SECTION_SYMBOLS, &payload), SKEIN_CORRUPT);
    buf_clear(&payload);
    buf_put(&payload, "\1\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0", 13);
    ck_assert_int_eq(spoiled_read(&whole, SECTION_SYMBOLS, &payload), 0);
    buf_fini(&payload);
    buf_fini(&whole);
}
END_TEST

/* Records of a type that looks like that of stacks: 's' with the number of a stack, 'S' with one
 * above, '+' a tick later; 'e' is an event, 'b' a new batch. */
static int records_read(const char *records, uint8_t arg)
{
    static const uint64_t pcs[] = {1};
    struct buf whole = {0};
    struct partition_writer *w = writer();
    struct partition_event_type own = {.name = "own", .klass = SKEIN_CLASS_INSTANT, .nargs = 1};
    own.args[0] = (struct partition_arg){arg, "id", ""};
    uint32_t type = (uint32_t)partition_writer_type(w, &own), tick = instant_type(w);
    stack_add(w, pcs, 1, 0);
    uint32_t thread = add_thread(w, 1);
    uint64_t ticks = 100, sequence = 1;
    partition_writer_batch(w, thread, 7, sequence, false);
    for (; *records != 0; records++) {
        struct partition_value id = {.u64 = *records == 'S' ? 2 : 1};
        if (*records == '+')
            ticks++;
        else if (*records == 'b')
            partition_writer_batch(w, thread, 7, sequence += 2, false);
        else
            partition_writer_event(w, *records == 'e' ? tick : type, ticks, 0, &id);
    }
    ck_assert_int_eq(partition_writer_finish(w, &whole, NULL), SKEIN_OK);
    partition_writer_free(&w);
    int status = spoiled_read(&whole, SECTION_TYPES, NULL);
    buf_fini(&whole);
    return status;
}

START_TEST(a_stack_in_the_wrong_place_is_corrupt)
{
    ck_assert_int_eq(records_read("ese", SKEIN_T_U64), 0);
    ck_assert_int_eq(records_read("e+es", SKEIN_T_U64), 0);
    ck_assert_int_eq(records_read("se", SKEIN_T_U64), SKEIN_CORRUPT);
    ck_assert_int_eq(records_read("ess", SKEIN_T_U64), SKEIN_CORRUPT);
    ck_assert_int_eq(records_read("e+s", SKEIN_T_U64), SKEIN_CORRUPT);
    ck_assert_int_eq(records_read("eS", SKEIN_T_U64), SKEIN_CORRUPT);
    ck_assert_int_eq(records_read("esbs", SKEIN_T_U64), SKEIN_CORRUPT);
    ck_assert_int_eq(records_read("ese", SKEIN_T_I64), SKEIN_CORRUPT);
}
END_TEST

/* ---- evidence ---- */

static struct partition_writer *evidence_writer(void)
{
    struct partition_info info = sample_info();
    struct partition_writer *w;
    info.evidence = true;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    return w;
}

START_TEST(evidence_says_so_and_has_no_ranges)
{
    struct reading reading;
    struct partition_writer *w = evidence_writer();
    uint32_t tick = instant_type(w);
    partition_writer_batch(w, add_thread(w, 1), 7, 0, false);
    partition_writer_event(w, tick, 100, 0, NULL);
    reading_open(&reading, &w);
    ck_assert(partition_reader_info(reading.reader)->evidence);
    ck_assert(partition_reader_footer(reading.reader)->evidence);
    reading_close(&reading);

    w = writer();
    reading_open(&reading, &w);
    ck_assert(!partition_reader_info(reading.reader)->evidence);
    ck_assert(!partition_reader_footer(reading.reader)->evidence);
    reading_close(&reading);

    w = evidence_writer();
    ck_assert_int_eq(partition_writer_type(w, &sample_query), SKEIN_INVALID);
    expect_misuse(w);
    w = evidence_writer();
    partition_writer_batch(w, add_thread(w, 1), 7, 0, false);
    partition_writer_open_range(w, -1, 50);
    expect_misuse(w);
}
END_TEST

START_TEST(nothing_is_carried_into_evidence_or_out_of_it)
{
    for (unsigned i = 0; i < 2; i++) {
        struct reading first, second;
        struct partition_value args[2] = {sample_str("q"), sample_u64(1)};
        struct partition_writer *w = writer();
        uint32_t query = (uint32_t)partition_writer_type(w, &sample_query);
        partition_writer_batch(w, add_thread(w, 1), 7, 0, false);
        partition_writer_event(w, query, 100, 0, args);
        reading_open(&first, &w);
        ck_assert_int_eq(next(&first).kind, TRACE_BEGIN);
        w = i == 0 ? evidence_writer() : writer();
        add_thread(w, 1);
        reading_open(&second, &w);
        if (i == 0)
            partition_reader_continue(second.reader, first.reader);
        else
            partition_reader_continue(first.reader, second.reader);
        expect_end(&second);
        reading_close(&first);
        reading_close(&second);
    }
}
END_TEST

/* F-44: what another tool has listed is exact, one address may have several names, and there may be none. */
START_TEST(addresses_that_were_listed_are_shown_as_they_were)
{
    static const uint64_t high = UINT64_C(0xffffffff81000000);
    static const struct {
        uint64_t kept, shown;
        bool found;
    } want[] = {
        {0x401000, 0x401000, true},
        {0x401000 | UINT64_C(0xacc1) << 48, 0x401000, true},
        {high, high, true},
        {UINT64_C(0xacdfffff81000000), high, true},
        {UINT64_C(0x6f6c6c6568202020), UINT64_C(0x6f6c6c6568202020), true}, /* no code, but found */
        {UINT64_C(0x7fffffffffffffff), UINT64_C(0x7fffffffffffffff), true},
        {UINT64_C(0xacc0000000000007), 7, false},
        {UINT64_C(0xace0000000000007), UINT64_C(0xace0000000000007), true},
        {0, 0, true},
    };
    for (unsigned listed = 0; listed < 2; listed++)
        for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
            uint64_t address;
            const struct partition_stack stack = {
                &want[i].kept, 1, listed ? PARTITION_STACK_LISTED_CUT : PARTITION_STACK_CUT};
            ck_assert_uint_eq(partition_stack_address(&stack, 0), want[i].kept - !listed);
            bool found = partition_stack_found(&stack, 0, &address);
            ck_assert_uint_eq(address, listed ? want[i].shown : want[i].kept);
            ck_assert(found == (want[i].found || !listed));
        }
    ck_assert_str_eq(partition_stack_end_text(PARTITION_STACK_LISTED), "whole");
    ck_assert_str_eq(partition_stack_end_text(PARTITION_STACK_LISTED_CUT), "cut");
    ck_assert_str_eq(partition_stack_end_text(5), "unknown");
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "partition_stacks", each_kind_of_record_gets_its_stack,
        equal_stacks_are_kept_once_and_extremes_survive, a_stack_is_never_split_from_its_record,
        mappings_are_sorted_and_found, many_symbols_are_found_by_address,
        a_long_name_is_cut_between_letters_and_says_so, a_full_table_leaves_the_writer_as_it_was,
        a_stack_without_its_record_is_misuse, malformed_tables_are_corrupt,
        symbols_have_their_place_among_the_sections, a_stack_in_the_wrong_place_is_corrupt,
        evidence_says_so_and_has_no_ranges, nothing_is_carried_into_evidence_or_out_of_it,
        addresses_that_were_listed_are_shown_as_they_were, NULL));
}
