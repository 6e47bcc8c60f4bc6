/* SPDX-License-Identifier: Apache-2.0
 *
 * One cut: switch the generation, look at slots and chunks, copy, decode the copy into a partition,
 * tell what is missing. Entered by worker threads, one at a time for a process. Owns everything it
 * works on but the ring, which it touches through ring_reader alone and never waits for.
 *
 * Order matters. The clock is read and slots are copied right after the switch, so that an
 * operation shown in progress has its record in the next generation. Table halves are copied before
 * the chunks, because a half may be recycled when the last chunk that refers to it goes. They are
 * copied again after the chunks, for ids that were published while we copied.
 */
#include "cutter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "cut_int.h"
#include "symbol_partition.h"

/* ---- beginning and end ---- */

static void clocks_set(struct cut_work *work, struct host_page_owner *host,
                       const struct clock_snapshot *before)
{
    host_page_line(host, &work->begin, &work->end);
    bool went_back = before->ticks > work->end.ticks;
    work->before_ticks = went_back ? work->end.ticks : before->ticks;
    work->before_ns = went_back ? work->end.realtime_ns : before->realtime_ns;
    const struct cut_request *request = work->request;
    work->from_ticks = clock_snapshot_ticks(&work->begin, &work->end, request->from_ns);
    work->to_ticks = clock_snapshot_ticks(&work->begin, &work->end, request->to_ns);
    /* What a process wrote last counts most: a difference between clocks must not leave it out. */
    if (process_state(work->process) != PROCESS_LIVE && request->to_ns >= work->process->gone_ns &&
        work->to_ticks < work->end.ticks)
        work->to_ticks = work->end.ticks;
    const struct process *p = work->process;
    uint64_t first_ns = p->recorded_ns > p->start_ns ? p->recorded_ns : p->start_ns;
    work->start_ticks = clock_snapshot_ticks(&work->begin, &work->end, first_ns);
}

/* A chunk is copied whole, and an idle thread's may hold records of long ago: what ends before
 * keep_ticks is left out. A later cut by the same marks begins where the one before ended, but it
 * keeps the first keep_ticks, because a record of that window may be committed late.
 *
 *   first cut    keep, from |=========| to
 *   second cut   keep |           from |========| to
 */
static void set_keep(struct cut_work *work)
{
    const struct cut_request *request = work->request;
    struct cut_marks *marks = work->marks;
    work->keep_ticks = request->from_ns == 0 ? 0 : work->from_ticks;
    if (marks == NULL)
        return;
    if (!marks->windowed)
        marks->window_ticks = work->keep_ticks;
    marks->windowed = true;
    work->keep_ticks = marks->window_ticks;
    if (request->look || marks->covered_ticks == 0)
        return;
    work->from_ticks = marks->covered_ticks;
    if (work->to_ticks < marks->covered_ticks)
        work->to_ticks = marks->covered_ticks;
}

static int work_init(struct cut_work *work, struct host_page_owner *host,
                     const struct cut_request *request, struct cut_result *result)
{
    struct process *p = request->process;
    *work = (struct cut_work){
        .request = request, .process = p, .marks = request->marks, .result = result};
    ring_copy_init(&work->copy, p->ring, &p->geometry, p->ring_fd);
    int status = work->marks != NULL ? cut_marks_fit(work->marks, p) : SKEIN_OK;
    struct clock_snapshot before;
    host_page_snapshot(host, &before);
    work->generation = request->look ? host_page_generation(host) : host_page_switch(host);
    clocks_set(work, host, &before);
    set_keep(work);
    return status;
}

static void work_fini(struct cut_work *work)
{
    for (size_t i = 0; i < work->decoder.name_count; i++)
        ring_names_fini(&work->names[i]);
    cut_helper_end(&work->helper);
    partition_writer_free(&work->writer);
    ring_copy_fini(&work->copy);
    free(work->pieces);
    free(work->order);
}

void cut_result_fini(struct cut_result *result)
{
    buf_fini(&result->bytes);
    free(result->gaps);
    *result = (struct cut_result){0};
}

/* ---- copying ---- */

static int names_load(struct cut_work *work)
{
    struct ring_decoder *decoder = &work->decoder;
    int status = SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < work->copy.table_count; i++) {
        status = ring_names_init(&work->names[i], &work->copy.tables[i]);
        decoder->name_count += status == SKEIN_OK;
    }
    decoder->names = work->names;
    return status;
}

