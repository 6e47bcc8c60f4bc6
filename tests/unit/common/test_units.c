/* SPDX-License-Identifier: Apache-2.0 */
#include "units.h"

#include "support.h"

START_TEST(numbers_have_units)
{
    static const struct {
        const char *text;
        enum unit unit;
        uint64_t value;
    } good[] = {{"10s", UNIT_MS, 10000},
                {"500ms", UNIT_MS, 500},
                {"1.5s", UNIT_MS, 1500},
                {"0.25h", UNIT_MS, 900000},
                {"7d", UNIT_MS, 604800000},
                {"1w", UNIT_MS, 604800000},
                {"2000us", UNIT_MS, 2},
                {"0", UNIT_MS, 0},
                {"0s", UNIT_MS, 0},
                {"0.0", UNIT_BYTES, 0},
                {"20us", UNIT_NS, 20000},
                {"1ms", UNIT_US, 1000},
                {"18446744073709551615ns", UNIT_NS, UINT64_MAX},
                {"64MiB", UNIT_BYTES, UINT64_C(64) << 20},
                {"1.5GiB", UNIT_BYTES, UINT64_C(3) << 29},
                {"20GB", UNIT_BYTES, UINT64_C(20000000000)},
                {"1kB", UNIT_BYTES, 1000},
                {"7B", UNIT_BYTES, 7},
                {"1.000000001GB", UNIT_BYTES, 1000000001},
                {"16777215.99999TiB", UNIT_NONE, 0}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        uint64_t value = 5;
        int wanted = good[i].unit == UNIT_NONE ? SKEIN_INVALID : SKEIN_OK;
        ck_assert_msg(unit_parse(good[i].text, good[i].unit, &value) == wanted, "%s", good[i].text);
        ck_assert_msg(value == (wanted == SKEIN_OK ? good[i].value : 5), "%s", good[i].text);
    }
}
END_TEST

START_TEST(what_is_no_number_with_a_unit_is_refused)
{
    static const struct {
        const char *text;
        enum unit unit;
        int status;
    } bad[] = {{"", UNIT_MS, SKEIN_INVALID},
               {"s", UNIT_MS, SKEIN_INVALID},
               {"-1s", UNIT_MS, SKEIN_INVALID},
               {"+1s", UNIT_MS, SKEIN_INVALID},
               {"1 s", UNIT_MS, SKEIN_INVALID},
               {"1S", UNIT_MS, SKEIN_INVALID},
               {"1sx", UNIT_MS, SKEIN_INVALID},
               {"1.s", UNIT_MS, SKEIN_INVALID},
               {".5s", UNIT_MS, SKEIN_INVALID},
               {"1e3s", UNIT_MS, SKEIN_INVALID},
               {"nan", UNIT_MS, SKEIN_INVALID},
               {"1.0000000001s", UNIT_NS, SKEIN_INVALID},
               {"1", UNIT_MS, SKEIN_TRUNCATED},
               {"1.5", UNIT_BYTES, SKEIN_TRUNCATED},
               {"1us", UNIT_MS, SKEIN_INVALID}, /* a part of a millisecond */
               {"0.5B", UNIT_BYTES, SKEIN_INVALID},
               {"1s", UNIT_BYTES, SKEIN_INVALID},
               {"1MiB", UNIT_MS, SKEIN_INVALID},
               {"18446744073709551616ns", UNIT_NS, SKEIN_INVALID},
               {"18446744073709551615w", UNIT_NS, SKEIN_INVALID},
               {"16777216TiB", UNIT_BYTES, SKEIN_INVALID}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t value = 5;
        ck_assert_msg(unit_parse(bad[i].text, bad[i].unit, &value) == bad[i].status, "%s",
                      bad[i].text);
        ck_assert_uint_eq(value, 5);
    }
}
END_TEST

START_TEST(names_say_their_unit)
{
    ck_assert_int_eq(unit_of_name("pre_ms"), UNIT_MS);
    ck_assert_int_eq(unit_of_name("over_us"), UNIT_US);
    ck_assert_int_eq(unit_of_name("io_ns"), UNIT_NS);
    ck_assert_int_eq(unit_of_name("max_bytes"), UNIT_BYTES);
    ck_assert_int_eq(unit_of_name("bytes"), UNIT_BYTES);
    ck_assert_int_eq(unit_of_name("bytes_per_hour"), UNIT_BYTES);
    ck_assert_int_eq(unit_of_name("_ms"), UNIT_NONE);
    ck_assert_int_eq(unit_of_name("items"), UNIT_NONE);
    ck_assert_int_eq(unit_of_name(""), UNIT_NONE);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("units", numbers_have_units, what_is_no_number_with_a_unit_is_refused,
                              names_say_their_unit, NULL));
}
