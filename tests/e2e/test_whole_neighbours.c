/* SPDX-License-Identifier: Apache-2.0
 *
 * What happened before a readiness check failed, on the instance that failed and on its neighbours
 * at another agent whose host's clock is wrong: captured as one, fetched as one file, and in that
 * file on one clock. One thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "partition_reader.h"
#include "trace_file.h"
#include "whole.h"

#define S UINT64_C(1000000000)

enum { INSTANCES = 3, SAMPLES = 110, BURST = 10, SKEW_S = 600 };

/* What of an instance was committed at a known time: event n - 1 was before, n + 1 behind. */
struct sample {
    uint64_t before_ns, after_ns, n;
};

/* Where an instance's event stands in the file, and its time there; time_ns 0: not in the window */
struct place {
    uint64_t time_ns, line;
};

struct scene {
    struct whole near, far;
    struct load loads[INSTANCES]; /* the one that fails; its like and what both use, far away */
    struct sample samples[SAMPLES][INSTANCES];
    struct place *places[INSTANCES];
    uint64_t counts[INSTANCES], written[INSTANCES];
    char capture[ID_TEXT_BYTES], *whole, *file;
    uint64_t from_ns, to_ns; /* of the slice in the file */
};

/* ---- what is captured ---- */

static void scene_start(struct scene *s)
{
    static const char *const services[INSTANCES] = {"web", "web", "db"};
    *s = (struct scene){.whole = NULL};
    whole_init(&s->near, NULL, NULL);
    whole_collector_start(&s->near);
    whole_join(&s->far, &s->near, SKEW_S);
    whole_agent_start(&s->near);
    whole_agent_start(&s->far);
    for (int i = 0; i < INSTANCES; i++) {
        struct load_options options = {
            .service = services[i], .threads = 1, .burst = BURST, .pause_us = 1000};
        load_start(i == 0 ? &s->near : &s->far, &options, &s->loads[i]);
        load_wait_attached(&s->loads[i]);
    }
    whole_wait_live(&s->near, "pid", INSTANCES);
    s->whole = whole_path(&s->near, "whole.skein");
    s->file = whole_path(&s->near, "slice.skein");
}

static void scene_end(struct scene *s)
{
    for (int i = 0; i < INSTANCES; i++) {
        load_free(&s->loads[i]);
        free(s->places[i]);
    }
    free(s->whole);
    free(s->file);
    whole_fini(&s->far);
    whole_fini(&s->near);
}

static int listen_ready(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(fd, 4096), 0);
    return fd;
}

static void rule_put(const struct scene *s, const char *path)
{
    struct buf body = {0}, answer = {0};
    buf_printf(&body,
               "{\"selector\":\"pid=%d\",\"when\":{\"health\":{\"every_ms\":200,"
               "\"timeout_ms\":5000,\"failures\":2,\"unix\":{\"path\":\"%s\"}}},"
               "\"capture\":{\"pre_ms\":10000,\"post_ms\":0,\"include\":\"service in (web,db)\"}}",
               (int)s->loads[0].pid, path);
    buf_put_u8(&body, 0);
    int status =
        whole_http(&s->near, "PUT", "/api/v1/rules/ready", (const char *)body.data, &answer);
    ck_assert_msg(status == 201, "%d %.*s", status, (int)answer.len,
                  answer.data ? (const char *)answer.data : "");
    buf_fini(&body);
    buf_fini(&answer);
}

static bool is_passing(void *context)
{
    const struct scene *s = context;
    cJSON *rule = whole_get(&s->near, "/api/v1/rules/ready");
    const cJSON *state = cJSON_GetObjectItemCaseSensitive(rule, "state");
    const cJSON *process =
        cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(state, "processes"), 0);
    bool passing = process && strcmp(whole_str(process, "health"), "passing") == 0;
    cJSON_Delete(rule);
    return passing;
}

