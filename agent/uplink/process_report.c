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

static void add_who(cJSON *root, const struct process_uid *uid, uint32_t pid, const char *service,
                    const char *labels, const char *exe, uint64_t start_ns)
{
    report_add_id(root, "process", uid->bytes);
    json_add_u64(root, "pid", pid);
    cJSON_AddStringToObject(root, "service", service);
    cJSON_AddStringToObject(root, "labels", labels);
    cJSON_AddStringToObject(root, "exe", exe);
    json_add_u64(root, "start_ns", start_ns);
}

static void put_process(struct process *process, const struct clock_snapshot *now, struct buf *out)
{
    struct process_usage usage;
    process_usage(process, &usage);
    bool live = process_state(process) == PROCESS_LIVE;
    cJSON *root = cJSON_CreateObject();
    add_who(root, &process->uid, process->pid, process->service, process->labels, process->exe,
            process->start_ns);
    cJSON_AddStringToObject(root, "state", live ? "live" : "gone");
    if (!live)
        json_add_u64(root, "ended_ns", process->gone_ns);
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

/* One whose ring is gone, or that never had one. */
static void put_note(const struct roster_entry *e, struct buf *out)
{
    cJSON *root = cJSON_CreateObject();
    add_who(root, &e->uid, e->pid, e->service, e->labels, e->exe, e->start_ns);
    cJSON_AddStringToObject(root, "state", e->ended_ns == 0 ? "live" : "gone");
    if (e->ended_ns != 0)
        json_add_u64(root, "ended_ns", e->ended_ns);
    json_add_u64(root, "attached_ns", e->recorded_ns);
    cJSON_AddStringToObject(root, "not_recorded", loss_text(e->reason));
    json_print(root, out);
    cJSON_Delete(root);
}

static int send_page(struct uplink *uplink, uint64_t agent, uint64_t version,
                     uint64_t known_from_ns, size_t page, size_t pages, const struct buf *items)
{
    struct buf body = {0};
    buf_printf(&body,
               "{\"agent\":\"%016llx\",\"kind\":\"processes\",\"version\":%llu,\"page\":%zu,"
               "\"pages\":%zu,\"clock_offset_ns\":\"%lld\",",
               (unsigned long long)agent, (unsigned long long)version, page, pages,
               (long long)uplink_clock_offset(uplink));
    if (known_from_ns != 0)
        buf_printf(&body, "\"known_from_ns\":\"%llu\",", (unsigned long long)known_from_ns);
    buf_printf(&body, "\"processes\":[");
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

struct pages {
    struct buf *items;
    size_t count;
};

/* Where the next process goes. NULL: no memory. */
static struct buf *page_next(struct pages *pages)
{
    struct buf *last = pages->count > 0 ? &pages->items[pages->count - 1] : NULL;
    if (last == NULL || last->len > PAGE_BYTES) {
        struct buf *more = realloc(pages->items, (pages->count + 1) * sizeof *more);
        if (more == NULL)
            return NULL;
        pages->items = more;
        last = &more[pages->count++];
        buf_init(last);
    }
    if (last->len > 0)
        buf_put_u8(last, ',');
    return last;
}

static bool is_attached(const struct process *first, const struct process_uid *uid)
{
    while (first != NULL && !process_uid_equal(&first->uid, uid))
        first = first->next;
    return first != NULL;
}

/* Whether the list names it: one that is gone, until the collector knows; not one that may come
 * back. */
static bool is_news(const struct roster_entry *e, const struct process *first)
{
    return !(e->expected && e->ended_ns == 0) && !(e->ended_ns != 0 && e->told) &&
           !is_attached(first, &e->uid);
}

static int build_pages(struct process *first, struct roster *roster,
                       const struct clock_snapshot *now, struct pages *pages)
{
    struct buf *page;
    for (struct process *p = first; p != NULL; p = p->next) {
        if ((page = page_next(pages)) == NULL)
            return SKEIN_NO_MEMORY;
        put_process(p, now, page);
    }
    struct roster_entry *e;
    TAILQ_FOREACH(e, roster_entries(roster), link)
    {
        if (!is_news(e, first))
            continue;
        if ((page = page_next(pages)) == NULL)
            return SKEIN_NO_MEMORY;
        if (e->process != NULL)
            put_process(e->process, now, page);
        else
            put_note(e, page);
        e->listed = true;
    }
    /* At least one page, be it empty: the list is whole only if its pages are. */
    return pages->count > 0 || page_next(pages) != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

int process_report_send(struct uplink *uplink, uint64_t agent, uint64_t version,
                        struct process *first, struct roster *roster,
                        const struct clock_snapshot *now)
{
    if (!uplink_awaits(uplink, "processes:"))
        roster_told(roster);
    (void)roster_refresh(roster);
    struct pages pages = {NULL, 0};
    int status = build_pages(first, roster, now, &pages);
    if (status == SKEIN_OK) {
        uplink_forget(uplink, "processes:");
        uplink_set_processes_version(uplink, version);
    }
    uint64_t known_from_ns = roster_known_from_ns(roster);
    for (size_t i = 0; i < pages.count; i++) {
        if (status == SKEIN_OK)
            status =
                send_page(uplink, agent, version, known_from_ns, i, pages.count, &pages.items[i]);
        buf_fini(&pages.items[i]);
    }
    free(pages.items);
    return status;
}
