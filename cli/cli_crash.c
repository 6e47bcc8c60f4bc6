/* SPDX-License-Identifier: Apache-2.0
 *
 * From events to rows, and from rows to text; see cli_crash.h. Owns nothing.
 */
#include "cli_crash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli_out.h"
#include "cli_stacks.h"
#include "cli_words.h"
#include "json.h"
#include "trace_stack.h"

#define STACK_INDENT      8
#define REGISTERS_IN_LINE 4

/* ---- rows ---- */

static bool is_named(const struct trace_event *event, const char *name)
{
    return strcmp(event->type->name, name) == 0;
}

/* What it says of an end; NULL: nothing. */
static const char *kind_of(const struct trace_event *event, bool evidence)
{
    if (event->type == NULL || event->thread == NULL)
        return NULL;
    if (evidence)
        return is_named(event, "crash.signal")    ? "signal"
               : is_named(event, "crash.raised")  ? "raised"
               : is_named(event, "crash.handled") ? "handled"
               : is_named(event, "crash.sent")    ? "sent"
               : is_named(event, "crash.stderr")  ? "words"
                                                  : NULL;
    if (event->type->group != SKEIN_GROUP_THREAD || event->type->nargs == 0)
        return NULL;
    const struct partition_arg *first = &event->type->args[0];
    if (is_named(event, "exit")) /* another program's event may have that name */
        return first->type == SKEIN_T_I64 && strcmp(first->name, "status") == 0 &&
                       event->args[0].i64 != 0
                   ? "exit"
                   : NULL;
    return is_named(event, "abort") ? "abort" : NULL;
}

/* Any file may give its arguments any names: what the row has, or is shown as it stands, it has of
 * this program alone. */
static void argument_add(cJSON *row, const struct partition_arg *arg,
                         const struct partition_value *value)
{
    char text[512];
    if (strcmp(arg->name, TABLE_BELOW) == 0 ||
        cJSON_GetObjectItemCaseSensitive(row, arg->name) != NULL)
        return;
    switch (arg->type) {
    case SKEIN_T_STR:
        snprintf(text, sizeof text, "%.*s", (int)value->str.len, value->str.text);
        json_add_text_some(row, arg->name, text);
        break;
    case SKEIN_T_I64:
        cJSON_AddNumberToObject(row, arg->name, (double)value->i64);
        break;
    case SKEIN_T_U64:
        json_add_u64(row, arg->name, value->u64);
        break;
    default:
        break;
    }
}

static void stack_add(cJSON *row, struct partition_reader *reader, uint32_t stack, bool lines)
{
    struct buf text = {0};
    if (stack == 0)
        return;
    buf_put_u8(&text, '{');
    trace_stack_json(&text, reader, stack);
    buf_put(&text, "}", 2);
    if (text.status == SKEIN_OK)
        row_members_add(row, (const char *)text.data);
    buf_clear(&text);
    trace_stack_text(&text, reader, stack, STACK_INDENT);
    buf_put_u8(&text, 0);
    if (text.status == SKEIN_OK && lines)
        cJSON_AddStringToObject(row, TABLE_BELOW, (const char *)text.data);
    buf_fini(&text);
}

/* A piece of last words, whose row came before. */
static bool is_piece(const struct trace_event *event, bool evidence)
{
    return evidence && event->type != NULL && is_named(event, "crash.words") &&
           event->type->nargs > 0 && event->type->args[0].type == SKEIN_T_STR;
}

/* Last words stand behind all else of their process. */
static void row_put(cJSON *rows, cJSON *row, const char *kind, const char *process)
{
    int words = strcmp(kind, "words") != 0 ? words_row_find(rows, process) : -1;
    if (words >= 0)
        cJSON_InsertItemInArray(rows, words, row);
    else
        cJSON_AddItemToArray(rows, row);
}

int crash_rows_add(cJSON *rows, struct partition_reader *reader, const struct trace_event *event,
                   bool lines)
{
    const struct partition_info *info = partition_reader_info(reader);
    const char *kind = kind_of(event, info->evidence);
    char id[ID_TEXT_BYTES];
    id_text(info->key.process.bytes, id);
    if (is_piece(event, info->evidence))
        return words_piece_add(rows, id, event->args[0].str.text, event->args[0].str.len);
    if (kind == NULL)
        return SKEIN_OK;
    cJSON *row = cJSON_CreateObject();
    if (row == NULL)
        return SKEIN_NO_MEMORY;
    cJSON_AddStringToObject(row, "end", kind);
    cJSON_AddStringToObject(row, "process", id);
    cJSON_AddStringToObject(row, "service", info->service);
    cJSON_AddStringToObject(row, "host", info->host);
    json_add_time(row, "at", event->time_ns);
    cJSON_AddNumberToObject(row, "pid", info->pid);
    if (event->thread->tid != 0) {
        cJSON_AddNumberToObject(row, "tid", event->thread->tid);
        cJSON_AddStringToObject(row, "thread", event->thread->name);
    }
    stack_add(row, reader, event->stack, lines);
    for (unsigned i = 0; i < event->type->nargs; i++)
        argument_add(row, &event->type->args[i], &event->args[i]);
    row_put(rows, row, kind, id);
    return SKEIN_OK;
}

