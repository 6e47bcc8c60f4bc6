/* SPDX-License-Identifier: Apache-2.0
 *
 * See import_files.h. The trace is written as it is made; one that could not be made whole is removed.
 */
#include "import_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "cli_out.h"
#include "cli_progress.h"
#include "clock.h"
#include "json.h"

#define PROGRESS_EVERY_NS 200000000u

struct files {
    const char *path;
    struct buf name, service;
    int in;
    FILE *out;
    uint64_t changed_ns, bytes, shown_ns;
    bool unwritten; /* the output's failure was said */
};

static int bytes_read(void *context, uint64_t offset, void *out, size_t n)
{
    const struct files *f = context;
    uint8_t *at = out;
    while (n > 0) {
        ssize_t got = pread(f->in, at, n, (off_t)offset);
        if (got <= 0) /* it has become shorter, or cannot be read */
            return SKEIN_IO;
        at += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return SKEIN_OK;
}

static int bytes_put(void *context, const uint8_t *bytes, size_t n)
{
    struct files *f = context;
    if (fwrite(bytes, 1, n, f->out) == n)
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

/* The name without its folder and what is behind the last dot. */
static void service_name(const char *path, struct buf *service)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t n = dot != NULL && dot > base ? (size_t)(dot - base) : strlen(base);
    buf_printf(service, "%.*s", (int)n, base);
}

static bool files_open(struct files *f, const struct import_options *o)
{
    struct stat stat;
    f->in = open(f->path, O_RDONLY | O_CLOEXEC);
    if (f->in < 0 || fstat(f->in, &stat) != 0) {
        say_error("%s: %s", f->path, strerror(errno));
        return false;
    }
    if (!S_ISREG(stat.st_mode)) {
        say_error("%s: is no regular file", f->path);
        return false;
    }
    f->bytes = (uint64_t)stat.st_size;
    f->changed_ns = (uint64_t)stat.st_mtim.tv_sec * 1000000000u + (uint64_t)stat.st_mtim.tv_nsec;
    if (o->result.file != NULL)
        buf_printf(&f->name, "%s", o->result.file);
    else
        buf_printf(&f->name, "%s.skein", f->path);
    service_name(f->path, &f->service);
    f->out = fopen(text_of(&f->name), "we");
    if (f->out == NULL)
        say_error("%s: %s", text_of(&f->name), strerror(errno));
    return f->out != NULL;
}

static int told_json(struct files *f, const struct import_told *told, const struct import_how *how)
{
    cJSON *said = cJSON_CreateObject();
    cJSON_AddStringToObject(said, "file", text_of(&f->name));
    json_add_u64(said, "events", told->events);
    json_add_u64(said, "partitions", told->partitions);
    json_add_u64(said, "stacks", told->stacks);
    json_add_u64(said, "fixed_up", told->fixed_up);
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
    printf("%s: %" PRIu64 " events; skein cat --evidence %s\n", name, told->events, name);
    how->say(how->context);
    if (told->fixed_up > 0)
        printf("%" PRIu64 " times were raised, so that no effect is before its cause\n",
               told->fixed_up);
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
    const struct skein_trace_source source = {
        .read = bytes_read, .context = f, .bytes = f->bytes, .name = f->path};
    const struct import_to to = {.put = bytes_put,
                                 .progress = progress_seen() ? on_progress : NULL,
                                 .context = f,
                                 .host = o->host != NULL ? o->host : "",
                                 .service = o->service != NULL ? o->service : text_of(&f->service),
                                 .pid = (uint32_t)o->pid.value,
                                 .changed_ns = f->changed_ns};
    int status = how->import(how->context, &source, &to, told);
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
    struct files f = {.path = path, .in = -1};
    struct import_told told = {.partitions = 0};
    int status = files_open(&f, options) ? file_import(&f, options, how, &told) : CLI_FAILED;
    if (f.out != NULL && fclose(f.out) != 0 && status == CLI_OK) {
        say_error("%s: %s", text_of(&f.name), strerror(errno));
        status = CLI_FAILED;
    }
    if (f.out != NULL && status != CLI_OK)
        unlink(text_of(&f.name));
    if (f.in >= 0)
        close(f.in);
    if (status == CLI_OK)
        status = options->result.json ? told_json(&f, &told, how) : told_say(&f, &told, how);
    buf_fini(&f.name);
    buf_fini(&f.service);
    return status;
}
