/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of who is attached: the boot's id, then of each process its pid, its start in clock
 * ticks and its texts. Nobody but this agent reads it.
 */
#include "roster_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent_clock.h"
#include "durable.h"
#include "proc_info.h"

#define FILE_NAME  "processes"
#define FILE_BYTES ((size_t)64 << 20)

static void put_text(struct buf *out, const char *text)
{
    buf_put_text(out, text, strlen(text));
}

static int write_file(int folder, const struct buf *bytes)
{
    int fd = openat(folder, DURABLE_TEMP_PREFIX FILE_NAME,
                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return SKEIN_IO;
    bool whole = write(fd, bytes->data, bytes->len) == (ssize_t)bytes->len;
    whole = close(fd) == 0 && whole;
    if (whole && renameat(folder, DURABLE_TEMP_PREFIX FILE_NAME, folder, FILE_NAME) == 0)
        return SKEIN_OK;
    unlinkat(folder, DURABLE_TEMP_PREFIX FILE_NAME, 0);
    return SKEIN_IO;
}

static void put_process(struct buf *out, uint32_t pid, uint64_t start_clock_ticks,
                        const char *service, const char *labels, const char *exe)
{
    buf_put_u32(out, pid);
    buf_put_u64(out, start_clock_ticks);
    put_text(out, service);
    put_text(out, labels);
    put_text(out, exe);
}

int roster_file_save(int folder, const char *boot_id, const struct process *first,
                     struct roster *roster)
{
    struct buf bytes = {0};
    put_text(&bytes, boot_id);
    for (const struct process *p = first; p != NULL; p = p->next)
        put_process(&bytes, p->pid, p->start_clock_ticks, p->service, p->labels, p->exe);
    const struct roster_entry *e;
    TAILQ_FOREACH(e, roster_entries(roster), link)
    {
        if (e->expected && e->ended_ns == 0)
            put_process(&bytes, e->pid, e->start_clock_ticks, e->service, e->labels, e->exe);
    }
    int status = bytes.status;
    if (status == SKEIN_OK)
        status = write_file(folder, &bytes);
    buf_fini(&bytes);
    return status;
}

static void take_text(struct cursor *from, char *text, size_t bytes)
{
    size_t n;
    const char *at = cursor_text(from, bytes - 1, &n);
    if (at != NULL)
        (void)snprintf(text, bytes, "%.*s", (int)n, at);
}

static bool lives(const struct process *p)
{
    uint64_t ticks;
    return proc_start_ticks((pid_t)p->pid, &ticks) == SKEIN_OK && ticks == p->start_clock_ticks;
}

static bool take_process(struct cursor *from, uint64_t agent, const char *boot_id,
                         struct process *p)
{
    p->pid = cursor_u32(from);
    p->start_clock_ticks = cursor_u64(from);
    take_text(from, p->service, sizeof p->service);
    take_text(from, p->labels, sizeof p->labels);
    take_text(from, p->exe, sizeof p->exe);
    p->uid = process_uid_make(agent, boot_id, p->pid, p->start_clock_ticks);
    p->start_ns = p->recorded_ns = proc_start_realtime_ns(p->start_clock_ticks);
    return from->status == SKEIN_OK;
}

size_t roster_file_recall(int folder, uint64_t agent, const char *boot_id, struct roster *roster)
{
    struct buf bytes = {0};
    struct cursor from;
    char boot[64] = "";
    size_t count = 0;
    if (durable_read(folder, FILE_NAME, FILE_BYTES, &bytes) != SKEIN_OK)
        buf_clear(&bytes);
    cursor_init(&from, bytes.data, bytes.len);
    take_text(&from, boot, sizeof boot);
    bool ours = from.status == SKEIN_OK && strcmp(boot, boot_id) == 0;
    while (ours && from.status == SKEIN_OK && cursor_left(&from) > 0) {
        struct process *p;
        if (process_new(&p) != SKEIN_OK)
            break;
        if (take_process(&from, agent, boot_id, p)) {
            bool runs = lives(p);
            roster_recall(roster, p, runs ? 0 : agent_clock_ns());
            count += runs;
        }
        process_unref(&p);
    }
    buf_fini(&bytes);
    return count;
}
