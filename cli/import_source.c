/* SPDX-License-Identifier: Apache-2.0
 *
 * Files as sources of imports, unpacked where they are packed. See import_files.h. One thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checksum.h"
#include "cli_out.h"
#include "import_files.h"
#include "import_out.h"
#include "text_whole.h"
#include "unpack.h"

#define PACKED_DEPTH_MAX 4 /* packed in each other */

struct source_file {
    int fd;
    char *name;
    uint64_t changed_ns;
    bool packed;
    struct unpack_told unpacked; /* the first time that something was left out */
};

static int bytes_read(void *context, uint64_t offset, void *out, size_t n)
{
    const struct source_file *f = context;
    /* Or it has become shorter, or cannot be read. */
    return bytes_read_at(f->fd, out, n, offset) == (ssize_t)n ? SKEIN_OK : SKEIN_IO;
}

/* ---- packed files ---- */

static int nameless_open(void)
{
    int fd = -1;
    const char *folders[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders && fd < 0; i++)
        if (folders[i] != NULL && folders[i][0] != '\0')
            fd = open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    FILE *file = fd < 0 ? tmpfile() : NULL; /* where a file system has no such files */
    if (file != NULL) {
        fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
        fclose(file);
    }
    return fd;
}

static int bytes_write(void *context, const uint8_t *bytes, size_t n)
{
    const int *fd = context;
    for (size_t done = 0; done < n;) {
        ssize_t wrote = write(*fd, bytes + done, n - done);
        if (wrote < 0 && errno != EINTR)
            return SKEIN_IO;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return SKEIN_OK;
}

static int failure_say(const struct source_file *f, int status, const char *why)
{
    if (status == SKEIN_IO)
        say_error("%s: is packed, and cannot be unpacked: %s", f->name, strerror(errno));
    else
        say_error("%s: %s", f->name, why[0] != '\0' ? why : skein_status_text(status));
    return status;
}

/* Once; *again: it was packed. What begins like a packed file and gives nothing is taken as it is. */
static int once_unpack(struct source_file *f, struct skein_trace_source *source, bool *again)
{
    uint8_t magic[4];
    struct unpack_told told;
    size_t n = source->bytes < sizeof magic ? (size_t)source->bytes : sizeof magic;
    *again = false;
    if (bytes_read(f, 0, magic, n) != SKEIN_OK) {
        say_error("%s: cannot be read", f->name);
        return SKEIN_IO;
    }
    enum unpack_form form = unpack_form_of(magic, n);
    if (form == UNPACK_NONE)
        return SKEIN_OK;
    int fd = nameless_open();
    if (fd < 0)
        return failure_say(f, SKEIN_IO, "");
    int status = unpack(source, form, bytes_write, &fd, &told);
    if (status != SKEIN_OK)
        (void)failure_say(f, status, told.why);
    if (status != SKEIN_OK || told.members + told.bytes == 0) {
        close(fd);
        return status;
    }
    close(f->fd);
    f->fd = fd;
    f->packed = *again = true;
    source->bytes = told.bytes;
    if (f->unpacked.why[0] == '\0')
        f->unpacked = told;
    return SKEIN_OK;
}

static int all_unpack(struct source_file *f, struct skein_trace_source *source)
{
    bool again = true;
    int status = SKEIN_OK;
    for (unsigned depth = 0; depth < PACKED_DEPTH_MAX && again && status == SKEIN_OK; depth++)
        status = once_unpack(f, source, &again);
    uint8_t magic[4];
    size_t n = source->bytes < sizeof magic ? (size_t)source->bytes : sizeof magic;
    if (status != SKEIN_OK || !again || bytes_read(f, 0, magic, n) != SKEIN_OK ||
        unpack_form_of(magic, n) == UNPACK_NONE)
        return status;
    say_error("%s: is packed more than %u times; unpack it first", f->name, PACKED_DEPTH_MAX);
    return SKEIN_UNSUPPORTED;
}

/* ---- sources ---- */

int import_source_open(const char *path, struct skein_trace_source *source)
{
    struct stat stat;
    struct source_file *f = calloc(1, sizeof *f);
    *source = (struct skein_trace_source){.read = bytes_read, .context = f};
    if (f == NULL)
        return SKEIN_NO_MEMORY;
    f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait */
    f->name = strdup(path);
    source->name = f->name;
    if (f->name == NULL)
        return SKEIN_NO_MEMORY;
    if (f->fd < 0 || fstat(f->fd, &stat) != 0) {
        say_error("%s: %s", path, strerror(errno));
        return SKEIN_IO;
    }
    if (!S_ISREG(stat.st_mode)) {
        say_error("%s: is no regular file", path);
        return SKEIN_IO;
    }
    source->bytes = (uint64_t)stat.st_size;
    f->changed_ns = (uint64_t)stat.st_mtim.tv_sec * 1000000000u + (uint64_t)stat.st_mtim.tv_nsec;
    return all_unpack(f, source);
}

void import_source_close(struct skein_trace_source *source)
{
    struct source_file *f = source->context;
    if (f == NULL)
        return;
    if (f->fd >= 0)
        close(f->fd);
    free(f->name);
    free(f);
    source->context = NULL;
}

uint64_t import_source_changed_ns(const struct skein_trace_source *source)
{
    return ((const struct source_file *)source->context)->changed_ns;
}

size_t import_source_length(const struct skein_trace_source *source, const char *path)
{
    static const char *const ends[] = {".gz", ".zst", ".gzip", ".zstd"};
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (source == NULL || !((const struct source_file *)source->context)->packed)
        return n;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t m = strlen(ends[i]);
        if (n > m && path[n - m - 1] != '/' && strncasecmp(path + n - m, ends[i], m) == 0)
            return n - m;
    }
    return n;
}

void import_source_tell(const struct skein_trace_source *source, struct import_told *told)
{
    const struct source_file *f = source->context;
    if (f->unpacked.why[0] == '\0')
        return;
    told->cut_bytes += f->unpacked.left;
    import_why(told, "%s", f->unpacked.why);
}

uint64_t import_place(const char *path)
{
    char *real = realpath(path, NULL);
    const char *place = real != NULL ? real : path;
    uint64_t number = checksum64(place, strlen(place));
    free(real);
    return number;
}
