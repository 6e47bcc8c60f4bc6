/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces of Go, written here byte by byte by what the wire format says, one tick of the clock being a
 * nanosecond. What real ones say is in tests/exchange, judged by Go's own tool.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "import_go.h"
#include "imported.h"
#include "skein/status.h"

#define NOBODY UINT64_MAX

/* ---- a trace by hand ---- */

static struct buf file, payload;

static void head(const char *text)
{
    buf_clear(&file);
    buf_put(&file, text, 16);
}

/* The payload so far becomes a batch. */
static void batch(uint64_t generation, uint64_t m, uint64_t time)
{
    buf_put_u8(&file, 1);
    buf_put_uleb(&file, generation);
    buf_put_uleb(&file, m);
    buf_put_uleb(&file, time);
    buf_put_uleb(&file, payload.len);
    buf_put(&file, payload.data, payload.len);
    buf_clear(&payload);
}

/* An event: its kind, the ticks since the one before, and `n` arguments. */
static void event(unsigned kind, uint64_t dt, unsigned n, ...)
{
    va_list args;
    va_start(args, n);
    buf_put_u8(&payload, (uint8_t)kind);
    buf_put_uleb(&payload, dt);
    for (unsigned i = 0; i < n; i++)
        buf_put_uleb(&payload, va_arg(args, uint64_t));
    va_end(args);
}
#define N(x) ((uint64_t)(x))

static void string(uint64_t id, const char *text)
{
    buf_put_u8(&payload, 5);
    buf_put_uleb(&payload, id);
    buf_put_text(&payload, text, strlen(text));
}

/* What each generation has: how fast its clock is, and strings. */
static void tables(uint64_t generation, uint64_t time)
{
    buf_put_u8(&payload, 8);
    buf_put_uleb(&payload, 1000000000);
    batch(generation, NOBODY, time);
    buf_put_u8(&payload, 4);
    string(1, "chan receive");
    string(2, "main.work");
    string(3, "work.go");
    string(4, "load");
    batch(generation, NOBODY, time);
    buf_put_u8(&payload, 2);
    for (unsigned i = 0; i < 7; i++) /* stack 1 of one frame: main.work, line 7 */
        buf_put_uleb(&payload, (const uint64_t[]){3, 1, 1, 0x1000, 2, 3, 7}[i]);
    batch(generation, NOBODY, time);
}

enum {
    PROC_START = 10,
    PROC_STATUS = 13,
    CREATE,
    GO_START_ = 16,
    DESTROY,
    BLOCK = 20,
    UNBLOCK,
    STATUS = 25,
    HEAP_ALLOC = 37,
    REGION_BEGIN = 42,
    REGION_END,
    LOG
};

/* Goroutine 1 runs on the batch's thread, 100, with processor 0. */
static void one_runs(void)
{
    event(PROC_STATUS, 0, 2, N(0), N(1));
    event(STATUS, 0, 3, N(1), N(100), N(2));
}

/* Bytes of the first generation, by the lengths of its batches, with its end. */
static size_t generation_length(void)
{
    struct cursor c;
    cursor_init(&c, file.data + 16, file.len - 16);
    while (cursor_u8(&c) == 1) {
        for (unsigned i = 0; i < 3; i++)
            cursor_uleb(&c);
        (void)cursor_bytes(&c, cursor_uleb(&c));
    }
    return file.len - 16 - cursor_left(&c);
}

static struct import_told told;
static struct go_told go;

static int imported(const uint8_t *bytes, size_t n, struct buf *trace)
{
    struct bytes_source from = {bytes, n};
    const struct skein_trace_source source = {
        .read = bytes_source_read, .context = &from, .bytes = n, .name = "by hand"};
    const struct import_to to = {.put = imported_put, .context = trace, .host = "", .service = ""};
    int status = import_go(&source, &to, &told, &go);
    imported_count(trace, &told);
    return status;
}

static char *lines_of_file(void)
{
    struct buf trace = {0}, lines = {0};
    int status = imported(file.data, file.len, &trace);
    ck_assert_msg(status == SKEIN_OK, "%d %s", status, told.why);
    (void)imported_lines(&trace, &lines);
    buf_fini(&trace);
    return (char *)lines.data;
}

static void tear_down(void)
{
    buf_fini(&file);
    buf_fini(&payload);
}

static void must_say(const char *lines, const char *what)
{
    ck_assert_msg(strstr(lines, what) != NULL, "no \"%s\" in\n%s", what, lines);
}

/* ---- tests ---- */

