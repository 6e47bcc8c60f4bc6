/* SPDX-License-Identifier: Apache-2.0
 *
 * What the symbolizer's thread does for a request, a step at a time, so that one that is urgent
 * waits for a step of another and no longer:
 *
 *   names    the addresses of one file; at the end those that are in none, by the JIT's map
 *   walks    all files at once, then a stack
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "symbol_int.h"

static const struct partition_mapping *mapping_find(const struct symbol_request *request,
                                                    uint64_t address)
{
    size_t i = 0;
    array_find(i, 0, request->mapping_count, request->mappings[i].start <= address);
    return i > 0 && address < request->mappings[i - 1].end ? &request->mappings[i - 1] : NULL;
}

/* ---- names ---- */

/* mapping NULL: the place is the address itself */
static uint64_t place_of(const struct partition_mapping *mapping, uint64_t address)
{
    return mapping != NULL ? address - mapping->start + mapping->offset : address;
}

/* Copies the lines to the request. Bytes of one: no line. */
static void address_answer(struct symbolizer *s, struct symbol_request *request, size_t i,
                           const uint8_t *lines, size_t bytes, bool remembered)
{
    struct request_address *address = &request->addresses[i];
    bool none = bytes <= 1;
    uint8_t *copy = none ? NULL : malloc(bytes);
    if (copy != NULL)
        memcpy(copy, lines, bytes);
    pthread_mutex_lock(&s->mutex);
    address->looked = true;
    address->lines = copy;
    address->bytes = bytes;
    s->counters.nameless += none;
    s->counters.remembered += remembered && !none;
    request->missed |= !none && copy == NULL;
    pthread_mutex_unlock(&s->mutex);
}

static void request_miss(struct symbolizer *s, struct symbol_request *request)
{
    pthread_mutex_lock(&s->mutex);
    request->missed = true;
    pthread_mutex_unlock(&s->mutex);
}

/* Asks for some of the addresses at once. Returns how many were answered; a status below 0. */
static int64_t places_ask(struct symbolizer *s, struct symbol_request *request,
                          const struct partition_mapping *mapping, struct symbol_row *row,
                          const size_t *which, size_t count)
{
    struct cursor answer;
    buf_clear(&s->ask);
    symbol_begin(&s->ask);
    buf_put_u32(&s->ask, row->number);
    buf_put_uleb(&s->ask, count);
    for (size_t i = 0; i < count; i++)
        buf_put_u64(&s->ask, place_of(mapping, request->addresses[which[i]].address));
    symbol_end(&s->ask, SYMBOL_NAMES);
    int status = symbol_child_ask(&s->child, &s->ask, NULL, 0, &s->reply, &answer);
    if (status == SKEIN_CLOSED || status == SKEIN_TIMEOUT)
        symbol_row_spoil(s, row);
    if (status != SKEIN_OK)
        return status;
    uint32_t answered = symbol_count_get(&answer, (uint32_t)count, 1);
    struct buf lines = {0};
    uint32_t good = 0;
    for (; good < answered && symbol_lines_clean(&answer, &lines); good++) {
        uint64_t place = place_of(mapping, request->addresses[which[good]].address);
        symbol_cache_put(s->cache, row->number, place, lines.data, lines.len);
        address_answer(s, request, which[good], lines.data, lines.len, false);
    }
    buf_fini(&lines);
    return good > 0 ? (int64_t)good : SKEIN_CORRUPT;
}

