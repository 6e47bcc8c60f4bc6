/* SPDX-License-Identifier: Apache-2.0
 *
 * See import_perfetto_lives.h.
 */
#include "import_perfetto_lives.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "checksum.h"
#include "import_perfetto_int.h"

#define RUNS_MAX  1000000u
#define RUN_NOTES 256u /* of a thread: one that is renamed more often says nothing more */

enum { KIND_PROGRAM, KIND_NAME };

void pf_lives_fini(struct pf_lives *l)
{
    struct import_map *maps[] = {&l->run_at, &l->said,  &l->owner_of,
                                 &l->since,  &l->epoch, &l->is_shared};
    for (size_t k = 0; k < sizeof maps / sizeof *maps; k++)
        import_map_fini(maps[k]);
    import_lives_fini(&l->lives);
    free(l->notes);
    free(l->runs);
    free(l->owners);
    free(l->shared);
}

/* ---- the pass that notes ---- */

/* Its place + 1; 0: there are too many, or no memory. */
static uint32_t note_put(struct pf_import *i, struct pf_note note)
{
    struct pf_lives *l = &i->lives;
    if (l->count >= PF_NOTES_MAX) {
        import_why(i->told, "more than %u records say who has which pid; later ones are left out",
                   PF_NOTES_MAX);
        return 0;
    }
    if (!array_grow(l->notes, l->count + 1, &l->cap)) {
        i->status = SKEIN_NO_MEMORY;
        return 0;
    }
    l->notes[l->count++] = note;
    return (uint32_t)l->count;
}

/* Whether the map holds another value than this, which it holds from now on. */
static bool is_other(struct pf_import *i, struct import_map *map, uint64_t key, uint32_t value)
{
    if (import_map_get(map, key) == value)
        return false;
    if (map->count < PF_NOTES_MAX && !import_map_set(map, key, value))
        i->status = SKEIN_NO_MEMORY;
    return true;
}

static struct pf_run *run_get(struct pf_import *i, uint32_t tid)
{
    struct pf_lives *l = &i->lives;
    uint32_t at = import_map_get(&l->run_at, tid);
    if (at != IMPORT_MAP_NONE)
        return &l->runs[at];
    if (l->run_count >= RUNS_MAX)
        return NULL;
    if (!array_grow(l->runs, l->run_count + 1, &l->run_cap) ||
        !import_map_set(&l->run_at, tid, (uint32_t)l->run_count)) {
        i->status = SKEIN_NO_MEMORY;
        return NULL;
    }
    l->runs[l->run_count] = (struct pf_run){.tid = tid};
    return &l->runs[l->run_count++];
}

/* The last time goes before all else of that time: who leaves a CPU does so before the next one comes. */
static void run_note(struct pf_import *i, const struct pf_run *run, bool last)
{
    (void)note_put(i, (struct pf_note){.kind = PF_NOTE_SEEN,
                                       .time_ns = run->last_ns,
                                       .order = last ? 0 : (uint32_t)i->lives.count + 1,
                                       .tid = run->tid,
                                       .text = run->text});
}

/* Who has this pid may be another one from here on: what is said of it is news again. */
static void epoch_begin(struct pf_import *i, uint32_t pid)
{
    struct pf_lives *l = &i->lives;
    uint32_t run = import_map_get(&l->run_at, pid), epoch = import_map_get(&l->epoch, pid);
    (void)is_other(i, &l->epoch, pid, epoch != IMPORT_MAP_NONE ? epoch + 1 : 0);
    if (run == IMPORT_MAP_NONE || l->runs[run].text == 0)
        return;
    run_note(i, &l->runs[run], true);
    l->runs[run].text = 0;
}

/* Traces say the same again and again: only what differs from the last time is noted. */
static bool is_news(struct pf_import *i, const struct pf_note *note)
{
    struct pf_lives *l = &i->lives;
    const uint64_t key[4] = {note->uuid, note->kind,
                             note->kind == PF_NOTE_THREAD ? note->tid : note->pid,
                             import_map_get(&l->epoch, note->pid)};
    if (note->kind > PF_NOTE_NAME) {
        epoch_begin(i, note->pid);
        return true;
    }
    bool other = is_other(i, &l->said, checksum64(key, sizeof key), note->text);
    if (note->kind == PF_NOTE_THREAD)
        other |= is_other(i, &l->owner_of, note->tid, note->maker != 0 ? note->maker : note->pid);
    return other;
}

