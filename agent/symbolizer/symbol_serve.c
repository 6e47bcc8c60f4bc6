/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests to skein-symbolizer; see symbol_serve.h. Which files stay loaded is the agent's to say.
 */
#include "symbol_serve.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "descriptor.h"
#include "symbol_dw_names.h"
#include "symbol_dw_unwind.h"
#include "symbol_jit.h"

struct module {
    uint32_t number;
    struct symbol_module *elf; /* one of these two */
    struct symbol_jit *jit;
};
struct process {
    uint32_t number;
    struct symbol_process *walk;
};

struct symbol_server {
    struct module *modules;
    size_t module_count, module_cap;
    struct process *processes;
    size_t process_count, process_cap;
};

int symbol_server_new(struct symbol_server **out)
{
    *out = calloc(1, sizeof **out);
    return *out != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

static void module_free(struct module *module)
{
    symbol_module_free(&module->elf);
    symbol_jit_free(&module->jit);
}

void symbol_server_free(struct symbol_server **server_p)
{
    struct symbol_server *server = *server_p;
    *server_p = NULL;
    if (server == NULL)
        return;
    for (size_t i = 0; i < server->module_count; i++)
        module_free(&server->modules[i]);
    for (size_t i = 0; i < server->process_count; i++)
        symbol_process_free(&server->processes[i].walk);
    free(server->modules);
    free(server->processes);
    free(server);
}

static struct module *module_find(struct symbol_server *server, uint32_t number)
{
    for (size_t i = 0; i < server->module_count; i++)
        if (server->modules[i].number == number)
            return &server->modules[i];
    return NULL;
}

static struct process *process_find(struct symbol_server *server, uint32_t number)
{
    for (size_t i = 0; i < server->process_count; i++)
        if (server->processes[i].number == number)
            return &server->processes[i];
    return NULL;
}

/* ---- requests; each returns a status and puts what follows it ---- */

static int module_load(struct symbol_server *server, struct cursor *c, int *fds, size_t fd_count)
{
    struct symbol_load load;
    symbol_load_get(c, &load);
    if (c->status != SKEIN_OK || load.descriptors != fd_count)
        return SKEIN_CORRUPT;
    if (module_find(server, load.module) != NULL)
        return SKEIN_EXISTS;
    if (!array_grow(server->modules, server->module_count + 1, &server->module_cap))
        return SKEIN_NO_MEMORY;
    struct module module = {.number = load.module};
    int status;
    if (load.form == SYMBOL_FORM_JIT) {
        status = symbol_jit_open(fds[0], &module.jit);
    } else {
        status = symbol_module_open(fds[0], fd_count > 1 ? fds[1] : -1, &module.elf);
        fds[0] = fds[1] = -1;
    }
    if (status == SKEIN_OK)
        server->modules[server->module_count++] = module;
    return status;
}

static int module_drop(struct symbol_server *server, struct cursor *c)
{
    struct module *module = module_find(server, cursor_u32(c));
    if (c->status != SKEIN_OK || module == NULL)
        return SKEIN_NOT_FOUND;
    module_free(module);
    *module = server->modules[--server->module_count];
    return SKEIN_OK;
}

static void place_put(const struct module *module, uint64_t place, struct buf *out)
{
    if (module->jit != NULL)
        symbol_jit_put(module->jit, place, out);
    else
        symbol_module_put(module->elf, place, out);
}

/* As many as go into one reply. */
static int names_answer(struct symbol_server *server, struct cursor *c, struct buf *reply)
{
    const struct module *module = module_find(server, cursor_u32(c));
    uint32_t count = symbol_count_get(c, SYMBOL_PLACES_MAX, 8);
    if (c->status != SKEIN_OK)
        return SKEIN_CORRUPT;
    if (module == NULL)
        return SKEIN_NOT_FOUND;
    struct buf all = {0};
    uint32_t done = 0;
    for (; done < count && all.status == SKEIN_OK; done++) {
        size_t before = all.len;
        place_put(module, cursor_u64(c), &all);
        if (all.len > SYMBOL_BODY_MAX - 64) {
            all.len = before;
            break;
        }
    }
    int status = all.status;
    if (status == SKEIN_OK) {
        buf_put_uleb(reply, done);
        buf_put(reply, all.data, all.len);
    }
    buf_fini(&all);
    return status;
}

/* A file has several mappings, and one bias. */
static void maps_add(struct symbol_server *server, struct symbol_process *walk, struct cursor *c,
                     uint32_t count)
{
    uint32_t last = 0;
    uint64_t last_bias = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct symbol_map map;
        symbol_map_get(c, &map);
        const struct module *module =
            c->status == SKEIN_OK ? module_find(server, map.module) : NULL;
        uint64_t address;
        if (module == NULL || module->elf == NULL ||
            !symbol_module_address(module->elf, map.offset, &address))
            continue;
        uint64_t bias = map.start - address;
        if (i > 0 && module->number == last && bias == last_bias)
            continue;
        last = module->number;
        last_bias = bias;
        (void)symbol_process_add(walk, symbol_module_fd(module->elf), bias);
    }
}

