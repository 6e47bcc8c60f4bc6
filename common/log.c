/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the form and the writing of log lines. Any thread enters; the level and the form are two
 * atomics, a line is built in memory of its own and leaves in one write(), so lines of two threads
 * never mix. Never blocks on a lock, never changes errno, never lets a value break out of its line.
 */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "json.h"
#include "text_whole.h"

enum { FMT_BUFFERS = 8, FMT_BYTES = 512 };

static const char *const level_names[] = {"debug", "info", "warn", "error"};

/* relaxed: both stand alone, no other memory is published with them */
static _Atomic int current_level = LOG_LEVEL_INFO;
static _Atomic bool as_json;

static _Thread_local const char *request; /* that this thread works for; NULL: none */

const char *log_set_request(const char *request_id)
{
    const char *before = request;
    request = request_id;
    return before;
}

void log_configure(enum log_level level, bool json)
{
    atomic_store_explicit(&current_level, (int)level, memory_order_relaxed);
    atomic_store_explicit(&as_json, json, memory_order_relaxed);
}

int log_level_parse(const char *text, enum log_level *level)
{
    for (unsigned i = 0; i < sizeof level_names / sizeof *level_names; i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *level = (enum log_level)i;
            return SKEIN_OK;
        }
    }
    return SKEIN_INVALID;
}

/* A value of a text line: bare where a reader cannot mistake it, else quoted as in JSON. */
static void value_put(struct buf *line, const char *value)
{
    size_t n = strlen(value);
    bool bare = n > 0;
    for (size_t i = 0; i < n && bare; i++) {
        unsigned char c = (unsigned char)value[i];
        bare = c > ' ' && c < 0x7f && c != '"' && c != '=' && c != '\\';
    }
    if (bare)
        buf_put(line, value, n);
    else
        json_put_text(line, value, n);
}

/* A message in a text line: control characters would forge lines. */
static void plain_put(struct buf *line, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        buf_put_u8(line, c < ' ' || c == 0x7f ? '?' : c);
    }
}

static void json_member_put(struct buf *line, const char *key, const char *value)
{
    buf_put_u8(line, ',');
    json_put_text(line, key, strlen(key));
    buf_put_u8(line, ':');
    json_put_text(line, value, strlen(value));
}

static void json_build(struct buf *line, enum log_level level, const char *time,
                       const char *component, const char *message, va_list pairs)
{
    buf_printf(line, "{\"time\":\"%s\",\"level\":\"%s\"", time, level_names[level]);
    json_member_put(line, "component", component);
    json_member_put(line, "message", message);
    const char *key;
    while ((key = va_arg(pairs, const char *)) != NULL) {
        const char *value = va_arg(pairs, const char *);
        json_member_put(line, key, value != NULL ? value : "");
    }
    if (request != NULL)
        json_member_put(line, "request_id", request);
    buf_put_u8(line, '}');
}

static void text_pair_put(struct buf *line, const char *key, const char *value)
{
    buf_put_u8(line, ' ');
    plain_put(line, key);
    buf_put_u8(line, '=');
    value_put(line, value);
}

static void text_build(struct buf *line, enum log_level level, const char *time,
                       const char *component, const char *message, va_list pairs)
{
    buf_printf(line, "%s %-5s ", time, level_names[level]);
    plain_put(line, component);
    buf_put(line, ": ", 2);
    plain_put(line, message);
    const char *key;
    while ((key = va_arg(pairs, const char *)) != NULL) {
        const char *value = va_arg(pairs, const char *);
        text_pair_put(line, key, value != NULL ? value : "");
    }
    if (request != NULL)
        text_pair_put(line, "request_id", request);
}

void log_write(enum log_level level, const char *component, const char *message, ...)
{
    if ((int)level < atomic_load_explicit(&current_level, memory_order_relaxed))
        return;
    int saved_errno = errno;
    char time[CLOCK_TEXT_BYTES];
    clock_text(clock_realtime_ns(), time);
    struct buf line;
    buf_init(&line);
    va_list pairs;
    va_start(pairs, message);
    if (atomic_load_explicit(&as_json, memory_order_relaxed))
        json_build(&line, level, time, component, message, pairs);
    else
        text_build(&line, level, time, component, message, pairs);
    va_end(pairs);
    buf_put_u8(&line, '\n');
    /* Standard error may be a pipe whose reader is slow: goes on after a part, gives up on an error. */
    if (line.status == SKEIN_OK) {
        (void)whole_write(STDERR_FILENO, line.data, line.len);
    } else {
        static const char lost[] = "log: a line was lost: out of memory\n";
        (void)whole_write(STDERR_FILENO, lost, sizeof lost - 1);
    }
    buf_fini(&line);
    errno = saved_errno;
}

const char *log_fmt(const char *format, ...)
{
    static _Thread_local char buffers[FMT_BUFFERS][FMT_BYTES];
    static _Thread_local unsigned next;
    char *out = buffers[next++ % FMT_BUFFERS];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(out, FMT_BYTES, format, args);
    va_end(args);
    if (n < 0)
        out[0] = '\0';
    else if (n >= FMT_BYTES)
        memcpy(out + FMT_BYTES - 4, "...", 4); /* says that it was cut */
    return out;
}
