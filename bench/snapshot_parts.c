/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a snapshot; see snapshot_parts.h.
 */
#include "snapshot_parts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 1000 };

const char *const part_names[PARTS] = {"request", "copy",  "pack",   "names",
                                       "end",     "spool", "upload", "report"};

/* 2026-11-21T09:40:00.123Z, in ms; 0: it is none. */
static double line_ms(const char *line)
{
    struct tm tm = {0};
    const char *rest = strptime(line, "%Y-%m-%dT%H:%M:%S", &tm);
    return rest != NULL ? ((double)timegm(&tm) + strtod(rest, NULL)) * 1e3 : 0;
}

/* What the lines of one snapshot say. */
struct lines {
    double first_cut, last_cut, stored;
    unsigned cuts, stored_count;
};

static void line_take(const char *line, struct lines *l, double parts[PARTS])
{
    static const char *const fields[] = {"copy:", "pack:", "names:", "end:", "spool:"};
    double at = line_ms(line), all = 0;
    if (strstr(line, "uplink: stored") != NULL) {
        l->stored = at;
        l->stored_count++;
    }
    const char *cut = strstr(line, "capture: cut us=");
    for (unsigned i = 0; cut != NULL && i < sizeof fields / sizeof *fields; i++) {
        cut = strstr(cut, fields[i]);
        double ms = cut != NULL ? strtod(cut + strlen(fields[i]), NULL) / 1e3 : 0;
        parts[PART_COPY + i] += ms;
        all += ms;
    }
    if (cut == NULL)
        return;
    l->first_cut = l->cuts++ == 0 ? at - all : l->first_cut;
    l->last_cut = at;
}

bool parts_read(FILE *log, unsigned partitions, double begin_ms, double end_ms, double parts[PARTS])
{
    char line[1024];
    struct lines l = {0};
    memset(parts, 0, PARTS * sizeof *parts);
    for (unsigned tries = 0; tries < TRIES; tries++) {
        clearerr(log);
        while (fgets(line, sizeof line, log) != NULL)
            line_take(line, &l, parts);
        if (l.cuts > 0 && l.stored_count >= partitions)
            break;
        usleep(1000); /* the agent hears that all is stored when the bench does */
    }
    if (l.cuts == 0 || l.stored_count < partitions || l.stored < l.last_cut)
        return false;
    parts[PART_REQUEST] = l.first_cut > begin_ms ? l.first_cut - begin_ms : 0;
    parts[PART_UPLOAD] = l.stored - l.last_cut;
    parts[PART_REPORT] = end_ms > l.stored ? end_ms - l.stored : 0;
    return true;
}
