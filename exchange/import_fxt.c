/* SPDX-License-Identifier: Apache-2.0
 *
 * See import_fxt.h: the file, its providers' tables, and who there is.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "checksum.h"
#include "import_fxt_int.h"

#define TEXTS_MAX     4000000u
#define OWNERS_MAX    4000000u
#define YEAR_2000_NS  UINT64_C(946684800000000000) /* a clock since boot is never so far */
#define SCRATCH_BYTES ((size_t)128 << 10)          /* of all inline texts of a record */

/* ---- words and tables ---- */

uint64_t fxt_word(struct fxt_words *w)
{
    uint64_t word = 0;
    if (w->failed || w->n - w->at < 8) {
        w->failed = true;
        return 0;
    }
    for (unsigned i = 0; i < 8; i++)
        word |= (uint64_t)w->bytes[w->at + i] << 8 * i;
    w->at += 8;
    return word;
}

/* Bytes of a stream, padded to words; NULL. */
static const char *stream_take(struct fxt_words *w, size_t n)
{
    size_t padded = (n + 7) / 8 * 8;
    if (w->failed || padded > w->n - w->at) {
        w->failed = true;
        return NULL;
    }
    const char *bytes = (const char *)w->bytes + w->at;
    w->at += padded;
    return bytes;
}

/* With a NUL, for as long as the record; what is behind a NUL of its own is left out. */
static const char *scratch_put(struct fxt_import *i, const char *bytes, size_t n)
{
    char *at = (char *)i->scratch.data + i->scratch.len;
    if (n + 1 > SCRATCH_BYTES - i->scratch.len)
        return NULL;
    memcpy(at, bytes, n);
    at[n] = '\0';
    i->scratch.len += n + 1;
    return at;
}

const char *fxt_text(struct fxt_import *i, struct fxt_words *w, uint64_t reference)
{
    if ((reference & 0x8000) != 0) {
        size_t n = (size_t)reference & 0x7fff;
        const char *bytes = stream_take(w, n);
        return bytes != NULL ? scratch_put(i, bytes, n) : NULL;
    }
    uint32_t at = i->provider->strings[reference & 0x7fff];
    if (reference != 0 && at == 0) /* it was in what is lost */
        return "(unknown)";
    return at > 0 ? (const char *)intern_table_bytes(&i->texts, at - 1) : "";
}

bool fxt_thread(struct fxt_import *i, struct fxt_words *w, uint64_t reference,
                struct fxt_thread *thread)
{
    if (reference == 0) {
        thread->process = fxt_word(w);
        thread->koid = fxt_word(w);
        return !w->failed;
    }
    *thread = i->provider->threads[reference & 0xff];
    if (!i->provider->has_thread[reference & 0xff])
        i->wrong = "names a thread that no record in front of it has";
    return i->provider->has_thread[reference & 0xff];
}

uint64_t fxt_ns(struct fxt_import *i, uint64_t ticks)
{
    __extension__ typedef unsigned __int128 wide;
    wide ns = (wide)ticks * 1000000000u / i->ticks_per_s;
    uint64_t at = ns < IMPORT_TIME_MAX ? (uint64_t)ns : IMPORT_TIME_MAX;
    if (i->second && ns > IMPORT_TIME_MAX)
        import_clamped(i->told);
    i->last_ns = at > i->last_ns ? at : i->last_ns;
    return at;
}

/* ---- providers ---- */

static struct fxt_provider *provider_find(struct fxt_import *i, uint32_t id)
{
    for (size_t k = 0; k < i->provider_count; k++)
        if (i->providers[k].id == id)
            return &i->providers[k];
    return NULL;
}

