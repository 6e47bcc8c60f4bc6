/* SPDX-License-Identifier: Apache-2.0
 * What of evidence a reader may not know: an evidence partition that names others and holds words of
 * files is made anew, and asked for over HTTP, in every form, by tokens of each kind. */
#include "withhold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "alloc_fail.h"
#include "clock.h"
#include "collector_fixture.h"
#include "partition_reader.h"
#include "partition_writer.h"
#include "support.h"
#include "trace_file.h"

#define CAPTURE "01a10000000000000000000000000071"
#define SECOND  UINT64_C(1000000000)
#define AT_NS   UINT64_C(1700000000000000000)
#define OWN     4711u
#define OTHER   815u

static const struct withhold nothing = {.names = false}, names = {true, WITHHOLD_NO_WORDS},
                             others_words = {false, WITHHOLD_WORDS_OTHERS},
                             all_words = {false, WITHHOLD_WORDS_ALL};

/* ---- the partition ---- */

#define TYPE(n, ...)                                                                               \
    {                                                                                              \
        .name = n, .text = "", .file = "", .klass = SKEIN_CLASS_INSTANT, .group = 4, __VA_ARGS__   \
    }
#define ARG(t, n) PARTITION_ARG(SKEIN_T_##t, n, "")
static const struct partition_event_type
    cpu_others =
        TYPE("cpu.others", .nargs = 4,
             .args = {ARG(U64, "weight"), ARG(U64, "samples"), ARG(U64, "pid"), ARG(STR, "name")}),
    top = TYPE("host.top.cpu", .nargs = 4,
               .args = {ARG(U64, "rank"), ARG(U64, "pid"), ARG(STR, "name"), ARG(F64, "cpu")}),
    neighbour = TYPE("sched.neighbour", .nargs = 3,
                     .args = {ARG(U64, "pid"), ARG(STR, "comm"), ARG(U64, "cpu_ns")}),
    newer = TYPE("host.newer", .nargs = 1, .args = {ARG(STR, "what")}),
    sent =
        TYPE("crash.sent", .nargs = 4,
             .args = {ARG(I64, "signal"), ARG(STR, "cause"), ARG(U64, "by"), ARG(STR, "by_name")}),
    place = TYPE("crash.stderr", .nargs = 5,
                 .args = {ARG(STR, "file"), ARG(U64, "bytes"), ARG(STR, "since"),
                          ARG(STR, "missing"), ARG(STR, "readers")}),
    old_place = TYPE("crash.stderr", .nargs = 2, .args = {ARG(STR, "file"), ARG(STR, "missing")}),
    sample = TYPE("cpu.sample", .nargs = 1, .args = {ARG(U64, "weight")}),
    piece = TYPE("crash.words", .nargs = 1, .args = {ARG(STR, "text")});
static const struct partition_event_type runnable = {
    .name = "sched.runnable",
    .text = "",
    .file = "",
    .klass = SKEIN_CLASS_SPAN,
    .group = 4,
    .nargs = 3,
    .args = {ARG(STR, "why"), ARG(U64, "instead_tid"), ARG(STR, "instead")}};
static const struct partition_event_type blocked = {
    .name = "sched.blocked",
    .text = "",
    .file = "",
    .klass = SKEIN_CLASS_SPAN,
    .group = 4,
    .nargs = 3,
    .args = {ARG(STR, "state"), ARG(U64, "waker_tid"), ARG(STR, "waker")}};

static struct partition_value number(uint64_t value)
{
    return (struct partition_value){.u64 = value};
}

static void put(struct partition_writer *w, const struct partition_event_type *type, uint64_t ticks,
                uint64_t dur, const struct partition_value *args)
{
    partition_writer_event(w, (uint32_t)partition_writer_type(w, type), ticks, dur, args);
}

#define PUT(w, type, ticks, dur, ...)                                                              \
    put(w, type, ticks, dur, (const struct partition_value[]){__VA_ARGS__})

