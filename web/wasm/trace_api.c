/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer's buffer, and a trace with what footers and cursors know of it, as JSON. One thread.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "event_groups.h"
#include "ids.h"
#include "json.h"
#include "trace_api_int.h"

#define EXACT_MAX (UINT64_C(1) << 53)

struct buf api_out;

void *api_memory_new(size_t n)
{
    return malloc(n > 0 ? n : 1);
}

void api_memory_free(void *memory)
{
    free(memory);
}

const uint8_t *api_answer(void)
{
    return api_out.data;
}

size_t api_answer_bytes(void)
{
    return api_out.len;
}

struct buf *api_begin(void)
{
    if (api_out.cap > (1u << 20)) /* what one large answer took is not kept */
        buf_fini(&api_out);
    buf_clear(&api_out);
    return &api_out;
}

int api_end(int status)
{
    if (status >= 0 && api_out.status != SKEIN_OK)
        status = api_out.status;
    if (status < 0)
        buf_clear(&api_out);
    return status;
}

int api_say(int status, const char *sentence)
{
    struct buf *b = api_begin();
    buf_put(b, sentence, strlen(sentence));
    return status;
}

uint64_t api_time(const struct api_trace *t, double ns)
{
    if (!(ns > -9e18))
        ns = -9e18;
    return clock_shift_ns(t->from_ns, ns < 9e18 ? (int64_t)ns : INT64_MAX);
}

double api_since(const struct api_trace *t, uint64_t ns)
{
    return ns >= t->from_ns ? (double)(ns - t->from_ns) : -(double)(t->from_ns - ns);
}

/* ---- JSON ---- */

void api_key(struct buf *b, const char *key)
{
    uint8_t last = b->len > 0 ? b->data[b->len - 1] : '{';
    if (last != '{' && last != '[')
        buf_put_u8(b, ',');
    if (key != NULL)
        buf_printf(b, "\"%s\":", key);
}

void api_put_text(struct buf *b, const char *key, const char *text)
{
    api_key(b, key);
    json_put_text(b, text, strlen(text));
}

void api_put_u64(struct buf *b, const char *key, uint64_t n)
{
    api_key(b, key);
    buf_printf(b, n > EXACT_MAX ? "\"%" PRIu64 "\"" : "%" PRIu64, n);
}

void api_put_real(struct buf *b, const char *key, double n)
{
    api_key(b, key);
    buf_printf(b, isfinite(n) ? "%.17g" : "null", n);
}

void api_put_bool(struct buf *b, const char *key, bool is)
{
    api_key(b, key);
    buf_printf(b, is ? "true" : "false");
}

void api_open(struct buf *b, const char *key, char bracket)
{
    api_key(b, key);
    buf_put_u8(b, (uint8_t)bracket);
}

void api_close(struct buf *b, char bracket)
{
    buf_put_u8(b, (uint8_t)bracket);
}

static void wasm_time_put(struct buf *b, const char *key, uint64_t ns)
{
    api_key(b, key);
    buf_printf(b, "\"%" PRIu64 "\"", ns);
}

/* ---- a trace ---- */

struct api_trace *api_trace_new(void)
{
    struct api_trace *t = calloc(1, sizeof *t);
    if (t != NULL && skein_trace_new(&t->trace) != SKEIN_OK) {
        free(t);
        t = NULL;
    }
    return t;
}

void api_trace_free(struct api_trace *t)
{
    if (t != NULL)
        skein_trace_free(&t->trace);
    free(t);
}

int api_trace_add(struct api_trace *t, const void *bytes, size_t n, const char *name)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    int status = skein_trace_add_memory(t->trace, bytes, n, name, error);
    if (status != SKEIN_OK)
        return api_say(status, error);
    skein_trace_bounds(t->trace, &t->from_ns, &t->to_ns);
    api_begin();
    return SKEIN_OK;
}

int api_trace_window(struct api_trace *t, uint64_t from_ns, uint64_t to_ns)
{
    api_begin();
    if (to_ns < from_ns)
        return SKEIN_INVALID;
    t->from_ns = from_ns;
    t->to_ns = to_ns;
    return SKEIN_OK;
}

static void wasm_process_put(struct buf *b, const struct skein_process *p)
{
    char id[ID_TEXT_BYTES];
    id_text(p->id, id);
    api_open(b, NULL, '{');
    api_put_text(b, "id", id);
    api_put_u64(b, "pid", p->pid);
    api_put_text(b, "host", p->host);
    api_put_text(b, "service", p->service);
    api_put_text(b, "labels", p->labels);
    api_put_text(b, "exe", p->exe);
    wasm_time_put(b, "from_ns", p->from_ns);
    wasm_time_put(b, "to_ns", p->to_ns);
    api_put_u64(b, "events", p->events);
    api_put_u64(b, "partitions", p->partitions);
    if (p->death.known) {
        api_open(b, "death", '{');
        api_put_real(b, "signal", p->death.signal);
        api_put_real(b, "status", p->death.status);
        api_close(b, '}');
    }
    api_close(b, '}');
}

