/* SPDX-License-Identifier: Apache-2.0
 * See preload_program.h. Runs in the program's first thread, before main(). */
#include "preload_program.h"

#include <link.h>
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