static int ring_take(struct cut_work *work)
{
    int status = ring_slots_copy(&work->copy);
    if (status == SKEIN_OK)
        status = ring_survey(&work->copy);
    if (status == SKEIN_OK)
        status = ring_tables_copy(&work->copy);
    if (status == SKEIN_OK)
        status = cut_arrange(work);
    if (status == SKEIN_OK) {
        cut_choose(work);
        status = cut_copy(work);
    }
    if (status == SKEIN_OK)
        status = ring_tables_copy(&work->copy);
    return status == SKEIN_OK ? names_load(work) : status;
}

/* ---- the writer ---- */

static void edges_set(struct cut_work *work)
{
    const struct cut_request *request = work->request;
    work->counts.count = request->edge_count;
    for (size_t i = 0; i < request->edge_count; i++)
        work->counts.edges[i] =
            clock_snapshot_ticks(&work->begin, &work->end, request->edges_ns[i]);
    partition_writer_count(work->writer, &work->counts);
}

static int writer_open(struct cut_work *work, struct host_page_owner *host)
{
    const struct cut_request *request = work->request;
    struct process *p = work->process;
    struct partition_info info = {
        .key = {p->uid, request->epoch, __atomic_load_n(&p->next_sequence, __ATOMIC_RELAXED)},
        .generation = work->generation,
        .pid = p->pid,
        .process_start_ns = p->start_ns,
        .clock = host_page_clock(host),
        .shift = host_page_shift(host),
        .mode = p->geometry.mode,
        .begin = work->begin,
        .end = work->end,
        .clock_offset_ns = request->clock_offset_ns,
        .window_from_ticks = work->from_ticks,
        .window_to_ticks = work->to_ticks,
        .host = request->host != NULL ? request->host : "",
        .service = p->service,
        .labels = p->labels,
        .exe = p->exe};
    if (process_state(p) != PROCESS_LIVE) {
        info.death.signal = p->death.signal;
        info.death.status = p->death.status;
        info.death.known = p->death.known;
    }
    work->result->key = info.key;
    int status = partition_writer_new(&info, &work->writer);
    struct clock_snapshot now;
    host_page_snapshot(host, &now);
    if (status == SKEIN_OK)
        edges_set(work);
    work->decoder.sink.writer = work->writer;
    work->decoder.sink.exe = p->exe;
    work->decoder.newest_generation = work->generation;
    work->decoder.late_generation = work->marks != NULL ? work->marks->generation : 0;
    /* Cores' counters may differ a little; a second is far beyond that. */
    work->decoder.ticks_max =
        clock_snapshot_ticks(&work->begin, &work->end, now.realtime_ns + 1000000000u);
    return status;
}

/* A name of at most 32 bytes that a hostile writer chose. */
static void name_clean(char *to, const char *from, size_t bytes, const char *suffix)
{
    size_t n = strnlen(from, bytes);
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)from[i] < 0x20 || from[i] == 0x7f ? '?' : from[i];
    strcpy(to + n, suffix);
}

/* The name that the slot holds now, else that of the newest chunk. A cut uses one name a stream. */
static const char *stream_name(const struct cut_work *work, const struct stream_key *key)
{
    if (key->slot < work->process->geometry.slots &&
        work->copy.slots[key->slot].incarnation == key->incarnation &&
        work->copy.slots[key->slot].name[0] != '\0')
        return work->copy.slots[key->slot].name;
    size_t end; /* of the stream's pieces */
    array_find(end, 0, work->piece_count, stream_compare(&work->pieces[end].key, key) <= 0);
    return end > 0 && stream_compare(&work->pieces[end - 1].key, key) == 0
               ? work->pieces[end - 1].ring->head.name
               : "";
}

int64_t cut_thread(struct cut_work *work, const struct stream_key *key)
{
    char name[64];
    name_clean(name, stream_name(work, key), 32, key->signal ? " (signal)" : "");
    const struct partition_thread thread = {
        .tid = key->tid,
        .name = name,
        .incarnation = (uint64_t)key->signal << 62 | (uint64_t)(key->slot & 0x3fffffff) << 32 |
                       key->incarnation};
    int64_t index = partition_writer_thread(work->writer, &thread);
    if (index >= (int64_t)work->thread_count)
        work->thread_count = (size_t)index + 1;
    return index;
}

static int64_t thread_of(void *context, const void *stream)
{
    return cut_thread(context, stream);
}

/* ---- decoding ---- */

