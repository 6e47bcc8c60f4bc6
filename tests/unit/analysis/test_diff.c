/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparisons of traces that were made the same, and of some in which one thing was changed.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "diff.h"
#include "summary_made.h"

#define SECOND (UINT64_C(1000000000) / 64) /* in ticks */

/* What a made service does for ten seconds. */
struct service {
    const char *name;
    uint32_t pid;
    uint64_t random;
    unsigned requests;         /* a second */
    uint64_t read_us, slow_us; /* the mean of its reads; 1 in 50 takes slow_us more */
    unsigned errors;           /* lines of its log */
    unsigned stall_s;          /* a single sleep */
    uint64_t flush_us[2];      /* the mean of its flushes of each of two groups; 0: none */
    double load;               /* of its host */
};

static const struct partition_event_type request = {
    .name = "request", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = 16};
static const struct partition_event_type nap = {
    .name = "sleep", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = SKEIN_GROUP_SLEEP};
static const struct partition_event_type work = {
    .name = "work", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = 16};
static const struct partition_event_type flushes[2] = {
    {.name = "flush", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = 16},
    {.name = "flush", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = 17}};
static const struct partition_event_type load = {.name = "load",
                                                 .text = "",
                                                 .file = "",
                                                 .klass = SKEIN_CLASS_COUNTER,
                                                 .group = 16,
                                                 .nargs = 1,
                                                 .args = {{SKEIN_T_F64, "value", "%"}}};

static uint64_t ticks_of(struct service *s, uint64_t mean_us)
{
    double u = (double)(made_chance(&s->random, 1000000) + 1) / 1000001;
    return (uint64_t)(-log(u) * (double)mean_us * 1000 / 64) + 1;
}

static void service_make(struct service *s, struct buf *out)
{
    struct partition_info info = made_part(s->pid, 1, 10, 10 * SECOND);
    struct partition_thread thread = {s->pid, "main", 1};
    struct partition_writer *w;
    struct partition_value args[2];
    info.service = s->name;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    uint32_t read_type = (uint32_t)partition_writer_type(w, &made_regions[2]);
    partition_writer_batch(w, (uint32_t)partition_writer_thread(w, &thread), 1, 1, false);
    uint64_t at = 10, gap = SECOND / s->requests,
             log_each = s->errors > 0 ? 10 * SECOND / s->errors : 0;
    uint64_t next_log = 5, next_load = 7, n = 0;
    while (at < 10 * SECOND - SECOND / 10) {
        uint64_t begin = at + ticks_of(s, gap * 64 / 1000 / 2) + gap / 4;
        uint64_t read = ticks_of(s, s->read_us) + (n++ % 50 == 0 ? s->slow_us * 1000 / 64 : 0);
        if (s->stall_s > 0 && begin > 5 * SECOND) {
            uint64_t end = begin + s->stall_s * SECOND;
            partition_writer_event(w, (uint32_t)partition_writer_type(w, &nap), end,
                                   s->stall_s * SECOND, NULL);
            partition_writer_event(w, (uint32_t)partition_writer_type(w, &work), end + 1,
                                   end + 1 - begin, NULL);
            s->stall_s = 0;
            begin = end + 2;
        }
        args[0].i64 = 3, args[1].i64 = 0;
        partition_writer_event(w, read_type, begin + read, read, args);
        partition_writer_event(w, (uint32_t)partition_writer_type(w, &request), begin + read + 50,
                               read + 50, NULL);
        at = begin + read + 51;
        for (unsigned i = 0; i < 2 && s->flush_us[i] > 0; i++) {
            uint64_t ticks = ticks_of(s, s->flush_us[i]);
            at += ticks + 1;
            partition_writer_event(w, (uint32_t)partition_writer_type(w, &flushes[i]), at, ticks,
                                   NULL);
        }
        if (log_each > 0 && at > next_log) {
            args[0].u64 = 4, args[1] = sample_str("order 12 failed");
            partition_writer_event(w, (uint32_t)partition_writer_type(w, &sample_log), at++, 0,
                                   args);
            next_log = at + log_each;
        }
        if (at > next_load) {
            args[0].f64 = s->load + (double)made_chance(&s->random, 100) / 20;
            partition_writer_event(w, (uint32_t)partition_writer_type(w, &load), at++, 0, args);
            next_load = at + SECOND / 4;
        }
    }
    ck_assert_int_eq(partition_writer_finish(w, out, NULL), SKEIN_OK);
    partition_writer_free(&w);
}