/* Texts and threads that came in front of the first provider are its own. */
static void provider_set(struct fxt_import *i, uint32_t id, const char *name)
{
    struct fxt_provider *known = provider_find(i, id);
    if (known == NULL && i->provider_count == 1 && i->providers[0].unnamed) {
        known = &i->providers[0];
        known->id = id;
    }
    if (known != NULL) {
        i->provider = known;
        known->ours |= strcmp(name, "skein") == 0;
        i->fxt->providers += i->second && known->unnamed;
        known->unnamed = false;
        return;
    }
    if (i->provider_count == FXT_PROVIDERS_MAX) {
        import_why(i->told, "there are more than %u providers; they share their tables",
                   FXT_PROVIDERS_MAX);
        return;
    }
    uint32_t *strings = calloc(FXT_STRINGS_MAX + 1, sizeof *strings);
    if (strings == NULL) {
        i->status = SKEIN_NO_MEMORY;
        return;
    }
    i->provider = &i->providers[i->provider_count++];
    *i->provider =
        (struct fxt_provider){.id = id, .ours = strcmp(name, "skein") == 0, .strings = strings};
    i->fxt->providers += i->second;
}

/* A provider's buffer was full: somewhere among its events, since the last time that it said so. */
static void dropped(struct fxt_import *i, struct fxt_provider *p)
{
    if (p == NULL)
        p = i->provider;
    i->fxt->dropped += i->second;
    if (!i->second || p->ours) /* ours says more in an instant */
        return;
    const struct import_entry loss = {.what = IMPORT_LOSS,
                                      .process = fxt_process(i, p->last.process, false),
                                      .thread = p->last.koid,
                                      .time_ns = p->any ? p->last_ns : i->last_ns,
                                      .dur_ns = p->any ? p->last_ns - p->loss_ns : 0,
                                      .name = "",
                                      .reason = PARTITION_LOSS_RING_FULL};
    p->loss_ns = p->last_ns;
    i->status = import_many_add(i->many, &loss);
}

static bool metadata(struct fxt_import *i, struct fxt_words *w, uint64_t head)
{
    uint32_t id = (uint32_t)fxt_bits(head, 20, 51);
    size_t n = (size_t)fxt_bits(head, 52, 59);
    switch (fxt_bits(head, 16, 19)) {
    case FXT_PROVIDER_INFO: {
        const char *bytes = stream_take(w, n), *name;
        name = bytes != NULL ? scratch_put(i, bytes, n) : NULL;
        if (name != NULL)
            provider_set(i, id, name);
        return name != NULL;
    }
    case FXT_PROVIDER_SECTION:
        provider_set(i, id, "");
        return true;
    case FXT_PROVIDER_EVENT:
        if (fxt_bits(head, 52, 55) == 0)
            dropped(i, provider_find(i, id));
        else
            i->told->not_read += i->second;
        return true;
    default: /* the magic number, and kinds from the future */
        i->told->not_read += i->second && fxt_bits(head, 16, 19) != FXT_TRACE_INFO;
        return true;
    }
}

static bool string(struct fxt_import *i, struct fxt_words *w, uint64_t head)
{
    bool fresh;
    size_t n = (size_t)fxt_bits(head, 32, 46);
    const char *bytes = stream_take(w, n), *text;
    uint64_t at = fxt_bits(head, 16, 30);
    text = bytes != NULL ? scratch_put(i, bytes, n) : NULL;
    if (text == NULL || at == 0)
        return text != NULL; /* index 0 is skipped, as the format says */
    if (i->texts.count >= TEXTS_MAX) {
        import_why(i->told, "there are more than %u texts", TEXTS_MAX);
        return false;
    }
    int64_t put = intern_table_put(&i->texts, text, strlen(text) + 1, &fresh);
    if (put < 0)
        i->status = SKEIN_NO_MEMORY;
    else
        i->provider->strings[at] = (uint32_t)put + 1;
    return true;
}

static bool thread(struct fxt_import *i, struct fxt_words *w, uint64_t head)
{
    size_t at = (size_t)fxt_bits(head, 16, 23);
    struct fxt_thread one = {.process = fxt_word(w)};
    one.koid = fxt_word(w);
    if (!w->failed && at > 0) {
        i->provider->threads[at] = one;
        i->provider->has_thread[at] = true;
    }
    return !w->failed;
}

/* ---- processes and threads ---- */

uint64_t fxt_process(struct fxt_import *i, uint64_t koid, bool event)
{
    uint32_t at = import_map_get(&i->life_at, koid);
    if (at == IMPORT_MAP_NONE)
        return koid;
    i->lives[at].any |= event;
    const uint64_t key[2] = {koid, i->lives[at].number};
    return key[1] == 0 ? koid : checksum64(key, sizeof key);
}