static void wasm_partition_put(struct buf *b, const struct skein_partition *p)
{
    api_open(b, NULL, '{');
    api_put_u64(b, "process", p->process);
    wasm_time_put(b, "from_ns", p->from_ns);
    wasm_time_put(b, "to_ns", p->to_ns);
    api_put_u64(b, "bytes", p->bytes);
    api_put_u64(b, "events", p->events);
    api_put_u64(b, "lost", p->lost);
    api_put_bool(b, "evidence", p->evidence);
    api_put_bool(b, "follows", p->follows);
    api_close(b, '}');
}

int api_trace_facts(const struct api_trace *t)
{
    struct buf *b = api_begin();
    uint64_t from_ns, to_ns;
    skein_trace_bounds(t->trace, &from_ns, &to_ns);
    api_open(b, NULL, '{');
    wasm_time_put(b, "from_ns", from_ns);
    wasm_time_put(b, "to_ns", to_ns);
    api_open(b, "processes", '[');
    for (uint32_t i = 0; i < skein_trace_process_count(t->trace); i++)
        wasm_process_put(b, skein_trace_process(t->trace, i));
    api_close(b, ']');
    api_open(b, "partitions", '[');
    for (uint32_t i = 0; i < skein_trace_partition_count(t->trace); i++)
        wasm_partition_put(b, skein_trace_partition(t->trace, i));
    api_close(b, ']');
    api_close(b, '}');
    return api_end(SKEIN_OK);
}

/* ---- names ---- */

static void wasm_group_put(struct buf *b, uint8_t group)
{
    struct buf name = {0};
    event_groups_put(&name, UINT64_C(1) << (group & 63));
    buf_put_u8(&name, 0);
    api_put_text(b, "group_name", name.status == SKEIN_OK ? (const char *)name.data : "");
    buf_fini(&name);
}

static void wasm_type_put(struct buf *b, const struct skein_event_type *type)
{
    api_open(b, NULL, '{');
    api_put_text(b, "name", type->name);
    api_put_text(b, "text", type->text);
    api_put_text(b, "file", type->file);
    api_put_u64(b, "line", type->line);
    api_put_u64(b, "class", type->klass);
    api_put_u64(b, "group", type->group);
    wasm_group_put(b, type->group);
    api_open(b, "args", '[');
    for (unsigned i = 0; i < type->arg_count && i < SKEIN_ARGS_MAX; i++) {
        api_open(b, NULL, '{');
        api_put_text(b, "name", type->args[i].name);
        api_put_text(b, "unit", type->args[i].unit);
        api_put_u64(b, "type", type->args[i].type);
        api_close(b, '}');
    }
    api_close(b, ']');
    api_close(b, '}');
}

static void wasm_thread_put(struct buf *b, const struct skein_thread *thread)
{
    api_open(b, NULL, '{');
    api_put_u64(b, "process", thread->process);
    api_put_u64(b, "tid", thread->tid);
    wasm_time_put(b, "incarnation", thread->incarnation);
    api_put_bool(b, "evidence", thread->evidence);
    api_put_text(b, "name", thread->name);
    api_close(b, '}');
}

int api_trace_names(const struct api_trace *t, uint32_t first_type, uint32_t first_thread)
{
    struct buf *b = api_begin();
    api_open(b, NULL, '{');
    api_open(b, "types", '[');
    for (uint32_t i = first_type; i < skein_trace_type_count(t->trace); i++)
        wasm_type_put(b, skein_trace_type(t->trace, i));
    api_close(b, ']');
    api_open(b, "threads", '[');
    for (uint32_t i = first_thread; i < skein_trace_thread_count(t->trace); i++)
        wasm_thread_put(b, skein_trace_thread(t->trace, i));
    api_close(b, ']');
    api_close(b, '}');
    return api_end(SKEIN_OK);
}

int api_loss_text(uint32_t reason)
{
    return api_say(SKEIN_OK, skein_loss_text(reason < 256 ? (uint8_t)reason : 255));
}

void api_put_gaps(struct buf *b, const struct api_trace *t, const struct skein_gap *gaps,
                  size_t count)
{
    static const char *const reasons[] = {
        [SKEIN_GAP_BROKEN] = "broken", [SKEIN_GAP_MISSING] = "missing", [SKEIN_GAP_TORN] = "torn"};
    api_open(b, "gaps", '[');
    for (size_t i = 0; i < count; i++) {
        bool known = gaps[i].to_ns != 0;
        api_open(b, NULL, '{');
        api_put_text(b, "reason", reasons[gaps[i].reason]);
        if (gaps[i].process != SKEIN_NONE)
            api_put_u64(b, "process", gaps[i].process);
        api_put_real(b, "from", known ? api_since(t, gaps[i].from_ns) : 0);
        api_put_real(b, "to", known ? api_since(t, gaps[i].to_ns) : 0);
        api_put_u64(b, "bytes", gaps[i].bytes);
        api_put_text(b, "what", gaps[i].what);
        api_close(b, '}');
    }
    api_close(b, ']');
}
