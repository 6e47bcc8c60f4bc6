/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue of partitions of the spool; see spool.h. Files are written outside of the mutex, so
 * that a slow disk does not stop the uplink; the room for them is reserved before.
 */
#include "spool_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "checksum.h"
#include "clock.h"
#include "descriptor.h"
#include "durable.h"
#include "loss.h"
#include "shares.h"
#include "skein_check.h"
#include "wire.h"

uint64_t spool_room(uint64_t payload_bytes)
{
    return (payload_bytes + SPOOL_FILE_HEAD_BYTES + 4095) / 4096 * 4096;
}

static struct spool_item *item_find_locked(struct spool *spool, const struct partition_key *key)
{
    struct spool_item *item;
    TAILQ_FOREACH(item, &spool->items, link) {
        if (partition_key_equal(&item->head.key, key))
            return item;
    }
    return NULL;
}

static uint64_t item_process(const struct spool_item *item)
{
    uint64_t number;
    memcpy(&number, item->head.key.process.bytes + 8, sizeof number);
    return number;
}

void spool_item_assert(const struct spool *spool, const struct spool_item *item)
{
    const struct spool_item *before = TAILQ_PREV(item, spool_items, link);
    skein_check(item->order > (before != NULL ? before->order : 0));
    skein_check(item->order <= spool->next_order && item->head.kind == SPOOL_PARTITION);
    skein_check((item->shared == NULL) == (item->shared_count == 0));
    skein_check(spool->counters.partitions > 0);
    if (item->state != SPOOL_EVICTED) /* it has room */
        skein_check(spool->counters.bytes >= spool_room(item->head.payload_bytes));
}

static void item_enter(const struct spool *spool, struct spool_item *item, enum spool_state to)
{
    /* a state is entered from the one before it alone */
    skein_check(to > SPOOL_HELD && (int)item->state == (int)to - 1);
    item->state = to;
    spool_item_assert(spool, item);
}

void spool_insert_locked(struct spool *spool, struct spool_item *item)
{
    item->order = ++spool->next_order;
    TAILQ_INSERT_TAIL(&spool->items, item, link);
    spool->counters.partitions++;
    spool->counters.bytes += spool_room(item->head.payload_bytes);
    spool_item_assert(spool, item);
}

const struct capture_id *spool_member(const struct spool_item *item, size_t i)
{
    if (i == 0)
        return &item->head.capture;
    return i <= item->shared_count ? &item->shared[i - 1] : NULL;
}

bool spool_has_member(const struct spool_item *item, const struct capture_id *capture,
                      const struct process_uid *process)
{
    if (!process_uid_equal(&item->head.key.process, process))
        return false;
    const struct capture_id *member;
    for (size_t i = 0; (member = spool_member(item, i)) != NULL; i++)
        if (capture_id_equal(member, capture))
            return true;
    return false;
}

void spool_item_free(struct spool_item *item)
{
    free(item->shared);
    free(item);
}

void spool_remove_locked(struct spool *spool, struct spool_item *item, bool lost)
{
    spool_item_assert(spool, item);
    TAILQ_REMOVE(&spool->items, item, link);
    spool->counters.partitions--;
    if (item->state != SPOOL_EVICTED)
        spool->counters.bytes -= spool_room(item->head.payload_bytes);
    if (lost) {
        spool->counters.lost_partitions++;
        spool->counters.lost_events += item->head.events;
    }
    const struct capture_id *member;
    for (size_t i = 0; (member = spool_member(item, i)) != NULL; i++)
        spool_settle_locked(spool, member, &item->head.key.process);
    spool_item_free(item);
}

/* The report is rewritten before the file goes. A kill in between leaves a partition that is
 * uploaded although its report calls it lost, which hurts nobody. */
static void item_drop_locked(struct spool *spool, struct spool_item *item, const char *reason)
{
    char name[SPOOL_NAME_BYTES];
    spool_file_name(&item->head, name);
    spool_lose_locked(spool, item, reason);
    unlinkat(spool->folder, name, 0);
    spool_remove_locked(spool, item, true);
}

/* A partition that is on its way is lost only when its upload has ended: the collector may store it
 * after all. */
static void item_evict_locked(struct spool *spool, struct spool_item *item)
{
    char name[SPOOL_NAME_BYTES];
    if (item->state != SPOOL_ON_WAY) {
        item_drop_locked(spool, item, loss_text(LOSS_SPOOL_FULL));
        return;
    }
    spool_file_name(&item->head, name);
    unlinkat(spool->folder, name, 0);
    spool->counters.bytes -= spool_room(item->head.payload_bytes);
    item_enter(spool, item, SPOOL_EVICTED);
}