static int map_answer(struct symbol_server *server, struct cursor *c)
{
    uint32_t number = cursor_u32(c);
    uint32_t count = symbol_count_get(c, SYMBOL_MAPS_MAX, 28);
    if (c->status != SKEIN_OK)
        return SKEIN_CORRUPT;
    if (process_find(server, number) != NULL)
        return SKEIN_EXISTS;
    if (!array_grow(server->processes, server->process_count + 1, &server->process_cap))
        return SKEIN_NO_MEMORY;
    struct symbol_process *walk;
    int status = symbol_process_new(&walk);
    if (status != SKEIN_OK)
        return status;
    maps_add(server, walk, c, count);
    status = c->status == SKEIN_OK ? symbol_process_ready(walk) : SKEIN_CORRUPT;
    if (status == SKEIN_OK)
        server->processes[server->process_count++] = (struct process){number, walk};
    else
        symbol_process_free(&walk);
    return status;
}

static int unmap_answer(struct symbol_server *server, struct cursor *c)
{
    struct process *process = process_find(server, cursor_u32(c));
    if (c->status != SKEIN_OK || process == NULL)
        return SKEIN_NOT_FOUND;
    symbol_process_free(&process->walk);
    *process = server->processes[--server->process_count];
    return SKEIN_OK;
}

static int unwind_answer(struct symbol_server *server, struct cursor *c, struct buf *reply)
{
    struct symbol_unwind unwind;
    symbol_unwind_get(c, &unwind);
    if (c->status != SKEIN_OK)
        return SKEIN_CORRUPT;
    struct process *process = process_find(server, unwind.process);
    if (process == NULL)
        return SKEIN_NOT_FOUND;
    symbol_process_walk(process->walk, &unwind, reply);
    return SKEIN_OK;
}

static int kind_answer(struct symbol_server *server, uint8_t kind, struct cursor *c, int *fds,
                       size_t fd_count, struct buf *reply)
{
    switch (kind) {
    case SYMBOL_LOAD:
        return module_load(server, c, fds, fd_count);
    case SYMBOL_DROP:
        return module_drop(server, c);
    case SYMBOL_NAMES:
        return names_answer(server, c, reply);
    case SYMBOL_MAP:
        return map_answer(server, c);
    case SYMBOL_UNMAP:
        return unmap_answer(server, c);
    case SYMBOL_UNWIND:
        return unwind_answer(server, c, reply);
    default:
        return SKEIN_UNSUPPORTED;
    }
}

static uint64_t memory_used(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

void symbol_server_answer(struct symbol_server *server, uint8_t kind, const uint8_t *body,
                          size_t bytes, const int *fds, size_t fd_count, struct buf *reply)
{
    int own[SYMBOL_FDS_MAX] = {-1, -1};
    struct cursor c;
    cursor_init(&c, body, bytes);
    for (size_t i = 0; i < fd_count; i++)
        own[i] = fds[i];
    symbol_begin(reply);
    size_t head = reply->len;
    buf_put_u64(reply, 0);
    buf_put_u8(reply, 0);
    size_t rest = reply->len;
    int status = kind_answer(server, kind, &c, own, fd_count, reply);
    for (size_t i = 0; i < SYMBOL_FDS_MAX; i++)
        fd_close(&own[i]);
    if (reply->status != SKEIN_OK)
        return;
    buf_set_u64(reply, head, memory_used());
    reply->data[head + 8] = (uint8_t)-status;
    if (status != SKEIN_OK)
        reply->len = rest;
    symbol_end(reply, kind | SYMBOL_REPLY);
}
