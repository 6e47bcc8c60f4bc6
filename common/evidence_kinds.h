/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of evidence (docs/evidence.md) by name, and which of them a capture asks for. Requests,
 * rules, policies and the command to an agent say that by the same two members:
 *
 *   {}                                   the usual kinds: all but threads and go
 *   {"threads":true}                     these, and threads and go
 *   {"evidence":["samples","threads"]}   the kinds of the list alone; [] is none
 *   {"evidence":["samples"],"threads":true}   the same
 *
 * Pure; any thread; hostile input expected.
 */
#ifndef EVIDENCE_KINDS_H
#define EVIDENCE_KINDS_H

#include "buf.h"
#include "json.h"

/* clang-format off */
#define EVIDENCE_KINDS(X)                                                                          \
    X(THREADS, "threads")                                                                          \
    X(SAMPLES, "samples")                                                                          \
    X(SCHED, "sched")                                                                              \
    X(VITALS, "vitals")                                                                            \
    X(FILES, "files")                                                                              \
    X(CRASH, "crash")                                                                              \
    X(GO, "go")
/* clang-format on */
enum evidence_kind {
#define X(kind, name) EVIDENCE_##kind,
    EVIDENCE_KINDS(X)
#undef X
        EVIDENCE_KIND_COUNT
};
#define EVIDENCE_BIT(kind)   (UINT32_C(1) << (kind))
#define EVIDENCE_KINDS_KNOWN "threads, samples, sched, vitals, files, crash, go"

const char *evidence_kind_name(enum evidence_kind kind);

/* All-zero: the usual kinds. */
struct evidence_wish {
    bool only;      /* no others than `kinds` */
    uint32_t kinds; /* asked for by name, EVIDENCE_BIT of each */
};
/* Whether the kind is asked for; one without a name here is a usual one. */
bool evidence_wish_has(const struct evidence_wish *wish, const char *kind);

/* Reads the two members of an object (NULL: it has none). `threads`: what holds where neither is
 * there. Fails r where the list names what is no kind, or `threads` is false and the list names it. */
void evidence_wish_get(struct json_reader *r, const cJSON *object, const char *path, bool threads,
                       struct evidence_wish *wish);
/* The same of a peer, which may be newer: kinds that nobody here knows are left out. */
void evidence_wish_told(struct json_reader *r, const cJSON *object, const char *path, bool threads,
                        struct evidence_wish *wish);
/* Adds them: nothing for the usual kinds. Whoever knows `threads` alone (agents before this list)
 * finds that, too. */
void evidence_wish_add(const struct evidence_wish *wish, cJSON *object);

/* "samples,vitals" as people type it, or "none". False, and nothing is set: it names no kind. */
bool evidence_kinds_parse(const char *text, uint32_t *kinds);
void evidence_kinds_put(struct buf *b, uint32_t kinds); /* "samples,vitals"; "none" */

#endif
