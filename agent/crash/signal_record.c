/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's events on signals; see signal_record.h. Any thread.
 */
#include "signal_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc_info.h"

#define TRACEFS "/sys/kernel/tracing"

/* Every event's record begins with: its id, two bytes; flags; the thread that ran. */
#define COMMON_CURRENT 4

/* Not of these: 1, 2, 13 and 15 are ordinary ends, 17 to 23 and 28 end nobody, and of 9 the one who
 * sent it is told. A handler of 0 is the default. */
#define FILTER_ENDS                                                                                \
    "sa_handler == 0 && sig != 1 && sig != 2 && sig != 9 && sig != 13 && sig != 15 && "            \
    "(sig < 17 || sig > 23) && sig != 28"
/* By a process, not by a fault (a code above 0), and not ignored: a result of 0. */
#define FILTER_SENT                                                                                \
    "result == 0 && code <= 0 && ((sig >= 3 && sig <= 8) || sig == 11 || sig == 24 || sig == 25 "  \
    "|| sig == 31)"
#define FILTER_KILL "result == 0 && sig == 9" /* whoever sends it */

static const struct {
    const char *event, *signal, *code, *target, *filter;
} kinds[SIGNAL_RECORD_KINDS] = {
    [SIGNAL_ENDS] = {"signal/signal_deliver", "sig", "code", NULL, FILTER_ENDS},
    [SIGNAL_SENT] = {"signal/signal_generate", "sig", "code", "pid", FILTER_SENT},
    [SIGNAL_MEMORY] = {"oom/mark_victim", NULL, NULL, "pid", NULL}};

/* A field of 4 bytes; one that is not wanted is there. */
static bool field_read(const char *text, const char *name, struct sched_field *out)
{
    if (name == NULL)
        return true;
    return sched_field_find(text, strlen(text), name, out) == SKEIN_OK && out->size == 4;
}

static int kind_read(const char *tracefs, enum signal_record_kind kind, struct signal_layout *out)
{
    char path[256], text[4096];
    struct signal_layout layout = *out;
    uint64_t id;
    snprintf(path, sizeof path, "%s/events/%s/id", tracefs, kinds[kind].event);
    errno = 0;
    if (text_file_read(path, text, sizeof text) <= 0)
        return errno == EACCES || errno == EPERM ? SKEIN_DENIED : SKEIN_NOT_FOUND;
    id = strtoull(text, NULL, 10);
    snprintf(path, sizeof path, "%s/events/%s/format", tracefs, kinds[kind].event);
    if (id == 0 || id > UINT16_MAX || text_file_read(path, text, sizeof text) <= 0 ||
        !field_read(text, kinds[kind].signal, &layout.kinds[kind].signal) ||
        !field_read(text, kinds[kind].code, &layout.kinds[kind].code) ||
        !field_read(text, kinds[kind].target, &layout.kinds[kind].target))
        return SKEIN_NOT_FOUND;
    layout.kinds[kind].id = id;
    *out = layout;
    return SKEIN_OK;
}

int signal_layout_read(const char *tracefs, struct signal_layout *out)
{
    *out = (struct signal_layout){0};
    if (tracefs == NULL)
        tracefs = TRACEFS;
    int status = kind_read(tracefs, SIGNAL_ENDS, out);
    if (status == SKEIN_OK)
        status = kind_read(tracefs, SIGNAL_SENT, out);
    if (status == SKEIN_OK)
        (void)kind_read(tracefs, SIGNAL_MEMORY, out);
    return status;
}

size_t signal_layout_watches(const struct signal_layout *layout, struct perf_watch *watches)
{
    size_t count = 0;
    for (int kind = 0; kind < SIGNAL_RECORD_KINDS; kind++)
        if (layout->kinds[kind].id != 0)
            watches[count++] = (struct perf_watch){layout->kinds[kind].id, kinds[kind].filter,
                                                   kind != SIGNAL_MEMORY};
    watches[count++] = (struct perf_watch){layout->kinds[SIGNAL_SENT].id, FILTER_KILL, false};
    return count;
}

static bool word_get(const uint8_t *raw, size_t n, uint32_t offset, void *out)
{
    if (n < sizeof(uint32_t) || offset > n - sizeof(uint32_t))
        return false;
    memcpy(out, raw + offset, sizeof(uint32_t));
    return true;
}

static bool field_get(const uint8_t *raw, size_t n, const struct sched_field *field, void *out)
{
    return field->size == 0 || word_get(raw, n, field->offset, out);
}

bool signal_record_get(const struct signal_layout *layout, const uint8_t *raw, size_t n,
                       struct signal_record *out)
{
    uint16_t id;
    if (n < sizeof id)
        return false;
    memcpy(&id, raw, sizeof id);
    for (int kind = 0; kind < SIGNAL_RECORD_KINDS; kind++) {
        if (id == 0 || layout->kinds[kind].id != id)
            continue;
        *out = (struct signal_record){.kind = (enum signal_record_kind)kind};
        return word_get(raw, n, COMMON_CURRENT, &out->current) &&
               field_get(raw, n, &layout->kinds[kind].signal, &out->signal) &&
               field_get(raw, n, &layout->kinds[kind].code, &out->code) &&
               field_get(raw, n, &layout->kinds[kind].target, &out->target);
    }
    return false;
}
