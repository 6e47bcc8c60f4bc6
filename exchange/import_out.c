/* SPDX-License-Identifier: Apache-2.0
 *
 * See import_out.h: what is noted until the flush.
 */
#include "import_out.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "import_id.h"
#include "import_out_int.h"

void import_why(struct import_told *told, const char *format, ...)
{
    va_list args;
    if (told->why[0] != '\0')
        return;
    va_start(args, format);
    vsnprintf(told->why, sizeof told->why, format, args);
    va_end(args);
}

void import_clamped(struct import_told *told)
{
    told->clamped++;
    import_why(
        told,
        "it has times before 1970 or more than 146 years later, which no trace can hold; they "
        "are shown at that bound");
}

/* ---- the whole ---- */

int import_out_new(const struct import_to *to, const struct import_process *process,
                   struct import_told *told, struct import_out **out)
{
    struct import_out *made = calloc(1, sizeof *made);
    *out = NULL;
    if (made == NULL)
        return SKEIN_NO_MEMORY;
    made->to = *to;
    made->told = told;
    made->pid = process->pid;
    made->ahead_ns = process->ahead_ns;
    made->host = strndup(process->host, PARTITION_NAME_MAX);
    made->service = strndup(process->service, PARTITION_NAME_MAX);
    made->evidence_sequence = PARTITION_EVIDENCE_FROM;
    if (made->host == NULL || made->service == NULL) {
        import_out_free(&made);
        return SKEIN_NO_MEMORY;
    }
    made->key.process = import_process_uid(process->seed, process->number, process->pid);
    *out = made;
    return SKEIN_OK;
}

void import_out_free(struct import_out **out)
{
    struct import_out *o = *out;
    *out = NULL;
    if (o == NULL)
        return;
    for (size_t i = 0; i < o->type_keys.count; i++)
        free(o->types[i].keep);
    intern_table_fini(&o->type_keys);
    intern_table_fini(&o->names);
    intern_table_fini(&o->texts);
    intern_table_fini(&o->thread_keys);
    intern_table_fini(&o->stack_keys);
    import_map_fini(&o->pcs);
    free(o->types);
    free(o->pc_names);
    free(o->lines);
    free(o->threads);
    free(o->records);
    free(o->values);
    free(o->stack_pcs);
    free(o->stacks);
    free(o->opens);
    free(o->losses);
    free(o->host);
    free(o->service);
    free(o);
}

void import_out_ahead(struct import_out *out, int64_t ahead_ns)
{
    out->ahead_ns = ahead_ns;
}

/* ---- types ---- */

static void type_key_put(struct buf *b, const struct partition_event_type *type, bool evidence)
{
    buf_put_u8(b, evidence);
    buf_put_u8(b, type->klass);
    buf_put_u8(b, type->group);
    buf_put_u8(b, type->nargs);
    buf_put_text(b, type->name, strlen(type->name) + 1);
    buf_put_text(b, type->text, strlen(type->text) + 1);
    for (unsigned i = 0; i < type->nargs; i++) {
        buf_put_u8(b, type->args[i].type);
        buf_put_text(b, type->args[i].name, strlen(type->args[i].name) + 1);
        buf_put_text(b, type->args[i].unit, strlen(type->args[i].unit) + 1);
    }
}

/* A text that lasts with the type: `at` goes on in its `keep`, which has room. */
static const char *text_keep(char **at, const char *text)
{
    size_t n = strnlen(text, PARTITION_NAME_MAX);
    char *kept = *at;
    memcpy(kept, text, n);
    kept[n] = '\0';
    *at += n + 1;
    return kept;
}

static bool type_keep(struct out_type *made, const struct partition_event_type *type, bool evidence,
                      size_t room)
{
    char *at = made->keep = malloc(room);
    if (at == NULL)
        return false;
    made->type = *type;
    made->evidence = evidence;
    made->at = -1;
    made->type.name = text_keep(&at, type->name);
    made->type.text = text_keep(&at, type->text);
    made->type.file = "";
    for (unsigned i = 0; i < type->nargs; i++) {
        made->type.args[i].name = text_keep(&at, type->args[i].name);
        made->type.args[i].unit = text_keep(&at, type->args[i].unit);
    }
    return true;
}

uint32_t import_type(struct import_out *out, const struct partition_event_type *type, bool evidence)
{
    struct buf key = {0};
    struct out_type made = {.keep = NULL};
    bool fresh = false;
    int64_t at = SKEIN_NO_MEMORY;
    type_key_put(&key, type, evidence);
    bool room = array_grow(out->types, out->type_keys.count + 1, &out->type_cap);
    if (key.status == SKEIN_OK && room)
        at = intern_table_put(&out->type_keys, key.data, key.len, &fresh);
    size_t bytes = key.len + 2;
    buf_fini(&key);
    if (at < 0) {
        out_fail(out, SKEIN_NO_MEMORY);
        return SKEIN_NONE;
    }
    if (!fresh)
        return at < IMPORT_TYPES_MAX ? (uint32_t)at : SKEIN_NONE;
    if (!type_keep(&made, type, evidence, bytes))
        out_fail(out, SKEIN_NO_MEMORY);
    out->types[at] = made;
    return made.keep != NULL && at < IMPORT_TYPES_MAX ? (uint32_t)at : SKEIN_NONE;
}

