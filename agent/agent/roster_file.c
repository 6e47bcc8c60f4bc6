/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of who is attached: the boot's id, then of each process its pid, its start in clock
 * ticks and its texts. Nobody but this agent reads it.
 */
#include "roster_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_clock.h"
#include "durable.h"
#include "log.h"
#include "proc_info.h"
#include "shares.h"

#define FILE_NAME  "processes"
#define FILE_BYTES ((size_t)64 << 20)

struct roster_file {
    int folder;
    struct worker *worker;
    int changed;          /* since it was written, or it could not be; atomic */
    bool failed;          /* said once; the worker's */
    pthread_mutex_t lock; /* over what follows */
    struct buf text;      /* the newest that is still to be written; empty: none */
    bool posted;          /* the worker will take it */
};

int roster_file_new(int folder, struct worker *worker, struct roster_file **out)
{
    struct roster_file *file = calloc(1, sizeof *file);
    *out = file;
    if (file == NULL)
        return SKEIN_NO_MEMORY;
    file->folder = folder;
    file->worker = worker;
    pthread_mutex_init(&file->lock, NULL);
    return SKEIN_OK;
}

void roster_file_free(struct roster_file **file_p)
{
    struct roster_file *file = *file_p;
    if (file == NULL)
        return;
    *file_p = NULL;
    pthread_mutex_destroy(&file->lock);
    buf_fini(&file->text);
    free(file);
}

/* ---- writing ---- */

static void text_put(struct buf *out, const char *text)
{
    buf_put_text(out, text, strlen(text));
}

static void process_put(struct buf *out, uint32_t pid, uint64_t start_clock_ticks,
                        const char *service, const char *labels, const char *exe)
{
    buf_put_u32(out, pid);
    buf_put_u64(out, start_clock_ticks);
    text_put(out, service);
    text_put(out, labels);
    text_put(out, exe);
}

static void roster_put(struct buf *out, const char *boot_id, const struct process *first,
                       struct roster *roster)
{
    text_put(out, boot_id);
    for (const struct process *p = first; p != NULL; p = p->next)
        if (!p->watched) /* outside_hand.c keeps those by hand */
            process_put(out, p->pid, p->start_clock_ticks, p->service, p->labels, p->exe);
    const struct roster_entry *e;
    TAILQ_FOREACH(e, roster_entries(roster), link) {
        if (e->expected && e->ended_ns == 0)
            process_put(out, e->pid, e->start_clock_ticks, e->service, e->labels, e->exe);
    }
}

static int roster_bytes_write(int folder, const struct buf *bytes)
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

/* worker_fn */
static void newest_write(void *context)
{
    struct roster_file *file = context;
    pthread_mutex_lock(&file->lock);
    struct buf text = file->text;
    file->text = (struct buf){0};
    file->posted = false;
    pthread_mutex_unlock(&file->lock);
    int status = roster_bytes_write(file->folder, &text);
    buf_fini(&text);
    if (status != SKEIN_OK) {
        __atomic_store_n(&file->changed, 1, __ATOMIC_RELAXED); /* with the next list again */
        if (!file->failed)
            log_warn("agent", "cannot keep who is attached: a restart may know less", "reason",
                     skein_status_text(status), NULL);
    }
    file->failed = status != SKEIN_OK;
}

void roster_file_changed(struct roster_file *file)
{
    /* Relaxed, here and below: a flag that leads to nothing; the text goes under the lock. */
    __atomic_store_n(&file->changed, 1, __ATOMIC_RELAXED);
}

void roster_file_save(struct roster_file *file, const char *boot_id, const struct process *first,
                      struct roster *roster)
{
    struct buf text = {0};
    if (__atomic_exchange_n(&file->changed, 0, __ATOMIC_RELAXED) == 0)
        return;
    roster_put(&text, boot_id, first, roster);
    int status = text.status;
    pthread_mutex_lock(&file->lock);
    if (status == SKEIN_OK && !file->posted)
        status = worker_post(file->worker, NULL, newest_write, file);
    if (status == SKEIN_OK) {
        struct buf older = file->text;
        file->text = text;
        text = older;
        file->posted = true;
    }
    pthread_mutex_unlock(&file->lock);
    buf_fini(&text);
    if (status != SKEIN_OK)
        roster_file_changed(file); /* out of memory: with the next list again */
}

/* ---- reading ---- */

/* What was written was clean (attach_hello.c); what is not is damage. */
static void text_take(struct cursor *from, char *text, size_t bytes)
{
    size_t n;
    const char *at = cursor_text(from, bytes - 1, &n);
    for (size_t i = 0; at != NULL && i < n; i++) {
        unsigned char c = (unsigned char)at[i];
        if (c < 0x20 || c == 0x7f)
            cursor_fail(from, SKEIN_CORRUPT);
        text[i] = at[i];
    }
    text[n] = '\0';
}

static bool lives(const struct process *p)
{
    return proc_is_same((pid_t)p->pid, p->start_clock_ticks);
}

static bool process_take(struct cursor *from, uint64_t agent, const char *boot_id,
                         struct process *p)
{
    p->pid = cursor_u32(from);
    p->user = SHARE_USER_UNKNOWN; /* until it comes back and the kernel says so */
    p->start_clock_ticks = cursor_u64(from);
    text_take(from, p->service, sizeof p->service);
    text_take(from, p->labels, sizeof p->labels);
    text_take(from, p->exe, sizeof p->exe);
    p->uid = process_uid_make(agent, boot_id, p->pid, p->start_clock_ticks);
    p->start_ns = p->recorded_ns = proc_start_realtime_ns(p->start_clock_ticks);
    return from->status == SKEIN_OK;
}

size_t roster_file_read(const void *bytes, size_t n, uint64_t agent, const char *boot_id,
                        struct roster *roster)
{
    struct cursor from;
    char boot[64] = "";
    size_t count = 0;
    cursor_init(&from, bytes, n);
    text_take(&from, boot, sizeof boot);
    bool ours = from.status == SKEIN_OK && strcmp(boot, boot_id) == 0;
    while (ours && from.status == SKEIN_OK && cursor_left(&from) > 0) {
        struct process *p;
        if (process_new(&p) != SKEIN_OK)
            break;
        if (process_take(&from, agent, boot_id, p)) {
            bool runs = lives(p);
            roster_recall(roster, p, runs ? 0 : agent_clock_ns());
            count += runs;
        }
        process_unref(&p);
    }
    return count;
}

size_t roster_file_recall(int folder, uint64_t agent, const char *boot_id, struct roster *roster)
{
    struct buf bytes = {0};
    size_t count = 0;
    if (durable_read(folder, FILE_NAME, FILE_BYTES, &bytes) == SKEIN_OK)
        count = roster_file_read(bytes.data, bytes.len, agent, boot_id, roster);
    buf_fini(&bytes);
    return count;
}
