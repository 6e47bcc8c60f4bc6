/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the kept regions: a binary heap with the shortest at its root, so that a longer one replaces
 * it. An event's texts are copied, as its pointers die with the next event. What evidence says of the
 * process at hand is kept until the next process. One thread.
 */
#include "cli_longest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "beside.h"
#include "cli.h"
#include "cli_dumped.h"
#include "cli_out.h"
#include "clock.h"
#include "json.h"
#include "trace_json.h"
#include "trace_stack.h"
#include "trace_text.h"

struct kept {
    uint64_t dur_ns, time_ns;
    struct buf line;  /* a line of JSON */
    struct buf args;  /* as text, for a table; ends in a NUL */
    struct buf stack; /* lines below it; ends in a NUL */
};
#define STACK_INDENT 8

struct longest {
    bool json;
    uint64_t wanted;
    size_t count, room;
    struct kept *heap;
    struct partition_key evidence; /* of its process, and the last one of that */
    struct beside *beside;
    struct dumped *dumped;
};

static void kept_fini(struct kept *kept)
{
    buf_fini(&kept->line);
    buf_fini(&kept->args);
    buf_fini(&kept->stack);
}

void longest_free(struct longest **longest)
{
    if (*longest == NULL)
        return;
    for (size_t i = 0; i < (*longest)->count; i++)
        kept_fini(&(*longest)->heap[i]);
    beside_free(&(*longest)->beside);
    dumped_free(&(*longest)->dumped);
    free((*longest)->heap);
    free(*longest);
    *longest = NULL;
}

int longest_new(uint64_t wanted, bool json, struct longest **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->wanted = wanted;
    (*out)->json = json;
    if (beside_new(&(*out)->beside) == SKEIN_OK &&
        dumped_new(json, STACK_INDENT, &(*out)->dumped) == SKEIN_OK)
        return SKEIN_OK;
    longest_free(out);
    return SKEIN_NO_MEMORY;
}

/* Of two as long, the later one counts as shorter. */
static bool shorter(const struct kept *a, const struct kept *b)
{
    return a->dur_ns != b->dur_ns ? a->dur_ns < b->dur_ns : a->time_ns > b->time_ns;
}

static void spans_swap(struct kept *a, struct kept *b)
{
    struct kept c = *a;
    *a = *b;
    *b = c;
}

