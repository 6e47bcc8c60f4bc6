/* SPDX-License-Identifier: Apache-2.0
 *
 * Build ids; see build_id.h.
 */
#include "build_id.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "skein/status.h"
#include "text_whole.h"

#define HEADS_MAX 256         /* program headers looked at */
#define NOTES_MAX (16u << 10) /* bytes of a segment of notes looked at */

static size_t padded(uint64_t n)
{
    return (size_t)((n + 3) & ~UINT64_C(3));
}

static bool note_find(const uint8_t *notes, size_t n, uint8_t id[BUILD_ID_MAX], uint8_t *bytes)
{
    while (n >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr head;
        memcpy(&head, notes, sizeof head);
        notes += sizeof head;
        n -= sizeof head;
        size_t name = padded(head.n_namesz), text = padded(head.n_descsz);
        if (name > n || text > n - name)
            return false;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && memcmp(notes, "GNU", 4) == 0 &&
            head.n_descsz > 0 && head.n_descsz <= BUILD_ID_MAX) {
            memcpy(id, notes + name, head.n_descsz);
            *bytes = (uint8_t)head.n_descsz;
            return true;
        }
        notes += name + text;
        n -= name + text;
    }
    return false;
}

int build_id_read(int fd, uint8_t id[BUILD_ID_MAX], uint8_t *bytes)
{
    Elf64_Ehdr elf;
    uint8_t notes[NOTES_MAX];
    *bytes = 0;
    ssize_t got = bytes_read_at(fd, &elf, sizeof elf, 0);
    if (got < 0)
        return SKEIN_IO;
    if ((size_t)got < sizeof elf || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
        elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_ident[EI_DATA] != ELFDATA2LSB)
        return SKEIN_INVALID;
    for (uint64_t i = 0; i < elf.e_phnum && i < HEADS_MAX; i++) {
        Elf64_Phdr head;
        if (elf.e_phentsize != sizeof head || elf.e_phoff > INT64_MAX)
            return SKEIN_INVALID;
        if (bytes_read_at(fd, &head, sizeof head, elf.e_phoff + i * sizeof head) != sizeof head)
            return SKEIN_INVALID;
        if (head.p_type != PT_NOTE)
            continue;
        size_t n = head.p_filesz < NOTES_MAX ? (size_t)head.p_filesz : NOTES_MAX;
        got = bytes_read_at(fd, notes, n, head.p_offset);
        if (got > 0 && note_find(notes, (size_t)got, id, bytes))
            return SKEIN_OK;
    }
    return SKEIN_NOT_FOUND;
}
