/* SPDX-License-Identifier: Apache-2.0
 *
 * See sched_instance.h. Pages are read with read(2): it gives a page that is full by exchanging it
 * with an empty one, so no writer waits, and copies the one that is being written. The snapshot file
 * would leave what is read in the kernel, but not every kernel has it, and it doubles the memory of
 * the buffer all the time; sched_keep.c keeps what was read instead.
 */
#include "sched_instance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "descriptor.h"
#include "log.h"
#include "skein/status.h"

#define PREFIX     "skein-"
#define PATH_BYTES 512
#define TEXT_BYTES 16384
#define TRIES      8

struct sched_instance {
    char folder[PATH_BYTES / 2];
    int lock; /* the folder, with its lock; -1: none */
    uint32_t cpus;
    uint64_t kib, since_ns;
    struct sched_layout layout;
    struct page_shape shape;
    uint8_t *page;
};

/* ---- small files ---- */

static bool path_make(char path[PATH_BYTES], const char *folder, const char *name)
{
    int n = snprintf(path, PATH_BYTES, "%s/%s", folder, name);
    return n > 0 && n < PATH_BYTES;
}

/* Both return 0, or an errno. */
static int setting_write(const char *folder, const char *name, const char *value)
{
    char path[PATH_BYTES];
    if (!path_make(path, folder, name))
        return ENAMETOOLONG;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    size_t n = strlen(value);
    int wrong = write(fd, value, n) == (ssize_t)n ? 0 : errno;
    close(fd);
    return wrong;
}

static int text_read(const char *folder, const char *name, char text[TEXT_BYTES], size_t *n)
{
    char path[PATH_BYTES];
    *n = 0;
    if (!path_make(path, folder, name))
        return ENAMETOOLONG;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    ssize_t got = 1;
    while (got > 0 && *n < TEXT_BYTES) {
        got = read(fd, text + *n, TEXT_BYTES - *n);
        *n += got > 0 ? (size_t)got : 0;
    }
    int wrong = got < 0 ? errno : got > 0 ? EFBIG : 0;
    close(fd);
    return wrong;
}

/* ---- the folder ---- */

/* Its lock, where nobody has it; -1: somebody lives, or it is gone. */
static int folder_lock(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Removes what killed agents have left. */
static void left_over_remove(const char *instances)
{
    DIR *folder = opendir(instances);
    const struct dirent *entry;
    char path[PATH_BYTES];
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) != 0 ||
            !path_make(path, instances, entry->d_name))
            continue;
        int lock = folder_lock(path);
        if (lock < 0)
            continue;
        if (rmdir(path) == 0)
            log_info("sched", "removed what an agent has left", "folder", path, NULL);
        close(lock);
    }
    if (folder != NULL)
        closedir(folder);
}

/* Between mkdir and lock, another agent may take it for a left-over one: then another name. */
static int folder_begin(struct sched_instance *i, const char *instances)
{
    for (unsigned tries = 0; tries < TRIES; tries++) {
        snprintf(i->folder, sizeof i->folder, "%s/" PREFIX "%d-%" PRIx64, instances, (int)getpid(),
                 clock_monotonic_ns());
        if (mkdir(i->folder, 0700) != 0) {
            int wrong = errno;
            i->folder[0] = '\0';
            return wrong;
        }
        i->lock = folder_lock(i->folder);
        struct stat there;
        if (i->lock >= 0 && stat(i->folder, &there) == 0)
            return 0;
        fd_close(&i->lock);
        (void)rmdir(i->folder);
        i->folder[0] = '\0';
    }
    return EBUSY;
}

/* ---- what it records ---- */

static int layouts_read(struct sched_instance *i)
{
    char text[TEXT_BYTES], name[128];
    size_t n;
    int wrong = text_read(i->folder, "events/header_page", text, &n);
    if (wrong != 0)
        return wrong;
    if (page_shape_parse(text, n, &i->shape) != SKEIN_OK || i->shape.bytes > PAGE_BYTES_MAX)
        return EPROTO;
    for (unsigned kind = SCHED_EVENT_SWITCH; kind <= SCHED_EVENT_NEW; kind++) {
        snprintf(name, sizeof name, "events/%s/format",
                 sched_layout_name((enum sched_event_kind)kind));
        wrong = text_read(i->folder, name, text, &n);
        if (wrong != 0)
            return wrong;
        if (sched_layout_add(&i->layout, text, n) != SKEIN_OK)
            return EPROTO;
    }
    return 0;
}

static int events_enable(const struct sched_instance *i)
{
    char name[128];
    for (unsigned kind = SCHED_EVENT_SWITCH; kind <= SCHED_EVENT_NEW; kind++) {
        snprintf(name, sizeof name, "events/%s/enable",
                 sched_layout_name((enum sched_event_kind)kind));
        int wrong = setting_write(i->folder, name, "1");
        if (wrong != 0)
            return wrong;
    }
    return 0;
}