static bool has_fired(void *context)
{
    struct scene *s = context;
    cJSON *rule = whole_get(&s->near, "/api/v1/rules/ready");
    const cJSON *state = cJSON_GetObjectItemCaseSensitive(rule, "state");
    const cJSON *last = cJSON_GetObjectItemCaseSensitive(state, "last_capture");
    if (cJSON_IsString(last))
        (void)snprintf(s->capture, sizeof s->capture, "%s", last->valuestring);
    cJSON_Delete(rule);
    return s->capture[0] != '\0';
}

/* At most a burst a millisecond: all samples take more than the rule's ten seconds. */
static void samples_take(struct scene *s)
{
    for (int k = 0; k < SAMPLES; k++) {
        load_wait_events(&s->loads[0], 100 * BURST);
        for (int i = 0; i < INSTANCES; i++) {
            struct sample *sample = &s->samples[k][i];
            sample->before_ns = clock_realtime_ns();
            sample->n = s->loads[i].page->committed[0];
            sample->after_ns = clock_realtime_ns();
        }
    }
}

/* ---- what came of it ---- */

static uint64_t time_at(const cJSON *object, const char *name)
{
    uint64_t ns = 0;
    ck_assert_int_eq(clock_parse(whole_str(object, name), &ns), SKEIN_OK);
    return ns;
}

/* Complete, with all three over the same ten seconds. The slice is four in the middle. */
static void capture_check(struct scene *s)
{
    cJSON *capture = whole_capture_final(&s->near, s->capture);
    const cJSON *verdict = cJSON_GetObjectItemCaseSensitive(capture, "verdict"), *target;
    const cJSON *window = cJSON_GetObjectItemCaseSensitive(capture, "window");
    const cJSON *targets = cJSON_GetObjectItemCaseSensitive(capture, "targets");
    ck_assert_msg(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(verdict, "complete")), "%s: see %s",
                  whole_str(verdict, "text"), s->near.folder);
    ck_assert_int_eq((int)whole_number(capture, "pre_ms"), 10000);
    ck_assert_int_eq(cJSON_GetArraySize(targets), INSTANCES);
    cJSON_ArrayForEach(target, targets)
        ck_assert_str_eq(whole_str(target, "status"), "complete");
    s->from_ns = time_at(window, "from") + 3 * S;
    s->to_ns = time_at(window, "to") - 3 * S;
    cJSON_Delete(capture);
}

static void trace_fetch(const struct scene *s, const char *window, const char *file)
{
    char path[256];
    struct buf bytes = {0};
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s/trace%s", s->capture, window);
    ck_assert_int_eq(whole_http(&s->near, "GET", path, NULL, &bytes), 200);
    file_write(file, bytes.data, bytes.len);
    buf_fini(&bytes);
}

static void slice_fetch(const struct scene *s)
{
    char window[128], from[CLOCK_TEXT_BYTES], to[CLOCK_TEXT_BYTES];
    clock_text(s->from_ns, from);
    clock_text(s->to_ns, to);
    (void)snprintf(window, sizeof window, "?from=%s&to=%s", from, to);
    trace_fetch(s, "", s->whole);
    trace_fetch(s, window, s->file);
}

static int instance_of(const struct scene *s, uint32_t pid)
{
    for (int i = 0; i < INSTANCES; i++) {
        if ((uint32_t)s->loads[i].pid == pid)
            return i;
    }
    ck_abort_msg("process %u is none of the test's: see %s", pid, s->near.folder);
}

