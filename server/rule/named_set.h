/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of things that people put under names and that agents are pushed: rules, and
 * policies. Put, get, delete, list, load and save, with a generation that tells agents of a change.
 * A change is committed before it is answered, before any agent hears of it, and before it is in
 * the set. The control lock guards what says so.
 */
#ifndef NAMED_SET_H
#define NAMED_SET_H

#include <pthread.h>

#include "catalog.h"
#include "events.h"
#include "named.h"
#include "pushed_set.h"

/* The first member of each thing in a set. */
struct named_item {
    struct named_item *next; /* by name */
    char name[64];
    cJSON *json;          /* checked, without state */
    char *selector;       /* in json */
    uint64_t generation;  /* the set's, when this was put; 0: before this collector began */
    enum save_state save; /* the counters beside the text */
    size_t pushed_bytes;  /* in a message to agents, where it is pushed */
};

/* Where the sets differ. `context` is the set's. */
struct named_kind {
    const char *noun, *folder; /* "rule", "rules": of the API, of log lines */
    enum fleet_set set;
    /* Gives a checked copy in its full form; NULL, and "path: what is wrong" in error. */
    cJSON *(*check)(const char *name, const cJSON *json, char *error, size_t error_bytes);
    /* Makes a thing of the checked text; `item` is the set's. NULL: no memory. */
    struct named_item *(*make)(const cJSON *json);
    void (*free)(struct named_item *item);
    /* inherit copies the counters of the old one; take, once it is replaced, what cannot be
     * copied. */
    void (*inherit)(struct named_item *fresh, const struct named_item *old);
    void (*take)(struct named_item *fresh,
                 struct named_item *old); /* NULL: there is no such thing */
    void (*save)(void *context, struct named_item *item, const char *json);
    void (*drop)(struct catalog *catalog, const char *name);
    cJSON *(*state)(void *context, struct named_item *item); /* the text and `state` */
    void (*changed)(void *context, const char *name, const struct named_item *item); /* or NULL */
    /* Whether agents have it, and as its text is without `notify`; NULL: they have all, as `list`
     * writes them. */
    bool (*is_pushed)(const struct named_item *item);
    /* as struct pushed_set has it */
    cJSON *(*list)(void *context, const struct fleet_agent *agent, uint64_t base, cJSON *removed);
};

struct named_set {
    const struct named_kind *kind;
    void *context;
    struct control *control; /* the fleet's */
    struct catalog *catalog;
    struct events *events;
    pthread_mutex_t changing; /* people change one thing at a time; taken before the control lock */
    struct named_item *list CONTROL_GUARDED;
    struct pushed_set pushed CONTROL_GUARDED;
    /* Of the change that is being saved: what is put, or the name of what is deleted. */
    struct named_item *put CONTROL_GUARDED;
    const char *deleted CONTROL_GUARDED;
};

void named_set_init(struct named_set *set, const struct named_kind *kind, void *context,
                    struct fleet *fleet, struct catalog *catalog, struct events *events);
void named_set_fini(struct named_set *set);
struct named_item *named_set_find(const struct named_set *set, const char *name) CONTROL_LOCKED;
/* Makes a thing that is in no set yet. Owns json from here on. NULL: no memory. */
struct named_item *named_item_make(const struct named_kind *kind, const char *name, cJSON *json);
void named_item_free(const struct named_kind *kind, struct named_item *item); /* NULL: nothing */
void named_set_insert(struct named_set *set, struct named_item *item) CONTROL_LOCKED;
/* A number in checked text; 0 where it, or the object, is absent. */
uint64_t named_number(const cJSON *object, const char *key);
/* Inserts a thing from the catalog. NULL: it is unusable, and that is logged. */
struct named_item *named_set_load(struct named_set *set, const char *name,
                                  const char *json) CONTROL_LOCKED;
void named_set_mark(struct named_set *set, struct named_item *item) CONTROL_LOCKED;
void named_set_save(struct named_set *set) CONTROL_LOCKED; /* as control.h's hooks */
void named_set_saved(struct named_set *set, bool ok) CONTROL_LOCKED;
void named_set_publish(struct named_set *set, const char *name, const char *change) CONTROL_LOCKED;

/* ---- for HTTP; any thread; JSON handed out is the caller's ---- */

/* Creates or replaces a thing; with change->patch, changes members of one. SKEIN_OK, with the thing
 * and its state in *out; SKEIN_INVALID, with "path: what is wrong" in error; SKEIN_NOT_FOUND (there
 * is nothing to patch); SKEIN_EXISTS (change->when does not hold); SKEIN_TOO_LARGE (the set no
 * longer fits a message); SKEIN_IO and others when it could not be saved. */
int named_set_put(struct named_set *set, const char *name, const struct named_change *change,
                  bool *created, cJSON **out, char *error, size_t error_bytes);
int named_set_get(struct named_set *set, const char *name, cJSON **out); /* or SKEIN_NOT_FOUND */
cJSON *named_set_list(struct named_set *set);                            /* an array, by name */
/* SKEIN_OK, SKEIN_NOT_FOUND, SKEIN_EXISTS (`when` does not hold), SKEIN_IO */
int named_set_delete(struct named_set *set, const char *name, const struct named_if *when);
/* A copy of the selector, to be freed. SKEIN_OK, SKEIN_NOT_FOUND, SKEIN_NO_MEMORY */
int named_set_selector(struct named_set *set, const char *name, char **out);

#endif
