/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks into ELF files: segments, notes and needed libraries. All offsets and sizes are the file's:
 * each is bounded before it is used.
 */
#include "program_kind.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SEGMENTS_MAX 128
#define NOTES_MAX    4096 /* bytes of notes that are looked at */
#define ENTRIES_MAX  1024 /* of a dynamic section */
#define NAME_BYTES   128
#define SCRIPTS_MAX  4 /* interpreters that are scripts themselves */

struct program {
    int fd;
    Elf64_Phdr segments[SEGMENTS_MAX];
    unsigned count;
};

static bool elf_read_at(int fd, uint64_t at, void *to, size_t bytes)
{
    return at <= INT64_MAX && pread(fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}

static bool segments_read(struct program *program, const Elf64_Ehdr *header)
{
    program->count = header->e_phnum < SEGMENTS_MAX ? header->e_phnum : SEGMENTS_MAX;
    return header->e_phentsize == sizeof(Elf64_Phdr) &&
           elf_read_at(program->fd, header->e_phoff, program->segments,
                       program->count * sizeof(Elf64_Phdr));
}

static const Elf64_Phdr *segment(const struct program *program, uint32_t type)
{
    for (unsigned i = 0; i < program->count; i++)
        if (program->segments[i].p_type == type)
            return &program->segments[i];
    return NULL;
}

/* Where the file has what the program has at `address`; false: nowhere. */
static bool file_place(const struct program *program, uint64_t address, uint64_t *at)
{
    for (unsigned i = 0; i < program->count; i++) {
        const Elf64_Phdr *s = &program->segments[i];
        if (s->p_type != PT_LOAD || address < s->p_vaddr || address - s->p_vaddr >= s->p_filesz)
            continue;
        *at = s->p_offset + (address - s->p_vaddr);
        return true;
    }
    return false;
}

/* Go's linker leaves a note of its own in every program. */
static bool elf_notes_say_go(const struct program *program, const Elf64_Phdr *notes)
{
    uint8_t bytes[NOTES_MAX];
    size_t total = notes->p_filesz < sizeof bytes ? (size_t)notes->p_filesz : sizeof bytes;
    if (!elf_read_at(program->fd, notes->p_offset, bytes, total))
        return false;
    for (size_t at = 0; total - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr note;
        memcpy(&note, bytes + at, sizeof note);
        at += sizeof note;
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t text = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > total - at || text > total - at - name)
            return false;
        if (note.n_namesz == 4 && memcmp(bytes + at, "Go\0", 4) == 0)
            return true;
        at += name + text;
    }
    return false;
}

static bool is_go(const struct program *program)
{
    for (unsigned i = 0; i < program->count; i++)
        if (program->segments[i].p_type == PT_NOTE &&
            elf_notes_say_go(program, &program->segments[i]))
            return true;
    return false;
}

/* The dynamic linker that the program names, which belongs to its C library. */
static bool linker_of(const struct program *program, struct stat *linker)
{
    char path[PATH_MAX] = "";
    const Elf64_Phdr *name = segment(program, PT_INTERP);
    return name != NULL && name->p_filesz < sizeof path &&
           elf_read_at(program->fd, name->p_offset, path, (size_t)name->p_filesz) &&
           stat(path, linker) == 0;
}

/* The tracer is for the C library that this program has, too. */
static bool has_other_libc(const struct program *program)
{
    struct program own = {.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
    struct stat theirs, ours;
    Elf64_Ehdr header;
    bool other = own.fd >= 0 && elf_read_at(own.fd, 0, &header, sizeof header) &&
                 segments_read(&own, &header) && linker_of(&own, &ours) &&
                 linker_of(program, &theirs) &&
                 (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino);
    if (own.fd >= 0)
        close(own.fd);
    return other;
}

static bool name_is_asan(const struct program *program, uint64_t at)
{
    char name[NAME_BYTES] = "";
    ssize_t n = at <= INT64_MAX ? pread(program->fd, name, sizeof name - 1, (off_t)at) : -1;
    return n > 0 &&
           (strncmp(name, "libasan.so", 10) == 0 || strncmp(name, "libclang_rt.asan", 16) == 0);
}

static bool needs_asan(const struct program *program)
{
    const Elf64_Phdr *dynamic = segment(program, PT_DYNAMIC);
    uint64_t texts = 0, needed[ENTRIES_MAX];
    size_t count = 0;
    bool has_texts = false;
    for (uint64_t i = 0; dynamic != NULL && i < ENTRIES_MAX; i++) {
        Elf64_Dyn entry;
        if ((i + 1) * sizeof entry > dynamic->p_filesz ||
            !elf_read_at(program->fd, dynamic->p_offset + i * sizeof entry, &entry, sizeof entry) ||
            entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_NEEDED)
            needed[count++] = entry.d_un.d_val;
        else if (entry.d_tag == DT_STRTAB)
            has_texts = file_place(program, entry.d_un.d_ptr, &texts);
    }
    bool found = false;
    for (size_t i = 0; has_texts && i < count && !found; i++)
        found = needed[i] <= INT64_MAX - texts && name_is_asan(program, texts + needed[i]);
    return found;
}

static void user_look(int fd, struct program_kind *kind)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return;
    kind->changes_user = ((about.st_mode & S_ISUID) && about.st_uid != geteuid()) ||
                         ((about.st_mode & S_ISGID) && about.st_gid != getegid()) ||
                         (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

static void elf_look(int fd, const Elf64_Ehdr *header, struct program_kind *kind)
{
    struct program program = {.fd = fd};
    kind->is_other_bits = header->e_ident[EI_CLASS] == ELFCLASS32;
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || !segments_read(&program, header))
        return;
    kind->is_static = segment(&program, PT_INTERP) == NULL;
    kind->is_go = is_go(&program);
    kind->is_asan = needs_asan(&program);
    kind->has_other_libc = has_other_libc(&program);
}

/* The interpreter that the first line of a script names; false: it is none. */
static bool script_of(int fd, char interpreter[NAME_BYTES])
{
    char line[NAME_BYTES] = "";
    ssize_t n = pread(fd, line, sizeof line - 1, 0);
    if (n < 3 || strncmp(line, "#!", 2) != 0)
        return false;
    const char *name = line + 2 + strspn(line + 2, " \t");
    size_t bytes = strcspn(name, " \t\n");
    if (bytes == 0 || name[bytes] == '\0')
        return false;
    snprintf(interpreter, NAME_BYTES, "%.*s", (int)bytes, name);
    return true;
}

void program_look(const char *path, struct program_kind *kind)
{
    char interpreter[NAME_BYTES];
    memset(kind, 0, sizeof *kind);
    for (int i = 0; i < SCRIPTS_MAX; i++) {
        Elf64_Ehdr header;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return;
        bool script = script_of(fd, interpreter);
        if (!script && elf_read_at(fd, 0, &header, sizeof header) &&
            memcmp(header.e_ident, ELFMAG, SELFMAG) == 0) {
            user_look(fd, kind);
            elf_look(fd, &header, kind);
        }
        close(fd);
        if (!script)
            return;
        path = interpreter;
    }
}
