/* SPDX-License-Identifier: Apache-2.0
 *
 * What the dynamic linker knows of the file behind an address, and what that file's own head says
 * of its segments and its build id. Owns the finder; any thread, also in signal handlers.
 * dl_iterate_phdr() would take the lock that a library's constructor may hold while it waits for
 * this very thread.
 */
#include "code_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "placement.h"

#define HEAD_BYTES   4096 /* of an object that are mapped in any case */
#define NOTES_BYTES  65536
#define PAGE_MASK    UINT64_C(4095)
#define STAMP_FACTOR UINT64_C(0xd6e8feb86659fd93)

static code_object_finder *object_finder BESIDE_DATA; /* set before there is a ring */

/* Of code that stays: set before the finder is. */
struct range {
    uint64_t start, end;
};
static struct range of_program BESIDE_DATA, of_libc BESIDE_DATA;

static bool range_holds(const struct range *range, uint64_t address)
{
    return address - range->start < range->end - range->start;
}

bool code_object_stays(uint64_t address)
{
    return range_holds(&of_program, address) || range_holds(&of_libc, address);
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE

/* The program: the kernel says where its headers are. Set before the finder is. */
static struct {
    const struct link_map *map;
    const ElfW(Phdr) * headers;
    size_t count;
} program BESIDE_DATA;

static void range_set(struct range *range, const struct link_map **map, code_object_finder *finder,
                      uint64_t address)
{
    struct dl_find_object found;
    if (finder == NULL || finder((void *)(uintptr_t)address, &found))
        return;
    *range = (struct range){(uint64_t)(uintptr_t)found.dlfo_map_start,
                            (uint64_t)(uintptr_t)found.dlfo_map_end};
    *map = found.dlfo_link_map;
}

void code_object_prepare(code_object_finder *finder)
{
    const struct link_map *map;
    range_set(&of_program, &program.map, finder, getauxval(AT_ENTRY));
    if (getauxval(AT_PHENT) == sizeof(ElfW(Phdr))) {
        program.headers = (const void *)(uintptr_t)getauxval(AT_PHDR);
        program.count = getauxval(AT_PHNUM);
    }
    range_set(&of_libc, &map, finder, (uint64_t)(uintptr_t)finder);
    __atomic_store_n(&object_finder, finder, __ATOMIC_RELAXED);
}

/* The program headers; NULL: the object does not begin with its own head. */
static const ElfW(Phdr) * headers_of(uint64_t start, size_t *count)
{
    const ElfW(Ehdr) *head = (const void *)(uintptr_t)start;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_phentsize != sizeof(ElfW(Phdr)) ||
        head->e_phoff > HEAD_BYTES ||
        head->e_phnum > (HEAD_BYTES - head->e_phoff) / sizeof(ElfW(Phdr)) ||
        head->e_phoff % _Alignof(ElfW(Phdr)))
        return NULL;
    *count = head->e_phnum;
    return (const void *)(uintptr_t)(start + head->e_phoff);
}

/* Of an object with gaps between its segments the dynamic linker tells one segment, which does not
 * begin with the head. Programs are linked so now and then (node). */
static const ElfW(Phdr) * headers_find(const struct dl_find_object *found, size_t *count)
{
    if (found->dlfo_link_map != program.map || program.headers == NULL)
        return headers_of((uint64_t)(uintptr_t)found->dlfo_map_start, count);
    *count = program.count;
    return program.headers;
}

/* The readable segment that holds the bytes from `from` on; NULL: none. */
static const ElfW(Phdr) *
    segment_of(const ElfW(Phdr) * headers, size_t count, uint64_t bias, uint64_t from)
{
    for (size_t i = 0; i < count; i++)
        if (headers[i].p_type == PT_LOAD && headers[i].p_flags & PF_R &&
            from - (bias + headers[i].p_vaddr) < headers[i].p_filesz)
            return &headers[i];
    return NULL;
}

static uint64_t stamp_of(const uint8_t *id, size_t bytes)
{
    uint64_t stamp = UINT64_C(0x9e3779b97f4a7c15) * bytes;
    for (size_t i = 0; i < bytes; i++)
        stamp = (stamp ^ id[i]) * STAMP_FACTOR;
    return (stamp ^ stamp >> 32) | 1;
}

