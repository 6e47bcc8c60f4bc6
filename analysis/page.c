/* SPDX-License-Identifier: Apache-2.0
 *
 * The page as a whole: head, facts, findings, what is missing, and the order of its parts. Pure.
 */
#include "page_int.h"

#include <string.h>

static const char *const severity_words[] = {"", "Note", "Warning", "Problem"};
static const char *const severity_names[] = {"", "note", "warning", "problem"};

static void page_head_put(struct buf *b, const struct page *page)
{
    page_raw(
        b,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '");
    page_raw(b, page_style_hash);
    page_raw(b, "'; script-src '");
    page_raw(b, page_script_hash);
    page_raw(b, "'; base-uri 'none'; form-action 'none'\"/>\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                "<meta name=\"referrer\" content=\"no-referrer\"/>\n"
                "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>");
    page_str(b, page->title, PAGE_NAME);
    page_raw(b, "</title>\n<style>");
    page_raw(b, page_style);
    page_raw(b, "</style>\n</head>\n");
}

static void facts_put(struct buf *b, const struct page *page)
{
    size_t begin = b->len, i = 0;
    page_raw(b, "<dl class=\"facts\">\n");
    for (; i < page->fact_count && b->len - begin < PAGE_FACTS_BYTES; i++) {
        page_raw(b, "<div><dt>");
        page_str(b, page->facts[i].name, PAGE_NAME);
        page_raw(b, "</dt><dd><bdi>");
        page_str(b, page->facts[i].value, PAGE_SENTENCE);
        page_raw(b, "</bdi></dd></div>\n");
    }
    page_raw(b, "</dl>\n");
    page_left_out(b, page->fact_count - i, "More facts, which have no room on the page");
}

static void header_put(struct buf *b, const struct page *page)
{
    page_raw(b, "<header>\n<p class=\"kind\">Skein report</p>\n<h1><bdi>");
    page_str(b, page->title, PAGE_SENTENCE);
    page_raw(b, "</bdi></h1>\n");
    if (page->verdict[0] != '\0') {
        page_raw(b, page->incomplete ? "<p class=\"verdict gap\"><b>Incomplete.</b> <bdi>"
                                     : "<p class=\"verdict\"><bdi>");
        page_str(b, page->verdict, PAGE_SENTENCE);
        page_raw(b, "</bdi></p>\n");
    }
    if (page->fact_count > 0)
        facts_put(b, page);
    page_raw(b, "</header>\n");
}

static bool has_time(const struct page *page, const struct page_finding *f)
{
    return f->to_ns > 0 && f->to_ns >= f->from_ns && page->to_ns > 0;
}

static void finding_put(struct buf *b, const struct page *page, const struct page_finding *f,
                        size_t begin)
{
    unsigned severity = f->severity >= PAGE_NOTE && f->severity <= PAGE_PROBLEM ? f->severity : 1;
    size_t i = 0;
    buf_printf(b, "<li class=\"finding %s\">\n<p><b class=\"badge\">%s</b> <bdi>",
               severity_names[severity], severity_words[severity]);
    page_str(b, f->sentence, PAGE_SENTENCE);
    page_raw(b, "</bdi></p>\n");
    if (f->evidence_count > 0)
        page_raw(b, "<ul>\n");
    for (; i < f->evidence_count && b->len - begin < PAGE_FINDINGS_BYTES; i++) {
        page_raw(b, "<li><bdi>");
        page_str(b, f->evidence[i], PAGE_SENTENCE);
        page_raw(b, "</bdi></li>\n");
    }
    if (f->evidence_count > 0)
        page_raw(b, i > 0 ? "</ul>\n" : "<li>not on the page</li></ul>\n");
    page_left_out(b, f->evidence_count - i, "More lines of it, which have no room on the page");
    if (has_time(page, f)) {
        page_raw(b, "<p class=\"time\">from ");
        page_when(b, page, page_since(page, f->from_ns));
        page_raw(b, " to ");
        page_when(b, page, page_since(page, f->to_ns));
        page_raw(b, page->at_ns > 0 ? " around the trigger</p>\n" : " of the window</p>\n");
    }
    page_raw(b, "</li>\n");
}

static void findings_put(struct buf *b, const struct page *page)
{
    size_t begin = b->len, i = 0;
    page_raw(b, "<section id=\"findings\">\n<h2>Findings</h2>\n");
    if (page->finding_count == 0) {
        page_raw(b, "<p>Nothing stands out: no rule has found anything in what was recorded.</p>\n"
                    "</section>\n");
        return;
    }
    page_raw(b,
             "<p>Most important first. A problem stopped or held up work, a warning is unusual and "
             "costs somebody time, a note is good to know.</p>\n<ol class=\"findings\">\n");
    for (; i < page->finding_count && b->len - begin < PAGE_FINDINGS_BYTES; i++)
        finding_put(b, page, &page->findings[i], begin);
    page_raw(b, "</ol>\n");
    page_left_out(b, page->finding_count - i, "More findings, which have no room on the page");
    page_raw(b, "</section>\n");
}

static void missing_put(struct buf *b, const struct page *page)
{
    size_t begin = b->len, i = 0;
    if (page->missing_count == 0)
        return;
    page_raw(b, "<section id=\"missing\">\n<h2>What is not there</h2>\n<ul>\n");
    for (; i < page->missing_count && b->len - begin < PAGE_MISSING_BYTES; i++) {
        page_raw(b, "<li><bdi>");
        page_str(b, page->missing[i], PAGE_SENTENCE);
        page_raw(b, "</bdi></li>\n");
    }
    page_raw(b, "</ul>\n");
    page_left_out(b, page->missing_count - i, "More lines, which have no room on the page");
    page_raw(b, "</section>\n");
}

/* Links to the parts that are there: each part's heading, by its id. */
static void nav_put(struct buf *b, const struct buf *body)
{
    static const struct {
        const char *section, *link;
    } parts[] = {{"<section id=\"findings\">", "<a href=\"#findings\">Findings</a>"},
                 {"<section id=\"missing\">", "<a href=\"#missing\">What is not there</a>"},
                 {"<section id=\"picture\">", "<a href=\"#picture\">The window</a>"},
                 {"<section id=\"latencies\">", "<a href=\"#latencies\">Latencies</a>"},
                 {"<section id=\"cpu\">", "<a href=\"#cpu\">CPU</a>"},
                 {"<section id=\"waits\">", "<a href=\"#waits\">Waits</a>"},
                 {"<section id=\"tasks\">", "<a href=\"#tasks\">Slowest tasks</a>"},
                 {"<section id=\"regions\">", "<a href=\"#regions\">Regions</a>"},
                 {"<section id=\"threads\">", "<a href=\"#threads\">Threads</a>"}};
    page_raw(b, "<nav aria-label=\"Parts of the page\">\n");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (body->len > 0 &&
            memmem(body->data, body->len, parts[i].section, strlen(parts[i].section)))
            page_raw(b, parts[i].link);
    page_raw(b, "</nav>\n");
}

int page_put(const struct page *page, struct buf *out)
{
    struct buf body = {0};
    findings_put(&body, page);
    missing_put(&body, page);
    page_picture(&body, page);
    page_latencies(&body, page);
    page_flames(&body, page);
    page_tasks(&body, page);
    page_tables(&body, page);
    page_head_put(out, page);
    page_raw(out, "<body>\n<main>\n");
    header_put(out, page);
    nav_put(out, &body);
    if (body.status != SKEIN_OK)
        out->status = body.status;
    else if (body.len > 0)
        buf_put(out, body.data, body.len);
    buf_fini(&body);
    page_raw(
        out,
        "</main>\n<footer><p>Made by skein " SKEIN_VERSION_TEXT
        ". The page is whole in itself and asks nothing of any network.</p></footer>\n<script>");
    page_raw(out, page_script);
    page_raw(out, "</script>\n</body>\n</html>\n");
    return out->status;
}
