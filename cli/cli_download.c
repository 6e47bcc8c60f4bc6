/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns FILE.part and FILE.part.etag while a download runs. A broken connection is continued with
 * Range and If-Range; the ETag beside the part tells whether the collector still has the same
 * bytes, also for a later run of the program. Streams that the collector makes on the fly
 * (Perfetto) have no ETag and start over. One thread.
 */
#include "cli_download.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli_out.h"
#include "cli_progress.h"
#include "clock.h"
#include "json.h"
#include "text_whole.h"
#include "trace_file.h"

#define TRIES_WITHOUT_PROGRESS 5
#define PROGRESS_EVERY_NS      UINT64_C(100000000)

struct part {
    const struct api *api;
    const struct download *download;
    struct buf url, path, etag_path;
    int fd;
    char etag[128];    /* of the bytes in the part; "" where there are none, or none is known */
    uint64_t bytes;    /* in the part */
    uint64_t shown_ns; /* when the bar was last drawn */
    uint64_t resumed;  /* bytes there before this request */
    uint64_t found;    /* bytes that an earlier run left, while they are part of it */
    bool begun;        /* a byte of the answer has come */
    const struct http_response *response;
};

static void on_progress(void *context, uint64_t done, uint64_t total)
{
    struct part *p = context;
    struct buf line = {0};
    uint64_t now = clock_monotonic_ns();
    if (now - p->shown_ns < PROGRESS_EVERY_NS || done == 0)
        return;
    p->shown_ns = now;
    done += p->resumed;
    total = total ? total + p->resumed : 0;
    progress_bar_put(&line, done, total);
    text_put_bytes(&line, done);
    if (total) {
        buf_printf(&line, " of ");
        text_put_bytes(&line, total);
    }
    progress_show(&line);
    buf_fini(&line);
}

/* ---- the part ---- */

static void etag_load(struct part *p)
{
    FILE *file = fopen(text_of(&p->etag_path), "re");
    p->etag[0] = '\0';
    if (file == NULL)
        return;
    if (fgets(p->etag, sizeof p->etag, file) != NULL)
        p->etag[strcspn(p->etag, "\r\n")] = '\0';
    fclose(file);
}

static void etag_store(struct part *p, const char *etag)
{
    snprintf(p->etag, sizeof p->etag, "%s", etag);
    if (!*etag) {
        unlink(text_of(&p->etag_path));
        return;
    }
    FILE *file = fopen(text_of(&p->etag_path), "we");
    if (file == NULL) /* the download works without; a later run then starts over */
        return;
    fprintf(file, "%s\n", etag);
    fclose(file);
}

static int part_empty(struct part *p)
{
    p->bytes = 0;
    if (ftruncate(p->fd, 0) == 0 && lseek(p->fd, 0, SEEK_SET) == 0)
        return CLI_OK;
    say_error("%s: %s", text_of(&p->path), strerror(errno));
    return CLI_FAILED;
}

/* To the nanosecond, which a date's text is not. */
static void time_query(struct buf *path, const char *key, const struct cli_number *time)
{
    char text[24];
    if (time == NULL || !time->given)
        return;
    snprintf(text, sizeof text, "%" PRIu64, time->value);
    api_query(path, key, text);
}

/* The part takes the place of what is called so, which must be no device, socket or folder. */
static bool may_replace(const char *file)
{
    struct stat about;
    if (strcmp(file, "-") == 0) {
        say_error("-: a download goes into a file, so that a broken one can go on; ./- is one of "
                  "that name");
        return false;
    }
    if (stat(file, &about) < 0 || S_ISREG(about.st_mode))
        return true;
    say_error("%s: is there and is no regular file, so a download does not take its place", file);
    return false;
}

