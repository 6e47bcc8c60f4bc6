/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of state.db, which exists nowhere else: made each day with SQLite's backup into
 * folder/backup, checked, and the newest kept; restored by `skeind --restore-state`. Owns one
 * thread, which also looks whether state.db is still the file that was opened, and keeps a copy of
 * one that is found damaged (state.db.damaged).
 *
 * The empty file state.db.lost says that state.db was lost: while it is there no backups are made,
 * for they would be taken for the newest, and push out those of before.
 */
#ifndef STATE_BACKUP_H
#define STATE_BACKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog.h"

struct state_backup;

/* SKEIN_OK, SKEIN_NO_MEMORY. keep 0: none are made. The catalog must outlive it. */
int state_backup_start(const char *folder, uint64_t every_ms, uint64_t keep,
                       struct catalog *catalog, struct state_backup **out);
void state_backup_stop(struct state_backup **backup);

/* state.db was found empty or gone: makes state.db.lost, which a restore removes. */
void state_backup_note_loss(const char *folder);
/* Whether that is there. */
bool state_backup_is_lost(const char *folder);

/* The newest backup's path; false where there is none. */
bool state_backup_newest(const char *folder, char *path, size_t path_bytes);

/* Puts the newest sound backup in the place of state.db, which becomes state.db.damaged-SECONDS.
 * Nobody may have the folder open. SKEIN_OK and the backup's path in *words; SKEIN_NOT_FOUND, or a
 * status with words. */
int state_backup_restore(const char *folder, char *words, size_t words_bytes);

#endif
