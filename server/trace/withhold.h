/* SPDX-License-Identifier: Apache-2.0
 *
 * What evidence says that its reader may not know: the names of other processes of a host, to who is
 * confined to some; and what a program wrote to a file that not everybody may read. An evidence
 * partition is made anew without it. Pure; every byte is hostile. Any thread.
 */
#ifndef WITHHOLD_H
#define WITHHOLD_H

#include "buf.h"
#include "partition.h"

/* Whose files' words are shown, by who could read the file: see crash.stderr in docs/evidence.md. */
enum withhold_words {
    WITHHOLD_NO_WORDS,     /* all are shown */
    WITHHOLD_WORDS_OTHERS, /* of files that the process's own user may read, or everybody */
    WITHHOLD_WORDS_ALL     /* of files that everybody may read */
};

/* All-zero: nothing is withheld. */
struct withhold {
    bool names; /* of processes that are not the partition's own */
    enum withhold_words words;
};

static inline bool withhold_any(const struct withhold *what)
{
    return what->names || what->words != WITHHOLD_NO_WORDS;
}

/* Whether a partition with this footer can hold anything of it; others go out as they are stored. */
bool withhold_concerns(const struct withhold *what, const struct partition_footer *footer);

/* Appends the whole evidence partition at bytes, without that; numbers stay. The same bytes come out
 * each time. Takes some 200 MiB and a second or two at most, whatever the bytes. SKEIN_OK;
 * SKEIN_CORRUPT, SKEIN_TRUNCATED, SKEIN_VERSION: it cannot be read; SKEIN_TOO_LARGE: it holds more than
 * agents write (docs/evidence.md); SKEIN_NO_MEMORY. On failure *out is as before. */
int withhold_pack(const struct withhold *what, const uint8_t *bytes, size_t n, struct buf *out);

#endif
