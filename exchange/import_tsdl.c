/* SPDX-License-Identifier: Apache-2.0
 *
 * See import_tsdl.h: the blocks of a trace's description.
 */
#include "import_tsdl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "import_tsdl_int.h"

#define CLOCKS_MAX 256
#define NANO       1000000000

/* What a line "key = value;" or "key := type;" of a block says. */
struct entry {
    char key[128];
    struct word value;
    uint32_t type; /* TSDL_NONE: it is a value */
};

/* The next one; false at the block's end, or after a failure. */
static bool entry_read(struct tsdl_reader *r, struct entry *entry)
{
    while (r->status == SKEIN_OK) {
        if (tsdl_take(r, "}"))
            return false;
        if (tsdl_alias_read(r))
            continue;
        size_t n = 0;
        entry->type = TSDL_NONE;
        entry->key[0] = '\0';
        entry->value = (struct word){.kind = WORD_END};
        while (r->status == SKEIN_OK && !tsdl_is(r, "=") && !tsdl_is(r, ":=")) {
            if (r->word.kind == WORD_END || tsdl_is(r, ";") || tsdl_is(r, "{"))
                tsdl_fail(r, SKEIN_CORRUPT, "there must be \"key = value\" or \"key := type\"");
            n += (size_t)snprintf(entry->key + n, sizeof entry->key - n, "%s", r->word.text);
            if (n >= sizeof entry->key)
                tsdl_fail(r, SKEIN_UNSUPPORTED, "a key is too long");
            tsdl_next(r);
        }
        if (tsdl_take(r, ":=")) {
            entry->type = tsdl_type_read(r);
        } else {
            tsdl_next(r);
            entry->value = r->word;
            tsdl_next(r);
            while (tsdl_take(r, "."))
                tsdl_next(r);
        }
        tsdl_must(r, ";");
        return r->status == SKEIN_OK;
    }
    return false;
}

static bool is(const struct entry *entry, const char *key)
{
    return strcmp(entry->key, key) == 0;
}

static void trace_read(struct tsdl_reader *r)
{
    struct entry entry;
    while (entry_read(r, &entry)) {
        if (is(&entry, "byte_order"))
            r->out->big =
                strcmp(entry.value.text, "be") == 0 || strcmp(entry.value.text, "network") == 0;
        else if (is(&entry, "packet.header"))
            r->out->packet_header = entry.type;
        else if (is(&entry, "major") && entry.value.number != 1)
            tsdl_fail(r, SKEIN_UNSUPPORTED, "it is not of CTF 1");
    }
}

static void env_read(struct tsdl_reader *r)
{
    struct entry entry;
    while (entry_read(r, &entry)) {
        if (is(&entry, "hostname"))
            r->out->hostname = tsdl_keep(r, entry.value.text);
        else if (is(&entry, "procname"))
            r->out->procname = tsdl_keep(r, entry.value.text);
        else if (is(&entry, "vpid"))
            r->out->vpid = entry.value.number, r->out->has_vpid = true;
    }
}

size_t tsdl_clock_find(struct tsdl_reader *r, const char *name)
{
    struct tsdl *t = r->out;
    for (size_t k = 0; k < t->clock_count; k++)
        if (strcmp(tsdl_text(t, t->clocks[k].name), name) == 0)
            return k;
    if (t->clock_count == CLOCKS_MAX) {
        tsdl_fail(r, SKEIN_UNSUPPORTED, "there are more than 256 clocks");
        return 0;
    }
    if (!array_grow(t->clocks, t->clock_count + 1, &t->clock_cap)) {
        tsdl_fail(r, SKEIN_NO_MEMORY, "out of memory");
        return 0;
    }
    t->clocks[t->clock_count] = (struct tsdl_clock){.name = tsdl_keep(r, name), .frequency = NANO};
    return t->clock_count++;
}

