/* SPDX-License-Identifier: Apache-2.0
 * Bytes between agent and skein-symbolizer: a request of any kind, with a file that is the request's
 * own bytes; an answer's lines; a process's maps. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_target.h"
#include "process_maps.h"
#include "symbol_int.h"
#include "symbol_serve.h"

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void request_try(const uint8_t *bytes, size_t n)
{
    struct symbol_server *server;
    struct buf reply = {0};
    int fds[SYMBOL_FDS_MAX];
    size_t fd_count = bytes[1] % (SYMBOL_FDS_MAX + 1);
    for (size_t i = 0; i < fd_count; i++) {
        fds[i] = memfd_create("file", MFD_CLOEXEC);
        require(fds[i] >= 0 && write(fds[i], bytes, n) == (ssize_t)n &&
                lseek(fds[i], 0, SEEK_SET) == 0);
    }
    require(symbol_server_new(&server) == SKEIN_OK);
    symbol_server_answer(server, bytes[0], bytes + 2, n - 2, fds, fd_count, &reply);
    require(reply.len >= SYMBOL_HEAD_BYTES + 9);
    symbol_server_free(&server);
    buf_fini(&reply);
}

/* What was cleaned once is clean, and reads as it was said to. */
static void lines_try(const uint8_t *bytes, size_t n)
{
    struct cursor c;
    struct buf once = {0}, twice = {0};
    struct partition_line *lines;
    char *texts;
    cursor_init(&c, bytes, n);
    if (symbol_lines_clean(&c, &once)) {
        int count = symbol_lines_read(once.data, once.len, &lines, &texts);
        require(count >= 0 && count <= SYMBOL_LINES_MAX);
        for (int i = 0; i < count; i++)
            for (const char *p = lines[i].function; *p != '\0'; p++)
                require((unsigned char)*p >= 0x20 && *p != 0x7f);
        free(lines);
        free(texts);
        cursor_init(&c, once.data, once.len);
        require(symbol_lines_clean(&c, &twice) && cursor_left(&c) == 0);
        require(twice.len == once.len && memcmp(twice.data, once.data, once.len) == 0);
    }
    buf_fini(&once);
    buf_fini(&twice);
}

static void maps_try(const uint8_t *bytes, size_t n)
{
    struct process_maps maps;
    require(process_maps_parse((const char *)bytes, n, &maps) == SKEIN_OK);
    for (size_t i = 0; i < maps.count; i++) {
        const struct partition_mapping *mapping = &maps.items[i].mapping;
        require(mapping->start < mapping->end && strlen(mapping->path) <= n);
        require(i == 0 || maps.items[i - 1].mapping.start <= mapping->start);
    }
    process_maps_free(&maps);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < 2)
        return 0;
    request_try(bytes, n);
    lines_try(bytes, n);
    maps_try(bytes, n);
    return 0;
}
