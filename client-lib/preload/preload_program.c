/* SPDX-License-Identifier: Apache-2.0
 * See preload_program.h. Runs in the program's first thread, before main(). */
#include "preload_program.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

bool notes_say_go(const uint8_t *notes, size_t bytes)
{
    while (bytes >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, notes, sizeof(note));
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t text = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > bytes - sizeof(note) || text > bytes - sizeof(note) - name)
            return false;
        if (note.n_namesz == 4 && memcmp(notes + sizeof(note), "Go\0", 4) == 0)
            return true;
        notes += sizeof(note) + name + text;
        bytes -= sizeof(note) + name + text;
    }
    return false;
}

uint64_t number_of_text(const char *text, uint64_t most, uint64_t otherwise)
{
    char *end;
    if (!text || *text < '0' || *text > '9')
        return otherwise;
    uint64_t number = strtoull(text, &end, 10);
    return *end == '\0' && number <= most ? number : otherwise;
}
