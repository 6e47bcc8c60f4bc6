/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks into ELF files: segments, notes and needed libraries. All offsets and sizes are the file's:
 * each is bounded before it is used. The first KiB of a file is read once; most of what is asked
 * for lies in it. The system calls are those that a dynamic linker makes in the program itself, so
 * that a filter which lets that start lets it be looked at.
 */
#include "program_kind.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys_raw.h"

#define HEAD_BYTES     1024
#define WINDOW_BYTES   512
#define SEGMENTS_MAX   128
#define NOTES_MAX      4096 /* bytes of notes that are looked at */
#define ENTRIES_MAX    1024 /* of a dynamic section */
#define NEEDED_AT_ONCE 32
#define LINE_BYTES     256 /* of a script's first line, as the kernel reads it */
#define LINKER_BYTES   512 /* of the path of a dynamic linker; fits into the window */
#define HOPS_MAX       5   /* interpreters that are scripts themselves, as the kernel has it */

struct program {
    int fd;
    unsigned segments;
    uint64_t segments_at;
    struct stat about;
    uint64_t window_at; /* what was read last beside the head; nothing: window_bytes is 0 */
    size_t head_bytes, window_bytes;
    _Alignas(Elf64_Ehdr) uint8_t head[HEAD_BYTES];
    uint8_t window[WINDOW_BYTES];
};

/* How many bytes there are; below 0: none can be read. */
static long fd_read(int fd, uint64_t at, void *to, size_t bytes)
{
    return at <= INT64_MAX ? RAW4(SYS_pread64, fd, RAW_POINTER(to), bytes, at) : -1;
}

/* At most WINDOW_BYTES. */
static bool elf_read_at(struct program *p, uint64_t at, void *to, size_t bytes)
{
    if (at <= p->head_bytes && bytes <= p->head_bytes - at) {
        memcpy(to, p->head + at, bytes);
        return true;
    }
    if (at < p->window_at || at - p->window_at > p->window_bytes ||
        bytes > p->window_bytes - (at - p->window_at)) {
        long n = fd_read(p->fd, at, p->window, sizeof p->window);
        p->window_at = at;
        p->window_bytes = n > 0 ? (size_t)n : 0;
        if (bytes > p->window_bytes)
            return false;
    }
    memcpy(to, p->window + (at - p->window_at), bytes);
    return true;
}

static bool segment_read(struct program *p, unsigned i, Elf64_Phdr *out)
{
    return p->segments_at <= INT64_MAX &&
           elf_read_at(p, p->segments_at + i * sizeof *out, out, sizeof *out);
}

static bool segment_find(struct program *p, uint32_t type, Elf64_Phdr *out)
{
    for (unsigned i = 0; i < p->segments; i++)
        if (segment_read(p, i, out) && out->p_type == type)
            return true;
    return false;
}

/* Where the file has what the program has at `address`; false: nowhere. */
static bool file_place(struct program *p, uint64_t address, uint64_t *at)
{
    Elf64_Phdr s;
    for (unsigned i = 0; i < p->segments; i++) {
        if (!segment_read(p, i, &s) || s.p_type != PT_LOAD || address < s.p_vaddr ||
            address - s.p_vaddr >= s.p_filesz || s.p_offset > INT64_MAX)
            continue;
        *at = s.p_offset + (address - s.p_vaddr);
        return true;
    }
    return false;
}

/* ---- Go ---- */

/* Go's linker leaves a note of its own in every program. */
static bool elf_notes_say_go(struct program *p, const Elf64_Phdr *notes)
{
    uint64_t end = notes->p_filesz < NOTES_MAX ? notes->p_filesz : NOTES_MAX;
    for (uint64_t at = 0; end - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr note;
        char name[4];
        if (notes->p_offset > INT64_MAX ||
            !elf_read_at(p, notes->p_offset + at, &note, sizeof note))
            return false;
        at += sizeof note;
        uint64_t name_bytes = ((uint64_t)note.n_namesz + 3) & ~UINT64_C(3);
        uint64_t text_bytes = ((uint64_t)note.n_descsz + 3) & ~UINT64_C(3);
        if (name_bytes > end - at || text_bytes > end - at - name_bytes)
            return false;
        if (note.n_namesz == 4 && elf_read_at(p, notes->p_offset + at, name, sizeof name) &&
            memcmp(name, "Go\0", 4) == 0)
            return true;
        at += name_bytes + text_bytes;
    }
    return false;
}

