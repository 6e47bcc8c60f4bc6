/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks and mappings of rings made by hand: what comes out of a cut, and what an enemy writes.
 */
#include "hand_ring.h"

static struct buf payload;

/* Appends a record to the half that table_put() began. */
static void table_add(uint32_t epoch, uint8_t kind)
{
    struct buf record = {0};
    uint8_t *half = process->ring + process->geometry.table_off[epoch % 2];
    struct ring_table *head = (struct ring_table *)(void *)half;
    buf_put_u8(&record, kind);
    buf_put_text(&record, (const char *)payload.data, payload.len);
    memcpy(half + sizeof(*head) + (uint32_t)head->committed, record.data, record.len);
    head->committed += record.len;
    buf_fini(&record);
    buf_clear(&payload);
}

static void mapping_put(uint32_t epoch, uint64_t start, uint64_t end, const char *path)
{
    buf_put_uleb(&payload, start);
    buf_put_uleb(&payload, end);
    buf_put_uleb(&payload, 0x2000);
    buf_put_u8(&payload, 3);
    buf_put(&payload, "\xaa\xbb\xcc", 3);
    buf_put(&payload, path, strlen(path));
    table_add(epoch, RING_TABLE_MAPPING);
}

static void stack_put(uint32_t epoch, uint64_t id, uint8_t end, const uint64_t *pcs, size_t count)
{
    buf_put_uleb(&payload, id);
    buf_put_u8(&payload, end);
    buf_put_uleb(&payload, count);
    for (size_t i = 0; i < count; i++)
        if (i == 0)
            buf_put_uleb(&payload, pcs[0]);
        else
            buf_put_sleb(&payload, (int64_t)(pcs[i] - pcs[i - 1]));
    table_add(epoch, RING_TABLE_STACK);
}

static void row_stack_after(uint64_t delta, uint64_t id)
{
    buf_put_uleb(&rows, RING_RECORD_STACK);
    buf_put_uleb(&rows, delta);
    buf_put_uleb(&rows, id);
}

static void row_stack(uint64_t id)
{
    row_stack_after(0, id);
}

static const uint64_t two_pcs[] = {0x7f0000001234, 0x555500000456};

static void begin(void)
{
    ring_begin();
    table_put(2);
    strcpy(process->exe, "/usr/bin/hand");
}

static void end(void)
{
    buf_fini(&payload);
    ring_end();
}

/* Of the nth event of the partition; NULL: it has no stack. */
static const struct partition_stack *event_stack(struct partition_reader **reader,
                                                 const struct cut_result *result, size_t n)
{
    static struct partition_stack stack;
    char error[256];
    struct trace_event event = {0};
    ck_assert_int_eq(
        partition_reader_new(result->bytes.data, result->bytes.len, reader, error, sizeof error),
        SKEIN_OK);
    for (size_t i = 0; i <= n; i += event.type != NULL) /* a loss has none */
        ck_assert_int_eq(partition_reader_next(*reader, &event), 1);
    if (event.stack == 0)
        return NULL;
    ck_assert(partition_reader_stack(*reader, event.stack, &stack));
    return &stack;
}

START_TEST(a_stack_comes_out_with_its_record_and_its_mappings)
{
    begin();
    mapping_put(2, 0x7f0000000000, 0x7f0000010000, "/lib/libx.so");
    mapping_put(2, 0x555500000000, 0x555500001000, ""); /* the program itself */
    mapping_put(2, 0x666600000000, 0x666600001000, "/lib/unused.so");
    stack_put(2, 1, 0, two_pcs, 2);
    stack_put(2, 2, RING_STACK_EXACT | 1, two_pcs, 1);
    row_step(1, 1);
    row_step(2, 1);
    row_stack(1);
    row_step(3, 1);
    row_stack(2);
    row_step(4, 1);
    row_stack(1);
    chunk_put((struct chunk_spec){.state = RING_CHUNK_WRITING});
    struct cut_result result;
    struct partition_sum sum = cut(NULL, &result);
    ck_assert_uint_eq(sum.steps, 4);
    ck_assert_uint_eq(sum.losses, 0);
    struct partition_reader *reader = NULL;
    ck_assert_ptr_null(event_stack(&reader, &result, 0));
    partition_reader_free(&reader);
    const struct partition_stack *stack = event_stack(&reader, &result, 3);
    ck_assert_ptr_nonnull(stack);
    ck_assert_uint_eq(stack->count, 2);
    ck_assert_uint_eq(stack->pcs[0], two_pcs[0]);
    ck_assert_uint_eq(stack->pcs[1], two_pcs[1]);
    ck_assert_uint_eq(stack->end, PARTITION_STACK_WHOLE);
    ck_assert_uint_eq(partition_reader_stack_count(reader), 2);
    ck_assert_uint_eq(partition_reader_mapping_count(reader), 2); /* those that are meant */
    const struct partition_mapping *mapping = partition_reader_mapping(reader, two_pcs[1] - 1);
    ck_assert_str_eq(mapping->path, "/usr/bin/hand");
    mapping = partition_reader_mapping(reader, two_pcs[0] - 1);
    ck_assert_str_eq(mapping->path, "/lib/libx.so");
    ck_assert_uint_eq(mapping->offset, 0x2000);
    ck_assert_mem_eq(mapping->build_id, "\xaa\xbb\xcc", 3);
    partition_reader_free(&reader);
    stack = event_stack(&reader, &result, 2);
    ck_assert_uint_eq(stack->end, PARTITION_STACK_EXACT | PARTITION_STACK_CUT);
    partition_reader_free(&reader);
    cut_result_fini(&result);
    end();
}
END_TEST

