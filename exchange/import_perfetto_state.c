/* SPDX-License-Identifier: Apache-2.0
 *
 * What a Perfetto trace names: tracks, and what sequences have interned.
 */
#include <string.h>

#include "array.h"
#include "import_perfetto_int.h"

#define TEXTS_MAX      4000000u
#define TEXT_BYTES_MAX PARTITION_NAME_MAX
#define SEQUENCES_MAX  65536u
#define INTERNED_MAX   ((size_t)256 << 20) /* bytes, of all sequences */
#define ENTRY_BYTES    ((size_t)96)        /* of one in the tables, whatever it holds */
#define MESSAGE_BYTES  ((size_t)16 << 10)
#define TRACKS_MAX     1000000u
#define PARENTS_MAX    32 /* tracks above a track */

enum {
    INTERNED_FUNCTIONS = 5,
    INTERNED_FRAMES = 6,
    INTERNED_CALLSTACKS = 7,
    INTERNED_PATHS = 17,
    INTERNED_SOURCES = 18,
    INTERNED_MAPPINGS = 19,
    INTERNED_TEXTS = 29
};

/* ---- texts ---- */

uint32_t pf_text_put(struct pf_import *i, const uint8_t *bytes, size_t n)
{
    bool fresh;
    char text[TEXT_BYTES_MAX + 1];
    n = n < TEXT_BYTES_MAX ? n : TEXT_BYTES_MAX;
    if (n == 0 || i->texts.count >= TEXTS_MAX)
        return 0;
    memcpy(text, bytes, n);
    text[n] = '\0';
    int64_t at = intern_table_put(&i->texts, text, strlen(text) + 1, &fresh);
    if (at < 0)
        i->status = SKEIN_NO_MEMORY;
    return at < 0 ? 0 : (uint32_t)at + 1;
}

const char *pf_text(const struct pf_import *i, uint32_t text)
{
    return text > 0 ? (const char *)intern_table_bytes(&i->texts, text - 1) : "";
}

/* ---- sequences ---- */

struct pf_sequence *pf_sequence_get(struct pf_import *i, uint32_t id)
{
    uint32_t at = import_map_get(&i->sequence_at, id);
    if (at != IMPORT_MAP_NONE)
        return &i->sequences[at];
    if (i->sequence_count == SEQUENCES_MAX) {
        import_why(i->told, "there are more than %u sequences of packets", SEQUENCES_MAX);
        return NULL;
    }
    if (!array_grow(i->sequences, i->sequence_count + 1, &i->sequence_cap) ||
        !import_map_set(&i->sequence_at, id, (uint32_t)i->sequence_count)) {
        i->status = SKEIN_NO_MEMORY;
        return NULL;
    }
    i->perfetto->sequences++;
    i->sequences[i->sequence_count] = (struct pf_sequence){.id = id};
    return &i->sequences[i->sequence_count++];
}

void pf_sequence_clear(struct pf_import *i, struct pf_sequence *s)
{
    i->interned_bytes -= s->bytes.len + s->keys.count * ENTRY_BYTES;
    buf_clear(&s->bytes);
    intern_table_fini(&s->keys);
    s->has_default_track = s->has_thread = false;
    s->default_clock = 0;
    s->extra.count = s->extra_double.count = 0;
    s->sample_weight_ns = 0;
    s->valid = true;
    s->epoch++;
}

static bool is_text(uint32_t field)
{
    return field <= 3 || field == INTERNED_FUNCTIONS || field == INTERNED_PATHS ||
           field == INTERNED_SOURCES || field == INTERNED_TEXTS;
}

