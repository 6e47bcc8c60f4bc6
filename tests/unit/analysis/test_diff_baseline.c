/* SPDX-License-Identifier: Apache-2.0
 *
 * Made incidents beside their baselines: when they began, what is found beside the time before and
 * beside neighbours, and that healthy processes differ in nothing.
 */
#include <check.h>
#include <cjson/cJSON.h>
#include <string.h>

#include "diff.h"
#include "diff_baseline.h"
#include "incident_make.h"
#include "support.h"

#define MS INCIDENT_MS
#define S  INCIDENT_S
#define T0 INCIDENT_T0_NS

static struct skein_trace *trace;

static void trace_open(struct incident *in)
{
    char error[SKEIN_TRACE_ERROR_BYTES] = "";
    const struct buf *bytes = incident_finish(in, 20 * S);
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    ck_assert_msg(skein_trace_add_memory(trace, bytes->data, bytes->len, "made", error) == SKEIN_OK,
                  "%s", error);
}

/* Requests with a read in each; a main loop around all of them. */
static void serve(struct incident *in, size_t process, uint32_t tid, uint64_t to_ns,
                  uint64_t read_ns)
{
    for (uint64_t at = MS; at < to_ns; at += incident_about(in, 10 * MS)) {
        uint64_t read = incident_about(in, read_ns);
        incident_call(in, process, tid, &incident_read, at + MS / 2, read, 9, 100, 0);
        incident_call(in, process, tid, &incident_request, at, read + MS, 1, 0, 0);
    }
}

static struct summary *summed(const struct skein_query *query)
{
    struct summary *s;
    ck_assert_int_eq(summary_new(0, &s), SKEIN_OK);
    ck_assert_int_eq(summary_read(s, trace, query), SKEIN_OK);
    return s;
}

static struct diff_onset onset_of(uint64_t at_ns)
{
    const struct skein_query all = {.size = sizeof all};
    struct diff_onset onset;
    struct summary *s = summed(&all);
    diff_onset_find(s, at_ns, &onset);
    summary_free(&s);
    return onset;
}

/* ---- when it began ---- */

START_TEST(where_several_are_in_progress_none_is_called_the_only_one)
{
    struct incident *in = incident_new(6);
    size_t p = incident_process(in, "shop", 100, 3600 * S);
    char words[DIFF_WHY_BYTES];
    serve(in, p, 100, 12 * S, MS);
    for (uint32_t tid = 101; tid < 104; tid++)
        incident_add(in, p,
                     &(struct incident_event){.type = &incident_mutex,
                                              .thread = "worker",
                                              .tid = tid,
                                              .from_ns = 9 * S,
                                              .dur_ns = 3 * S,
                                              .open = true});
    trace_open(in);
    struct diff_onset onset = onset_of(T0 + 12 * S);
    ck_assert(onset.found && onset.p99_ns == 0);
    diff_onset_words(&onset, words);
    ck_assert_msg(strstr(words, "and no other of its name has ended") != NULL, "%s", words);
    skein_trace_free(&trace);
    incident_free(&in);
}
END_TEST

START_TEST(a_long_region_in_progress_at_the_failure_is_the_onset)
{
    struct incident *in = incident_new(3);
    size_t p = incident_process(in, "shop", 100, 3600 * S);
    char words[DIFF_WHY_BYTES];
    serve(in, p, 100, 12 * S, MS);
    incident_call(in, p, 101, &incident_fsync, 8 * S, 3 * S, 9, 0, 0);
    trace_open(in);
    struct diff_onset onset = onset_of(T0 + 10 * S);
    ck_assert(onset.found && onset.p99_ns == 0);
    ck_assert_str_eq(onset.name, "fsync");
    ck_assert_uint_eq(onset.from_ns, T0 + 8 * S);
    ck_assert_uint_eq(onset.lasted_ns, 2 * S);
    diff_onset_words(&onset, words);
    ck_assert_ptr_nonnull(strstr(words, "when fsync of shop began: it was in progress at the "
                                        "failure, for 2 s"));
    onset = onset_of(DIFF_AT_UNKNOWN); /* nobody says when: it is sought */
    ck_assert(onset.found && onset.sought);
    ck_assert_uint_eq(onset.from_ns, T0 + 8 * S);
    ck_assert_uint_eq(onset.at_ns, T0 + 11 * S);
    onset = onset_of(T0 + 6 * S); /* before it */
    ck_assert(!onset.found);
    ck_assert_uint_eq(onset.from_ns, T0 + 5 * S);
    onset = onset_of(T0 + 11 * S + 900 * MS); /* behind it, as a latency rule sees it */
    ck_assert(onset.found && onset.sought);
    ck_assert_uint_eq(onset.from_ns, T0 + 8 * S);
    ck_assert_uint_eq(onset.at_ns, T0 + 11 * S + 900 * MS);
    skein_trace_free(&trace);
    incident_free(&in);
}
END_TEST

