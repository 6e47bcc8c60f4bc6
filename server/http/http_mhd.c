/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP server over libmicrohttpd, which http_mhd*.c alone know: from a connection to a
 * handler; http_mhd_reply.c makes the answers. Owns the listening socket and a pool of poll()
 * threads (epoll stalls at multiples of 128 ready connections). libmicrohttpd's own timeout only
 * sees silence, so http_watch.c holds each connection to a deadline: a request must be whole in
 * time, and an answer must keep moving. A handler never sees a request before its body is whole and
 * within its limit.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "http_field.h"
#include "http_mhd_int.h"
#include "http_tls.h"
#include "json.h"
#include "log.h"
#include "metrics.h"
#include "socket_owner.h"

#define URI_BYTES_MAX    8192u
#define HEADERS_MAX      100u
#define HEADER_BYTES_MAX (24u << 10) /* with the address */
/* More than those bounds, so that it is this server that says what is too much: libmicrohttpd does
 * it in HTML. Pages that no request touches take no memory. */
#define CONNECTION_MEMORY (128u << 10)
#define CONNECTIONS_SPARE 64
#define DISCARD_BYTES_MAX (UINT64_C(8) << 20)
/* Bodies that are kept in memory for anybody: of requests that need no token, and of those that say
 * all in their address. */
#define SMALL_BODY_BYTES (UINT64_C(4) << 10)

/* ---- connections ---- */

static struct http_peer *peer_new(struct http_server *s, int fd, const struct sockaddr *address)
{
    const struct http_whence whence = http_whence_of(address);
    struct http_peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL)
        return NULL;
    peer->door.fd = fd;
    peer->door.tls = s->tls != NULL;
    peer->link = http_watch_add(s->watch, fd, &whence, s->settings.receive_ms * 1000000u);
    if (peer->link != NULL && http_door_open(&peer->door))
        return peer;
    http_watch_remove(s->watch, peer->link);
    free(peer);
    return NULL;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http_server *s = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        const int fd = info != NULL ? info->connect_fd : -1;
        info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        /* Without a peer the request is refused when it comes. */
        *socket_context = fd >= 0 ? peer_new(s, fd, info != NULL ? info->client_addr : NULL) : NULL;
    } else if (*socket_context != NULL) {
        /* libmicrohttpd calls this before it closes the descriptor, so the watchdog never shuts
         * down a descriptor that has become somebody else's, and the door never filters it. */
        struct http_peer *peer = *socket_context;
        http_door_close(&peer->door);
        http_watch_remove(s->watch, peer->link);
        free(peer);
        *socket_context = NULL;
    }
}

/* ---- the request ---- */

const char *http_part(const struct http_exchange *x, unsigned i)
{
    return i < HTTP_PARTS_MAX ? x->match.parts[i] : "";
}