static void one_intern(struct pf_import *i, struct pf_sequence *s, const struct pb_field *field)
{
    bool fresh;
    struct pb_field part;
    struct pf_interned made = {.at = s->bytes.len, .n = field->n};
    uint64_t key[2] = {field->number, 0};
    if (pb_find(pb_message_of(field), 1, &part))
        key[1] = part.value;
    if (is_text(field->number)) {
        made.n = 0;
        if (pb_find(pb_message_of(field), 2, &part) && part.wire == PB_BYTES)
            made.text = pf_text_put(i, part.bytes, part.n);
    }
    if (made.n > MESSAGE_BYTES) { /* it is read again by each event that names it */
        i->told->left_out++;
        import_why(i->told, "a sequence has interned a message of more than 16 KiB");
        return;
    }
    if (made.n + ENTRY_BYTES > INTERNED_MAX - i->interned_bytes) {
        i->told->left_out++;
        import_why(i->told, "sequences have interned more than 256 MiB at a time");
        return;
    }
    int64_t at = SKEIN_NO_MEMORY;
    if (array_grow(s->interned, s->keys.count + 1, &s->interned_cap))
        at = intern_table_put(&s->keys, key, sizeof key, &fresh);
    size_t had = s->bytes.len;
    if (made.n > 0)
        buf_put(&s->bytes, field->bytes, made.n);
    if (at < 0 || s->bytes.status != SKEIN_OK) {
        i->status = SKEIN_NO_MEMORY;
        return;
    }
    i->interned_bytes += s->bytes.len - had + (fresh ? ENTRY_BYTES : 0);
    s->interned[at] = made;
}

void pf_interned_take(struct pf_import *i, struct pf_sequence *s, struct pb_reader data)
{
    struct pb_field field;
    while (pb_next(&data, &field))
        if (field.wire == PB_BYTES &&
            (is_text(field.number) || field.number == 4 || field.number == INTERNED_FRAMES ||
             field.number == INTERNED_CALLSTACKS || field.number == INTERNED_MAPPINGS))
            one_intern(i, s, &field);
}

const struct pf_interned *pf_interned_find(const struct pf_sequence *s, uint32_t field,
                                           uint64_t iid)
{
    const uint64_t key[2] = {field, iid};
    int64_t at = intern_table_find(&s->keys, key, sizeof key);
    return at >= 0 ? &s->interned[at] : NULL;
}

const char *pf_interned_text(const struct pf_import *i, const struct pf_sequence *s, uint32_t field,
                             uint64_t iid)
{
    const struct pf_interned *one = pf_interned_find(s, field, iid);
    return one != NULL ? pf_text(i, one->text) : "";
}

/* ---- stacks ---- */

static struct pb_reader interned_message(const struct pf_sequence *s, uint32_t field, uint64_t iid)
{
    const struct pf_interned *one = iid != 0 ? pf_interned_find(s, field, iid) : NULL;
    return one != NULL && one->n > 0 ? pb_reader_of(s->bytes.data + one->at, one->n)
                                     : (struct pb_reader){.failed = true};
}

/* The last part of a mapping's path; in a trace, the parts are interned one by one. */
static const char *mapping_path(const struct pf_import *i, const struct pf_sequence *s,
                                uint64_t iid, uint64_t *start)
{
    const char *path = "";
    struct pb_field field;
    struct pb_reader mapping = interned_message(s, INTERNED_MAPPINGS, iid);
    while (pb_next(&mapping, &field)) {
        struct pb_reader ids = pb_message_of(&field);
        if (field.number == 4)
            *start = field.value;
        else if (field.number == 7 && field.wire == PB_VARINT)
            path = pf_interned_text(i, s, INTERNED_PATHS, field.value);
        while (field.number == 7 && field.wire == PB_BYTES && ids.pos != ids.end && !ids.failed)
            path = pf_interned_text(i, s, INTERNED_PATHS, pb_varint_get(&ids));
    }
    return path;
}