/* Those of [from, to) that are in the file and not known yet. */
static void file_names(struct symbolizer *s, struct symbol_request *request,
                       const struct partition_mapping *mapping, size_t from, size_t to)
{
    size_t which[SYMBOL_PLACES_MAX] = {0}, count = 0;
    struct symbol_row *row;
    int64_t status = symbol_row_have(s, request, mapping, false, &row);
    for (size_t i = from; i < to && status == SKEIN_OK; i++) {
        size_t bytes;
        if (request->addresses[i].looked || (mapping == NULL && !request->addresses[i].loose))
            continue;
        const uint8_t *lines = symbol_cache_get(
            s->cache, row->number, place_of(mapping, request->addresses[i].address), &bytes);
        if (lines != NULL)
            address_answer(s, request, i, lines, bytes, true);
        else if (count < SYMBOL_PLACES_MAX)
            which[count++] = i;
        else
            request->next = i < request->next ? i : request->next; /* the next step's */
    }
    for (size_t done = 0; done < count && status >= 0;) {
        status = symbol_row_load(s, request, mapping, row);
        if (status == SKEIN_OK)
            status = places_ask(s, request, mapping, row, which + done, count - done);
        done += status > 0 ? (size_t)status : 0;
    }
    if (status == SKEIN_AGAIN || status == SKEIN_CLOSED || status == SKEIN_TIMEOUT ||
        status == SKEIN_IO || status == SKEIN_NO_MEMORY)
        request_miss(s, request);
    /* What is in no file that can be read may be code that was made on the way. */
    if (mapping == NULL && status < 0)
        request->next = to; /* no further step */
    for (size_t i = from; i < to && mapping != NULL && status < 0; i++)
        request->addresses[i].loose = !request->addresses[i].looked;
}

/* The addresses of the next mapping, or the next outside of all. */
static void names_step(struct symbolizer *s, struct symbol_request *request)
{
    size_t from = request->next, to = from + 1;
    const struct partition_mapping *mapping =
        mapping_find(request, request->addresses[from].address);
    while (to < request->address_count &&
           (mapping != NULL ? request->addresses[to].address < mapping->end &&
                                  mapping_find(request, request->addresses[to].address) == mapping
                            : mapping_find(request, request->addresses[to].address) == NULL))
        to++;
    request->next = to;
    if (mapping == NULL) {
        for (size_t i = from; i < to; i++)
            request->addresses[i].loose = true;
        return;
    }
    file_names(s, request, mapping, from, to);
}

static bool names_are_done(struct symbolizer *s, struct symbol_request *request)
{
    if (request->next < request->address_count) {
        names_step(s, request);
        return false;
    }
    size_t before = request->next;
    bool loose = false;
    for (size_t i = 0; i < request->address_count; i++)
        loose |= request->addresses[i].loose && !request->addresses[i].looked;
    if (loose)
        file_names(s, request, NULL, 0, request->address_count);
    bool more = request->next < before;
    request->next = before;
    return !more;
}

/* ---- walks ---- */

static bool is_bad(const struct symbolizer *s, const struct symbol_request *request)
{
    for (size_t i = 0; i < SYMBOL_BAD_PROCESSES; i++)
        if (request->pid > 0 && s->bad[i].pid == request->pid &&
            s->bad[i].start_clock_ticks == request->start_clock_ticks)
            return true;
    return false;
}

static void bad_add(struct symbolizer *s, const struct symbol_request *request)
{
    s->bad[s->bad_next].pid = request->pid;
    s->bad[s->bad_next].start_clock_ticks = request->start_clock_ticks;
    s->bad_next = (s->bad_next + 1) % SYMBOL_BAD_PROCESSES;
}

static void request_end(struct symbolizer *s, struct symbol_request *request, int status)
{
    pthread_mutex_lock(&s->mutex);
    request->status = status;
    pthread_mutex_unlock(&s->mutex);
}

/* Loads all files, and lists where they are. */
static void maps_list(struct symbolizer *s, struct symbol_request *request, struct buf *out)
{
    struct buf maps = {0};
    uint32_t count = 0;
    for (size_t i = 0; i < request->mapping_count && count < SYMBOL_MAPS_MAX; i++) {
        const struct partition_mapping *mapping = &request->mappings[i];
        struct symbol_row *row;
        if (symbol_row_have(s, request, mapping, true, &row) != SKEIN_OK)
            continue;
        symbol_map_put(&maps, &(struct symbol_map){row->number, mapping->start, mapping->end,
                                                   mapping->offset});
        count++;
    }
    buf_put_uleb(out, count);
    buf_put(out, maps.data, maps.len);
    if (maps.status != SKEIN_OK)
        out->status = maps.status;
    buf_fini(&maps);
}

