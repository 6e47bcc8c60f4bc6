/* SPDX-License-Identifier: Apache-2.0
 *
 * What a collector has on disk, opened: segments, index and databases; and what is said where one
 * of them is gone or damaged. Before any thread has started.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "collector_int.h"
#include "config_place.h"
#include "log.h"
#include "metrics.h"

bool collector_is_used(const struct collector *c)
{
    uint64_t segments, bytes, end_segment, end_offset;
    store_totals(c->store, &segments, &bytes, &end_segment, &end_offset);
    return end_segment != 0;
}

/* Somebody has emptied or removed it: nobody is to think that nothing was ever captured. */
static void loss_say(const struct collector *c)
{
    char backup[4352] = "none";
    if (catalog_is_new(c->catalog) && collector_is_used(c))
        state_backup_note_loss(c->config.folder);
    if (!state_backup_is_lost(c->config.folder))
        return;
    (void)state_backup_newest(c->config.folder, backup, sizeof backup);
    metrics_set(state_damaged, 1);
    log_error("state",
              "state.db was empty or gone although partitions are stored: captures, rules and "
              "policies of before are not known; skeind --restore-state brings a backup's back, or "
              "remove state.db.lost to go on without; no backups are made until then",
              "backup", backup, NULL);
}

/* Without tokens.db nobody gets in, but agents go on. */
static int collector_tokens_open(struct collector *c, char *error, size_t error_bytes)
{
    char to[4096];
    int status = tokens_open(c->config.folder, &c->tokens, error, error_bytes);
    if (status == SKEIN_CORRUPT && tokens_set_aside(c->config.folder, to, sizeof to) == SKEIN_OK) {
        log_error("skeind", "tokens.db is damaged: it is set aside, and a new one begun", "file",
                  to, NULL);
        status = tokens_open(c->config.folder, &c->tokens, error, error_bytes);
    }
    if (status == SKEIN_OK && tokens_lost(c->tokens))
        log_error("skeind",
                  "tokens.db knows no token although there have been some: HTTP refuses everybody "
                  "until skeind token create makes an admin's",
                  NULL);
    return status;
}

int collector_open(struct collector *c, char *error, size_t error_bytes)
{
    const struct collector_config *g = &c->config;
    struct store_settings store = {g->folder, g->segment_bytes, g->min_free_bytes};
    if (folder_make(g->folder, 0750) != 0) {
        snprintf(error, error_bytes, "data_dir %s: %s", g->folder, strerror(errno));
        return SKEIN_IO;
    }
    int status = store_open(&store, &c->store, error, error_bytes);
    if (status == SKEIN_OK)
        status = index_open(g->folder, c->store, &c->index, error, error_bytes);
    if (status == SKEIN_OK)
        status = catalog_open(g->folder, &c->catalog, error, error_bytes);
    if (status == SKEIN_OK)
        status = collector_tokens_open(c, error, error_bytes);
    if (status == SKEIN_OK)
        loss_say(c);
    if (status == SKEIN_OK)
        status =
            state_backup_start(g->folder, g->backup_every_ms, g->backups, c->catalog, &c->backup);
    struct audit_settings audit = {g->folder, g->audit_keep_ms, g->audit_max_rows};
    if (status == SKEIN_OK)
        status = audit_open(&audit, &c->audit, error, error_bytes);
    if (status == SKEIN_OK && audit_is_new(c->audit) && collector_is_used(c))
        log_error("audit",
                  "audit.db was empty or gone although partitions are stored: who did what before "
                  "is not known; a backup's may be put in its place while the collector is stopped",
                  NULL);
    return status;
}
