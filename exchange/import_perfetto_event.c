/* SPDX-License-Identifier: Apache-2.0
 *
 * Track events of Perfetto, as entries of import_many.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checksum.h"
#include "import_perfetto_int.h"

enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { INTERNED_CATEGORIES = 1, INTERNED_EVENTS = 2, INTERNED_PLACES = 4 };

/* What a track event says, as far as it is read. */
struct track_event {
    struct pf_sequence *s;
    uint64_t type, track, stack;
    const char *name, *category;
    bool has_track, has_value, is_double;
    uint64_t value;
    struct pf_numbers extra, extra_double, extra_tracks, extra_double_tracks;
    struct pb_field legacy; /* n 0: none */
    uint32_t pid, tid;      /* of others, that a legacy event is of; 0: its track's */
};

/* Chromium's events of before: field legacy_event. */
struct legacy {
    uint64_t phase, dur_us, id, pid, tid;
    const char *name;
};

/* ---- what it says ---- */

static void categories_take(struct pf_import *i, struct track_event *e,
                            const struct pb_field *field)
{
    struct pb_reader ids = pb_message_of(field);
    uint64_t iid = field->value;
    if (e->category[0] != '\0')
        return; /* the first one counts */
    if (field->wire == PB_BYTES)
        iid = pb_varint_get(&ids);
    e->category = pf_interned_text(i, e->s, INTERNED_CATEGORIES, iid);
}

/* Packed or not. */
void pf_numbers_take(struct pf_numbers *numbers, const struct pb_field *field, bool fixed)
{
    struct pb_reader packed = pb_message_of(field);
    bool one = field->wire != PB_BYTES;
    while (one || packed.pos != packed.end) {
        uint64_t value = one     ? field->value
                         : fixed ? pb_fixed_get(&packed, 8)
                                 : pb_varint_get(&packed);
        if (packed.failed && !one)
            return;
        if (numbers->count < PF_EXTRA_MAX)
            numbers->of[numbers->count++] = value;
        else
            numbers->beyond++;
        if (one)
            return;
    }
}

static void flows_take(struct pf_import *i, const struct pb_field *field, const char *name,
                       bool fixed)
{
    struct pf_numbers ids = {.count = 0};
    pf_numbers_take(&ids, field, fixed);
    for (unsigned k = 0; k < ids.count; k++) {
        struct import_value *value = pf_value_add(i, name, SKEIN_T_PTR);
        if (value != NULL)
            value->bits = ids.of[k];
    }
}

/* "file.c:12" as an argument. */
static void place_take(struct pf_import *i, struct pb_reader place)
{
    char text[PARTITION_NAME_MAX + 24];
    struct pb_field file, line;
    if (!pb_find(place, 2, &file) || file.wire != PB_BYTES)
        return;
    size_t n = file.n < PARTITION_NAME_MAX ? file.n : PARTITION_NAME_MAX;
    bool has_line = pb_find(place, 4, &line);
    int length = snprintf(text, sizeof text, has_line ? "%.*s:%" PRIu64 : "%.*s", (int)n,
                          (const char *)file.bytes, has_line ? line.value : 0);
    const char *kept = pf_scratch(i, text, (size_t)length);
    struct import_value *value = kept != NULL ? pf_value_add(i, "source", SKEIN_T_STR) : NULL;
    if (value != NULL) {
        value->text = kept;
        value->n = strlen(kept);
    }
}

/* A category or a name that is spelt out. */
static void text_take(struct pf_import *i, struct track_event *e, const struct pb_field *field)
{
    const char *text = field->wire == PB_BYTES ? pf_scratch(i, field->bytes, field->n) : NULL;
    if (text != NULL && field->number == 23)
        e->name = text;
    else if (text != NULL && e->category[0] == '\0')
        e->category = text;
}

static void place_find(struct pf_import *i, const struct pf_sequence *s, uint64_t iid)
{
    const struct pf_interned *place = pf_interned_find(s, INTERNED_PLACES, iid);
    if (place != NULL && place->n > 0)
        place_take(i, pb_reader_of(s->bytes.data + place->at, place->n));
}