static void walked_unmap(struct symbolizer *s)
{
    struct cursor answer;
    uint32_t number = s->walked.number;
    s->walked.number = 0;
    if (number == 0 || s->child.process.pid == 0 || s->child.life != s->walked.life)
        return;
    buf_clear(&s->ask);
    symbol_begin(&s->ask);
    buf_put_u32(&s->ask, number);
    symbol_end(&s->ask, SYMBOL_UNMAP);
    (void)symbol_child_ask(&s->child, &s->ask, NULL, 0, &s->reply, &answer);
}

/* What the process's walks depend on: files by their build ids, which the caller has read, and where
 * they lie. False: one has none, and may be another by now. */
static bool asked_put(const struct symbol_request *request, struct buf *out)
{
    bool all = true;
    buf_put_u64(out, (uint64_t)request->pid);
    buf_put_u64(out, request->start_clock_ticks);
    for (size_t i = 0; i < request->mapping_count; i++) {
        const struct partition_mapping *mapping = &request->mappings[i];
        buf_put_u64(out, mapping->start);
        buf_put_u64(out, mapping->end);
        buf_put_u64(out, mapping->offset);
        buf_put_u8(out, mapping->build_id_bytes);
        buf_put(out, mapping->build_id, mapping->build_id_bytes);
        buf_put(out, mapping->path, strlen(mapping->path) + 1);
        all = all && (mapping->build_id_bytes > 0 || mapping->path[0] != '/');
    }
    return all && out->status == SKEIN_OK;
}

/* Tells the child where the files are. Its frames in files that cannot be had are walked by frame
 * pointers. */
static int walked_map(struct symbolizer *s, struct symbol_request *request)
{
    struct buf maps = {0};
    struct cursor answer;
    uint32_t number = ++s->last_number;
    walked_unmap(s);
    request->life = s->child.life;
    maps_list(s, request, &maps);
    if (s->child.process.pid == 0 || s->child.life != request->life) { /* a file was its end */
        buf_fini(&maps);
        return SKEIN_OK;
    }
    buf_clear(&s->ask);
    symbol_begin(&s->ask);
    buf_put_u32(&s->ask, number);
    buf_put(&s->ask, maps.data, maps.len);
    symbol_end(&s->ask, SYMBOL_MAP);
    int status = maps.status;
    buf_fini(&maps);
    if (status == SKEIN_OK)
        status = symbol_child_ask(&s->child, &s->ask, NULL, 0, &s->reply, &answer);
    s->walked.life = request->life;
    s->walked.number = status == SKEIN_OK ? number : 0;
    return status;
}

/* A process that was walked before is known, tables that were read for it included, as long as the
 * same files lie in the same places. After SKEIN_OK it is mapped, or to be tried anew. */
static int walk_map(struct symbolizer *s, struct symbol_request *request)
{
    struct buf asked = {0};
    int status = symbol_child_ready(&s->child);
    if (status != SKEIN_OK)
        return status;
    request->life = s->child.life;
    bool known = asked_put(request, &asked) && s->walked.number != 0 &&
                 s->walked.life == request->life && s->walked.asked.len == asked.len &&
                 memcmp(s->walked.asked.data, asked.data, asked.len) == 0;
    if (!known)
        status = walked_map(s, request);
    buf_fini(&s->walked.asked);
    s->walked.asked = asked;
    request->walked = s->walked.number;
    request->mapped = status == SKEIN_OK && s->walked.number != 0;
    return status;
}

/* False: its caller has left, and taken the samples along. */
static bool sample_put(struct symbolizer *s, const struct symbol_request *request)
{
    buf_clear(&s->ask);
    symbol_begin(&s->ask);
    pthread_mutex_lock(&s->mutex);
    bool here = !request->left;
    if (here) {
        const struct symbolizer_sample *sample = &request->samples[request->next];
        struct symbol_unwind unwind = {.process = s->walked.number,
                                       .most = request->most_frames,
                                       .address = sample->address,
                                       .stack = sample->stack,
                                       .stack_bytes = sample->stack_bytes};
        if (unwind.stack_bytes > SYMBOL_STACK_BYTES)
            unwind.stack_bytes = SYMBOL_STACK_BYTES;
        memcpy(unwind.registers, sample->registers, sizeof unwind.registers);
        symbol_unwind_put(&s->ask, &unwind);
    }
    pthread_mutex_unlock(&s->mutex);
    symbol_end(&s->ask, SYMBOL_UNWIND);
    return here;
}

