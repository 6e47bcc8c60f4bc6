/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes between agent and skein-symbolizer; see symbol_wire.h.
 */
#include "symbol_wire.h"

void symbol_begin(struct buf *b)
{
    buf_put_u64(b, 0);
}

void symbol_end(struct buf *b, uint8_t kind)
{
    if (b->status != SKEIN_OK)
        return;
    buf_set_u32(b, 0, (uint32_t)(b->len - SYMBOL_HEAD_BYTES));
    b->data[4] = kind;
}

int symbol_head_get(const uint8_t head[SYMBOL_HEAD_BYTES], uint8_t *kind, uint32_t *bytes)
{
    struct cursor c;
    cursor_init(&c, head, SYMBOL_HEAD_BYTES);
    *bytes = cursor_u32(&c);
    *kind = cursor_u8(&c);
    if (head[5] != 0 || head[6] != 0 || head[7] != 0)
        return SKEIN_CORRUPT;
    return *bytes <= SYMBOL_BODY_MAX ? SKEIN_OK : SKEIN_TOO_LARGE;
}

void symbol_load_put(struct buf *b, const struct symbol_load *load)
{
    buf_put_u32(b, load->module);
    buf_put_u8(b, load->form);
    buf_put_u8(b, load->descriptors);
}

void symbol_load_get(struct cursor *c, struct symbol_load *load)
{
    load->module = cursor_u32(c);
    load->form = cursor_u8(c);
    load->descriptors = cursor_u8(c);
    if ((load->form != SYMBOL_FORM_ELF && load->form != SYMBOL_FORM_JIT) ||
        load->descriptors == 0 || load->descriptors > SYMBOL_FDS_MAX)
        (void)cursor_fail(c, SKEIN_CORRUPT);
}

void symbol_map_put(struct buf *b, const struct symbol_map *map)
{
    buf_put_u32(b, map->module);
    buf_put_u64(b, map->start);
    buf_put_u64(b, map->end);
    buf_put_u64(b, map->offset);
}

void symbol_map_get(struct cursor *c, struct symbol_map *map)
{
    map->module = cursor_u32(c);
    map->start = cursor_u64(c);
    map->end = cursor_u64(c);
    map->offset = cursor_u64(c);
    if (map->start >= map->end)
        (void)cursor_fail(c, SKEIN_CORRUPT);
}

void symbol_unwind_put(struct buf *b, const struct symbol_unwind *unwind)
{
    buf_put_u32(b, unwind->process);
    buf_put_uleb(b, unwind->most);
    for (int i = 0; i < SYMBOL_REGISTERS; i++)
        buf_put_u64(b, unwind->registers[i]);
    buf_put_u64(b, unwind->address);
    buf_put_text(b, (const char *)unwind->stack, unwind->stack_bytes);
}

void symbol_unwind_get(struct cursor *c, struct symbol_unwind *unwind)
{
    unwind->process = cursor_u32(c);
    uint64_t most = cursor_uleb(c);
    for (int i = 0; i < SYMBOL_REGISTERS; i++)
        unwind->registers[i] = cursor_u64(c);
    unwind->address = cursor_u64(c);
    unwind->stack = (const uint8_t *)cursor_text(c, SYMBOL_STACK_BYTES, &unwind->stack_bytes);
    unwind->most = (uint32_t)most;
    if (most == 0 || most > SYMBOL_FRAMES_MAX ||
        (c->status == SKEIN_OK && unwind->stack_bytes > UINT64_MAX - unwind->address))
        (void)cursor_fail(c, SKEIN_CORRUPT);
}

uint32_t symbol_count_get(struct cursor *c, uint32_t most, size_t each)
{
    uint64_t count = cursor_uleb(c);
    if (count <= most && count <= cursor_left(c) / each)
        return c->status == SKEIN_OK ? (uint32_t)count : 0;
    (void)cursor_fail(c, SKEIN_CORRUPT);
    return 0;
}
