/* SPDX-License-Identifier: Apache-2.0
 *
 * skein report --html: findings as the page takes them, and the page as a file. One thread.
 */
#include "report_html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cli_out.h"
#include "page_trace.h"
#include "trace_report_json.h"
#include "whole_file.h"

/* What stands on the page, and whose memory it is. */
struct html {
    struct page_finding *findings;
    struct page_subject *subjects;
    size_t subject_count;
    const char **lines; /* evidence of all findings; some are ours */
    char **ours;
    size_t line_count, line_cap, our_count, our_cap;
};

static int line_add(struct html *h, const char *line)
{
    if (!array_grow(h->lines, h->line_count + 1, &h->line_cap))
        return SKEIN_NO_MEMORY;
    h->lines[h->line_count++] = line;
    return SKEIN_OK;
}

/* A line that is made here; it is emptied. */
static int own_line_add(struct html *h, struct buf *b)
{
    char *text = NULL;
    buf_put_u8(b, 0);
    if (b->status == SKEIN_OK && array_grow(h->ours, h->our_count + 1, &h->our_cap))
        text = strdup((const char *)b->data);
    buf_fini(b);
    if (text == NULL)
        return SKEIN_NO_MEMORY;
    h->ours[h->our_count++] = text;
    return line_add(h, text);
}

/* "rule lock_convoy; thread main/7998 of shop[7998] on web-1; in mutex_lock" */
static int what_add(struct html *h, const struct report_finding *f)
{
    const struct report_subject *s = &f->subject;
    struct buf b = {0};
    buf_printf(&b, "rule %s", f->rule);
    if (s->tid != 0)
        buf_printf(&b, "; thread %s/%" PRIu32, s->thread_name, s->tid);
    if (s->service[0] != '\0')
        buf_printf(&b, "; %s", s->service);
    if (s->pid != 0)
        buf_printf(&b, "[%" PRIu32 "]", s->pid);
    if (s->host[0] != '\0')
        buf_printf(&b, " on %s", s->host);
    if (f->region[0] != '\0')
        buf_printf(&b, "; in %s", f->region);
    return own_line_add(h, &b);
}

static int frames_add(struct html *h, const struct report_finding *f)
{
    struct buf b = {0};
    if (f->frame_count == 0)
        return SKEIN_OK;
    buf_printf(&b, "stack: ");
    for (size_t i = 0; i < f->frame_count; i++)
        buf_printf(&b, "%s%s", i > 0 ? ", called by " : "", f->frames[i]);
    if (f->frames_left_out > 0)
        buf_printf(&b, ", and %zu callers more", f->frames_left_out);
    return own_line_add(h, &b);
}

static int finding_add(struct html *h, const struct report_finding *f, struct page_finding *out)
{
    static const enum page_severity severities[] = {[REPORT_NOTE] = PAGE_NOTE,
                                                    [REPORT_WARNING] = PAGE_WARNING,
                                                    [REPORT_PROBLEM] = PAGE_PROBLEM};
    int status = what_add(h, f);
    if (status == SKEIN_OK)
        status = frames_add(h, f);
    *out = (struct page_finding){.severity = severities[f->severity],
                                 .sentence = f->sentence,
                                 .evidence_count = f->frame_count > 0 ? 2 : 1,
                                 .from_ns = f->from_ns,
                                 .to_ns = f->to_ns};
    if (f->subject.process != SKEIN_NONE && f->subject.tid != 0)
        h->subjects[h->subject_count++] =
            (struct page_subject){f->subject.process, f->subject.tid, f->sentence};
    return status;
}

static int findings_make(struct html *h, const struct trace_report *report)
{
    size_t at = 0;
    int status = SKEIN_OK;
    h->findings = calloc(report->finding_count + 1, sizeof *h->findings);
    h->subjects = calloc(report->finding_count + 1, sizeof *h->subjects);
    if (h->findings == NULL || h->subjects == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < report->finding_count && status == SKEIN_OK; i++)
        status = finding_add(h, &report->findings[i], &h->findings[i]);
    for (size_t i = 0; i < report->finding_count; i++) { /* lines have their place now */
        h->findings[i].evidence = h->lines + at;
        at += h->findings[i].evidence_count;
    }
    return status;
}

static void html_fini(struct html *h)
{
    for (size_t i = 0; i < h->our_count; i++)
        free(h->ours[i]);
    free(h->ours);
    free(h->lines);
    free(h->findings);
    free(h->subjects);
}

/* Under another name until it is whole; "-" is standard output. */
static int file_put(const struct buf *page, const char *path, const struct report_sources *sources)
{
    struct whole_file file;
    if (strcmp(path, "-") == 0)
        return out_write(page) ? out_close() : CLI_FAILED;
    for (int i = 0; i < sources->count; i++)
        if (!whole_file_spares(path, sources->subjects[i].file))
            return CLI_FAILED;
    bool fine = whole_file_begin(&file, path, NULL);
    if (fine && fwrite(page->data, 1, page->len, file.file) != page->len) {
        say_error("%s: %s", path, strerror(errno));
        fine = false;
    }
    return whole_file_end(&file, fine);
}

int report_html_write(struct skein_trace *trace, const struct trace_report *report,
                      const struct report_sources *sources, const char *path)
{
    struct html html = {0};
    struct buf page = {0}, verdict = {0};
    bool incomplete = verdict_sentence_put(&verdict, sources);
    cJSON *said = trace_report_json(report, trace); /* what the text says, the page says */
    int status = said != NULL ? findings_make(&html, report) : SKEIN_NO_MEMORY;
    if (status == SKEIN_OK && verdict.status != SKEIN_OK)
        status = verdict.status;
    const struct page_ask ask = {.title = sources->title,
                                 .verdict = text_of(&verdict),
                                 .incomplete = incomplete,
                                 .findings = html.findings,
                                 .finding_count = report->finding_count,
                                 .subjects = html.subjects,
                                 .subject_count = html.subject_count,
                                 .tasks = report->tasks,
                                 .records = json_u64_at(said, "totals.records"),
                                 .from_ns = report->from_ns,
                                 .to_ns = report->to_ns,
                                 .read_from_ns = sources->from_ns,
                                 .read_to_ns = sources->to_ns};
    if (status == SKEIN_OK)
        status = page_trace_put(trace, &ask, &page);
    if (status != SKEIN_OK)
        say_error("%s", skein_status_text(status));
    int written = status == SKEIN_OK ? file_put(&page, path, sources) : CLI_FAILED;
    html_fini(&html);
    buf_fini(&page);
    buf_fini(&verdict);
    cJSON_Delete(said);
    return written;
}
