/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions of rules: what an agent takes from JSON, and what it measures and judges of a system
 * whose files are texts of the test.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rule_spec.h"
#include "rule_system.h"
#include "support.h"

#define S UINT64_C(1000000000)

static int spec_read(const char *when, struct rule_spec **spec, char error[256])
{
    char text[1024];
    snprintf(text, sizeof text, "{\"name\":\"r\",\"selector\":\"\",\"when\":{%s}}", when);
    cJSON *json = cJSON_Parse(text);
    ck_assert_ptr_nonnull(json);
    error[0] = '\0';
    int status = rule_spec_new(json, spec, error, 256);
    cJSON_Delete(json);
    return status;
}

static struct rule_spec *spec_of(const char *when)
{
    struct rule_spec *spec;
    char error[256];
    int status = spec_read(when, &spec, error);
    ck_assert_msg(status == SKEIN_OK, "%s: %s", when, error);
    return spec;
}

/* Of a stall everybody is dumped, unless the rule says otherwise. */
START_TEST(evidence_is_what_the_rule_says_or_its_condition)
{
    static const struct {
        const char *rule;
        bool threads, vitals;
    } rows[] = {
        {"\"latency\":{\"region\":\"q\",\"over_us\":1}}", true, true},
        {"\"health\":{\"heartbeat\":{}}}", true, true},
        {"\"health\":{\"tcp\":{\"address\":\"a:1\"}}},\"capture\":{\"threads\":false}", false,
         true},
        {"\"health\":{\"tcp\":{\"address\":\"a:1\"}}},\"capture\":{\"evidence\":[\"vitals\"]}",
         false, true},
        {"\"log\":{}}", false, true},
        {"\"log\":{}},\"capture\":{\"threads\":true}", true, true},
        {"\"crash\":{}},\"capture\":{\"evidence\":[\"threads\",\"later\"]}", true, false},
    };
    char when[256];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        /* spec_read ends what it is given with a brace */
        (void)snprintf(when, sizeof when, "%s,\"x\":{", rows[i].rule);
        struct rule_spec *spec = spec_of(when);
        ck_assert_msg(evidence_wish_has(&spec->wish, "threads") == rows[i].threads, "%s", when);
        ck_assert_msg(evidence_wish_has(&spec->wish, "vitals") == rows[i].vitals, "%s", when);
        rule_spec_free(&spec);
    }
}
END_TEST

START_TEST(each_condition_is_read_with_its_defaults)
{
    struct rule_spec *spec =
        spec_of("\"latency\":{\"region\":\"query\",\"over_us\":500,\"count\":3}");
    ck_assert_int_eq(spec->when, RULE_LATENCY);
    ck_assert_str_eq(spec->event.name, "query");
    ck_assert_uint_eq(spec->event.count, 3);
    ck_assert_uint_eq(spec->event.window_ms, 60000);
    rule_spec_free(&spec);
    spec = spec_of("\"counter\":{\"name\":\"free\",\"below\":1.5}");
    ck_assert(spec->event.below && spec->event.bound == 1.5);
    rule_spec_free(&spec);
    spec = spec_of("\"pressure\":{\"resource\":\"io\",\"above_percent\":20}");
    ck_assert(spec->system.host && !spec->system.full);
    ck_assert_str_eq(spec->system.resource, "io");
    ck_assert_uint_eq(spec->system.for_ms, 10000);
    rule_spec_free(&spec);
    spec = spec_of("\"memory\":{\"above_bytes\":\"9007199254740993\"}");
    ck_assert(!spec->system.host && spec->system.bytes);
    ck_assert_uint_eq(spec->system.above, UINT64_C(9007199254740993));
    rule_spec_free(&spec);
    spec = spec_of("\"log\":{\"match\":\"^disk (full|gone)$\"}");
    ck_assert_uint_eq(spec->event.level, 2);
    ck_assert(rule_spec_matches(spec, "disk full"));
    ck_assert(!rule_spec_matches(spec, "disk fuller"));
    rule_spec_free(&spec);
    spec = spec_of("\"application\":{}");
    ck_assert(rule_spec_matches(spec, "anything"));
    rule_spec_free(&spec);
}
END_TEST

