/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of made captures, judged by parsers of others (page_judge.py): they are whole, small, ask for
 * nothing, and no text gets out of its place. SKEIN_PAGES=FOLDER keeps them to be looked at.
 */
#include <stdio.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "page_made.h"

static char *folder;

static void set_up(void)
{
    folder = temp_dir_new();
}

static void tear_down(void)
{
    temp_dir_free(&folder);
}

/* The page's text, with a NUL behind it; the caller's to free. */
static char *judged(const struct page *page, const char *name)
{
    struct buf out = {0};
    const char *keep = getenv("SKEIN_PAGES");
    ck_assert_int_eq(page_put(page, &out), SKEIN_OK);
    ck_assert_uint_le(out.len, PAGE_BYTES_MAX);
    char *path = path_join(keep != NULL ? keep : folder, name);
    file_write(path, out.data, out.len);
    const char *const argv[] = {SKEIN_PAGE_JUDGE, path, NULL};
    ck_assert_int_eq(spawn_wait(spawn(argv, NULL), 0), 0);
    buf_put_u8(&out, 0);
    ck_assert_int_eq(out.status, SKEIN_OK);
    free(path);
    return (char *)out.data;
}

static void must_say(const char *text, const char *words)
{
    must_hold(strstr(text, words) != NULL, "the page does not say \"%s\"", words);
}

static size_t times(const char *text, const char *words)
{
    size_t count = 0;
    for (const char *at = strstr(text, words); at != NULL; at = strstr(at + 1, words))
        count++;
    return count;
}

START_TEST(a_page_says_what_the_capture_says)
{
    struct lanes *lanes = made_lanes();
    struct page page = made_page(lanes);
    char *text = judged(&page, "shop.html");
    must_say(text, "<h1><bdi>shop-ready fired");
    must_say(text, "Thread main of shop was in sleep for 2.000 s");
    must_say(text, "from -1.990 s to +10.000 ms around the trigger");
    must_say(text, "from -9.000 s to -7.999 s around the trigger"); /* it began before the window */
    must_say(text, "<title>sleep 2.000 s (-1.990 s to +10.000 ms)</title>");
    must_say(text, "records are missing: ring_full (-5.000 s to -4.100 s)");
    must_say(text, "3,120 times; half within 1.000 ms, 99 % within 12.000 ms, longest 2.000 s");
    /* 1,212 of 1,935 samples, 10 ms each */
    must_say(text, "parse_value</bdi></th><td class=\"n\">62.6 %</td><td class=\"n\">12.120 s<");
    must_say(text, "nanosleep\n67.8 % \xc2\xb7 2.000 s");
    must_say(text, "queue_length \xc2\xb7 shop[7998] \xc2\xb7 0 to 132");
    must_say(text, "Threads of which there is nothing to draw: 1<");
    must_say(text, "not known");
    must_say(text, "<th scope=\"row\"><bdi>serve</bdi></th><td><b>all of it</b></td>");
    must_say(text, "<td>from -2.000 s, trace <bdi>4bf92f3577b34da6a3ce929d0e0e4736</bdi></td>");
    must_say(text,
             "<bdi>fsync</bdi></td><td><bdi>worker-3</bdi>/8001</td><td class=\"n\">1.700 s<");
    must_say(text, "it had the lock 0xabc that thread 7998 waited for");
    must_say(text, "More names of tasks, with less time: 4<");
    ck_assert_uint_eq(times(text, "<figure>"), 3);
    ck_assert_uint_eq(times(text, "class=\"moment\""), 1);
    ck_assert_uint_eq(times(text, "class=\"head\""), MADE_THREADS - 1 + 1);
    free(text);
    lanes_free(&lanes);
}
END_TEST