static void clock_read(struct tsdl_reader *r)
{
    struct entry entry;
    struct tsdl_clock clock = {.described = true, .frequency = NANO};
    char name[TSDL_TEXT_MAX + 1] = "";
    while (entry_read(r, &entry)) {
        if (is(&entry, "name"))
            snprintf(name, sizeof name, "%s", entry.value.text);
        else if (is(&entry, "freq"))
            clock.frequency = entry.value.number;
        else if (is(&entry, "offset"))
            clock.offset = entry.value.number;
        else if (is(&entry, "offset_s"))
            clock.offset_s = (int64_t)entry.value.number;
    }
    if (r->status == SKEIN_OK && clock.frequency == 0)
        tsdl_fail(r, SKEIN_CORRUPT, "a clock's frequency is 0");
    size_t at = r->status == SKEIN_OK ? tsdl_clock_find(r, name) : 0;
    if (r->status != SKEIN_OK)
        return;
    clock.name = r->out->clocks[at].name;
    r->out->clocks[at] = clock;
    r->out->has_clock = true;
}

/* One that is named and not described is the one that is; nanoseconds where there is none. */
static void clocks_link(struct tsdl_reader *r)
{
    struct tsdl *t = r->out;
    const struct tsdl_clock *described = NULL;
    if (t->clock_count == 0)
        (void)tsdl_clock_find(r, "");
    for (size_t k = 0; k < t->clock_count; k++)
        described = t->clocks[k].described ? &t->clocks[k] : described;
    for (size_t k = 0; k < t->clock_count && described != NULL; k++)
        if (!t->clocks[k].described)
            t->clocks[k] = *described;
}

static void stream_read(struct tsdl_reader *r)
{
    struct entry entry;
    struct tsdl_stream stream = {
        .header = TSDL_NONE, .packet_context = TSDL_NONE, .event_context = TSDL_NONE};
    while (entry_read(r, &entry)) {
        if (is(&entry, "id"))
            stream.id = entry.value.number;
        else if (is(&entry, "event.header"))
            stream.header = entry.type;
        else if (is(&entry, "packet.context"))
            stream.packet_context = entry.type;
        else if (is(&entry, "event.context"))
            stream.event_context = entry.type;
    }
    if (r->status != SKEIN_OK)
        return;
    if (!array_grow(r->out->streams, r->out->stream_count + 1, &r->out->stream_cap))
        tsdl_fail(r, SKEIN_NO_MEMORY, "out of memory");
    else
        r->out->streams[r->out->stream_count++] = stream;
}

static void event_read(struct tsdl_reader *r)
{
    struct entry entry;
    struct tsdl_event event = {.name = TSDL_NONE, .context = TSDL_NONE, .fields = TSDL_NONE};
    while (entry_read(r, &entry)) {
        if (is(&entry, "id"))
            event.id = entry.value.number;
        else if (is(&entry, "name"))
            event.name = tsdl_keep(r, entry.value.text);
        else if (is(&entry, "stream_id"))
            event.stream = entry.value.number, event.has_stream = true;
        else if (is(&entry, "context"))
            event.context = entry.type;
        else if (is(&entry, "fields"))
            event.fields = entry.type;
    }
    if (r->status != SKEIN_OK)
        return;
    if (!array_grow(r->out->events, r->out->event_count + 1, &r->out->event_cap))
        tsdl_fail(r, SKEIN_NO_MEMORY, "out of memory");
    else
        r->out->events[r->out->event_count++] = event;
}