static void host_write(struct partition_writer *w)
{
    PUT(w, &cpu_others, 100, 0, number(7), number(1), number(OTHER),
        partition_text("zeta-sampled"));
    PUT(w, &cpu_others, 101, 0, number(8), number(1), number(OWN), partition_text("own-sampled"));
    PUT(w, &cpu_others, 102, 0, number(9), number(1), number(0), partition_text("(12 others)"));
    PUT(w, &top, 103, 0, number(1), number(OTHER), partition_text("zeta-top"), {.f64 = 93.5});
    PUT(w, &neighbour, 104, 0, number(OTHER), partition_text("zeta-comm"), number(77));
    PUT(w, &newer, 105, 0, partition_text("zeta-newer"));
}

static void own_write(struct partition_writer *w, const char *readers)
{
    static const uint64_t pcs[] = {0x401000, 0x402000};
    const struct partition_stack stack = {pcs, 2, 0};
    PUT(w, &runnable, 300, 150, partition_text("woken"), number(OTHER),
        partition_text("zeta-instead"));
    int64_t id = partition_writer_stack(w, &stack);
    ck_assert_int_gt(id, 0);
    partition_writer_event_stack(w, (uint32_t)id);
    PUT(w, &runnable, 301, 1, partition_text("new"), number(0), partition_text("(idle)"));
    PUT(w, &blocked, 302, 1, partition_text("S"), number(OWN + 1), partition_text("own-waker"));
    PUT(w, &blocked, 303, 1, partition_text("D"), number(OTHER), partition_text("zeta-waker"));
    PUT(w, &sent, 304, 0, {.i64 = 9}, partition_text("by kill()"), number(OTHER),
        partition_text("zeta-killer"));
    if (readers != NULL)
        PUT(w, &place, 305, 0, partition_text("/log"), number(13), partition_text("start"),
            partition_text(""), partition_text(readers));
    else
        PUT(w, &old_place, 305, 0, partition_text("/log"), partition_text(""));
    PUT(w, &piece, 305, 0, partition_text("words-of-it"));
    PUT(w, &piece, 305, 0, partition_text(""));
    PUT(w, &sample, 306, 0, number(1000000));
    partition_writer_event_stack(w, (uint32_t)id);
    /* Long enough for a report to say who had the CPU. */
    PUT(w, &runnable, SECOND / 10 * 9, SECOND / 10 * 8, partition_text("woken"), number(OTHER),
        partition_text("zeta-neighbour"));
}

static void symbols_write(struct partition_writer *w)
{
    const struct partition_mapping mapping = {
        .start = 0x400000, .end = 0x500000, .path = "/bin/shop"};
    const struct partition_line line = {.function = "shop_main", .file = ""};
    const struct partition_symbol symbol = {0x401000 - 1, &line, 1};
    ck_assert_int_eq(partition_writer_mapping(w, &mapping), SKEIN_OK);
    ck_assert_int_eq(partition_writer_symbol(w, &symbol), SKEIN_OK);
}

static struct partition_info info_of(const struct partition_key *key)
{
    return (struct partition_info){.key = *key,
                                   .pid = OWN,
                                   .clock = PARTITION_CLOCK_MONOTONIC,
                                   .begin = {0, 0, 0, AT_NS},
                                   .end = {SECOND, SECOND, SECOND, AT_NS + SECOND},
                                   .window_from_ticks = 0,
                                   .window_to_ticks = SECOND,
                                   .host = "host-a",
                                   .service = "shop",
                                   .labels = "",
                                   .exe = "/bin/shop",
                                   .evidence = true};
}

static void evidence_make(const struct partition_key *key, const char *readers, struct buf *out)
{
    struct partition_info info = info_of(key);
    struct partition_thread host = {0, "host", 0}, main = {OWN, "main", 1},
                            second = {OWN + 1, "second", 2};
    struct partition_writer *w;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    uint32_t of_host = (uint32_t)partition_writer_thread(w, &host),
             of_main = (uint32_t)partition_writer_thread(w, &main);
    (void)partition_writer_thread(w, &second);
    symbols_write(w);
    partition_writer_batch(w, of_main, 3, 1, false);
    own_write(w, readers);
    partition_writer_batch(w, of_host, 3, 1, false);
    host_write(w);
    buf_clear(out);
    ck_assert_int_eq(partition_writer_finish(w, out, NULL), SKEIN_OK);
    partition_writer_free(&w);
}

