/* SPDX-License-Identifier: Apache-2.0
 * See diff_slowest.h. No state. */
#include "diff_slowest.h"

#include <inttypes.h>
#include <string.h>

#include "cli.h"
#include "cli_out.h"
#include "slow_share.h"
#include "summary.h"

static int failed_say(int status)
{
    say_error("diff: %s", skein_status_text(status));
    return CLI_FAILED;
}

/* What 99 of 100 regions of that name took, of all processes. */
static int slow_find(const struct summary *summary, const char *name, uint64_t *slow_ns)
{
    const struct summary_name *names;
    size_t count = summary_names(summary, &names);
    struct histogram all = {.count = 0};
    int status = SKEIN_OK;
    for (size_t i = 0; i < count && status == SKEIN_OK; i++)
        if (names[i].row.number < SUMMARY_INSTANTS &&
            strcmp(summary_text(summary, names[i].row.text), name) == 0)
            status = histogram_merge(&all, &names[i].lasted);
    *slow_ns = histogram_quantile(&all, .99);
    if (status != SKEIN_OK) {
        status = failed_say(status);
    } else if (all.count == 0) {
        say_error("diff: --slowest %s: no region of that name has ended here (skein stats lists "
                  "them)",
                  name);
        status = CLI_FAILED;
    }
    histogram_fini(&all);
    return status;
}

static int slow_read(struct skein_trace *trace, const struct skein_query *query,
                     struct slow_share *share)
{
    struct skein_query all = *query;
    struct skein_cursor *cursor = NULL;
    struct skein_batch batch;
    int more = 1;
    all.columns = SKEIN_COLUMN_ALL;
    int status = skein_cursor_new(trace, &all, &cursor);
    while (status == SKEIN_OK && (more = skein_cursor_next(cursor, &batch)) > 0)
        status = slow_share_take(share, trace, &batch);
    skein_cursor_free(&cursor);
    return more < 0 ? more : status;
}

static int slow_show(const struct slow_list *list, const char *name, uint64_t slow_ns, uint64_t top)
{
    struct buf out = {0};
    buf_printf(&out, "%" PRIu64 " of %" PRIu64 " took longer than ", list->slow,
               list->slow + list->rest);
    text_put_duration(&out, slow_ns);
    shown_put_between(&out, ": ", name, "\n\n");
    for (size_t i = 0; i < list->count && i < top; i++) {
        const struct slow_value *v = &list->values[i];
        buf_printf(&out, "%2zu. ", i + 1);
        shown_put_between(&out, "", v->attribute, " ");
        shown_put(&out, v->value);
        buf_printf(&out, ": %.3g %% of the slow ones, %.3g %% of the rest (lift %.3g)\n",
                   100 * v->slow_share, 100 * v->rest_share, v->lift);
    }
    if (list->count > top)
        buf_printf(&out, "and %zu more (--top)\n", list->count - (size_t)top);
    if (list->slow < SLOW_LEAST || list->rest < SLOW_LEAST)
        buf_printf(&out, "too few to tell: it takes %u slow ones\n", SLOW_LEAST);
    else if (list->count == 0)
        buf_printf(&out, "the slow ones have nothing surely more often than the rest\n");
    buf_printf(&out, "%s%zu tests\n", list->count > 0 ? "\n" : "", list->tests);
    if (list->left_out > 0)
        buf_printf(&out, "note: of %" PRIu64 " regions a value had no room and was not counted\n",
                   list->left_out);
    bool written = out_write(&out);
    buf_fini(&out);
    return written ? out_close() : CLI_FAILED;
}

static int slow_print(const struct slow_list *list, const char *name, uint64_t slow_ns, bool json,
                      uint64_t top)
{
    struct buf out = {0};
    if (!json)
        return slow_show(list, name, slow_ns, top);
    slow_share_json(list, name, slow_ns, &out);
    buf_put_u8(&out, '\n');
    int status = out_write(&out) ? out_close() : CLI_FAILED;
    buf_fini(&out);
    return status;
}

static int slow_compare(struct skein_trace *trace, const struct skein_query *query,
                        const char *name, uint64_t slow_ns, bool json, uint64_t top)
{
    struct slow_share *share = NULL;
    const struct slow_list *list;
    int status = slow_share_new(name, slow_ns, &share);
    if (status == SKEIN_OK)
        status = slow_read(trace, query, share);
    if (status == SKEIN_OK)
        status = slow_share_end(share, &list);
    status = status == SKEIN_OK ? slow_print(list, name, slow_ns, json, top) : failed_say(status);
    slow_share_free(&share);
    return status;
}

int diff_slowest(const char *file, const char *name, const struct part_options *options, bool json,
                 uint64_t top)
{
    struct skein_query query;
    struct part part;
    struct summary *summary = NULL;
    uint64_t slow_ns = 0;
    char *path = (char *)(uintptr_t)file; /* as main gives it; only read */
    struct skein_trace *trace = part_files_open(&path, 1);
    int status = trace == NULL ? CLI_FAILED : part_query("diff", trace, options, &part, &query);
    if (status == CLI_OK) {
        int read = summary_new(0, &summary);
        if (read == SKEIN_OK)
            read = summary_read(summary, trace, &query);
        status = read == SKEIN_OK ? slow_find(summary, name, &slow_ns) : failed_say(read);
    }
    if (status == CLI_OK)
        status = slow_compare(trace, &query, name, slow_ns, json, top);
    if (summary != NULL && part_damage_tell("", summary) != CLI_OK && status == CLI_OK)
        status = CLI_FAILED;
    summary_free(&summary);
    skein_trace_free(&trace);
    return status;
}
