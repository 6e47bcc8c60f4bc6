/* SPDX-License-Identifier: Apache-2.0
 *
 * Sealed shared memory: pages and rings. Owns nothing after it returns; any thread. Never maps what
 * it has not checked, and never believes a ring's own words about sizes.
 *
 * A new ring has no memory yet; ring_backing.h says how it comes.
 */
#include "ring_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "skein_atomic.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define RING_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* ---- memfds ---- */

static int memfd_new(const char *name, uint64_t bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)bytes) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void *memory_map(int fd, uint64_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return NULL;
    madvise(at, bytes, MADV_DONTDUMP); /* the agent's core file is no place for services' traces */
    return at;
}

int shared_page_new(const char *name, const void *content, size_t bytes, int *out_fd,
                    void **mapping)
{
    int fd = memfd_new(name, SHARED_PAGE_BYTES);
    if (fd < 0)
        return SKEIN_IO;
    void *at = memory_map(fd, SHARED_PAGE_BYTES);
    if (at == NULL) {
        close(fd);
        return SKEIN_NO_MEMORY;
    }
    memcpy(at, content, bytes);
    /* Our mapping was made before and stays writable; nobody else's can be, nor write() succeed. */
    if (fcntl(fd, F_ADD_SEALS, RING_SEALS | F_SEAL_FUTURE_WRITE) != 0) {
        int status = errno == EINVAL ? SKEIN_UNSUPPORTED : SKEIN_IO;
        munmap(at, SHARED_PAGE_BYTES);
        close(fd);
        return status;
    }
    *out_fd = fd;
    *mapping = at;
    return SKEIN_OK;
}

/* ---- a new ring ---- */

void ring_memory_init(uint8_t *ring, const struct ring_geometry *geometry,
                      const struct ring_identity *identity)
{
    struct ring_header header = {.magic = RING_MAGIC,
                                 .version = RING_VERSION,
                                 .buffering_mode = geometry->mode,
                                 .total_size = geometry->total,
                                 .durable_buffer_size = geometry->durable,
                                 .rolling_buffer_size = geometry->rolling};
    struct ring_process_record record = {.pid = identity->pid,
                                         .clock = identity->clock,
                                         .shift = identity->shift,
                                         .slots = geometry->slots,
                                         .start_ticks = identity->start_ticks};
    size_t length = strnlen(identity->service, sizeof record.service - 1);
    memcpy(record.service, identity->service, length);
    memcpy(ring, &header, sizeof header);
    memcpy(ring + geometry->process_off, &record, sizeof record);
}

int ring_memory_new(const struct ring_geometry *geometry, const struct ring_identity *identity,
                    int *out_fd, uint8_t **ring)
{
    int fd = memfd_new(RING_NAME, geometry->total);
    if (fd < 0)
        return SKEIN_IO;
    uint8_t *at = memory_map(fd, geometry->total);
    if (at == NULL) {
        close(fd);
        return SKEIN_NO_MEMORY;
    }
    if (fcntl(fd, F_ADD_SEALS, RING_SEALS) != 0) {
        munmap(at, geometry->total);
        close(fd);
        return SKEIN_IO;
    }
    ring_memory_init(at, geometry, identity);
    *out_fd = fd;
    *ring = at;
    return SKEIN_OK;
}

uint64_t ring_memory_used(int fd, uint64_t total)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_blocks < 0)
        return total;
    uint64_t used = (uint64_t)st.st_blocks * 512;
    return used < total ? used : total;
}

/* ---- a ring that somebody brings ---- */

/* Returns whether the chunk is, or was, in use. */
static bool pin_clear(uint8_t *chunk)
{
    uint32_t *word = &((struct ring_chunk *)(void *)chunk)->state;
    uint32_t state = skein_chunk_load(word);
    /* Its owner may change the word a few times meanwhile; we bear so many tries, not more. */
    for (int tries = 0; tries < 64 && (state & RING_CHUNK_PIN) != 0; tries++)
        (void)skein_chunk_cas(word, &state, state & ~RING_CHUNK_PIN);
    return (state & RING_CHUNK_STATE_MASK) != RING_CHUNK_FREE;
}

