/* SPDX-License-Identifier: Apache-2.0
 * Events as lines of JSON and of text. */
#include "reading.h"

#include "json.h"
#include "trace_json.h"
#include "trace_text.h"

static void expect_json(const struct partition_info *info, const struct trace_event *event,
                        const char *want)
{
    struct buf line = {0};
    char error[256] = "";
    trace_json_put(&line, info, event, NULL);
    cJSON *parsed = json_parse((char *)line.data, line.len, error, sizeof error);
    ck_assert_msg(parsed != NULL, "%s in %.*s", error, (int)line.len, line.data);
    cJSON_Delete(parsed);
    ck_assert_int_eq(line.data[line.len - 1], '\n');
    line.data[line.len - 1] = 0;
    ck_assert_str_eq((char *)line.data, want);
    buf_fini(&line);
}

#define HEAD                                                                                       \
    "\"process\":\"0102030405060708090a0b0c0d0e0f10\",\"service\":\"checkout\",\"pid\":4711,"

START_TEST(durations_are_rounded_in_both_forms_and_to_the_next_unit)
{
    static const struct {
        uint64_t ns;
        const char *whole, *shorter;
    } cases[] = {{0, "0 ns", "0 ns"},
                 {999, "999 ns", "999 ns"},
                 {1049, "1.049 us", "1.0 us"},
                 {1050, "1.050 us", "1.1 us"},
                 {999949, "999.949 us", "999.9 us"},
                 {999950, "999.950 us", "1.0 ms"},
                 {999999, "999.999 us", "1.0 ms"},
                 {12345499, "12.345 ms", "12.3 ms"},
                 {999949999, "999.950 ms", "999.9 ms"},
                 {999950000, "999.950 ms", "1.000 s"},
                 {999999499, "999.999 ms", "1.000 s"},
                 {999999500, "1.000 s", "1.000 s"},
                 {3986700000, "3.987 s", "3.987 s"},
                 {UINT64_MAX, "18446744073.710 s", "18446744073.710 s"}};
    char text[TRACE_DURATION_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trace_duration_text(cases[i].ns, text);
        ck_assert_str_eq(text, cases[i].whole);
        trace_duration_short(cases[i].ns, text);
        ck_assert_str_eq(text, cases[i].shorter);
    }
}
END_TEST

START_TEST(every_integer_keeps_its_64_bits)
{
    struct partition_info info = sample_info();
    struct partition_thread thread = {7, "main", 1};
    struct trace_event event = {.kind = TRACE_INSTANT,
                                .time_ns = SAMPLE_EPOCH_NS + 1,
                                .thread = &thread,
                                .type = &sample_all};
    event.args[0].f64 = 0.1;
    event.args[1].u64 = 0;
    event.args[2].u64 = UINT64_MAX;
    event.args[3] = sample_str("x");
    event.args[4] = sample_seq(UINT64_MAX, UINT64_MAX - 1);
    event.args[5].i64 = INT64_MIN;
    expect_json(&info, &event,
                "{\"ts_ns\":\"1795254000000000001\"," HEAD
                "\"thread\":\"main\",\"tid\":7,\"type\":\"instant\",\"name\":\"all\",\"args\":{"
                "\"ratio\":0.10000000000000001,\"hit\":false,\"at\":\"0xffffffffffffffff\","
                "\"trace_id\":\"x\",\"lock\":{\"resource\":\"18446744073709551615\","
                "\"number\":\"18446744073709551614\"},\"delta\":\"-9223372036854775808\"},"
                "\"file\":\"all.c\",\"line\":1}");
}
END_TEST

START_TEST(hostile_text_stays_inside_its_string)
{
    struct partition_info info = sample_info();
    info.service = "a\"b\\c\n\x01";
    struct partition_thread thread = {7, "\xff\xc3\xa9\xed\xa0\x80", 1};
    struct trace_event event = {
        .kind = TRACE_LOG, .time_ns = 5, .thread = &thread, .type = &sample_log};
    event.args[0].u64 = SKEIN_ERROR;
    event.args[1] = sample_str("\x1b[2Jx\x7f");
    event.args[1].str.cut = true;
    expect_json(&info, &event,
                "{\"ts_ns\":5,\"process\":\"0102030405060708090a0b0c0d0e0f10\","
                "\"service\":\"a\\\"b\\\\c\\n\\u0001\",\"pid\":4711,"
                "\"thread\":\"\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",\"tid\":7,"
                "\"type\":\"log\",\"name\":\"log\",\"args\":{\"level\":3,"
                "\"text\":\"\\u001b[2Jx\\u007f\"},\"cut\":true}");
    struct buf line = {0};
    trace_text_put(&line, &info, &event);
    for (size_t i = 0; i + 1 < line.len; i++)
        ck_assert(line.data[i] >= 0x20 && line.data[i] != 0x7f);
    buf_fini(&line);
}
END_TEST