/* The judge's answer to a page in which one place is another. */
static int judged_changed(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    struct buf out = {0};
    char *path = path_join(folder, "changed.html");
    must_hold(at != NULL, "there is no %s", from);
    buf_put(&out, text, (size_t)(at - text));
    buf_put(&out, to, strlen(to));
    buf_put(&out, at + strlen(from), strlen(at + strlen(from)));
    file_write(path, out.data, out.len);
    const char *const argv[] = {SKEIN_PAGE_JUDGE, path, NULL};
    int status = spawn_wait(spawn(argv, &(struct spawn_options){.out_file = "/dev/null"}), 0);
    buf_fini(&out);
    free(path);
    return status;
}

START_TEST(the_judge_finds_what_is_wrong)
{
    struct lanes *lanes = made_lanes();
    struct page page = made_page(lanes);
    char *text = judged(&page, "judged.html");
    ck_assert_int_eq(judged_changed(text, "</main>", "</main>"), 0);
    ck_assert_int_eq(judged_changed(text, "</main>", "<img src=\"x\"/></main>"), 1);
    ck_assert_int_eq(judged_changed(text, "</main>", "<p></main>"), 1);
    ck_assert_int_eq(judged_changed(text, "</main>", "<p onclick=\"x\"></p></main>"), 1);
    ck_assert_int_eq(judged_changed(text, "</main>", "<script>x</script></main>"), 1);
    ck_assert_int_eq(judged_changed(text, "</main>", "<a href=\"x:y\">z</a></main>"), 1);
    ck_assert_int_eq(judged_changed(text, "</main>", "\xe2\x80\xae</main>"), 1);
    ck_assert_int_eq(judged_changed(text, "color-scheme:light dark", "color-scheme:dark light"), 1);
    ck_assert_int_eq(judged_changed(text, "default-src 'none'", "default-src *"), 1);
    free(text);
    lanes_free(&lanes);
}
END_TEST

START_TEST(a_capture_with_nothing_in_it_makes_a_page)
{
    const struct page page = {.title = "",
                              .verdict = "",
                              .at = "",
                              .type_name = made_type_name,
                              .loss_name = made_loss_name};
    char *text = judged(&page, "empty.html");
    must_say(text, "Nothing stands out");
    ck_assert_uint_eq(times(text, "<section"), 1);
    free(text);
}
END_TEST

/* What is put into every text of a page. */
static const char *const hostile[] = {
    "<img src=x onerror=alert(1)>",
    "]]><script>alert(1)</script><![CDATA[",
    "</title></style></svg></bdi></text>--><!-- \"'><a href=javascript:alert(1)>",
    "&lt;&#60;&amp;amp; & < > \" ' ` \\ %s %n",
    "\x01\x02\t\r\n\x1b[2J\x7f\xc2\x85 \xff\xfe\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80",
    "a\xe2\x80\xae"
    "b\xe2\x80\x8f\xd8\x9c\xe2\x81\xa6\xef\xbb\xbf\xef\xbf\xbf\xf3\xa0\x80\x81",
    "Z\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81"
    "a\xcc\x82",
    "\xd9\x85\xd8\xb1\xd8\xad\xd8\xa8\xd8\xa7 \xe4\xb8\x96\xe7\x95\x8c \xf0\x9f\x92\xa5",
    "{{constructor.constructor('alert(1)')()}}${alert(1)}"};

static void filled(struct page *page, const char *text, const char *folded)
{
    static struct page_fact fact;
    static const char *lines[2];
    static struct page_finding finding;
    fact = (struct page_fact){text, text};
    lines[0] = lines[1] = text;
    finding = (struct page_finding){PAGE_PROBLEM, text, lines, 2, MADE_T0, MADE_T0 + 1};
    page->title = page->verdict = page->at = text;
    page->facts = &fact, page->fact_count = 1;
    page->findings = &finding, page->finding_count = 1;
    page->missing = lines, page->missing_count = 2;
    for (unsigned i = 0; i < 3; i++)
        made_regions[i].name = made_regions[i].service = made_regions[i].place = text;
    for (unsigned i = 0; i < MADE_THREADS; i++)
        made_threads[i].name = made_threads[i].service = made_threads[i].host =
            made_threads[i].why = made_threads[i].longest = text;
    for (unsigned i = 0; i < RUN; i++)
        made_names[i] = text;
    made_task_name.name = made_task_name.service = made_task.thread = text;
    for (unsigned i = 0; i < 2; i++)
        made_segments[i].thread = made_segments[i].name = made_segments[i].why = text;
    page->cpu = page->waits = folded;
    page->cpu_bytes = page->waits_bytes = strlen(folded);
}

