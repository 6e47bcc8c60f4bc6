/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose a pid, a tid and a process's track of a Perfetto trace are at a time. What says so stands in any
 * order in the file: a pass of its own notes it, and pf_lives_settle puts it in the order of time. For the
 * import of Perfetto's traces (import_perfetto_int.h) alone.
 */
#ifndef IMPORT_PERFETTO_LIVES_H
#define IMPORT_PERFETTO_LIVES_H

#include "import_lives.h"

struct pf_import;
struct pf_sequence;
struct pf_track;

#define PF_NOTES_MAX 1000000u

enum pf_note_kind {
    PF_NOTE_SEEN,    /* the thread is called so by the kernel */
    PF_NOTE_THREAD,  /* it is of this process, and is called so where `text` is not 0 */
    PF_NOTE_PROGRAM, /* the process runs this program, as its command line has it */
    PF_NOTE_NAME,    /* it calls itself so */
    PF_NOTE_EXEC,    /* from here on */
    PF_NOTE_BORN,
    PF_NOTE_ENDED
};

struct pf_note {
    uint64_t time_ns, uuid; /* uuid: of the process's track that says so; 0: none */
    uint32_t order;         /* in the file; 0: before all others of its time */
    uint32_t pid, tid;
    uint32_t
        maker; /* tid of the thread that made this one, of whose process it is; 0: pid says it */
    uint32_t text;    /* of texts, + 1 */
    uint32_t undated; /* the one before of its sequence that has no time either, + 1 */
    uint8_t kind;     /* enum pf_note_kind */
};

struct pf_run { /* a thread that is called so, from a note to last_ns */
    uint32_t tid, text, notes;
    uint64_t last_ns;
};

struct pf_owner {
    uint32_t tid, pid;
    size_t at; /* rank of the note */
};

struct pf_shared { /* the track of a process whose pid others have, too */
    uint64_t uuid;
    uint32_t pid;
    size_t at;
};

struct pf_lives {
    struct pf_note *notes; /* as in the file; once settled, by time */
    size_t count, cap;
    struct import_map run_at; /* of a tid: in `runs` */
    struct pf_run *runs;
    size_t run_count, run_cap;
    struct import_map said;     /* the text that a track or a pid said last, by both and the kind */
    struct import_map owner_of; /* the pid, or else the maker, that a tid had last */
    struct import_map since;    /* when the process that a pid had last had begun */
    struct import_map epoch;    /* of a pid: how often another process may have got it */
    bool any_exec;              /* the kernel tells of them */
    /* settled */
    struct import_lives lives;
    struct pf_owner *owners; /* by tid and rank */
    size_t owner_count, owner_cap;
    struct import_map is_shared; /* pids to which tracks give names that differ */
    struct pf_shared *shared;    /* by uuid and rank */
    size_t shared_count, shared_cap;
};

void pf_lives_fini(struct pf_lives *l);

/* ---- the pass that notes ---- */

/* Its time is `time_ns`, or, where it has none, that of what follows in its sequence. */
void pf_note(struct pf_import *i, struct pf_sequence *s, bool dated, struct pf_note note);
void pf_notes_date(struct pf_import *i, struct pf_sequence *s, uint64_t time_ns);
/* The process says when it had begun, on the clock since boot. */
void pf_note_since(struct pf_import *i, struct pf_sequence *s, uint32_t pid, uint64_t boot_ns);
void pf_note_seen(struct pf_import *i, uint64_t time_ns, uint64_t tid, const char *comm);
void pf_lives_settle(struct pf_import *i);

/* ---- what they come to ---- */

/* The process that has this pid then, as a key of import_many's. */
uint64_t pf_process(struct pf_import *i, uint32_t pid, uint64_t time_ns);
uint64_t pf_process_of_track(struct pf_import *i, const struct pf_track *track, uint64_t time_ns);
/* The pid that this tid belongs to then; itself, where nothing says. */
uint32_t pf_pid_of(const struct pf_import *i, uint32_t tid, uint64_t time_ns);
/* When the life that the pid has then began. */
uint64_t pf_process_since(const struct pf_import *i, uint32_t pid, uint64_t time_ns);

#endif