START_TEST(each_kind_has_its_name_and_members)
{
    struct partition_info info = sample_info();
    struct partition_thread thread = {7, "main", 1};
    struct trace_event event = {.kind = TRACE_REGION,
                                .time_ns = SAMPLE_EPOCH_NS,
                                .dur_ns = 1500000000,
                                .depth = 2,
                                .fixed_up = true,
                                .thread = &thread,
                                .type = &sample_read};
    event.args[0].i64 = 5;
    event.args[1].i64 = -11;
    expect_json(&info, &event,
                "{\"ts_ns\":\"1795254000000000000\",\"dur_ns\":1500000000," HEAD
                "\"thread\":\"main\",\"tid\":7,\"type\":\"region\",\"name\":\"read\",\"args\":{"
                "\"fd\":5,\"result\":-11},\"depth\":2,\"fixed_up\":true}");
    event = (struct trace_event){.kind = TRACE_OPEN,
                                 .time_ns = 9,
                                 .dur_ns = 7,
                                 .thread = &thread,
                                 .type = &sample_read,
                                 .detail = -3,
                                 .has_detail = true};
    expect_json(&info, &event,
                "{\"ts_ns\":9,\"open_ns\":7," HEAD
                "\"thread\":\"main\",\"tid\":7,\"type\":\"open\",\"name\":\"read\",\"args\":{"
                "\"fd\":-3}}");
    struct partition_loss loss = {UINT32_MAX, PARTITION_LOSS_RING_FULL, 12, 1, 2};
    event = (struct trace_event){.kind = TRACE_LOSS, .time_ns = 9, .dur_ns = 7, .loss = &loss};
    expect_json(
        &info, &event,
        "{\"ts_ns\":9," HEAD
        "\"thread\":null,\"tid\":null,\"type\":\"loss\",\"name\":\"records lost\",\"args\":{"
        "\"reason\":\"ring_full\",\"events\":12,\"to_ts_ns\":16}}");
    event = (struct trace_event){.kind = TRACE_END_ONLY, .time_ns = 9, .thread = &thread};
    expect_json(&info, &event,
                "{\"ts_ns\":9," HEAD
                "\"thread\":\"main\",\"tid\":7,\"type\":\"end\",\"name\":\"unknown\",\"args\":{}}");
}
END_TEST

START_TEST(integers_are_numbers_as_long_as_every_reader_keeps_them)
{
    struct partition_info info = sample_info();
    struct trace_event event = {.kind = TRACE_INSTANT, .time_ns = 9, .type = &sample_read};
    event.args[0].i64 = -(INT64_C(1) << 53);
    event.args[1].i64 = (INT64_C(1) << 53) + 1;
    expect_json(&info, &event,
                "{\"ts_ns\":9," HEAD
                "\"thread\":null,\"tid\":null,\"type\":\"instant\",\"name\":\"read\",\"args\":{"
                "\"fd\":-9007199254740992,\"result\":\"9007199254740993\"}}");
}
END_TEST

START_TEST(a_line_says_where_its_event_is_in_the_source)
{
    struct partition_info info = sample_info();
    struct partition_event_type type = sample_query;
    struct trace_event event = {.kind = TRACE_INSTANT, .time_ns = SAMPLE_EPOCH_NS, .type = &type};
    event.args[0] = sample_str("x");
    event.args[1] = sample_u64(2);
    type.file = "/home/me/shop/src/db\x1b.c";
    struct buf line = {0};
    trace_text_put(&line, &info, &event);
    buf_put_u8(&line, 0);
    ck_assert_str_eq((char *)line.data, "2026-11-21T09:40:00.000000Z checkout[4711] -  instant  "
                                        "query  sql=\"x\" rows=2  (db\\x1b.c:17)\n");
    buf_fini(&line);
}
END_TEST