/* Blocks of the partition that tell of something in the window. */
static size_t blocks_inside(const struct scene *s, const struct buf *bytes,
                            const struct partition_footer *footer)
{
    struct partition_reader *r;
    char why[256] = "";
    size_t inside = 0;
    ck_assert_msg(partition_check(bytes->data, bytes->len, why, sizeof why) == SKEIN_OK, "%s", why);
    ck_assert_int_eq(partition_reader_new(bytes->data, bytes->len, &r, why, sizeof why), SKEIN_OK);
    for (size_t i = 0; i < footer->block_count; i++) {
        const struct partition_block *block = &footer->blocks[i];
        inside += partition_reader_time_ns(r, block->from_ticks) <= s->to_ns &&
                  partition_reader_time_ns(r, block->to_ticks) >= s->from_ns;
    }
    partition_reader_free(&r);
    return inside;
}

/* All blocks of the file, and those inside of each instance. */
static size_t file_look(const struct scene *s, const char *path, size_t inside[INSTANCES])
{
    struct trace_file *file;
    struct buf bytes = {0};
    char why[256] = "";
    size_t blocks = 0;
    ck_assert_msg(trace_file_open(path, &file, why, sizeof why) == SKEIN_OK, "%s", why);
    ck_assert(trace_file_closed(file));
    memset(inside, 0, INSTANCES * sizeof *inside);
    for (size_t i = 0; i < trace_file_count(file); i++) {
        const struct trace_entry *entry = trace_file_entry(file, i);
        ck_assert_int_eq(trace_file_read(file, i, &bytes), SKEIN_OK);
        inside[instance_of(s, entry->footer.pid)] += blocks_inside(s, &bytes, &entry->footer);
        blocks += entry->footer.block_count;
    }
    buf_fini(&bytes);
    trace_file_free(&file);
    return blocks;
}

/* The slice holds what the window needs of everybody, and nothing else. */
static void slice_check(const struct scene *s)
{
    size_t of_whole[INSTANCES], of_slice[INSTANCES], wanted = 0;
    (void)file_look(s, s->whole, of_whole);
    size_t held = file_look(s, s->file, of_slice);
    for (int i = 0; i < INSTANCES; i++) {
        ck_assert_uint_gt(of_slice[i], 0);
        ck_assert_uint_eq(of_slice[i], of_whole[i]);
        wanted += of_slice[i];
    }
    ck_assert_uint_eq(held, wanted);
}

/* ---- as `skein cat` tells it: one clock, one order ---- */

static uint64_t number_behind(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    must_hold(at != NULL, "no %s in %s", key, line);
    return strtoull(at + strlen(key), NULL, 10);
}

static void line_take(struct scene *s, const char *line, uint64_t number, uint64_t *last_ns)
{
    uint64_t time_ns = number_behind(line, "\"ts_ns\":\"");
    int i = instance_of(s, (uint32_t)number_behind(line, "\"pid\":"));
    if (strstr(line, "\"name\":\"tick\"") == NULL)
        return; /* evidence, of which vitals reach further back, and spans tell of their begin */
    must_hold(time_ns >= *last_ns, "line %" PRIu64 " is earlier than the one before", number);
    *last_ns = time_ns;
    must_hold(time_ns >= s->from_ns && time_ns <= s->to_ns, "line %" PRIu64 " is not in the window",
              number);
    uint64_t n = number_behind(line, "\"n\":");
    must_hold(n < s->written[i] && s->places[i][n].time_ns == 0,
              "line %" PRIu64 ": event %" PRIu64 " was not written, or comes twice", number, n);
    s->places[i][n] = (struct place){time_ns, number};
    s->counts[i]++;
}

