/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of state.db, which exists nowhere else. Each day SQLite's backup makes one in
 * folder/backup; it is checked, and the newest ones are kept. `skeind --restore-state` restores
 * one. Owns one thread. It also looks whether state.db is still the file that was opened, and keeps
 * a copy of a damaged one (state.db.damaged).
 *
 * The empty file state.db.lost says that state.db was lost. While it is there no backups are made:
 * they would count as the newest, and push out the good ones.
 */
#ifndef STATE_BACKUP_H
#define STATE_BACKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog.h"

struct state_backup;

/* keep 0: makes no backups. The catalog must outlive it. SKEIN_OK, SKEIN_NO_MEMORY. */
int state_backup_start(const char *folder, uint64_t every_ms, uint64_t keep,
                       struct catalog *catalog, struct state_backup **out);
void state_backup_stop(struct state_backup **backup);

/* state.db was found empty or gone: makes state.db.lost. A restore removes it. */
void state_backup_note_loss(const char *folder);
/* Whether state.db.lost is there. */
bool state_backup_is_lost(const char *folder);

/* The newest backup's path; false: there is none. */
bool state_backup_newest(const char *folder, char *path, size_t path_bytes);

/* Puts the newest sound backup in the place of state.db; the old one becomes
 * state.db.damaged-SECONDS. Nobody may have the folder open. SKEIN_OK, and the backup's path in
 * *words; SKEIN_NOT_FOUND, or another status, with a sentence in it. */
int state_backup_restore(const char *folder, char *words, size_t words_bytes);

#endif
