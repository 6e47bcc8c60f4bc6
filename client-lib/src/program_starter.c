/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs along PATH, and starters; see program_starter.h. Keeps nothing.
 */
#include "program_starter.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "program_text.h"
#include "sys_raw.h"

#define PATH_ELSE "/bin:/usr/bin" /* where there is no PATH, as the C library has it */

/* ---- along PATH ---- */

static bool is_program(int folder, const char *path)
{
    struct stat about = {0};
    return RAW4(SYS_newfstatat, folder, RAW_POINTER(path), RAW_POINTER(&about), 0) == 0 &&
           S_ISREG(about.st_mode) && (about.st_mode & 0111) != 0;
}

static bool has_slash(const char *file)
{
    while (*file && *file != '/')
        file++;
    return *file == '/';
}

/* Of the first folder that has the program. What is too long for a path is not found there either. */
static void folders_look(const struct program_call *call, const char *folders,
                         struct program_kind *kind)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct program_call in_folder = *call;
    const char *file = call->path, *end;
    size_t file_bytes = text_bytes(file) + 1;
    for (const char *folder = folders; file_bytes <= NAME_MAX + 1; folder = end + 1) {
        for (end = folder; *end && *end != ':';)
            end++;
        size_t bytes = (size_t)(end - folder);
        if (bytes < PATH_MAX) {
            memcpy(path, folder, bytes);
            if (bytes > 0)
                path[bytes++] = '/';
            memcpy(path + bytes, file, file_bytes);
            in_folder.path = path;
            if (is_program(call->folder, path)) {
                program_look(&in_folder, kind);
                return;
            }
        }
        if (*end == '\0')
            return;
    }
}

void program_look_along(const struct program_call *call, const char *path,
                        struct program_kind *kind)
{
    if (has_slash(call->path))
        program_look(call, kind);
    else
        folders_look(call, path != NULL ? path : PATH_ELSE, kind);
}

/* ---- starters ---- */

/* A shell, or a program that is many, may start others that no argument names. */
static const char starters[][8] = {"busybox", "toybox", "sh",   "ash", "bash",
                                   "dash",    "ksh",    "mksh", "zsh"};

static const char *base_name(const char *path)
{
    const char *base = path;
    for (; *path; path++)
        base = *path == '/' ? path + 1 : base;
    return base;
}

static bool starts_any(const char *path)
{
    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++)
        if (text_is_same(base_name(path), starters[i]))
            return true;
    return false;
}

/* What an argument names, if that is a program. */
static bool argument_look(const struct program_call *call, const char *path,
                          struct program_kind *kind)
{
    *kind = (struct program_kind){.is_no_program = true};
    if (*call->path == '-' || (has_slash(call->path) && !is_program(call->folder, call->path)))
        return false;
    program_look_along(call, path, kind);
    return !kind->is_no_program;
}

bool program_hands_on(const struct program_call *starter, const char *path)
{
    bool named = false;
    if (starter->arguments == NULL || *starter->arguments == NULL || starts_any(starter->path))
        return false;
    for (size_t i = 1; i < STARTER_ARGUMENTS && starter->arguments[i] != NULL; i++) {
        struct program_kind kind;
        const struct program_call call = {.folder = starter->folder, .path = starter->arguments[i]};
        if (!argument_look(&call, path, &kind))
            continue;
        if (!program_takes_preload(&kind) || kind.is_asan)
            return false;
        named = true;
    }
    return named;
}