/* A process says its name. Where it had events under another one, a new life begins with it: it has run
 * another program since, or another process has its koid. */
static void life_note(struct fxt_import *i, uint64_t koid, const char *name)
{
    bool fresh;
    uint32_t at = import_map_get(&i->life_at, koid);
    if (name[0] == '\0' || i->texts.count >= TEXTS_MAX ||
        (at == IMPORT_MAP_NONE && i->life_count >= OWNERS_MAX))
        return;
    int64_t text = intern_table_put(&i->texts, name, strlen(name) + 1, &fresh);
    bool room = text >= 0 && array_grow(i->lives, i->life_count + 1, &i->life_cap);
    if (room && at == IMPORT_MAP_NONE)
        room = import_map_set(&i->life_at, koid, (uint32_t)i->life_count);
    if (!room) {
        i->status = SKEIN_NO_MEMORY;
        return;
    }
    if (at == IMPORT_MAP_NONE) {
        at = (uint32_t)i->life_count++;
        i->lives[at] = (struct fxt_life){.number = 0};
    }
    struct fxt_life *life = &i->lives[at];
    bool other = life->any && life->name != 0 && life->name != (uint32_t)text + 1;
    *life = (struct fxt_life){
        .number = life->number + other, .name = (uint32_t)text + 1, .any = life->any && !other};
}

/* "shop (host-a)", as our own export calls a process, taken apart. */
static void process_name(struct fxt_import *i, uint64_t koid, const char *name)
{
    char service[FXT_TEXT_MAX + 1], host[FXT_TEXT_MAX + 1] = "";
    size_t n = strnlen(name, FXT_TEXT_MAX);
    memcpy(service, name, n);
    service[n] = '\0';
    char *open = n > 3 && name[n - 1] == ')' ? strrchr(service, '(') : NULL;
    if (i->provider->ours && open != NULL && open - service > 1 && open[-1] == ' ') {
        service[n - 1] = '\0';
        memcpy(host, open + 1, strlen(open + 1) + 1);
        open[-1] = '\0';
    }
    import_many_process(i->many, fxt_process(i, koid, false), (uint32_t)koid, service, host);
}

static void thread_put(struct fxt_import *i, uint64_t process, uint64_t koid, const char *name)
{
    import_many_thread(i->many, process, koid, (uint32_t)koid, koid > UINT32_MAX ? koid >> 32 : 0,
                       name);
}

uint64_t fxt_process_of(struct fxt_import *i, const struct fxt_thread *thread, bool event)
{
    uint64_t process = fxt_process(i, thread->process, event);
    if (!i->second || import_many_is_named(i->many, process, thread->koid))
        return process;
    uint32_t at = import_map_get(&i->process_of, thread->koid);
    bool known = at != IMPORT_MAP_NONE && i->owners[at].process == thread->process;
    uint32_t name = known ? i->owners[at].name : 0; /* of its process's life before */
    thread_put(i, process, thread->koid,
               name > 0 ? (const char *)intern_table_bytes(&i->texts, name - 1) : "");
    return process;
}

static uint32_t name_put(struct fxt_import *i, const char *name)
{
    bool fresh;
    if (name[0] == '\0' || i->texts.count >= TEXTS_MAX)
        return 0;
    int64_t at = intern_table_put(&i->texts, name, strlen(name) + 1, &fresh);
    if (at < 0)
        i->status = SKEIN_NO_MEMORY;
    return at < 0 ? 0 : (uint32_t)at + 1;
}

static void owner_note(struct fxt_import *i, uint64_t koid, uint64_t process, const char *name)
{
    uint32_t at = import_map_get(&i->process_of, koid);
    const struct fxt_owner owner = {.process = process, .name = name_put(i, name)};
    if (at != IMPORT_MAP_NONE) {
        i->owners[at] = owner;
        return;
    }
    if (i->owner_count >= OWNERS_MAX)
        return;
    if (!array_grow(i->owners, i->owner_count + 1, &i->owner_cap) ||
        !import_map_set(&i->process_of, koid, (uint32_t)i->owner_count)) {
        i->status = SKEIN_NO_MEMORY;
        return;
    }
    i->owners[i->owner_count++] = owner;
}

