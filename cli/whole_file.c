/* SPDX-License-Identifier: Apache-2.0
 * See whole_file.h. */
#include "whole_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "cli_out.h"

static bool is_same(const char *name, const char *from)
{
    struct stat a, b;
    return from != NULL && stat(name, &a) == 0 && stat(from, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* The name that is written to; NULL after saying why there is none. */
static const char *name_make(struct whole_file *f)
{
    struct stat there;
    if (stat(f->to, &there) == 0 && !S_ISREG(there.st_mode))
        return f->to;
    size_t n = strlen(f->to);
    f->part = malloc(n + sizeof ".part");
    if (f->part == NULL) {
        say_error("out of memory");
        return NULL;
    }
    memcpy(f->part, f->to, n);
    memcpy(f->part + n, ".part", sizeof ".part");
    return f->part;
}

static bool is_spared(const char *to, const char *name, const char *from)
{
    if (!is_same(to, from) && !is_same(name, from))
        return true;
    say_error("%s: is what is read; name another file to write", from);
    return false;
}

bool whole_file_spares(const char *to, const char *from)
{
    struct whole_file f = {.to = to};
    const char *name = name_make(&f);
    bool spared = name != NULL && is_spared(to, name, from);
    free(f.part);
    return spared;
}

bool whole_file_begin(struct whole_file *f, const char *to, const char *from)
{
    *f = (struct whole_file){.to = to};
    const char *name = name_make(f);
    if (name == NULL || !is_spared(to, name, from))
        return false;
    f->file = fopen(name, "we");
    if (f->file == NULL)
        say_error("%s: %s", to, strerror(errno));
    return f->file != NULL;
}

int whole_file_end(struct whole_file *f, bool whole)
{
    bool opened = f->file != NULL, done = whole && opened;
    if (opened && fclose(f->file) != 0 && done) {
        say_error("%s: %s", f->to, strerror(errno));
        done = false;
    }
    if (done && f->part != NULL && rename(f->part, f->to) != 0) {
        say_error("%s: %s", f->to, strerror(errno));
        done = false;
    }
    if (opened && !done && f->part != NULL)
        unlink(f->part);
    free(f->part);
    *f = (struct whole_file){.file = NULL};
    return done ? CLI_OK : CLI_FAILED;
}