static int recording_begin(struct sched_instance *i, uint64_t kib)
{
    char text[TEXT_BYTES];
    size_t n;
    snprintf(text, sizeof text, "%" PRIu64, kib);
    int wrong = setting_write(i->folder, "trace_clock", "mono");
    if (wrong == 0)
        wrong = setting_write(i->folder, "trace_options", "overwrite");
    if (wrong == 0)
        wrong = setting_write(i->folder, "buffer_size_kb", text);
    if (wrong == 0)
        wrong = text_read(i->folder, "buffer_size_kb", text, &n);
    if (wrong != 0)
        return wrong;
    text[n < TEXT_BYTES ? n : TEXT_BYTES - 1] = '\0';
    i->kib = strtoull(text, NULL, 10);
    wrong = layouts_read(i);
    if (wrong == 0)
        wrong = events_enable(i);
    i->since_ns = clock_monotonic_ns();
    return wrong;
}

static uint32_t cpus_count(const struct sched_instance *i)
{
    char path[PATH_BYTES], name[64];
    uint32_t cpus = 0;
    for (;; cpus++) {
        snprintf(name, sizeof name, "per_cpu/cpu%" PRIu32, cpus);
        if (!path_make(path, i->folder, name) || access(path, F_OK) != 0)
            return cpus;
    }
}

/* ---- */

static int refusal(const char *root, int wrong, char *why, size_t why_bytes)
{
    if (wrong == ENOENT || wrong == ENOTDIR) {
        snprintf(why, why_bytes, "%s has no scheduler events: mount tracefs there", root);
        return SKEIN_UNSUPPORTED;
    }
    if (wrong == EACCES || wrong == EPERM || wrong == EROFS) {
        snprintf(why, why_bytes,
                 "%s: %s; needs root, no ProtectKernelTunables in its unit, no kernel lockdown",
                 root, strerror(wrong));
        return SKEIN_DENIED;
    }
    if (wrong == EPROTO) {
        snprintf(why, why_bytes, "%s: this kernel's records are not known", root);
        return SKEIN_UNSUPPORTED;
    }
    snprintf(why, why_bytes, "%s: %s", root, strerror(wrong));
    return wrong == ENOMEM ? SKEIN_NO_MEMORY : SKEIN_UNSUPPORTED;
}

int sched_instance_open(const char *root, uint64_t kib, struct sched_instance **out, char *why,
                        size_t why_bytes)
{
    char instances[PATH_BYTES / 4];
    *out = NULL;
    if (snprintf(instances, sizeof instances, "%s/instances", root) >= (int)sizeof instances)
        return refusal(root, ENAMETOOLONG, why, why_bytes);
    struct sched_instance *i = calloc(1, sizeof *i);
    if (i == NULL)
        return refusal(root, ENOMEM, why, why_bytes);
    i->lock = -1;
    left_over_remove(instances);
    int wrong = folder_begin(i, instances);
    if (wrong == 0)
        wrong = recording_begin(i, kib);
    if (wrong == 0) {
        i->cpus = cpus_count(i);
        i->page = malloc(i->shape.bytes);
        wrong = i->page == NULL ? ENOMEM : i->cpus == 0 ? ENOENT : 0;
    }
    if (wrong != 0) {
        sched_instance_close(&i);
        return refusal(root, wrong, why, why_bytes);
    }
    *out = i;
    return SKEIN_OK;
}

void sched_instance_close(struct sched_instance **instance)
{
    struct sched_instance *i = *instance;
    if (i == NULL)
        return;
    *instance = NULL;
    if (i->folder[0] != '\0' && rmdir(i->folder) != 0)
        log_warn("sched", "cannot remove its tracing", "folder", i->folder, "reason",
                 strerror(errno), NULL);
    fd_close(&i->lock);
    free(i->page);
    free(i);
}

const char *sched_instance_folder(const struct sched_instance *i)
{
    return i->folder;
}

const struct sched_layout *sched_instance_layout(const struct sched_instance *i)
{
    return &i->layout;
}

const struct page_shape *sched_instance_shape(const struct sched_instance *i)
{
    return &i->shape;
}

uint32_t sched_instance_cpus(const struct sched_instance *i)
{
    return i->cpus;
}

uint64_t sched_instance_kib(const struct sched_instance *i)
{
    return i->kib;
}

uint64_t sched_instance_since_ns(const struct sched_instance *i)
{
    return i->since_ns;
}

int sched_instance_read(struct sched_instance *i, uint32_t cpu, sched_page_fn *page, void *context)
{
    char path[PATH_BYTES], name[64];
    snprintf(name, sizeof name, "per_cpu/cpu%" PRIu32 "/trace_pipe_raw", cpu);
    if (!path_make(path, i->folder, name))
        return SKEIN_IO;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENODEV || errno == ENXIO ? SKEIN_OK : SKEIN_IO; /* a CPU that is off */
    ssize_t n;
    do
        n = read(fd, i->page, i->shape.bytes);
    while ((n < 0 && errno == EINTR) || (n > 0 && page(context, i->page, (size_t)n)));
    int status = n >= 0 || errno == EAGAIN ? SKEIN_OK : SKEIN_IO;
    close(fd);
    return status;
}