static void thread_name(struct fxt_import *i, uint64_t koid, uint64_t process, const char *name)
{
    static const char evidence[] = "evidence: ";
    if (i->provider->ours && strncmp(name, evidence, sizeof evidence - 1) == 0)
        name += sizeof evidence - 1;
    owner_note(i, koid, process, name);
    if (!i->second)
        thread_put(i, fxt_process(i, process, false), koid, name);
}

static bool kernel_object(struct fxt_import *i, struct fxt_words *w, uint64_t head)
{
    uint64_t koid = fxt_word(w);
    const char *name = fxt_text(i, w, fxt_bits(head, 24, 39));
    if (name == NULL || !fxt_arguments(i, w, (unsigned)fxt_bits(head, 40, 43)))
        return false;
    const struct import_value *process = fxt_value(i, "process");
    if (fxt_bits(head, 16, 23) == FXT_OBJECT_PROCESS)
        life_note(i, koid, name);
    if (!i->second && fxt_bits(head, 16, 23) == FXT_OBJECT_PROCESS)
        process_name(i, koid, name);
    else if (fxt_bits(head, 16, 23) == FXT_OBJECT_THREAD && process != NULL)
        thread_name(i, koid, process->bits, name);
    else if (i->second && fxt_bits(head, 16, 23) > FXT_OBJECT_THREAD)
        i->told->not_read++;
    return true;
}

/* ---- records ---- */

static bool record(struct fxt_import *i, struct fxt_words *w, uint64_t head)
{
    switch (fxt_bits(head, 0, 3)) {
    case FXT_METADATA:
        return metadata(i, w, head);
    case FXT_INITIALIZATION: {
        uint64_t ticks = fxt_word(w);
        i->ticks_per_s = ticks > 0 ? ticks : i->ticks_per_s;
        return ticks > 0;
    }
    case FXT_STRING:
        return string(i, w, head);
    case FXT_THREAD:
        return thread(i, w, head);
    case FXT_EVENT:
        return fxt_event(i, w, head);
    case FXT_BLOB:
        i->fxt->blobs += i->second;
        i->fxt->blob_bytes += i->second ? w->n : 0;
        return true;
    case FXT_KERNEL_OBJECT:
        return kernel_object(i, w, head);
    case FXT_SCHEDULING:
        return fxt_scheduling(i, w, head);
    case FXT_LOG:
        return fxt_log(i, w, head);
    default: /* objects of programs, and kinds from the future */
        i->told->not_read += i->second;
        return true;
    }
}

static void record_left(struct fxt_import *i, uint64_t at)
{
    i->told->left_out++;
    import_why(i->told, "at byte %" PRIu64 ": a record %s; it is left out", at,
               i->wrong != NULL ? i->wrong : "does not fit its own size");
}

/* One record. false: the end, or nothing can follow. */
static bool record_next(struct fxt_import *i)
{
    size_t there;
    struct import_stream *s = &i->stream;
    uint64_t left = import_stream_left(s), at = s->at;
    if (left == 0)
        return false;
    const uint8_t *bytes = import_stream_peek(s, left < 8 ? (size_t)left : 8, &there);
    struct fxt_words first = {.bytes = bytes, .n = bytes != NULL && left >= 8 ? 8 : 0};
    uint64_t head = fxt_word(&first);
    bool large = fxt_bits(head, 0, 3) == FXT_LARGE;
    uint64_t size = fxt_bits(head, 4, large ? 35 : 15) * 8;
    if (bytes != NULL && (first.failed || size == 0 || size > left)) {
        if (i->second)
            i->told->cut_bytes += left;
        if (i->second)
            import_why(i->told,
                       size == 0 && !first.failed
                           ? "at byte %" PRIu64
                             ": a record without a size; what follows is left out"
                           : "at byte %" PRIu64 ": the file ends in a record, of which %" PRIu64
                             " bytes are there",
                       at, left);
        return false;
    }
    if (large) { /* a blob: nothing of it is held */
        i->fxt->blobs += i->second;
        i->fxt->blob_bytes += i->second ? size : 0;
        import_stream_skip(s, size);
        return true;
    }
    bytes = bytes != NULL ? import_stream_peek(s, (size_t)size, &there) : NULL;
    if (bytes == NULL)
        return false;
    struct fxt_words w = {.bytes = bytes, .n = (size_t)size};
    i->scratch.len = 0;
    i->count = 0;
    i->wrong = NULL;
    if (!record(i, &w, fxt_word(&w)) && i->second)
        record_left(i, at);
    i->fxt->records += i->second;
    import_stream_skip(s, size);
    return i->status == SKEIN_OK;
}