/* Looks through one segment of notes. */
static bool notes_build_id(const uint8_t *notes, size_t bytes, size_t align,
                           struct code_object *out)
{
    const size_t mask = align == 8 ? 7 : 3;
    ElfW(Nhdr) note;
    for (size_t at = 0; bytes - at >= sizeof note;) {
        memcpy(&note, notes + at, sizeof note);
        size_t room = bytes - at - sizeof note;
        if (note.n_namesz > room || note.n_descsz > room)
            return false;
        size_t name = at + sizeof note, text = (name + note.n_namesz + mask) & ~mask;
        size_t next = (text + note.n_descsz + mask) & ~mask;
        if (text > bytes || note.n_descsz > bytes - text)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + name, "GNU", 4) == 0 && note.n_descsz > 0 &&
            note.n_descsz <= CODE_BUILD_ID_MAX) {
            out->build_id = notes + text;
            out->build_id_bytes = (uint8_t)note.n_descsz;
            out->stamp = stamp_of(out->build_id, note.n_descsz);
            return true;
        }
        if (next > bytes)
            return false;
        at = next;
    }
    return false;
}

static void build_id_find(const ElfW(Phdr) * headers, size_t count, uint64_t bias,
                          struct code_object *out)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t from = bias + headers[i].p_vaddr;
        if (headers[i].p_type != PT_NOTE || headers[i].p_memsz > NOTES_BYTES)
            continue;
        const ElfW(Phdr) *segment = segment_of(headers, count, bias, from);
        if (segment == NULL ||
            headers[i].p_memsz > segment->p_filesz - (from - (bias + segment->p_vaddr)))
            continue;
        if (notes_build_id((const uint8_t *)(uintptr_t)from, headers[i].p_memsz, headers[i].p_align,
                           out))
            return;
    }
}

bool code_object_find(uint64_t address, struct code_object *out)
{
    code_object_finder *finder = __atomic_load_n(&object_finder, __ATOMIC_RELAXED);
    struct dl_find_object found;
    if (finder == NULL || finder((void *)(uintptr_t)address, &found))
        return false;
    *out = (struct code_object){.start = (uint64_t)(uintptr_t)found.dlfo_map_start,
                                .end = (uint64_t)(uintptr_t)found.dlfo_map_end};
    size_t count = 0;
    const ElfW(Phdr) *headers = headers_find(&found, &count);
    if (headers == NULL)
        return false;
    out->headers = headers;
    out->header_count = count;
    const uint64_t bias = found.dlfo_link_map->l_addr;
    out->bias = bias;
    out->path = found.dlfo_link_map->l_name != NULL ? found.dlfo_link_map->l_name : "";
    build_id_find(headers, count, bias, out);
    if (out->stamp != 0) /* the same file elsewhere is another */
        out->stamp = (out->stamp ^ bias) * STAMP_FACTOR | 1;
    uint64_t index = (uint64_t)(uintptr_t)found.dlfo_eh_frame;
    const ElfW(Phdr) *segment = index ? segment_of(headers, count, bias, index) : NULL;
    if (segment != NULL) {
        out->readable_from = bias + segment->p_vaddr;
        out->readable_to = out->readable_from + segment->p_filesz;
        out->index = (const uint8_t *)(uintptr_t)index;
    }
    return true;
}

bool code_object_mapping(const struct code_object *object, uint64_t address,
                         struct code_mapping *out)
{
    const ElfW(Phdr) *headers = object->headers;
    for (size_t i = 0; i < object->header_count; i++) {
        const ElfW(Phdr) *segment = &headers[i];
        const uint64_t from = object->bias + segment->p_vaddr, to = from + segment->p_filesz;
        if (segment->p_type != PT_LOAD || address < from || address >= to)
            continue;
        *out = (struct code_mapping){from & ~PAGE_MASK, (to + PAGE_MASK) & ~PAGE_MASK,
                                     segment->p_offset & ~PAGE_MASK};
        return true;
    }
    return false;
}

#else

void code_object_prepare(code_object_finder *finder)
{
    __atomic_store_n(&object_finder, finder, __ATOMIC_RELAXED);
}

bool code_object_find(uint64_t address, struct code_object *out)
{
    (void)address;
    (void)out;
    return false;
}

bool code_object_mapping(const struct code_object *object, uint64_t address,
                         struct code_mapping *out)
{
    (void)object;
    (void)address;
    (void)out;
    return false;
}

#endif
