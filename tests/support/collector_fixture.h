/* SPDX-License-Identifier: Apache-2.0
 *
 * A whole collector in the test's process, on free ports and a folder of its own, and calls to its
 * HTTP API. Failures end the test through libcheck.
 */
#ifndef COLLECTOR_FIXTURE_H
#define COLLECTOR_FIXTURE_H

#include "collector.h"
#include "fake_wire_agent.h"
#include "http_client.h"

struct fixture {
    struct collector collector;
    char *folder, *config_path;
    const char *store, *members; /* further settings, as given to fixture_start_with */
    uint16_t data_port, control_port, http_port;
    struct wire_agent agent;
};

/* With an agent that has said HELLO. Its lease is an hour: it is silent until the test speaks, and a
 * busy machine may hold the test up. */
void fixture_start(struct fixture *f);
void fixture_lease_end(struct fixture *f); /* now */
/* The same with the members of "store", and further ones of the whole with a comma before (NULL:
 * the usual). */
void fixture_start_with(struct fixture *f, const char *store, const char *members);
void fixture_restart(struct fixture *f); /* the collector alone */
/* The same in two steps: in between its folder is the test's. */
void fixture_halt(struct fixture *f);
void fixture_resume(struct fixture *f);
void fixture_stop(struct fixture *f);

/* Writes a config file for these ports and this folder. */
void fixture_write_config(struct fixture *f);

/* One request; body is JSON or NULL, header one "Name: value" or NULL. The caller frees with
 * http_response_fini. */
void call(const struct fixture *f, const char *method, const char *path, const char *body,
          const char *header, struct http_response *out);
/* The same, with the status checked and the body as JSON; the caller frees. */
cJSON *call_json(const struct fixture *f, const char *method, const char *path, const char *body,
                 long status);
/* The status, and `field` of the problem is `field` (NULL: none). */
void expect_problem(const struct fixture *f, const char *method, const char *path, const char *body,
                    long status, const char *field);

/* The member at "a.b.0.c"; NULL where there is none. */
const cJSON *at_path(const cJSON *json, const char *path);
const char *text_at(const cJSON *json, const char *path);
double number_at(const cJSON *json, const char *path);

/* Waits until GET path has `text` at `member`. */
void wait_for_text(const struct fixture *f, const char *path, const char *member, const char *text);

#endif
