/* SPDX-License-Identifier: Apache-2.0
 *
 * Standard error of processes; see last_words.h. A descriptor of a process's may lead to what the
 * process itself may not read (O_PATH, a file that was opened for it), and this agent may read all:
 * so the file is kept only if the descriptor was one to write with, and is the one that was seen.
 */
#include "last_words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "clock.h"
#include "proc_info.h"
#include "shares.h"
#include "symbol_open.h"
#include "text_whole.h"
#include "utf8_scan.h"

/* Times of files are those of the last timer's tick, and a process's start is one of 10 ms. */
#define TICKS_NS (20 * UINT64_C(1000000))

/* ---- where it leads ---- */

/* The number behind `key` at a line's begin; UINT64_MAX: there is none. */
static uint64_t line_number(const char *text, const char *key, int base)
{
    size_t n = strlen(key);
    for (const char *at = text; at != NULL && *at != '\0'; at = strchr(at, '\n')) {
        at += *at == '\n';
        char *end;
        if (strncmp(at, key, n) != 0)
            continue;
        errno = 0;
        uint64_t value = strtoull(at + n, &end, base);
        return errno != 0 || (*end != '\n' && *end != '\0') ? UINT64_MAX : value;
    }
    return UINT64_MAX;
}

bool words_fdinfo_parse(const char *text, struct words_place *place)
{
    uint64_t flags = line_number(text, "flags:", 8), mount = line_number(text, "mnt_id:", 10);
    uint64_t inode = line_number(text, "ino:", 10); /* from Linux 5.14 on */
    if (flags == UINT64_MAX || mount == UINT64_MAX)
        return false;
    place->writes = (flags & O_ACCMODE) != O_RDONLY && (flags & O_PATH) == 0;
    place->mount = mount;
    place->inode = inode == UINT64_MAX ? 0 : inode;
    return true;
}

static bool fdinfo_read(const char *name, struct words_place *place)
{
    char text[1024];
    return text_file_read(name, text, sizeof text) > 0 && words_fdinfo_parse(text, place);
}

int words_place_read(pid_t pid, struct words_place *place)
{
    char name[64], info[64];
    struct words_place found = {.looked_ns = clock_realtime_ns()};
    *place = (struct words_place){.file = ""};
    snprintf(name, sizeof name, "/proc/%d/fd/2", (int)pid);
    snprintf(info, sizeof info, "/proc/%d/fdinfo/2", (int)pid);
    ssize_t n = readlink(name, found.file, sizeof found.file);
    if (n <= 0) {
        place->refused = n < 0 && (errno == EACCES || errno == EPERM);
        return place->refused ? SKEIN_DENIED : SKEIN_NOT_FOUND;
    }
    found.cut = (size_t)n == sizeof found.file;
    found.file[found.cut ? n - 1 : n] = '\0';
    if (!fdinfo_read(info, &found))
        return SKEIN_NOT_FOUND; /* closed meanwhile */
    found.user = proc_user(pid);
    found.has_user = found.user != SHARE_USER_UNKNOWN;
    *place = found;
    return SKEIN_OK;
}

static uint64_t time_ns(const struct statx_timestamp *time)
{
    return time->tv_sec < 0 ? 0 : (uint64_t)time->tv_sec * NS_PER_S + time->tv_nsec;
}

void words_place_stat(pid_t pid, uint64_t start_ns, struct words_place *place,
                      struct words_mark *mark)
{
    char name[64];
    struct statx about;
    snprintf(name, sizeof name, "/proc/%d/fd/2", (int)pid);
    if (place->file[0] != '/' ||
        statx(AT_FDCWD, name, AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &about) != 0 ||
        (place->inode != 0 && place->inode != about.stx_ino))
        return; /* of another file meanwhile; or its inode has two numbers, as on overlays */
    if (place->inode == 0)
        place->inode = about.stx_ino;
    place->has_device = true;
    place->device = makedev(about.stx_dev_major, about.stx_dev_minor);
    if (S_ISREG(about.stx_mode) && time_ns(&about.stx_mtime) + TICKS_NS < start_ns)
        *mark = (struct words_mark){true, place->device, about.stx_ino, about.stx_size};
}