/* ---- what a partition tells ---- */

static const struct partition_key some_key = {.epoch = 5, .sequence = PARTITION_EVIDENCE_FROM};

static void event_tell(struct buf *said, struct partition_reader *reader,
                       const struct trace_event *event)
{
    buf_printf(said, "%s %u %llu+%llu", event->type->name, event->thread->tid,
               (unsigned long long)event->ticks, (unsigned long long)event->dur_ns);
    for (unsigned i = 0; i < event->type->nargs; i++)
        if (event->type->args[i].type == SKEIN_T_STR)
            buf_printf(said, " <%.*s>", (int)event->args[i].str.len, event->args[i].str.text);
        else
            buf_printf(said, " %llx", (unsigned long long)event->args[i].u64);
    struct partition_stack stack;
    struct partition_symbol symbol;
    if (partition_reader_stack(reader, event->stack, &stack))
        buf_printf(said, " %u frames of %s", stack.count,
                   partition_reader_symbol(reader, partition_stack_address(&stack, 0), &symbol)
                       ? symbol.lines[0].function
                       : "?");
    buf_printf(said, "\n");
}

/* All events of the partitions at bytes, as text; the caller frees. */
static char *tell(const uint8_t *bytes, size_t n)
{
    struct buf said = {0};
    uint64_t length;
    bool is_table;
    for (size_t at = 0; at < n; at += (size_t)length) {
        struct partition_reader *reader;
        struct trace_event event;
        char error[256] = "";
        int next;
        ck_assert_int_eq(trace_head_get(bytes + at, n - at, &length, &is_table), SKEIN_OK);
        if (is_table)
            break;
        ck_assert_msg(partition_reader_new(bytes + at, (size_t)length, &reader, error,
                                           sizeof error) == SKEIN_OK,
                      "%s", error);
        while ((next = partition_reader_next(reader, &event)) > 0)
            event_tell(&said, reader, &event);
        ck_assert_msg(next == 0, "%s", partition_reader_error(reader));
        partition_reader_free(&reader);
    }
    buf_put_u8(&said, 0);
    ck_assert_int_eq(said.status, SKEIN_OK);
    return (char *)said.data;
}

static char *tell_withheld(const struct withhold *what, const char *readers)
{
    struct buf whole = {0}, packed = {0}, again = {0};
    evidence_make(&some_key, readers, &whole);
    ck_assert_int_eq(withhold_pack(what, whole.data, whole.len, &packed), SKEIN_OK);
    ck_assert_int_eq(withhold_pack(what, whole.data, whole.len, &again), SKEIN_OK);
    ck_assert_uint_eq(packed.len, again.len);
    ck_assert_mem_eq(packed.data, again.data, again.len);
    char *said = tell(packed.data, packed.len);
    buf_fini(&whole);
    buf_fini(&packed);
    buf_fini(&again);
    return said;
}

static void has(const char *said, const char *words)
{
    ck_assert_msg(strstr(said, words) != NULL, "no %s in:\n%s", words, said);
}

static void lacks(const char *said, const char *words)
{
    ck_assert_msg(strstr(said, words) == NULL, "%s in:\n%s", words, said);
}

/* ---- anew ---- */

START_TEST(partition_from_which_nothing_is_withheld_tells_the_same)
{
    struct buf whole = {0};
    evidence_make(&some_key, "everybody", &whole);
    char *before = tell(whole.data, whole.len), *after = tell_withheld(&nothing, "everybody");
    ck_assert_str_eq(before, after);
    has(after, "sched.runnable 4711 300+150 <woken> 32f <zeta-instead> 2 frames of shop_main");
    free(before);
    free(after);
    buf_fini(&whole);
}
END_TEST

