/* SPDX-License-Identifier: Apache-2.0
 *
 * See import_files.h. The trace is written as it is made, beside its place, and takes it when it is whole.
 */
#include "import_files.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "cli_out.h"
#include "cli_progress.h"
#include "clock.h"
#include "json.h"
#include "text_whole.h"
#include "whole_file.h"

#define PROGRESS_EVERY_NS 200000000u

struct files {
    const char *path;
    struct buf name, service;
    struct skein_trace_source source;
    struct whole_file out;
    uint64_t changed_ns, shown_ns;
    bool unwritten; /* the output's failure was said */
};

/* ---- what goes out ---- */

static int bytes_put(void *context, const uint8_t *bytes, size_t n)
{
    struct files *f = context;
    if (fwrite(bytes, 1, n, f->out.file) == n)
        return SKEIN_OK;
    progress_clear();
    say_error("%s: %s", text_of(&f->name), strerror(errno));
    f->unwritten = true;
    return SKEIN_IO;
}

static void on_progress(void *context, uint64_t done, uint64_t total)
{
    struct files *f = context;
    struct buf line = {0};
    uint64_t now = clock_monotonic_ns();
    if (now - f->shown_ns < PROGRESS_EVERY_NS)
        return;
    f->shown_ns = now;
    progress_bar_put(&line, done, total);
    text_put_bytes(&line, done);
    buf_printf(&line, " of ");
    text_put_bytes(&line, total);
    progress_show(&line);
    buf_fini(&line);
}

/* The name, of so many bytes, without its folder and what is behind the last dot. */
static void service_name(const char *path, size_t end, struct buf *service)
{
    size_t from = end, dot = end;
    while (from > 0 && path[from - 1] != '/')
        from--;
    for (size_t k = end; k-- > from + 1;)
        if (path[k] == '.') {
            dot = k;
            break;
        }
    buf_printf(service, "%.*s", (int)(dot - from), path + from);
}

/* Whether what `name` leads to lies in the folder; also a file that is not there yet. */
static bool leads_into(const char *folder, const char *name)
{
    char *top = realpath(folder, NULL), *place = realpath(name, NULL), *copy = strdup(name);
    if (place == NULL && copy != NULL)
        place = realpath(dirname(copy), NULL);
    size_t n = top != NULL ? strlen(top) : 0;
    bool inside = n > 0 && place != NULL && strncmp(place, top, n) == 0 &&
                  (place[n] == '/' || place[n] == '\0' || n == 1);
    free(top);
    free(copy);
    free(place);
    return inside;
}

/* In the folder, the output would take the place of what is read, or be read the next time. */
static bool is_inside(const char *folder, const char *name)
{
    struct buf part = {0};
    buf_printf(&part, "%s.part", name);
    bool inside = leads_into(folder, name) || leads_into(folder, text_of(&part));
    buf_fini(&part);
    return inside;
}

static bool files_open(struct files *f, const struct import_options *o,
                       const struct import_how *how)
{
    struct stat about;
    if (stat(f->path, &about) != 0) {
        say_error("%s: %s", f->path, strerror(errno));
        return false;
    }
    if (how->folder && !S_ISDIR(about.st_mode)) {
        say_error("%s: is no folder", f->path);
        return false;
    }
    if (!how->folder && import_source_open(f->path, &f->source) != SKEIN_OK)
        return false;
    f->changed_ns = (uint64_t)about.st_mtim.tv_sec * 1000000000u + (uint64_t)about.st_mtim.tv_nsec;
    size_t length = import_source_length(how->folder ? NULL : &f->source, f->path);
    if (o->result.file != NULL)
        buf_printf(&f->name, "%s", o->result.file);
    else
        buf_printf(&f->name, "%.*s.skein", (int)length, f->path);
    service_name(f->path, length, &f->service);
    const char *to = text_of(&f->name);
    if (f->name.status != SKEIN_OK || f->service.status != SKEIN_OK) {
        say_error("out of memory");
        return false;
    }
    if (how->folder && is_inside(f->path, to)) {
        say_error("%s: lies in the folder that is read; name a file beside it", to);
        return false;
    }
    return whole_file_begin(&f->out, to, f->path);
}

static int told_json(struct files *f, const struct import_told *told, const struct import_how *how)
{
    cJSON *said = cJSON_CreateObject();
    cJSON_AddStringToObject(said, "file", text_of(&f->name));
    json_add_u64(said, "events", told->events);
    json_add_u64(said, "partitions", told->partitions);
    json_add_u64(said, "stacks", told->stacks);
    json_add_u64(said, "fixed_up", told->fixed_up);
    json_add_u64(said, "clamped", told->clamped);
    json_add_u64(said, "left_out", told->left_out);
    json_add_u64(said, "not_read", told->not_read);
    json_add_u64(said, "cut_bytes", told->cut_bytes);
    cJSON_AddBoolToObject(said, "time_guessed", told->time_guessed);
    cJSON_AddStringToObject(said, "why", told->why);
    how->say_json(how->context, said);
    int status = json_show(said);
    cJSON_Delete(said);
    return status;
}

static int told_say(struct files *f, const struct import_told *told, const struct import_how *how)
{
    const char *name = text_of(&f->name);
    safe_print(name);
    printf(": %" PRIu64 " events; skein cat %s", told->events, how->evidence ? "--evidence " : "");
    safe_print(name);
    printf("\n");
    how->say(how->context);
    if (told->fixed_up > 0)
        printf("%" PRIu64 " times were raised, so that no effect is before its cause\n",
               told->fixed_up);
    if (told->clamped > 0)
        printf("%" PRIu64 " times lie where no trace can hold them, and are shown at the bound\n",
               told->clamped);
    if (told->not_read > 0)
        printf("%" PRIu64 " records are of kinds that are not read\n", told->not_read);
    if (told->left_out > 0)
        printf("%" PRIu64 " records are left out\n", told->left_out);
    if (told->why[0] != '\0')
        say_warning("%s: %s", f->path, told->why);
    if (told->time_guessed)
        say_warning("%s: does not say the time of day; taken is when the file was written",
                    f->path);
    return out_close();
}

static int file_import(struct files *f, const struct import_options *o,
                       const struct import_how *how, struct import_told *told)
{
    const struct import_to to = {.put = bytes_put,
                                 .progress = progress_seen() ? on_progress : NULL,
                                 .context = f,
                                 .host = o->host != NULL ? o->host : "",
                                 .service = o->service != NULL ? o->service : text_of(&f->service),
                                 .pid = (uint32_t)o->pid.value,
                                 .place = import_place(f->path),
                                 .changed_ns = f->changed_ns};
    int status = how->import(how->context, &f->source, &to, told);
    if (!how->folder)
        import_source_tell(&f->source, told);
    progress_clear();
    if (status == SKEIN_OK)
        return CLI_OK;
    if (!f->unwritten)
        say_error("%s: %s", f->path, told->why[0] != '\0' ? told->why : skein_status_text(status));
    return CLI_FAILED;
}

int import_file(const char *path, const struct import_options *options,
                const struct import_how *how)
{
    struct files f = {.path = path};
    struct import_told told = {.partitions = 0};
    int status = files_open(&f, options, how) ? file_import(&f, options, how, &told) : CLI_FAILED;
    status = whole_file_end(&f.out, status == CLI_OK);
    import_source_close(&f.source);
    if (status == CLI_OK)
        status = options->result.json ? told_json(&f, &told, how) : told_say(&f, &told, how);
    buf_fini(&f.name);
    buf_fini(&f.service);
    return status;
}
