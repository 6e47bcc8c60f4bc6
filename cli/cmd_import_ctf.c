/* SPDX-License-Identifier: Apache-2.0
 *
 * skein import ctf: a trace file of a folder of CTF 1.8. All traces below the folder are read, one
 * after the other. One thread.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "cli_out.h"
#include "cmd_import.h"
#include "import_ctf.h"
#include "import_files.h"
#include "json.h"

#define DEPTH_MAX  8
#define TRACES_MAX 256

struct options {
    struct import_options import;
    bool regions;
};

static const struct cli_option options[] = {
    IMPORT_FILES_OPTIONS(struct options),
    CLI_OPTION(CLI_FLAG, 0, "regions", NULL, struct options, regions,
               "make regions of NAME_entry and NAME_exit, NAME_begin and NAME_end"),
    CLI_OPTIONS_END};

/* The folders that have a file `metadata`, and the files beside it. */
struct folders {
    char *paths[TRACES_MAX];
    size_t count;
    bool more; /* than TRACES_MAX, or deeper than DEPTH_MAX */
};

static bool is_file(const char *path)
{
    struct stat stat_;
    return stat(path, &stat_) == 0 && S_ISREG(stat_.st_mode);
}

static int folder_add(struct folders *f, const char *path)
{
    if (f->count == TRACES_MAX) {
        f->more = true;
        return SKEIN_OK;
    }
    f->paths[f->count] = strdup(path);
    if (f->paths[f->count] == NULL)
        return SKEIN_NO_MEMORY;
    f->count++;
    return SKEIN_OK;
}

/* What cannot be opened is no folder that is empty: it is said, and where it is memory that is short, all
 * ends. */
static int folders_find(struct folders *f, const char *path, unsigned depth)
{
    struct buf name = {0};
    struct dirent *entry;
    int status = SKEIN_OK;
    DIR *folder = opendir(path);
    if (folder == NULL && errno == ENOMEM)
        return SKEIN_NO_MEMORY;
    if (folder == NULL)
        say_warning("%s: %s", path, strerror(errno));
    while (folder != NULL && status == SKEIN_OK && (entry = readdir(folder)) != NULL) {
        bool metadata = strcmp(entry->d_name, "metadata") == 0;
        if (entry->d_name[0] == '.')
            continue;
        buf_clear(&name);
        buf_printf(&name, "%s/%s", path, entry->d_name);
        struct stat stat_;
        bool below = name.status == SKEIN_OK && lstat(text_of(&name), &stat_) == 0 &&
                     S_ISDIR(stat_.st_mode) && strcmp(entry->d_name, "index") != 0;
        if (name.status != SKEIN_OK)
            status = SKEIN_NO_MEMORY;
        else if (metadata && is_file(text_of(&name)))
            status = folder_add(f, path);
        else if (metadata && !below)
            say_warning("%s: is no regular file", text_of(&name));
        else if (below && depth == DEPTH_MAX)
            f->more = true;
        else if (below)
            status = folders_find(f, text_of(&name), depth + 1);
    }
    if (folder != NULL)
        closedir(folder);
    buf_fini(&name);
    return status;
}

static int names_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- one trace ---- */

struct run {
    const char *path;
    bool regions;
    struct ctf_told told;
    uint64_t traces;
};

struct trace_files {
    struct skein_trace_source *sources;
    size_t count, cap;
};

static int file_add(struct trace_files *files, const char *path)
{
    struct skein_trace_source source;
    int status = import_source_open(path, &source);
    if (status != SKEIN_OK)
        return status;
    if (!array_grow(files->sources, files->count + 1, &files->cap)) {
        import_source_close(&source);
        return SKEIN_NO_MEMORY;
    }
    files->sources[files->count++] = source;
    return SKEIN_OK;
}

/* Files are streams. Folders beside them are looked at by folders_find; all else (a pipe, a socket) would
 * wait for ever or be anything. */