/* ---- the whole ---- */

static void tables_clear(struct fxt_import *i)
{
    for (size_t k = 0; k < i->provider_count; k++)
        free(i->providers[k].strings);
    i->provider_count = 0;
    intern_table_fini(&i->texts);
    import_map_clear(&i->life_at);
    i->life_count = 0;
    for (size_t k = 0; k < i->owner_count; k++) /* whose they are is known, names are texts */
        i->owners[k].name = 0;
}

static int trace_pass(struct fxt_import *i, const struct skein_trace_source *source)
{
    uint64_t shown = 0;
    tables_clear(i);
    import_stream_init(&i->stream, source);
    i->ticks_per_s = 1000000000u;
    provider_set(i, 0, ""); /* for records in front of any */
    i->fxt->providers = 0;
    if (i->provider != NULL)
        i->provider->unnamed = true;
    while (i->status == SKEIN_OK && record_next(i))
        if (i->second && i->to->progress != NULL && i->stream.at - shown > 1u << 20) {
            shown = i->stream.at;
            i->to->progress(i->to->context, shown, source->bytes);
        }
    if (i->status == SKEIN_OK)
        i->status = i->stream.status;
    import_stream_fini(&i->stream);
    return i->status;
}

static int magic_check(const struct skein_trace_source *source, struct import_told *told)
{
    uint8_t bytes[8] = {0};
    uint64_t magic = 0;
    int status = SKEIN_OK;
    if (source->bytes >= sizeof bytes)
        status = source->read(source->context, 0, bytes, sizeof bytes);
    for (unsigned k = 0; k < 8; k++)
        magic |= (uint64_t)bytes[k] << 8 * k;
    if (status != SKEIN_OK || magic == FXT_MAGIC)
        return status;
    import_why(told, "at byte 0: not Fuchsia's magic number 10 00 04 46 78 54 16 00; is it another "
                     "tool's file?");
    return SKEIN_CORRUPT;
}

static void import_fini(struct fxt_import *i)
{
    tables_clear(i);
    import_many_free(&i->many);
    import_map_fini(&i->process_of);
    import_map_fini(&i->life_at);
    free(i->lives);
    free(i->owners);
    free(i->providers);
    buf_fini(&i->scratch);
}

int import_fxt(const struct skein_trace_source *source, const struct import_to *to,
               struct import_told *told, struct fxt_told *fxt)
{
    struct fxt_import i = {.to = to, .told = told, .fxt = fxt};
    *fxt = (struct fxt_told){.records = 0};
    int status = magic_check(source, told);
    if (status != SKEIN_OK)
        return status;
    i.providers = calloc(FXT_PROVIDERS_MAX, sizeof *i.providers);
    bool room = i.providers != NULL && buf_reserve(&i.scratch, SCRATCH_BYTES) != NULL;
    i.status = room ? import_many_new(to, source, told, &i.many) : SKEIN_NO_MEMORY;
    if (i.status == SKEIN_OK)
        trace_pass(&i, source);
    if (i.status == SKEIN_OK && i.last_ns < YEAR_2000_NS && to->changed_ns > i.last_ns) {
        import_many_ahead(i.many, (int64_t)(to->changed_ns - i.last_ns));
        told->time_guessed = true;
    }
    i.second = true;
    i.last_ns = 0;
    if (i.status == SKEIN_OK)
        trace_pass(&i, source);
    if (i.status == SKEIN_OK)
        i.status = import_many_finish(i.many);
    fxt->processes = i.many != NULL ? import_many_processes(i.many) : 0;
    if (i.status == SKEIN_OK && told->partitions == 0) {
        import_why(told, "it has no event");
        i.status = SKEIN_NOT_FOUND;
    }
    import_fini(&i);
    return i.status;
}
