/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of a page's slowest tasks, and where their time went. Pure.
 */
#include "page_int.h"

static void cell(struct buf *b, const char *text, size_t most)
{
    page_raw(b, "<td><bdi>");
    page_str(b, text, most);
    page_raw(b, "</bdi></td>");
}

static void duration_cell(struct buf *b, uint64_t ns)
{
    page_raw(b, "<td class=\"n\">");
    page_duration(b, ns);
    page_raw(b, "</td>");
}

static void thread_cell(struct buf *b, const char *name, uint32_t tid)
{
    page_raw(b, "<td><bdi>");
    page_str(b, name, PAGE_NAME);
    buf_printf(b, "</bdi>/%u</td>", tid);
}

static void segment_row(struct buf *b, const struct task_segment *s)
{
    page_raw(b, "<tr><td></td>");
    cell(b, task_what_text(s->what), PAGE_NAME);
    cell(b, s->name, PAGE_NAME);
    thread_cell(b, s->thread, s->tid);
    duration_cell(b, s->dur_ns);
    cell(b, s->why, PAGE_SENTENCE);
    page_raw(b, "</tr>\n");
}

static void task_rows(struct buf *b, const struct page *page, const struct task_name *name,
                      const struct task *task)
{
    page_raw(b, "<tr><th scope=\"row\"><bdi>");
    page_str(b, name->name, PAGE_NAME);
    page_raw(b, task->open ? "</bdi></th><td><b>not ended</b></td><td><bdi>"
                           : "</bdi></th><td><b>all of it</b></td><td><bdi>");
    page_str(b, name->service, PAGE_NAME);
    page_raw(b, "</bdi></td>");
    thread_cell(b, task->thread, task->tid);
    duration_cell(b, task->dur_ns);
    page_raw(b, "<td>from ");
    page_when(b, page, page_since(page, task->from_ns));
    if (task->trace_id[0] != '\0') {
        page_raw(b, ", trace <bdi>");
        page_str(b, task->trace_id, PAGE_NAME);
        page_raw(b, "</bdi>");
    }
    page_raw(b, "</td></tr>\n");
    for (size_t i = 0; i < task->segment_count; i++)
        segment_row(b, &task->segments[i]);
}

void page_tasks(struct buf *b, const struct page *page)
{
    const struct task_list *list = page->tasks;
    size_t begin = b->len, left = 0;
    if (list == NULL || list->name_count == 0)
        return;
    page_raw(
        b,
        "<section id=\"tasks\">\n<h2>The slowest tasks</h2>\n<div class=\"wide\" tabindex=\"0\" "
        "role=\"region\" aria-label=\"The slowest tasks\">\n<table><caption>Of the names that "
        "took most time the slowest, and where their time went: segments follow each other, "
        "and go over to whom the task waited for.</caption>\n<thead><tr><th scope=\"col\">Task"
        "</th><th scope=\"col\">What</th><th scope=\"col\">In</th><th scope=\"col\">Thread</th>"
        "<th scope=\"col\" class=\"n\">For</th><th scope=\"col\">Why</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < list->name_count; i++)
        for (size_t k = 0; k < list->names[i].task_count; k++)
            if (b->len - begin < PAGE_TASKS_BYTES)
                task_rows(b, page, &list->names[i], &list->names[i].tasks[k]);
            else
                left++;
    page_raw(b, "</tbody></table>\n</div>\n");
    page_left_out(b, left, "More tasks, for which the table has no room");
    page_left_out(b, list->names_left_out, "More names of tasks, with less time");
    page_raw(b, "</section>\n");
}
