/* SPDX-License-Identifier: Apache-2.0
 *
 * Which files the child has: each is told to it once, and the least used go first when together they
 * are larger than half of its memory. The symbolizer's thread.
 */
#include <string.h>

#include "symbol_int.h"

static uint64_t files_max(const struct symbolizer *s)
{
    return s->memory_bytes / 2;
}

static bool is_loaded(const struct symbolizer *s, const struct symbol_row *row)
{
    return s->child.process.pid != 0 && row->life == s->child.life;
}

static void row_drop(struct symbolizer *s, struct symbol_row *row)
{
    struct cursor answer;
    buf_clear(&s->ask);
    symbol_begin(&s->ask);
    buf_put_u32(&s->ask, row->number);
    symbol_end(&s->ask, SYMBOL_DROP);
    row->life = 0;
    (void)symbol_child_ask(&s->child, &s->ask, NULL, 0, &s->reply, &answer);
}

static struct symbol_row *row_least(struct symbolizer *s, bool loaded)
{
    struct symbol_row *least = NULL;
    for (size_t i = 0; i < s->row_count; i++)
        if ((!loaded || is_loaded(s, &s->rows[i])) &&
            (least == NULL || s->rows[i].used < least->used))
            least = &s->rows[i];
    return least;
}

/* Makes room for the row. */
static void rows_shrink(struct symbolizer *s, const struct symbol_row *row)
{
    uint64_t bytes = row->bytes;
    for (size_t i = 0; i < s->row_count; i++)
        bytes += is_loaded(s, &s->rows[i]) ? s->rows[i].bytes : 0;
    while (bytes > files_max(s)) {
        struct symbol_row *least = row_least(s, true);
        if (least == NULL)
            return;
        bytes -= least->bytes;
        row_drop(s, least);
    }
}

static bool identity_same(const struct symbol_identity *a, const struct symbol_identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
           a->changed_ns == b->changed_ns && a->modified_ns == b->modified_ns;
}

/* The row of a file that is known, by looks at inodes alone: to open each file of a process, and
 * read its build id, takes 25 system calls. NULL: it is not known, or something may have changed. */
static struct symbol_row *row_look(struct symbolizer *s, struct symbol_request *request,
                                   const struct partition_mapping *mapping)
{
    const struct symbol_place *place = symbol_request_place(request);
    struct symbol_file file = {.fd = -1, .debug_fd = -1};
    struct symbol_identity debug;
    bool vdso = strcmp(mapping->path, "[vdso]") == 0;
    if (vdso)
        file.identity.bytes = mapping->end - mapping->start;
    else if (mapping->path[0] != '/' || !symbol_file_look(place, mapping, &file.identity))
        return NULL;
    for (size_t i = 0; i < s->row_count; i++) {
        struct symbol_row *row = &s->rows[i];
        if (row->form != SYMBOL_FORM_ELF || !identity_same(&row->identity, &file.identity))
            continue;
        if (vdso)
            return row;
        memcpy(file.build_id, row->build_id, sizeof file.build_id);
        file.build_id_bytes = row->build_id_bytes;
        symbol_debug_look(place, row->build_id, row->build_id_bytes, &debug);
        if (symbol_file_matches(place, mapping, &file) && identity_same(&row->debug, &debug))
            return row;
    }
    return NULL;
}

static struct symbol_row *row_of(struct symbolizer *s, const struct symbol_file *file, uint8_t form)
{
    for (size_t i = 0; i < s->row_count; i++)
        if (s->rows[i].form == form && identity_same(&s->rows[i].identity, &file->identity) &&
            identity_same(&s->rows[i].debug, &file->debug))
            return &s->rows[i];
    struct symbol_row *row;
    if (s->row_count < SYMBOL_ROWS_MAX) {
        row = &s->rows[s->row_count++];
    } else {
        row = row_least(s, false);
        if (is_loaded(s, row))
            row_drop(s, row);
    }
    *row = (struct symbol_row){.identity = file->identity,
                               .debug = file->debug,
                               .form = form,
                               .number = ++s->last_number,
                               .build_id_bytes = file->build_id_bytes,
                               .bytes = file->identity.bytes + file->debug.bytes};
    memcpy(row->build_id, file->build_id, sizeof row->build_id);
    return row;
}

static int file_load(struct symbolizer *s, const struct symbol_file *file, struct symbol_row *row)
{
    int fds[SYMBOL_FDS_MAX] = {file->fd, file->debug_fd};
    struct symbol_load load = {row->number, row->form, file->debug_fd >= 0 ? 2 : 1};
    struct cursor answer;
    int status = symbol_child_ready(&s->child);
    if (status != SKEIN_OK || is_loaded(s, row))
        return status;
    if (row->bytes > files_max(s))
        return SKEIN_TOO_LARGE;
    rows_shrink(s, row);
    buf_clear(&s->ask);
    symbol_begin(&s->ask);
    symbol_load_put(&s->ask, &load);
    symbol_end(&s->ask, SYMBOL_LOAD);
    status = symbol_child_ask(&s->child, &s->ask, fds, load.descriptors, &s->reply, &answer);
    if (status == SKEIN_OK) {
        row->life = s->child.life;
        symbol_count_add(s, &s->counters.files, 1);
    } else if (status == SKEIN_CLOSED || status == SKEIN_TIMEOUT) {
        symbol_row_spoil(s, row);
    } else if (status != SKEIN_AGAIN && status != SKEIN_NO_MEMORY) {
        row->unfit = true;
    }
    return status;
}

