/* SPDX-License-Identifier: Apache-2.0
 *
 * See import_go.h: the file, generation by generation.
 */
#include "import_go.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import_go_int.h"
#include "import_id.h"

#define FILE_HEAD_BYTES  16
#define BATCH_HEAD_BYTES 64          /* more than one takes */
#define BATCH_BYTES_MAX  (16u << 20) /* the runtime's are of 64 KiB */
#define FIRST_V2         22
#define LAST_V2          26
#define MARKER_FROM      26 /* generations have an end */

/* "go 1.22 trace", and zeros. */
static int head_read(struct go_import *i)
{
    uint8_t head[FILE_HEAD_BYTES + 1] = {0};
    unsigned version = 0;
    int end = 0;
    if (i->source->bytes < FILE_HEAD_BYTES) {
        import_why(i->told, "it is shorter than the head of a trace of Go");
        return SKEIN_UNSUPPORTED;
    }
    int status = i->source->read(i->source->context, 0, head, FILE_HEAD_BYTES);
    if (status != SKEIN_OK)
        return status;
    if (memcmp(head, "go 1.", 5) != 0 || head[5] < '0' || head[5] > '9') {
        import_why(i->told, "it does not begin as a trace of Go's runtime does (go 1.N trace)");
        return SKEIN_UNSUPPORTED;
    }
    for (end = 5; head[end] >= '0' && head[end] <= '9' && end < 8; end++)
        version = version * 10 + (unsigned)(head[end] - '0');
    if (memcmp(head + end, " trace\0\0\0", (size_t)(FILE_HEAD_BYTES - end)) != 0) {
        import_why(i->told, "it does not begin as a trace of Go's runtime does (go 1.N trace)");
        return SKEIN_UNSUPPORTED;
    }
    if (version < FIRST_V2 || version > LAST_V2) {
        import_why(i->told, "it is of Go 1.%u; read are those of Go 1.%u to 1.%u%s", version,
                   FIRST_V2, LAST_V2,
                   version < FIRST_V2 ? ": build the program with one of these" : "");
        return SKEIN_VERSION;
    }
    i->go->version = version;
    i->at = FILE_HEAD_BYTES;
    return SKEIN_OK;
}

/* ---- one batch ---- */

/* What lies at i->at; *kind 0: the end of the file. SKEIN_TRUNCATED: the file ends in it. */
struct batch_head {
    unsigned kind;
    uint64_t generation, m, time, size;
    size_t bytes; /* of the head */
};

static int batch_head_read(struct go_import *i, struct batch_head *head)
{
    uint8_t bytes[BATCH_HEAD_BYTES];
    struct cursor c;
    uint64_t left = i->source->bytes - i->at;
    size_t n = left < sizeof bytes ? (size_t)left : sizeof bytes;
    *head = (struct batch_head){.kind = 0};
    if (n == 0)
        return SKEIN_OK;
    int status = i->source->read(i->source->context, i->at, bytes, n);
    if (status != SKEIN_OK)
        return status;
    cursor_init(&c, bytes, n);
    head->kind = cursor_u8(&c);
    if (head->kind == GO_EXPERIMENTAL)
        (void)cursor_uleb(&c); /* which experiment */
    if (head->kind != GO_END_OF_GENERATION) {
        head->generation = cursor_uleb(&c);
        head->m = cursor_uleb(&c);
        head->time = cursor_uleb(&c);
        head->size = cursor_uleb(&c);
    }
    head->bytes = n - cursor_left(&c);
    if (c.status != SKEIN_OK)
        return c.status;
    bool known = head->kind == GO_BATCH || head->kind == GO_EXPERIMENTAL ||
                 (head->kind == GO_END_OF_GENERATION && i->go->version >= MARKER_FROM);
    if (!known || head->size > BATCH_BYTES_MAX ||
        (head->kind != GO_END_OF_GENERATION && head->generation == 0))
        return SKEIN_CORRUPT;
    return head->size > left - head->bytes ? SKEIN_TRUNCATED : SKEIN_OK;
}