void pf_note(struct pf_import *i, struct pf_sequence *s, bool dated, struct pf_note note)
{
    if (!is_news(i, &note))
        return;
    i->lives.any_exec |= note.kind == PF_NOTE_EXEC;
    note.order = (uint32_t)i->lives.count + 1;
    note.undated = dated ? 0 : s->undated;
    if (!dated)
        note.time_ns = s->last_ns;
    uint32_t at = note_put(i, note);
    if (!dated && at != 0)
        s->undated = at;
}

void pf_note_since(struct pf_import *i, struct pf_sequence *s, uint32_t pid, uint64_t boot_ns)
{
    struct pf_note note = {.kind = PF_NOTE_BORN, .pid = pid};
    uint64_t key[1] = {boot_ns};
    uint32_t since = (uint32_t)(checksum64(key, sizeof key) >> 33); /* any number of it will do */
    if (is_other(i, &i->lives.since, pid, since) &&
        pf_time(i, s, PF_BOOTTIME, boot_ns, &note.time_ns))
        pf_note(i, s, true, note);
}

void pf_notes_date(struct pf_import *i, struct pf_sequence *s, uint64_t time_ns)
{
    for (uint32_t at = s->undated; at != 0; at = i->lives.notes[at - 1].undated)
        i->lives.notes[at - 1].time_ns = time_ns;
    s->undated = 0;
}

/* Of a thread that is called the same again and again, the first time and the last are kept. */
void pf_note_seen(struct pf_import *i, uint64_t time_ns, uint64_t tid, const char *comm)
{
    uint32_t text = pf_text_put(i, (const uint8_t *)comm, strlen(comm));
    struct pf_run *run =
        tid > 0 && tid <= INT32_MAX && text != 0 ? run_get(i, (uint32_t)tid) : NULL;
    if (run == NULL)
        return;
    if (run->text == text) {
        run->last_ns = time_ns > run->last_ns ? time_ns : run->last_ns;
        return;
    }
    if (run->notes++ >= RUN_NOTES)
        return;
    if (run->text != 0)
        run_note(i, run, true);
    run->text = text;
    run->last_ns = time_ns;
    run_note(i, run, false);
}

/* ---- the order of time ---- */

