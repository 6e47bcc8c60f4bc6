/* SPDX-License-Identifier: Apache-2.0
 * See preload_program.h. Runs in the program's first thread, before main(). */
#include "preload_program.h"

#include <link.h>
#include <stdio.h>
#include <string.h>

/* What follows `name` and "=" in one line of the environment; NULL: another variable. */
static const char *value_of(const char *line, const char *name)
{
    while (*name && *line == *name) {
        line++;
        name++;
    }
    return !*name && *line == '=' ? line + 1 : NULL;
}

static bool skein_variable(const char *line, struct environment *out)
{
    static const char prefix[] = "SKEIN_";
    for (size_t i = 0; i < sizeof prefix - 1; i++)
        if (line[i] != prefix[i])
            return false;
    line += sizeof prefix - 1;
    const char *value;
    if ((value = value_of(line, "SERVICE")) != NULL)
        out->service = value;
    else if ((value = value_of(line, "LABELS")) != NULL)
        out->labels = value;
    else if ((value = value_of(line, "SOCKET")) != NULL)
        out->socket = value;
    else if ((value = value_of(line, "CHECK")) != NULL)
        out->check = value;
    else if ((value = value_of(line, "IO_THRESHOLD_US")) != NULL)
        out->io_threshold_us = value;
    else if ((value = value_of(line, "ATTACH_MS")) != NULL)
        out->attach_ms = value;
    else if ((value = value_of(line, "SERVICE_PID")) != NULL)
        out->service_pid = value;
    return true;
}

void environment_read(char *const *lines, struct environment *out)
{
    const char *value;
    size_t n = 0;
    while (lines != NULL && lines[n] != NULL)
        n++;
    while (n-- > 0) /* the first of a name last, for it counts */
        if (!skein_variable(lines[n], out) &&
            (value = value_of(lines[n], "SYSTEMD_EXEC_PID")) != NULL)
            out->systemd_pid = value;
}

bool notes_say_go(const uint8_t *notes, size_t bytes)
{
    while (bytes >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, notes, sizeof note);
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t text = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > bytes - sizeof note || text > bytes - sizeof note - name)
            return false;
        if (note.n_namesz == 4 && memcmp(notes + sizeof note, "Go\0", 4) == 0)
            return true;
        notes += sizeof note + name + text;
        bytes -= sizeof note + name + text;
    }
    return false;
}

/* ---- labels ---- */

#define CUT_BYTES 24 /* ",labels_cut=" and a number */

/* The pair at *at, and behind it. False: there is none, but an empty place between two commas. */
static bool pair_next(const char **at, const char **pair, size_t *bytes, bool *sound)
{
    const char *end = *at, *equals = NULL;
    for (; *end != '\0' && *end != ','; end++)
        if (*end == '=' && equals == NULL)
            equals = end;
    *pair = *at;
    *bytes = (size_t)(end - *at);
    *sound = equals != NULL && equals != *at;
    *at = *end == ',' ? end + 1 : end;
    return *bytes > 0;
}

/* As far as they have room below `most`; returns how many have not, or are none. */
static unsigned pairs_put(const char *labels, char *out, size_t *used, size_t most)
{
    unsigned left_out = 0;
    const char *pair;
    size_t bytes;
    bool sound;
    for (const char *at = labels; at != NULL && *at != '\0';) {
        if (!pair_next(&at, &pair, &bytes, &sound))
            continue;
        size_t need = bytes + (*used > 0);
        if (!sound || need >= most - *used) {
            left_out += left_out < UINT16_MAX;
            continue;
        }
        if (*used > 0)
            out[(*used)++] = ',';
        memcpy(out + *used, pair, bytes);
        *used += bytes;
    }
    return left_out;
}

void labels_fit(const char *first, const char *labels, char out[LABELS_BYTES])
{
    size_t used = 0;
    unsigned left_out = pairs_put(first, out, &used, LABELS_BYTES);
    left_out += pairs_put(labels, out, &used, LABELS_BYTES);
    if (left_out > 0) { /* once more, with room to say so */
        used = 0;
        left_out = pairs_put(first, out, &used, LABELS_BYTES - CUT_BYTES);
        left_out += pairs_put(labels, out, &used, LABELS_BYTES - CUT_BYTES);
        used += (size_t)snprintf(out + used, CUT_BYTES, "%slabels_cut=%u", used > 0 ? "," : "",
                                 left_out);
    }
    out[used] = '\0';
}

uint64_t number_of_text(const char *text, uint64_t most, uint64_t otherwise)
{
    if (text == NULL || !*text)
        return otherwise;
    uint64_t number = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (number > most / 10)
            return otherwise;
        number = 10 * number + (uint64_t)(*text - '0');
    }
    return *text == '\0' && number <= most ? number : otherwise;
}
