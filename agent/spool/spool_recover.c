/* SPDX-License-Identifier: Apache-2.0
 *
 * Recovery of the spool after any death: whole files are taken in by age, torn ones removed. Runs
 * in spool_open, before anybody else knows the spool.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "descriptor.h"
#include "durable.h"
#include "spool_int.h"

struct found {
    struct spool_item **items;
    size_t item_count, item_cap;
    struct spool_entry **entries;
    size_t entry_count, entry_cap;
};

static bool named_as(const struct spool_head *head, const char *name)
{
    char expected[SPOOL_NAME_BYTES];
    spool_file_name(head, expected);
    return strcmp(expected, name) == 0;
}

/* SKEIN_CORRUPT: a file that no whole write of ours left. */
static int partition_recover(struct spool *spool, const char *name, struct found *found)
{
    uint8_t packed[SPOOL_FILE_HEAD_BYTES];
    int fd = openat(spool->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ELOOP ? SKEIN_CORRUPT : SKEIN_IO;
    struct stat st;
    ssize_t n = pread(fd, packed, sizeof packed, 0);
    int failed = fstat(fd, &st);
    close(fd);
    struct spool_head head;
    if (n != (ssize_t)sizeof packed || failed != 0 ||
        spool_head_get(packed, sizeof packed, &head) != SKEIN_OK || head.kind != SPOOL_PARTITION ||
        !named_as(&head, name) ||
        (uint64_t)st.st_size != head.payload_bytes + SPOOL_FILE_HEAD_BYTES)
        return SKEIN_CORRUPT;
    struct spool_item *item = calloc(1, sizeof *item);
    if (item == NULL || !array_grow(found->items, found->item_count + 1, &found->item_cap)) {
        free(item);
        return SKEIN_NO_MEMORY;
    }
    item->head = head;
    found->items[found->item_count++] = item;
    return SKEIN_OK;
}

static int report_recover(struct spool *spool, const char *name, struct found *found)
{
    struct buf file = {0};
    struct spool_head head;
    const char *text;
    struct spool_entry *entry = NULL;
    int status = durable_read(spool->folder, name, SPOOL_FILE_HEAD_BYTES + SPOOL_REPORT_MAX, &file);
    if (status == SKEIN_OK &&
        (spool_report_get(file.data, file.len, &head, &text) != SKEIN_OK || !named_as(&head, name)))
        status = SKEIN_CORRUPT;
    if (status == SKEIN_OK) {
        entry = spool_entry_new(&head, text, (size_t)head.payload_bytes);
        if (entry == NULL || !array_grow(found->entries, found->entry_count + 1, &found->entry_cap))
            status = SKEIN_NO_MEMORY;
    }
    if (status == SKEIN_OK)
        found->entries[found->entry_count++] = entry;
    else
        free(entry);
    buf_fini(&file);
    return status == SKEIN_NO_MEMORY ? status : status == SKEIN_OK ? SKEIN_OK : SKEIN_CORRUPT;
}

static int item_by_age(const void *a, const void *b)
{
    const struct spool_head *x = &(*(struct spool_item *const *)a)->head;
    const struct spool_head *y = &(*(struct spool_item *const *)b)->head;
    if (x->created_ns != y->created_ns)
        return x->created_ns < y->created_ns ? -1 : 1;
    return x->key.sequence < y->key.sequence ? -1 : x->key.sequence > y->key.sequence;
}

static int entry_by_age(const void *a, const void *b)
{
    const struct spool_head *x = &(*(struct spool_entry *const *)a)->head;
    const struct spool_head *y = &(*(struct spool_entry *const *)b)->head;
    if (x->created_ns != y->created_ns)
        return x->created_ns < y->created_ns ? -1 : 1;
    return 0;
}

static bool has_target(const struct found *found, const struct spool_head *head)
{
    for (size_t i = 0; i < found->entry_count; i++) {
        const struct spool_head *report = &found->entries[i]->head;
        if (report->kind == SPOOL_TARGET && capture_id_equal(&report->capture, &head->capture) &&
            process_uid_equal(&report->key.process, &head->key.process))
            return true;
    }
    return false;
}

/* Takes all in, by age. A partition whose final report is journalled needs no release any more. */
static void found_take_in(struct spool *spool, struct found *found)
{
    if (found->item_count > 1)
        qsort(found->items, found->item_count, sizeof(struct spool_item *), item_by_age);
    if (found->entry_count > 1)
        qsort(found->entries, found->entry_count, sizeof(struct spool_entry *), entry_by_age);
    for (size_t i = 0; i < found->item_count; i++) {
        bool listed = has_target(found, &found->items[i]->head);
        found->items[i]->state = listed ? SPOOL_QUEUED : SPOOL_HELD;
        spool_insert_locked(spool, found->items[i]);
    }
    for (size_t i = 0; i < found->entry_count; i++)
        spool_entry_add_locked(spool, found->entries[i]);
    found->item_count = found->entry_count = 0;
}

static int folder_scan(struct spool *spool, DIR *dir, struct found *found)
{
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        const char *name = entry->d_name;
        int status = SKEIN_OK;
        if (strncmp(name, "p-", 2) == 0)
            status = partition_recover(spool, name, found);
        else if (strncmp(name, "f-", 2) == 0 || strncmp(name, "t-", 2) == 0)
            status = report_recover(spool, name, found);
        if (status == SKEIN_CORRUPT) {
            unlinkat(spool->folder, name, 0);
            spool->counters.torn++;
        } else if (status != SKEIN_OK) {
            return status;
        }
    }
    return SKEIN_OK;
}

int spool_recover(struct spool *spool)
{
    int swept = durable_sweep(spool->folder);
    if (swept < 0)
        return swept;
    spool->counters.torn += (uint64_t)swept;
    DIR *dir = folder_list(spool->folder);
    if (dir == NULL)
        return SKEIN_IO;
    struct found found = {0};
    int status = folder_scan(spool, dir, &found);
    closedir(dir);
    if (status == SKEIN_OK)
        found_take_in(spool, &found);
    for (size_t i = 0; i < found.item_count; i++)
        free(found.items[i]);
    for (size_t i = 0; i < found.entry_count; i++)
        free(found.entries[i]);
    free(found.items);
    free(found.entries);
    return status;
}
