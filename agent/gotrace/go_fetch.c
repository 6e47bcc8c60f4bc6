/* SPDX-License-Identifier: Apache-2.0
 *
 * One fetch; see go_fetch.h. The program at the other end may be broken, or not be what the
 * configuration takes it for: every byte of its answer is bounded, and so is the time.
 */
#include "go_fetch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "http_client.h"
#include "outside_ports.h"

#define HEAD_BYTES  16   /* of a trace */
#define WORDS_BYTES 4096 /* of an answer that is none; of which WORDS_SHOWN are told */
#define WORDS_SHOWN 60

bool go_trace_begins(const void *bytes, size_t n)
{
    static const char begin[] = "go 1.", end[] = " trace";
    const char *head = bytes;
    if (n < HEAD_BYTES || memcmp(head, begin, sizeof begin - 1) != 0)
        return false;
    size_t at = sizeof begin - 1, digits = 0;
    for (; digits < 3 && head[at] >= '0' && head[at] <= '9'; digits++)
        at++;
    if (digits == 0 || memcmp(head + at, end, sizeof end - 1) != 0)
        return false;
    for (at += sizeof end - 1; at < HEAD_BYTES; at++)
        if (head[at] != '\0')
            return false;
    return true;
}

/* ---- an answer ---- */

struct taking {
    struct buf *bytes;
    uint64_t bytes_max;
    bool no_trace, too_large;
};

static int on_bytes(void *context, const void *bytes, size_t n)
{
    struct taking *taking = context;
    taking->too_large = n > taking->bytes_max - taking->bytes->len;
    if (taking->too_large)
        return SKEIN_TOO_LARGE;
    buf_put(taking->bytes, bytes, n);
    if (taking->bytes->status != SKEIN_OK)
        return taking->bytes->status;
    taking->no_trace = taking->bytes->len >= HEAD_BYTES &&
                       !go_trace_begins(taking->bytes->data, taking->bytes->len);
    return taking->no_trace ? SKEIN_CORRUPT : SKEIN_OK;
}

/* The first line of an answer's words, as far as it is plain text. */
static void words_show(const struct buf *body, char out[WORDS_SHOWN + 3])
{
    size_t n = 0;
    while (n < body->len && n < WORDS_SHOWN && body->data[n] >= ' ' && body->data[n] < 0x7f)
        n++;
    snprintf(out, WORDS_SHOWN + 3, "%s%.*s", n > 0 ? ": " : "", (int)n,
             n > 0 ? (const char *)body->data : "");
}

/* Sets why, and returns it; NULL: all of it is there. */
static const char *answer_judge(const struct taking *taking, int status, uint64_t timeout_ms,
                                const struct http_response *response, char why[GO_WHY_BYTES])
{
    char words[WORDS_SHOWN + 3];
    if (taking->too_large)
        snprintf(why, GO_WHY_BYTES, "the answer is larger than %" PRIu64 " KiB",
                 taking->bytes_max >> 10);
    else if (taking->no_trace)
        snprintf(why, GO_WHY_BYTES, "the answer is no trace of Go's runtime (%.40s)",
                 response->content_type);
    else if (status == SKEIN_TIMEOUT)
        snprintf(why, GO_WHY_BYTES, "no whole answer within %" PRIu64 " ms", timeout_ms);
    else if (status != SKEIN_OK)
        snprintf(why, GO_WHY_BYTES, "%.100s",
                 response->error[0] != '\0' ? response->error : skein_status_text(status));
    else if (response->status != 200) {
        words_show(&response->body, words);
        snprintf(why, GO_WHY_BYTES, "it answered %ld%s", response->status, words);
    } else if (!go_trace_begins(taking->bytes->data, taking->bytes->len))
        snprintf(why, GO_WHY_BYTES, "the answer is no trace of Go's runtime (%zu bytes)",
                 taking->bytes->len);
    else
        return NULL;
    return why;
}

const char *go_fetch(const struct go_request *request, struct buf *bytes, char why[GO_WHY_BYTES])
{
    char url[320];
    struct outside_loopback at;
    struct http_response response;
    struct taking taking = {.bytes = bytes, .bytes_max = request->bytes_max};
    buf_init(bytes);
    if (outside_loopback_read(request->address, &at) == NULL)
        return "the address is none of this host";
    const char *other = outside_listens_alone(request->process->pid, &at);
    if (other == NULL && process_state(request->process) != PROCESS_LIVE)
        other = "the process has ended";
    if (other != NULL)
        return other;
    snprintf(url, sizeof url, "http://%s%s", request->address, request->path);
    const struct http_request http = {.url = url,
                                      .timeout_ms = request->timeout_ms,
                                      .max_body_bytes = WORDS_BYTES,
                                      .sink = on_bytes,
                                      .context = &taking,
                                      .cancel = request->cancel};
    int status = http_request(&http, &response);
    const char *reason = answer_judge(&taking, status, request->timeout_ms, &response, why);
    http_response_fini(&response);
    if (reason != NULL)
        buf_fini(bytes);
    return reason;
}