static struct ring_rows piece_rows(const struct cut_work *work, const struct cut_piece *piece)
{
    const struct ring_piece *ring = piece->ring;
    return (struct ring_rows){.bytes = ring->copy,
                              .n = ring->committed,
                              .skip = piece->skip,
                              .stream = &piece->key,
                              .base_ticks = ring->head.base_ticks,
                              .generation = ring->head.generation,
                              .sequence = ring->head.sequence,
                              .from_ticks = work->keep_ticks,
                              .string_epoch = ring->head.string_epoch};
}

/* Whether a thread's last chunk brings nothing. Only its rows tell whether they reach the window,
 * or leave a range open that does. */
static bool brings_nothing(struct cut_work *work, struct cut_piece *piece)
{
    if (!piece->restated && (!piece->last || piece->ring->head.base_ticks >= work->keep_ticks))
        return false;
    struct ring_rows rows = piece_rows(work, piece);
    rows.skip = rows.n; /* writes nothing */
    bool sound = ring_decode(&work->decoder, &rows) == RING_DECODE_END;
    if (rows.open > 0 || (!piece->restated && (!sound || rows.last_ticks >= work->keep_ticks)))
        return false;
    piece->taken = (uint32_t)rows.n;
    piece->last_ticks = rows.last_ticks;
    return true;
}

static void rows_losses(struct cut_work *work, const struct cut_piece *piece,
                        const struct ring_rows *rows, enum ring_decode stop)
{
    if (rows->lost > 0)
        cut_loss_note(work, piece, rows->lost, rows->lost_from, rows->lost_to);
    if (rows->unnamed > 0)
        cut_loss_piece(work, piece, PARTITION_LOSS_NAME, rows->unnamed, rows->first_ticks,
                       rows->last_ticks);
    if (rows->unplaced > 0)
        cut_loss_piece(work, piece, PARTITION_LOSS_SIZE, rows->unplaced, rows->base_ticks,
                       rows->last_ticks);
    /* An earlier cut stopped at the same bytes and told of them: all behind is spoiled too. */
    bool again = rows->taken < rows->skip;
    if (again && rows->n <= rows->skip)
        return;
    uint64_t from = again ? work->from_ticks : rows->last_ticks;
    if (stop == RING_DECODE_NAMELESS)
        cut_loss_piece(work, piece, PARTITION_LOSS_NAME, 0, from, piece->end_ticks);
    if (stop == RING_DECODE_CORRUPT)
        cut_loss_piece(work, piece, PARTITION_LOSS_CORRUPT, 0, from, piece->end_ticks);
}

/* Decodes one chunk. *next_sequence: the number of the chunk that would continue its stream's last
 * batch; 0: none would. */
static void piece_decode(struct cut_work *work, struct cut_piece *piece, uint64_t *next_sequence)
{
    struct ring_rows rows = piece_rows(work, piece);
    rows.restate_bare = piece->last && (piece->skip == 0 || piece->restated);
    rows.restate = *next_sequence == 0 || rows.sequence != *next_sequence;
    enum ring_decode stop = ring_decode(&work->decoder, &rows);
    bool spoiled = stop == RING_DECODE_CORRUPT || stop == RING_DECODE_NAMELESS;
    piece->fate = CUT_TAKEN;
    piece->taken = (uint32_t)(spoiled ? rows.n : rows.taken);
    piece->last_ticks = rows.last_ticks;
    piece->exhausted = spoiled || (stop == RING_DECODE_END && piece->ring->full);
    work->events += rows.events;
    work->opens += rows.open;
    *next_sequence = stop == RING_DECODE_END && rows.events > 0 ? rows.sequence + 1 : 0;
    rows_losses(work, piece, &rows, stop);
}

static void pieces_decode(struct cut_work *work)
{
    uint64_t next_sequence = 0;
    const struct stream_key *stream = NULL;
    work->decoder.thread_of = thread_of;
    work->decoder.context = work;
    for (size_t i = 0; i < work->piece_count; i++) {
        struct cut_piece *piece = &work->pieces[i];
        if (stream == NULL || stream_compare(stream, &piece->key) != 0)
            next_sequence = 0;
        stream = &piece->key;
        if (piece->fate != CUT_COPIED)
            continue;
        if (brings_nothing(work, piece))
            piece->fate = CUT_LEFT;
        else
            piece_decode(work, piece, &next_sequence);
    }
}

/* ---- operations in progress ---- */