START_TEST(names_of_others_are_withheld_and_numbers_stay)
{
    char *said = tell_withheld(&names, "others");
    lacks(said, "zeta");
    has(said, "cpu.others 0 100+0 7 1 32f <(withheld)>");
    has(said, "cpu.others 0 101+0 8 1 1267 <own-sampled>");
    has(said, "cpu.others 0 102+0 9 1 0 <(12 others)>");
    has(said, "host.top.cpu 0 103+0 1 32f <(withheld)> 4057600000000000");
    has(said, "sched.neighbour 0 104+0 32f <(withheld)> 4d");
    has(said, "host.newer 0 105+0 <(withheld)>");
    has(said, "sched.runnable 4711 300+150 <woken> 32f <(withheld)> 2 frames of shop_main");
    has(said, "sched.runnable 4711 301+1 <new> 0 <(idle)>");
    has(said, "sched.blocked 4711 302+1 <S> 1268 <own-waker>");
    has(said, "sched.blocked 4711 303+1 <D> 32f <(withheld)>");
    has(said, "crash.sent 4711 304+0 9 <by kill()> 32f <(withheld)>");
    has(said, "words-of-it"); /* these are another's to withhold */
    free(said);
}
END_TEST

START_TEST(words_are_told_to_who_could_read_the_file)
{
    static const struct {
        const struct withhold *what;
        const char *readers; /* NULL: of an agent that did not look */
        bool shown;
    } cases[] = {{&nothing, "others", true},         {&nothing, NULL, true},
                 {&others_words, "everybody", true}, {&others_words, "process", true},
                 {&others_words, "others", false},   {&others_words, NULL, false},
                 {&others_words, "", false},         {&others_words, "processes", false},
                 {&all_words, "everybody", true},    {&all_words, "process", false},
                 {&all_words, "others", false},      {&all_words, NULL, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *said = tell_withheld(cases[i].what, cases[i].readers);
        (cases[i].shown ? has : lacks)(said, "words-of-it");
        (cases[i].shown ? lacks : has)(said, "withheld here");
        has(said, "crash.stderr 4711 305+0 </log>");
        has(said, "zeta-killer");
        free(said);
    }
}
END_TEST

START_TEST(what_cannot_be_read_is_not_told)
{
    struct buf whole = {0}, out = {0};
    evidence_make(&some_key, "others", &whole);
    buf_put(&out, "before", 6);
    for (size_t n = 0; n < whole.len; n++) {
        ck_assert_int_lt(withhold_pack(&names, whole.data, n, &out), 0);
        ck_assert_uint_eq(out.len, 6);
    }
    for (size_t at = 0; at < whole.len; at += 3) { /* refused, or as before */
        whole.data[at] ^= 0x20;
        if (withhold_pack(&names, whole.data, whole.len, &out) == SKEIN_OK)
            out.len = 6;
        ck_assert_uint_eq(out.len, 6);
        whole.data[at] ^= 0x20;
    }
    buf_fini(&whole);
    buf_fini(&out);
}
END_TEST

START_TEST(memory_that_is_missing_is_told)
{
    struct buf whole = {0};
    evidence_make(&some_key, "others", &whole);
    bool failed = true;
    for (unsigned n = 1; failed; n++) {
        struct buf out = {0};
        alloc_fail_at(n);
        int status = withhold_pack(&names, whole.data, whole.len, &out);
        failed = alloc_fail_end();
        ck_assert_int_eq(status, failed ? SKEIN_NO_MEMORY : SKEIN_OK);
        buf_fini(&out);
    }
    buf_fini(&whole);
}
END_TEST

/* ---- more than agents write ---- */

static const struct partition_event_type texts = TYPE("crash.x", .nargs = 1,
                                                      .args = {ARG(STR, "text")}),
                                         bare = TYPE("crash.words", .nargs = 0);

/* So many events that name one text of 1,000 bytes, on so many threads: a few KiB. */
static void many_make(const struct partition_event_type *type, unsigned events, unsigned threads,
                      struct buf *out)
{
    static char text[1001];
    struct partition_info info = info_of(&some_key);
    struct partition_writer *w;
    memset(text, 'a', sizeof text - 1);
    const struct partition_value value = partition_text(text);
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    for (unsigned i = 0; i < threads; i++) {
        const struct partition_thread thread = {i + 1, "", i};
        ck_assert_int_eq(partition_writer_thread(w, &thread), i);
    }
    partition_writer_batch(w, 0, 3, 1, false);
    uint32_t id = (uint32_t)partition_writer_type(w, type);
    for (unsigned i = 0; i < events; i++)
        partition_writer_event(w, id, 100 + i / 100, 0, &value);
    buf_clear(out);
    ck_assert_int_eq(partition_writer_finish(w, out, NULL), SKEIN_OK);
    partition_writer_free(&w);
}

static long peak_kib(void)
{
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

START_TEST(a_reader_has_no_more_memory_than_it_is_given)
{
    struct buf whole = {0};
    struct partition_fault fault;
    struct trace_event event;
    many_make(&texts, 1000, 100000, &whole);
    for (uint64_t most = 1u << 20; most <= 256u << 20; most *= 16) {
        struct partition_reader *reader;
        int status = partition_reader_make_within(whole.data, whole.len, most, &reader, &fault);
        while (status == SKEIN_OK && (status = partition_reader_next(reader, &event)) == 1)
            status = SKEIN_OK;
        ck_assert_int_eq(status, most < 256u << 20 ? SKEIN_TOO_LARGE : 0);
        partition_reader_free(&reader);
    }
    buf_fini(&whole);
}
END_TEST

START_TEST(few_bytes_that_say_much_take_little_memory)
{
    static const struct {
        const struct partition_event_type *type;
        unsigned events, threads;
        int status;
    } cases[] = {{&texts, 400000, 1, SKEIN_OK},
                 {&texts, 1000000, 1, SKEIN_TOO_LARGE},
                 {&bare, 3000000, 1, SKEIN_TOO_LARGE},
                 {&texts, 1, 200000, SKEIN_TOO_LARGE},
                 {&texts, 1000, 5000, SKEIN_OK}};
    static const struct withhold what = {true, WITHHOLD_WORDS_ALL};
    struct buf whole = {0}, out = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        many_make(cases[i].type, cases[i].events, cases[i].threads, &whole);
        ck_assert_uint_lt(whole.len, 2u << 20);
        long before = peak_kib();
        buf_clear(&out);
        ck_assert_int_eq(withhold_pack(&what, whole.data, whole.len, &out), cases[i].status);
        ck_assert_uint_eq(out.len > 0, cases[i].status == SKEIN_OK);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they keep what is freed */
        ck_assert_int_lt(peak_kib() - before, 200 << 10);
#else
        (void)before;
#endif
    }
    buf_fini(&whole);
    buf_fini(&out);
}
END_TEST

/* ---- over HTTP ---- */

static char capture_path[] = "/api/v1/captures/" CAPTURE;

static void token_make(struct fixture *f, const char *name, enum http_scope scope,
                       const char *selector, char header[128])
{
    struct token token = {.scope = scope};
    char text[TOKEN_TEXT_BYTES], error[256] = "";
    snprintf(token.name, sizeof token.name, "%s", name);
    snprintf(token.selector, sizeof token.selector, "%s", selector);
    ck_assert_int_eq(
        tokens_create(f->collector.tokens, &token, clock_realtime_ns(), text, error, sizeof error),
        SKEIN_OK);
    snprintf(header, 128, "Authorization: Bearer %s", text);
}

static void start(struct fixture *f, const char *readers, char key_text[PARTITION_KEY_TEXT_BYTES])
{
    char error[256];
    struct capture_id id;
    struct buf whole = {0};
    fixture_start_with(f, NULL,
                       ",\"analysis\":{\"program\":\"" ANALYST_PROGRAM
                       "\",\"max_trace_bytes\":0,\"memory_bytes\":536870912}");
    wire_agent_processes(&f->agent, 1, 1, "shop");
    ck_assert_int_eq(wire_agent_upload(&f->agent, 1, 0, CAPTURE, 0), WIRE_STORED);
    struct partition_key key = key_of(1, f->agent.epoch, PARTITION_EVIDENCE_FROM);
    evidence_make(&key, readers, &whole);
    ck_assert(wire_agent_report(&f->agent, wire_fired(&f->agent, CAPTURE, 1, NULL, AT_NS), error,
                                sizeof error));
    ck_assert_int_eq(id_parse(CAPTURE, id.bytes), SKEIN_OK);
    ck_assert_int_eq(partition_upload(f->agent.data, &key, &id, &whole), WIRE_STORED);
    cJSON *report = wire_target(&f->agent, CAPTURE, 1, "uploading", 1, 1),
          *range = cJSON_CreateObject();
    json_add_u64(range, "epoch", key.epoch);
    json_add_u64(range, "first", key.sequence);
    json_add_u64(range, "last", key.sequence);
    json_add_u64(range, "events", 1);
    json_add_u64(range, "bytes", whole.len);
    cJSON_AddItemToArray(cJSON_GetObjectItem(report, "partitions"), range);
    ck_assert_msg(wire_agent_report(&f->agent, report, error, sizeof error), "%s", error);
    wait_for_text(f, capture_path, "targets.0.status", "complete");
    partition_key_text(&key, key_text);
    buf_fini(&whole);
}

/* The body of the answer, with a NUL behind it; of a trace what its events say. */
static char *body_of(const struct fixture *f, const char *path, const char *sql, const char *token)
{
    struct http_response response;
    char body[300] = "";
    if (sql != NULL)
        snprintf(body, sizeof body, "{\"query\":\"%s\"}", sql);
    call(f, sql != NULL ? "POST" : "GET", path, sql != NULL ? body : NULL, token, &response);
    ck_assert_msg(response.status == 200, "%s: %ld %.*s", path, response.status,
                  (int)response.body.len, (const char *)response.body.data);
    bool trace = response.body.len > 8 && memcmp(response.body.data, "SKEIN", 5) == 0;
    char *said =
        trace ? tell(response.body.data, response.body.len) : malloc(response.body.len + 1);
    if (!trace) {
        for (size_t i = 0; i < response.body.len; i++) /* of binary forms the texts alone */
            said[i] = response.body.data[i] != 0 ? (char)response.body.data[i] : ' ';
        said[response.body.len] = '\0';
    }
    http_response_fini(&response);
    return said;
}

/* Every way to what a capture's evidence says. */
static const struct way {
    const char *path; /* %s: the capture's, or the partition */
    const char *sql;
    bool tells; /* names, to an admin */
    bool words; /* and words */
} ways[] = {
    {"/api/v1/captures/" CAPTURE "/trace", NULL, true, true},
    {"/api/v1/captures/" CAPTURE "/trace?from=2023-11-14T22:13:20Z&to=2023-11-14T22:13:21Z", NULL,
     true, true},
    {"/api/v1/captures/trace?incident=" CAPTURE, NULL, true, true},
    {"/api/v1/captures/" CAPTURE "/trace?format=perfetto", NULL, true, true},
    {"/api/v1/partitions/%s", NULL, true, true},
    {"/api/v1/partitions/%s/footer", NULL, false, false},
    {"/api/v1/captures/" CAPTURE "/trace?format=folded", NULL, false, false},
    {"/api/v1/captures/" CAPTURE "/trace?format=pprof", NULL, false, false},
    {"/api/v1/captures/" CAPTURE "/report", NULL, true, false},
    {"/api/v1/captures/" CAPTURE "/diff?with=" CAPTURE
     "&from=2023-11-14T22:13:20Z&to=2023-11-14T22:13:20.2Z&baseline_from=2023-11-14T22:13:20.2Z&baseline_to=2023-11-14T22:13:21Z",
     NULL, false, false}, /* it names none, to anybody */
    {"/api/v1/captures/" CAPTURE "/overview", NULL, false, false},
    {"/api/v1/captures/" CAPTURE "/manifest", NULL, false, false},
    {"/api/v1/captures/" CAPTURE, NULL, false, false},
    {"/api/v1/captures/" CAPTURE "/sql", "select * from args", true, true},
    {"/api/v1/captures/" CAPTURE "/sql", "select * from thread_state", true, false},
};

static void ways_go(const struct fixture *f, const char *key, const char *token, bool names_shown,
                    bool words_shown)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char path[320];
        const char *hole = strstr(ways[i].path, "%s");
        if (hole == NULL)
            snprintf(path, sizeof path, "%s", ways[i].path);
        else
            snprintf(path, sizeof path, "%.*s%s%s", (int)(hole - ways[i].path), ways[i].path, key,
                     hole + 2);
        char *said = body_of(f, path, ways[i].sql, token);
        bool zeta = strstr(said, "zeta") != NULL, words = strstr(said, "words-of-it") != NULL;
        ck_assert_msg(zeta == (names_shown && ways[i].tells), "%s: names %d\n%s", path, zeta, said);
        ck_assert_msg(words == (words_shown && ways[i].words), "%s: words %d\n%s", path, words,
                      said);
        free(said);
    }
}