static int entry_add(struct trace_files *files, struct buf *name)
{
    struct stat about;
    if (name->status != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    if (stat(text_of(name), &about) != 0)
        say_warning("%s: %s", text_of(name), strerror(errno));
    else if (S_ISREG(about.st_mode))
        return file_add(files, text_of(name));
    else if (!S_ISDIR(about.st_mode))
        say_warning("%s: is no regular file, and is left out", text_of(name));
    return SKEIN_OK;
}

static int files_find(struct trace_files *files, const char *folder)
{
    struct dirent **entries = NULL;
    struct buf name = {0};
    int status = SKEIN_OK, count = scandir(folder, &entries, NULL, alphasort);
    int wrong = errno;
    for (int k = 0; k < count; k++) {
        const char *base = entries[k]->d_name;
        buf_clear(&name);
        buf_printf(&name, "%s/%s", folder, base);
        if (status == SKEIN_OK && base[0] != '.' && strcmp(base, "metadata") != 0)
            status = entry_add(files, &name);
        free(entries[k]);
    }
    free(entries);
    buf_fini(&name);
    if (count < 0 && wrong != ENOMEM)
        say_error("%s: %s", folder, strerror(wrong));
    return count >= 0 ? status : wrong == ENOMEM ? SKEIN_NO_MEMORY : SKEIN_IO;
}

static int trace_import(struct run *run, const char *folder, const struct import_to *to,
                        struct import_told *told)
{
    struct trace_files files = {.count = 0};
    struct skein_trace_source metadata = {.context = NULL};
    struct buf name = {0};
    struct import_to here = *to;
    here.place = import_place(folder); /* traces of two folders may be the same byte for byte */
    buf_printf(&name, "%s/metadata", folder);
    int status = import_source_open(text_of(&name), &metadata);
    if (status == SKEIN_OK)
        status = files_find(&files, folder);
    if (status == SKEIN_OK)
        status = import_ctf(&metadata, files.sources, files.count, run->regions, &here, told,
                            &run->told);
    for (size_t k = 0; k < files.count; k++) {
        import_source_tell(&files.sources[k], told);
        import_source_close(&files.sources[k]);
    }
    if (metadata.context != NULL)
        import_source_tell(&metadata, told);
    free(files.sources);
    import_source_close(&metadata);
    buf_fini(&name);
    return status;
}

/* A trace without an event beside others that have some is none that failed. */
static int folder_import(void *context, const struct skein_trace_source *source,
                         const struct import_to *to, struct import_told *told)
{
    struct run *run = context;
    struct folders folders = {.count = 0};
    int status = folders_find(&folders, run->path, 0);
    (void)source;
    qsort(folders.paths, folders.count, sizeof *folders.paths, names_compare);
    for (size_t k = 0; k < folders.count; k++) {
        if (status == SKEIN_OK || status == SKEIN_NOT_FOUND)
            status = trace_import(run, folders.paths[k], to, told);
        free(folders.paths[k]);
    }
    run->traces = folders.count;
    if (folders.count == 0 && status == SKEIN_OK)
        snprintf(told->why, sizeof told->why, "there is no file \"metadata\" in it or below");
    if (folders.more)
        say_warning("%s: read are %u traces, not deeper than %u folders", run->path, TRACES_MAX,
                    DEPTH_MAX);
    if (status == SKEIN_NOT_FOUND && told->events > 0) {
        told->why[0] = '\0';
        status = SKEIN_OK;
    }
    return folders.count == 0 && status == SKEIN_OK ? SKEIN_NOT_FOUND : status;
}

static void trace_say(void *context)
{
    const struct run *run = context;
    printf("%" PRIu64 " traces: %" PRIu64 " processes, %" PRIu64 " streams, %" PRIu64 " packets\n",
           run->traces, run->told.processes, run->told.streams, run->told.packets);
    if (run->told.discarded > 0)
        printf("%" PRIu64 " events had been discarded by the tracer\n", run->told.discarded);
    if (run->told.lost_packets > 0)
        printf("%" PRIu64 " packets are missing, by their numbers; nobody knows how many events\n",
               run->told.lost_packets);
}

static void trace_say_json(void *context, cJSON *said)
{
    const struct run *run = context;
    json_add_u64(said, "traces", run->traces);
    json_add_u64(said, "processes", run->told.processes);
    json_add_u64(said, "streams", run->told.streams);
    json_add_u64(said, "packets", run->told.packets);
    json_add_u64(said, "discarded", run->told.discarded);
    json_add_u64(said, "lost_packets", run->told.lost_packets);
}

static int ctf_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct run run = {.path = call->arguments[0], .regions = o->regions};
    const struct import_how how = {.import = folder_import,
                                   .say = trace_say,
                                   .say_json = trace_say_json,
                                   .context = &run,
                                   .folder = true};
    return import_file(call->arguments[0], &o->import, &how);
}

const struct cli_command cmd_import_ctf = {
    .name = "import ctf",
    .arguments = "FOLDER",
    .summary = "Read traces of CTF 1.8, as LTTng writes them",
    .details =
        "All traces in the folder and below are read. An event is of the process and thread that\n"
        "its context names (vpid, vtid, procname), else of the trace's process and its CPU:\n"
        "lttng add-context --userspace --type=vpid --type=vtid --type=procname\n",
    .examples = "  skein import ctf ~/lttng-traces/my-session -o session.skein\n"
                "  skein import ctf --regions trace/ -o trace.skein\n",
    CLI_RUN(options, struct options, ctf_run),
};
