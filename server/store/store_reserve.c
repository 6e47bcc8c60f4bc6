/* SPDX-License-Identifier: Apache-2.0
 *
 * Room set aside for deletions: the file `reserve` in the data folder. Its bytes are never used.
 * Other programs may fill the disk to the last byte, also below min_free_bytes; a deletion must
 * still write tombstones and the databases' logs, so it deletes this file first. The file takes
 * half of what is free, because the databases need room at other times, and at most 16 MiB. Any
 * thread.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "segment_io.h"
#include "store.h"
#include "store_int.h"

#define RESERVE_NAME      "reserve"
#define RESERVE_BYTES_MAX (UINT64_C(16) << 20)
#define RESERVE_STEP      (UINT64_C(256) << 10) /* its size is a multiple of this */

static uint64_t bytes_wanted(const struct store *store)
{
    uint64_t half = store->min_free_bytes / 2;
    return half < RESERVE_BYTES_MAX ? half : RESERVE_BYTES_MAX;
}

bool store_make_room(struct store *store)
{
    uint64_t free_bytes;
    if (segment_io_free_bytes(store->folder, &free_bytes) < 0 || free_bytes >= bytes_wanted(store))
        return false;
    atomic_store(&store->reserved, 0);
    (void)unlinkat(store->folder, RESERVE_NAME, 0);
    return true;
}

void store_set_aside(struct store *store)
{
    uint64_t free_bytes, wanted = bytes_wanted(store), reserved = atomic_load(&store->reserved);
    if (reserved + RESERVE_STEP > wanted ||
        segment_io_free_bytes(store->folder, &free_bytes) != SKEIN_OK)
        return;
    uint64_t half = (free_bytes + reserved) / 2;
    uint64_t bytes = (half < wanted ? half : wanted) / RESERVE_STEP * RESERVE_STEP;
    if (bytes <= reserved)
        return;
    int fd = openat(store->folder, RESERVE_NAME, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && posix_fallocate(fd, 0, (off_t)bytes) == 0)
        atomic_store(&store->reserved, bytes);
    if (fd >= 0)
        close(fd);
}

void store_find_reserve(struct store *store)
{
    struct stat st;
    if (fstatat(store->folder, RESERVE_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
        atomic_store(&store->reserved, (uint64_t)st.st_blocks * 512);
    if (!store_make_room(store)) /* the databases open next and must be able to write */
        store_set_aside(store);
}
