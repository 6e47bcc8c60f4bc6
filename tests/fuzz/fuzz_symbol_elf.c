/* SPDX-License-Identifier: Apache-2.0
 * A hostile ELF file in skein-symbolizer: opened, asked for names at places all over it, mapped and
 * walked through. Whatever is in it, each answer is one that the agent takes. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "build_id.h"
#include "fuzz_target.h"
#include "symbol_serve.h"
#include "symbol_wire.h"

static void require(bool holds)
{
    if (!holds)
        abort();
}

static int file_make(const uint8_t *bytes, size_t n)
{
    int fd = memfd_create("elf", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    return fd;
}

/* Sends the request that is in b; its answer, behind memory and status, in c. Returns the status. */
static int ask(struct symbol_server *server, struct buf *b, uint8_t kind, const int *fds,
               size_t fd_count, struct buf *reply, struct cursor *c)
{
    uint8_t said;
    uint32_t bytes;
    symbol_end(b, kind);
    buf_clear(reply);
    symbol_server_answer(server, kind, b->data + SYMBOL_HEAD_BYTES, b->len - SYMBOL_HEAD_BYTES, fds,
                         fd_count, reply);
    require(reply->status == SKEIN_OK && reply->len >= SYMBOL_HEAD_BYTES + 9);
    require(symbol_head_get(reply->data, &said, &bytes) == SKEIN_OK);
    require(said == (kind | SYMBOL_REPLY) && bytes == reply->len - SYMBOL_HEAD_BYTES);
    cursor_init(c, reply->data + SYMBOL_HEAD_BYTES, bytes);
    (void)cursor_u64(c);
    return -(int)cursor_u8(c);
}

static void names_ask(struct symbol_server *server, size_t n)
{
    struct buf b = {0}, reply = {0};
    struct cursor c;
    symbol_begin(&b);
    buf_put_u32(&b, 1);
    buf_put_uleb(&b, 64);
    for (size_t i = 0; i < 64; i++)
        buf_put_u64(&b, n * i / 64);
    if (ask(server, &b, SYMBOL_NAMES, NULL, 0, &reply, &c) == SKEIN_OK) {
        uint32_t count = symbol_count_get(&c, 64, 1);
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t lines = symbol_count_get(&c, SYMBOL_LINES_MAX, 3); lines > 0; lines--) {
                size_t length;
                require(cursor_text(&c, SYMBOL_TEXT_MAX, &length) != NULL);
                require(cursor_text(&c, SYMBOL_TEXT_MAX, &length) != NULL);
                require(cursor_uleb(&c) <= UINT32_MAX);
            }
        require(c.status == SKEIN_OK && cursor_left(&c) == 0);
    }
    buf_fini(&b);
    buf_fini(&reply);
}

static void walk_ask(struct symbol_server *server, size_t n)
{
    struct buf b = {0}, reply = {0};
    struct cursor c;
    uint8_t stack[2048];
    for (size_t i = 0; i < sizeof stack; i += 8) /* pointers into the file's mapping */
        memcpy(stack + i, &(uint64_t){0x10000000 + n * i / sizeof stack}, 8);
    struct symbol_unwind unwind = {
        .process = 1, .most = 64, .address = 0x7000, .stack = stack, .stack_bytes = sizeof stack};
    symbol_begin(&b);
    buf_put_u32(&b, 1);
    buf_put_uleb(&b, 1);
    symbol_map_put(&b, &(struct symbol_map){1, 0x10000000, 0x10000000 + (uint64_t)n + 1, 0});
    bool mapped = ask(server, &b, SYMBOL_MAP, NULL, 0, &reply, &c) == SKEIN_OK;
    for (size_t i = 0; i < 16 && mapped; i++) {
        for (size_t r = 0; r < SYMBOL_REGISTERS; r++)
            unwind.registers[r] = 0x7000 + 64 * r;
        unwind.registers[16] = 0x10000000 + n * i / 16;
        buf_clear(&b);
        symbol_begin(&b);
        symbol_unwind_put(&b, &unwind);
        require(ask(server, &b, SYMBOL_UNWIND, NULL, 0, &reply, &c) == SKEIN_OK);
        (void)cursor_u8(&c);
        uint32_t count = symbol_count_get(&c, 64, 8);
        require(count >= 1 && cursor_left(&c) == 8u * count);
    }
    buf_fini(&b);
    buf_fini(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct symbol_server *server;
    struct buf b = {0}, reply = {0};
    struct cursor c;
    uint8_t id[BUILD_ID_MAX], id_bytes;
    int fd = file_make(bytes, n);
    int status = build_id_read(fd, id, &id_bytes);
    require((status == SKEIN_OK) == (id_bytes > 0) && id_bytes <= BUILD_ID_MAX);
    require(symbol_server_new(&server) == SKEIN_OK);
    symbol_begin(&b);
    symbol_load_put(&b, &(struct symbol_load){1, SYMBOL_FORM_ELF, 1});
    if (ask(server, &b, SYMBOL_LOAD, &fd, 1, &reply, &c) == SKEIN_OK) {
        names_ask(server, n);
        walk_ask(server, n);
    }
    buf_fini(&b);
    buf_fini(&reply);
    symbol_server_free(&server);
    return 0;
}
