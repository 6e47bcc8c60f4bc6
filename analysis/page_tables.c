/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of a page: regions and threads. Pure.
 */
#include "page_int.h"

static void text_cell(struct buf *b, const char *text, bool head)
{
    page_raw(b, head ? "<th scope=\"row\"><bdi>" : "<td><bdi>");
    page_str(b, text, PAGE_NAME);
    page_raw(b, head ? "</bdi></th>" : "</bdi></td>");
}

static void count_cell(struct buf *b, uint64_t n)
{
    page_raw(b, "<td class=\"n\">");
    page_count(b, n);
    page_raw(b, "</td>");
}

/* unknown: it is not known, which is not nothing. */
static void duration_cell(struct buf *b, uint64_t ns, bool unknown)
{
    page_raw(b, "<td class=\"n\">");
    if (unknown)
        page_raw(b, "<span class=\"dim\">not known</span>");
    else
        page_duration(b, ns);
    page_raw(b, "</td>");
}

static void region_row(struct buf *b, const struct page_region *r)
{
    page_raw(b, "<tr>");
    text_cell(b, r->name, true);
    page_raw(b, r->idle ? "<td>idle wait</td>" : r->wait ? "<td>wait</td>" : "<td>work</td>");
    text_cell(b, r->service, false);
    count_cell(b, r->count);
    duration_cell(b, r->total_ns, false);
    duration_cell(b, r->self_ns, r->self_ns == UINT64_MAX);
    duration_cell(b, r->p50_ns, false);
    duration_cell(b, r->p99_ns, false);
    duration_cell(b, r->max_ns, false);
    text_cell(b, r->place, false);
    page_raw(b, "</tr>\n");
}

static void regions_put(struct buf *b, const struct page *page)
{
    size_t begin = b->len, i = 0;
    page_raw(
        b,
        "<section id=\"regions\">\n<h2>Regions and waits</h2>\n<div class=\"wide\" tabindex=\"0\" "
        "role=\"region\" aria-label=\"Regions and waits\">\n<table><caption>By name and service. "
        "Total: with what was called inside; self: without.</caption>\n<thead><tr>"
        "<th scope=\"col\">Name</th><th scope=\"col\">Kind</th><th scope=\"col\">Service</th>"
        "<th scope=\"col\" class=\"n\">Count</th><th scope=\"col\" class=\"n\">Total</th>"
        "<th scope=\"col\" class=\"n\">Self</th><th scope=\"col\" class=\"n\">Half within</th>"
        "<th scope=\"col\" class=\"n\">99 % within</th><th scope=\"col\" class=\"n\">Longest</th>"
        "<th scope=\"col\">Place</th></tr></thead>\n<tbody>\n");
    for (; i < page->region_count && b->len - begin < PAGE_TABLE_BYTES; i++)
        region_row(b, &page->regions[i]);
    page_raw(b, "</tbody></table>\n</div>\n");
    page_left_out(b, page->region_count - i + page->regions_left_out,
                  "More regions, for which the table has no room");
    page_raw(b, "</section>\n");
}

static void thread_row(struct buf *b, const struct page_thread *t)
{
    page_raw(b, "<tr><th scope=\"row\"><bdi>");
    page_str(b, t->name, PAGE_NAME);
    buf_printf(b, "</bdi>/%u</th><td><bdi>", t->tid);
    page_str(b, t->service, PAGE_NAME);
    buf_printf(b, "</bdi>[%u]", t->pid);
    if (t->host[0] != '\0') {
        page_raw(b, " on <bdi>");
        page_str(b, t->host, PAGE_NAME);
        page_raw(b, "</bdi>");
    }
    page_raw(b, "</td>");
    text_cell(b, t->why, false);
    count_cell(b, t->regions);
    duration_cell(b, t->busy_ns, false);
    page_raw(b, "<td class=\"n\">");
    page_duration(b, t->longest_ns);
    page_raw(b, t->longest[0] != '\0' ? " <bdi>" : "<bdi>");
    page_str(b, t->longest, PAGE_NAME);
    page_raw(b, "</bdi></td>");
    duration_cell(b, t->run_ns, !t->scheduled);
    duration_cell(b, t->runnable_ns, !t->scheduled);
    duration_cell(b, t->blocked_ns, !t->scheduled);
    page_raw(b, "</tr>\n");
}

static void threads_put(struct buf *b, const struct page *page)
{
    size_t begin = b->len, i = 0;
    page_raw(
        b, "<section id=\"threads\">\n<h2>Threads</h2>\n<div class=\"wide\" tabindex=\"0\" "
           "role=\"region\" aria-label=\"Threads\">\n<table><caption>Those that are affected most "
           "first. In regions: not idle.</caption>\n<thead><tr><th scope=\"col\">Thread</th>"
           "<th scope=\"col\">Process</th><th scope=\"col\">Why it stands here</th>"
           "<th scope=\"col\" class=\"n\">Regions</th><th scope=\"col\" class=\"n\">In regions</th>"
           "<th scope=\"col\" class=\"n\">Longest</th><th scope=\"col\" class=\"n\">Ran</th>"
           "<th scope=\"col\" class=\"n\">Waited for a CPU</th>"
           "<th scope=\"col\" class=\"n\">Blocked</th></tr></thead>\n<tbody>\n");
    for (; i < page->thread_count && b->len - begin < PAGE_TABLE_BYTES; i++)
        thread_row(b, &page->threads[i]);
    page_raw(b, "</tbody></table>\n</div>\n");
    page_left_out(b, page->thread_count - i + page->threads_left_out,
                  "More threads, for which the table has no room");
    page_raw(b, "</section>\n");
}

void page_tables(struct buf *b, const struct page *page)
{
    if (page->region_count > 0)
        regions_put(b, page);
    if (page->thread_count > 0)
        threads_put(b, page);
}
