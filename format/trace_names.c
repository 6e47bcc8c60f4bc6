/* SPDX-License-Identifier: Apache-2.0
 *
 * What the partitions of a trace name, numbered through the whole trace: two that name the same
 * thing name one number. Owns the texts, types and threads, which never move and last as long as the
 * trace. One thread. A call that fails for want of memory leaves everything as it was, but for
 * texts.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "trace_int.h"

void names_fini(struct trace_names *names)
{
    for (size_t i = 0; i < names->text_cap; i++)
        free(names->text_at[i]);
    for (size_t i = 0; i < names->type_keys.count; i++)
        free(names->types[i]);
    for (size_t i = 0; i < names->thread_keys.count; i++)
        free(names->threads[i]);
    free(names->text_at);
    free(names->types);
    free(names->threads);
    free(names->spare_type);
    free(names->spare_thread);
    intern_table_fini(&names->texts);
    intern_table_fini(&names->type_keys);
    intern_table_fini(&names->thread_keys);
    buf_fini(&names->key);
    *names = (struct trace_names){0};
}

/* The text as the trace keeps it, its number added to the key; NULL: no memory. */
static const char *names_text(struct trace_names *names, const char *text)
{
    bool fresh;
    int64_t number = intern_table_put(&names->texts, text, strlen(text), &fresh);
    if (number < 0 || !array_grow_zero(names->text_at, (size_t)number + 1, &names->text_cap))
        return NULL;
    char **at = &names->text_at[number];
    if (*at == NULL)
        *at = strdup(text);
    buf_put_uleb(&names->key, (uint64_t)number);
    return *at;
}

/* The number of the key that was put together; SKEIN_NO_MEMORY. */
static int64_t key_number(struct trace_names *names, struct intern_table *table, bool *fresh)
{
    if (names->key.status == SKEIN_OK)
        return intern_table_put(table, names->key.data, names->key.len, fresh);
    buf_fini(&names->key);
    return SKEIN_NO_MEMORY;
}

/* Texts and numbers of a type into `to` and into the key. */
static bool type_copy(struct trace_names *names, const struct partition_event_type *from,
                      struct skein_event_type *to)
{
    buf_clear(&names->key);
    buf_put_u8(&names->key, from->klass);
    buf_put_u8(&names->key, from->group);
    buf_put_u32(&names->key, from->line);
    buf_put_u8(&names->key, from->nargs);
    *to = (struct skein_event_type){
        .line = from->line, .klass = from->klass, .group = from->group, .arg_count = from->nargs};
    to->name = names_text(names, from->name);
    to->text = names_text(names, from->text);
    to->file = names_text(names, from->file);
    bool whole = to->name != NULL && to->text != NULL && to->file != NULL;
    for (unsigned i = 0; whole && i < from->nargs; i++) {
        struct skein_arg_type *arg = &to->args[i];
        arg->type = from->args[i].type;
        buf_put_u8(&names->key, arg->type);
        arg->name = names_text(names, from->args[i].name);
        arg->unit = names_text(names, from->args[i].unit);
        whole = arg->name != NULL && arg->unit != NULL;
    }
    for (unsigned i = from->nargs; i < SKEIN_ARGS_MAX; i++)
        to->args[i].name = to->args[i].unit = "";
    return whole;
}

int64_t names_type(struct trace_names *names, const struct partition_event_type *type)
{
    bool fresh = false;
    if (names->spare_type == NULL)
        names->spare_type = calloc(1, sizeof *names->spare_type);
    if (names->spare_type == NULL || !type_copy(names, type, names->spare_type) ||
        !array_grow(names->types, names->type_keys.count + 1, &names->type_cap))
        return SKEIN_NO_MEMORY;
    int64_t number = key_number(names, &names->type_keys, &fresh);
    if (number >= 0 && fresh) {
        names->types[number] = names->spare_type;
        names->spare_type = NULL;
    }
    return number;
}

int64_t names_thread(struct trace_names *names, uint32_t process, bool evidence,
                     const struct partition_thread *thread)
{
    bool fresh = false;
    buf_clear(&names->key);
    const char *name = names_text(names, thread->name);
    buf_clear(&names->key);
    if (thread->tid == 0) /* no thread: what is of the host, and of the process as a whole */
        names_text(names, thread->name);
    buf_put_u32(&names->key, process);
    buf_put_u32(&names->key, thread->tid);
    buf_put_u64(&names->key, thread->incarnation);
    buf_put_u8(&names->key, evidence);
    if (names->spare_thread == NULL)
        names->spare_thread = calloc(1, sizeof *names->spare_thread);
    if (name == NULL || names->spare_thread == NULL ||
        !array_grow(names->threads, names->thread_keys.count + 1, &names->thread_cap))
        return SKEIN_NO_MEMORY;
    int64_t number = key_number(names, &names->thread_keys, &fresh);
    if (number >= 0 && fresh) {
        names->threads[number] = names->spare_thread;
        names->spare_thread = NULL;
        *names->threads[number] = (struct skein_thread){.process = process,
                                                        .tid = thread->tid,
                                                        .incarnation = thread->incarnation,
                                                        .evidence = evidence};
    }
    /* Evidence may know a thread by its number alone. */
    if (number >= 0 && (fresh || name[0] != '\0'))
        names->threads[number]->name = name;
    return number;
}

uint32_t skein_trace_type_count(const struct skein_trace *trace)
{
    return (uint32_t)trace->names.type_keys.count;
}

const struct skein_event_type *skein_trace_type(const struct skein_trace *trace, uint32_t type)
{
    return type < trace->names.type_keys.count ? trace->names.types[type] : NULL;
}

uint32_t skein_trace_thread_count(const struct skein_trace *trace)
{
    return (uint32_t)trace->names.thread_keys.count;
}

const struct skein_thread *skein_trace_thread(const struct skein_trace *trace, uint32_t thread)
{
    return thread < trace->names.thread_keys.count ? trace->names.threads[thread] : NULL;
}