static int file_open(const struct symbolizer *s, struct symbol_request *request,
                     const struct partition_mapping *mapping, struct symbol_file *file)
{
    *file = (struct symbol_file){.fd = -1, .debug_fd = -1}; /* the caller closes it in any case */
    if (s->find != NULL) {
        int status = mapping != NULL ? s->find(s->context, mapping, &file->fd, &file->debug_fd)
                                     : SKEIN_NOT_FOUND;
        return status == SKEIN_OK ? symbol_file_know(file) : status;
    }
    if (mapping == NULL)
        return symbol_file_open_jit(symbol_request_place(request), file);
    if (strcmp(mapping->path, "[vdso]") == 0)
        return symbol_file_open_vdso(mapping, file);
    return mapping->path[0] == '/' ? symbol_file_open(symbol_request_place(request), mapping, file)
                                   : SKEIN_NOT_FOUND;
}

/* With the file open, where it is not known or to be loaded. */
static int row_find(struct symbolizer *s, struct symbol_request *request,
                    const struct partition_mapping *mapping, bool load, struct symbol_file *file,
                    struct symbol_row **out)
{
    *file = (struct symbol_file){.fd = -1, .debug_fd = -1};
    *out = s->find == NULL && mapping != NULL ? row_look(s, request, mapping) : NULL;
    if (*out != NULL && (!load || (*out)->unfit || is_loaded(s, *out)))
        return SKEIN_OK;
    *out = NULL;
    int status = file_open(s, request, mapping, file);
    if (status == SKEIN_OK)
        *out = row_of(s, file, mapping != NULL ? SYMBOL_FORM_ELF : SYMBOL_FORM_JIT);
    return status;
}

int symbol_row_have(struct symbolizer *s, struct symbol_request *request,
                    const struct partition_mapping *mapping, bool load, struct symbol_row **out)
{
    struct symbol_file file;
    struct symbol_row *row;
    *out = NULL;
    int status = row_find(s, request, mapping, load, &file, &row);
    if (status == SKEIN_OK) {
        row->used = ++s->uses;
        status = row->unfit ? SKEIN_INVALID : SKEIN_OK;
        if (status == SKEIN_OK && load)
            status = file_load(s, &file, row);
        if (status == SKEIN_OK)
            *out = row;
    }
    symbol_file_close(&file);
    bool nothing = mapping == NULL || mapping->path[0] != '/';
    if (status != SKEIN_OK && status != SKEIN_AGAIN && !nothing)
        symbol_count_add(s, &s->counters.files_refused, 1);
    return status;
}

bool symbol_row_build_id(struct symbolizer *s, struct symbol_request *request,
                         struct partition_mapping *mapping)
{
    struct symbol_row *row = row_look(s, request, mapping);
    if (row == NULL) {
        struct symbol_file file;
        if (symbol_file_open(symbol_request_place(request), mapping, &file) != SKEIN_OK)
            return false;
        row = row_of(s, &file, SYMBOL_FORM_ELF);
        symbol_file_close(&file);
    }
    memcpy(mapping->build_id, row->build_id, sizeof mapping->build_id);
    mapping->build_id_bytes = row->build_id_bytes;
    return true;
}

int symbol_row_load(struct symbolizer *s, struct symbol_request *request,
                    const struct partition_mapping *mapping, struct symbol_row *row)
{
    struct symbol_row *same;
    int status = symbol_child_ready(&s->child);
    if (status != SKEIN_OK || is_loaded(s, row))
        return status;
    status = symbol_row_have(s, request, mapping, true, &same);
    return status == SKEIN_OK && same != row ? SKEIN_REFUSED : status;
}

void symbol_row_spoil(struct symbolizer *s, struct symbol_row *row)
{
    row->unfit = true;
    row->life = 0;
    symbol_count_add(s, &s->counters.files_fatal, 1);
}

void symbol_child_renew(struct symbolizer *s)
{
    if (s->child.process.pid == 0 || s->child.used_bytes <= s->memory_bytes / 4)
        return;
    symbol_child_stop(&s->child);
    symbol_count_add(s, &s->counters.renewed, 1);
}

void symbol_count_add(struct symbolizer *s, uint64_t *counter, uint64_t n)
{
    pthread_mutex_lock(&s->mutex);
    *counter += n;
    pthread_mutex_unlock(&s->mutex);
}
