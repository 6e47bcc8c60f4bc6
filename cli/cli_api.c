/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the way from a command to the collector's HTTP API and back: URLs, pages, problems. One
 * thread; blocks until the answer is there.
 */
#include "cli_api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cli_out.h"
#include "clock.h"
#include "json.h"

#define COLLECTOR_DEFAULT  "http://127.0.0.1:7462"
#define REQUEST_TIMEOUT_MS 60000
#define PAGE               1000

static const char *or_environment(const char *given, const char *name)
{
    const char *value = given != NULL && *given ? given : getenv(name);
    return value != NULL && *value ? value : NULL;
}

/* http(s)://HOST, maybe with a port and a path, or HOST:PORT. */
static bool is_address(const char *text)
{
    const char *scheme = strstr(text, "://"), *host = scheme != NULL ? scheme + 3 : text;
    if (scheme != NULL && strncasecmp(text, "http://", 7) != 0 &&
        strncasecmp(text, "https://", 8) != 0)
        return false;
    for (const char *c = text; *c; c++)
        if (*c <= ' ' || *c == 0x7f)
            return false;
    size_t n = strcspn(host, host[0] == '[' ? "]" : ":/?#");
    const char *rest = host + n + (host[0] == '[' && host[n] == ']');
    bool port = *rest == ':';
    if (port) {
        size_t digits = strspn(++rest, "0123456789");
        unsigned long number = digits <= 5 ? strtoul(rest, NULL, 10) : 0;
        rest += digits;
        if (number == 0 || number > 65535)
            return false;
    }
    return n > 0 && (scheme != NULL || port) && (*rest == '\0' || *rest == '/');
}

static int url_init(struct api *api, const struct cli_collector *c)
{
    const char *url = or_environment(c->url, "SKEIN_COLLECTOR");
    if (url == NULL)
        url = COLLECTOR_DEFAULT;
    size_t n = strlen(url);
    while (n > 0 && url[n - 1] == '/')
        n--;
    bool scheme = strstr(url, "://") != NULL;
    if (n >= sizeof api->url - sizeof "http://") {
        say_error("--collector: the URL is longer than %zu characters", sizeof api->url);
        return CLI_USAGE;
    }
    if (!is_address(url)) {
        say_error("%s: %s is no collector's address: give http://HOST:PORT, https://HOST or "
                  "HOST:PORT",
                  c->url != NULL && *c->url ? "--collector" : "SKEIN_COLLECTOR", url);
        return CLI_USAGE;
    }
    snprintf(api->url, sizeof api->url, "%s%.*s", scheme ? "" : "http://", (int)n, url);
    api->collector = api->url;
    api->ca_file = or_environment(c->ca_file, "SKEIN_CA");
    if (c->ca_file != NULL && strncasecmp(api->url, "https://", 8) != 0) {
        say_error("--ca is for https, and the collector is %s", api->url);
        return CLI_USAGE;
    }
    return CLI_OK;
}

/* The first line of a file that others may not read. CLI_OK, or CLI_FAILED. */
static int token_read(const char *path, char *out, size_t out_bytes)
{
    struct stat about;
    FILE *file = fopen(path, "re");
    bool good = file != NULL && fstat(fileno(file), &about) == 0;
    if (!good) {
        say_error("--token-file: %s: %s", path, strerror(errno));
    } else if (about.st_mode & 07) {
        say_error("--token-file: %s: everybody on this machine may read it: chmod 600 it", path);
        good = false;
    } else if (fgets(out, (int)out_bytes, file) == NULL) {
        say_error("--token-file: %s: is empty", path);
        good = false;
    }
    if (file != NULL)
        fclose(file);
    out[strcspn(out, "\r\n")] = '\0';
    return good ? CLI_OK : CLI_FAILED;
}