static struct import_frame frame_of(const struct pf_import *i, const struct pf_sequence *s,
                                    uint64_t iid)
{
    struct pb_field field;
    uint64_t mapping = 0, start = 0, pc = 0;
    struct pb_reader message = interned_message(s, INTERNED_FRAMES, iid);
    struct import_frame frame = {.function = "", .file = ""};
    while (pb_next(&message, &field))
        switch (field.number) {
        case 2:
            frame.function = pf_interned_text(i, s, INTERNED_FUNCTIONS, field.value);
            break;
        case 3:
            mapping = field.value;
            break;
        case 4:
            pc = field.value;
            break;
        case 5:
            frame.file = pf_interned_text(i, s, INTERNED_SOURCES, field.value);
            break;
        case 6:
            frame.line = field.value <= UINT32_MAX ? (uint32_t)field.value : 0;
            break;
        default:
            break;
        }
    const char *path = mapping_path(i, s, mapping, &start);
    if (frame.file[0] == '\0')
        frame.file = path;
    frame.has_pc = pc != 0 && start <= UINT64_MAX - pc;
    frame.pc = frame.has_pc ? start + pc : 0;
    return frame;
}

/* Frames are outermost first there. */
uint32_t pf_callstack(struct pf_import *i, struct pf_sequence *s, uint64_t iid)
{
    struct import_frame frames[PARTITION_FRAMES_MAX];
    uint64_t ids[PARTITION_FRAMES_MAX];
    size_t count = 0, most = PARTITION_FRAMES_MAX;
    struct pb_field field;
    const struct pf_interned *known = pf_interned_find(s, INTERNED_CALLSTACKS, iid);
    if (known == NULL || known->stack != 0)
        return known != NULL ? known->stack : 0;
    struct pb_reader message = interned_message(s, INTERNED_CALLSTACKS, iid);
    while (pb_next(&message, &field)) {
        struct pb_reader packed = pb_message_of(&field);
        if (field.number == 2 && field.wire == PB_VARINT)
            ids[count++ % most] = field.value;
        while (field.number == 2 && field.wire == PB_BYTES && packed.pos != packed.end &&
               !packed.failed)
            ids[count++ % most] = pb_varint_get(&packed);
    }
    size_t shown = count < most ? count : most;
    for (size_t k = 0; k < shown; k++)
        frames[k] = frame_of(i, s, ids[(count - 1 - k) % most]);
    uint32_t stack = import_many_stack(i->many, frames, (uint32_t)shown, count > most);
    s->interned[known - s->interned].stack = stack;
    return stack;
}

/* ---- processes and threads ---- */

static uint32_t small(uint64_t value)
{
    return value < UINT32_MAX ? (uint32_t)value : 0;
}

/* The first word; of a path its last part. A command line may be one text with all its arguments. */
static uint32_t program_of(struct pf_import *i, const struct pb_field *cmdline)
{
    const uint8_t *from = cmdline->bytes, *end = from + cmdline->n, *at = from;
    bool path = cmdline->n > 0 && (*from == '/' || *from == '.');
    for (; at < end && *at != ' '; at++)
        if (path && *at == '/')
            from = at + 1;
    return pf_text_put(i, from, (size_t)(at - from));
}

/* A descriptor of a process, or of the tree's. */
struct process {
    uint32_t pid, program, name; /* program, name: of texts, + 1 */
    uint64_t boot_ns;            /* when it began; 0: not known */
};

static struct process process_read(struct pf_import *i, struct pb_reader message, bool tree)
{
    struct pb_field field, cmdline = {.n = 0};
    struct process p = {.pid = 0};
    bool whole = false;
    while (pb_next(&message, &field))
        if (field.number == 1)
            p.pid = small(field.value);
        else if (field.number == 7 && tree)
            p.boot_ns = field.value;
        else if (field.number == 9 && tree)
            whole = field.value != 0; /* it is no command line, but what the kernel calls it */
        else if (field.wire != PB_BYTES || field.n == 0)
            continue;
        else if (field.number == (tree ? 3 : 2) && cmdline.n == 0)
            cmdline = field;
        else if (field.number == 6 && !tree)
            p.name = field.bytes[0] == '/' ? program_of(i, &field)
                                           : pf_text_put(i, field.bytes, field.n);
    if (cmdline.n > 0)
        p.program = whole ? pf_text_put(i, cmdline.bytes, cmdline.n) : program_of(i, &cmdline);
    return p;
}