static int walk_take(struct symbolizer *s, struct symbol_request *request, struct cursor *answer)
{
    struct request_walk walk = {.end = cursor_u8(answer)};
    walk.count = symbol_count_get(answer, SYMBOL_FRAMES_MAX, 8);
    if (answer->status != SKEIN_OK || walk.count == 0 || walk.count > request->most_frames ||
        (walk.end & ~PARTITION_STACK_EXACT) > PARTITION_STACK_BROKEN)
        return SKEIN_CORRUPT;
    walk.pcs = malloc(walk.count * sizeof *walk.pcs);
    for (uint32_t i = 0; walk.pcs != NULL && i < walk.count; i++)
        walk.pcs[i] = cursor_u64(answer);
    pthread_mutex_lock(&s->mutex);
    request->walks[request->next] = walk;
    s->counters.walked += walk.pcs != NULL;
    pthread_mutex_unlock(&s->mutex);
    return walk.pcs != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

/* Maps the process, and walks; maps it again when a child that had it was renewed, or another
 * request had another process mapped. */
static int walk_step(struct symbolizer *s, struct symbol_request *request)
{
    struct cursor answer;
    if (is_bad(s, request))
        return SKEIN_REFUSED;
    if (!request->mapped || s->child.process.pid == 0 || request->life != s->child.life ||
        request->walked != s->walked.number) {
        int status = walk_map(s, request);
        if (status == SKEIN_CLOSED || status == SKEIN_TIMEOUT)
            bad_add(s, request);
        return status;
    }
    if (!sample_put(s, request))
        return SKEIN_TIMEOUT;
    int status = symbol_child_ask(&s->child, &s->ask, NULL, 0, &s->reply, &answer);
    if (status == SKEIN_CLOSED || status == SKEIN_TIMEOUT)
        bad_add(s, request);
    if (status == SKEIN_OK)
        status = walk_take(s, request, &answer);
    request->next++;
    return status;
}

static bool walks_are_done(struct symbolizer *s, struct symbol_request *request)
{
    int status = request->next < request->sample_count ? walk_step(s, request) : SKEIN_OK;
    if (status == SKEIN_OK && request->next < request->sample_count)
        return false;
    request_end(s, request, status);
    return true;
}

/* ---- the others ---- */

static bool maps_are_done(struct symbolizer *s, struct symbol_request *request)
{
    struct symbol_place *place = &request->place;
    int status = SKEIN_OK;
    (void)symbol_request_place(request);
    if (!place->has_maps)
        status = process_maps_read(request->pid, &place->maps);
    place->has_maps = status == SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < place->maps.count; i++)
        if (place->maps.items[i].inode != 0)
            (void)symbol_row_build_id(s, request, &place->maps.items[i].mapping);
    pthread_mutex_lock(&s->mutex);
    request->status = status;
    if (status == SKEIN_OK && !request->left) {
        request->maps = place->maps;
        place->maps = (struct process_maps){0};
        place->has_maps = false;
    }
    pthread_mutex_unlock(&s->mutex);
    return true;
}

const struct symbol_place *symbol_request_place(struct symbol_request *request)
{
    if (!request->opened)
        symbol_place_open(request->pid, request->start_clock_ticks, &request->place);
    request->opened = true;
    return &request->place;
}

bool symbol_request_step(struct symbolizer *s, struct symbol_request *request)
{
    bool done = false;
    switch (request->kind) {
    case REQUEST_NAMES:
        done = names_are_done(s, request);
        break;
    case REQUEST_UNWIND:
        done = walks_are_done(s, request);
        break;
    case REQUEST_MAPS:
        done = maps_are_done(s, request);
        break;
    case REQUEST_KINDS:
        break;
    }
    symbol_child_renew(s);
    if (done)
        symbol_place_close(&request->place);
    return done;
}