static int token_init(struct api *api, const char *path)
{
    char line[160] = "";
    const char *token = path != NULL ? line : getenv("SKEIN_TOKEN");
    api->authorization[0] = '\0';
    if (path != NULL && token_read(path, line, sizeof line) != CLI_OK)
        return CLI_FAILED;
    if (token == NULL || (!*token && path == NULL))
        return CLI_OK;
    if (!*token || strlen(token) > 128 || strpbrk(token, " \t\r\n") != NULL) {
        say_error("%s is no token: it must be the one word that skeind printed",
                  path != NULL ? path : "SKEIN_TOKEN");
        return CLI_FAILED;
    }
    snprintf(api->authorization, sizeof api->authorization, "Authorization: Bearer %s", token);
    return CLI_OK;
}

int api_init(struct api *api, struct cli_collector collector)
{
    int status = url_init(api, &collector);
    if (status == CLI_OK)
        status = token_init(api, collector.token_file);
    if (status != CLI_OK)
        return status;
    if (http_client_init() != SKEIN_OK) {
        say_error("the HTTP client cannot be initialised: out of memory");
        return CLI_FAILED;
    }
    return CLI_OK;
}

void api_url(const struct api *api, const char *path, struct buf *url)
{
    bool root = path[0] == '!';
    buf_printf(url, "%s%s%s", api->collector, root ? "" : "/api/v1", path + root);
}

void api_segment(struct buf *path, const char *text)
{
    for (; *text; text++) {
        char c = *text;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("-._~", c) != NULL;
        if (plain)
            buf_put_u8(path, (uint8_t)c);
        else
            buf_printf(path, "%%%02X", (unsigned)(uint8_t)c);
    }
}

void api_query(struct buf *path, const char *key, const char *value)
{
    if (value == NULL || !*value)
        return;
    bool first = path->data == NULL || memchr(path->data, '?', path->len) == NULL;
    buf_printf(path, "%c%s=", first ? '?' : '&', key);
    api_segment(path, value);
}

void api_query_time(struct buf *path, const char *key, const struct cli_number *time)
{
    char text[CLOCK_TEXT_BYTES];
    if (!time->given)
        return;
    clock_text(time->value, text);
    api_query(path, key, text);
}

/* The detail of a problem document, or "" */
static void problem_detail(const struct http_response *response, char *detail, size_t bytes)
{
    char error[128];
    detail[0] = '\0';
    cJSON *problem =
        json_parse((const char *)response->body.data, response->body.len, error, sizeof error);
    const char *field = json_text_at(problem, "field");
    const char *words = json_text_at(problem, "detail");
    if (!*words)
        words = json_text_at(problem, "title");
    if (strncmp(words, field, strlen(field)) == 0) /* the sentence names the field itself */
        field = "";
    if (*words)
        snprintf(detail, bytes, "%s%s%s", field, *field ? ": " : "", words);
    cJSON_Delete(problem);
}

int api_say_failure(const struct api *api, int status, const struct http_response *response)
{
    char detail[1024] = "";
    if (status == SKEIN_CLOSED) {
        say_error("no collector at %s (%s). Is skeind running? Another address: --collector URL or "
                  "SKEIN_COLLECTOR",
                  api->collector, response->error);
    } else if (status != SKEIN_OK) {
        /* libcurl's words for every reason not to trust it */
        bool untrusted = strstr(response->error, "certificate") != NULL;
        say_error("collector %s: %s%s", api->collector,
                  response->error[0] ? response->error : skein_status_text(status),
                  untrusted ? ". Whom to trust: --ca FILE or SKEIN_CA" : "");
    } else {
        if (response->body.len)
            problem_detail(response, detail, sizeof detail);
        const char *advice = "";
        if (response->status == 401)
            advice = api->authorization[0] ? ". The token is that of --token-file or SKEIN_TOKEN"
                                           : ". Give one: --token-file or SKEIN_TOKEN";
        say_error("collector %s answers %ld%s%s%s", api->collector, response->status,
                  detail[0] ? ": " : "", detail, advice);
    }
    return status == SKEIN_CLOSED || status == SKEIN_TIMEOUT ? CLI_UNREACHABLE : CLI_FAILED;
}