START_TEST(no_text_gets_out_of_its_place)
{
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        struct lanes *lanes = made_lanes();
        struct page page = made_page(lanes);
        char folded[1000], name[40];
        snprintf(folded, sizeof folded,
                 "%s;%s;%s 12\n%s;x 7\n\n 3\n;;; 4\nnone\n%s 99999999999999999999999\n", hostile[i],
                 hostile[i], hostile[i], hostile[i], hostile[i]);
        snprintf(name, sizeof name, "hostile-%zu.html", i);
        filled(&page, hostile[i], folded);
        char *text = judged(&page, name);
        ck_assert_uint_eq(times(text, "<script"), 1);
        ck_assert_uint_eq(times(text, "<img"), 0);
        ck_assert_uint_ge(times(text, "Lines of the stacks that could not be read"), 2);
        free(text);
        lanes_free(&lanes);
    }
}
END_TEST

START_TEST(texts_are_cut_where_they_are_long)
{
    static char marks[(64 << 10) + 1], folded[(64 << 10) + 10];
    struct lanes *lanes = made_lanes();
    struct page page = made_page(lanes);
    for (size_t i = 0; i + 3 < sizeof marks; i += 3)
        memcpy(marks + i, "\xe2\x80\x8f", 3);
    snprintf(folded, sizeof folded, "%s 12\n", marks);
    filled(&page, marks, folded);
    char *text = judged(&page, "marks.html");
    must_say(text, "\\u{200f}\\u{200f}");
    must_say(text, "\xe2\x80\xa6 (cut; it has 65535 bytes)");
    ck_assert_uint_le(strlen(text), 300000);
    free(text);
    lanes_free(&lanes);
}
END_TEST

/* ---- huge ones ---- */

#define HUGE_THREADS 3000u

static struct lanes *huge_lanes(void)
{
    const struct lanes_options options = {.from_ns = MADE_T0,
                                          .to_ns = MADE_T0 + MADE_SPAN,
                                          .most_bytes = 64 << 20,
                                          .type = made_type};
    struct lanes *lanes;
    ck_assert_int_eq(lanes_new(&options, &lanes), SKEIN_OK);
    for (uint32_t thread = 0; thread < 40; thread++)
        for (uint32_t depth = 0; depth < 12; depth++)
            for (uint64_t i = 0; i < 900; i++)
                made_row(lanes, SKEIN_ROW_REGION, thread, depth, (uint32_t)(i * 7 + depth) % 4,
                         i * 11 * MADE_MS + depth, i * 11 * MADE_MS + (i % 10) * MADE_MS + depth);
    for (uint32_t thread = 0; thread < 40; thread++)
        for (uint64_t i = 0; i < 300; i++)
            made_row(lanes, SKEIN_ROW_LOSS, thread, 0, SKEIN_NONE, i * 33 * MADE_MS,
                     (i * 33 + 5) * MADE_MS);
    ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
    return lanes;
}

static char *huge_folded(void)
{
    struct buf b = {0};
    for (unsigned i = 0; i < 40000; i++) {
        buf_printf(&b, "service_with_a_long_name[%u]", i % 7);
        for (unsigned depth = 0; depth < 80; depth += 1 + i % 3)
            buf_printf(&b, ";namespace::Template<Argument, %u>::function_%u", i % (depth + 2),
                       depth);
        buf_printf(&b, " %u\n", 1 + i % 100);
    }
    buf_put_u8(&b, 0);
    ck_assert_int_eq(b.status, SKEIN_OK);
    return (char *)b.data;
}