static void process_note(struct pf_import *i, struct pf_sequence *s, const struct pf_packet *p,
                         const struct process *process, uint64_t uuid)
{
    struct pf_note note = {.time_ns = p->time_ns, .uuid = uuid, .pid = process->pid};
    if (process->boot_ns != 0)
        pf_note_since(i, s, process->pid, process->boot_ns);
    note.kind = PF_NOTE_PROGRAM;
    note.text = process->program;
    if (note.text != 0)
        pf_note(i, s, p->timed, note);
    note.kind = PF_NOTE_NAME;
    note.text = process->name;
    if (note.text != 0)
        pf_note(i, s, p->timed, note);
}

void pf_tree_note(struct pf_import *i, struct pf_sequence *s, const struct pf_packet *p)
{
    struct pb_field field, part;
    struct pb_reader tree = pb_message_of(&p->tree);
    while (pb_next(&tree, &field)) {
        struct pb_reader message = pb_message_of(&field);
        if (field.number == 1) {
            const struct process process = process_read(i, message, true);
            process_note(i, s, p, &process, 0);
        }
        if (field.number != 2)
            continue;
        struct pf_note note = {.kind = PF_NOTE_THREAD, .time_ns = p->time_ns};
        while (pb_next(&message, &part))
            if (part.number == 1)
                note.tid = small(part.value);
            else if (part.number == 2 && part.wire == PB_BYTES)
                note.text = pf_text_put(i, part.bytes, part.n);
            else if (part.number == 3)
                note.pid = small(part.value);
        pf_note(i, s, p->timed, note);
    }
}

/* ---- tracks ---- */

struct pf_track *pf_track_find(struct pf_import *i, uint64_t uuid)
{
    uint32_t at = import_map_get(&i->track_at, uuid);
    return at != IMPORT_MAP_NONE ? &i->tracks[at] : NULL;
}

static void counter_read(struct pf_import *i, struct pb_reader message, struct pf_track *track)
{
    static const char *const units[] = {"", "ns", "count", "bytes"};
    struct pb_field field;
    while (pb_next(&message, &field))
        if (field.number == 3 && field.value < 4)
            track->unit =
                pf_text_put(i, (const uint8_t *)units[field.value], strlen(units[field.value]));
        else if (field.number == 6 && field.wire == PB_BYTES)
            track->unit = pf_text_put(i, field.bytes, field.n);
        else if (field.number == 4)
            track->multiplier = field.value;
        else if (field.number == 5)
            track->incremental = field.value != 0;
}

static void thread_read(struct pf_import *i, struct pb_reader message, struct pf_track *track)
{
    struct pb_field field;
    while (pb_next(&message, &field))
        if (field.number == 1)
            track->pid = small(field.value);
        else if (field.number == 2)
            track->tid = small(field.value);
        else if (field.number == 5 && field.wire == PB_BYTES)
            track->thread_name = pf_text_put(i, field.bytes, field.n);
}

static struct pf_track track_read(struct pf_import *i, struct pb_reader descriptor,
                                  struct process *process)
{
    struct pf_track track = {.kind = PF_TRACK_NAMED, .multiplier = 1};
    struct pb_field field;
    *process = (struct process){.pid = 0};
    while (pb_next(&descriptor, &field))
        switch (field.number) {
        case 1:
            track.uuid = field.value;
            break;
        case 2:
        case 10: /* a name that never changes */
        case 13: /* of atrace */
            if (field.wire == PB_BYTES)
                track.name = pf_text_put(i, field.bytes, field.n);
            break;
        case 3:
            if (track.kind != PF_TRACK_THREAD)
                track.kind = PF_TRACK_PROCESS;
            *process = process_read(i, pb_message_of(&field), false);
            track.pid = process->pid;
            break;
        case 4:
            track.kind = PF_TRACK_THREAD;
            thread_read(i, pb_message_of(&field), &track);
            break;
        case 5:
            track.parent = field.value;
            break;
        case 8:
            track.kind = PF_TRACK_COUNTER;
            counter_read(i, pb_message_of(&field), &track);
            break;
        default:
            break;
        }
    return track;
}

