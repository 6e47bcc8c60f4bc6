/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns copies of what a dump said of threads, as the reader's texts die with it.
 */
#include "cli_dumped.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "trace_stack.h"

struct dumped {
    bool json;
    unsigned indent;
    struct dumped_thread *threads;
    char **texts; /* of each, one behind the other: name, state, call */
    size_t count, cap, text_cap;
};

int dumped_new(bool json, unsigned indent, struct dumped **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->json = json;
    (*out)->indent = indent;
    return SKEIN_OK;
}

void dumped_clear(struct dumped *dumped)
{
    for (size_t i = 0; i < dumped->count; i++) {
        free(dumped->texts[i]);
        buf_fini(&dumped->threads[i].stack);
    }
    dumped->count = 0;
}

void dumped_free(struct dumped **dumped)
{
    if (*dumped == NULL)
        return;
    dumped_clear(*dumped);
    free((*dumped)->threads);
    free((*dumped)->texts);
    free(*dumped);
    *dumped = NULL;
}

static void arg_put(struct buf *text, const struct trace_event *event, unsigned i)
{
    if (i < event->type->nargs && event->type->args[i].type == SKEIN_T_STR)
        buf_put(text, event->args[i].str.text, event->args[i].str.len);
    buf_put_u8(text, 0);
}

static int state_add(struct dumped *dumped, struct partition_reader *reader,
                     const struct trace_event *event)
{
    struct buf stack = {0}, texts = {0};
    buf_put(&texts, event->thread->name, strlen(event->thread->name) + 1);
    size_t state = texts.len;
    arg_put(&texts, event, 0);
    size_t call = texts.len;
    arg_put(&texts, event, 2);
    if (dumped->json)
        trace_stack_json(&stack, reader, event->stack);
    else
        trace_wait_text(&stack, reader, event->stack, dumped->indent);
    if (texts.status != SKEIN_OK || stack.status != SKEIN_OK ||
        !array_grow(dumped->threads, dumped->count + 1, &dumped->cap) ||
        !array_grow(dumped->texts, dumped->count + 1, &dumped->text_cap)) {
        buf_fini(&texts);
        buf_fini(&stack);
        return SKEIN_NO_MEMORY;
    }
    char *text = dumped->texts[dumped->count] = (char *)texts.data;
    dumped->threads[dumped->count++] = (struct dumped_thread){
        event->thread->tid, event->time_ns, text, text + state, text + call, 0, stack};
    return SKEIN_OK;
}

/* Comes right behind the thread's state. */
static void wait_add(struct dumped *dumped, const struct trace_event *event)
{
    const struct partition_event_type *type = event->type;
    struct dumped_thread *thread = dumped->count > 0 ? &dumped->threads[dumped->count - 1] : NULL;
    if (thread == NULL || thread->tid != event->thread->tid || type->nargs < 3 ||
        type->args[2].type != SKEIN_T_U64 || event->args[2].u64 > UINT32_MAX)
        return;
    thread->holder = (uint32_t)event->args[2].u64;
}

int dumped_add(struct dumped *dumped, struct partition_reader *reader,
               const struct trace_event *event)
{
    if (event->type == NULL || event->thread == NULL)
        return SKEIN_OK;
    if (strcmp(event->type->name, "thread.wait") == 0)
        wait_add(dumped, event);
    return strcmp(event->type->name, "thread.state") == 0 ? state_add(dumped, reader, event)
                                                          : SKEIN_OK;
}

const struct dumped_thread *dumped_find(const struct dumped *dumped, uint32_t tid, uint64_t from_ns,
                                        uint64_t to_ns)
{
    for (size_t i = 0; i < dumped->count; i++) {
        const struct dumped_thread *thread = &dumped->threads[i];
        if (thread->tid == tid && thread->at_ns >= from_ns && thread->at_ns <= to_ns)
            return thread;
    }
    return NULL;
}