const char *http_query(const struct http_exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *http_header(const struct http_exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

/* Appends each line of the field to the list that is being made. */
struct list_look {
    struct buf *list;
    const char *name;
};

static enum MHD_Result list_field(void *context, enum MHD_ValueKind kind, const char *key,
                                  const char *value)
{
    struct list_look *look = context;
    (void)kind;
    if (value != NULL && strcasecmp(key, look->name) == 0)
        buf_printf(look->list, "%s%s", look->list->len > 0 ? ", " : "", value);
    return MHD_YES;
}

bool http_header_list(struct http_exchange *x, const char *name, const char **list)
{
    *list = NULL;
    if (http_header(x, name) == NULL)
        return true;
    if (x->list_count == HTTP_LISTS_MAX)
        return false;
    struct list_look look = {&x->lists[x->list_count++], name};
    (void)MHD_get_connection_values(x->connection, MHD_HEADER_KIND, list_field, &look);
    buf_put_u8(look.list, 0);
    if (look.list->status == SKEIN_OK)
        *list = (const char *)look.list->data;
    return *list != NULL;
}

struct cookie_look {
    struct http_cookie cookie;
    const char *name;
};

static enum MHD_Result cookie_field(void *context, enum MHD_ValueKind kind, const char *key,
                                    const char *value)
{
    struct cookie_look *look = context;
    (void)kind;
    if (value != NULL && strcasecmp(key, "Cookie") == 0)
        http_cookie_look(&look->cookie, value, look->name);
    return MHD_YES;
}

const char *http_cookie(const struct http_exchange *x, const char *name, size_t *n)
{
    struct cookie_look look = {.name = name};
    (void)MHD_get_connection_values(x->connection, MHD_HEADER_KIND, cookie_field, &look);
    *n = look.cookie.n;
    return look.cookie.value;
}

const struct principal *http_principal(const struct http_exchange *x)
{
    return &x->principal;
}

const char *http_address(const struct http_exchange *x)
{
    return x->address;
}

int http_user(const struct http_exchange *x, uint32_t *uid)
{
    return socket_owner_of(x->peer != NULL ? x->peer->door.fd : -1, uid);
}

const char *http_path(const struct http_exchange *x)
{
    return x->path;
}

void *http_context(const struct http_exchange *x)
{
    return x->server->context;
}

const char *http_request_id(const struct http_exchange *x)
{
    return x->request_id;
}

/* With parameters or without. */
static bool is_type(const char *given, const char *type)
{
    size_t n = strlen(type);
    return strncasecmp(given, type, n) == 0 &&
           (given[n] == '\0' || strchr("; \t", given[n]) != NULL);
}

cJSON *http_body_json(struct http_exchange *x)
{
    const char *type = http_header(x, "Content-Type");
    bool patch = strcmp(x->method, "PATCH") == 0;
    if (type == NULL || !(is_type(type, "application/json") ||
                          (patch && is_type(type, "application/merge-patch+json")))) {
        http_problem(x, 415, "Content-Type", "the body must be application/json");
        return NULL;
    }
    char error[256];
    cJSON *json = json_parse((const char *)x->body.data, x->body.len, error, sizeof error);
    if (json == NULL) {
        http_problem(x, 400, NULL, "the body is no JSON: %s", error);
        return NULL;
    }
    if (!cJSON_IsObject(json)) {
        cJSON_Delete(json);
        http_problem(x, 400, NULL, "the body must be a JSON object");
        return NULL;
    }
    return json;
}

/* ---- from request to answer ---- */

/* Whether this is the request at which the framing filter has brought the connection to its end. */
static bool is_cut(const struct http_exchange *x)
{
    const struct http_framing *f = &x->peer->door.framing;
    return f->cut && f->request == x->number;
}

/* False after an answer to a request whose end, or whose sender, is a matter of opinion. */
static bool is_plain(struct http_exchange *x)
{
    const char *wrong = is_cut(x) ? x->peer->door.framing.wrong : NULL;
    if (wrong == NULL && x->nul_in_uri)
        wrong = "its address holds a NUL";
    if (wrong == NULL)
        return true;
    metrics_add(http_ambiguous_total, 1);
    http_problem_of(x, PROBLEM_AMBIGUOUS, NULL, "ambiguous request: %s", wrong);
    return false;
}

static enum MHD_Result answer_send(struct http_exchange *x)
{
    if (x->response == NULL)
        http_problem(x, 500, NULL, "the collector could not build an answer; its log says why");
    if (x->response == NULL)
        return MHD_NO; /* not even memory for that: the connection closes */
    metrics_add_at(http_requests_total, x->status < METRICS_HTTP_CODES ? x->status : 0, 1);
    struct http_access access = {x->method, x->path, x->address, x->principal.name, x->status};
    http_access_log(&access);
    http_watch_deadline(x->server->watch, x->link, ANSWER_STEP_NS);
    http_watch_answering(x->server->watch, x->link, true);
    /* Nothing behind it is believed. */
    if (is_cut(x) || x->nul_in_uri)
        MHD_add_response_header(x->response, MHD_HTTP_HEADER_CONNECTION, "close");
    return MHD_queue_response(x->connection, x->status, x->response);
}

/* The largest body that its route reads. */
static uint64_t body_most(const struct http_exchange *x)
{
    const struct http_route *route = x->match.route;
    uint64_t most = x->server->settings.max_body_bytes;
    bool small = route->scope == HTTP_PUBLIC || strcmp(route->method, "GET") == 0;
    return small && most > SMALL_BODY_BYTES ? SMALL_BODY_BYTES : most;
}

struct query_check {
    const char *names; /* "from, to" */
    char unknown[64];
};

static enum MHD_Result parameter_check(void *context, enum MHD_ValueKind kind, const char *key,
                                       const char *value)
{
    (void)kind;
    (void)value;
    struct query_check *check = context;
    for (const char *at = check->names; *at != '\0'; at += strspn(at, ", ")) {
        size_t n = strcspn(at, ",");
        if (n == strlen(key) && memcmp(at, key, n) == 0)
            return MHD_YES;
        at += n;
    }
    snprintf(check->unknown, sizeof check->unknown, "%s", key);
    return MHD_NO;
}

/* False: the query has a parameter that the route does not know, and a 400 was given. */
static bool query_is_known(struct http_exchange *x)
{
    struct query_check check = {.names = x->match.route->parameters};
    if (check.names == NULL)
        return true;
    MHD_get_connection_values(x->connection, MHD_GET_ARGUMENT_KIND, parameter_check, &check);
    if (check.unknown[0] != '\0')
        http_problem(x, 400, check.unknown, "unknown parameter; known are: %s", check.names);
    return check.unknown[0] == '\0';
}

static void request_dispatch(struct http_exchange *x)
{
    x->dispatched = true;
    /* It is here: the time to arrive is over, that to answer begins. */
    http_watch_deadline(x->server->watch, x->link, ANSWER_STEP_NS);
    if (!is_plain(x)) /* its body; the head has been looked at */
        return;
    if (x->body_too_large)
        http_problem(x, 413, NULL, "the body is above the limit of %" PRIu64 " bytes",
                     body_most(x));
    else if (query_is_known(x))
        x->match.route->fn(x->server->context, x);
}

/* Whether the request may go on; else it is answered, here at the latest. */
static bool request_authorize(struct http_exchange *x)
{
    struct http_server *s = x->server;
    const struct http_route *route = x->match.route;
    if (s->settings.authorize == NULL) {
        x->principal = (struct principal){.name = "local", .scope = HTTP_ADMIN};
    } else if (!s->settings.authorize(s->context, x, route, &x->principal, &x->selector)) {
        if (x->response == NULL)
            http_problem(x, 500, NULL, "the collector could not tell who asks");
        return false;
    }
    x->principal.selector = x->selector;
    if (route->scope < HTTP_PUBLIC || x->principal.scope < route->scope) {
        http_problem_of(x, PROBLEM_SCOPE, NULL, "this needs a token of a larger scope");
        return false;
    }
    return true;
}

/* False after an answer to a request that is larger than any that is meant. */
static bool has_bounds(struct http_exchange *x)
{
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    bool is_long = size == NULL || size->header_size > HEADER_BYTES_MAX ||
                   (is_cut(x) && x->peer->door.framing.wrong == NULL);
    if (x->uri_bytes > URI_BYTES_MAX)
        http_problem(x, 414, NULL, "the address is longer than %u bytes", URI_BYTES_MAX);
    else if (MHD_get_connection_values(x->connection, MHD_HEADER_KIND, NULL, NULL) >
             (int)HEADERS_MAX)
        http_problem(x, 431, NULL, "the header has more than %u lines", HEADERS_MAX);
    else if (is_long)
        http_problem(x, 431, NULL, "the header is longer than %u bytes", HEADER_BYTES_MAX);
    else
        return true;
    return false;
}

static bool is_unknown(const struct http_match *match)
{
    return match->route == NULL && match->allow[0] == '\0';
}

/* What can be said before the body is read: then it need not be. */
static void exchange_refuse_early(struct http_exchange *x, const char *path)
{
    const char *length = http_header(x, "Content-Length");
    if (!has_bounds(x) || !is_plain(x))
        return;
    http_route_find(x->server->routes, x->method, path, &x->match);
    if (is_unknown(&x->match) && x->server->settings.pages != NULL)
        http_route_find(x->server->settings.pages, x->method, path, &x->match);
    if (is_unknown(&x->match)) {
        http_problem_of(x, PROBLEM_NO_PATH, NULL, "no such path: %.200s", path);
    } else if (x->match.route == NULL) {
        http_add_header(x, "Allow", x->match.allow);
        http_problem(x, 405, NULL, "this path answers %s", x->match.allow);
    } else if (!request_authorize(x)) {
        /* answered */
    } else if (length != NULL && strtoull(length, NULL, 10) > body_most(x) + DISCARD_BYTES_MAX) {
        /* Somewhat too large a body is read and thrown away, because a client that is cut off while
         * it sends seldom reads the answer. */
        x->body_too_large = true;
        request_dispatch(x);
    }
}

static void exchange_begin(struct http_exchange *x, struct MHD_Connection *connection,
                           const char *path, const char *method)
{
    x->connection = connection;
    x->method = method;
    x->path = path;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    x->peer = info != NULL ? info->socket_context : NULL;
    x->link = x->peer != NULL ? x->peer->link : NULL;
    http_watch_asking(x->server->watch, x->link, true);
    x->number = x->peer != NULL ? ++x->peer->requests : 0;
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    http_address_text(info != NULL ? info->client_addr : NULL, x->address);
    http_request_id_make(http_header(x, "X-Request-Id"), x->request_id);
}

/* What the library read past the filter, in whatever way it has learnt to, is not believed. */
static bool came_by_door(const struct http_exchange *x)
{
    if (x->peer->door.framing.request >= x->number)
        return true;
    log_error("http", "a request came past the framing filter and is refused", NULL);
    return false;
}

/* One step of a request: its head, a part of its body, or the end of that. */
static enum MHD_Result request_go_on(struct http_exchange *x, const char *path, const char *upload,
                                     size_t *upload_bytes)
{
    if (!x->begun) {
        x->begun = true;
        if (x->link == NULL || !came_by_door(x))
            return MHD_NO;
        http_watch_deadline(x->server->watch, x->link, x->server->settings.receive_ms * 1000000u);
        exchange_refuse_early(x, path);
        return x->response != NULL ? answer_send(x) : MHD_YES;
    }
    if (*upload_bytes > 0) {
        x->body_received += *upload_bytes;
        if (x->body_received > body_most(x)) {
            x->body_too_large = true;
            buf_fini(&x->body);
            if (x->body_received > body_most(x) + DISCARD_BYTES_MAX)
                return MHD_NO;
        } else {
            buf_put(&x->body, upload, *upload_bytes);
        }
        *upload_bytes = 0;
        return x->body.status == SKEIN_OK ? MHD_YES : MHD_NO;
    }
    if (!x->dispatched)
        request_dispatch(x);
    return http_aside_runs(x) ? MHD_YES : answer_send(x);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_bytes, void **request)
{
    (void)context;
    (void)version;
    struct http_exchange *x = *request;
    if (x == NULL)
        return MHD_NO;
    if (!x->begun)
        exchange_begin(x, connection, path, method);
    log_set_request(x->request_id);
    enum MHD_Result result = request_go_on(x, path, upload, upload_bytes);
    log_set_request(NULL);
    return result;
}

/* The first that is heard of a request; what it returns becomes on_request's *request. */
static void *on_uri(void *context, const char *uri, struct MHD_Connection *connection)
{
    (void)connection;
    struct http_exchange *x = calloc(1, sizeof *x);
    if (x != NULL) {
        x->server = context;
        x->uri_bytes = strlen(uri);
        x->nul_in_uri = strstr(uri, "%00") != NULL; /* unescaped, it would hide what follows */
    }
    return x;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **request,
                         enum MHD_RequestTerminationCode code)
{
    struct http_server *s = context;
    (void)connection;
    (void)code;
    struct http_exchange *x = *request;
    *request = NULL;
    if (x == NULL)
        return;
    http_watch_answering(s->watch, x->link, false);
    http_watch_asking(s->watch, x->link, false);
    /* The next request on this connection: time to sit idle, then to arrive. */
    http_watch_deadline(s->watch, x->link,
                        (s->settings.idle_ms + s->settings.receive_ms) * 1000000u);
    for (size_t i = 0; i < x->header_count; i++)
        free(x->headers[i].value);
    if (x->response != NULL)
        MHD_destroy_response(x->response);
    for (size_t i = 0; i < x->list_count; i++)
        buf_fini(&x->lists[i]);
    buf_fini(&x->body);
    selector_free(&x->selector);
    free(x);
}

/* ---- start and stop ---- */

static void daemon_start(struct http_server *s)
{
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_LISTEN_SOCKET, s->listen_fd, NULL},
        {MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)s->settings.threads, NULL},
        /* http_watch.c holds them to their number; this is more, for those that it has shut down
         * and that are not closed yet, on whichever thread they are. */
        {MHD_OPTION_CONNECTION_LIMIT,
         (intptr_t)((s->settings.max_connections + CONNECTIONS_SPARE) * s->settings.threads), NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)((s->settings.idle_ms + 999) / 1000), NULL},
        {MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
        {MHD_OPTION_END, 0, NULL}};
    unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME;
    bool tls = s->tls != NULL;
    s->daemon = MHD_start_daemon(
        flags | (tls ? (unsigned)MHD_USE_TLS : 0), 0, NULL, NULL, on_request, s,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, s, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_ARRAY, options,
        /* the rest is for TLS alone */
        tls ? MHD_OPTION_HTTPS_PRIORITIES : MHD_OPTION_END, HTTP_TLS_PRIORITIES,
        MHD_OPTION_HTTPS_CERT_CALLBACK2, http_tls_retrieve(), MHD_OPTION_END);
}