/* ---- who could read it ---- */

/* Whether one may go through the folder: everybody; or `user`, if it is his. */
static bool may_pass(const struct stat *folder, bool has_user, uint32_t user)
{
    return (folder->st_mode & S_IXOTH) != 0 || (has_user && user == 0) ||
           (has_user && folder->st_uid == user && (folder->st_mode & S_IXUSR) != 0);
}

/* All folders of the path; what cannot be looked at lets nobody through. */
static bool folders_pass(const char *path, bool has_user, uint32_t user)
{
    char folder[WORDS_FILE_BYTES];
    struct stat about;
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strrchr(folder, '/'); slash != NULL; slash = strrchr(folder, '/')) {
        slash[slash == folder] = '\0';
        if (stat(folder, &about) != 0 || !may_pass(&about, has_user, user))
            return false;
        if (slash == folder)
            return true;
    }
    return false;
}

const char *words_readers(const struct words_file *file, const struct words_place *place)
{
    bool own = place->has_user &&
               (place->user == 0 || (place->user == file->owner && (file->mode & S_IRUSR) != 0));
    if ((file->mode & S_IROTH) != 0 && folders_pass(file->path, false, 0))
        return "everybody";
    own |= place->has_user && (file->mode & S_IROTH) != 0;
    return own && folders_pass(file->path, true, place->user) ? "process" : "others";
}

/* ---- the file's end ---- */

static void words_lack(struct words *out, const char *why)
{
    out->why = why;
    out->why_more = "";
}

/* What cannot be had; NULL: it may be a file. */
static const char *place_why(const struct words_place *place)
{
    const char *file = place->file;
    if (place->refused)
        return "it may not be looked at: needs CAP_SYS_PTRACE";
    if (file[0] == '\0')
        return "closed, or not seen in time";
    if (strncmp(file, "pipe:", 5) == 0)
        return "a pipe";
    if (strncmp(file, "socket:", 7) == 0)
        return "a socket, as the journal's";
    if (strcmp(file, "/dev/null") == 0)
        return "/dev/null";
    if (strncmp(file, "/dev/pts/", 9) == 0 || strncmp(file, "/dev/tty", 8) == 0)
        return "a terminal";
    if (file[0] != '/')
        return "no file";
    if (!place->writes)
        return "not open to be written";
    return place->cut ? "a file of too long a name" : NULL;
}

/* Why nothing could be opened at a path that was a file's. */
static void open_why(const char *file, int failed, struct words *out)
{
    struct stat about;
    if (failed == ENOENT || failed == ENOTDIR)
        words_lack(out, "a file that is not at its path here: deleted, moved, or a container's");
    else if (stat(file, &about) == 0 && S_ISFIFO(about.st_mode))
        words_lack(out, "a named pipe");
    else if (stat(file, &about) == 0 && !S_ISREG(about.st_mode))
        words_lack(out, "a device");
    else {
        words_lack(out, "a file that could not be opened: ");
        out->why_more = strerrordesc_np(failed);
        out->why_more = out->why_more != NULL ? out->why_more : "";
    }
}

/* Whether the file that was opened is the one that the process had. By the kernel's numbers: of the
 * mount, where this agent sees the same mounts, or of the device. */
static bool is_same(int fd, const struct statx *about, const struct words_place *place)
{
    char name[64];
    struct words_place own = {.file = ""};
    uint64_t device = makedev(about->stx_dev_major, about->stx_dev_minor);
    bool has_birth = (about->stx_mask & STATX_BTIME) != 0;
    if (has_birth && time_ns(&about->stx_btime) > place->looked_ns)
        return false; /* made since then; it may have got the number of the one before */
    if (place->has_device && place->device == device && place->inode == about->stx_ino)
        return true;
    snprintf(name, sizeof name, "/proc/self/fdinfo/%d", fd);
    return fdinfo_read(name, &own) && own.inode != 0 && own.inode == place->inode &&
           own.mount == place->mount;
}