static void block_read(struct tsdl_reader *r)
{
    static const struct {
        const char *word;
        void (*read)(struct tsdl_reader *r);
    } blocks[] = {{"trace", trace_read},   {"env", env_read},     {"clock", clock_read},
                  {"stream", stream_read}, {"event", event_read}, {"callsite", tsdl_skip_block}};
    size_t scope = r->name_count;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        if (!tsdl_take(r, blocks[i].word))
            continue;
        tsdl_must(r, "{");
        blocks[i].read(r);
        r->name_count = scope;
        (void)tsdl_take(r, ";"); /* the brace has ended it */
        return;
    }
    bool named = tsdl_is(r, "struct") || tsdl_is(r, "variant") || tsdl_is(r, "enum");
    if (!tsdl_alias_read(r) && tsdl_type_read(r) != TSDL_NONE && !tsdl_take(r, ";") && !named)
        tsdl_must(r, ";"); /* "struct X { … }" needs none */
}

/* Where the metadata has no stream, there is one without anything; what names no stream is of the only
 * one. */
static void streams_link(struct tsdl_reader *r)
{
    struct tsdl *t = r->out;
    const struct tsdl_stream plain = {
        .header = TSDL_NONE, .packet_context = TSDL_NONE, .event_context = TSDL_NONE};
    if (t->stream_count == 0 && t->event_count > 0) {
        if (!array_grow(t->streams, 1, &t->stream_cap)) {
            tsdl_fail(r, SKEIN_NO_MEMORY, "out of memory");
            return;
        }
        t->streams[t->stream_count++] = plain;
    }
    for (size_t k = 0; k < t->event_count && t->stream_count == 1; k++)
        if (!t->events[k].has_stream)
            t->events[k].stream = t->streams[0].id;
    for (size_t s = 0; s < t->stream_count; s++) {
        size_t events = 0;
        for (size_t k = 0; k < t->event_count && events < 2; k++)
            if (t->events[k].stream == t->streams[s].id) {
                t->streams[s].only = events == 0 ? t->events[k].id : 0;
                events++;
            }
    }
}

/* Numbers of streams and events, and what they have, are there; structures where some must be. */
static void all_check(struct tsdl_reader *r)
{
    const struct tsdl *t = r->out;
    bool good = t->packet_header == TSDL_NONE || t->types[t->packet_header].kind == TSDL_STRUCT;
    for (size_t i = 0; i < t->stream_count && good; i++) {
        const uint32_t types[] = {t->streams[i].header, t->streams[i].packet_context,
                                  t->streams[i].event_context};
        for (unsigned k = 0; k < 3; k++)
            good = good && (types[k] == TSDL_NONE || t->types[types[k]].kind == TSDL_STRUCT);
    }
    for (size_t i = 0; i < t->event_count && good; i++) {
        const uint32_t types[] = {t->events[i].context, t->events[i].fields};
        for (unsigned k = 0; k < 2; k++)
            good = good && (types[k] == TSDL_NONE || t->types[types[k]].kind == TSDL_STRUCT);
    }
    if (!good)
        tsdl_fail(r, SKEIN_CORRUPT, "a header, context or payload is no structure");
}

int tsdl_read(const char *text, size_t n, struct tsdl *out, char *error, size_t error_bytes)
{
    struct tsdl_reader r = {.at = text,
                            .end = text + n,
                            .line = 1,
                            .out = out,
                            .error = error,
                            .error_bytes = error_bytes};
    *out = (struct tsdl){.packet_header = TSDL_NONE, .hostname = TSDL_NONE, .procname = TSDL_NONE};
    tsdl_next(&r);
    while (r.status == SKEIN_OK && r.word.kind != WORD_END)
        block_read(&r);
    if (r.status == SKEIN_OK)
        clocks_link(&r);
    if (r.status == SKEIN_OK)
        streams_link(&r);
    if (r.status == SKEIN_OK)
        all_check(&r);
    free(r.names);
    if (r.status != SKEIN_OK)
        tsdl_fini(out);
    return r.status;
}

void tsdl_fini(struct tsdl *t)
{
    free(t->types);
    free(t->fields);
    free(t->labels);
    free(t->streams);
    free(t->events);
    free(t->clocks);
    buf_fini(&t->texts);
    *t = (struct tsdl){.packet_header = TSDL_NONE};
}