static void sift_up(struct kept *heap, size_t i)
{
    while (i > 0 && shorter(&heap[i], &heap[(i - 1) / 2])) {
        spans_swap(&heap[i], &heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static void sift_down(struct kept *heap, size_t count)
{
    for (size_t i = 0;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < count; child++)
            if (shorter(&heap[child], &heap[least]))
                least = child;
        if (least == i)
            return;
        spans_swap(&heap[i], &heap[least]);
        i = least;
    }
}

/* ---- what evidence says of it ---- */

/* Evidence stands in front of the cuts of its process, and says nothing of another. Of several
 * captures in a file, the last one's descriptors count. */
static void process_begin(struct longest *longest, const struct partition_info *info)
{
    const struct partition_key *key = &info->key, *known = &longest->evidence;
    bool same = process_uid_equal(&known->process, &key->process);
    if (same && (!info->evidence || partition_key_equal(known, key)))
        return;
    beside_clear(longest->beside);
    if (!same)
        dumped_clear(longest->dumped);
    longest->evidence = *key;
}

int longest_evidence(struct longest *longest, struct partition_reader *reader,
                     const struct trace_event *event)
{
    process_begin(longest, partition_reader_info(reader));
    int status = beside_add(longest->beside, event);
    if (status == SKEIN_OK)
        status = dumped_add(longest->dumped, reader, event);
    if (status != SKEIN_OK)
        say_error("out of memory");
    return status;
}

/* A number of that name among the arguments; an operation that goes on shows its first alone. */
static bool number_find(const struct trace_event *event, const char *name, uint64_t *number)
{
    const struct partition_event_type *type = event->type;
    for (unsigned i = 0; type != NULL && i < type->nargs; i++) {
        bool is_number = type->args[i].type == SKEIN_T_U64 || type->args[i].type == SKEIN_T_I64;
        if (!is_number || strcmp(type->args[i].name, name) != 0)
            continue;
        *number = event->has_detail ? (uint64_t)event->detail : event->args[i].u64;
        return (!event->has_detail || i == 0) && !event->begin_clipped;
    }
    return false;
}

/* What its descriptor was when the capture ended; NULL: it has none, or nobody knows. */
static const char *descriptor_of(const struct longest *longest, const struct trace_event *event)
{
    uint64_t fd;
    return number_find(event, "fd", &fd) && fd <= INT32_MAX ? beside_descriptor(longest->beside, fd)
                                                            : NULL;
}

/* Who had the lock that it waited for, if it was there when threads were dumped. */
static const char *owner_of(const struct longest *longest, const struct trace_event *event)
{
    uint64_t tid;
    if (!number_find(event, "owner", &tid) || tid == 0 || tid > UINT32_MAX)
        return NULL;
    const struct dumped_thread *owner = dumped_find(longest->dumped, (uint32_t)tid, 0, UINT64_MAX);
    return owner != NULL ? owner->name : NULL;
}

/* As the dump found the thread while it was in there, or later, if it had not ended when the capture
 * did; NULL: the event has a stack of its own, or there is none. */
static const struct dumped_thread *dumped_in(const struct longest *longest,
                                             const struct partition_info *info,
                                             const struct trace_event *event)
{
    if (event->stack != 0 || event->thread == NULL || info->evidence)
        return NULL;
    return dumped_find(longest->dumped, event->thread->tid, event->time_ns,
                       event->kind == TRACE_OPEN ? UINT64_MAX : event->time_ns + event->dur_ns);
}

/* Inside of the object that the line is. */
static void line_add(struct buf *line, const struct longest *longest,
                     const struct partition_info *info, const struct trace_event *event)
{
    const struct beside_wait *wait = NULL;
    const struct dumped_thread *thread = dumped_in(longest, info, event);
    const char *descriptor = descriptor_of(longest, event), *owner = owner_of(longest, event);
    if (line->status != SKEIN_OK || line->len < 2)
        return;
    line->len -= 2;
    uint64_t no_cpu_ns = event->thread == NULL || info->evidence
                             ? 0
                             : beside_waits_in(longest->beside, event->thread->tid, event->time_ns,
                                               event->time_ns + event->dur_ns, &wait);
    if (no_cpu_ns > 0)
        buf_printf(line, ",\"no_cpu_ns\":%" PRIu64, no_cpu_ns);
    if (descriptor != NULL) {
        buf_printf(line, ",\"descriptor\":");
        trace_json_string(line, descriptor, strlen(descriptor));
    }
    if (owner != NULL) {
        buf_printf(line, ",\"owner_name\":");
        trace_json_string(line, owner, strlen(owner));
    }
    if (thread != NULL) {
        buf_printf(line, ",\"dumped_ts_ns\":\"%" PRIu64 "\",\"state\":", thread->at_ns);
        trace_json_string(line, thread->state, strlen(thread->state));
        buf_printf(line, ",\"syscall\":");
        trace_json_string(line, thread->call, strlen(thread->call));
        if (thread->holder != 0)
            buf_printf(line, ",\"holder\":%" PRIu32, thread->holder);
        if (thread->stack.len > 0)
            buf_put_u8(line, ',');
        buf_put(line, thread->stack.data, thread->stack.len);
    }
    buf_put(line, "}\n", 2);
}

/* `fd=9 [file /srv/a.db]`, `lock=0x10 owner=17 [worker]` */
static void args_add(struct buf *args, const char *text)
{
    if (text == NULL)
        return;
    shown_put_between(args, " [", text, "]");
}

/* "sleeping in fsync(0x8) [file /srv/a.db]" */
static void state_put(struct buf *text, const struct longest *longest,
                      const struct dumped_thread *thread)
{
    uint64_t fd;
    if (strcmp(thread->state, "running") == 0) /* the kernel calls both so */
        buf_printf(text, "running or ready to run");
    else
        shown_put(text, thread->state);
    buf_printf(text, "%s", thread->call[0] != '\0' ? " in " : "");
    shown_put(text, thread->call);
    if (beside_call_descriptor(thread->call, &fd))
        args_add(text, beside_descriptor(longest->beside, fd));
}

/* "at 2026-11-23T09:19:14.089Z sleeping in futex(0x10), waiting for "worker"/7, which is sleeping in
 * fsync(0x8) [file /srv/a.db], by the thread dump:" */
static void dumped_put(struct buf *text, const struct longest *longest,
                       const struct trace_event *event, const struct dumped_thread *thread)
{
    char at[CLOCK_TEXT_BYTES];
    const struct dumped_thread *holder =
        thread->holder != 0 ? dumped_find(longest->dumped, thread->holder, 0, UINT64_MAX) : NULL;
    clock_text(thread->at_ns, at);
    bool later = thread->at_ns > event->time_ns + event->dur_ns;
    buf_printf(text, "%*s%sat %s ", STACK_INDENT, "", later ? "later, " : "", at);
    state_put(text, longest, thread);
    if (holder != NULL) {
        buf_printf(text, ", waiting for \"");
        shown_put(text, holder->name);
        buf_printf(text, "\"/%" PRIu32 ", which is ", holder->tid);
        state_put(text, longest, holder);
    }
    buf_printf(text, ", by the thread dump%s\n", thread->stack.len > 0 ? ":" : "");
    buf_put(text, thread->stack.data, thread->stack.len);
}

/* "for 1.800 s of it it was ready, and had no CPU: longest sha256sum (434) ran instead" */
static void no_cpu_put(struct buf *text, const struct longest *longest,
                       const struct trace_event *event)
{
    const struct beside_wait *wait = NULL;
    uint64_t ns = event->thread == NULL
                      ? 0
                      : beside_waits_in(longest->beside, event->thread->tid, event->time_ns,
                                        event->time_ns + event->dur_ns, &wait);
    if (wait == NULL)
        return;
    buf_printf(text, "%*sfor ", STACK_INDENT, "");
    text_put_duration(text, ns);
    buf_printf(text, " of it ready, and without a CPU");
    if (wait->instead_tid != 0) {
        shown_put_between(text, ": ", wait->instead, "");
        buf_printf(text, " (%" PRIu32 ") ran instead", wait->instead_tid);
    }
    buf_printf(text, "\n");
}

static void texts_make(struct kept *kept, const struct longest *longest,
                       struct partition_reader *reader, const struct trace_event *event)
{
    const struct partition_info *info = partition_reader_info(reader);
    const struct dumped_thread *thread = dumped_in(longest, info, event);
    trace_text_put_args(&kept->args, event);
    args_add(&kept->args, descriptor_of(longest, event));
    args_add(&kept->args, owner_of(longest, event));
    if (!info->evidence)
        no_cpu_put(&kept->stack, longest, event);
    trace_stack_text(&kept->stack, reader, event->stack, STACK_INDENT);
    if (thread != NULL)
        dumped_put(&kept->stack, longest, event, thread);
}

int longest_add(struct longest *longest, struct partition_reader *reader,
                const struct trace_event *event)
{
    struct kept kept = {.dur_ns = event->dur_ns, .time_ns = event->time_ns};
    bool full = longest->count == longest->wanted;
    if (longest->wanted == 0 || (full && !shorter(&longest->heap[0], &kept)))
        return SKEIN_OK;
    process_begin(longest, partition_reader_info(reader));
    trace_json_put(&kept.line, partition_reader_info(reader), event, longest->json ? reader : NULL);
    if (longest->json)
        line_add(&kept.line, longest, partition_reader_info(reader), event);
    else
        texts_make(&kept, longest, reader, event);
    buf_put_u8(&kept.args, 0);
    buf_put_u8(&kept.stack, 0);
    if (kept.line.status != SKEIN_OK || kept.args.status != SKEIN_OK ||
        kept.stack.status != SKEIN_OK ||
        (!full && !array_grow(longest->heap, longest->count + 1, &longest->room))) {
        kept_fini(&kept);
        say_error("out of memory");
        return SKEIN_NO_MEMORY;
    }
    if (full) {
        kept_fini(&longest->heap[0]);
        longest->heap[0] = kept;
        sift_down(longest->heap, longest->count);
    } else {
        longest->heap[longest->count] = kept;
        sift_up(longest->heap, longest->count++);
    }
    return SKEIN_OK;
}

static int longest_first(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    return shorter(x, y) - shorter(y, x);
}

/* ---- as a table ---- */

/* The line with what a table shows added to it. */
static void row_add(cJSON *rows, const struct kept *kept)
{
    char error[128];
    cJSON *row = json_parse((const char *)kept->line.data, kept->line.len, error, sizeof error);
    if (row == NULL)
        return;
    json_add_time(row, "began", kept->time_ns);
    cJSON_DeleteItemFromObjectCaseSensitive(row, "dur_ns");
    json_add_u64(row, "dur_ns", kept->dur_ns);
    cJSON_AddStringToObject(
        row, "text", (const char *)kept->args.data + strspn((const char *)kept->args.data, " "));
    cJSON_AddStringToObject(row, TABLE_BELOW, (const char *)kept->stack.data);
    cJSON_AddItemToArray(rows, row);
}

int longest_print(struct longest *longest)
{
    static const struct table_column columns[] = {{"TOOK", "dur_ns", TABLE_NS},
                                                  {"BEGAN", "began", TABLE_TIME},
                                                  {"SERVICE", "service", TABLE_TEXT | TABLE_SPARE},
                                                  {"THREAD", "thread", TABLE_TEXT},
                                                  {"TID", "tid", TABLE_NUMBER | TABLE_SPARE},
                                                  {"TYPE", "type", TABLE_TEXT | TABLE_SPARE},
                                                  {"NAME", "name", TABLE_TEXT},
                                                  {"ARGUMENTS", "text", TABLE_TEXT},
                                                  {NULL, NULL, TABLE_TEXT}};
    if (longest->count)
        qsort(longest->heap, longest->count, sizeof *longest->heap, longest_first);
    if (longest->json) {
        bool written = true;
        for (size_t i = 0; i < longest->count && written; i++)
            written = out_write(&longest->heap[i].line);
        return written ? out_close() : CLI_FAILED;
    }
    cJSON *rows = cJSON_CreateArray();
    for (size_t i = 0; i < longest->count; i++)
        row_add(rows, &longest->heap[i]);
    int status = table_print(rows, false, columns, "no regions");
    cJSON_Delete(rows);
    return status;
}