START_TEST(the_end_of_a_range_has_one_too)
{
    begin();
    stack_put(2, 1, 2, two_pcs, 2);
    row_control(RING_RECORD_OPEN, RING_EVENT_FIRST);
    row_step(1, 1);
    buf_put_uleb(&rows, RING_RECORD_END);
    buf_put_uleb(&rows, 5);
    row_stack(1);
    chunk_put((struct chunk_spec){.state = RING_CHUNK_WRITING});
    struct cut_result result;
    struct partition_sum sum = cut(NULL, &result);
    ck_assert_uint_eq(sum.regions, 1);
    struct partition_reader *reader = NULL;
    char error[256];
    struct trace_event event;
    bool found = false;
    ck_assert_int_eq(
        partition_reader_new(result.bytes.data, result.bytes.len, &reader, error, sizeof error),
        SKEIN_OK);
    while (partition_reader_next(reader, &event) == 1)
        found |= event.stack == 1;
    ck_assert(found);
    partition_reader_free(&reader);
    cut_result_fini(&result);
    end();
}
END_TEST

/* What a cut took before is not told again, and its stack not either. */
START_TEST(a_later_cut_goes_on_behind_a_stack)
{
    begin();
    stack_put(2, 1, 0, two_pcs, 2);
    row_step(1, 1);
    row_stack(1);
    chunk_put((struct chunk_spec){.state = RING_CHUNK_WRITING});
    struct cut_marks *marks = NULL;
    struct cut_result result;
    ck_assert_int_eq(cut_marks_new(process, &marks), SKEIN_OK);
    ck_assert_uint_eq(cut(marks, &result).steps, 1);
    cut_result_fini(&result);
    row_step(2, 1);
    row_stack(1);
    row_step(3, 1);
    chunk_grow(0);
    ck_assert_uint_eq(cut(marks, &result).steps, 2);
    struct partition_reader *reader = NULL;
    ck_assert_ptr_nonnull(event_stack(&reader, &result, 0));
    partition_reader_free(&reader);
    ck_assert_ptr_null(event_stack(&reader, &result, 1));
    partition_reader_free(&reader);
    cut_result_fini(&result);
    cut_marks_free(&marks);
    end();
}
END_TEST

START_TEST(a_stack_that_nobody_knows_is_none_and_counted)
{
    begin();
    stack_put(2, 1, 0, two_pcs, 2);
    row_step(1, 1);
    row_stack(7);
    row_step(2, 1);
    row_stack(UINT64_MAX);
    row_step(3, 1);
    row_stack(0);
    chunk_put((struct chunk_spec){.state = RING_CHUNK_WRITING});
    struct cut_result result;
    struct partition_sum sum = cut(NULL, &result);
    ck_assert_uint_eq(sum.steps, 3);
    ck_assert_uint_eq(result.lost[PARTITION_LOSS_NAME], 3);
    struct partition_reader *reader = NULL;
    ck_assert_ptr_null(event_stack(&reader, &result, 0));
    ck_assert_uint_eq(partition_reader_stack_count(reader), 0);
    partition_reader_free(&reader);
    cut_result_fini(&result);
    end();
}
END_TEST

/* Where no stack may be; a delta; one for two. */
START_TEST(a_stack_without_its_record_ends_the_chunk)
{
    for (int kind = 0; kind < 4; kind++) {
        begin();
        stack_put(2, 1, 0, two_pcs, 2);
        if (kind == 0) {
            row_stack(1);
            row_step(1, 1);
        } else {
            row_step(1, 1);
            if (kind == 1)
                row_control(RING_RECORD_GENERATION, 100);
            if (kind == 3)
                row_stack(1);
            row_stack_after(kind == 2 ? 1 : 0, 1);
            row_step(2, 1);
        }
        chunk_put(
            (struct chunk_spec){.state = RING_CHUNK_WRITING, .head = {.first.generation = 100}});
        struct cut_result result;
        int status = fixture_cut(host, process, NULL, 0, &result);
        ck_assert_int_eq(status, kind == 0 ? SKEIN_NOT_FOUND : SKEIN_OK);
        ck_assert_uint_eq(result.gap_count, 1);
        ck_assert_int_eq(result.gaps[0].reason, PARTITION_LOSS_CORRUPT);
        cut_result_fini(&result);
        end();
    }
}
END_TEST