static bool item_may_go(const struct spool_item *item)
{
    return item->state == SPOOL_QUEUED || item->state == SPOOL_ON_WAY;
}

/* Of the user who has most in the spool, the process that has most: its oldest partition that may
 * go. So who fills the spool loses his own. NULL: all are held. */
static struct spool_item *item_giving_way_locked(struct spool *spool)
{
    struct share_tally users = {{0}}, processes = {{0}};
    struct spool_item *item;
    TAILQ_FOREACH(item, &spool->items, link) {
        if (item_may_go(item))
            share_tally_add(&users, item->head.user, spool_room(item->head.payload_bytes));
    }
    const uint64_t user = share_tally_most(&users);
    TAILQ_FOREACH(item, &spool->items, link) {
        if (item_may_go(item) && share_tally_of(&users, item->head.user) == user)
            share_tally_add(&processes, item_process(item), spool_room(item->head.payload_bytes));
    }
    const uint64_t process = share_tally_most(&processes);
    TAILQ_FOREACH(item, &spool->items, link) {
        if (item_may_go(item) && share_tally_of(&users, item->head.user) == user &&
            share_tally_of(&processes, item_process(item)) == process)
            return item;
    }
    return NULL;
}

static int spool_reserve(struct spool *spool, const struct partition_key *key, uint64_t room)
{
    if (room > spool->max_bytes)
        return SKEIN_FULL;
    int status = SKEIN_OK;
    pthread_mutex_lock(&spool->mutex);
    if (item_find_locked(spool, key) != NULL)
        status = SKEIN_EXISTS;
    while (status == SKEIN_OK &&
           spool->counters.bytes + spool->reserved_bytes > spool->max_bytes - room) {
        struct spool_item *item = item_giving_way_locked(spool);
        if (item == NULL)
            status = SKEIN_FULL;
        else
            item_evict_locked(spool, item);
    }
    if (status == SKEIN_OK)
        spool->reserved_bytes += room;
    pthread_mutex_unlock(&spool->mutex);
    return status;
}

int spool_put(struct spool *spool, const struct spool_head *head, const uint8_t *bytes, size_t n)
{
    if (n > WIRE_PARTITION_MAX)
        return SKEIN_TOO_LARGE;
    struct spool_item *item = calloc(1, sizeof *item);
    if (item == NULL)
        return SKEIN_NO_MEMORY;
    item->head = *head;
    item->head.kind = SPOOL_PARTITION;
    item->head.created_ns = clock_realtime_ns();
    item->head.payload_bytes = n;
    item->head.payload_checksum = checksum64(bytes, n);
    uint64_t room = spool_room(n);
    int status = spool_reserve(spool, &head->key, room);
    if (status != SKEIN_OK) {
        free(item);
        return status;
    }

    uint8_t packed[SPOOL_FILE_HEAD_BYTES];
    char name[SPOOL_NAME_BYTES];
    spool_head_put(packed, &item->head);
    spool_file_name(&item->head, name);
    const struct durable_part parts[] = {{packed, sizeof packed}, {bytes, n}};
    status = durable_write(spool->folder, name, parts, 2);
    if (status != SKEIN_OK)
        unlinkat(spool->folder, name, 0);

    pthread_mutex_lock(&spool->mutex);
    spool->reserved_bytes -= room;
    if (status == SKEIN_OK)
        spool_insert_locked(spool, item);
    pthread_mutex_unlock(&spool->mutex);
    if (status != SKEIN_OK)
        free(item);
    return status;
}

void spool_release(struct spool *spool, const struct capture_id *capture,
                   const struct process_uid *process)
{
    pthread_mutex_lock(&spool->mutex);
    struct spool_item *item;
    TAILQ_FOREACH(item, &spool->items, link) {
        if (item->state == SPOOL_HELD && spool_has_member(item, capture, process))
            item_enter(spool, item, SPOOL_QUEUED);
    }
    pthread_mutex_unlock(&spool->mutex);
}

static int item_share(struct spool_item *item, const struct capture_id *capture)
{
    if (spool_has_member(item, capture, &item->head.key.process))
        return SKEIN_OK;
    if (!array_grow(item->shared, item->shared_count + 1, &item->shared_cap))
        return SKEIN_NO_MEMORY;
    item->shared[item->shared_count++] = *capture;
    return SKEIN_OK;
}

int spool_share(struct spool *spool, const struct capture_id *capture,
                const struct process_uid *process, uint64_t epoch, uint64_t first, uint64_t last)
{
    int status = SKEIN_OK;
    pthread_mutex_lock(&spool->mutex);
    struct spool_item *item;
    TAILQ_FOREACH(item, &spool->items, link) {
        const struct partition_key *key = &item->head.key;
        if (status == SKEIN_OK && key->epoch == epoch && key->sequence >= first &&
            key->sequence <= last && process_uid_equal(&key->process, process))
            status = item_share(item, capture);
        spool_item_assert(spool, item);
    }
    pthread_mutex_unlock(&spool->mutex);
    return status;
}