static struct summary *summed(struct service *services, size_t count)
{
    struct buf bytes = {0};
    struct summary *s;
    for (size_t i = 0; i < count; i++)
        service_make(&services[i], &bytes);
    struct skein_trace *trace = made_open(&bytes);
    ck_assert_int_eq(summary_new(0, &s), SKEIN_OK);
    ck_assert_int_eq(summary_read(s, trace, NULL), SKEIN_OK);
    skein_trace_free(&trace);
    buf_fini(&bytes);
    return s;
}

#define HEALTHY(seed)                                                                              \
    {                                                                                              \
        .name = "shop", .pid = 100, .random = seed, .requests = 200, .read_us = 500, .load = 20    \
    }

struct compared {
    struct summary *sides[2];
    struct diff *diff;
    const struct diff_list *list;
};

static struct compared compared_of(struct service before, struct service after)
{
    struct compared c = {.diff = NULL};
    c.sides[0] = summed(&before, 1);
    c.sides[1] = summed(&after, 1);
    ck_assert_int_eq(diff_new(c.sides[0], c.sides[1], false, &c.diff, &c.list), SKEIN_OK);
    return c;
}

static void compared_free(struct compared *c)
{
    diff_free(&c->diff);
    summary_free(&c->sides[0]);
    summary_free(&c->sides[1]);
}

static const struct diff_change *sure_find(const struct diff_list *list, enum diff_kind kind,
                                           const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->changes[i].kind == kind && strcmp(list->changes[i].name, name) == 0)
            return &list->changes[i];
    return NULL;
}

START_TEST(what_is_made_the_same_has_no_sure_change)
{
    size_t sure = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct service before = HEALTHY(seed), after = HEALTHY(seed + 1000);
        struct compared c = compared_of(before, after);
        ck_assert_uint_ge(c.list->tests, 5);
        for (size_t i = 0; i < c.list->count; i++)
            sure += c.list->changes[i].sure;
        compared_free(&c);
    }
    ck_assert_uint_le(sure, 2); /* of some 200 tests */
}
END_TEST

START_TEST(slower_reads_come_first_and_say_so)
{
    struct service before = HEALTHY(3), after = HEALTHY(4);
    after.read_us = 900;
    struct compared c = compared_of(before, after);
    ck_assert_uint_ge(c.list->count, 1);
    const struct diff_change *first = &c.list->changes[0];
    ck_assert_str_eq(first->name, "read");
    ck_assert(first->kind == DIFF_WAIT && first->sure && first->longer > .6 &&
              first->q_lasted < 1e-9);
    ck_assert_ptr_nonnull(strstr(first->words, "shop: read took longer: half of them up to"));
    ck_assert_ptr_nonnull(strstr(first->words, "it waited"));
    /* the time is the read's: all else of the request is as it was */
    const struct diff_change *whole = sure_find(c.list, DIFF_REGION, "request");
    ck_assert(whole != NULL && whole->sure && whole->size < first->size / 20);
    compared_free(&c);
}
END_TEST

START_TEST(a_few_that_take_very_long_are_seen_though_the_middle_is_as_before)
{
    struct service before = HEALTHY(3), after = HEALTHY(4);
    after.slow_us = 20000;
    struct compared c = compared_of(before, after);
    const struct diff_change *reads = sure_find(c.list, DIFF_WAIT, "read");
    ck_assert(reads != NULL && reads->sure && reads->q_lasted < .01 && reads->longer < .6);
    ck_assert(reads->after.p99_ns > 5 * reads->before.p99_ns);
    compared_free(&c);
}
END_TEST