static void field_take(struct pf_import *i, struct track_event *e, const struct pb_field *field)
{
    switch (field->number) {
    case 3:
        categories_take(i, e, field);
        break;
    case 4:
        pf_annotation_take(i, e->s, pb_message_of(field));
        break;
    case 6:
        e->legacy = *field;
        break;
    case 9:
        e->type = field->value;
        break;
    case 10:
        e->name = pf_interned_text(i, e->s, INTERNED_EVENTS, field->value);
        break;
    case 11:
        e->track = field->value;
        e->has_track = true;
        break;
    case 12:
        pf_numbers_take(&e->extra, field, false);
        break;
    case 22:
    case 23:
        text_take(i, e, field);
        break;
    case 30:
    case 44:
        e->value = field->value;
        e->has_value = true;
        e->is_double = field->number == 44;
        break;
    case 31:
        pf_numbers_take(&e->extra_tracks, field, false);
        break;
    case 45:
        pf_numbers_take(&e->extra_double_tracks, field, false);
        break;
    case 46:
        pf_numbers_take(&e->extra_double, field, true);
        break;
    case 33:
        place_take(i, pb_message_of(field));
        break;
    case 34:
        place_find(i, e->s, field->value);
        break;
    case 36: /* flows as they were, and as they are */
    case 47:
        flows_take(i, field, "flow", field->number == 47);
        break;
    case 42:
    case 48:
        flows_take(i, field, "flow end", field->number == 48);
        break;
    case 56:
        e->stack = field->value;
        break;
    default:
        break;
    }
}

/* ---- counters ---- */

static void counter_put(struct pf_import *i, struct track_event *e, uint64_t uuid, uint64_t bits,
                        bool is_double, uint64_t time_ns)
{
    struct pf_track *track = pf_track_find(i, uuid);
    struct import_value value = {
        .name = "value", .type = is_double ? SKEIN_T_F64 : SKEIN_T_I64, .bits = bits};
    const char *name = e->name;
    if (track != NULL) {
        name = pf_text(i, track->name);
        value.unit = pf_text(i, track->unit);
    }
    if (track != NULL && !is_double) {
        bool anew = track->sum_sequence != e->s->id || track->sum_epoch != e->s->epoch;
        uint64_t sum = bits + (track->incremental && !anew ? (uint64_t)track->sum : 0);
        track->sum = (int64_t)sum;
        track->sum_sequence = e->s->id;
        track->sum_epoch = e->s->epoch;
        value.bits = sum * track->multiplier; /* modulo 2^64: a hostile one may be anything */
    }
    const struct pf_place place = pf_track_place(i, uuid, time_ns);
    const struct import_entry entry = {.what = IMPORT_COUNTER,
                                       .process = place.process,
                                       .thread = place.thread,
                                       .time_ns = time_ns,
                                       .name = name[0] != '\0' ? name : "counter",
                                       .category = e->category,
                                       .values = &value,
                                       .count = 1};
    i->status = import_many_add(i->many, &entry);
}

static void extra_put(struct pf_import *i, struct track_event *e, const struct pf_numbers *values,
                      const struct pf_numbers *tracks, bool is_double, uint64_t time_ns)
{
    unsigned count = values->count < tracks->count ? values->count : tracks->count;
    for (unsigned k = 0; k < count && i->status == SKEIN_OK; k++)
        counter_put(i, e, tracks->of[k], values->of[k], is_double, time_ns);
    unsigned beyond = values->count - count + values->beyond;
    if (beyond == 0)
        return;
    i->told->left_out += beyond;
    import_why(i->told,
               "at byte %" PRIu64 ": counters beside an event without a track, or more than %u",
               i->packet_at, PF_EXTRA_MAX);
}

static void extras_put(struct pf_import *i, struct track_event *e, uint64_t time_ns)
{
    const struct pf_numbers *tracks = e->extra_tracks.count > 0 ? &e->extra_tracks : &e->s->extra;
    extra_put(i, e, &e->extra, tracks, false, time_ns);
    tracks = e->extra_double_tracks.count > 0 ? &e->extra_double_tracks : &e->s->extra_double;
    extra_put(i, e, &e->extra_double, tracks, true, time_ns);
}

/* ---- events of before ---- */

static struct legacy legacy_read(const struct pf_import *i, const struct track_event *e)
{
    struct legacy l = {.name = ""};
    struct pb_reader message = pb_message_of(&e->legacy);
    struct pb_field field;
    while (pb_next(&message, &field))
        switch (field.number) {
        case 1:
            l.name = pf_interned_text(i, e->s, INTERNED_EVENTS, field.value);
            break;
        case 2:
            l.phase = field.value;
            break;
        case 3:
            l.dur_us = field.value;
            break;
        case 6:
        case 10:
        case 11:
            l.id = field.value;
            break;
        case 18:
            l.pid = field.value;
            break;
        case 19:
            l.tid = field.value;
            break;
        default:
            break;
        }
    return l;
}