START_TEST(what_the_collector_evaluates_is_left_out_and_what_is_wrong_is_named)
{
    static const char *const wrong[] = {"\"latency\":{\"region\":\"\",\"over_us\":1}",
                                        "\"latency\":{\"region\":\"q\"}",
                                        "\"latency\":{\"region\":\"q\",\"over_us\":1,\"count\":0}",
                                        "\"log\":{\"level\":\"loud\"}",
                                        "\"log\":{\"match\":\"(\"}",
                                        "\"log\":{\"match\":\"((a{200}){200}){200}\"}",
                                        "\"log\":{\"match\":\"(a{0,60000}){0,2}\"}",
                                        "\"log\":{\"match\":\"(a*)*\\\\1\"}",
                                        "\"counter\":{\"name\":\"n\"}",
                                        "\"counter\":{\"name\":\"n\",\"above\":1,\"below\":2}",
                                        "\"counter\":{\"name\":\"n\",\"above\":\"1\"}",
                                        "\"cpu\":{}",
                                        "\"cpu\":{\"of\":\"moon\",\"above_percent\":1}",
                                        "\"memory\":{\"above_bytes\":1,\"above_percent\":1}",
                                        "\"pressure\":{\"resource\":\"gpu\",\"above_percent\":1}",
                                        "\"crash\":{},\"application\":{}",
                                        "\"telepathy\":{}"};
    struct rule_spec *spec;
    char error[256];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ck_assert_msg(spec_read(wrong[i], &spec, error) == SKEIN_INVALID, "%s", wrong[i]);
        ck_assert_msg(strncmp(error, "when", 4) == 0, "%s: %s", wrong[i], error);
        ck_assert_ptr_null(spec);
    }
    ck_assert_int_eq(spec_read("\"schedule\":{\"every_ms\":1000}", &spec, error),
                     SKEIN_UNSUPPORTED);
    ck_assert_int_eq(spec_read("\"webhook\":{}", &spec, error), SKEIN_UNSUPPORTED);
    ck_assert_ptr_null(spec);
}
END_TEST

/* ---- a system of texts ---- */

static char *folder;
static struct system_source source;
static char why[256];

static void setup(void)
{
    static const char *const folders[] = {"42", "pressure", "box"};
    folder = temp_dir_new();
    for (size_t i = 0; i < 3; i++) {
        char *path = path_join(folder, folders[i]);
        ck_assert_int_eq(mkdir(path, 0700), 0);
        free(path);
    }
    source =
        (struct system_source){.proc = folder, .cgroup = folder, .pid = 42, .start_ticks = 987};
}

static void teardown(void)
{
    temp_dir_free(&folder);
}

static void put(const char *name, const char *text)
{
    char *path = path_join(folder, name);
    file_write_text(path, text);
    free(path);
}

static void put_stat(uint64_t ticks, uint64_t start)
{
    char text[256];
    snprintf(text, sizeof text,
             "42 (x) S 1 42 42 0 -1 4194560 10 0 0 0 %" PRIu64 " 0 0 0 20 0 4 0 %" PRIu64
             " 1000 25\n",
             ticks, start);
    put("42/stat", text);
}

static int measure(const struct rule_spec *spec, struct system_state *state, uint64_t s,
                   double *measured)
{
    return system_measure(spec, &source, s * S, state, measured, why, sizeof why);
}