static int batch_read(struct go_import *i, const struct batch_head *head)
{
    struct go_generation *g = &i->gen;
    uint64_t at = i->at + head->bytes;
    i->at = at + head->size;
    if (head->kind == GO_EXPERIMENTAL) {
        i->told->not_read++;
        return SKEIN_OK;
    }
    if (head->size > GO_GENERATION_BYTES_MAX - g->bytes.len) {
        import_why(i->told, "generation %" PRIu64 " is larger than 1 GiB", g->number);
        return SKEIN_CORRUPT;
    }
    const struct go_batch batch = {
        .m = head->m, .time = head->time, .at = g->bytes.len, .n = (size_t)head->size};
    uint8_t *room = buf_reserve(&g->bytes, batch.n);
    if (room == NULL)
        return SKEIN_NO_MEMORY;
    int status = i->source->read(i->source->context, at, room, batch.n);
    if (status != SKEIN_OK)
        return status;
    g->bytes.len += batch.n;
    return go_batch_take(g, &batch, i->told);
}

/* ---- one generation ---- */

/* What is left of the file, from there on, belongs to no generation that is given. */
static void tail_leave(struct go_import *i, uint64_t from, const char *what)
{
    i->told->cut_bytes = i->source->bytes - from;
    import_why(i->told,
               "%s at byte %" PRIu64 "; the %" PRIu64 " bytes from byte %" PRIu64
               " on are left out",
               what, i->at, i->told->cut_bytes, from);
    i->tail_left = true;
    i->at = i->source->bytes;
}

/* What no batch begins with. */
static const char *junk_name(const struct go_import *i)
{
    char head[5];
    bool second = i->source->bytes - i->at >= FILE_HEAD_BYTES &&
                  i->source->read(i->source->context, i->at, head, sizeof head) == SKEIN_OK &&
                  memcmp(head, "go 1.", sizeof head) == 0;
    return second ? "another trace of Go begins" : "there is no batch";
}

/* The file goes on with what is no whole batch. Before Go 1.26 a generation has no end of its own: the
 * one that is read is given with the batches that are there, as Go's reader does it. *whole: it is. */
static void junk_leave(struct go_import *i, const struct batch_head *head, uint64_t from, bool cut,
                       bool *whole)
{
    const struct go_generation *g = &i->gen;
    bool ended = i->go->version >= MARKER_FROM;
    *whole = !ended && g->number != 0 && g->frequency != 0;
    if (*whole && cut && head->generation == g->number)
        import_why(i->told,
                   "it ends in generation %" PRIu64 ", of which names and stacks may be "
                   "missing; its last %" PRIu64 " bytes are left out",
                   g->number, i->source->bytes - i->at);
    tail_leave(i, *whole ? i->at : from, cut ? "it ends" : junk_name(i));
}

/* Batches up to the next generation. *whole: there is one in i->gen. A generation that is broken
 * inside is read to its end, so that the next one can be found; *broken says so. */
static int generation_read(struct go_import *i, bool *whole, bool *broken)
{
    struct go_generation *g = &i->gen;
    struct batch_head head;
    uint64_t from = i->at;
    bool marker = i->go->version >= MARKER_FROM;
    go_generation_clear(g);
    *whole = *broken = false;
    for (;;) {
        int status = batch_head_read(i, &head);
        if (status == SKEIN_TRUNCATED || status == SKEIN_CORRUPT) {
            junk_leave(i, &head, from, status == SKEIN_TRUNCATED, whole);
            return SKEIN_OK;
        }
        if (status != SKEIN_OK)
            return status;
        if (head.kind == 0 && marker && i->at > from) {
            tail_leave(i, from, "it ends without the end of a generation");
            return SKEIN_OK;
        }
        bool other = head.kind == GO_BATCH && g->number != 0 && head.generation != g->number;
        if (head.kind == 0 || other || head.kind == GO_END_OF_GENERATION) {
            i->at += head.kind == GO_END_OF_GENERATION ? head.bytes : 0;
            *whole = g->number != 0;
            return SKEIN_OK;
        }
        if (g->number == 0)
            g->number = head.generation;
        status = batch_read(i, &head);
        if (status == SKEIN_CORRUPT)
            *broken = true;
        else if (status != SKEIN_OK)
            return status;
        if (i->to->progress != NULL)
            i->to->progress(i->to->context, i->at, i->source->bytes);
    }
}

/* Go's own clock says nothing of the time of day before Go 1.25; then the end of the file was when it
 * was written. */