void spool_remember_lost_locked(struct spool *spool, const struct partition_key *key)
{
    spool->lost[spool->lost_count++ % SPOOL_LOST_REMEMBERED] = *key;
}

/* Another capture of the item takes the place of the one that it was cut for. Whether one is left. */
static bool item_leave(struct spool_item *item, const struct capture_id *capture)
{
    if (item->shared_count == 0)
        return false;
    size_t at = 0;
    while (at < item->shared_count && !capture_id_equal(&item->shared[at], capture))
        at++;
    const struct capture_id last = item->shared[--item->shared_count];
    if (at <= item->shared_count)
        item->shared[at] = last; /* over itself, where it is the last */
    else
        item->head.capture = last;
    if (item->shared_count == 0) {
        free(item->shared);
        item->shared = NULL;
        item->shared_cap = 0;
    }
    return true;
}

void spool_forget(struct spool *spool, const struct capture_id *capture,
                  const struct process_uid *process, uint64_t first, uint64_t last)
{
    struct spool_item *item, *next;
    pthread_mutex_lock(&spool->mutex);
    for (item = TAILQ_FIRST(&spool->items); item != NULL; item = next) {
        next = TAILQ_NEXT(item, link);
        if (item->head.key.epoch < first || item->head.key.epoch > last ||
            !spool_has_member(item, capture, process) || item_leave(item, capture) ||
            item->state != SPOOL_HELD)
            continue;
        char name[SPOOL_NAME_BYTES];
        spool_file_name(&item->head, name);
        unlinkat(spool->folder, name, 0);
        spool_remember_lost_locked(spool, &item->head.key);
        spool_remove_locked(spool, item, false);
    }
    pthread_mutex_unlock(&spool->mutex);
}

bool spool_has_lost(struct spool *spool, const struct partition_key *key)
{
    bool lost = false;
    pthread_mutex_lock(&spool->mutex);
    for (size_t i = 0; i < spool->lost_count && i < SPOOL_LOST_REMEMBERED; i++)
        lost = lost || partition_key_equal(&spool->lost[i], key);
    pthread_mutex_unlock(&spool->mutex);
    return lost;
}

int spool_next(struct spool *spool, uint64_t after, uint64_t *order, struct spool_head *out)
{
    int status = SKEIN_NOT_FOUND;
    pthread_mutex_lock(&spool->mutex);
    struct spool_item *item;
    TAILQ_FOREACH(item, &spool->items, link) {
        if (item->order > after && item->state != SPOOL_HELD) {
            *order = item->order;
            *out = item->head;
            status = SKEIN_OK;
            break;
        }
    }
    pthread_mutex_unlock(&spool->mutex);
    return status;
}