static uint32_t operation_type(struct cut_work *work, const struct ring_slot_copy *slot,
                               uint32_t thread)
{
    const struct ring_type *type = ring_names_type(
        ring_decoder_names(&work->decoder, slot->op_epoch), &work->decoder.sink, slot->op_type);
    if (type != NULL)
        return type->index;
    cut_loss_add(work, thread, PARTITION_LOSS_NAME, 1, work->end.ticks, work->end.ticks);
    return ring_type_unnamed(&work->decoder.sink, slot->op_type);
}

static void operations_add(struct cut_work *work)
{
    for (uint32_t i = 0; i < work->process->geometry.slots; i++) {
        const struct ring_slot_copy *slot = &work->copy.slots[i];
        if (slot->op_start == 0 || slot->op_start > work->end.ticks || slot->state != 1 ||
            slot->op_start > work->to_ticks)
            continue;
        const struct stream_key key = {i, slot->incarnation, slot->tid, false};
        int64_t thread = cut_thread(work, &key);
        uint32_t type = thread >= 0 ? operation_type(work, slot, (uint32_t)thread) : 0;
        if (thread < 0 || type == RING_TYPE_UNPLACED)
            continue;
        const struct partition_open open = {.thread = (uint32_t)thread,
                                            .type = type,
                                            .since_ticks = slot->op_start,
                                            .detail = slot->op_detail};
        partition_writer_open(work->writer, &open);
        work->opens++;
    }
}

/* ---- the cut ---- */

/* Takes the partition from its writer. Only this tells of a call to it that failed before. */
static int partition_finish(struct cut_work *work)
{
    struct cut_result *result = work->result;
    struct partition_footer footer;
    int status = partition_writer_finish(work->writer, &result->bytes, &footer);
    if (status != SKEIN_OK)
        return status;
    result->from_ns = footer.from_ns;
    result->to_ns = footer.to_ns;
    result->events = footer.events;
    memcpy(result->before, work->counts.before, sizeof result->before);
    partition_footer_free(&footer);
    if (work->events > 0 || work->opens > 0 || work->lost_known_total > 0 || result->more)
        return SKEIN_OK;
    buf_fini(&result->bytes);
    return SKEIN_NOT_FOUND;
}

/* The marks move on only when nothing can fail any more, also where nothing was found. Returns the
 * status of the cut. */
static int partition_account(struct cut_work *work, int status)
{
    int advanced = cut_marks_advance(work);
    if (advanced != SKEIN_OK)
        return advanced;
    if (status == SKEIN_OK && !work->request->look)
        __atomic_fetch_add(&work->process->next_sequence, 1, __ATOMIC_RELAXED);
    cut_marks_cover(work);
    return status;
}

/* Once all stacks are in it: what is not known in time stays raw, and a later cut may know it. */
static int partition_name(struct cut_work *work)
{
    const struct cut_request *request = work->request;
    const struct process *p = work->process;
    if (request->symbolizer == NULL || request->look)
        return SKEIN_OK;
    return symbol_partition_name(request->symbolizer, (pid_t)p->pid, p->start_clock_ticks,
                                 clock_monotonic_ns() + request->names_ns, work->writer);
}

/* What has passed since *from, which becomes now. */
static uint64_t lap(uint64_t *from)
{
    uint64_t before = *from;
    *from = clock_monotonic_ns();
    return *from - before;
}

static int records_pack(struct cut_work *work)
{
    if (!work->request->look)
        cut_helper_start(&work->helper, work->writer, work->chosen_bytes);
    pieces_decode(work);
    if (!work->result->more)
        operations_add(work);
    cut_losses_find(work);
    cut_gaps_merge(work->result);
    return work->status;
}

int partition_cut(struct host_page_owner *host, const struct cut_request *request,
                  struct cut_result *result)
{
    *result = (struct cut_result){0};
    struct cut_work work;
    uint64_t at = clock_monotonic_ns();
    int status = work_init(&work, host, request, result);
    if (status == SKEIN_OK)
        status = ring_take(&work);
    if (status == SKEIN_OK)
        status = writer_open(&work, host);
    result->times.copy_ns = lap(&at);
    if (status == SKEIN_OK)
        status = records_pack(&work);
    result->times.pack_ns = lap(&at);
    if (status == SKEIN_OK)
        status = partition_name(&work);
    result->times.names_ns = lap(&at);
    if (status == SKEIN_OK)
        status = partition_finish(&work);
    if (status == SKEIN_OK || status == SKEIN_NOT_FOUND)
        status = partition_account(&work, status);
    work_fini(&work);
    result->times.end_ns = lap(&at);
    return status;
}