static void cat_read(struct scene *s)
{
    char from[CLOCK_TEXT_BYTES], to[CLOCK_TEXT_BYTES], *out = whole_path(&s->near, "cat.json");
    clock_text(s->from_ns, from);
    clock_text(s->to_ns, to);
    const char *const words[] = {SKEIN_PROGRAM, "cat", s->file, "-o", "json",
                                 "--from",      from,  "--to",  to,   NULL};
    ck_assert_int_eq(spawn_wait(spawn(words, &(struct spawn_options){.out_file = out}), 0), 0);
    char *text = file_read(out, NULL), *rest = text;
    uint64_t number = 0, last_ns = 0;
    for (int i = 0; i < INSTANCES; i++) {
        s->written[i] = s->loads[i].page->committed[0] + 1;
        s->places[i] = calloc((size_t)s->written[i], sizeof *s->places[i]);
        ck_assert_ptr_nonnull(s->places[i]);
    }
    for (char *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0'; number++)
        line_take(s, line, number, &last_ns);
    free(text);
    free(out);
}

/* All that an instance wrote in the window, and nothing of it missing in between. */
static void contiguous_check(const struct scene *s, int i)
{
    uint64_t first = 0, last = s->written[i] - 1;
    while (first < last && s->places[i][first].time_ns == 0)
        first++;
    while (last > first && s->places[i][last].time_ns == 0)
        last--;
    ck_assert_uint_gt(s->counts[i], 0);
    ck_assert_msg(s->counts[i] == last - first + 1,
                  "instance %d: %" PRIu64 " events of %" PRIu64 " to %" PRIu64 ": see %s", i,
                  s->counts[i], first, last, s->near.folder);
}

/* The offset between clocks is known to half a message's way; a second is more than a message takes
 * here. */
static bool is_inside(const struct scene *s, const struct sample *sample)
{
    return sample->before_ns > s->from_ns + S && sample->after_ns + S < s->to_ns;
}

static size_t samples_check(const struct scene *s, int i)
{
    size_t inside = 0;
    for (int k = 0; k < SAMPLES; k++) {
        const struct sample *sample = &s->samples[k][i];
        if (!is_inside(s, sample))
            continue;
        const struct place *before = &s->places[i][sample->n - 1],
                           *behind = &s->places[i][sample->n + 1];
        ck_assert_uint_ne(before->time_ns, 0);
        ck_assert_uint_ne(behind->time_ns, 0);
        ck_assert_uint_lt(before->time_ns, sample->after_ns + S);
        ck_assert_uint_gt(behind->time_ns, sample->before_ns - S);
        inside++;
    }
    return inside;
}

/* What one instance is known to have written earlier than another is in front of that. */
static size_t order_check(const struct scene *s, int i, int j)
{
    size_t pairs = 0;
    for (int k = 0, l = 0; k < SAMPLES; k++) {
        const struct sample *earlier = &s->samples[k][i];
        while (l < SAMPLES && s->samples[l][j].before_ns < earlier->after_ns + S)
            l++;
        if (l == SAMPLES)
            break;
        const struct sample *later = &s->samples[l][j];
        if (!is_inside(s, earlier) || !is_inside(s, later))
            continue;
        ck_assert_uint_lt(s->places[i][earlier->n - 1].line, s->places[j][later->n + 1].line);
        pairs++;
    }
    return pairs;
}

START_TEST(one_file_holds_all_who_were_captured_on_one_clock)
{
    static struct scene s;
    scene_start(&s);
    char *path = whole_path(&s.near, "ready.sock");
    int ready = listen_ready(path);
    rule_put(&s, path);
    ck_assert_msg(wait_until(is_passing, &s, 0), "does not pass: see %s", s.near.folder);
    samples_take(&s);
    close(ready);
    ck_assert_msg(wait_until(has_fired, &s, 0), "does not fire: see %s", s.near.folder);
    capture_check(&s);
    slice_fetch(&s);
    slice_check(&s);
    cat_read(&s);
    for (int i = 0; i < INSTANCES; i++) {
        contiguous_check(&s, i);
        ck_assert_uint_gt(samples_check(&s, i), 0);
        for (int j = 0; j < INSTANCES; j++)
            ck_assert_msg(i == j || order_check(&s, i, j) > 0, "no pair of %d and %d: see %s", i, j,
                          s.near.folder);
    }
    free(path);
    scene_end(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_neighbours");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 280);
    tcase_add_test(c, one_file_holds_all_who_were_captured_on_one_clock);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