/* Each way to spoil a stack's description. */
START_TEST(a_malformed_stack_is_none)
{
    static const char *const spoilt[] = {
        "\1",                 /* no end */
        "\1\0",               /* no count */
        "\1\0\0",             /* of nothing */
        "\1\3\1\5",           /* an end of no kind */
        "\1\0\2\5",           /* the last one missing */
        "\1\0\1\xff",         /* the last byte missing */
        "\1\0\1\5\5",         /* a byte too many */
        "\1\0\xff\xff\x7f\5", /* more than there can be */
    };
    static const size_t sizes[] = {1, 2, 3, 4, 4, 4, 5, 6};
    for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++) {
        begin();
        buf_put(&payload, spoilt[i], sizes[i]);
        table_add(2, RING_TABLE_STACK);
        row_step(1, 1);
        row_stack(1);
        chunk_put((struct chunk_spec){.state = RING_CHUNK_WRITING});
        struct cut_result result;
        ck_assert_uint_eq(cut(NULL, &result).steps, 1);
        ck_assert_msg(result.lost[PARTITION_LOSS_NAME] == 1, "%zu", i);
        cut_result_fini(&result);
        end();
    }
}
END_TEST

START_TEST(mappings_that_cannot_be_are_left_out)
{
    begin();
    mapping_put(2, 0x7f0000001000, 0x7f0000001000, "/empty");
    mapping_put(2, 0x7f0000002000, 0x7f0000001000, "/backwards");
    mapping_put(2, 0x7f0000000000, 0x7f0000010000, "/lib/\1libx.so");
    mapping_put(2, 0x7f0000008000, 0x7f0000018000, "/over another");
    buf_put(&payload, "\5\6\0\x21", 4); /* a build id that is longer than the record */
    table_add(2, RING_TABLE_MAPPING);
    stack_put(2, 1, 0, two_pcs, 2);
    row_step(1, 1);
    row_stack(1);
    chunk_put((struct chunk_spec){.state = RING_CHUNK_WRITING});
    struct cut_result result;
    ck_assert_uint_eq(cut(NULL, &result).losses, 0);
    struct partition_reader *reader = NULL;
    ck_assert_ptr_nonnull(event_stack(&reader, &result, 0));
    ck_assert_uint_eq(partition_reader_mapping_count(reader), 1);
    ck_assert_str_eq(partition_reader_mapping_at(reader, 0)->path, "/lib/?libx.so");
    partition_reader_free(&reader);
    cut_result_fini(&result);
    end();
}
END_TEST

/* In the epoch before, other code was there: of one partition's addresses, only one can be told. */
START_TEST(code_in_the_place_of_other_code_is_not_taken_for_it)
{
    begin();
    mapping_put(2, 0x7f0000000000, 0x7f0000010000, "/lib/liba.so");
    stack_put(2, 1, 0, two_pcs, 1);
    table_put(3);
    mapping_put(3, 0x7f0000000000, 0x7f0000010000, "/lib/libb.so");
    stack_put(3, 1, 0, two_pcs, 1);
    stack_put(3, 2, 0, two_pcs + 1, 1);
    row_step(1, 1);
    row_stack(1);
    row_control(RING_RECORD_EPOCH, 3);
    row_step(2, 1);
    row_stack(1);
    row_step(3, 1);
    row_stack(2);
    chunk_put((struct chunk_spec){.state = RING_CHUNK_WRITING});
    struct cut_result result;
    ck_assert_uint_eq(cut(NULL, &result).steps, 3);
    ck_assert_uint_eq(result.lost[PARTITION_LOSS_NAME], 1);
    struct partition_reader *reader = NULL;
    ck_assert_ptr_nonnull(event_stack(&reader, &result, 0));
    ck_assert_str_eq(partition_reader_mapping(reader, two_pcs[0] - 1)->path, "/lib/liba.so");
    partition_reader_free(&reader);
    ck_assert_ptr_null(event_stack(&reader, &result, 1));
    partition_reader_free(&reader);
    ck_assert_ptr_nonnull(event_stack(&reader, &result, 2));
    partition_reader_free(&reader);
    cut_result_fini(&result);
    end();
}
END_TEST

int main(void)
{
    return suite_run(suite_of("ring_stacks", a_stack_comes_out_with_its_record_and_its_mappings,
                              the_end_of_a_range_has_one_too, a_later_cut_goes_on_behind_a_stack,
                              a_stack_that_nobody_knows_is_none_and_counted,
                              a_stack_without_its_record_ends_the_chunk, a_malformed_stack_is_none,
                              mappings_that_cannot_be_are_left_out,
                              code_in_the_place_of_other_code_is_not_taken_for_it, NULL));
}
