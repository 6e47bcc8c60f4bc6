/* SPDX-License-Identifier: Apache-2.0
 *
 * What the agent and its skein-symbolizer say to each other on their socket: one request, one reply.
 * Each end takes the other's bytes for hostile. No state; any thread.
 *
 *   u32 bytes of the body | u8 kind | 3 zero bytes | body
 *   a reply's body begins with u64 bytes of memory in use, u8 status (its number without the sign)
 *
 * Kind, body, reply:
 *   LOAD    u32 module, u8 form, u8 descriptors; these come with the head: file, debug file
 *   DROP    u32 module
 *   NAMES   u32 module, uleb count, u64 place of each (in an ELF file: the offset; else the address)
 *             -> uleb count (the first so many), of each: uleb lines, each text function, text file,
 *                uleb line
 *   MAP     u32 process, uleb count, of each: u32 module, u64 start, end, offset
 *   UNMAP   u32 process
 *   UNWIND  u32 process, uleb most, 17 u64 registers, u64 address of the stack, text stack
 *             -> u8 end, uleb count, u64 pc of each
 */
#ifndef SYMBOL_WIRE_H
#define SYMBOL_WIRE_H

#include "buf.h"

#define SYMBOL_HEAD_BYTES  8
#define SYMBOL_BODY_MAX    (1u << 20)
#define SYMBOL_REPLY       0x80 /* of a kind */
#define SYMBOL_FDS_MAX     2
#define SYMBOL_PLACES_MAX  4096 /* in one request */
#define SYMBOL_LINES_MAX   64   /* of an address */
#define SYMBOL_TEXT_MAX    1024 /* of a name */
#define SYMBOL_MAPS_MAX    4096 /* of a process */
#define SYMBOL_FRAMES_MAX  1024
#define SYMBOL_STACK_BYTES (256u << 10)
#define SYMBOL_REGISTERS   17 /* x86-64, by DWARF's numbers: 16 is the instruction pointer */

enum symbol_kind {
    SYMBOL_LOAD = 1,
    SYMBOL_DROP,
    SYMBOL_NAMES,
    SYMBOL_MAP,
    SYMBOL_UNMAP,
    SYMBOL_UNWIND,
};

enum symbol_form { SYMBOL_FORM_ELF = 1, SYMBOL_FORM_JIT = 2 };

struct symbol_load {
    uint32_t module;
    uint8_t form, descriptors;
};
struct symbol_map {
    uint32_t module;
    uint64_t start, end, offset;
};
struct symbol_unwind {
    uint32_t process;
    uint32_t most; /* frames */
    uint64_t registers[SYMBOL_REGISTERS];
    uint64_t address; /* of the stack's first byte */
    const uint8_t *stack;
    size_t stack_bytes;
};

/* Head and body: _begin reserves the head, _end fills it in. */
void symbol_begin(struct buf *b);
void symbol_end(struct buf *b, uint8_t kind);
/* SKEIN_OK; SKEIN_CORRUPT, SKEIN_TOO_LARGE. */
int symbol_head_get(const uint8_t head[SYMBOL_HEAD_BYTES], uint8_t *kind, uint32_t *bytes);

void symbol_load_put(struct buf *b, const struct symbol_load *load);
void symbol_load_get(struct cursor *c, struct symbol_load *load);
void symbol_map_put(struct buf *b, const struct symbol_map *map);
void symbol_map_get(struct cursor *c, struct symbol_map *map);
void symbol_unwind_put(struct buf *b, const struct symbol_unwind *unwind);
void symbol_unwind_get(struct cursor *c, struct symbol_unwind *unwind); /* stack: in c's bytes */

/* A count of things of at least `each` bytes: fails the cursor above most, or if they cannot be
 * there. */
uint32_t symbol_count_get(struct cursor *c, uint32_t most, size_t each);

#endif
