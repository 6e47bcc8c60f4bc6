/* SPDX-License-Identifier: Apache-2.0
 * Terms of a search: what they hold of types, threads, processes and rows. */
#include "search_terms.h"

#include <stdio.h>
#include <string.h>

#include "support.h"

static struct skein_trace *trace;

static struct search_terms *terms_of(const char *lines)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct search_terms *terms;
    ck_assert_int_eq(search_terms_new(lines, strlen(lines), trace, &terms, error), SKEIN_OK);
    return terms;
}

static bool holds_of_type(const char *lines, const char *name, const char *argument)
{
    struct search_terms *terms = terms_of(lines);
    struct skein_event_type type = {
        .name = name, .arg_count = 1, .args = {{SKEIN_T_U64, argument, "ms"}}};
    bool holds = search_terms_type(terms, &type);
    search_terms_free(&terms);
    return holds;
}

START_TEST(names_are_parts_without_regard_to_case)
{
    ck_assert(holds_of_type("name\t:\tQuer\n", "run_query", "rows"));
    ck_assert(!holds_of_type("name\t=\tquery\n", "run_query", "rows"));
    ck_assert(holds_of_type("name\t=\tRUN_query\n", "run_query", "rows"));
    ck_assert(!holds_of_type("!name\t:\tquery\n", "run_query", "rows"));
    ck_assert(!holds_of_type("name\t:\trun\nname\t:\tstop\n", "run_query", "rows"));
    ck_assert(holds_of_type("", "run_query", "rows"));
}
END_TEST

START_TEST(types_without_the_argument_are_left_out)
{
    ck_assert(holds_of_type("arg/rows\t>\t5\n", "query", "rows"));
    ck_assert(!holds_of_type("arg/rows\t>\t5\n", "query", "bytes"));
    ck_assert(holds_of_type("!arg/rows\t>\t5\n", "query", "bytes"));
}
END_TEST

START_TEST(threads_and_processes_are_asked_for_their_own)
{
    struct search_terms *terms =
        terms_of("thread\t:\twork\ntid\t=\t7\nhost\t=\tweb-1\nservice\t:\tsho\n");
    struct skein_thread thread = {.name = "worker", .tid = 7};
    struct skein_process process = {.host = "web-1", .service = "shop"};
    ck_assert(search_terms_need_thread(terms) && !search_terms_need_type(terms));
    ck_assert(search_terms_thread(terms, &thread) && search_terms_process(terms, &process));
    thread.tid = 8;
    process.host = "web-11";
    ck_assert(!search_terms_thread(terms, &thread) && !search_terms_process(terms, &process));
    search_terms_free(&terms);
}
END_TEST

START_TEST(rows_are_asked_for_length_depth_and_kind)
{
    static const uint8_t kinds[] = {SKEIN_ROW_REGION, SKEIN_ROW_LOG, SKEIN_ROW_REGION};
    static const uint32_t numbers[] = {0, 0, 0}, depths[] = {0, 1, 2}, types[] = {0, 0, SKEIN_NONE};
    static const uint64_t lengths[] = {5000001, 5000000, 9000000};
    const struct skein_batch batch = {.count = 3,
                                      .kind = kinds,
                                      .thread = numbers,
                                      .process = numbers,
                                      .dur_ns = lengths,
                                      .type = types,
                                      .depth = depths};
    static const struct {
        const char *lines;
        bool holds[3];
    } cases[] = {
        {"dur\t>\t5000000\n", {true, false, true}}, {"!dur\t>\t5000000\n", {false, true, false}},
        {"dur\t<=\t5e6\n", {false, true, false}},   {"dur\t=\t5000000.0\n", {false, true, false}},
        {"dur\t>\t0.5e7\n", {true, false, true}},   {"dur\t<\t-1e-3\n", {false, false, false}},
        {"depth\t>=\t1\n", {false, true, true}},    {"kind\t=\tlog\n", {false, true, false}},
        {"name\t:\tx\n", {true, true, false}}}; /* of no type there is no name */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct search_terms *terms = terms_of(cases[i].lines);
        for (uint32_t row = 0; row < 3; row++)
            ck_assert_msg(search_terms_row(terms, &batch, row) == cases[i].holds[row], "%s row %u",
                          cases[i].lines, row);
        search_terms_free(&terms);
    }
}
END_TEST

START_TEST(what_is_no_term_is_refused_with_its_number)
{
    static const char *const bad[] = {
        "name",       "name\t:",           "nome\t:\tx",    "name\t>\tx",
        "dur\t:\t5",  "dur\t>\tfive",      "dur\t>\t5/s",   "tid\t=\t",
        "arg/\t=\tx", "arg/rows\t>\tmany", "dur\t>\tinf",   "dur\t>\t1e999",
        "dur\t>\t1e", "dur\t>\t.",         "dur\t>\t1.2.3", "dur\t>\t12345678901234567890"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char error[SKEIN_TRACE_ERROR_BYTES], lines[64];
        struct search_terms *terms;
        snprintf(lines, sizeof lines, "\ndepth\t=\t1\n%s", bad[i]);
        ck_assert_msg(search_terms_new(lines, strlen(lines), trace, &terms, error) == SKEIN_INVALID,
                      "%s", bad[i]);
        ck_assert_str_eq(error, "term 3 of the search cannot be read");
        ck_assert_ptr_null(terms);
    }
}
END_TEST

int main(void)
{
    if (skein_trace_new(&trace) != SKEIN_OK)
        return 1;
    int status = suite_run(suite_of("search_terms", names_are_parts_without_regard_to_case,
                                    types_without_the_argument_are_left_out,
                                    threads_and_processes_are_asked_for_their_own,
                                    rows_are_asked_for_length_depth_and_kind,
                                    what_is_no_term_is_refused_with_its_number, NULL));
    skein_trace_free(&trace);
    return status;
}
