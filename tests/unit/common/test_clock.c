/* SPDX-License-Identifier: Apache-2.0
 * Times print and parse to the same instant; wrong ones are refused. */
#include "clock.h"

#include <inttypes.h>
#include <string.h>

#include "skein/status.h"
#include "support.h"

START_TEST(known_instants_print_right)
{
    static const struct {
        uint64_t s;
        const char *text;
    } known[] = {{0, "1970-01-01T00:00:00.000Z"},
                 {951782399, "2000-02-28T23:59:59.000Z"},
                 {951782400, "2000-02-29T00:00:00.000Z"},
                 {4107542400, "2100-03-01T00:00:00.000Z"},
                 {1795254000, "2026-11-21T09:40:00.000Z"}};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        char text[CLOCK_TEXT_BYTES];
        clock_text(known[i].s * 1000000000, text);
        ck_assert_str_eq(text, known[i].text);
    }
}
END_TEST

START_TEST(text_parses_back)
{
    for (uint64_t ns = 0; ns < UINT64_C(18000000000000000000); ns += UINT64_C(31556952123000000)) {
        char text[CLOCK_TEXT_BYTES];
        uint64_t back;
        clock_text(ns, text);
        ck_assert_msg(clock_parse(text, &back) == SKEIN_OK, "%s", text);
        ck_assert_msg(back == ns / 1000000 * 1000000, "%s: %" PRIu64 " %" PRIu64, text, back, ns);
    }
    char last[CLOCK_TEXT_BYTES];
    uint64_t back;
    clock_text(UINT64_MAX, last);
    ck_assert_str_eq(last, "2554-07-21T23:34:33.709Z");
    ck_assert_int_eq(clock_parse(last, &back), SKEIN_OK);
    ck_assert_uint_eq(back, UINT64_MAX / 1000000 * 1000000);
    ck_assert_int_eq(clock_parse("2554-07-21T23:34:33.709551616Z", &back), SKEIN_INVALID);
}
END_TEST

START_TEST(zones_and_fractions_are_read)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } known[] = {{"1970-01-01T00:00:01Z", 1000000000},
                 {"1970-01-01t00:00:00.5z", 500000000},
                 {"1970-01-01T00:00:00.1234567899Z", 123456789},
                 {"1970-01-01T02:00:00+02:00", 0},
                 {"1969-12-31T23:00:00-01:00", UINT64_MAX},
                 {"1970-01-01T00:00:00-01:30", UINT64_C(5400000000000)}};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        uint64_t ns;
        int status = clock_parse(known[i].text, &ns);
        if (known[i].ns == UINT64_MAX) {
            ck_assert_int_eq(status, SKEIN_INVALID);
            continue;
        }
        ck_assert_msg(status == SKEIN_OK && ns == known[i].ns, "%s", known[i].text);
    }
}
END_TEST

START_TEST(wrong_times_are_refused)
{
    static const char *const wrong[] = {
        "",
        "2026",
        "2026-11-21",
        "2026-11-21T09:40:00",
        "2026-11-21T09:40:00.Z",
        "2026-13-21T09:40:00Z",
        "2026-02-29T09:40:00Z",
        "2026-11-21T24:40:00Z",
        "2026-11-21T09:60:00Z",
        "2026-11-21T09:40:00Zx",
        "2026-11-21T09:40:00+2:00",
        "2026-11-21T09:40:00+24:00",
        "2026-11-21X09:40:00Z",
        "1970-01-01T00:00:00+00:01",
        "2600-01-01T00:00:00Z",
        "-026-11-21T09:40:00Z",
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t ns = 5;
        ck_assert_msg(clock_parse(wrong[i], &ns) == SKEIN_INVALID, "%s", wrong[i]);
        ck_assert_uint_eq(ns, 5);
    }
}
END_TEST

START_TEST(shifted_times_stay_within_bounds)
{
    ck_assert_uint_eq(clock_shift_ns(7, 0), 7);
    ck_assert_uint_eq(clock_shift_ns(7, -5), 2);
    ck_assert_uint_eq(clock_shift_ns(7, 5), 12);
    ck_assert_uint_eq(clock_shift_ns(7, -8), 0);
    ck_assert_uint_eq(clock_shift_ns(7, INT64_MIN), 0);
    ck_assert_uint_eq(clock_shift_ns(UINT64_MAX, INT64_MIN), INT64_MAX);
    ck_assert_uint_eq(clock_shift_ns(UINT64_MAX - 3, 4), UINT64_MAX);
    ck_assert_uint_eq(clock_shift_ns(UINT64_MAX, INT64_MAX), UINT64_MAX);
}
END_TEST

START_TEST(clocks_run)
{
    uint64_t a = clock_monotonic_ns(), b = clock_monotonic_ns();
    ck_assert_uint_ge(b, a);
    ck_assert_uint_gt(clock_realtime_ns(), UINT64_C(1600000000000000000));
    ck_assert_uint_ge(clock_boottime_ns(), a);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("clock", known_instants_print_right, text_parses_back,
                              zones_and_fractions_are_read, wrong_times_are_refused,
                              shifted_times_stay_within_bounds, clocks_run, NULL));
}