static bool is_go(struct program *p)
{
    Elf64_Phdr s;
    for (unsigned i = 0; i < p->segments; i++)
        if (segment_read(p, i, &s) && s.p_type == PT_NOTE && elf_notes_say_go(p, &s))
            return true;
    return false;
}

/* ---- libraries ---- */

struct dynamic {
    uint64_t texts; /* where names begin in the file */
    bool has_texts, has_debug;
};

static bool entry_read(struct program *p, const Elf64_Phdr *dynamic, uint64_t i, Elf64_Dyn *out)
{
    return (i + 1) * sizeof *out <= dynamic->p_filesz && dynamic->p_offset <= INT64_MAX &&
           elf_read_at(p, dynamic->p_offset + i * sizeof *out, out, sizeof *out) &&
           out->d_tag != DT_NULL;
}

static void dynamic_read(struct program *p, const Elf64_Phdr *section, struct dynamic *out)
{
    Elf64_Dyn entry;
    memset(out, 0, sizeof *out);
    for (uint64_t i = 0; i < ENTRIES_MAX && entry_read(p, section, i, &entry); i++) {
        if (entry.d_tag == DT_STRTAB)
            out->has_texts = file_place(p, entry.d_un.d_ptr, &out->texts);
        out->has_debug |= entry.d_tag == DT_DEBUG;
    }
}

bool program_library_is_asan(const char name[16])
{
    return memcmp(name, "libasan.so", 10) == 0 || memcmp(name, "libclang_rt.asan", 16) == 0;
}

static bool name_is_asan(struct program *p, uint64_t at)
{
    char name[16] = "";
    return (elf_read_at(p, at, name, sizeof name) ||
            fd_read(p->fd, at, name, sizeof name) > 0) && /* the file may end with it */
           program_library_is_asan(name);
}

/* The places of names of libraries that the program needs, from the nth on. Returns how many. */
static size_t needed_read(struct program *p, const Elf64_Phdr *section, size_t n,
                          uint64_t places[NEEDED_AT_ONCE])
{
    Elf64_Dyn entry;
    size_t count = 0, seen = 0;
    for (uint64_t i = 0;
         i < ENTRIES_MAX && count < NEEDED_AT_ONCE && entry_read(p, section, i, &entry); i++)
        if (entry.d_tag == DT_NEEDED && seen++ >= n)
            places[count++] = entry.d_un.d_val;
    return count;
}

/* The names lie together, and so do the entries: each is read at one go. */
static bool needs_asan(struct program *p, const Elf64_Phdr *section, const struct dynamic *dynamic)
{
    uint64_t places[NEEDED_AT_ONCE];
    size_t n = 0, count = 0;
    if (!dynamic->has_texts)
        return false;
    do {
        count = needed_read(p, section, n, places);
        for (size_t i = 0; i < count; i++)
            if (places[i] <= INT64_MAX - dynamic->texts &&
                name_is_asan(p, dynamic->texts + places[i]))
                return true;
        n += count;
    } while (count == NEEDED_AT_ONCE);
    return false;
}

/* ---- the file ---- */