int download_check(const char *file)
{
    struct buf path = {0};
    if (!may_replace(file))
        return CLI_FAILED;
    buf_printf(&path, "%s.part", file);
    int fd = open(text_of(&path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0)
        unlink(text_of(&path));
    else if (errno == EEXIST) /* of a download that broke off */
        fd = open(text_of(&path), O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        say_error("%s: %s", text_of(&path), strerror(errno));
    else
        close(fd);
    buf_fini(&path);
    return fd < 0 ? CLI_FAILED : CLI_OK;
}

static int part_open(struct part *p)
{
    const struct download *d = p->download;
    struct stat about;
    struct buf path = {0};
    if (!may_replace(d->file))
        return CLI_FAILED;
    buf_printf(&p->path, "%s.part", d->file);
    buf_printf(&p->etag_path, "%s.part.etag", d->file);
    if (d->incident)
        buf_printf(&path, "/captures/trace");
    else
        buf_printf(&path, "/captures/%s/trace", d->capture);
    api_query(&path, "incident", d->incident ? d->capture : NULL);
    api_query(&path, "format", d->format);
    api_query(&path, "groups", d->groups);
    api_query(&path, "of", d->of);
    api_query(&path, "process", d->process);
    time_query(&path, "from", d->from);
    time_query(&path, "to", d->to);
    api_query(&path, "damaged", d->skip_damaged ? "skip" : NULL);
    api_url(p->api, text_of(&path), &p->url);
    buf_fini(&path);
    p->fd = open(text_of(&p->path), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (p->fd < 0 || fstat(p->fd, &about) < 0) {
        say_error("%s: %s", text_of(&p->path), strerror(errno));
        return CLI_FAILED;
    }
    etag_load(p);
    p->bytes = (uint64_t)about.st_size;
    if (!p->etag[0])
        return part_empty(p);
    p->found = p->bytes;
    if (lseek(p->fd, 0, SEEK_END) < 0) {
        say_error("%s: %s", text_of(&p->path), strerror(errno));
        return CLI_FAILED;
    }
    return CLI_OK;
}

static void part_close(struct part *p)
{
    if (p->fd >= 0)
        close(p->fd);
    buf_fini(&p->url);
    buf_fini(&p->path);
    buf_fini(&p->etag_path);
}

/* ---- requests ---- */

/* The answer is the whole trace, not what the part lacks: the part becomes it. Its tag is there
 * before its bytes are, for the run that comes after a kill. */
static int part_begin(struct part *p, const char *etag)
{
    p->resumed = p->found = 0;
    if (part_empty(p) != CLI_OK)
        return CLI_FAILED;
    etag_store(p, etag);
    return CLI_OK;
}

static int on_bytes(void *context, const void *bytes, size_t n)
{
    struct part *p = context;
    if (!p->begun && p->response->status == 200 && part_begin(p, p->response->etag) != CLI_OK)
        return SKEIN_FULL;
    p->begun = true;
    if (whole_write(p->fd, bytes, n) == SKEIN_OK)
        return SKEIN_OK;
    say_error("%s: %s", text_of(&p->path), strerror(errno));
    return SKEIN_FULL;
}

enum step { STEP_DONE, STEP_AGAIN, STEP_FAILED, STEP_UNREACHABLE };

/* What follows from an answer that came whole, or broke off. */
static enum step response_judge(struct part *p, int status, const struct http_response *response)
{
    struct stat about;
    if (fstat(p->fd, &about) < 0) {
        say_error("%s: %s", text_of(&p->path), strerror(errno));
        return STEP_FAILED;
    }
    if (status == SKEIN_FULL) /* said */
        return STEP_FAILED;
    if (p->resumed > 0 && response->status == 416) {
        etag_store(p, "");
        return part_empty(p) == CLI_OK ? STEP_AGAIN : STEP_FAILED;
    }
    p->bytes = (uint64_t)about.st_size;
    bool good = response->status == 200 || response->status == 206;
    if (status == SKEIN_OK && good)
        return STEP_DONE;
    bool broken = (status == SKEIN_IO || status == SKEIN_CLOSED || status == SKEIN_TIMEOUT) &&
                  p->bytes > p->resumed;
    if (!broken || (response->status && !good)) {
        progress_clear();
        return api_say_failure(p->api, status, response) == CLI_UNREACHABLE ? STEP_UNREACHABLE
                                                                            : STEP_FAILED;
    }
    return STEP_AGAIN;
}

static enum step request_once(struct part *p)
{
    char range[64], if_range[160];
    const char *headers[4] = {NULL};
    size_t n = 0;
    struct http_response response;
    p->begun = false;
    p->response = &response;
    if (p->bytes > 0 && !p->etag[0] && part_empty(p) != CLI_OK)
        return STEP_FAILED;
    p->resumed = p->bytes;
    snprintf(range, sizeof range, "Range: bytes=%" PRIu64 "-", p->bytes);
    snprintf(if_range, sizeof if_range, "If-Range: %s", p->etag);
    if (p->api->authorization[0])
        headers[n++] = p->api->authorization;
    if (p->bytes) {
        headers[n++] = range;
        headers[n++] = if_range;
    }
    struct http_request request = {.url = text_of(&p->url),
                                   .ca_file = p->api->ca_file,
                                   .headers = headers,
                                   .sink = on_bytes,
                                   .progress = progress_seen() ? on_progress : NULL,
                                   .context = p};
    int status = http_request(&request, &response);
    enum step step = response_judge(p, status, &response);
    http_response_fini(&response);
    return step;
}

/* What an earlier run left may not be what the collector sent: a power cut leaves zeros. */
static bool partitions_sound(struct trace_file *trace, char *error, size_t error_bytes)
{
    struct buf bytes = {0};
    int status = SKEIN_OK;
    for (size_t i = 0; i < trace_file_count(trace) && status == SKEIN_OK; i++) {
        status = trace_file_read(trace, i, &bytes);
        if (status == SKEIN_OK)
            status = partition_check(bytes.data, bytes.len, error, error_bytes);
    }
    buf_fini(&bytes);
    return status == SKEIN_OK && trace_file_torn(trace) == 0;
}

/* A trace is whole with its closing table, and only then. */
static bool part_whole(struct part *p)
{
    char error[512] = "";
    struct trace_file *trace = NULL;
    if (strcmp(p->download->format, "skein") != 0)
        return true;
    int status = trace_file_open(text_of(&p->path), &trace, error, sizeof error);
    bool whole = status == SKEIN_OK && trace_file_closed(trace) &&
                 (p->found == 0 || partitions_sound(trace, error, sizeof error));
    if (!whole)
        say_error("what came is no whole trace%s%s; it is left in %s, and the same command begins "
                  "anew",
                  error[0] ? ": " : "", error, text_of(&p->path));
    trace_file_free(&trace);
    return whole;
}

static int part_finish(struct part *p)
{
    if (!part_whole(p)) {
        unlink(text_of(&p->etag_path));
        return CLI_FAILED;
    }
    if (fsync(p->fd) < 0 || rename(text_of(&p->path), p->download->file) < 0) {
        say_error("%s: %s", p->download->file, strerror(errno));
        return CLI_FAILED;
    }
    unlink(text_of(&p->etag_path));
    return CLI_OK;
}

int download_run(const struct api *api, const struct download *download, uint64_t *bytes)
{
    struct part p = {.api = api, .download = download, .fd = -1};
    int status = part_open(&p);
    unsigned tries = 0;
    uint64_t most = p.bytes;
    enum step step = STEP_AGAIN;
    while (status == CLI_OK && step == STEP_AGAIN) {
        step = request_once(&p);
        tries = p.bytes > most ? 0 : tries + 1;
        most = p.bytes > most ? p.bytes : most;
        if (step == STEP_AGAIN && tries > TRIES_WITHOUT_PROGRESS) {
            progress_clear();
            say_error("the connection to %s keeps breaking; %s has %" PRIu64
                      " bytes, and the same command resumes it",
                      api->collector, text_of(&p.path), p.bytes);
            step = STEP_FAILED;
        }
    }
    progress_clear();
    if (status == CLI_OK)
        status = step == STEP_DONE          ? part_finish(&p)
                 : step == STEP_UNREACHABLE ? CLI_UNREACHABLE
                                            : CLI_FAILED;
    *bytes = p.bytes;
    if (status != CLI_OK && p.fd >= 0 && p.bytes == 0) { /* nothing to resume */
        unlink(text_of(&p.path));
        unlink(text_of(&p.etag_path));
    }
    part_close(&p);
    return status;
}

int download_said(const struct download *download, uint64_t bytes, bool json)
{
    if (json) {
        cJSON *said = cJSON_CreateObject();
        cJSON_AddStringToObject(said, download->incident ? "incident" : "capture",
                                download->capture);
        if (download->process != NULL)
            cJSON_AddStringToObject(said, "process", download->process);
        cJSON_AddStringToObject(said, "file", download->file);
        json_add_u64(said, "bytes", bytes);
        int status = json_show(said);
        cJSON_Delete(said);
        return status;
    }
    struct buf size = {0};
    text_put_bytes(&size, bytes);
    safe_print(download->file);
    printf(": %s\n", text_of(&size));
    buf_fini(&size);
    return out_close();
}
