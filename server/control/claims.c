/* SPDX-License-Identifier: Apache-2.0
 *
 * See claims.h. A host is in the map, in its agent's list (oldest first), and, until it is saved,
 * in the list of changes. When an agent is forgotten its hosts stay, without an agent: what is
 * stored of them is still theirs, and no other agent may add to it.
 */
#include "claims.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "idmap.h"

struct host {
    uint8_t id[8];
    uint64_t agent;
    bool kept;            /* it is on disk */
    struct host *younger; /* of the same agent */
};
struct holder {
    struct host *oldest, *youngest;
    size_t count;
};
struct change {
    struct change *next;
    uint8_t id[8];
    uint64_t agent; /* 0: forgotten */
    bool saving;
};

struct claims {
    struct catalog *catalog;
    pthread_mutex_t mutex;
    struct idmap hosts, holders;
    struct change *changes, **changes_tail;
};

static struct holder *holder_of(struct claims *c, uint64_t agent)
{
    struct holder *holder = idmap_get(&c->holders, idmap_key_of(&agent).id);
    if (holder != NULL || (holder = calloc(1, sizeof *holder)) == NULL)
        return holder;
    if (idmap_put(&c->holders, idmap_key_of(&agent).id, holder) == SKEIN_OK)
        return holder;
    free(holder);
    return NULL;
}

static int claim_note(struct claims *c, const uint8_t id[8], uint64_t agent)
{
    struct change *change = c->catalog != NULL ? calloc(1, sizeof *change) : NULL;
    if (c->catalog == NULL)
        return SKEIN_OK;
    if (change == NULL)
        return SKEIN_NO_MEMORY;
    memcpy(change->id, id, sizeof change->id);
    change->agent = agent;
    *c->changes_tail = change;
    c->changes_tail = &change->next;
    return SKEIN_OK;
}

static void oldest_drop(struct claims *c, struct holder *holder)
{
    struct host *host = holder->oldest;
    if (claim_note(c, host->id, 0) != SKEIN_OK)
        return; /* no memory: the next call makes up for it */
    holder->oldest = host->younger;
    holder->count--;
    idmap_remove(&c->hosts, idmap_key_of(host->id).id);
    free(host);
}

/* Adds a host that nobody has. */
static int claim_add(struct claims *c, const uint8_t id[8], uint64_t agent)
{
    struct holder *holder = holder_of(c, agent);
    struct host *host = holder != NULL ? calloc(1, sizeof *host) : NULL;
    if (host == NULL || idmap_put(&c->hosts, idmap_key_of(id).id, host) != SKEIN_OK) {
        free(host);
        return SKEIN_NO_MEMORY;
    }
    memcpy(host->id, id, sizeof host->id);
    host->agent = agent;
    if (holder->oldest == NULL)
        holder->oldest = host;
    else
        holder->youngest->younger = host;
    holder->youngest = host;
    holder->count++;
    while (holder->count > CLAIMS_PER_AGENT) {
        size_t before = holder->count;
        oldest_drop(c, holder);
        if (holder->count == before)
            break;
    }
    return SKEIN_OK;
}

int claims_take(struct claims *c, const struct process_uid *process, uint64_t agent)
{
    int status = SKEIN_OK;
    pthread_mutex_lock(&c->mutex);
    const struct host *host = idmap_get(&c->hosts, idmap_key_of(process->bytes).id);
    if (host != NULL)
        status = host->agent == agent ? SKEIN_OK : SKEIN_DENIED;
    else if ((status = claim_note(c, process->bytes, agent)) == SKEIN_OK)
        status = claim_add(c, process->bytes, agent);
    pthread_mutex_unlock(&c->mutex);
    return status;
}

bool claims_are_kept(struct claims *c, const struct process_uid *process)
{
    pthread_mutex_lock(&c->mutex);
    const struct host *host = idmap_get(&c->hosts, idmap_key_of(process->bytes).id);
    bool kept = c->catalog == NULL || (host != NULL && host->kept);
    pthread_mutex_unlock(&c->mutex);
    return kept;
}

/* ---- saving: the claims that came while the catalog wrote wait for the next time ---- */

bool claims_dirty(struct claims *c)
{
    pthread_mutex_lock(&c->mutex);
    bool dirty = c->changes != NULL;
    pthread_mutex_unlock(&c->mutex);
    return dirty;
}

void claims_save(struct claims *c)
{
    pthread_mutex_lock(&c->mutex);
    for (struct change *change = c->changes; change != NULL; change = change->next) {
        change->saving = true;
        catalog_put_host(c->catalog, change->id, change->agent);
    }
    pthread_mutex_unlock(&c->mutex);
}

void claims_saved(struct claims *c)
{
    pthread_mutex_lock(&c->mutex);
    while (c->changes != NULL && c->changes->saving) {
        struct change *change = c->changes;
        struct host *host = idmap_get(&c->hosts, idmap_key_of(change->id).id);
        if (host != NULL && host->agent == change->agent)
            host->kept = true;
        c->changes = change->next;
        free(change);
    }
    if (c->changes == NULL)
        c->changes_tail = &c->changes;
    pthread_mutex_unlock(&c->mutex);
}

/* ---- life ---- */

struct load {
    struct claims *claims;
    int status;
};

static int host_load(void *context, const uint8_t id[8], uint64_t agent)
{
    struct load *load = context;
    struct host *host;
    load->status = claim_add(load->claims, id, agent);
    if (load->status == SKEIN_OK &&
        (host = idmap_get(&load->claims->hosts, idmap_key_of(id).id)) != NULL)
        host->kept = true;
    return load->status != SKEIN_OK;
}

int claims_new(struct catalog *catalog, struct claims **out)
{
    struct claims *c = *out = calloc(1, sizeof *c);
    if (c == NULL)
        return SKEIN_NO_MEMORY;
    c->catalog = catalog;
    c->changes_tail = &c->changes;
    pthread_mutex_init(&c->mutex, NULL);
    struct load load = {c, SKEIN_OK};
    int64_t rows = catalog != NULL ? catalog_hosts(catalog, host_load, &load) : 0;
    int status = rows < 0 ? (int)rows : load.status;
    if (status != SKEIN_OK)
        claims_free(out);
    return status;
}

void claims_free(struct claims **claims)
{
    struct claims *c = *claims;
    size_t at = 0;
    if (c == NULL)
        return;
    *claims = NULL;
    for (struct host *host; (host = idmap_next(&c->hosts, &at)) != NULL;)
        free(host);
    at = 0;
    for (struct holder *holder; (holder = idmap_next(&c->holders, &at)) != NULL;)
        free(holder);
    for (struct change *change; (change = c->changes) != NULL;) {
        c->changes = change->next;
        free(change);
    }
    idmap_fini(&c->hosts);
    idmap_fini(&c->holders);
    pthread_mutex_destroy(&c->mutex);
    free(c);
}