START_TEST(what_is_still_in_progress_at_the_end_counts)
{
    struct incident *in = incident_new(4);
    size_t p = incident_process(in, "shop", 100, 3600 * S);
    serve(in, p, 100, 12 * S, MS);
    incident_add(in, p,
                 &(struct incident_event){.type = &incident_mutex,
                                          .thread = "worker",
                                          .tid = 101,
                                          .from_ns = 9 * S,
                                          .dur_ns = 3 * S,
                                          .open = true});
    trace_open(in);
    struct diff_onset onset = onset_of(T0 + 12 * S);
    ck_assert(onset.found);
    ck_assert_str_eq(onset.name, "mutex_lock");
    ck_assert_uint_ge(onset.from_ns, T0 + 9 * S - MS);
    ck_assert_uint_le(onset.from_ns, T0 + 9 * S + MS);
    skein_trace_free(&trace);
    incident_free(&in);
}
END_TEST

START_TEST(loops_idle_waits_and_usual_lengths_are_no_onset)
{
    struct incident *in = incident_new(5);
    size_t p = incident_process(in, "shop", 100, 3600 * S);
    serve(in, p, 100, 12 * S, MS);
    incident_call(in, p, 101, &incident_loop, 20 * MS, 12 * S, 1, 0, 0); /* all the time */
    incident_call(in, p, 102, &incident_epoll, 7 * S, 5 * S, 5, 1, 0);   /* idle */
    for (uint64_t at = 0; at < 12 * S; at += 600 * MS)                   /* as always */
        incident_call(in, p, 103, &incident_fsync, at, incident_about(in, 500 * MS), 9, 0, 0);
    trace_open(in);
    struct diff_onset onset = onset_of(T0 + 10 * S + 200 * MS);
    ck_assert_msg(!onset.found, "%s", onset.name);
    ck_assert_uint_eq(onset.from_ns, T0 + 9 * S + 200 * MS);
    skein_trace_free(&trace);
    incident_free(&in);
}
END_TEST

START_TEST(a_summary_of_nothing_has_an_onset_too)
{
    struct summary *s;
    struct diff_onset onset;
    struct diff_choice choice = {.why = ""};
    ck_assert_int_eq(summary_new(0, &s), SKEIN_OK);
    diff_onset_find(s, DIFF_AT_UNKNOWN, &onset);
    ck_assert(!onset.found && onset.from_ns == 0);
    diff_onset_find(s, T0, &choice.onset);
    ck_assert(!diff_earlier_exists(s, 0, &choice));
    ck_assert_ptr_nonnull(strstr(choice.why_not[DIFF_EARLIER], "nothing of the record before"));
    summary_free(&s);
}
END_TEST

/* ---- what is found ---- */

