/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the code of the living lies; see crash_int.h. A process that is dead has no maps, and
 * nobody is told when it maps more: so they are read when it attaches, and again when the kernel
 * counts another amount of code than then, or it has begun anew: a program that calls exec of itself
 * has as much code as before, elsewhere. On the worker.
 */
#include "clock.h"
#include "crash_int.h"
#include "proc_info.h"
#include "proc_text.h"
#include "symbolizer.h"

#define BEAT_NS  (5000 * NS_PER_MS)
#define READ_NS  NS_PER_S         /* patience with one process */
#define TURN_NS  (50 * NS_PER_MS) /* of a second, for all */
#define COST_MAX 200u             /* a process is read for one part in so many of the time */

/* Code that it has mapped, its own and that of libraries; 0: it is gone, or may not be asked. */
static uint64_t code_kib(pid_t pid)
{
    char text[4096];
    uint64_t own = 0, libraries = 0;
    if (proc_file_read(pid, "status", text, sizeof text) <= 0)
        return 0;
    (void)text_value(text, "VmExe", &own);
    (void)text_value(text, "VmLib", &libraries);
    return own + libraries;
}

/* What is looked at, while the table is not held. */
struct look {
    struct process_uid uid;
    pid_t pid;
    uint64_t ticks, code_kib, start_stack, took_ns;
    bool has_maps, has_read;
    struct process_maps maps;
};

static bool look_choose(struct crash *crash, uint64_t now_ns, struct look *look)
{
    struct crash_entry *entry;
    pthread_mutex_lock(&crash->mutex);
    TAILQ_FOREACH(entry, &crash->entries, link) {
        if (entry->gone || entry->next_ns > now_ns)
            continue;
        *look = (struct look){.uid = entry->uid,
                              .pid = (pid_t)entry->pid,
                              .ticks = entry->start_clock_ticks,
                              .code_kib = entry->code_kib,
                              .start_stack = entry->start_stack,
                              .has_maps = entry->has_maps};
        break;
    }
    pthread_mutex_unlock(&crash->mutex);
    return entry != NULL;
}

/* The maps are of this process: it is there before, and after. */
static void look_read(struct crash *crash, struct look *look)
{
    uint64_t began_ns = clock_monotonic_ns(), kib = code_kib(look->pid);
    uint64_t stack = proc_start_stack(look->pid);
    bool known = look->has_maps && kib == look->code_kib && stack == look->start_stack;
    if (!proc_is_same(look->pid, look->ticks) || kib == 0 || known)
        return;
    if (symbolizer_maps(crash->settings.symbolizer, look->pid, began_ns + READ_NS, &look->maps) ==
        SKEIN_OK) {
        look->has_read = proc_is_same(look->pid, look->ticks) && look->maps.count > 0;
        if (!look->has_read)
            process_maps_free(&look->maps);
    }
    look->code_kib = kib;
    look->start_stack = stack;
    look->took_ns = clock_monotonic_ns() - began_ns;
}

/* A young process loads its libraries; an old one seldom does. */
static uint64_t pause_ns(const struct crash_entry *entry, const struct look *look, uint64_t now_ns)
{
    uint64_t age_ns = now_ns - entry->born_ns, pause = age_ns < BEAT_NS ? age_ns : BEAT_NS;
    return pause > look->took_ns * COST_MAX ? pause : look->took_ns * COST_MAX;
}

static void look_keep(struct crash *crash, struct look *look)
{
    uint64_t now_ns = clock_monotonic_ns();
    pthread_mutex_lock(&crash->mutex);
    struct crash_entry *entry = crash_entry_find(crash, &look->uid);
    /* Of one that has died meanwhile, too, as they were read while it lived; unless they are in use. */
    if (entry != NULL && look->has_read && !entry->read) {
        struct process_maps former = entry->maps;
        entry->maps = look->maps;
        look->maps = former;
        entry->code_kib = look->code_kib;
        entry->start_stack = look->start_stack;
        look->has_read = entry->has_maps;
        entry->has_maps = true;
    }
    if (entry != NULL)
        entry->next_ns = now_ns + pause_ns(entry, look, now_ns);
    pthread_mutex_unlock(&crash->mutex);
    if (look->has_read)
        process_maps_free(&look->maps);
}

void crash_maps_look(void *context)
{
    struct crash *crash = context;
    struct look look;
    uint64_t began_ns = clock_monotonic_ns(), now_ns = began_ns;
    while (now_ns - began_ns < TURN_NS && look_choose(crash, now_ns, &look)) {
        look_read(crash, &look);
        look_keep(crash, &look);
        now_ns = clock_monotonic_ns();
    }
    pthread_mutex_lock(&crash->mutex);
    crash->busy = false;
    pthread_mutex_unlock(&crash->mutex);
}