/* The agent before may have died while it copied. Its pins would keep those chunks out of use. Only
 * extents that hold data are looked at: reading a hole would fill it. */
static void pins_clear(int fd, uint8_t *ring, const struct ring_geometry *geometry,
                       uint32_t claimed[2])
{
    off_t data = 0, hole = 0; /* the extent that was found last */
    uint32_t small = ring_small_count(geometry), big = ring_big_count(geometry);
    for (int area_kind = 0; area_kind < 2; area_kind++) {
        data = hole = 0;
        claimed[area_kind] = 0;
        for (uint32_t i = 0; i < (area_kind == 0 ? small : big); i++) {
            uint64_t offset =
                area_kind == 0 ? ring_small_offset(geometry, i) : ring_big_offset(geometry, i);
            if ((off_t)offset >= hole) {
                data = lseek(fd, (off_t)offset, SEEK_DATA);
                if (data < 0)
                    break;
                hole = lseek(fd, data, SEEK_HOLE);
            }
            if ((off_t)(offset + sizeof(struct ring_chunk)) > data && pin_clear(ring + offset))
                claimed[area_kind] = i + 1;
        }
    }
}

/* One copy of the two small structures is checked; what the ring holds later is read as hostile. */
static bool ring_matches(const uint8_t *ring, const struct ring_geometry *geometry,
                         const struct ring_identity *identity)
{
    struct ring_header header;
    struct ring_process_record record;
    memcpy(&header, ring, sizeof header);
    memcpy(&record, ring + geometry->process_off, sizeof record);
    return header.magic == RING_MAGIC && header.version == RING_VERSION &&
           header.buffering_mode == geometry->mode && header.total_size == geometry->total &&
           header.durable_buffer_size == geometry->durable &&
           header.rolling_buffer_size == geometry->rolling && record.clock == identity->clock &&
           record.shift == identity->shift && record.slots == geometry->slots;
}

/* Sealed like ours, and plain memory: a file of another kind could make our reads fail or block. */
static int descriptor_check(int fd, uint64_t max_bytes, uint64_t *bytes)
{
    struct stat st;
    struct statfs fs;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & RING_SEALS) != RING_SEALS || fstat(fd, &st) != 0 ||
        fstatfs(fd, &fs) != 0 || fs.f_type != TMPFS_MAGIC || !S_ISREG(st.st_mode))
        return SKEIN_CORRUPT;
    if (st.st_size < 0 || (uint64_t)st.st_size < RING_BYTES_MIN)
        return SKEIN_CORRUPT;
    if ((uint64_t)st.st_size > max_bytes)
        return SKEIN_TOO_LARGE;
    *bytes = (uint64_t)st.st_size;
    return SKEIN_OK;
}

int ring_memory_adopt(int fd, uint64_t max_bytes, const struct ring_identity *identity,
                      struct ring_geometry *geometry, uint8_t **ring, uint32_t claimed[2])
{
    uint64_t bytes = 0;
    int status = descriptor_check(fd, max_bytes, &bytes);
    if (status != SKEIN_OK)
        return status;
    uint8_t mode = 0;
    if (pread(fd, &mode, 1, offsetof(struct ring_header, buffering_mode)) != 1)
        return SKEIN_CORRUPT;
    struct ring_geometry g;
    if (ring_geometry_init(&g, mode, bytes) != SKEIN_OK)
        return SKEIN_CORRUPT;
    uint8_t *at = memory_map(fd, bytes); /* fails where somebody sealed it against writing */
    if (at == NULL)
        return SKEIN_IO;
    if (!ring_matches(at, &g, identity)) {
        munmap(at, bytes);
        return SKEIN_CORRUPT;
    }
    pins_clear(fd, at, &g, claimed);
    *geometry = g;
    *ring = at;
    return SKEIN_OK;
}