static int times_guess(struct go_import *i)
{
    struct batch_head head;
    uint64_t last = 0, kept = i->at, ns;
    i->at = FILE_HEAD_BYTES;
    while (batch_head_read(i, &head) == SKEIN_OK && head.kind != 0) {
        last = head.kind != GO_END_OF_GENERATION && head.time > last ? head.time : last;
        i->at += head.bytes + head.size;
    }
    i->at = kept;
    ns = go_ns(&i->gen, last);
    i->told->time_guessed = true;
    import_out_ahead(i->out, i->to->changed_ns > 0 ? (int64_t)(i->to->changed_ns - ns) : 0);
    return SKEIN_OK;
}

static int clock_set(struct go_import *i)
{
    const struct go_generation *g = &i->gen;
    if (i->first_generation != 0 || i->any)
        return SKEIN_OK; /* one line of time for all of it */
    if (!g->has_wall)
        return times_guess(i);
    uint64_t ns = g->wall_s * 1000000000u + g->wall_ns;
    import_out_ahead(i->out, (int64_t)(ns - go_ns(g, g->wall_at)));
    return SKEIN_OK;
}

/* From here on nothing is known of anybody. */
static int states_reset(struct go_import *i)
{
    int status = go_all_end(i);
    go_states_forget(i);
    i->first_generation = 0;
    return status;
}

static int generation_take(struct go_import *i, bool broken)
{
    struct go_generation *g = &i->gen;
    int status = import_out_flush(i->out); /* of the one before: the last keeps what is open */
    if (status == SKEIN_OK)
        status = broken ? SKEIN_CORRUPT : go_generation_close(g, i->told);
    if (status == SKEIN_OK) {
        status = clock_set(i);
        i->first_generation = i->first_generation == 0 ? g->number : i->first_generation;
        if (status == SKEIN_OK)
            status = go_generation_order(i);
        i->go->generations++;
    } else if (status == SKEIN_CORRUPT) {
        import_loss(i->out, PARTITION_LOSS_CORRUPT, 0, i->last_ns, i->last_ns);
        i->told->left_out++;
    }
    return status == SKEIN_CORRUPT ? states_reset(i) : status;
}

static int file_walk(struct go_import *i)
{
    int status = SKEIN_OK;
    while (status == SKEIN_OK && i->at < i->source->bytes) {
        bool whole, broken;
        status = generation_read(i, &whole, &broken);
        if (status == SKEIN_OK && whole)
            status = generation_take(i, broken);
    }
    if (status == SKEIN_OK)
        status = go_all_end(i);
    if (status == SKEIN_OK && i->tail_left) /* behind all that is given */
        import_loss(i->out, PARTITION_LOSS_CORRUPT, 0, i->last_ns, i->last_ns);
    if (status == SKEIN_OK)
        status = import_out_flush(i->out);
    return status == SKEIN_OK ? i->status : status;
}

/* ---- the whole ---- */

static void import_fini(struct go_import *i)
{
    go_states_forget(i);
    go_generation_fini(&i->gen);
    import_out_free(&i->out);
    import_map_fini(&i->g_places);
    import_map_fini(&i->m_places);
    import_map_fini(&i->p_places);
    import_map_fini(&i->task_places);
    import_map_fini(&i->waits);
    free(i->goroutines);
    free(i->ms);
    free(i->ps);
    free(i->tasks);
    free(i->cursors);
}

int import_go(const struct skein_trace_source *source, const struct import_to *to,
              struct import_told *told, struct go_told *go)
{
    struct go_import i = {.source = source, .to = to, .told = told, .go = go};
    *told = (struct import_told){.partitions = 0};
    *go = (struct go_told){.version = 0};
    int status = head_read(&i);
    struct import_process process = {
        .pid = to->pid, .host = to->host, .service = to->service[0] != '\0' ? to->service : "go"};
    if (status == SKEIN_OK)
        status = import_seed(to, source, 1, &process.seed);
    if (status == SKEIN_OK)
        status = import_out_new(to, &process, told, &i.out);
    if (status == SKEIN_OK)
        status = go_types_make(&i);
    if (status == SKEIN_OK)
        status = file_walk(&i);
    if (status == SKEIN_OK && told->events == 0) {
        import_why(told, "it holds no event");
        status = SKEIN_NOT_FOUND;
    }
    import_fini(&i);
    return status;
}