START_TEST(cpu_of_a_process_fires_when_it_was_high_for_long_enough)
{
    struct rule_spec *spec = spec_of("\"cpu\":{\"above_percent\":150,\"for_ms\":2000}");
    struct system_state state = {.begun = false};
    struct check_result result = {.passed = false};
    uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
    double measured = 0;
    put_stat(100 * hz, 987);
    ck_assert_int_eq(measure(spec, &state, 10, &measured), SKEIN_AGAIN);
    for (uint64_t second = 1; second <= 3; second++) {
        put_stat((100 + 2 * second) * hz, 987);
        ck_assert_int_eq(measure(spec, &state, 10 + second, &measured), SKEIN_OK);
        ck_assert(measured > 199.9 && measured < 200.1);
        system_judge(spec, &state, (10 + second) * S, measured, &result);
        ck_assert_int_eq(result.passed, second < 3);
    }
    ck_assert_str_eq(result.reason,
                     "CPU use of the process was at least 200.0 % for 2000 ms (limit 150 %)");
    put_stat(106 * hz, 987); /* idle for a second: over, and to be held anew */
    ck_assert_int_eq(measure(spec, &state, 14, &measured), SKEIN_OK);
    system_judge(spec, &state, 14 * S, measured, &result);
    ck_assert(result.passed && !state.above);
    put_stat(108 * hz, 4711); /* another process has the number now */
    ck_assert_int_eq(measure(spec, &state, 15, &measured), SKEIN_NOT_FOUND);
    ck_assert_str_eq(why, "the CPU time of the process cannot be read");
    rule_spec_free(&spec);
}
END_TEST

START_TEST(memory_is_measured_in_bytes_or_percent_of_the_host)
{
    struct system_state state = {.begun = false};
    struct check_result result = {.passed = true};
    double measured = 0;
    put("meminfo", "MemTotal: 1000 kB\nMemAvailable: 250 kB\n");
    put("42/statm", "9999 50 1 1 1 1 1\n");
    struct rule_spec *spec =
        spec_of("\"memory\":{\"of\":\"host\",\"above_percent\":70,\"for_ms\":0}");
    ck_assert_int_eq(measure(spec, &state, 1, &measured), SKEIN_OK);
    ck_assert(measured > 74.9 && measured < 75.1);
    system_judge(spec, &state, S, measured, &result);
    ck_assert_str_eq(result.reason, "memory of the host was at least 75.0 % (limit 70 %)");
    rule_spec_free(&spec);
    spec = spec_of("\"memory\":{\"above_bytes\":1000}");
    ck_assert_int_eq(measure(spec, &state, 1, &measured), SKEIN_OK);
    ck_assert(measured == 50.0 * (double)sysconf(_SC_PAGESIZE));
    rule_spec_free(&spec);
}
END_TEST

START_TEST(pressure_is_the_share_of_time_and_where_there_is_none_it_is_unknown)
{
    struct system_state state = {.begun = false};
    double measured = 0;
    struct rule_spec *spec =
        spec_of("\"pressure\":{\"of\":\"process\",\"resource\":\"io\",\"above_percent\":20}");
    put("42/cgroup", "0::/box\n");
    ck_assert_int_eq(measure(spec, &state, 1, &measured), SKEIN_NOT_FOUND);
    ck_assert_str_eq(why,
                     "the kernel does not tell the io pressure (some) of the process's cgroup");
    put("box/io.pressure", "some avg10=0.00 total=1000000\n");
    ck_assert_int_eq(measure(spec, &state, 1, &measured), SKEIN_AGAIN);
    put("box/io.pressure", "some avg10=0.00 total=1500000\n");
    ck_assert_int_eq(measure(spec, &state, 2, &measured), SKEIN_OK);
    ck_assert(measured > 49.9 && measured < 50.1);
    put("box/io.pressure", "some avg10=0.00 total=1\n"); /* a new cgroup of that name */
    ck_assert_int_eq(measure(spec, &state, 3, &measured), SKEIN_AGAIN);
    rule_spec_free(&spec);
}
END_TEST

int main(void)
{
    Suite *suite =
        suite_of("rule_condition", evidence_is_what_the_rule_says_or_its_condition,
                 each_condition_is_read_with_its_defaults,
                 what_the_collector_evaluates_is_left_out_and_what_is_wrong_is_named, NULL);
    TCase *tc = tcase_create("system");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, cpu_of_a_process_fires_when_it_was_high_for_long_enough);
    tcase_add_test(tc, memory_is_measured_in_bytes_or_percent_of_the_host);
    tcase_add_test(tc, pressure_is_the_share_of_time_and_where_there_is_none_it_is_unknown);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