START_TEST(numbers_go_before_clocks)
{
    head("go 1.22 trace\0\0\0");
    tables(1, 900);
    one_runs();
    event(PROC_STATUS, 0, 2, N(1), N(2));    /* processor 1 is idle */
    event(CREATE, 500, 3, N(7), N(1), N(0)); /* at 1500 */
    batch(1, 100, 1000);
    event(PROC_START, 100, 2, N(1), N(1)); /* thread 200's clock is behind: 1100 */
    event(GO_START_, 100, 2, N(7), N(1));  /* 1200: before it was made */
    event(BLOCK, 1000, 2, N(1), N(1));     /* 2200 */
    batch(1, 200, 1000);
    char *lines = lines_of_file();
    must_say(lines, "region go.runnable 7 1500+1 why=created");
    must_say(lines, "region go.running 7 1501+699 cut=\n");
    must_say(lines, "region go.wait.chan_receive 7 2200+0 reason=chan receive cut=end");
    must_say(lines, "region go.running 1 1001+1199 cut=both");
    ck_assert_uint_eq(told.fixed_up, 1);
    ck_assert_uint_eq(told.left_out, 0);
    ck_assert_uint_eq(go.goroutines, 2);
    free(lines);
}
END_TEST

START_TEST(a_region_lasts_over_generations_and_one_that_never_ends_is_open)
{
    head("go 1.22 trace\0\0\0");
    tables(1, 900);
    one_runs();
    event(REGION_BEGIN, 10, 3, N(5), N(4), N(0)); /* "load", at 1010 */
    batch(1, 100, 1000);
    tables(2, 2000);
    one_runs();
    event(REGION_END, 10, 3, N(5), N(4), N(0)); /* at 2110 */
    event(REGION_BEGIN, 90, 3, N(5), N(4), N(0));
    event(LOG, 100, 4, N(5), N(4), N(2), N(0)); /* at 2300 */
    batch(2, 100, 2100);
    char *lines = lines_of_file();
    must_say(lines, "region load 1 1010+1100 cut=");
    must_say(lines, "open load 1 2200+100");
    must_say(lines, "log go.log 1 2300+0 text=main.work category=load");
    ck_assert_uint_eq(go.generations, 2);
    free(lines);
}
END_TEST

START_TEST(a_generation_that_cannot_be_ordered_is_told_and_the_next_begins_anew)
{
    head("go 1.23 trace\0\0\0");
    tables(1, 900);
    one_runs();
    batch(1, 100, 1000);
    tables(2, 2000);
    event(UNBLOCK, 0, 3, N(99), N(1), N(0)); /* nobody knows goroutine 99 */
    event(DESTROY, 10, 0);
    batch(2, 100, 2100);
    tables(3, 3000);
    one_runs();
    event(BLOCK, 50, 2, N(1), N(0));
    batch(3, 100, 3100);
    char *lines = lines_of_file();
    ck_assert_uint_eq(told.left_out, 2);
    must_say(told.why, "generation 2 is broken: 2 of its events");
    must_say(lines, "loss - 0 ");
    must_say(lines, "region go.running 1 3101+49 cut=begin");
    free(lines);
}
END_TEST

START_TEST(what_is_whole_of_a_cut_file_is_given_and_the_rest_is_told)
{
    head("go 1.26 trace\0\0\0");
    for (uint64_t generation = 1; generation <= 2; generation++) {
        tables(generation, generation * 1000);
        one_runs();
        if (generation == 1)
            event(BLOCK, 100, 2, N(1), N(1));
        else
            buf_clear(&payload);
        batch(generation, 100, generation * 1000);
        buf_put_u8(&file, 52);
    }
    size_t first = generation_length() + 16;
    for (size_t n = 0; n <= file.len; n++) {
        struct buf trace = {0};
        int status = imported(file.data, n, &trace);
        if (n < 16)
            ck_assert_int_eq(status, SKEIN_UNSUPPORTED);
        else if (n < first)
            ck_assert_msg(status == SKEIN_NOT_FOUND, "%zu: %d", n, status);
        else
            ck_assert_msg(status == SKEIN_OK && told.cut_bytes == (n < file.len ? n - first : 0),
                          "%zu: %d, cut %llu", n, status, (unsigned long long)told.cut_bytes);
        ck_assert(status == SKEIN_OK || told.why[0] != '\0');
        imported_walk(&trace, NULL, NULL);
        buf_fini(&trace);
    }
}
END_TEST

/* One generation of Go 1.22 to 1.25, which has no end of its own, and where the next one begins. */
static size_t whole_generation(void)
{
    head("go 1.22 trace\0\0\0");
    tables(1, 900);
    one_runs();
    event(REGION_BEGIN, 10, 3, N(5), N(4), N(0));
    event(REGION_END, 90, 3, N(5), N(4), N(0));
    batch(1, 100, 1000);
    return file.len;
}

START_TEST(a_whole_generation_is_kept_whatever_follows_it)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *why;
    } cases[] = {
        {"\r\n--boundary--\r\n", 16, "there is no batch at byte"},
        {"<html>", 6, "there is no batch at byte"},
        {"\0\0\0\0\0\0\0\0\0\0", 10, "there is no batch at byte"},
        {"\1", 1, "it ends at byte"},                       /* the head of a batch is cut, */
        {"\1\2\x64\xb8\x17\x40\x08", 7, "it ends at byte"}, /* the batch of the next generation, */
        {"\1\1\x64\xb8\x17\x40\x2a", 7, "it ends in generation 1, of which"}, /* or one of this */
        {"\1\2\x64\xb8\x17\xff\xff\xff\xff\x7f", 10, "there is no batch at byte"},
        {"go 1.22 trace\0\0\0\1", 17, "another trace of Go begins at byte"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t whole = whole_generation();
        buf_put(&file, cases[i].bytes, cases[i].n);
        char *lines = lines_of_file();
        must_say(lines, "region load 1 1010+90 cut=");
        must_say(lines, "loss - 0 ");
        must_say(told.why, cases[i].why);
        ck_assert_uint_eq(told.cut_bytes, file.len - whole);
        ck_assert_uint_eq(go.generations, 1);
        free(lines);
    }
}
END_TEST