static int file_open(int folder, const char *path)
{
    return (int)RAW4(SYS_openat, folder, RAW_POINTER(path),
                     O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
}

static void file_close(int *fd)
{
    if (*fd >= 0)
        (void)RAW1(SYS_close, *fd);
    *fd = -1;
}

/* Of p->fd. False: what cannot be read, or is no file. */
static bool program_begin(struct program *p)
{
    memset(&p->about, 0, sizeof p->about);
    memset(p->head, 0, sizeof(Elf64_Ehdr));
    p->segments = 0;
    p->window_bytes = 0;
    p->window_at = 0;
    if (RAW4(SYS_newfstatat, p->fd, RAW_POINTER(""), RAW_POINTER(&p->about), AT_EMPTY_PATH) != 0 ||
        !S_ISREG(p->about.st_mode))
        return false;
    long n = fd_read(p->fd, 0, p->head, sizeof p->head);
    p->head_bytes = n > 0 ? (size_t)n : 0;
    return n >= 0;
}

static bool is_elf(const struct program *p)
{
    return p->head_bytes >= sizeof(Elf64_Ehdr) && memcmp(p->head, ELFMAG, SELFMAG) == 0;
}

static const Elf64_Ehdr *own_linker(void)
{
    return (const Elf64_Ehdr *)_r_debug.r_ldbase;
}

static bool is_of_machine(const struct program *p)
{
    const Elf64_Ehdr *header = (const void *)p->head;
    return header->e_ident[EI_CLASS] == ELFCLASS64 &&
           (own_linker() == NULL || header->e_machine == own_linker()->e_machine);
}

static bool segments_begin(struct program *p)
{
    const Elf64_Ehdr *header = (const void *)p->head;
    p->segments_at = header->e_phoff;
    p->segments = header->e_phnum < SEGMENTS_MAX ? header->e_phnum : SEGMENTS_MAX;
    return header->e_phentsize == sizeof(Elf64_Phdr);
}

/* ---- the dynamic linker ---- */

/* The tracer is for the C library that this program has, too, and that belongs to its dynamic
 * linker. One in another place is the same if it begins with the same bytes, for its build id is
 * among them. */
static bool is_own_linker(const struct program *p)
{
    return own_linker() == NULL || (p->head_bytes == HEAD_BYTES &&
                                    memcmp(p->head, (const void *)own_linker(), HEAD_BYTES) == 0);
}

/* In the program's place, which is not needed any more: the stack may be small, and this process may
 * have one descriptor left. */
static void linker_look(struct program *p, const Elf64_Phdr *name, struct program_kind *kind)
{
    char path[LINKER_BYTES] = "";
    if (name->p_filesz >= sizeof path ||
        !elf_read_at(p, name->p_offset, path, (size_t)name->p_filesz))
        return;
    file_close(&p->fd);
    p->fd = file_open(AT_FDCWD, path);
    kind->is_unreadable = p->fd < 0;
    kind->has_other_libc = p->fd >= 0 && program_begin(p) && !is_own_linker(p);
}

static bool is_option_with_value(const char *argument)
{
    static const char names[][24] = {
        "--library-path",         "--inhibit-rpath",    "--audit", "--preload", "--argv0",
        "--glibc-hwcaps-prepend", "--glibc-hwcaps-mask"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(argument, names[i]) == 0)
            return true;
    return false;
}

/* What a dynamic linker is told to run; NULL: nothing. */
static const char *program_of_linker(char *const *arguments)
{
    if (arguments == NULL || arguments[0] == NULL)
        return NULL;
    for (arguments++; *arguments != NULL && (*arguments)[0] == '-' && (*arguments)[1] == '-';
         arguments++)
        if (is_option_with_value(*arguments) && *++arguments == NULL)
            return NULL;
    return *arguments;
}

/* ---- both ---- */

static void user_look(const struct program *p, struct program_kind *kind)
{
    uint32_t user = (uint32_t)RAW0(SYS_geteuid), group = (uint32_t)RAW0(SYS_getegid);
    kind->changes_user =
        ((p->about.st_mode & S_ISUID) && p->about.st_uid != user) ||
        ((p->about.st_mode & S_ISGID) && p->about.st_gid != group) ||
        (user != 0 && RAW4(SYS_fgetxattr, p->fd, RAW_POINTER("security.capability"), 0, 0) > 0);
}

/* Returns the program that this one, a dynamic linker, runs in its place; NULL: none. */
static const char *elf_look(struct program *p, char *const *arguments, struct program_kind *kind)
{
    Elf64_Phdr section, name;
    struct dynamic dynamic = {0};
    kind->is_other_machine = !is_of_machine(p);
    if (kind->is_other_machine || !segments_begin(p))
        return NULL;
    kind->is_go = is_go(p);
    bool is_dynamic = segment_find(p, PT_DYNAMIC, &section);
    if (is_dynamic)
        dynamic_read(p, &section, &dynamic);
    if (segment_find(p, PT_INTERP, &name)) {
        kind->is_asan = is_dynamic && needs_asan(p, &section, &dynamic);
        linker_look(p, &name, kind);
        return NULL;
    }
    /* Programs have room for what debuggers ask for, also those that need no linker; linkers, which
     * are libraries, have none. */
    kind->is_static = !is_dynamic || dynamic.has_debug;
    kind->has_other_libc = !kind->is_static && !is_own_linker(p);
    return kind->is_static || kind->has_other_libc ? NULL : program_of_linker(arguments);
}

/* The interpreter that the first line of a script names, in place of the script; NULL: it is none.
 */
static const char *script_of(struct program *p)
{
    char *line = (char *)p->head;
    size_t bytes = p->head_bytes < LINE_BYTES ? p->head_bytes : LINE_BYTES, at = 2;
    if (bytes < 3 || line[0] != '#' || line[1] != '!')
        return NULL;
    while (at < bytes && (line[at] == ' ' || line[at] == '\t'))
        at++;
    char *name = line + at;
    while (at < bytes && line[at] != ' ' && line[at] != '\t' && line[at] != '\n' && line[at])
        at++;
    if (at == LINE_BYTES || line + at == name)
        return NULL;
    line[at] = '\0'; /* there is room: the line is shorter than the head */
    return name;
}

/* As another descriptor of one that may be opened, but not read (O_PATH). */
static int file_open_again(int fd)
{
    char path[32] = "/proc/self/fd/", digits[12];
    size_t n = sizeof "/proc/self/fd/" - 1, count = 0;
    do
        digits[count++] = (char)('0' + fd % 10);
    while ((fd /= 10) > 0);
    while (count > 0)
        path[n++] = digits[--count];
    return file_open(AT_FDCWD, path);
}

/* Of p->fd; returns what is to be looked at in its place, which lies in `p` or the arguments. */
static const char *file_look(struct program *p, const struct program_call *call,
                             struct program_kind *kind)
{
    if (!program_begin(p))
        return NULL;
    const char *interpreter = script_of(p);
    if (interpreter != NULL)
        return interpreter;
    kind->is_no_program = !is_elf(p);
    if (kind->is_no_program)
        return NULL;
    if (call->asks_user)
        user_look(p, kind);
    return elf_look(p, call->arguments, kind);
}

void program_look(const struct program_call *call, struct program_kind *kind)
{
    struct program program;
    const char *path = call->path;
    int folder = call->folder;
    memset(kind, 0, sizeof *kind);
    for (int i = 0; i <= HOPS_MAX && path != NULL; i++) {
        program.fd = *path != '\0' ? file_open(folder, path)
                     : folder >= 0 ? file_open_again(folder)
                                   : -1;
        kind->is_unreadable = program.fd < 0;
        if (program.fd < 0)
            return;
        path = file_look(&program, call, kind);
        file_close(&program.fd);
        folder = AT_FDCWD;
    }
}

bool program_library_is_here(const char *path)
{
    struct program p;
#ifdef SYS_access
    long barred = RAW2(SYS_access, RAW_POINTER(path), R_OK);
#else
    long barred = RAW3(SYS_faccessat, AT_FDCWD, RAW_POINTER(path), R_OK);
#endif
    if (barred != 0)
        return false;
    p.fd = file_open(AT_FDCWD, path);
    if (p.fd < 0)
        return false;
    bool here = program_begin(&p) && is_elf(&p) && is_of_machine(&p);
    file_close(&p.fd);
    return here;
}