/* ---- text ---- */

static void member_put(struct buf *out, const cJSON *row, const char *path)
{
    const char *text = json_text_at(row, path);
    text_put_safe(out, text, strlen(text));
}

static void signal_put(struct buf *out, const cJSON *row)
{
    const cJSON *number = json_at(row, "signal");
    int signal = cJSON_IsNumber(number) ? number->valueint : 0;
    const char *name = sigabbrev_np(signal); /* none: a real-time signal */
    if (name != NULL)
        buf_printf(out, "SIG%s", name);
    else
        buf_printf(out, "signal %d", signal);
    if (*json_text_at(row, "cause") == '\0')
        return;
    buf_printf(out, " (");
    member_put(out, row, "cause");
    buf_printf(out, ")");
}

static void address_put(struct buf *out, const cJSON *row)
{
    if (*json_text_at(row, "address") == '\0')
        return;
    buf_printf(out, ", ");
    member_put(out, row, "access");
    buf_printf(out, *json_text_at(row, "access") == '\0' ? "at " : " at ");
    member_put(out, row, "address");
}

/* The innermost frame; one that was inlined there has the same place. */
static void place_put(struct buf *out, const cJSON *row)
{
    const cJSON *frame = cJSON_GetArrayItem(json_at(row, "frames"), 0);
    const char *file = json_text_at(frame, "file"), *slash = strrchr(file, '/');
    if (*json_text_at(frame, "function") == '\0')
        return;
    buf_printf(out, ", in ");
    member_put(out, frame, "function");
    if (*file == '\0')
        return;
    buf_printf(out, " (");
    file = slash != NULL ? slash + 1 : file;
    text_put_safe(out, file, strlen(file));
    if (json_at(frame, "line") != NULL)
        buf_printf(out, ":%" PRIu64, json_u64_at(frame, "line"));
    buf_printf(out, ")");
}

static void thread_put(struct buf *out, const cJSON *row)
{
    buf_printf(out, "thread %" PRIu64 " \"", json_u64_at(row, "tid"));
    member_put(out, row, "thread");
    buf_printf(out, "\" ");
}

static void registers_put(struct buf *out, const cJSON *row)
{
    const char *at = json_text_at(row, "registers");
    unsigned words = 0;
    while (*at != '\0') {
        size_t n = strcspn(at, " ");
        if (words % 2 == 0)
            buf_printf(out, "%s", words % (2 * REGISTERS_IN_LINE) != 0 ? "  " : "        ");
        text_put_safe(out, at, n);
        at += n + (at[n] == ' ');
        words++;
        buf_printf(out, words % (2 * REGISTERS_IN_LINE) == 0 || *at == '\0' ? "\n"
                        : words % 2 != 0                                    ? " "
                                                                            : "");
    }
}

/* Whoever ran when the kernel sent it: of its own accord, it was in no program's name. */
static void sender_put(struct buf *out, const cJSON *row)
{
    bool kernel = strstr(json_text_at(row, "cause"), "by the kernel") != NULL;
    buf_printf(out, "was sent ");
    signal_put(out, row);
    buf_printf(out, kernel ? ", while %" PRIu64 " \"" : " by process %" PRIu64 " \"",
               json_u64_at(row, "by"));
    member_put(out, row, "by_name");
    buf_printf(out, kernel ? "\" ran" : "\"");
}

static void assertion_put(struct buf *out, const cJSON *row)
{
    if (*json_text_at(row, "assertion") == '\0')
        return;
    buf_printf(out, ": assertion ");
    member_put(out, row, "assertion");
    buf_printf(out, " (");
    member_put(out, row, "in");
    buf_printf(out, ":%" PRIu64 ")", json_u64_at(row, "line"));
}

static const char *doing_of(const char *kind)
{
    if (strcmp(kind, "handled") == 0)
        return "was in its own handler, because of ";
    return strcmp(kind, "raised") == 0 ? "ended its process by " : "died of ";
}

void crash_row_put(struct buf *out, const cJSON *row)
{
    const char *kind = json_text_at(row, "end");
    member_put(out, row, "service");
    buf_printf(out, "[%" PRIu64 "]%s", json_u64_at(row, "pid"),
               *json_text_at(row, "host") ? " on " : "");
    member_put(out, row, "host");
    buf_printf(out, " at ");
    member_put(out, row, "at");
    buf_printf(out, ": ");
    if (strcmp(kind, "words") == 0) {
        words_row_put(out, row);
        return;
    }
    if (strcmp(kind, "sent") == 0) {
        sender_put(out, row);
    } else {
        thread_put(out, row);
        if (strcmp(kind, "exit") == 0) {
            buf_printf(out, "called exit(%d)", json_at(row, "status")->valueint);
        } else if (strcmp(kind, "abort") == 0) {
            buf_printf(out, "aborted");
            assertion_put(out, row);
        } else {
            buf_printf(out, "%s", doing_of(kind));
            signal_put(out, row);
            address_put(out, row);
        }
        place_put(out, row);
    }
    const char *below = json_text_at(row, TABLE_BELOW);
    buf_printf(out, "\n%s", below);
    registers_put(out, row);
}