/* CLI_OK with *answer, or CLI_FAILED after telling why. */
static int answer_parse(const struct api *api, const struct http_response *response, cJSON **answer)
{
    char error[256];
    if (answer == NULL || response->body.len == 0)
        return CLI_OK;
    *answer =
        json_parse((const char *)response->body.data, response->body.len, error, sizeof error);
    if (*answer != NULL)
        return CLI_OK;
    say_error("collector %s answers with something that is no JSON (%s). Is it a skeind?",
              api->collector, error);
    return CLI_FAILED;
}

int api_ask(const struct api *api, const struct api_request *request,
            struct http_response *response)
{
    struct buf url = {0}, text = {0};
    const char *headers[3] = {NULL};
    size_t header_count = 0;
    memset(response, 0, sizeof *response);
    api_url(api, request->path, &url);
    if (api->authorization[0])
        headers[header_count++] = api->authorization;
    if (request->body != NULL) {
        headers[header_count++] = "Content-Type: application/json";
        json_print(request->body, &text);
    }
    struct http_request http = {.method = request->method,
                                .url = text_of(&url),
                                .ca_file = api->ca_file,
                                .headers = headers,
                                .body = request->body != NULL ? text.data : NULL,
                                .body_bytes = text.len,
                                .timeout_ms = request->timeout_ms != 0 ? request->timeout_ms
                                                                       : REQUEST_TIMEOUT_MS,
                                .cancel = request->cancel};
    int status = url.status == SKEIN_OK ? text.status : url.status;
    if (status == SKEIN_OK)
        status = http_request(&http, response);
    buf_fini(&url);
    buf_fini(&text);
    return status;
}

int api_call_with(const struct api *api, const struct api_request *request, cJSON **answer)
{
    struct http_response response;
    int exit_status;
    if (answer != NULL)
        *answer = NULL;
    int status = api_ask(api, request, &response);
    if (status == SKEIN_OK && (response.status < 400 || response.status == request->also_good))
        exit_status = answer_parse(api, &response, answer);
    else
        exit_status = api_say_failure(api, status, &response);
    http_response_fini(&response);
    return exit_status;
}

int api_call(const struct api *api, const char *method, const char *path, const cJSON *body,
             cJSON **answer)
{
    const struct api_request request = {.method = method, .path = path, .body = body};
    return api_call_with(api, &request, answer);
}

/* Moves the page's items to *items and copies its cursor. */
static void page_take(cJSON *page, cJSON *items, char *cursor, size_t cursor_bytes)
{
    cJSON *from = cJSON_GetObjectItemCaseSensitive(page, "items");
    snprintf(cursor, cursor_bytes, "%s", json_text_at(page, "next_cursor"));
    while (cJSON_IsArray(from) && from->child != NULL)
        cJSON_AddItemToArray(items, cJSON_DetachItemViaPointer(from, from->child));
}

int api_list(const struct api *api, const char *path, uint64_t limit, cJSON **items, bool *more)
{
    char cursor[512] = "";
    uint64_t count = 0;
    *more = false;
    *items = cJSON_CreateArray();
    do {
        struct buf page_path = {0};
        char page_limit[24];
        cJSON *page = NULL;
        uint64_t want = limit && limit - count < PAGE ? limit - count : PAGE;
        snprintf(page_limit, sizeof page_limit, "%" PRIu64, want);
        buf_printf(&page_path, "%s", path);
        api_query(&page_path, "limit", page_limit);
        api_query(&page_path, "cursor", cursor);
        int status = api_call(api, "GET", text_of(&page_path), NULL, &page);
        buf_fini(&page_path);
        if (status != CLI_OK || *items == NULL) {
            cJSON_Delete(page);
            cJSON_Delete(*items);
            *items = NULL;
            return status != CLI_OK ? status : CLI_FAILED;
        }
        page_take(page, *items, cursor, sizeof cursor);
        cJSON_Delete(page);
        uint64_t now = (uint64_t)cJSON_GetArraySize(*items);
        if (now == count && *cursor) /* a page without items but with a cursor would never end */
            break;
        count = now;
        *more = *cursor != '\0';
    } while (*cursor && (!limit || count < limit));
    return CLI_OK;
}