static void tokens_go(const char *readers, bool operator_words, bool confined_words,
                      bool viewer_words)
{
    struct fixture f;
    char key[PARTITION_KEY_TEXT_BYTES], admin[128], operator[128], viewer[128], mine[128], own[128];
    start(&f, readers, key);
    ways_go(&f, key, NULL, true, true); /* before there is a token */
    token_make(&f, "admin", HTTP_ADMIN, "", admin);
    token_make(&f, "operator", HTTP_OPERATOR, "", operator);
    token_make(&f, "viewer", HTTP_VIEWER, "", viewer);
    token_make(&f, "mine", HTTP_VIEWER, "service=shop", mine);
    token_make(&f, "own", HTTP_OPERATOR, "service=shop", own);
    ways_go(&f, key, admin, true, true);
    ways_go(&f, key, operator, true, operator_words);
    ways_go(&f, key, viewer, true, viewer_words);
    ways_go(&f, key, mine, false, viewer_words);
    ways_go(&f, key, own, false, confined_words);
    fixture_stop(&f);
}

START_TEST(file_of_root_is_an_admins)
{
    tokens_go("others", false, false, false);
}
END_TEST

START_TEST(file_of_the_process_is_for_who_works_with_it)
{
    tokens_go("process", true, true, false);
}
END_TEST

