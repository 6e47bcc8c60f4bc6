/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the file or folder that an export is written to: "NAME.part" until all is there. A folder is
 * made anew, and never put in the place of anything. One thread.
 */
#include "export_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "cli.h"
#include "cli_out.h"
#include "cli_part.h"
#include "cli_progress.h"
#include "clock.h"
#include "text_whole.h"
#include "whole_file.h"

#define SHOW_NS UINT64_C(100000000)

struct target {
    const char *to, *from;   /* from: what is read */
    struct whole_file whole; /* a single file */
    FILE *file;              /* that one's, or standard output */
    char *part;              /* of a folder */
    int folder;
    bool is_folder;
    char (*names)[64]; /* of files made in it */
    size_t count, cap;
};

/* ---- the sink ---- */

static int file_put(struct target *t, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, t->file) == n ? SKEIN_OK : SKEIN_IO;
}

/* Notes a file of the folder, for who has to remove it. */
static int name_note(struct target *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->names[i], name) == 0)
            return SKEIN_OK;
    if (!array_grow(t->names, t->count + 1, &t->cap))
        return SKEIN_NO_MEMORY;
    snprintf(t->names[t->count++], sizeof t->names[0], "%s", name);
    return SKEIN_OK;
}

/* One open file at a time: there may be more processes than a program may have files open. */
static int folder_put(struct target *t, const char *name, const uint8_t *bytes, size_t n)
{
    int status = name_note(t, name);
    if (status != SKEIN_OK)
        return status;
    int fd = openat(t->folder, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return SKEIN_IO;
    bool whole = whole_write(fd, bytes, n) == SKEIN_OK;
    int error = errno;
    if (close(fd) < 0 && whole)
        return SKEIN_IO;
    errno = error;
    return whole ? SKEIN_OK : SKEIN_IO;
}

static int target_put(void *context, const char *name, const void *bytes, size_t n)
{
    struct target *t = context;
    return t->is_folder ? folder_put(t, name, bytes, n) : file_put(t, bytes, n);
}

/* ---- the file or folder ---- */

static int errno_say(const char *name)
{
    say_error("%s: %s", name, strerror(errno));
    return CLI_FAILED;
}

static int folder_begin(struct target *t)
{
    struct stat there;
    if (lstat(t->to, &there) == 0) {
        say_error("%s: is there already; a folder is not written over it", t->to);
        return CLI_FAILED;
    }
    if (mkdir(t->part, 0777) < 0)
        return errno_say(t->part);
    t->folder = open(t->part, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return t->folder < 0 ? errno_say(t->part) : CLI_OK;
}

static int target_begin(struct target *t)
{
    if (t->to == NULL) {
        t->file = stdout;
        return CLI_OK;
    }
    if (!t->is_folder) {
        bool begun = whole_file_begin(&t->whole, t->to, t->from);
        t->file = t->whole.file;
        return begun ? CLI_OK : CLI_FAILED;
    }
    size_t n = strlen(t->to);
    while (n > 1 && t->to[n - 1] == '/')
        n--;
    t->part = malloc(n + sizeof ".part");
    if (t->part == NULL) {
        say_error("out of memory");
        return CLI_FAILED;
    }
    memcpy(t->part, t->to, n);
    memcpy(t->part + n, ".part", sizeof ".part");
    return folder_begin(t);
}

/* Takes away what was made. */
static void folder_drop(struct target *t)
{
    for (size_t i = 0; i < t->count; i++)
        unlinkat(t->folder, t->names[i], 0);
    if (t->folder >= 0)
        rmdir(t->part);
}

static int target_end(struct target *t, bool whole)
{
    int status = whole ? CLI_OK : CLI_FAILED;
    if (t->to == NULL)
        return whole && fflush(t->file) != 0 ? errno_say("standard output") : status;
    if (!t->is_folder)
        return whole_file_end(&t->whole, whole);
    /* Renamed onto a folder, a folder takes the place of an empty one: of nothing else. */
    if (whole && rename(t->part, t->to) < 0)
        status = errno_say(t->to);
    if (status != CLI_OK)
        folder_drop(t);
    if (t->folder >= 0)
        close(t->folder);
    free(t->names);
    free(t->part);
    return status;
}

/* ---- the export ---- */

static void progress_tell(const struct export_run *run, uint64_t *shown_ns)
{
    uint64_t done, total, now = clock_monotonic_ns();
    if (!progress_seen() || now - *shown_ns < SHOW_NS)
        return;
    *shown_ns = now;
    struct buf line = {0};
    export_progress(run, &done, &total);
    progress_bar_put(&line, done, total);
    buf_printf(&line, "%" PRIu64 " records", done);
    progress_show(&line);
    buf_fini(&line);
}

/* CLI_OK where all of the trace could be read. */
static int gaps_tell(const char *trace, const struct export_run *run)
{
    const struct skein_gap *gaps;
    size_t count = export_gaps(run, &gaps);
    int status = CLI_OK;
    struct buf before = {0};
    buf_printf(&before, "%s: ", trace);
    for (size_t i = 0; i < count; i++) { /* what is broken names its file itself */
        bool missing = gaps[i].reason == SKEIN_GAP_MISSING;
        if (part_gap_tell(missing ? text_of(&before) : "", &gaps[i]) != CLI_OK)
            status = CLI_FAILED;
    }
    buf_fini(&before);
    return status;
}

static int run_all(const struct export_wish *wish, struct target *t, struct export_run *run,
                   struct buf *told)
{
    uint64_t shown_ns = clock_monotonic_ns();
    int got;
    while ((got = export_some(run)) > 0)
        progress_tell(run, &shown_ns);
    int error = errno;
    progress_clear();
    if (got < 0) {
        const char *name = t->to != NULL ? t->to : "standard output";
        if (got == SKEIN_IO)
            say_error("%s: %s", name, strerror(error));
        else
            say_error("%s: %s", wish->trace, skein_status_text(got));
        (void)target_end(t, false);
        return CLI_FAILED;
    }
    int whole = gaps_tell(wish->trace, run);
    int status = target_end(t, true);
    if (status == CLI_OK)
        export_told(run, told);
    return status == CLI_OK ? whole : status;
}

int export_to_files(const struct export_wish *wish, struct buf *told)
{
    struct skein_trace *trace = NULL;
    struct export_run *run = NULL;
    struct target t = {.to = wish->to,
                       .from = wish->trace,
                       .folder = -1,
                       .is_folder = export_is_folder(wish->form)};
    const struct export_sink sink = {target_put, &t};
    char error[SKEIN_TRACE_ERROR_BYTES] = "";
    int status = skein_trace_open(wish->trace, &trace, error);
    if (status != SKEIN_OK) {
        say_error("%s", error[0] != '\0' ? error : skein_status_text(status));
        return CLI_FAILED;
    }
    status = export_new(trace, wish->form, wish->groups, &sink, &run);
    int exit = CLI_FAILED;
    if (status != SKEIN_OK)
        say_error("%s: %s", wish->trace, skein_status_text(status));
    else if (target_begin(&t) == CLI_OK)
        exit = run_all(wish, &t, run, told);
    else
        (void)target_end(&t, false);
    export_free(&run);
    skein_trace_free(&trace);
    return exit;
}