START_TEST(a_text_line_reads_well)
{
    struct partition_info info = sample_info();
    struct partition_thread thread = {7, "main", 1};
    struct trace_event event = {.kind = TRACE_REGION,
                                .time_ns = SAMPLE_EPOCH_NS + 123456789,
                                .dur_ns = 2003000000,
                                .thread = &thread,
                                .type = &sample_read};
    event.args[0].i64 = 5;
    event.args[1].i64 = 64;
    struct buf line = {0};
    trace_text_put(&line, &info, &event);
    buf_put_u8(&line, 0);
    ck_assert_str_eq((char *)line.data,
                     "2026-11-21T09:40:00.123456Z checkout[4711] main/7  region   "
                     "read  2.003 s  fd=5 result=64 bytes\n");
    buf_fini(&line);
    char text[TRACE_DURATION_BYTES];
    trace_duration_text(640, text);
    ck_assert_str_eq(text, "640 ns");
    trace_duration_text(1500, text);
    ck_assert_str_eq(text, "1.500 us");
    trace_duration_text(12345678, text);
    ck_assert_str_eq(text, "12.346 ms"); /* the nearest */
}
END_TEST

static const struct partition_event_type sample_mutex = {.name = "mutex_lock",
                                                         .text = "",
                                                         .file = "",
                                                         .klass = SKEIN_CLASS_SPAN,
                                                         .nargs = 3,
                                                         .args = {{SKEIN_T_I64, "lock", "address"},
                                                                  {SKEIN_T_I64, "result", "errno"},
                                                                  {SKEIN_T_I64, "asked", "ns"}}};

static void expect_line(const struct partition_info *info, const struct trace_event *event,
                        const char *end)
{
    struct buf line = {0};
    trace_text_put(&line, info, event);
    buf_put_u8(&line, 0);
    const char *found = strstr((char *)line.data, "mutex_lock");
    ck_assert_ptr_nonnull(found);
    ck_assert_str_eq(found, end);
    buf_fini(&line);
}

START_TEST(errors_have_their_names_and_addresses_are_hexadecimal)
{
    struct partition_info info = sample_info();
    struct trace_event event = {.kind = TRACE_REGION, .dur_ns = 640, .type = &sample_mutex};
    event.args[0].i64 = 0x7ffe12345678;
    event.args[1].i64 = -111;
    event.args[2].i64 = 5;
    expect_line(&info, &event,
                "mutex_lock  640 ns  lock=0x7ffe12345678 result=-111 (ECONNREFUSED) asked=5 ns\n");
    expect_json(
        &info, &event,
        "{\"ts_ns\":0,\"dur_ns\":640," HEAD
        "\"thread\":null,\"tid\":null,\"type\":\"region\",\"name\":\"mutex_lock\",\"args\":{"
        "\"lock\":140729203840632,\"result\":-111,\"asked\":5},"
        "\"error\":\"ECONNREFUSED\"}");
    event.args[1].i64 = -4000; /* no error's number */
    event.args[2].i64 = -5;    /* no error number at all */
    expect_line(&info, &event,
                "mutex_lock  640 ns  lock=0x7ffe12345678 result=-4000 asked=-5 ns\n");
    ck_assert_ptr_null(trace_error_name("errno", INT64_MIN));
    ck_assert_ptr_null(trace_error_name("errno", 0));
    event.kind = TRACE_OPEN;
    event.has_detail = true;
    event.detail = 0x1000;
    expect_line(&info, &event, "mutex_lock  640 ns so far  lock=0x1000\n");
}
END_TEST

int main(void)
{
    return suite_run(suite_of("trace_json",
                              durations_are_rounded_in_both_forms_and_to_the_next_unit,
                              every_integer_keeps_its_64_bits, hostile_text_stays_inside_its_string,
                              each_kind_has_its_name_and_members, a_text_line_reads_well,
                              integers_are_numbers_as_long_as_every_reader_keeps_them,
                              a_line_says_where_its_event_is_in_the_source,
                              errors_have_their_names_and_addresses_are_hexadecimal, NULL));
}