static int notes_compare(const void *a, const void *b)
{
    const struct pf_note *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int owners_compare(const void *a, const void *b)
{
    const struct pf_owner *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int shared_compare(const void *a, const void *b)
{
    const struct pf_shared *x = a, *y = b;
    if (x->uuid != y->uuid)
        return x->uuid < y->uuid ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* The last that says so up to there, else the first. */
static uint32_t owner_then(const struct pf_lives *l, uint32_t tid, size_t rank)
{
    size_t at;
    array_find(at, 0, l->owner_count,
               l->owners[at].tid < tid || (l->owners[at].tid == tid && l->owners[at].at <= rank));
    if (at > 0 && l->owners[at - 1].tid == tid)
        return l->owners[at - 1].pid;
    return at < l->owner_count && l->owners[at].tid == tid ? l->owners[at].pid : tid;
}

/* A thread is of its maker's process, which may be told only later. */
static void made_settle(struct pf_lives *l, size_t k)
{
    size_t at;
    struct pf_note *n = &l->notes[k];
    n->pid = owner_then(l, n->maker, k);
    array_find(at, 0, l->owner_count,
               l->owners[at].tid < n->tid || (l->owners[at].tid == n->tid && l->owners[at].at < k));
    if (at < l->owner_count && l->owners[at].tid == n->tid && l->owners[at].at == k)
        l->owners[at].pid = n->pid;
}

static void owners_settle(struct pf_import *i)
{
    struct pf_lives *l = &i->lives;
    for (size_t k = 0; k < l->count; k++) {
        const struct pf_note *n = &l->notes[k];
        if (n->kind != PF_NOTE_THREAD && n->kind != PF_NOTE_BORN)
            continue;
        if (!array_grow(l->owners, l->owner_count + 1, &l->owner_cap)) {
            i->status = SKEIN_NO_MEMORY;
            return;
        }
        l->owners[l->owner_count++] =
            (struct pf_owner){.tid = n->kind == PF_NOTE_THREAD ? n->tid : n->pid,
                              .pid = n->maker != 0 ? n->maker : n->pid,
                              .at = k};
    }
    if (l->owner_count > 0)
        qsort(l->owners, l->owner_count, sizeof *l->owners, owners_compare);
    for (size_t k = 0; k < l->count; k++) /* by time: who made a maker is known */
        if (l->notes[k].maker != 0)
            made_settle(l, k);
}

/* Pids to which several tracks give names that differ: they are of several processes, one after the other,
 * or each in a world of its own. */
static void shared_settle(struct pf_import *i)
{
    struct pf_lives *l = &i->lives;
    struct import_map first = {.count = 0};
    for (size_t k = 0; k < l->count && i->status == SKEIN_OK; k++) {
        const struct pf_note *n = &l->notes[k];
        const uint64_t key = (uint64_t)n->kind << 32 | n->pid;
        bool says = n->uuid != 0 && (n->kind == PF_NOTE_NAME || n->kind == PF_NOTE_PROGRAM);
        uint32_t at = says ? import_map_get(&first, key) : IMPORT_MAP_NONE;
        bool room = !says || at != IMPORT_MAP_NONE || import_map_set(&first, key, (uint32_t)k);
        if (at != IMPORT_MAP_NONE && l->notes[at].uuid != n->uuid && l->notes[at].text != n->text)
            room = import_map_set(&l->is_shared, n->pid, 1);
        if (!room)
            i->status = SKEIN_NO_MEMORY;
    }
    import_map_fini(&first);
    for (size_t k = 0; k < l->count && i->status == SKEIN_OK; k++) {
        const struct pf_note *n = &l->notes[k];
        if (n->uuid == 0 || n->kind == PF_NOTE_THREAD ||
            import_map_get(&l->is_shared, n->pid) == IMPORT_MAP_NONE)
            continue;
        if (array_grow(l->shared, l->shared_count + 1, &l->shared_cap))
            l->shared[l->shared_count++] =
                (struct pf_shared){.uuid = n->uuid, .pid = n->pid, .at = k};
        else
            i->status = SKEIN_NO_MEMORY;
    }
    if (l->shared_count > 0)
        qsort(l->shared, l->shared_count, sizeof *l->shared, shared_compare);
}

static void live(struct pf_import *i, size_t k)
{
    struct pf_lives *l = &i->lives;
    const struct pf_note *n = &l->notes[k];
    const char *text = pf_text(i, n->text);
    const struct import_comm comm = {text, strlen(text)};
    /* Where the kernel tells of each exec, another name of a thread is no other program. */
    const struct import_comm seen = {text, l->any_exec ? 0 : comm.n};
    switch ((enum pf_note_kind)n->kind) {
    case PF_NOTE_SEEN:
        import_lives_seen(&l->lives, k, owner_then(l, n->tid, k), n->tid, seen);
        break;
    case PF_NOTE_PROGRAM:
    case PF_NOTE_NAME:
        import_lives_named(&l->lives, k, n->pid, n->kind == PF_NOTE_NAME ? KIND_NAME : KIND_PROGRAM,
                           n->text, import_map_get(&l->is_shared, n->pid) != IMPORT_MAP_NONE);
        break;
    case PF_NOTE_EXEC:
        import_lives_exec(&l->lives, k, n->pid, comm);
        break;
    case PF_NOTE_BORN:
        import_lives_born(&l->lives, k, n->pid);
        break;
    case PF_NOTE_ENDED:
        import_lives_ended(&l->lives, n->pid);
        break;
    case PF_NOTE_THREAD:
        break;
    }
}

/* ---- what they come to ---- */

/* How many notes are not later; what these say holds. */
static size_t rank_of(const struct pf_lives *l, uint64_t time_ns)
{
    size_t at;
    array_find(at, 0, l->count, l->notes[at].time_ns <= time_ns);
    return at > 0 ? at - 1 : 0;
}

static uint64_t process_key(struct pf_import *i, uint32_t pid, size_t rank)
{
    uint64_t key = (uint64_t)import_lives_then(&i->lives.lives, pid, rank) << 32 | pid;
    import_many_process(i->many, key, pid, "", "");
    return key;
}

uint64_t pf_process(struct pf_import *i, uint32_t pid, uint64_t time_ns)
{
    return process_key(i, pid, rank_of(&i->lives, time_ns));
}

/* The process of a track whose pid others have, too: by the last that it said of itself up to there. */
static uint64_t process_of_uuid(struct pf_import *i, uint64_t uuid, uint32_t pid, size_t rank)
{
    size_t at;
    const struct pf_lives *l = &i->lives;
    array_find(at, 0, l->shared_count,
               l->shared[at].uuid < uuid ||
                   (l->shared[at].uuid == uuid && l->shared[at].at <= rank));
    if (at > 0 && l->shared[at - 1].uuid == uuid)
        rank = l->shared[at - 1].at;
    else if (at < l->shared_count && l->shared[at].uuid == uuid)
        rank = l->shared[at].at;
    return process_key(i, pid, rank);
}

uint64_t pf_process_of_track(struct pf_import *i, const struct pf_track *track, uint64_t time_ns)
{
    const struct pf_track *of = track;
    size_t rank = rank_of(&i->lives, time_ns);
    if (import_map_get(&i->lives.is_shared, track->pid) == IMPORT_MAP_NONE)
        return process_key(i, track->pid, rank);
    if (track->kind == PF_TRACK_THREAD)
        of = pf_track_find(i, track->parent);
    bool same = of != NULL && of->kind == PF_TRACK_PROCESS && of->pid == track->pid;
    return process_of_uuid(i, same ? of->uuid : 0, track->pid, rank);
}

uint32_t pf_pid_of(const struct pf_import *i, uint32_t tid, uint64_t time_ns)
{
    return owner_then(&i->lives, tid, rank_of(&i->lives, time_ns));
}

uint64_t pf_process_since(const struct pf_import *i, uint32_t pid, uint64_t time_ns)
{
    const struct pf_lives *l = &i->lives;
    uint64_t at = import_lives_since(&l->lives, pid, rank_of(l, time_ns));
    return at < l->count ? l->notes[at].time_ns : 0;
}

/* Names: what the kernel ran, then the command line, then what it calls itself; the last one counts. */
static void names_settle(struct pf_import *i)
{
    static const uint8_t kinds[] = {PF_NOTE_EXEC, PF_NOTE_PROGRAM, PF_NOTE_NAME, PF_NOTE_THREAD};
    const struct pf_lives *l = &i->lives;
    for (size_t kind = 0; kind < sizeof kinds; kind++)
        for (size_t k = 0; k < l->count; k++) {
            const struct pf_note *n = &l->notes[k];
            if (n->kind != kinds[kind])
                continue;
            bool shared = import_map_get(&l->is_shared, n->pid) != IMPORT_MAP_NONE;
            uint64_t process =
                shared ? process_of_uuid(i, n->uuid, n->pid, k) : process_key(i, n->pid, k);
            if (n->kind == PF_NOTE_THREAD)
                import_many_thread(i->many, process, n->tid, n->tid, 0, pf_text(i, n->text));
            else
                import_many_process(i->many, process, n->pid, pf_text(i, n->text), "");
        }
}

void pf_lives_settle(struct pf_import *i)
{
    struct pf_lives *l = &i->lives;
    for (size_t k = 0; k < l->run_count; k++)
        if (l->runs[k].text != 0)
            run_note(i, &l->runs[k], true);
    if (l->count > 0)
        qsort(l->notes, l->count, sizeof *l->notes, notes_compare);
    owners_settle(i);
    shared_settle(i);
    for (size_t k = 0; k < l->count && i->status == SKEIN_OK; k++)
        live(i, k);
    import_lives_sort(&l->lives);
    if (l->lives.no_memory)
        i->status = SKEIN_NO_MEMORY;
    if (i->status == SKEIN_OK)
        names_settle(i);
}