START_TEST(a_region_that_is_new_after_the_onset_is_found_beside_earlier)
{
    struct incident *in = incident_new(6);
    size_t p = incident_process(in, "shop", 100, 3600 * S);
    struct diff *diff;
    const struct diff_list *list;
    serve(in, p, 100, 12 * S, MS);
    for (uint64_t at = 8 * S; at < 12 * S; at += 100 * MS) /* retries, in one that never ends */
        incident_call(in, p, 101, &incident_connect, at, incident_about(in, 40 * MS), 9, -111, 0);
    incident_call(in, p, 101, &incident_request, 8 * S - MS, 4 * S, 1, 0, 0);
    trace_open(in);
    struct diff_onset onset = onset_of(T0 + 11 * S);
    ck_assert(onset.found && onset.from_ns == T0 + 8 * S - MS);
    const struct skein_query before = {sizeof before, .to_ns = onset.from_ns},
                             after = {sizeof after, .from_ns = onset.from_ns};
    struct summary *sides[2] = {summed(&before), summed(&after)};
    ck_assert_int_eq(diff_new(sides[0], sides[1], false, &diff, &list), SKEIN_OK);
    const struct diff_change *found = NULL;
    for (size_t i = 0; i < list->count && found == NULL; i++)
        if (strcmp(list->changes[i].name, "connect") == 0)
            found = &list->changes[i];
    ck_assert(found != NULL && found->sure && found->before.count == 0);
    ck_assert(found - list->changes <= 1); /* beside the request around it */
    ck_assert_ptr_nonnull(strstr(found->words, "and never before"));
    diff_free(&diff);
    summary_free(&sides[0]);
    summary_free(&sides[1]);
    skein_trace_free(&trace);
    incident_free(&in);
}
END_TEST

static bool is_shard(void *context, const struct skein_process *process)
{
    return process->pid == *(const uint32_t *)context;
}

static bool is_no_shard(void *context, const struct skein_process *process)
{
    return !is_shard(context, process);
}

/* A process of eight beside its neighbours. */
static struct diff *shard_compare(uint64_t seed, uint64_t slow_ns, const struct diff_list **list)
{
    struct incident *in = incident_new(seed);
    struct diff *diff;
    uint32_t pid = 104;
    for (uint32_t i = 0; i < 8; i++) {
        size_t p = incident_process(in, "shard", 100 + i, 3600 * S);
        serve(in, p, 100 + i, 10 * S, i == 4 ? slow_ns : MS);
    }
    trace_open(in);
    const struct skein_query others = {sizeof others, .process = is_no_shard, .context = &pid},
                             one = {sizeof one, .process = is_shard, .context = &pid};
    struct summary *sides[2] = {summed(&others), summed(&one)};
    ck_assert_int_eq(diff_new(sides[0], sides[1], false, &diff, list), SKEIN_OK);
    ck_assert_uint_eq((*list)->processes[0], 7);
    ck_assert_uint_eq((*list)->processes[1], 1);
    summary_free(&sides[0]);
    summary_free(&sides[1]);
    skein_trace_free(&trace);
    incident_free(&in);
    return diff;
}

START_TEST(a_slow_shard_of_eight_is_found_beside_its_neighbours)
{
    const struct diff_list *list;
    struct diff *diff = shard_compare(7, 4 * MS, &list);
    ck_assert_uint_ge(list->count, 1);
    ck_assert_int_eq(list->outcome, DIFF_CHANGED);
    const struct diff_change *read = &list->changes[0];
    ck_assert_str_eq(read->name, "read");
    read += read->kind == DIFF_STACK; /* its stack comes beside it */
    ck_assert(read->kind == DIFF_WAIT && read->sure && read->longer > .9);
    ck_assert_ptr_nonnull(strstr(read->words, "shard: read took longer"));
    diff_free(&diff);
}
END_TEST

/* At most 5 % of all comparisons of equals have anything sure: of twenty one, and four are less likely
 * than one in fifty. */
START_TEST(healthy_neighbours_differ_in_nothing_sure)
{
    size_t with = 0;
    for (uint64_t seed = 101; seed <= 120; seed++) {
        const struct diff_list *list;
        struct diff *diff = shard_compare(seed, MS, &list);
        bool sure = false;
        ck_assert_uint_ge(list->tests, 4);
        for (size_t i = 0; i < list->count; i++)
            sure |= list->changes[i].sure;
        with += sure;
        diff_free(&diff);
    }
    ck_assert_uint_le(with, 3);
}
END_TEST

