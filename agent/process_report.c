/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds the pages of the process list; see process_report.h. Loop thread.
 */
#include "process_report.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent_report.h"
#include "host_page.h"
#include "json.h"
#include "proc_info.h"

#define PAGE_BYTES (48u << 10) /* of processes; the rest of a message is small */

static const char *mode_text(uint8_t mode)
{
    return mode == SKEIN_MODE_ONESHOT     ? "oneshot"
           : mode == SKEIN_MODE_STREAMING ? "streaming"
                                          : "circular";
}

/* Milliseconds from the oldest record to now; a hostile ring may say anything, so it is clamped. */
static uint64_t reach_ms(const struct process *process, const struct process_usage *usage,
                         const struct clock_snapshot *now)
{
    if (usage->oldest_ticks == 0 || usage->oldest_ticks >= now->ticks)
        return 0;
    uint64_t oldest = clock_snapshot_realtime(&process->attached_clock, now, usage->oldest_ticks);
    return oldest < now->realtime_ns ? (now->realtime_ns - oldest) / 1000000 : 0;
}

#define RATE_MS_MIN 1000 /* chunks are claimed whole: a shorter time would show their size */

void process_report_begin(struct process *process, const struct clock_snapshot *now)
{
    struct process_usage usage;
    process_usage(process, &usage);
    process->listed_ns = now->monotonic_ns;
    process->listed_written_bytes = usage.written_bytes;
    process->listed_bytes_per_s = 0;
}

/* Bytes a second since it was last taken. */
static uint64_t rate_note(struct process *process, const struct process_usage *usage,
                          const struct clock_snapshot *now)
{
    uint64_t since = process->listed_ns, before = process->listed_written_bytes;
    uint64_t elapsed_ms = now->monotonic_ns > since ? (now->monotonic_ns - since) / 1000000 : 0;
    if (elapsed_ms < RATE_MS_MIN)
        return process->listed_bytes_per_s;
    uint64_t written = usage->written_bytes > before ? usage->written_bytes - before : 0;
    process->listed_ns = now->monotonic_ns;
    process->listed_written_bytes = usage->written_bytes;
    process->listed_bytes_per_s = written > UINT64_MAX / 1000 ? 0 : written * 1000 / elapsed_ms;
    return process->listed_bytes_per_s;
}

static void put_process(struct process *process, const struct clock_snapshot *now, struct buf *out)
{
    struct process_usage usage;
    process_usage(process, &usage);
    cJSON *root = cJSON_CreateObject();
    report_add_id(root, "process", process->uid.bytes);
    json_add_u64(root, "pid", process->pid);
    cJSON_AddStringToObject(root, "service", process->service);
    cJSON_AddStringToObject(root, "labels", process->labels);
    cJSON_AddStringToObject(root, "exe", process->exe);
    json_add_u64(root, "start_ns", process->start_ns);
    cJSON_AddStringToObject(root, "state",
                            process_state(process) == PROCESS_LIVE ? "live" : "gone");
    cJSON_AddStringToObject(root, "mode", mode_text(process->geometry.mode));
    json_add_u64(root, "ring_bytes", process->geometry.total);
    json_add_u64(root, "attached_ns", process->attached_ns);
    json_add_u64(root, "events_lost", usage.lost);
    json_add_u64(root, "wrapped", usage.wrapped);
    json_add_u64(root, "used_bytes", usage.used_bytes);
    json_add_u64(root, "bytes_per_s", rate_note(process, &usage, now));
    json_add_u64(root, "reach_ms", reach_ms(process, &usage, now));
    char title[128] = "";
    if (process_state(process) == PROCESS_LIVE)
        proc_title((pid_t)process->pid, title, sizeof title);
    cJSON_AddStringToObject(root, "title", title);
    json_print(root, out);
    cJSON_Delete(root);
}

static int send_page(struct uplink *uplink, uint64_t agent, uint64_t version, size_t page,
                     size_t pages, const struct buf *items)
{
    struct buf body = {0};
    buf_printf(&body,
               "{\"agent\":\"%016llx\",\"kind\":\"processes\",\"version\":%llu,\"page\":%zu,"
               "\"pages\":%zu,\"clock_offset_ns\":\"%lld\",\"processes\":[",
               (unsigned long long)agent, (unsigned long long)version, page, pages,
               (long long)uplink_clock_offset(uplink));
    buf_put(&body, items->data, items->len);
    buf_put(&body, "]}", 2);
    char key[64];
    snprintf(key, sizeof key, "processes:%zu", page);
    int status = body.status;
    if (status == SKEIN_OK)
        status = uplink_report(uplink, key, NULL, NULL, (const char *)body.data, body.len);
    buf_fini(&body);
    return status;
}

static void free_pages(struct buf *pages, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_fini(&pages[i]);
    free(pages);
}

/* At least one page, be it empty: the list is whole only if its pages are. */
static int build_pages(struct process *first, const struct clock_snapshot *now, struct buf **out,
                       size_t *count)
{
    struct buf *pages = calloc(1, sizeof *pages);
    size_t n = 1;
    for (struct process *p = first; p != NULL && pages != NULL; p = p->next) {
        if (pages[n - 1].len > PAGE_BYTES) {
            struct buf *more = realloc(pages, (n + 1) * sizeof *more);
            if (more == NULL) {
                free_pages(pages, n);
                return SKEIN_NO_MEMORY;
            }
            pages = more;
            buf_init(&pages[n++]);
        }
        if (pages[n - 1].len > 0)
            buf_put_u8(&pages[n - 1], ',');
        put_process(p, now, &pages[n - 1]);
    }
    *out = pages;
    *count = n;
    return pages != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

int process_report_send(struct uplink *uplink, uint64_t agent, uint64_t version,
                        struct process *first, const struct clock_snapshot *now)
{
    struct buf *pages;
    size_t count;
    int status = build_pages(first, now, &pages, &count);
    if (status != SKEIN_OK)
        return status;
    uplink_forget(uplink, "processes:");
    uplink_set_processes_version(uplink, version);
    for (size_t i = 0; i < count; i++) {
        int sent = send_page(uplink, agent, version, i, count, &pages[i]);
        status = status == SKEIN_OK ? sent : status;
    }
    free_pages(pages, count);
    return status;
}