/* Of an event without a type: what its phase says. false: it is none that is shown. */
static bool legacy_take(struct pf_import *i, const struct track_event *e,
                        struct import_entry *entry)
{
    const struct legacy l = legacy_read(i, e);
    if (entry->name[0] == '\0')
        entry->name = l.name;
    if (l.pid > 0 && l.pid < UINT32_MAX && l.tid > 0 && l.tid < UINT32_MAX) {
        entry->process = pf_process(i, (uint32_t)l.pid, entry->time_ns);
        entry->thread = l.tid;
    }
    entry->what = IMPORT_INSTANT;
    switch (l.phase) {
    case 'B':
        entry->what = IMPORT_BEGIN;
        return true;
    case 'E':
        entry->what = IMPORT_END;
        return true;
    case 'X':
        entry->what = IMPORT_SPAN;
        entry->dur_ns = l.dur_us < IMPORT_TIME_MAX / 1000 ? l.dur_us * 1000 : IMPORT_TIME_BEYOND;
        entry->time_ns += entry->dur_ns;
        return true;
    case 'b':
    case 'S':
    case 'e':
    case 'F': {
        const uint64_t key[3] = {l.id, checksum64(entry->name, strlen(entry->name)),
                                 checksum64(entry->category, strlen(entry->category))};
        entry->what = l.phase == 'b' || l.phase == 'S' ? IMPORT_BEGIN : IMPORT_END;
        entry->pair = checksum64(key, sizeof key) | 1;
        entry->evidence = true;
        return true;
    }
    case 'I':
    case 'i':
    case 'R':
    case 'n':
    case 'T':
    case 'p':
    case 's':
    case 't':
    case 'f':
    case 'P':
        return true;
    default: /* metadata, memory dumps, snapshots of objects */
        return false;
    }
}

/* ---- one event ---- */

static void evidence_note(struct pf_import *i, uint64_t uuid, struct import_entry *entry)
{
    const struct pf_track *track = pf_track_find(i, uuid);
    if (track == NULL || track->kind != PF_TRACK_NAMED)
        return;
    const char *name = pf_text(i, track->name);
    entry->evidence |= PF_OURS(uuid) && strncmp(name, PF_EVIDENCE, sizeof PF_EVIDENCE - 1) == 0;
}

static bool entry_kind(struct pf_import *i, const struct track_event *e, struct import_entry *entry)
{
    switch (e->type) {
    case TYPE_BEGIN:
        entry->what = IMPORT_BEGIN;
        return true;
    case TYPE_END:
        entry->what = IMPORT_END;
        return true;
    case TYPE_INSTANT:
        entry->what = IMPORT_INSTANT;
        return true;
    default:
        return e->legacy.n > 0 && legacy_take(i, e, entry);
    }
}

void pf_event_take(struct pf_import *i, struct pf_sequence *s, struct pb_reader message,
                   uint64_t time_ns)
{
    struct track_event e = {.s = s, .name = "", .category = ""};
    struct pb_field field;
    i->count = 0;
    i->scratch.len = 0;
    while (pb_next(&message, &field))
        field_take(i, &e, &field);
    if (!e.has_track && s->has_default_track)
        e.track = s->default_track;
    if (e.type == TYPE_COUNTER) {
        if (e.has_value)
            counter_put(i, &e, e.track, e.value, e.is_double, time_ns);
        extras_put(i, &e, time_ns);
        return;
    }
    struct pf_place place = pf_track_place(i, e.track, time_ns);
    if (!e.has_track && !s->has_default_track && s->has_thread)
        place = (struct pf_place){pf_process(i, s->pid, time_ns), s->tid};
    struct import_entry entry = {.process = place.process,
                                 .thread = place.thread,
                                 .time_ns = time_ns,
                                 .name = e.name,
                                 .category = e.category,
                                 .values = i->values,
                                 .count = i->count};
    if (!entry_kind(i, &e, &entry)) {
        i->told->not_read++;
        return;
    }
    evidence_note(i, e.track, &entry);
    entry.stack = e.stack != 0 ? pf_callstack(i, s, e.stack) : 0;
    i->status = import_many_add(i->many, &entry);
    if (i->status == SKEIN_OK)
        extras_put(i, &e, time_ns);
}