static void request_look(void *context)
{
    struct http_server *s = context;
    http_lives_look(s->lives, s->settings.still, s->context);
}

/* Of the whole process: blocks of downloads, and partitions in memory, go back to the system when
 * they are freed. By itself the C library keeps blocks of a size that it has once seen freed. */
static void memory_keep_low(void)
{
    mallopt(M_MMAP_THRESHOLD, (int)HTTP_BLOCK_BYTES);
    mallopt(M_TRIM_THRESHOLD, (int)HTTP_BLOCK_BYTES);
}

int http_start(const struct http_settings *settings, const struct http_route *routes, void *context,
               struct http_server **out, char *error, size_t error_bytes)
{
    *out = NULL;
    struct http_server *s = calloc(1, sizeof *s);
    if (s == NULL)
        return SKEIN_NO_MEMORY;
    s->settings = *settings;
    s->routes = routes;
    s->context = context;
    s->listen_fd = -1;
    memory_keep_low();
    int status = SKEIN_OK;
    if (settings->tls_certificate != NULL)
        status =
            http_tls_new(settings->tls_certificate, settings->tls_key, &s->tls, error, error_bytes);
    if (status == SKEIN_OK)
        status = http_listen(settings->address, &s->listen_fd, &s->port, error, error_bytes);
    if (status == SKEIN_OK &&
        ((s->lives = http_lives_new()) == NULL || (s->asides = http_asides_new()) == NULL)) {
        snprintf(error, error_bytes, "%s", skein_status_text(SKEIN_NO_MEMORY));
        status = SKEIN_NO_MEMORY;
    } else if (status == SKEIN_OK && (s->watch = http_watch_start(settings->max_connections,
                                                                  settings->max_connections_per_ip,
                                                                  request_look, s)) == NULL) {
        snprintf(error, error_bytes, "no thread for the HTTP watchdog");
        status = SKEIN_IO;
    } else if (status == SKEIN_OK) {
        daemon_start(s);
        if (s->daemon == NULL) {
            snprintf(error, error_bytes, "\"%s\": the HTTP server does not start",
                     settings->address);
            status = SKEIN_IO;
        }
    }
    *out = s;
    if (status != SKEIN_OK)
        http_stop(out);
    return status;
}

int http_reload(struct http_server *server, char *error, size_t error_bytes)
{
    return server->tls != NULL ? http_tls_reload(server->tls, error, error_bytes) : SKEIN_OK;
}

void http_stop(struct http_server **server)
{
    struct http_server *s = *server;
    if (s == NULL)
        return;
    if (s->daemon != NULL)
        MHD_quiesce_daemon(s->daemon);
    __atomic_store_n(&s->stopping, true, __ATOMIC_RELAXED);
    if (s->lives != NULL)
        http_lives_stop(s->lives);
    if (s->asides != NULL)
        http_asides_wait(s->asides);
    if (s->watch != NULL)
        http_watch_wait(s->watch, s->settings.drain_ms);
    if (s->daemon != NULL)
        MHD_stop_daemon(s->daemon);
    http_watch_stop(&s->watch); /* after the daemon: its connections are links */
    http_tls_free(&s->tls);
    http_lives_free(&s->lives);
    http_asides_free(&s->asides);
    if (s->listen_fd >= 0)
        close(s->listen_fd);
    free(s);
    *server = NULL;
}

unsigned http_port(const struct http_server *server)
{
    return server->port;
}
