/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds the pages of the process list; see process_report.h. Loop thread.
 */
#include "process_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "array.h"
#include "host_page.h"
#include "proc_info.h"
#include "report_processes.h"

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

/* Bytes a second since the rate was last taken. */
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

/* The list as it is collected; what it points to is the processes', the roster's or its own. */
struct listing {
    struct report_process *items;
    char (*titles)[128];
    char (*whys)[REPORT_RING_WHY_MAX + 1];
    size_t count, items_cap, titles_cap, whys_cap;
};

/* The next one's place. NULL: no memory. */
static struct report_process *listing_next(struct listing *list)
{
    size_t need = list->count + 1;
    return array_grow(list->items, need, &list->items_cap) &&
                   array_grow(list->titles, need, &list->titles_cap) &&
                   array_grow(list->whys, need, &list->whys_cap)
               ? &list->items[list->count++]
               : NULL;
}

static int process_list(struct listing *list, struct process *process,
                        const struct clock_snapshot *now)
{
    struct report_process *to = listing_next(list);
    struct process_usage usage;
    if (to == NULL)
        return SKEIN_NO_MEMORY;
    process_usage(process, &usage);
    bool live = process_state(process) == PROCESS_LIVE;
    char *title = list->titles[list->count - 1];
    title[0] = '\0';
    ring_choice_text(&process->choice, list->whys[list->count - 1], sizeof list->whys[0]);
    if (live)
        proc_title((pid_t)process->pid, title, sizeof list->titles[0]);
    *to = (struct report_process){.uid = process->uid,
                                  .pid = process->pid,
                                  .user = process->user,
                                  .live = live,
                                  .service = process->service,
                                  .labels = process->labels,
                                  .exe = process->exe,
                                  .start_ns = process->start_ns,
                                  .ended_ns = live ? 0 : process->gone_ns,
                                  .attached_ns = process->attached_ns,
                                  .not_recorded = process->watched ? loss_text(LOSS_WATCHED) : "",
                                  .mode = mode_text(process->geometry.mode),
                                  .ring_bytes = process->geometry.total,
                                  .ring_wished_bytes = process->choice.wished_bytes,
                                  .ring_memory_bytes = process_memory(process),
                                  .used_bytes = usage.used_bytes,
                                  .bytes_per_s = rate_note(process, &usage, now),
                                  .reach_ms = reach_ms(process, &usage, now),
                                  .events_lost = usage.lost,
                                  .wrapped = usage.wrapped};
    return SKEIN_OK;
}

/* One whose ring is gone, or that never had one. */
static int list_note(struct listing *list, const struct roster_entry *e)
{
    struct report_process *to = listing_next(list);
    if (to == NULL)
        return SKEIN_NO_MEMORY;
    *to = (struct report_process){.uid = e->uid,
                                  .pid = e->pid,
                                  .user = e->user,
                                  .live = e->ended_ns == 0,
                                  .service = e->service,
                                  .labels = e->labels,
                                  .exe = e->exe,
                                  .start_ns = e->start_ns,
                                  .ended_ns = e->ended_ns,
                                  .attached_ns = e->recorded_ns,
                                  .not_recorded = loss_text(e->reason)};
    list->titles[list->count - 1][0] = '\0';
    list->whys[list->count - 1][0] = '\0';
    return SKEIN_OK;
}

static bool is_attached(const struct process *first, const struct process_uid *uid)
{
    while (first != NULL && !process_uid_equal(&first->uid, uid))
        first = first->next;
    return first != NULL;
}

/* Whether the list names it. One that is gone is named until the collector knows; one that may come
 * back is not. */
static bool is_news(const struct roster_entry *e, const struct process *first)
{
    return !roster_is_awaited(e) && !(e->ended_ns != 0 && e->told) && !is_attached(first, &e->uid);
}

static int process_report_collect(struct process *first, struct roster *roster,
                                  const struct clock_snapshot *now, struct listing *list)
{
    int status = SKEIN_OK;
    for (struct process *p = first; p != NULL && status == SKEIN_OK; p = p->next)
        status = process_list(list, p, now);
    struct roster_entry *e;
    TAILQ_FOREACH(e, roster_entries(roster), link) {
        if (status != SKEIN_OK || !is_news(e, first))
            continue;
        status = e->process != NULL ? process_list(list, e->process, now) : list_note(list, e);
        if (status == SKEIN_OK)
            e->listed = true;
    }
    for (size_t i = 0; i < list->count; i++) { /* these texts may have moved until now */
        list->items[i].title = list->titles[i];
        list->items[i].ring_why = list->whys[i];
    }
    return status;
}

static int page_send(struct uplink *uplink, const struct report_processes *page)
{
    struct buf body = {0};
    char key[64];
    report_processes_put(page, &body);
    snprintf(key, sizeof key, "processes:%" PRIu64, page->page);
    int status = body.status;
    if (status == SKEIN_OK)
        status = uplink_report(uplink, key, NULL, NULL, (const char *)body.data, body.len);
    buf_fini(&body);
    return status;
}

/* Sends one page at least, even an empty one: a list is whole only with all its pages. */
static int pages_send(struct uplink *uplink, struct report_processes *page,
                      const struct listing *list)
{
    size_t at = 0;
    int status = SKEIN_OK;
    for (page->pages = 0; at < list->count || page->pages == 0; page->pages++)
        at += report_processes_fit(list->items + at, list->count - at);
    at = 0;
    for (; page->page < page->pages && status == SKEIN_OK; page->page++) {
        page->items = list->items + at;
        page->count = report_processes_fit(page->items, list->count - at);
        at += page->count;
        status = page_send(uplink, page);
    }
    return status;
}

int process_report_send(struct uplink *uplink, uint64_t agent, uint64_t version,
                        struct process *first, struct roster *roster,
                        const struct clock_snapshot *now)
{
    if (!uplink_awaits(uplink, "processes:"))
        roster_told(roster);
    (void)roster_refresh(roster);
    struct listing list = {.count = 0};
    const struct clock_map map = uplink_clock_map(uplink);
    struct report_processes page = {.agent = agent,
                                    .version = version,
                                    .clock_offset_ns = map.offset_ns,
                                    .clock = map.clock,
                                    .known_from_ns = roster_known_from_ns(roster)};
    int status = process_report_collect(first, roster, now, &list);
    if (status == SKEIN_OK) {
        uplink_forget(uplink, "processes:");
        uplink_set_processes_version(uplink, version);
        status = pages_send(uplink, &page, &list);
    }
    free(list.items);
    free(list.titles);
    free(list.whys);
    return status;
}