START_TEST(a_page_of_a_huge_capture_is_small_and_says_what_has_no_room)
{
    static char long_name[600];
    static struct page_region regions[5000];
    static struct page_thread threads[HUGE_THREADS];
    static struct page_finding findings[1000];
    static struct page_fact facts[1000];
    static const char *lines[1000];
    struct lanes *lanes = huge_lanes();
    struct page page = made_page(lanes);
    char *folded = huge_folded();
    memset(long_name, '<', sizeof long_name - 1);
    for (unsigned i = 0; i < 1000; i++) {
        lines[i] = long_name;
        facts[i] = (struct page_fact){long_name, long_name};
        findings[i] =
            (struct page_finding){PAGE_WARNING, long_name, lines, 1000, MADE_T0, MADE_T0 + 5};
    }
    for (unsigned i = 0; i < 5000; i++) {
        regions[i] = made_regions[i % 3];
        regions[i].name = regions[i].place = regions[i].service = long_name;
    }
    for (unsigned i = 0; i < HUGE_THREADS; i++) {
        threads[i] = made_threads[i % MADE_THREADS];
        threads[i].numbers = made_numbers[0] + 0;
        threads[i].name = threads[i].why = threads[i].longest = long_name;
    }
    static uint32_t numbers[HUGE_THREADS];
    for (unsigned i = 0; i < HUGE_THREADS; i++) {
        numbers[i] = i;
        threads[i].numbers = &numbers[i];
        threads[i].number_count = 1;
    }
    page.facts = facts, page.fact_count = 1000;
    page.findings = findings, page.finding_count = 1000;
    page.missing = lines, page.missing_count = 1000;
    page.regions = regions, page.region_count = 5000, page.regions_left_out = 7;
    page.threads = threads, page.thread_count = HUGE_THREADS, page.threads_left_out = 9;
    static struct task tasks[500];
    for (unsigned i = 0; i < 500; i++)
        tasks[i] = made_task;
    made_task_name.tasks = tasks, made_task_name.task_count = 500;
    made_segments[0].name = made_segments[1].why = long_name;
    page.cpu = page.waits = folded, page.cpu_bytes = page.waits_bytes = strlen(folded);
    char *text = judged(&page, "huge.html");
    must_say(text, "More tasks, for which the table has no room");
    must_say(text, "More facts, which have no room on the page");
    must_say(text, "More lines of it, which have no room on the page");
    must_say(text, "More findings, which have no room on the page");
    must_say(text, "More threads, for which the picture has no room");
    must_say(text, "Deeper lanes of these threads, which are not drawn");
    must_say(text, "More regions, of which only the table tells");
    must_say(text, "Frames that are too narrow to be drawn");
    must_say(text, "What lies deeper than 60 frames");
    must_say(text, "More regions, for which the table has no room");
    must_say(text, "More threads, for which the table has no room");
    ck_assert_uint_ge(times(text, "class=\"head\""), 10);
    free(text);
    free(folded);
    lanes_free(&lanes);
}
END_TEST

START_TEST(no_memory_is_a_status_at_each_allocation)
{
    struct lanes *lanes = made_lanes();
    struct page page = made_page(lanes);
    for (unsigned n = 1;; n++) {
        struct buf out = {0};
        alloc_fail_at(n);
        int status = page_put(&page, &out);
        bool failed = alloc_fail_end();
        buf_fini(&out);
        ck_assert_int_eq(status, failed ? SKEIN_NO_MEMORY : SKEIN_OK);
        if (!failed)
            break;
    }
    lanes_free(&lanes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("page");
    TCase *tcase = tcase_create("page");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 0); /* ctest's limit ends one that hangs */
    tcase_add_test(tcase, a_page_says_what_the_capture_says);
    tcase_add_test(tcase, the_judge_finds_what_is_wrong);
    tcase_add_test(tcase, a_capture_with_nothing_in_it_makes_a_page);
    tcase_add_test(tcase, no_text_gets_out_of_its_place);
    tcase_add_test(tcase, texts_are_cut_where_they_are_long);
    tcase_add_test(tcase, a_page_of_a_huge_capture_is_small_and_says_what_has_no_room);
    tcase_add_test(tcase, no_memory_is_a_status_at_each_allocation);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
