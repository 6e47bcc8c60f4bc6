/* SPDX-License-Identifier: Apache-2.0
 *
 * The page of a trace that was made row by row, judged as in test_page.c.
 */
#include "../format/made_trace.h"
#include "alloc_fail.h"
#include "page_trace.h"

static struct made_trace made;
static char *folder;

static void set_up(void)
{
    folder = temp_dir_new();
    made_fill(&made);
}

static void tear_down(void)
{
    temp_dir_free(&folder);
    buf_fini(&made.bytes);
}

static int made_put(const struct page_ask *ask, size_t bytes, struct buf *out)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct skein_trace *trace;
    int status = skein_trace_new(&trace);
    if (status == SKEIN_OK)
        status = skein_trace_add_memory(trace, made.bytes.data, bytes, "made", error);
    if (status == SKEIN_OK)
        status = page_trace_put(trace, ask, out);
    skein_trace_free(&trace);
    return status;
}

static char *judged(const struct page_ask *ask, size_t bytes)
{
    struct buf out = {0};
    char *path = path_join(folder, "page.html");
    ck_assert_int_eq(made_put(ask, bytes, &out), SKEIN_OK);
    file_write(path, out.data, out.len);
    const char *const argv[] = {SKEIN_PAGE_JUDGE, path, NULL};
    ck_assert_int_eq(spawn_wait(spawn(argv, NULL), 0), 0);
    buf_put_u8(&out, 0);
    ck_assert_int_eq(out.status, SKEIN_OK);
    free(path);
    return (char *)out.data;
}

static const char *said(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    must_hold(at != NULL, "the page does not say \"%s\"", words);
    return at;
}

/* Spans of process 140's second thread, and how long they took together. */
static void made_spans(uint64_t *count, uint64_t *longest)
{
    *count = *longest = 0;
    for (size_t i = 0; i < made.count; i++) {
        const struct made_row *row = &made.rows[i];
        if (row->kind != SKEIN_ROW_REGION || strcmp(row->name, "span") != 0 ||
            (row->flags & SKEIN_ROW_EVIDENCE) != 0)
            continue;
        ++*count;
        *longest = row->dur_ns > *longest ? row->dur_ns : *longest;
    }
}

START_TEST(a_page_tells_of_the_trace_and_of_findings_about_it)
{
    static const char *const evidence[] = {"it was inside of span"};
    const struct page_subject subject = {1, 141, "waited for a span"};
    const struct page_finding finding = {PAGE_PROBLEM,
                                         "Thread 141 stood still",
                                         evidence,
                                         1,
                                         SAMPLE_EPOCH_NS + 640000,
                                         SAMPLE_EPOCH_NS + 1280000};
    const struct page_ask ask = {.title = "made",
                                 .findings = &finding,
                                 .finding_count = 1,
                                 .subjects = &subject,
                                 .subject_count = 1,
                                 .at_ns = SAMPLE_EPOCH_NS + 1280000,
                                 .at = "the check failed"};
    uint64_t count, longest;
    char words[100], *text = judged(&ask, made.bytes.len);
    said(text, "Thread 141 stood still");
    said(text, "to +0 ns around the trigger");
    /* The finding's thread is the first, in the picture and in the table. */
    const char *head = said(text, "<text class=\"head\"");
    ck_assert(said(head, "/141 ") < said(head + 1, "<text class=\"head\""));
    const char *row = said(said(text, "<section id=\"threads\">"), "<tr><th scope=\"row\">");
    ck_assert(said(row, "/141</th>") < said(row, "</tr>") &&
              said(row, "waited for a span") < said(row, "</tr>"));
    made_spans(&count, &longest);
    row = said(said(text, "<section id=\"regions\">"), "<bdi>span</bdi>");
    snprintf(words, sizeof words, "<td class=\"n\">%u,%03u</td>", (unsigned)count / 1000,
             (unsigned)count % 1000);
    ck_assert(said(row, words) < said(row, "</tr>"));
    snprintf(words, sizeof words, "<td class=\"n\">%.3f us</td>", (double)longest / 1000);
    ck_assert(said(row, words) < said(row, "</tr>"));
    free(text);
}
END_TEST

START_TEST(a_partition_that_cannot_be_read_is_told)
{
    const struct page_ask ask = {0};
    uint8_t *byte = made.bytes.data + made.starts[3] + 400;
    *byte ^= 0x55;
    char *text = judged(&ask, made.bytes.len);
    said(text, "<section id=\"missing\">");
    said(text, "the partition cannot be read: ");
    free(text);
    text = judged(&ask, made.starts[5] + 300); /* torn in the midst of one */
    said(text, "bytes belong to no partition: ");
    free(text);
}
END_TEST

START_TEST(a_thread_that_is_joined_is_a_wait)
{
    static const struct partition_event_type types[] = {
        {.name = "thread_join", .klass = SKEIN_CLASS_SPAN, .group = SKEIN_GROUP_THREAD},
        {.name = "in_between", .klass = SKEIN_CLASS_SPAN, .group = 16}};
    const struct page_ask ask = {0};
    const struct partition_info info = made_info(&made_processes[0], 46, 41000, 51000);
    struct partition_writer *w = made_writer(&info);
    partition_writer_batch(w, made_thread(w, 100), 46, 46, false);
    for (uint32_t i = 0; i < 2; i++)
        partition_writer_event(w, (uint32_t)partition_writer_type(w, &types[i]), 43000 + i * 2000u,
                               1000, NULL);
    made_finish(&made, &w);
    char *text = judged(&ask, made.bytes.len);
    const char *regions = said(text, "<section id=\"regions\">");
    const char *row = said(regions, "<bdi>thread_join</bdi>");
    ck_assert(said(row, "<td>wait</td>") < said(row, "</tr>"));
    row = said(regions, "<bdi>in_between</bdi>");
    ck_assert(said(row, "<td>work</td>") < said(row, "</tr>"));
    free(text);
}
END_TEST

START_TEST(no_memory_is_a_status)
{
    const struct page_ask ask = {.lanes_bytes = 300000};
    struct buf whole = {0};
    ck_assert_int_eq(made_put(&ask, made.starts[2], &whole), SKEIN_OK);
    for (unsigned n = 1, step = 1;; n += step, step = 1 + n / 40) {
        struct buf out = {0};
        alloc_fail_at(n);
        int status = made_put(&ask, made.starts[2], &out);
        bool failed = alloc_fail_end();
        ck_assert(status == SKEIN_NO_MEMORY || (status == SKEIN_OK && out.len > 0));
        buf_fini(&out);
        if (!failed) {
            ck_assert_int_eq(status, SKEIN_OK);
            break;
        }
    }
    buf_fini(&whole);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("page_trace");
    TCase *tcase = tcase_create("page_trace");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 0); /* ctest's limit ends one that hangs */
    tcase_add_test(tcase, a_page_tells_of_the_trace_and_of_findings_about_it);
    tcase_add_test(tcase, a_partition_that_cannot_be_read_is_told);
    tcase_add_test(tcase, a_thread_that_is_joined_is_a_wait);
    tcase_add_test(tcase, no_memory_is_a_status);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