int spool_open_partition(struct spool *spool, const struct partition_key *key, int *fd)
{
    struct spool_head head = {.kind = SPOOL_PARTITION, .key = *key};
    char name[SPOOL_NAME_BYTES];
    spool_file_name(&head, name);
    pthread_mutex_lock(&spool->mutex);
    *fd = openat(spool->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int status = *fd >= 0 ? SKEIN_OK : errno == ENOENT ? SKEIN_NOT_FOUND : SKEIN_IO;
    struct spool_item *item = status == SKEIN_OK ? item_find_locked(spool, key) : NULL;
    if (item != NULL && item->state == SPOOL_QUEUED)
        item_enter(spool, item, SPOOL_ON_WAY);
    pthread_mutex_unlock(&spool->mutex);
    return status;
}

/* Removes the oldest files of rejected/ until one more fits. */
static void room_make_aside(struct spool *spool)
{
    for (;;) {
        DIR *dir = folder_list(spool->rejected);
        if (dir == NULL)
            return;
        char oldest[SPOOL_NAME_BYTES] = "";
        struct timespec oldest_time = {0};
        uint32_t count = 0;
        for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
            struct stat st;
            if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof oldest ||
                fstatat(spool->rejected, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
                continue;
            bool older = st.st_mtim.tv_sec < oldest_time.tv_sec ||
                         (st.st_mtim.tv_sec == oldest_time.tv_sec &&
                          st.st_mtim.tv_nsec < oldest_time.tv_nsec);
            if (count++ == 0 || older) {
                memcpy(oldest, entry->d_name, strlen(entry->d_name) + 1);
                oldest_time = st.st_mtim;
            }
        }
        closedir(dir);
        if (count < spool->max_rejected || unlinkat(spool->rejected, oldest, 0) != 0)
            return;
    }
}

void spool_done(struct spool *spool, const struct partition_key *key, enum spool_fate fate)
{
    pthread_mutex_lock(&spool->mutex);
    struct spool_item *item = item_find_locked(spool, key);
    if (item != NULL) {
        char name[SPOOL_NAME_BYTES];
        spool_file_name(&item->head, name);
        if (fate == SPOOL_STORED) {
            unlinkat(spool->folder, name, 0);
        } else if (item->state == SPOOL_EVICTED) {
            spool_lose_locked(spool, item, loss_text(LOSS_SPOOL_FULL));
        } else {
            spool_lose_locked(
                spool, item,
                loss_text(fate == SPOOL_REJECTED ? LOSS_REJECTED : LOSS_SPOOL_UNREADABLE));
            room_make_aside(spool);
            if (durable_move(spool->folder, spool->rejected, name) != SKEIN_OK)
                unlinkat(spool->folder, name, 0);
            spool->counters.rejected++;
        }
        spool_remove_locked(spool, item, fate != SPOOL_STORED);
    }
    pthread_mutex_unlock(&spool->mutex);
}

void spool_visit(struct spool *spool,
                 void (*visit)(void *context, const struct spool_head *head, int held),
                 void *context)
{
    pthread_mutex_lock(&spool->mutex);
    struct spool_item *item;
    TAILQ_FOREACH(item, &spool->items, link)
        visit(context, &item->head, item->state == SPOOL_HELD);
    pthread_mutex_unlock(&spool->mutex);
}

void spool_count(struct spool *spool, struct spool_counters *out)
{
    pthread_mutex_lock(&spool->mutex);
    *out = spool->counters;
    pthread_mutex_unlock(&spool->mutex);
}

static int folders_open(struct spool *spool, const char *folder)
{
    int status = durable_folder(folder, &spool->folder);
    if (status != SKEIN_OK)
        return status;
    bool full = false; /* then nothing is kept aside */
    if (mkdirat(spool->folder, "rejected", 0700) != 0 && errno != EEXIST) {
        full = errno == ENOSPC || errno == EDQUOT;
        if (!full)
            return SKEIN_IO;
    }
    spool->rejected = openat(spool->folder, "rejected", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return spool->rejected >= 0 || full ? SKEIN_OK : SKEIN_IO;
}

int spool_open(const struct spool_settings *settings, struct spool **out, char *error,
               size_t error_bytes)
{
    *out = NULL;
    struct spool *spool = calloc(1, sizeof *spool);
    if (spool == NULL) {
        snprintf(error, error_bytes, "%s", skein_status_text(SKEIN_NO_MEMORY));
        return SKEIN_NO_MEMORY;
    }
    spool->folder = spool->rejected = -1;
    spool->max_bytes = settings->max_bytes;
    spool->max_reports = settings->max_reports != 0 ? settings->max_reports : 4096;
    spool->max_rejected = settings->max_rejected != 0 ? settings->max_rejected : 16;
    spool->amend = settings->amend;
    pthread_mutex_init(&spool->mutex, NULL);
    TAILQ_INIT(&spool->items);
    TAILQ_INIT(&spool->reports);
    TAILQ_INIT(&spool->losses);
    int status = folders_open(spool, settings->folder);
    if (status == SKEIN_OK)
        status = spool_recover(spool);
    if (status != SKEIN_OK) {
        snprintf(error, error_bytes, "spool folder %s: %s", settings->folder,
                 skein_status_text(status));
        spool_close(&spool);
        return status;
    }
    *out = spool;
    return SKEIN_OK;
}

void spool_close(struct spool **spool_p)
{
    struct spool *spool = *spool_p;
    if (spool == NULL)
        return;
    *spool_p = NULL;
    struct spool_item *next;
    for (struct spool_item *item = TAILQ_FIRST(&spool->items); item != NULL; item = next) {
        next = TAILQ_NEXT(item, link);
        if (item->state == SPOOL_EVICTED) /* nobody sends it any more */
            spool_lose_locked(spool, item, loss_text(LOSS_SPOOL_FULL));
        spool_item_free(item);
    }
    struct spool_entry *entry;
    while ((entry = TAILQ_FIRST(&spool->reports)) != NULL) {
        TAILQ_REMOVE(&spool->reports, entry, link);
        free(entry);
    }
    struct spool_loss *loss;
    while ((loss = TAILQ_FIRST(&spool->losses)) != NULL) {
        TAILQ_REMOVE(&spool->losses, loss, link);
        free(loss);
    }
    fd_close(&spool->folder);
    fd_close(&spool->rejected);
    pthread_mutex_destroy(&spool->mutex);
    free(spool);
}
