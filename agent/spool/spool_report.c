/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal of reports in the spool; see spool.h. Reports are small and kept in memory too.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checksum.h"
#include "clock.h"
#include "durable.h"
#include "shares.h"
#include "skein_check.h"
#include "spool_int.h"

static bool same_target(const struct spool_head *head, const struct capture_id *capture,
                        const struct process_uid *process)
{
    return capture_id_equal(&head->capture, capture) &&
           process_uid_equal(&head->key.process, process);
}

void spool_entry_assert(const struct spool *spool, const struct spool_entry *entry)
{
    skein_check(entry->head.kind >= SPOOL_FIRED && entry->head.kind <= SPOOL_FIRING);
    skein_check(entry->revision > 0 && entry->revision <= spool->next_revision);
    skein_check(entry->len <= SPOOL_REPORT_MAX && spool->counters.reports > 0);
    if (entry->acked)
        skein_check(entry->head.kind == SPOOL_TARGET);
}

struct spool_entry *spool_entry_new(const struct spool_head *head, const char *text, size_t n)
{
    struct spool_entry *entry = malloc(sizeof *entry + n + 1);
    if (entry == NULL)
        return NULL;
    *entry = (struct spool_entry){.head = *head, .len = n};
    memcpy(entry->text, text, n);
    entry->text[n] = '\0';
    return entry;
}

static void entry_unlink(struct spool *spool, const struct spool_entry *entry)
{
    char name[SPOOL_NAME_BYTES];
    spool_file_name(&entry->head, name);
    unlinkat(spool->folder, name, 0);
}

void spool_entry_remove_locked(struct spool *spool, struct spool_entry *entry)
{
    spool_entry_assert(spool, entry);
    TAILQ_REMOVE(&spool->reports, entry, link);
    spool->counters.reports--;
    free(entry);
}

/* The entry with the same file name; NULL: none. There is one at most (spool_entry_add_locked). */
static struct spool_entry *same_file_find_locked(struct spool *spool, const struct spool_head *head)
{
    struct spool_entry *entry;
    TAILQ_FOREACH(entry, &spool->reports, link) {
        if (spool_kind_fired(entry->head.kind) == spool_kind_fired(head->kind) &&
            same_target(&entry->head, &head->capture, &head->key.process))
            return entry;
    }
    return NULL;
}

/* The oldest of the user who has most. */
static struct spool_entry *entry_giving_way_locked(struct spool *spool)
{
    struct share_tally tally = {{0}};
    struct spool_entry *entry;
    TAILQ_FOREACH(entry, &spool->reports, link)
        share_tally_add(&tally, entry->head.user, 1);
    const uint64_t most = share_tally_most(&tally);
    TAILQ_FOREACH(entry, &spool->reports, link) {
        if (share_tally_of(&tally, entry->head.user) == most)
            return entry;
    }
    return NULL;
}

/* Takes the entry in. It replaces the one with its file name; beyond the bound another goes. */
void spool_entry_add_locked(struct spool *spool, struct spool_entry *entry)
{
    struct spool_entry *old = same_file_find_locked(spool, &entry->head);
    if (old != NULL) {
        spool_entry_remove_locked(spool, old);
    } else if (spool->counters.reports >= spool->max_reports) {
        old = entry_giving_way_locked(spool);
        entry_unlink(spool, old);
        spool_entry_remove_locked(spool, old);
        spool->counters.lost_reports++;
    }
    entry->revision = ++spool->next_revision;
    TAILQ_INSERT_TAIL(&spool->reports, entry, link);
    spool->counters.reports++;
    spool_entry_assert(spool, entry);
}

static int entry_write(struct spool *spool, const struct spool_entry *entry)
{
    uint8_t packed[SPOOL_FILE_HEAD_BYTES];
    char name[SPOOL_NAME_BYTES];
    spool_head_put(packed, &entry->head);
    spool_file_name(&entry->head, name);
    const struct durable_part parts[] = {{packed, sizeof packed}, {entry->text, entry->len}};
    return durable_write(spool->folder, name, parts, 2);
}

/* The target's final report, or its intent; they share a file. */
static struct spool_entry *target_find_locked(struct spool *spool, const struct capture_id *capture,
                                              const struct process_uid *process)
{
    struct spool_entry *entry;
    TAILQ_FOREACH(entry, &spool->reports, link) {
        if (!spool_kind_fired(entry->head.kind) && same_target(&entry->head, capture, process))
            return entry;
    }
    return NULL;
}

static void report_amend_locked(struct spool *spool, const struct spool_entry *entry,
                                const struct spool_head *lost, const char *reason)
{
    if (spool->amend == NULL)
        return;
    struct buf text = {0};
    if (spool->amend(entry->text, entry->len, lost, reason, &text) == SKEIN_OK &&
        text.len <= SPOOL_REPORT_MAX) {
        struct spool_head head = entry->head;
        head.payload_bytes = text.len;
        head.payload_checksum = checksum64(text.data, text.len);
        struct spool_entry *fresh = spool_entry_new(&head, (const char *)text.data, text.len);
        if (fresh != NULL) {
            (void)entry_write(spool, fresh);
            spool_entry_add_locked(spool, fresh);
        }
    }
    buf_fini(&text);
}

/* Takes noted losses out of a report that was made before them. forget: it is the last report. */
static void noted_report_amend_locked(struct spool *spool, const struct capture_id *capture,
                                      const struct process_uid *process, bool forget)
{
    struct spool_loss *loss, *next;
    for (loss = TAILQ_FIRST(&spool->losses); loss != NULL; loss = next) {
        next = TAILQ_NEXT(loss, link);
        struct spool_entry *entry = target_find_locked(spool, capture, process);
        if (entry == NULL || !same_target(&loss->head, capture, process))
            continue;
        report_amend_locked(spool, entry, &loss->head, loss->reason);
        if (forget) {
            TAILQ_REMOVE(&spool->losses, loss, link);
            free(loss);
        }
    }
}

