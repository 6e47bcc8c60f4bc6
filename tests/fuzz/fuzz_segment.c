/* SPDX-License-Identifier: Apache-2.0
 *
 * A hostile folder: the input is the file of segment 1, beside a sound first record in segment 2's
 * place if the input's first byte is odd. It is opened, recovered and scanned, opened
 * again and scanned again; what one open found good the next must find too.
 *
 * The input's checksums are made right where its second byte is odd, so that the engine gets behind
 * them: record headers and payloads at every 8-byte step that begins with the record magic, and the
 * trailer at the end.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checksum.h"
#include "fuzz_target.h"
#include "segment.h"
#include "store.h"

#define INPUT_MAX (256u << 10)

static char folder[64];

static void path_of(uint64_t number, char out[128])
{
    char name[SEGMENT_NAME_BYTES];
    segment_name(number, name);
    (void)snprintf(out, 128, "%s/%s", folder, name);
}

static void folder_clear(void)
{
    for (uint64_t number = 1; number < 5; number++) {
        char path[128];
        path_of(number, path);
        unlink(path);
    }
}

static void folder_remove(void)
{
    folder_clear();
    rmdir(folder);
}

static void folder_make(void)
{
    if (folder[0])
        return;
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%s/skein-fuzz-XXXXXX",
                   tmp && strlen(tmp) < 32 ? tmp : "/tmp");
    if (!mkdtemp(folder))
        abort();
    atexit(folder_remove);
}

static uint64_t u64_at(const uint8_t *at)
{
    struct cursor c;
    cursor_init(&c, at, 8);
    return cursor_u64(&c);
}

/* Seals the record at `at` again with its own fields, checksums made right. */
static void record_seal(uint8_t *bytes, size_t n, size_t at)
{
    const uint8_t *old = bytes + at;
    struct segment_record record = {.kind = old[4], .length = u64_at(old + 72)};
    memcpy(record.about.key.process.bytes, old + 8, 16);
    record.about.key.epoch = u64_at(old + 24);
    record.about.key.sequence = u64_at(old + 32);
    memcpy(record.about.capture.bytes, old + 40, 16);
    uint64_t left = n - at - SEGMENT_RECORD_BYTES;
    record.checksum = record.length <= left
                          ? checksum64(old + SEGMENT_RECORD_BYTES, (size_t)record.length)
                          : u64_at(old + 80);
    segment_record_put(bytes + at, &record, 1, at);
}

static void checksums_fix(uint8_t *bytes, size_t n)
{
    for (size_t at = SEGMENT_HEADER_BYTES; at + SEGMENT_RECORD_BYTES <= n; at += 8)
        if (memcmp(bytes + at, "SKR1", 4) == 0)
            record_seal(bytes, n, at);
    if (n >= SEGMENT_HEADER_BYTES + SEGMENT_TRAILER_BYTES) {
        uint8_t *at = bytes + n - SEGMENT_TRAILER_BYTES;
        struct segment_trailer trailer = {u64_at(at), u64_at(at + 8)};
        if (memcmp(at + 16, "SKNTAIL1", 8) == 0)
            segment_trailer_put(at, &trailer, 1);
    }
}

struct counts {
    struct store *store;
    uint64_t records;
};

static int see_record(void *context, const struct store_record *record,
                      const struct store_place *place, const struct partition_footer *footer)
{
    struct counts *c = context;
    uint8_t byte;
    (void)record;
    if (footer->partition_bytes != place->bytes)
        abort();
    (void)store_read(c->store, place, place->bytes - 1, &byte, 1);
    c->records++;
    return 0;
}

static int see_tombstone(void *context, const struct store_record *record, uint64_t segment)
{
    struct counts *c = context;
    (void)record;
    (void)segment;
    c->records++;
    return 0;
}

static uint64_t open_and_scan(void)
{
    char error[256];
    struct counts c = {0};
    struct store_settings settings = {.folder = folder, .segment_bytes = 1 << 20};
    if (store_open(&settings, &c.store, error, sizeof error) < 0)
        abort(); /* bytes alone must never keep a collector from starting */
    if (store_scan(c.store, 0, 0, see_record, see_tombstone, &c) < 0)
        abort();
    store_close(&c.store);
    return c.records;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < 2 || n > INPUT_MAX)
        return 0;
    folder_make();
    folder_clear();
    bool more = bytes[0] & 1, fix = bytes[1] & 1;
    uint8_t *file = malloc(n - 1);
    if (!file)
        return 0;
    memcpy(file, bytes + 2, n - 2);
    if (fix)
        checksums_fix(file, n - 2);
    char path[128];
    path_of(1, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, file, n - 2) != (ssize_t)(n - 2))
        abort();
    close(fd);
    if (more) { /* not the last one: it is closed by recovery */
        uint8_t next[SEGMENT_HEADER_BYTES + SEGMENT_RECORD_BYTES];
        struct segment_record tombstone = {.kind = SEGMENT_TOMBSTONE};
        if (bytes[0] & 2) /* of a capture; else of a partition */
            memset(tombstone.about.capture.bytes, bytes[1], sizeof tombstone.about.capture.bytes);
        segment_header_put(next, &(struct segment_header){.number = 2});
        segment_record_put(next + SEGMENT_HEADER_BYTES, &tombstone, 2, SEGMENT_HEADER_BYTES);
        path_of(2, path);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, next, sizeof next) != (ssize_t)sizeof next)
            abort();
        close(fd);
    }
    free(file);
    uint64_t first = open_and_scan();
    if (open_and_scan() != first)
        abort();
    return 0;
}
