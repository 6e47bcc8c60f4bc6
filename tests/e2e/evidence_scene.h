/* SPDX-License-Identifier: Apache-2.0
 *
 * A collector, an agent that may be confined, and evidence_subject.c under `skein run` as anybody
 * runs a program; what captures and `skein` say of it, and what it says of itself. One thread owns
 * a struct scene.
 */
#ifndef EVIDENCE_SCENE_H
#define EVIDENCE_SCENE_H

#include "evidence_subject.h"
#include "whole.h"

#define SCENE_NOBODY "65534" /* an ordinary user */
#define SCENE_OTHER  "65533" /* another one */

struct scene {
    struct whole w;
    pid_t service;
    struct subject_page *page;
    char *known; /* the file that the program has opened */
    char *page_file, *out;
    char id[ID_TEXT_BYTES]; /* of the last capture */
};

/* Both daemons run, the agent with these words before it (NULL: none) and its vitals. */
void scene_init(struct scene *s, const char *agent_more, const char *const *agent_under);
void scene_fini(struct scene *s);

/* The program, with these words before it, as the service "subject"; it is recorded and has taken
 * `turns` turns. */
void scene_subject(struct scene *s, const char *const *under, uint64_t turns);
void scene_wait_turns(struct scene *s, uint64_t turns); /* of both threads, in all */

/* A capture of the last pre_ms, with these members more ("" or ",…"), which must be complete. */
cJSON *scene_capture(struct scene *s, unsigned pre_ms, const char *members);
/* What the capture of one process says of a kind; it must be there. */
const cJSON *scene_evidence(const cJSON *capture, const char *kind);

/* Runs `skein` with these words, which must succeed: all that it says, freed by the caller. */
char *scene_said(struct scene *s, const char *const *words);
#define SCENE_SAID(s, ...) scene_said(s, (const char *const[]){__VA_ARGS__, NULL})
/* The same, as JSON. */
cJSON *scene_printed(struct scene *s, const char *const *words);
#define SCENE_PRINTED(s, ...) scene_printed(s, (const char *const[]){__VA_ARGS__, NULL})

/* The last capture in a file, "FOLDER/capture.skein", freed by the caller. */
char *scene_fetched(struct scene *s);
/* Its events of that name ("*"), by `skein cat`: an array. */
cJSON *scene_events(struct scene *s, const char *file, const char *name);

/* A number that may be a text, as those above 2^53 are; it must be there. */
uint64_t scene_u64(const cJSON *object, const char *name);
/* Member of "args". */
uint64_t scene_arg(const cJSON *event, const char *name);

/* How often the agent's log says this. */
size_t scene_log_count(const struct scene *s, const char *text);

/* What a number of the program was at a time (CLOCK_REALTIME, give or take slack_ns), as its turns
 * bound it. */
enum scene_number { SCENE_THREAD_NS, SCENE_PROCESS_NS, SCENE_GAVE_WAY };
struct bounds {
    uint64_t least, most;
};
struct bounds scene_bounds(const struct subject_turns *turns, enum scene_number number,
                           uint64_t time_ns, uint64_t slack_ns);
/* How much it grew between two times. */
struct bounds scene_growth(const struct subject_turns *turns, enum scene_number number,
                           uint64_t from_ns, uint64_t to_ns, uint64_t slack_ns);
/* How far the times of events may be from the program's clock: what the agent's clock is set off. */
uint64_t scene_slack_ns(const struct scene *s);

#endif