START_TEST(a_new_log_line_fewer_requests_and_load_are_seen)
{
    struct service before = HEALTHY(3), after = HEALTHY(4);
    after.errors = 60;
    after.requests = 60;
    after.load = 35;
    struct compared c = compared_of(before, after);
    const struct diff_change *line = sure_find(c.list, DIFF_LOG, "order # failed");
    const struct diff_change *rate = sure_find(c.list, DIFF_REGION, "request");
    const struct diff_change *mean = sure_find(c.list, DIFF_COUNTER, "load");
    ck_assert(line != NULL && line->sure && line->before.count == 0 && line->after.count > 40);
    ck_assert_ptr_nonnull(strstr(line->words, "and never before"));
    ck_assert(rate != NULL && rate->sure && rate->q_count < 1e-9);
    ck_assert_ptr_nonnull(strstr(rate->words, "times less often"));
    ck_assert(mean != NULL && mean->sure && mean->after.mean - mean->before.mean > 10);
    compared_free(&c);
}
END_TEST

START_TEST(one_long_wait_is_told_first_and_as_maybe_chance)
{
    struct service before = HEALTHY(3), after = HEALTHY(4);
    after.stall_s = 2;
    struct compared c = compared_of(before, after);
    ck_assert_uint_ge(c.list->count, 1);
    ck_assert_str_eq(c.list->changes[0].name, "sleep");
    ck_assert(!c.list->changes[0].sure && fabs(c.list->changes[0].size - .2) < .01);
    ck_assert_ptr_nonnull(strstr(c.list->changes[0].words, "may be chance"));
    compared_free(&c);
}
END_TEST

START_TEST(services_are_compared_by_name_and_processes_as_one)
{
    struct service shop[] = {HEALTHY(1), HEALTHY(2)}, cart = HEALTHY(5);
    cart.name = "cart";
    cart.read_us = 2000;
    shop[1].pid = 101;
    struct summary *two = summed(shop, 2), *other = summed(&cart, 1);
    struct diff *diff;
    const struct diff_list *list;
    ck_assert_int_eq(diff_new(two, other, false, &diff, &list), SKEIN_OK);
    ck_assert(list->count == 0 && list->note_count == 2);
    ck_assert_int_eq(list->outcome, DIFF_INCOMPARABLE);
    ck_assert_str_eq(list->outcome_words, "nothing can be compared: no service is on both sides "
                                          "(before: shop; after: cart)");
    ck_assert_str_eq(list->notes[0], "shop is there before alone: nothing of it is compared");
    diff_free(&diff);
    ck_assert_int_eq(diff_new(two, other, true, &diff, &list), SKEIN_OK);
    const struct diff_change *reads = sure_find(list, DIFF_WAIT, "read");
    ck_assert(reads != NULL && reads->sure && reads->longer > .7);
    ck_assert(reads->before.seen_s > 19 && reads->after.seen_s < 11); /* two processes were seen */
    diff_free(&diff);
    summary_free(&two);
    summary_free(&other);
}
END_TEST

START_TEST(one_name_in_two_groups_is_two_things)
{
    struct service before = HEALTHY(3), after = HEALTHY(4);
    size_t longer = 0, shorter = 0;
    before.flush_us[0] = after.flush_us[1] = 100;
    before.flush_us[1] = after.flush_us[0] = 300;
    struct compared c = compared_of(before, after);
    for (size_t i = 0; i < c.list->count; i++) {
        const struct diff_change *change = &c.list->changes[i];
        if (change->kind != DIFF_REGION || strcmp(change->name, "flush") != 0)
            continue;
        ck_assert(change->sure && change->twin);
        ck_assert_ptr_nonnull(
            strstr(change->words, change->group == 16 ? "flush (group 16) " : "flush (group 17) "));
        longer += change->longer > .6;
        shorter += change->longer < .4;
    }
    ck_assert_uint_eq(longer, 1);
    ck_assert_uint_eq(shorter, 1);
    compared_free(&c);
}
END_TEST