START_TEST(file_of_everybody_is_for_all)
{
    tokens_go("everybody", true, true, true);
}
END_TEST

static bool are_left(void *context)
{
    const struct fixture *f = context;
    return places_taken(f->collector.exports) == 0;
}

static long status_of(const struct fixture *f, const char *path, const char *token)
{
    struct http_response response;
    call(f, "GET", path, NULL, token, &response);
    http_response_fini(&response);
    return response.status;
}

/* A partition whose footer lists more than is told beside all other answers. */
static void large_footer_upload(const struct fixture *f, char path[256])
{
    struct partition_key key = key_of(1, f->agent.epoch, PARTITION_EVIDENCE_FROM + 1);
    struct partition_info info = info_of(&key);
    struct partition_writer *w;
    struct capture_id id;
    struct buf whole = {0};
    char text[PARTITION_KEY_TEXT_BYTES], name[32];
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    const struct partition_thread thread = {OWN, "main", 1};
    partition_writer_batch(w, (uint32_t)partition_writer_thread(w, &thread), 3, 1, false);
    for (unsigned i = 0; i < 9000; i++) {
        const struct partition_event_type type = TYPE(name, .nargs = 0);
        snprintf(name, sizeof name, "type.%u", i);
        ck_assert_int_eq(partition_writer_type(w, &type), i);
        partition_writer_event(w, i, 100, 0, NULL);
    }
    ck_assert_int_eq(partition_writer_finish(w, &whole, NULL), SKEIN_OK);
    partition_writer_free(&w);
    ck_assert_int_eq(id_parse(CAPTURE, id.bytes), SKEIN_OK);
    ck_assert_int_eq(partition_upload(f->agent.data, &key, &id, &whole), WIRE_STORED);
    partition_key_text(&key, text);
    snprintf(path, 256, "/api/v1/partitions/%s/footer", text);
    buf_fini(&whole);
}