int spool_report_put(struct spool *spool, uint16_t kind, uint32_t user,
                     const struct capture_id *capture, const struct process_uid *process,
                     const char *text, size_t n)
{
    if (n > SPOOL_REPORT_MAX)
        return SKEIN_TOO_LARGE;
    struct spool_head head = {.kind = kind,
                              .user = user,
                              .capture = *capture,
                              .key.process = *process,
                              .created_ns = clock_realtime_ns(),
                              .payload_bytes = n,
                              .payload_checksum = checksum64(text, n)};
    struct spool_entry *entry = spool_entry_new(&head, text, n);
    if (entry == NULL)
        return SKEIN_NO_MEMORY;
    int status = entry_write(spool, entry);
    /* A report that the disk refuses is still sent: it is lost only if the agent dies as well. */
    pthread_mutex_lock(&spool->mutex);
    spool_entry_add_locked(spool, entry);
    if (!spool_kind_fired(kind))
        noted_report_amend_locked(spool, capture, process, kind == SPOOL_TARGET);
    pthread_mutex_unlock(&spool->mutex);
    return status;
}

/* Without memory for the note, the next report lists a partition that never arrives. */
static void loss_note_locked(struct spool *spool, const struct spool_head *lost, const char *reason)
{
    struct spool_loss *loss = malloc(sizeof *loss);
    if (loss == NULL)
        return;
    *loss = (struct spool_loss){.head = *lost, .reason = reason};
    TAILQ_INSERT_TAIL(&spool->losses, loss, link);
}

void spool_lose_locked(struct spool *spool, const struct spool_item *lost, const char *reason)
{
    spool_remember_lost_locked(spool, &lost->head.key);
    const struct capture_id *member;
    for (size_t i = 0; (member = spool_member(lost, i)) != NULL; i++) {
        struct spool_head head = lost->head;
        head.capture = *member;
        struct spool_entry *entry = target_find_locked(spool, member, &head.key.process);
        if (entry == NULL || entry->head.kind == SPOOL_INTENT)
            loss_note_locked(spool, &head, reason);
        if (entry != NULL)
            report_amend_locked(spool, entry, &head, reason);
    }
}

int spool_loss_take(struct spool *spool, const struct capture_id *capture,
                    const struct process_uid *process, struct spool_head *head, const char **reason)
{
    int status = SKEIN_NOT_FOUND;
    pthread_mutex_lock(&spool->mutex);
    struct spool_loss *loss;
    TAILQ_FOREACH(loss, &spool->losses, link) {
        if (same_target(&loss->head, capture, process))
            break;
    }
    if (loss != NULL) {
        *head = loss->head;
        *reason = loss->reason;
        TAILQ_REMOVE(&spool->losses, loss, link);
        free(loss);
        status = SKEIN_OK;
    }
    pthread_mutex_unlock(&spool->mutex);
    return status;
}

void spool_settle_locked(struct spool *spool, const struct capture_id *capture,
                         const struct process_uid *process)
{
    struct spool_entry *entry = target_find_locked(spool, capture, process);
    if (entry == NULL || entry->head.kind != SPOOL_TARGET || !entry->acked)
        return;
    struct spool_item *item;
    TAILQ_FOREACH(item, &spool->items, link) {
        if (spool_has_member(item, capture, process))
            return;
    }
    entry_unlink(spool, entry);
    spool_entry_remove_locked(spool, entry);
}

int spool_report_next(struct spool *spool, uint64_t after, struct spool_report *out)
{
    int status = SKEIN_NOT_FOUND;
    pthread_mutex_lock(&spool->mutex);
    struct spool_entry *entry = NULL, *candidate;
    TAILQ_FOREACH_REVERSE(candidate, &spool->reports, spool_entries, link) {
        if (candidate->revision <= after)
            break;
        entry = candidate;
    }
    if (entry != NULL) {
        *out = (struct spool_report){.revision = entry->revision,
                                     .kind = entry->head.kind,
                                     .user = entry->head.user,
                                     .capture = entry->head.capture,
                                     .process = entry->head.key.process,
                                     .text = strdup(entry->text),
                                     .len = entry->len};
        status = out->text != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    }
    pthread_mutex_unlock(&spool->mutex);
    return status;
}

void spool_report_acked(struct spool *spool, uint64_t revision)
{
    pthread_mutex_lock(&spool->mutex);
    struct spool_entry *entry;
    TAILQ_FOREACH(entry, &spool->reports, link) {
        if (entry->revision == revision)
            break;
    }
    if (entry != NULL && entry->head.kind == SPOOL_TARGET) {
        struct spool_head head = entry->head;
        entry->acked = true;
        spool_entry_assert(spool, entry);
        spool_settle_locked(spool, &head.capture, &head.key.process);
    } else if (entry != NULL) {
        entry_unlink(spool, entry);
        spool_entry_remove_locked(spool, entry);
    }
    pthread_mutex_unlock(&spool->mutex);
}

void spool_report_drop(struct spool *spool, uint16_t kind, const struct capture_id *capture,
                       const struct process_uid *process)
{
    pthread_mutex_lock(&spool->mutex);
    struct spool_entry *entry;
    TAILQ_FOREACH(entry, &spool->reports, link) {
        if (entry->head.kind == kind && same_target(&entry->head, capture, process))
            break;
    }
    if (entry != NULL) {
        entry_unlink(spool, entry);
        spool_entry_remove_locked(spool, entry);
    }
    pthread_mutex_unlock(&spool->mutex);
}