START_TEST(values_of_a_host_name_the_host_and_no_service)
{
    struct incident *in = incident_new(8);
    size_t p = incident_process(in, "shop", 100, 3600 * S);
    struct diff *diff;
    const struct diff_list *list;
    struct buf json = {0};
    serve(in, p, 100, 12 * S, MS);
    for (uint64_t at = 0; at < 12 * S; at += 500 * MS)
        incident_add(
            in, p,
            &(struct incident_event){
                .type = &incident_await,
                .from_ns = at,
                .args = {{.f64 = (at < 6 * S ? 2 : 80) + (double)incident_random(in, 0, 10) / 10}},
                .evidence = true});
    trace_open(in);
    const struct skein_query before = {sizeof before, .to_ns = T0 + 6 * S},
                             after = {sizeof after, .from_ns = T0 + 6 * S};
    struct summary *sides[2] = {summed(&before), summed(&after)};
    ck_assert_int_eq(diff_new(sides[0], sides[1], false, &diff, &list), SKEIN_OK);
    const struct diff_change *found = NULL;
    for (size_t i = 0; i < list->count; i++)
        if (list->changes[i].kind == DIFF_COUNTER)
            found = &list->changes[i];
    ck_assert(found != NULL && found->sure);
    ck_assert_str_eq(found->service, "");
    ck_assert_str_ne(found->host, "");
    ck_assert_int_eq(strncmp(found->words, "host ", 5), 0);
    diff_json(list, NULL, &json);
    buf_put_u8(&json, 0);
    ck_assert_ptr_nonnull(strstr((const char *)json.data, "\"kind\":\"counter\",\"host\":"));
    buf_fini(&json);
    diff_free(&diff);
    summary_free(&sides[0]);
    summary_free(&sides[1]);
    skein_trace_free(&trace);
    incident_free(&in);
}
END_TEST

/* ---- words ---- */

START_TEST(the_choice_is_told_with_what_was_not_taken)
{
    struct diff_choice choice = {.chosen = DIFF_SAMPLE,
                                 .automatic = true,
                                 .has_onset = true,
                                 .why = "a \"sample\"",
                                 .why_not = {[DIFF_EARLIER] = "too short"},
                                 .capture = "01a1",
                                 .onset = {.from_ns = T0, .at_ns = T0 + S}};
    enum diff_baseline baseline;
    struct buf json = {0};
    buf_printf(&json, "{\"a\":1");
    diff_choice_json(&choice, &json);
    buf_printf(&json, "}");
    cJSON *root = cJSON_ParseWithLength((const char *)json.data, json.len);
    const cJSON *told = cJSON_GetObjectItem(root, "baseline");
    ck_assert_ptr_nonnull(told);
    ck_assert_str_eq(cJSON_GetObjectItem(told, "chosen")->valuestring, "sample");
    ck_assert_str_eq(cJSON_GetObjectItem(told, "asked")->valuestring, "auto");
    ck_assert_str_eq(cJSON_GetObjectItem(told, "why")->valuestring, "a \"sample\"");
    const cJSON *others = cJSON_GetObjectItem(told, "others");
    ck_assert_int_eq(cJSON_GetArraySize(others), 1);
    ck_assert_str_eq(cJSON_GetObjectItem(others->child, "baseline")->valuestring, "earlier");
    ck_assert_str_eq(
        cJSON_GetObjectItem(cJSON_GetObjectItem(root, "onset"), "failure")->valuestring,
        "2026-11-21T09:40:01.000Z");
    cJSON_Delete(root);
    buf_fini(&json);
    ck_assert(diff_baseline_parse("neighbours", &baseline) && baseline == DIFF_NEIGHBOURS);
    ck_assert(diff_baseline_parse("auto", &baseline) && baseline == DIFF_BASELINES);
    ck_assert(!diff_baseline_parse("given", &baseline));
    ck_assert(!diff_baseline_parse("", &baseline));
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "diff_baseline", a_long_region_in_progress_at_the_failure_is_the_onset,
        where_several_are_in_progress_none_is_called_the_only_one,
        what_is_still_in_progress_at_the_end_counts,
        loops_idle_waits_and_usual_lengths_are_no_onset, a_summary_of_nothing_has_an_onset_too,
        a_region_that_is_new_after_the_onset_is_found_beside_earlier,
        a_slow_shard_of_eight_is_found_beside_its_neighbours,
        healthy_neighbours_differ_in_nothing_sure, values_of_a_host_name_the_host_and_no_service,
        the_choice_is_told_with_what_was_not_taken, NULL));
}