/* Its clock's rate is in its first batch here: what comes behind it is given as far as it goes. */
START_TEST(a_cut_file_of_before_go_1_26_is_given_up_to_where_it_ends)
{
    size_t whole = whole_generation();
    uint64_t had = 0;
    for (size_t n = 16; n <= whole; n++) {
        struct buf trace = {0};
        int status = imported(file.data, n, &trace);
        ck_assert_msg(status == SKEIN_OK || status == SKEIN_NOT_FOUND, "%zu: %d", n, status);
        ck_assert(told.why[0] != '\0' || n == whole);
        ck_assert_uint_ge(told.events, had);
        had = told.events;
        imported_walk(&trace, NULL, NULL);
        buf_fini(&trace);
    }
    ck_assert_uint_gt(had, 0);
}
END_TEST

static void stand_in_count(void *context, struct partition_reader *reader,
                           const struct trace_event *event)
{
    unsigned *count = context; /* threads, and what is none */
    (void)reader;
    if (event->thread != NULL)
        count[event->thread->incarnation >= SKEIN_STAND_IN]++;
}

START_TEST(what_is_of_no_goroutine_stands_on_what_is_no_thread)
{
    unsigned count[2] = {0, 0};
    struct buf trace = {0};
    head("go 1.22 trace\0\0\0");
    tables(1, 900);
    one_runs();
    event(HEAP_ALLOC, 10, 1, N(4096));
    batch(1, 100, 1000);
    ck_assert_int_eq(imported(file.data, file.len, &trace), SKEIN_OK);
    imported_walk(&trace, stand_in_count, count);
    ck_assert_uint_eq(count[0], 1); /* goroutine 1 ran */
    ck_assert_uint_eq(count[1], 1); /* the heap */
    buf_fini(&trace);
}
END_TEST

START_TEST(files_that_are_none_are_refused_with_a_sentence)
{
    static const struct {
        const char head[17];
        int status;
        const char *why;
    } cases[] = {
        {"go 1.19 trace\0\0\0", SKEIN_VERSION, "Go 1.19; read are those of Go 1.22 to 1.26"},
        {"go 1.99 trace\0\0\0", SKEIN_VERSION, "Go 1.99; read are those"},
        {"go 1.22 trace\0\0x", SKEIN_UNSUPPORTED, "does not begin as"},
        {"go 1.2222 trace\0", SKEIN_UNSUPPORTED, "does not begin as"},
        {"\x7f"
         "ELF............",
         SKEIN_UNSUPPORTED, "does not begin as"},
        {"go 1.22 trace\0\0\0", SKEIN_NOT_FOUND, "no event"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf trace = {0};
        head(cases[i].head);
        ck_assert_int_eq(imported(file.data, file.len, &trace), cases[i].status);
        must_say(told.why, cases[i].why);
        ck_assert_uint_eq(trace.len, 0);
        buf_fini(&trace);
    }
}
END_TEST

START_TEST(bytes_that_are_changed_never_give_a_broken_trace)
{
    char *path = path_join(TRACES, "go1.23.trace");
    size_t n;
    uint8_t *bytes = (uint8_t *)file_read(path, &n);
    ck_assert_ptr_nonnull(bytes);
    uint64_t state = 1;
    for (unsigned i = 0; i < 300; i++) {
        struct buf trace = {0};
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t at = 16 + (size_t)((state >> 20) % (n - 16));
        uint8_t kept = bytes[at];
        bytes[at] = (uint8_t)(state >> 56);
        int status = imported(bytes, n, &trace);
        ck_assert(status == SKEIN_OK || told.why[0] != '\0');
        imported_walk(&trace, NULL, NULL);
        bytes[at] = kept;
        buf_fini(&trace);
    }
    free(bytes);
    free(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_of("import_go", numbers_go_before_clocks,
                            a_region_lasts_over_generations_and_one_that_never_ends_is_open,
                            a_generation_that_cannot_be_ordered_is_told_and_the_next_begins_anew,
                            what_is_whole_of_a_cut_file_is_given_and_the_rest_is_told,
                            a_whole_generation_is_kept_whatever_follows_it,
                            a_cut_file_of_before_go_1_26_is_given_up_to_where_it_ends,
                            what_is_of_no_goroutine_stands_on_what_is_no_thread,
                            files_that_are_none_are_refused_with_a_sentence,
                            bytes_that_are_changed_never_give_a_broken_trace, NULL);
    int failed = suite_run(suite);
    tear_down();
    return failed;
}
