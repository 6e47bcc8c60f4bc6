/* SPDX-License-Identifier: Apache-2.0
 *
 * mlockall(). The kernel would make all pages of the ring, for the program's cgroup to pay, and count
 * them for what the program may lock. So the ring stays out: what there is of the process is locked
 * mapping by mapping, as /proc/self/maps has them, and what comes later is left to the kernel.
 *
 *   MCL_CURRENT   each mapping but rings, also those of a parent; refused for what they take together
 *   MCL_FUTURE    mlockall() itself; session_map.c maps a ring that comes later without the lock
 *
 * Where there is no ring, or the list cannot be read, or a sanitizer stands in for the call, because the
 * program has more addresses than could be locked: mlockall() itself.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "attach_client.h"
#include "preload_apart.h"
#include "preload_wait.h"
#include "session.h"
#include "sys_raw.h"

#define MCL_ALL (MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)
#define LINE_BYTES                                                                                 \
    160 /* of a mapping that is of interest: the rest is a longer name than a ring's */
#define READ_BYTES 1024

/* ---- what there is ---- */

struct mapping {
    uint64_t begin, end;
    bool readable, is_ring;
};

static const char *number_read(const char *text, uint64_t *value)
{
    for (*value = 0;; text++) {
        if (*text >= '0' && *text <= '9')
            *value = *value << 4 | (uint64_t)(*text - '0');
        else if (*text >= 'a' && *text <= 'f')
            *value = *value << 4 | (uint64_t)(*text - 'a' + 10);
        else
            return text;
    }
}

static bool text_begins(const char *text, const char *with)
{
    while (*with && *text == *with)
        text++, with++;
    return *with == '\0';
}

/* "7f0000000000-7f0000001000 rw-s 00000000 00:01 5   /memfd:skein-ring (deleted)" */
static struct mapping mapping_read(const char *line)
{
    struct mapping m = {0};
    line = number_read(line, &m.begin);
    line += *line == '-';
    line = number_read(line, &m.end);
    line += *line == ' ';
    m.readable = *line == 'r';
    while (*line && *line != '/')
        line++;
    m.is_ring = text_begins(line, "/memfd:" RING_NAME);
    return m;
}

typedef bool mapping_fn(void *context, const struct mapping *mapping);

/* Calls it for each, until it says false. False: the list cannot be read. */
static bool mappings_walk(mapping_fn *take, void *context)
{
    char bytes[READ_BYTES], line[LINE_BYTES];
    size_t used = 0;
    long n = -1;
    int fd =
        (int)RAW4(SYS_openat, AT_FDCWD, RAW_POINTER("/proc/self/maps"), O_RDONLY | O_CLOEXEC, 0);
    bool more = fd >= 0;
    raw_zero(bytes, sizeof bytes);
    while (more && (n = RAW3(SYS_read, fd, RAW_POINTER(bytes), sizeof bytes)) > 0)
        for (long i = 0; more && i < n; i++) {
            if (bytes[i] != '\n') {
                line[used] = bytes[i];
                used += used < sizeof line - 1;
                continue;
            }
            line[used] = '\0';
            used = 0;
            const struct mapping m = mapping_read(line);
            more = take(context, &m);
        }
    if (fd >= 0)
        (void)RAW1(SYS_close, fd);
    return fd >= 0 && n >= 0;
}

/* ---- locking it ---- */

struct locking {
    int flags;
    bool has_ring;
    uint64_t bytes, most; /* without rings; that may be locked */
    long result;          /* 0, or as the kernel's; ENOSYS: not done */
};

static bool is_to_lock(const struct mapping *m)
{
    return !m->is_ring && (int64_t)m->begin >= 0; /* not the kernel's own half */
}

static bool mapping_count(void *context, const struct mapping *m)
{
    struct locking *l = context;
    l->has_ring |= m->is_ring;
    l->bytes += is_to_lock(m) ? m->end - m->begin : 0;
    return true;
}

/* As mlockall(), it does not mind pages that cannot be had. */
static bool mapping_lock(void *context, const struct mapping *m)
{
    struct locking *l = context;
    const uint64_t bytes = m->end - m->begin;
    if (!is_to_lock(m))
        return true;
    long done = l->flags & MCL_ONFAULT ? RAW3(SYS_mlock2, m->begin, bytes, MLOCK_ONFAULT)
                                       : RAW2(SYS_mlock, m->begin, bytes);
    if (done == -ENOMEM && m->readable && l->bytes > l->most)
        l->result = done; /* powers of a namespace, which do not count for this */
    return l->result == 0;
}

static bool may_lock_all(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct has[2] = {{0}};
    return RAW2(SYS_capget, RAW_POINTER(&head), RAW_POINTER(has)) == 0 &&
           (has[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

static uint32_t locking_run(void *context)
{
    struct locking *l = context;
    struct rlimit limit = {0};
    if (RAW4(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, RAW_POINTER(&limit)) != 0 ||
        !mappings_walk(mapping_count, l) || !l->has_ring)
        return 0;
    l->most = limit.rlim_cur;
    if (l->bytes > l->most && !may_lock_all()) {
        l->result = l->most == 0 ? -EPERM : -ENOMEM;
        return 0;
    }
    l->result = l->flags & MCL_FUTURE ? RAW1(SYS_mlockall, l->flags & ~MCL_CURRENT) : 0;
    if (l->result == 0)
        (void)mappings_walk(mapping_lock, l);
    return 0;
}

/* ---- the calls ---- */

typedef int lock_fn(int flags);
typedef int unlock_fn(void);

static long real_lock(int flags)
{
    lock_fn *real = (lock_fn *)real_look("mlockall");
    if (real == NULL)
        return RAW1(SYS_mlockall, flags);
    return real(flags) == 0 ? 0 : -errno;
}

/* A call without MCL_FUTURE also ends what an earlier one began: the kernel's to do. */
static bool may_leave_out(int flags)
{
    return (flags & MCL_CURRENT) && !(flags & ~MCL_ALL) &&
           ((flags & MCL_FUTURE) || !session_is_locked()) &&
           real_look("__sanitizer_set_report_path") == NULL;
}

static long all_lock(int flags)
{
    struct locking l = {.flags = flags, .result = -ENOSYS};
    int saved = errno;
    attach_client_hold();
    if (may_leave_out(flags))
        thread_apart_run(false, locking_run, &l);
    if (l.result == -ENOSYS)
        l.result = real_lock(flags);
    if (l.result == 0)
        session_lock_say((flags & MCL_FUTURE) != 0);
    attach_client_release();
    errno = saved;
    return l.result;
}

EXPORT int mlockall(int flags)
{
    const bool plain = attach_client_is_barred() || attach_client_is_borrower();
    long result = plain ? real_lock(flags) : all_lock(flags);
    if (result < 0)
        errno = (int)-result;
    return result < 0 ? -1 : 0;
}

EXPORT int munlockall(void)
{
    unlock_fn *real = (unlock_fn *)real_look("munlockall");
    long result = real != NULL ? real() : RAW0(SYS_munlockall);
    session_lock_say(false);
    return result == 0 ? 0 : -1;
}