/* It is work, so few are made at once; whoever knows all takes nothing. */
START_TEST(evidence_is_made_anew_in_a_place_of_an_export)
{
    struct fixture f;
    char key[PARTITION_KEY_TEXT_BYTES], admin[128], mine[128], viewer[128], paths[3][256];
    start(&f, "others", key);
    token_make(&f, "admin", HTTP_ADMIN, "", admin);
    token_make(&f, "mine", HTTP_VIEWER, "service=shop", mine);
    token_make(&f, "viewer", HTTP_VIEWER, "", viewer);
    snprintf(paths[0], sizeof paths[0], "%s/trace", capture_path);
    snprintf(paths[1], sizeof paths[1], "/api/v1/partitions/%s", key);
    large_footer_upload(&f, paths[2]);
    ck_assert_int_eq(status_of(&f, paths[2], admin), 200);
    ck_assert(wait_until(are_left, &f, 0));
    unsigned taken[26] = {0};
    char who[] = "a";
    for (; who[0] <= 'z'; who[0]++)
        while (places_enter(f.collector.exports, who))
            taken[who[0] - 'a']++;
    ck_assert(!are_left(&f));
    ck_assert_int_eq(status_of(&f, paths[2], admin), 503);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(status_of(&f, paths[i], admin), 200);
        ck_assert_int_eq(status_of(&f, paths[i], mine), 503);
        ck_assert_int_eq(status_of(&f, paths[i], viewer), 503);
    }
    for (who[0] = 'a'; who[0] <= 'z'; who[0]++)
        for (; taken[who[0] - 'a'] > 0; taken[who[0] - 'a']--)
            places_leave(f.collector.exports, who);
    ck_assert(are_left(&f));
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(status_of(&f, paths[i], mine), 200);
        ck_assert(wait_until(are_left, &f, 0));
        ck_assert_int_eq(status_of(&f, paths[i], viewer), 200);
        ck_assert(wait_until(are_left, &f, 0));
    }
    fixture_stop(&f);
}
END_TEST

