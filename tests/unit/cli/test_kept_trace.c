/* SPDX-License-Identifier: Apache-2.0
 * Traces of Go that a file has kept: found, put together in any order, and never from half of them,
 * others' or a program's own words. */
#include "kept_trace.h"

#include <string.h>

#include "checksum.h"
#include "skein/status.h"
#include "support.h"

static const struct partition_event_type head = {.name = "go.trace",
                                                 .nargs = 4,
                                                 .args = {{SKEIN_T_STR, "kind", ""},
                                                          {SKEIN_T_U64, "bytes", ""},
                                                          {SKEIN_T_U64, "checksum", ""},
                                                          {SKEIN_T_U64, "parts", ""}}};
static const struct partition_event_type part = {
    .name = "go.trace.part",
    .nargs = 3,
    .args = {{SKEIN_T_STR, "kind", ""}, {SKEIN_T_U64, "offset", ""}, {SKEIN_T_STR, "data", ""}}};

static const struct partition_info ours = {
    .key = {.process = {{1}}}, .pid = 7, .host = "h", .service = "s", .evidence = true};
static struct kept_traces traces;

static struct trace_event event_of(const struct partition_event_type *type, const char *kind,
                                   uint64_t number)
{
    struct trace_event event = {.type = type, .ticks = 5};
    event.args[0].str.text = kind;
    event.args[0].str.len = (uint32_t)strlen(kind);
    event.args[1].u64 = number;
    return event;
}

static int said(const struct partition_info *info, const char *kind, uint64_t bytes,
                uint64_t checksum)
{
    struct trace_event event = event_of(&head, kind, bytes);
    event.args[2].u64 = checksum;
    return kept_traces_note(&traces, info, &event);
}

static struct trace_event part_of(const char *kind, uint64_t offset, const char *letters)
{
    struct trace_event event = event_of(&part, kind, offset);
    event.args[2].str.text = letters;
    event.args[2].str.len = (uint32_t)strlen(letters);
    return event;
}

static int took(const char *kind, uint64_t offset, const char *letters)
{
    const struct trace_event event = part_of(kind, offset, letters);
    return kept_trace_take(&traces.items[0], &ours, &event);
}

static void setup(void)
{
    ck_assert_int_eq(said(&ours, "before", 6, checksum64("foobar", 6)), SKEIN_OK);
    ck_assert_uint_eq(traces.count, 1);
    ck_assert_str_eq(traces.items[0].kind, "before");
    ck_assert_uint_eq(traces.items[0].pid, 7);
}

static void teardown(void)
{
    kept_traces_fini(&traces);
}

START_TEST(parts_come_in_any_order)
{
    ck_assert_int_eq(took("before", 3, "YmFy"), SKEIN_OK);
    ck_assert(!kept_trace_whole(&traces.items[0])); /* a hole, up to its end */
    ck_assert_int_eq(took("before", 0, "Zm9v"), SKEIN_OK);
    ck_assert(kept_trace_whole(&traces.items[0]));
    ck_assert_int_eq(memcmp(traces.items[0].bytes, "foobar", 6), 0);
}
END_TEST

START_TEST(a_part_that_is_missing_or_changed_is_seen)
{
    ck_assert(!kept_trace_whole(&traces.items[0]));
    ck_assert_int_eq(took("before", 0, "Zm9v"), SKEIN_OK);
    ck_assert(!kept_trace_whole(&traces.items[0]));
    ck_assert_int_eq(took("before", 3, "YmFz"), SKEIN_OK);
    ck_assert(!kept_trace_whole(&traces.items[0]));
}
END_TEST

START_TEST(what_is_beyond_its_end_or_no_letters_is_refused)
{
    ck_assert_int_eq(took("before", 4, "YmFy"), SKEIN_CORRUPT);
    ck_assert_int_eq(took("before", UINT64_MAX, "YmFy"), SKEIN_CORRUPT);
    ck_assert_int_eq(took("before", 0, "Zm9"), SKEIN_CORRUPT);
    ck_assert_int_eq(took("before", 0, "Zm9v!"), SKEIN_CORRUPT);
    ck_assert_ptr_null(traces.items[0].bytes);
    traces.items[0].total = KEPT_BYTES_MAX + 1;
    ck_assert_int_eq(took("before", 0, "Zm9v"), SKEIN_TOO_LARGE);
}
END_TEST

START_TEST(parts_of_others_are_left_alone)
{
    struct kept_trace *one = &traces.items[0];
    struct partition_info other = ours, own = ours;
    other.key.process.bytes[0] = 2;
    own.evidence = false; /* the program's own event of that name */
    struct trace_event event = part_of("before", 0, "Zm9v"), later = event;
    later.ticks = 6;
    ck_assert_int_eq(kept_trace_take(one, &other, &event), SKEIN_OK);
    ck_assert_int_eq(kept_trace_take(one, &own, &event), SKEIN_OK);
    ck_assert_int_eq(kept_trace_take(one, &ours, &later), SKEIN_OK);
    ck_assert_int_eq(took("after", 0, "Zm9v"), SKEIN_OK);
    ck_assert_ptr_null(one->bytes);
    ck_assert_int_eq(said(&own, "before", 6, 1), SKEIN_OK);
    ck_assert_int_eq(said(&ours, "a kind that is too long", 6, 1), SKEIN_OK);
    ck_assert_uint_eq(traces.count, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kept_trace");
    TCase *t = tcase_create("kept");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, parts_come_in_any_order);
    tcase_add_test(t, a_part_that_is_missing_or_changed_is_seen);
    tcase_add_test(t, what_is_beyond_its_end_or_no_letters_is_refused);
    tcase_add_test(t, parts_of_others_are_left_alone);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