/* ---- threads, texts, stacks, names ---- */

uint32_t import_thread(struct import_out *out, uint32_t tid, uint64_t incarnation, const char *name,
                       bool believed)
{
    bool fresh;
    const uint64_t key[2] = {tid, incarnation};
    int64_t at = SKEIN_NO_MEMORY;
    if (array_grow(out->threads, out->thread_keys.count + 1, &out->thread_cap))
        at = intern_table_put(&out->thread_keys, key, sizeof key, &fresh);
    if (at < 0) {
        out_fail(out, SKEIN_NO_MEMORY);
        return SKEIN_NONE;
    }
    if (fresh || believed)
        out->threads[at] =
            (struct out_thread){.tid = tid,
                                .incarnation = incarnation,
                                .name = (uint32_t)import_text(out, name, strlen(name)),
                                .last_ns = fresh ? 0 : out->threads[at].last_ns};
    return (uint32_t)at;
}

uint64_t import_text(struct import_out *out, const char *text, size_t n)
{
    bool fresh;
    /* one more than is kept, so that the writer marks it as cut */
    size_t kept = n <= PARTITION_NAME_MAX ? n : PARTITION_NAME_MAX + 1;
    int64_t at = intern_table_put(&out->texts, text, kept, &fresh);
    if (at < 0)
        out_fail(out, SKEIN_NO_MEMORY);
    return at < 0 ? 0 : (uint64_t)at;
}

uint32_t import_keep(struct import_out *out, const char *text)
{
    bool fresh = false;
    int64_t at = 0;
    const size_t n = strlen(text) + 1;
    if (n == 1)
        return 0;
    if (out->names.count == 0)
        at = intern_table_put(&out->names, "", 1, &fresh);
    const bool full =
        out->names.count >= IMPORT_KEPT_MAX || n > IMPORT_KEPT_BYTES - out->names.bytes.len;
    if (at >= 0)
        at = full ? intern_table_find(&out->names, text, n)
                  : intern_table_put(&out->names, text, n, &fresh);
    if (full && at < 0)
        import_why(out->told, "names of functions and files take more than 24 MiB of a process, or "
                              "are more than 4,000,000; what is called otherwise has no name");
    else if (at < 0)
        out_fail(out, SKEIN_NO_MEMORY);
    return at < 0 ? 0 : (uint32_t)at;
}

const char *import_kept(const struct import_out *out, uint32_t kept)
{
    return kept < out->names.count ? (const char *)intern_table_bytes(&out->names, kept) : "";
}

/* Where no more stacks are taken: one that is there already, or 0, which is told. */
static uint32_t stack_known(struct import_out *out, const struct buf *key)
{
    int64_t at = intern_table_find(&out->stack_keys, key->data, key->len);
    if (at >= 0)
        return (uint32_t)at + 1;
    out->told->left_out++;
    if (out->told->why[0] == '\0')
        snprintf(out->told->why, sizeof out->told->why,
                 "there are more than %u stacks; records of further ones go without",
                 IMPORT_STACKS_MAX);
    return 0;
}

uint32_t import_stack(struct import_out *out, const uint64_t *pcs, uint32_t count, bool cut)
{
    bool fresh;
    uint64_t end = cut;
    struct buf key = {0};
    int64_t at = SKEIN_NO_MEMORY;
    if (count == 0 || count > PARTITION_FRAMES_MAX)
        return 0;
    buf_put(&key, &end, sizeof end);
    buf_put(&key, pcs, count * sizeof *pcs);
    if (key.status == SKEIN_OK && out->stack_count == IMPORT_STACKS_MAX) {
        uint32_t number = stack_known(out, &key);
        buf_fini(&key);
        return number;
    }
    bool room = array_grow(out->stacks, out->stack_count + 1, &out->stack_cap) &&
                array_grow(out->stack_pcs, out->stack_pc_count + count, &out->stack_pc_cap);
    if (key.status == SKEIN_OK && room)
        at = intern_table_put(&out->stack_keys, key.data, key.len, &fresh);
    buf_fini(&key);
    if (at < 0) {
        out_fail(out, SKEIN_NO_MEMORY);
        return 0;
    }
    if (fresh) {
        memcpy(out->stack_pcs + out->stack_pc_count, pcs, count * sizeof *pcs);
        out->stacks[out->stack_count++] =
            (struct out_stack){.pcs = out->stack_pc_count, .count = count, .cut = cut};
        out->stack_pc_count += count;
    }
    return (uint32_t)at + 1;
}