START_TEST(pieces_of_a_download_fit_together_and_have_a_name_of_their_own)
{
    struct fixture f;
    struct http_response all, part;
    char key[PARTITION_KEY_TEXT_BYTES], admin[128], mine[128], path[256], url[512], etag[128];
    start(&f, "others", key);
    token_make(&f, "admin", HTTP_ADMIN, "", admin);
    token_make(&f, "mine", HTTP_VIEWER, "service=shop", mine);
    snprintf(path, sizeof path, "%s/trace", capture_path);
    call(&f, "GET", path, NULL, admin, &all);
    snprintf(etag, sizeof etag, "%s", all.etag);
    http_response_fini(&all);
    call(&f, "GET", path, NULL, mine, &all);
    ck_assert_str_ne(etag, all.etag);
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", f.http_port, path);
    for (size_t from = 0; from < all.body.len; from += 97) {
        char range[64];
        const char *headers[] = {mine, range, NULL};
        const struct http_request request = {
            .method = "GET", .url = url, .headers = headers, .timeout_ms = support_deadline_ms()};
        snprintf(range, sizeof range, "Range: bytes=%zu-%zu", from, from + 96);
        ck_assert_int_eq(http_request(&request, &part), SKEIN_OK);
        ck_assert_int_eq(part.status, 206);
        ck_assert_mem_eq(part.body.data, all.body.data + from, part.body.len);
        http_response_fini(&part);
    }
    http_response_fini(&all);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "withhold", partition_from_which_nothing_is_withheld_tells_the_same,
        names_of_others_are_withheld_and_numbers_stay, words_are_told_to_who_could_read_the_file,
        what_cannot_be_read_is_not_told, memory_that_is_missing_is_told,
        a_reader_has_no_more_memory_than_it_is_given, few_bytes_that_say_much_take_little_memory,
        file_of_root_is_an_admins, file_of_the_process_is_for_who_works_with_it,
        file_of_everybody_is_for_all, evidence_is_made_anew_in_a_place_of_an_export,
        pieces_of_a_download_fit_together_and_have_a_name_of_their_own, NULL));
}