/* Where what counts begins. */
static uint64_t own_begin(const struct statx *about, const struct words_mark *mark,
                          uint64_t start_ns, bool *since_start)
{
    bool marked = mark->known && mark->inode == about->stx_ino &&
                  mark->device == makedev(about->stx_dev_major, about->stx_dev_minor);
    bool has_birth = (about->stx_mask & STATX_BTIME) != 0;
    *since_start = marked || (has_birth && start_ns > 0 && time_ns(&about->stx_btime) > start_ns);
    return marked && mark->bytes <= about->stx_size ? mark->bytes : 0; /* less: truncated since */
}

static bool end_read(int fd, uint64_t from, size_t want, struct words *out)
{
    out->bytes = malloc(want + 1);
    if (out->bytes == NULL)
        return false;
    ssize_t n = bytes_read_at(fd, out->bytes, want, from);
    out->count = n > 0 ? (size_t)n : 0;
    return true;
}

static void file_read_end(int fd, const struct statx *about, uint64_t begin, struct words *out)
{
    uint64_t size = about->stx_size, from = begin;
    if (size - begin > LAST_WORDS_BYTES)
        from = size - LAST_WORDS_BYTES;
    if (size == begin) {
        words_lack(out, out->since_start ? "a file that nobody wrote to since it began"
                                         : "an empty file");
        return;
    }
    if (!end_read(fd, from, (size_t)(size - from), out) || out->count == 0) {
        words_lack(out, out->bytes == NULL ? "a file that there was no memory for"
                                           : "a file that could not be read");
        words_fini(out);
        return;
    }
    size_t skip = words_skip(out->bytes, out->count, from > begin);
    memmove(out->bytes, out->bytes + skip, out->count - skip);
    out->count -= skip;
    out->before = from - begin + skip;
    if (out->count == 0) {
        words_lack(out, "a file that ends in a hole");
        words_fini(out);
    }
}

void words_read(const struct words_place *place, const struct words_mark *mark, uint64_t start_ns,
                struct words *out)
{
    struct statx about;
    *out = (struct words){.readers = "", .why_more = "", .why = place_why(place)};
    if (out->why != NULL)
        return;
    int fd = symbol_regular_open(place->file);
    if (fd < 0) {
        open_why(place->file, errno, out);
        return;
    }
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &about) != 0)
        words_lack(out, "a file that could not be read");
    else if (!is_same(fd, &about, place))
        words_lack(out, "a file that another is in the place of, or that was not seen in time");
    else {
        const struct words_file file = {place->file, about.stx_mode, about.stx_uid};
        out->readers = words_readers(&file, place);
        file_read_end(fd, &about, own_begin(&about, mark, start_ns, &out->since_start), out);
    }
    close(fd);
}

void words_fini(struct words *words)
{
    free(words->bytes);
    words->bytes = NULL;
    words->count = 0;
}

/* ---- the text ---- */

static bool is_inside(char byte)
{
    return ((uint8_t)byte & 0xc0u) == 0x80;
}

size_t words_skip(const char *bytes, size_t n, bool amidst)
{
    size_t at = 0;
    while (amidst && at < 3 && at < n && is_inside(bytes[at]))
        at++;
    while (at < n && bytes[at] == '\0')
        at++;
    return at;
}

size_t words_piece(const char *bytes, size_t n)
{
    uint32_t point;
    if (n <= WORDS_PIECE)
        return n;
    const char *line = memrchr(bytes, '\n', WORDS_PIECE);
    if (line != NULL)
        return (size_t)(line - bytes) + 1;
    size_t at = WORDS_PIECE;
    while (at > WORDS_PIECE - 3 && is_inside(bytes[at]))
        at--;
    return utf8_scan((const uint8_t *)bytes + at, n - at, &point) > 0 ? at : WORDS_PIECE;
}