void import_name(struct import_out *out, uint64_t pc, const struct partition_line *lines,
                 uint32_t count)
{
    if (out->pc_count == IMPORT_NAMES_MAX || import_map_get(&out->pcs, pc) != IMPORT_MAP_NONE)
        return;
    if (!array_grow(out->pc_names, out->pc_count + 1, &out->pc_cap) ||
        !array_grow(out->lines, out->line_count + count, &out->line_cap) ||
        !import_map_set(&out->pcs, pc, (uint32_t)out->pc_count)) {
        out_fail(out, SKEIN_NO_MEMORY);
        return;
    }
    out->pc_names[out->pc_count++] = (struct out_name){.lines = out->line_count, .count = count};
    for (uint32_t i = 0; i < count; i++)
        out->lines[out->line_count++] =
            (struct out_line){.function = import_keep(out, lines[i].function),
                              .file = import_keep(out, lines[i].file),
                              .line = lines[i].line};
}

/* ---- records ---- */

/* Not before the thread's last one, and what was flushed: then it is raised. */
static uint64_t time_note(struct import_out *out, struct out_thread *thread, uint64_t time_ns)
{
    uint64_t least = thread->last_ns > out->flushed_ns ? thread->last_ns : out->flushed_ns;
    out->told->fixed_up += time_ns < least;
    if (time_ns < least)
        time_ns = least;
    if (!out->begun || time_ns < out->from_ns)
        out->from_ns = time_ns;
    out->begun = true;
    out->last_ns = time_ns > out->last_ns ? time_ns : out->last_ns;
    thread->last_ns = time_ns;
    return time_ns;
}

void import_event(struct import_out *out, uint32_t type, uint32_t thread, uint64_t time_ns,
                  uint64_t dur_ns, const uint64_t *values, uint32_t stack)
{
    if (out->status != SKEIN_OK || type >= out->type_keys.count || thread >= out->thread_keys.count)
        return;
    unsigned nargs = out->types[type].type.nargs;
    if (!array_grow(out->records, out->record_count + 1, &out->record_cap) ||
        !array_grow(out->values, out->value_count + nargs + 1, &out->value_cap)) {
        out_fail(out, SKEIN_NO_MEMORY);
        return;
    }
    if (time_ns > IMPORT_TIME_MAX) {
        import_clamped(out->told);
        time_ns = IMPORT_TIME_MAX;
    }
    uint64_t raised_ns = time_note(out, &out->threads[thread], time_ns);
    out->records[out->record_count++] = (struct out_record){.type = type,
                                                            .thread = thread,
                                                            .time_ns = raised_ns,
                                                            .raised = raised_ns > time_ns,
                                                            .dur_ns = dur_ns,
                                                            .values = out->value_count,
                                                            .stack = stack};
    for (unsigned i = 0; i < nargs; i++)
        out->values[out->value_count++] = values[i];
    out->value_count += nargs == 0; /* places tell records apart, in their order */
}

void import_open(struct import_out *out, uint32_t type, uint32_t thread, uint64_t since_ns,
                 int64_t detail)
{
    if (type >= out->type_keys.count || out->types[type].evidence ||
        thread >= out->thread_keys.count)
        return;
    if (!array_grow(out->opens, out->open_count + 1, &out->open_cap)) {
        out_fail(out, SKEIN_NO_MEMORY);
        return;
    }
    out->opens[out->open_count++] = (struct partition_open){
        .thread = thread, .type = type, .since_ticks = since_ns, .detail = detail};
}

void import_loss(struct import_out *out, uint8_t reason, uint64_t records, uint64_t from_ns,
                 uint64_t to_ns)
{
    if (!array_grow(out->losses, out->loss_count + 1, &out->loss_cap)) {
        out_fail(out, SKEIN_NO_MEMORY);
        return;
    }
    out->losses[out->loss_count++] = (struct partition_loss){.thread = UINT32_MAX,
                                                             .reason = reason,
                                                             .events = records,
                                                             .from_ticks = from_ns,
                                                             .to_ticks = to_ns};
}

bool import_out_full(const struct import_out *out)
{
    return out->record_count >= IMPORT_RECORDS_MAX ||
           out->thread_keys.count >= IMPORT_THREADS_MAX || out->texts.bytes.len > (size_t)8 << 20 ||
           out->loss_count >= 4096;
}

int import_out_flush(struct import_out *out)
{
    bool any = out->record_count + out->open_count + out->loss_count > 0;
    if (out->status != SKEIN_OK || !any)
        return out->status;
    out_fail(out, out_partitions_put(out));
    out->record_count = out->value_count = 0;
    out->open_count = out->loss_count = 0;
    intern_table_fini(&out->texts);
    intern_table_fini(&out->thread_keys);
    out->from_ns = out->flushed_ns = out->last_ns;
    return out->status;
}
