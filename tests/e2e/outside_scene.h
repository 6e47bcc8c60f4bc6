/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole product beside a program that is watched from outside: what the tests of it share. One
 * thread. Included by the e2e tests of docs/outside.md alone.
 */
#ifndef OUTSIDE_SCENE_H
#define OUTSIDE_SCENE_H

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "whole.h"

#define SECOND UINT64_C(1000000000)
/* Other tests' processes are no business of this one's. */
#define OWN     "exe=" OUTSIDE_COUNTER "*"
#define COUNTER "\"watch\":{\"select\":[\"counter " OWN " label=zone=a\"]}"

static struct whole w;
static pid_t counter;

static inline void counter_end(void)
{
    if (counter > 0)
        (void)spawn_stop(counter, SIGKILL, 0);
    counter = 0;
}

static inline void tear_down(void)
{
    counter_end();
    whole_fini(&w);
}

static inline void both_start(const char *agent_more)
{
    whole_init(&w, NULL, agent_more);
    whole_collector_start(&w);
    whole_agent_start(&w);
}

static inline void counter_start(const char *how, const char *number)
{
    const char *const argv[] = {OUTSIDE_COUNTER, how, number, NULL};
    counter = spawn(argv, &(struct spawn_options){.out_file = NULL});
}

/* `skein watch-process …`: its exit status, and what it said. */
static inline int watch_process(const char *a, const char *b, const char *c, char *said,
                                size_t bytes)
{
    char *file = whole_path(&w, "said");
    const char *const argv[] = {SKEIN_PROGRAM, "watch-process", "--socket", w.socket, a, b, c,
                                NULL};
    (void)remove(file); /* spawn() appends */
    int status = spawn_wait(spawn(argv, &(struct spawn_options){.out_file = file}), 0);
    size_t n;
    char *text = file_read(file, &n);
    snprintf(said, bytes, "%.*s", (int)n, text);
    free(text);
    free(file);
    return status;
}

static inline cJSON *captured(const char *body, char id[ID_TEXT_BYTES])
{
    struct capture_id capture = whole_capture(&w, body);
    id_text(capture.bytes, id);
    return whole_capture_final(&w, id);
}

static inline const cJSON *target_of(const cJSON *capture)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItem(capture, "targets"), 0);
}

static inline const cJSON *evidence_of(const cJSON *target, const char *kind)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(target, "evidence"))
        if (strcmp(whole_str(item, "kind"), kind) == 0)
            return item;
    return NULL;
}

static inline void had(const cJSON *target, const char *kind)
{
    const cJSON *evidence = evidence_of(target, kind);
    ck_assert_msg(evidence != NULL, "no %s", kind);
    const char *state = whole_str(evidence, "state");
    ck_assert_msg(strcmp(state, "taken") == 0 || strcmp(state, "partial") == 0, "%s %s: %s", kind,
                  state, cJSON_Print(evidence));
    ck_assert_double_gt(whole_number(evidence, "events"), 0);
}

/* That the capture claims nothing of the target that is not so. */
static inline void no_lie(const cJSON *capture, const cJSON *target)
{
    const cJSON *verdict = cJSON_GetObjectItem(capture, "verdict");
    const cJSON *ledger = cJSON_GetObjectItem(target, "ledger");
    const cJSON *gap = cJSON_GetArrayItem(cJSON_GetObjectItem(ledger, "gaps"), 0);
    bool streamed = strcmp(whole_str(capture, "kind"), "stream") == 0; /* until somebody ends it */
    ck_assert_str_eq(whole_str(capture, "status"), streamed ? "stopped" : "incomplete");
    ck_assert(cJSON_IsFalse(cJSON_GetObjectItem(verdict, "complete")));
    ck_assert_msg(strstr(whole_str(verdict, "text"), "watched") != NULL, "%s",
                  whole_str(verdict, "text"));
    ck_assert_ptr_null(strstr(whole_str(verdict, "text"), "nothing lost"));
    ck_assert_str_eq(whole_str(target, "status"), "watched");
    ck_assert_msg(strstr(whole_str(target, "reason"), "no ring") != NULL, "%s",
                  whole_str(target, "reason"));
    ck_assert_ptr_nonnull(gap);
    ck_assert_str_eq(whole_str(gap, "reason"), "watched");
    ck_assert(cJSON_IsFalse(cJSON_GetObjectItem(ledger, "complete")));
    ck_assert_double_eq(whole_number(ledger, "produced"), whole_number(ledger, "stored"));
}

static inline double counted(const cJSON *capture, const char *status)
{
    const cJSON *n = cJSON_GetObjectItem(cJSON_GetObjectItem(capture, "target_counts"), status);
    return n != NULL ? n->valuedouble : 0;
}

#endif
