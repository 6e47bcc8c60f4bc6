/* SPDX-License-Identifier: Apache-2.0
 *
 * What a process wrote last to its standard error, where that is a regular file: which file that is
 * while the process lives, and the file's end once it is dead. Nothing of the process is opened, and
 * its pipes, sockets and terminals are not touched. No state; any thread.
 */
#ifndef LAST_WORDS_H
#define LAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "skein/status.h"

#define LAST_WORDS_BYTES ((size_t)64 << 10)
#define WORDS_PIECE      1000u /* bytes; an event's text has SKEIN_STR_MAX */
#define WORDS_FILE_BYTES 512u

/* Where descriptor 2 led. All zero: it was not looked at. */
struct words_place {
    char file[WORDS_FILE_BYTES]; /* as the kernel writes it; "" */
    bool cut;                    /* `file` had no room for all */
    bool refused;                /* it may not be looked at */
    bool writes;                 /* the process may write there, by this descriptor */
    uint64_t mount, inode;       /* the kernel's numbers; inode 0: not known */
    uint64_t looked_ns;          /* realtime */
    bool has_device;             /* words_place_stat has seen it */
    uint64_t device;
    bool has_user; /* of the process, as files are opened by */
    uint32_t user;
};

/* What a file held before the process wrote to it: nobody had written there since it began. */
struct words_mark {
    bool known;
    uint64_t device, inode, bytes;
};

/* The end of the file. */
struct words {
    char *bytes; /* malloc; NULL: nothing, and `why` says why not */
    size_t count;
    uint64_t before; /* bytes that went before, of those that count */
    /* Those that count: all since the process began, to the kernel's 10 ms; false: the whole file. */
    bool since_start;
    const char *readers;  /* static: words_readers */
    const char *why;      /* static: what its standard error was, or what has become of it */
    const char *why_more; /* static; ": " and the system's word, or "" */
};

/* The lines of /proc/PID/fdinfo/FD: mount, inode, writes. False: no such text; nothing is changed. */
bool words_fdinfo_parse(const char *text, struct words_place *place);

/* Cannot hang: the file is not touched. SKEIN_OK; SKEIN_DENIED; SKEIN_NOT_FOUND: there is no such
 * process, or it has no descriptor 2. Without SKEIN_OK, `place` says `refused`, or is zero. */
int words_place_read(pid_t pid, struct words_place *place);

/* Adds the device, and makes the mark of one that began at start_ns (realtime), if it can be made.
 * A file system of which nobody answers hangs it. */
void words_place_stat(pid_t pid, uint64_t start_ns, struct words_place *place,
                      struct words_mark *mark);

/* Reads the end of the file that the place names, if it is the same file still. May hang, too. */
void words_read(const struct words_place *place, const struct words_mark *mark, uint64_t start_ns,
                struct words *out);
void words_fini(struct words *words);

/* Who can read a file of this mode and owner at its path: "everybody"; "process": whoever has the
 * process's user; "others": neither of these, as where somebody else has opened it for the process. */
struct words_file {
    const char *path;
    uint32_t mode, owner;
};
const char *words_readers(const struct words_file *file, const struct words_place *place);

/* What is left of n bytes of a file's end, which may begin amidst a character (`amidst`) or a hole:
 * how many to leave out in front. */
size_t words_skip(const char *bytes, size_t n, bool amidst);

/* How many of n > 0 bytes make the next piece: up to WORDS_PIECE, whole lines if one ends there,
 * else whole characters if they are UTF-8. */
size_t words_piece(const char *bytes, size_t n);

#endif