START_TEST(too_few_events_are_told_as_too_few)
{
    struct service before = HEALTHY(3), after = HEALTHY(4);
    before.requests = after.requests = 1;
    before.load = after.load = 20;
    struct summary *sides[2] = {summed(&before, 1), summed(&after, 1)}, *empty;
    struct diff *diff;
    const struct diff_list *list;
    const struct skein_query begin = {sizeof begin,
                                      .to_ns = SAMPLE_EPOCH_NS + UINT64_C(1500000000)};
    struct buf bytes = {0};
    struct service again = HEALTHY(3);
    again.requests = 1;
    service_make(&again, &bytes);
    struct skein_trace *trace = made_open(&bytes);
    ck_assert_int_eq(summary_new(0, &empty), SKEIN_OK);
    ck_assert_int_eq(summary_read(empty, trace, &begin), SKEIN_OK);
    ck_assert_int_eq(diff_new(empty, empty, false, &diff, &list), SKEIN_OK);
    ck_assert_int_eq(list->outcome, DIFF_FEW);
    ck_assert_ptr_nonnull(strstr(list->outcome_words, "too few events to tell"));
    diff_free(&diff);
    ck_assert_int_eq(diff_new(sides[0], sides[0], false, &diff, &list), SKEIN_OK);
    ck_assert_int_eq(list->outcome, DIFF_SAME);
    diff_free(&diff);
    summary_free(&empty);
    summary_free(&sides[0]);
    summary_free(&sides[1]);
    skein_trace_free(&trace);
    buf_fini(&bytes);
}
END_TEST

START_TEST(json_says_what_the_list_has)
{
    struct service before = HEALTHY(3), after = HEALTHY(4);
    struct buf text = {0};
    after.read_us = 900;
    struct compared c = compared_of(before, after);
    diff_json(c.list, NULL, &text);
    buf_put_u8(&text, '\0');
    cJSON *json = cJSON_Parse((const char *)text.data);
    ck_assert_ptr_nonnull(json);
    const cJSON *changes = cJSON_GetObjectItem(json, "changes"), *first = changes->child;
    ck_assert_int_eq(cJSON_GetObjectItem(json, "version")->valueint, 2);
    ck_assert_str_eq(cJSON_GetObjectItem(json, "outcome")->valuestring, "changed");
    ck_assert_str_eq(cJSON_GetObjectItem(first, "service")->valuestring, "shop");
    ck_assert_int_eq(cJSON_GetObjectItem(first, "group")->valueint, SKEIN_GROUP_IO);
    ck_assert_int_eq(cJSON_GetArraySize(changes), (int)c.list->count);
    ck_assert_str_eq(cJSON_GetObjectItem(first, "kind")->valuestring, "wait");
    ck_assert_str_eq(cJSON_GetObjectItem(first, "words")->valuestring, c.list->changes[0].words);
    ck_assert(cJSON_IsTrue(cJSON_GetObjectItem(first, "sure")));
    cJSON_Delete(json);
    buf_fini(&text);
    compared_free(&c);
}
END_TEST

START_TEST(without_memory_there_is_no_comparison_and_nothing_breaks)
{
    struct service before = HEALTHY(3), after = HEALTHY(4);
    after.read_us = 900;
    struct summary *one = summed(&before, 1), *other = summed(&after, 1);
    struct diff *diff;
    const struct diff_list *list;
    for (unsigned n = 1;; n++) {
        alloc_fail_at(n);
        int status = diff_new(one, other, false, &diff, &list);
        bool failed = alloc_fail_end();
        ck_assert_int_eq(status, failed ? SKEIN_NO_MEMORY : SKEIN_OK);
        diff_free(&diff);
        if (!failed)
            break;
    }
    summary_free(&one);
    summary_free(&other);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "diff", what_is_made_the_same_has_no_sure_change, slower_reads_come_first_and_say_so,
        a_few_that_take_very_long_are_seen_though_the_middle_is_as_before,
        a_new_log_line_fewer_requests_and_load_are_seen,
        one_long_wait_is_told_first_and_as_maybe_chance,
        services_are_compared_by_name_and_processes_as_one, one_name_in_two_groups_is_two_things,
        too_few_events_are_told_as_too_few, json_says_what_the_list_has,
        without_memory_there_is_no_comparison_and_nothing_breaks, NULL));
}