void pf_descriptor_note(struct pf_import *i, struct pf_sequence *s, const struct pf_packet *p)
{
    struct process process;
    const struct pf_track track = track_read(i, pb_message_of(&p->descriptor), &process);
    const struct pf_note thread = {.kind = PF_NOTE_THREAD,
                                   .time_ns = p->time_ns,
                                   .uuid = track.parent,
                                   .pid = track.pid,
                                   .tid = track.tid,
                                   .text = track.thread_name};
    if (process.pid != 0)
        process_note(i, s, p, &process, track.uuid);
    if (track.kind == PF_TRACK_THREAD)
        pf_note(i, s, p->timed, thread);
}

void pf_track_take(struct pf_import *i, struct pb_reader descriptor)
{
    struct process process;
    const struct pf_track track = track_read(i, descriptor, &process);
    struct pf_track *had = pf_track_find(i, track.uuid);
    if (had != NULL) {
        *had = track;
        return;
    }
    if (i->track_count == TRACKS_MAX) {
        import_why(i->told, "there are more than %u tracks", TRACKS_MAX);
        return;
    }
    if (!array_grow(i->tracks, i->track_count + 1, &i->track_cap) ||
        !import_map_set(&i->track_at, track.uuid, (uint32_t)i->track_count)) {
        i->status = SKEIN_NO_MEMORY;
        return;
    }
    i->tracks[i->track_count++] = track;
}

/* "worker 12", of our own export: the thread of that name and tid. */
static void evidence_name(struct pf_import *i, struct pf_place place, const char *name)
{
    char text[TEXT_BYTES_MAX + 1];
    uint64_t tid = 0;
    size_t n = strnlen(name, TEXT_BYTES_MAX), end = n;
    while (end > 0 && name[end - 1] != ' ')
        end--;
    for (size_t k = end; k < n; k++)
        tid = name[k] >= '0' && name[k] <= '9' && tid < UINT32_MAX
                  ? tid * 10 + (uint64_t)(name[k] - '0')
                  : UINT32_MAX;
    memcpy(text, name, n);
    text[end > 0 ? end - 1 : n] = '\0';
    import_many_thread(i->many, place.process, place.thread, small(tid),
                       place.thread & ~SKEIN_STAND_IN, text);
}

struct pf_place pf_track_place(struct pf_import *i, uint64_t uuid, uint64_t time_ns)
{
    struct pf_track *track = pf_track_find(i, uuid), *of = track;
    struct pf_place place = {.process = PF_GLOBAL, .thread = uuid};
    bool counter = track != NULL && track->kind == PF_TRACK_COUNTER;
    if (track != NULL && track->kind == PF_TRACK_THREAD)
        return (struct pf_place){pf_process_of_track(i, track, time_ns), track->tid};
    for (unsigned depth = 0; of != NULL && depth < PARENTS_MAX; depth++) {
        if (of->kind == PF_TRACK_THREAD && counter) /* its curve is the thread's */
            return (struct pf_place){pf_process_of_track(i, of, time_ns), of->tid};
        if (of->kind == PF_TRACK_PROCESS || of->kind == PF_TRACK_THREAD) {
            place.process = pf_process_of_track(i, of, time_ns);
            break;
        }
        of = pf_track_find(i, of->parent);
    }
    const char *name = track != NULL ? pf_text(i, track->name) : "";
    bool process = track != NULL && track->kind == PF_TRACK_PROCESS;
    if (counter || process) { /* all of a process's on one thread */
        place.thread = 0;
        name = "process";
    }
    /* A stand-in for each track: its slices nest in themselves alone. Threads of the system are below. */
    uint64_t number = place.thread | SKEIN_STAND_IN;
    place.thread = number;
    if (PF_OURS(uuid) && strncmp(name, PF_EVIDENCE, sizeof PF_EVIDENCE - 1) == 0)
        evidence_name(i, place, name + sizeof PF_EVIDENCE - 1);
    else
        import_many_thread(i->many, place.process, place.thread, 0, number,
                           name[0] != '\0' ? name : "track");
    return place;
}
