/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue of notices and the thread that delivers them; see notify.h.
 *
 * One lock guards the lists. No thread holds it while it waits for the database or a receiver, so
 * the control thread may take it at any time. Only the delivering thread deletes rows: after a
 * delivery, or when somebody else has put a dropped notice on `gone`.
 */
#include "notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "http_client.h"
#include "json.h"
#include "log.h"
#include "metrics.h"
#include "own_thread.h"

#define TIMEOUT_MS    5000u
#define BACKOFF_NS    UINT64_C(1000000000) /* after a failure; each further one doubles it */
#define BACKOFF_TIMES 8u                   /* up to 256 s */
#define ANSWER_MAX    (64u << 10)
#define HEADERS_MAX   24u

struct notice {
    struct notice *next;
    uint64_t turn, created_ns;
    uint64_t keep_until_ns; /* monotonic */
    char id[ID_TEXT_BYTES];
    char *body;
    enum save_state save;
};

/* One rule's receiver. */
struct receiver {
    struct receiver *next;
    char rule[64];
    cJSON *webhook; /* NULL: nobody takes them */
    struct notice *first;
    size_t pending;
    unsigned failures; /* in a row */
    uint64_t due_ns;   /* monotonic: not before */
    uint64_t delivered, dropped, delivered_ns, failed_ns;
    char error[256]; /* of the last failure; "" after a delivery */
};

struct notify {
    struct catalog *catalog;
    struct own_thread thread; /* with the one lock */
    struct receiver *receivers;
    struct notice *gone; /* notices whose rows are still to be deleted */
    uint64_t turn;
};

static void notice_free(struct notice *notice)
{
    free(notice->body);
    free(notice);
}

static struct receiver *notify_find(struct notify *n, const char *rule)
{
    struct receiver *r = n->receivers;
    while (r != NULL && strcmp(r->rule, rule) != 0)
        r = r->next;
    return r;
}

static struct receiver *receiver_find_or_add(struct notify *n, const char *rule)
{
    struct receiver *r = notify_find(n, rule);
    if (r != NULL)
        return r;
    r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    snprintf(r->rule, sizeof r->rule, "%s", rule);
    r->next = n->receivers;
    n->receivers = r;
    return r;
}

/* ---- the queue; locked ---- */

static void notify_append(struct receiver *r, struct notice *notice)
{
    struct notice **at = &r->first;
    while (*at != NULL)
        at = &(*at)->next;
    *at = notice;
    r->pending++;
}

static struct notice *notice_take_first(struct receiver *r)
{
    struct notice *notice = r->first;
    r->first = notice->next;
    r->pending--;
    return notice;
}

/* Drops the oldest notice. */
static void notice_drop_first(struct notify *n, struct receiver *r)
{
    struct notice *notice = notice_take_first(r);
    r->dropped++;
    metrics_add(notices_dropped_total, 1);
    if (notice->save == SAVE_CHANGED) {
        notice_free(notice);
        return;
    }
    notice->next = n->gone;
    n->gone = notice;
}

static void receivers_drop(struct notify *n, struct receiver *r)
{
    while (r->first != NULL)
        notice_drop_first(n, r);
}

int notify_rule_set(struct notify *n, const char *rule, const cJSON *webhook)
{
    cJSON *copy = webhook != NULL ? cJSON_Duplicate(webhook, true) : NULL;
    if (webhook != NULL && copy == NULL)
        return SKEIN_NO_MEMORY;
    pthread_mutex_lock(&n->thread.lock);
    struct receiver *r = copy != NULL ? receiver_find_or_add(n, rule) : notify_find(n, rule);
    if (r == NULL) {
        pthread_mutex_unlock(&n->thread.lock);
        cJSON_Delete(copy);
        return copy != NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
    }
    cJSON_Delete(r->webhook);
    r->webhook = copy;
    r->failures = 0;
    r->due_ns = 0;
    if (copy == NULL) {
        receivers_drop(n, r);
        r->delivered = r->dropped = r->delivered_ns = r->failed_ns = 0;
        r->error[0] = '\0';
    }
    pthread_cond_broadcast(&n->thread.changed);
    pthread_mutex_unlock(&n->thread.lock);
    return SKEIN_OK;
}

static struct notice *notice_new(const char *rule, const char *event, const char *key,
                                 cJSON *member)
{
    struct notice *notice = calloc(1, sizeof *notice);
    struct buf text = {0};
    cJSON *json = cJSON_CreateObject();
    struct capture_id random = capture_id_new();
    if (notice != NULL) {
        id_text(random.bytes, notice->id);
        notice->created_ns = clock_realtime_ns();
        notice->keep_until_ns = clock_monotonic_ns() + NOTIFY_KEEP_NS;
        cJSON_AddStringToObject(json, "id", notice->id);
        cJSON_AddStringToObject(json, "event", event);
        json_add_time(json, "time", notice->created_ns);
        cJSON_AddStringToObject(json, "rule", rule);
        cJSON_AddItemToObject(json, key, member);
        member = NULL;
        json_print(json, &text);
        buf_put_u8(&text, 0);
        notice->body = (char *)text.data;
    }
    cJSON_Delete(json);
    cJSON_Delete(member);
    if (notice == NULL || text.status == SKEIN_OK)
        return notice;
    buf_fini(&text);
    free(notice);
    return NULL;
}

bool notify_add(struct notify *n, const char *rule, const char *event, const char *key,
                cJSON *member)
{
    pthread_mutex_lock(&n->thread.lock);
    struct receiver *r = notify_find(n, rule);
    if (r == NULL || r->webhook == NULL) {
        pthread_mutex_unlock(&n->thread.lock);
        cJSON_Delete(member);
        return false;
    }
    struct notice *notice = notice_new(rule, event, key, member);
    if (notice == NULL) {
        r->dropped++;
        metrics_add(notices_dropped_total, 1);
    } else {
        if (r->pending == NOTIFY_PENDING_MAX)
            notice_drop_first(n, r);
        notice->turn = n->turn++;
        saving_mark(&notice->save);
        notify_append(r, notice);
    }
    pthread_mutex_unlock(&n->thread.lock);
    return notice != NULL;
}

/* ---- rows ---- */

void notify_save(struct notify *n)
{
    pthread_mutex_lock(&n->thread.lock);
    for (struct receiver *r = n->receivers; r != NULL; r = r->next)
        for (struct notice *p = r->first; p != NULL; p = p->next) {
            struct catalog_notice row = {p->turn, p->created_ns, p->id, r->rule, p->body};
            if (saving_take(&p->save))
                catalog_put_notice(n->catalog, &row);
        }
    pthread_mutex_unlock(&n->thread.lock);
}

void notify_saved(struct notify *n, bool ok)
{
    pthread_mutex_lock(&n->thread.lock);
    for (struct receiver *r = n->receivers; r != NULL; r = r->next)
        for (struct notice *p = r->first; p != NULL; p = p->next)
            saving_end(&p->save, ok);
    pthread_cond_broadcast(&n->thread.changed);
    pthread_mutex_unlock(&n->thread.lock);
}

/* Of one that an earlier run has made, of which the clock is all that is known. */
static uint64_t kept_until(uint64_t created_ns)
{
    const uint64_t now_ns = clock_realtime_ns();
    const uint64_t age_ns = now_ns > created_ns ? now_ns - created_ns : 0;
    return clock_monotonic_ns() + (age_ns < NOTIFY_KEEP_NS ? NOTIFY_KEEP_NS - age_ns : 0);
}

static int row_load(void *context, const struct catalog_notice *row)
{
    struct notify *n = context;
    struct receiver *r = receiver_find_or_add(n, row->rule);
    struct notice *notice = r != NULL ? calloc(1, sizeof *notice) : NULL;
    char *body = notice != NULL ? strdup(row->body) : NULL;
    if (body == NULL) {
        free(notice);
        return 1;
    }
    notice->turn = row->turn;
    notice->created_ns = row->created_ns;
    notice->keep_until_ns = kept_until(row->created_ns);
    snprintf(notice->id, sizeof notice->id, "%s", row->id);
    notice->body = body;
    notify_append(r, notice);
    n->turn = row->turn + 1;
    return 0;
}

/* ---- delivery: the thread ---- */

/* Deletes the rows of dropped notices. Called locked; lets go of the lock for each row. */
static void notify_sweep(struct notify *n)
{
    while (n->gone != NULL) {
        struct notice *notice = n->gone;
        n->gone = notice->next;
        pthread_mutex_unlock(&n->thread.lock);
        /* If the row stays, the notice comes again after a restart: at least once. */
        (void)catalog_drop_notice(n->catalog, notice->turn);
        notice_free(notice);
        pthread_mutex_lock(&n->thread.lock);
    }
}

/* The due receiver that has waited longest; NULL: none, and *wait_ns says how long to wait.
 * Locked. */
static struct receiver *notify_pick(struct notify *n, uint64_t *wait_ns)
{
    struct receiver *first = NULL;
    uint64_t now_ns = clock_monotonic_ns();
    *wait_ns = UINT64_MAX;
    for (struct receiver *r = n->receivers; r != NULL; r = r->next) {
        while (r->first != NULL && r->first->save == SAVE_NOTHING &&
               r->first->keep_until_ns < now_ns)
            notice_drop_first(n, r);
        if (r->webhook == NULL || r->first == NULL || r->first->save != SAVE_NOTHING)
            continue;
        if (r->due_ns > now_ns)
            *wait_ns = r->due_ns < *wait_ns ? r->due_ns : *wait_ns;
        else if (first == NULL || r->due_ns < first->due_ns)
            first = r;
    }
    return first;
}

/* Sends one request. Not locked: everything passed belongs to the thread. */
static int notify_post(struct notify *n, const cJSON *webhook, const struct notice *notice,
                       char *error, size_t error_bytes)
{
    char id[64];
    const char *headers[HEADERS_MAX + 1] = {"Content-Type: application/json", id};
    size_t count = 2;
    struct buf texts[HEADERS_MAX] = {{0}};
    struct http_response response;
    const cJSON *url = cJSON_GetObjectItemCaseSensitive(webhook, "url"), *header;
    snprintf(id, sizeof id, "Skein-Notice: %s", notice->id);
    cJSON_ArrayForEach(header, cJSON_GetObjectItemCaseSensitive(webhook, "headers")) {
        if (count == HEADERS_MAX)
            break; /* rule_check lets fewer in */
        buf_printf(&texts[count], "%s: %s", header->string, header->valuestring);
        buf_put_u8(&texts[count], 0);
        headers[count] = (const char *)texts[count].data;
        count += texts[count].status == SKEIN_OK;
    }
    headers[count] = NULL;
    struct http_request request = {.method = "POST",
                                   .url = url->valuestring,
                                   .headers = headers,
                                   .body = notice->body,
                                   .body_bytes = strlen(notice->body),
                                   .timeout_ms = TIMEOUT_MS,
                                   .max_body_bytes = ANSWER_MAX,
                                   .cancel = &n->thread.stopping};
    int status = http_request(&request, &response);
    if (status != SKEIN_OK)
        snprintf(error, error_bytes, "%s", response.error);
    else if (response.status < 200 || response.status > 299) {
        snprintf(error, error_bytes, "the receiver answered with status %ld", response.status);
        status = SKEIN_REFUSED;
    }
    http_response_fini(&response);
    for (size_t i = 0; i < HEADERS_MAX; i++)
        buf_fini(&texts[i]);
    return status;
}

static void failure_take(struct receiver *r, const char *error)
{
    unsigned times = r->failures < BACKOFF_TIMES ? r->failures : BACKOFF_TIMES;
    if (r->failures++ == 0)
        log_warn("notify", "a receiver does not take notices; they are tried again", "rule",
                 r->rule, "error", error, NULL);
    snprintf(r->error, sizeof r->error, "%s", error);
    r->failed_ns = clock_realtime_ns();
    r->due_ns = clock_monotonic_ns() + (BACKOFF_NS << times);
    metrics_add(notices_failed_total, 1);
}

static void delivery_take(struct notify *n, struct receiver *r, uint64_t turn)
{
    if (r->failures > 0)
        log_info("notify", "the receiver takes notices again", "rule", r->rule, NULL);
    r->failures = 0;
    r->error[0] = '\0';
    r->delivered++;
    r->delivered_ns = clock_realtime_ns();
    r->due_ns = clock_monotonic_ns();
    metrics_add(notices_delivered_total, 1);
    if (r->first == NULL || r->first->turn != turn)
        return; /* given up meanwhile: its row goes by itself */
    struct notice *notice = notice_take_first(r);
    notice->next = n->gone;
    n->gone = notice;
}

/* Called locked; lets go of the lock while it waits for the receiver. */
static void notify_deliver(struct notify *n, struct receiver *r)
{
    char error[256] = "out of memory";
    struct notice copy = *r->first;
    cJSON *webhook = cJSON_Duplicate(r->webhook, true);
    copy.body = strdup(copy.body);
    pthread_mutex_unlock(&n->thread.lock);
    int status = webhook != NULL && copy.body != NULL
                     ? notify_post(n, webhook, &copy, error, sizeof error)
                     : SKEIN_NO_MEMORY;
    cJSON_Delete(webhook);
    free(copy.body);
    pthread_mutex_lock(&n->thread.lock);
    if (status == SKEIN_OK)
        delivery_take(n, r, copy.turn);
    else if (!own_thread_is_stopping(&n->thread))
        failure_take(r, error);
}

static void *notify_run(void *context)
{
    struct notify *n = context;
    uint64_t wait_ns;
    pthread_mutex_lock(&n->thread.lock);
    for (;;) {
        notify_sweep(n);
        if (own_thread_is_stopping(&n->thread))
            break;
        struct receiver *r = notify_pick(n, &wait_ns);
        if (r != NULL)
            notify_deliver(n, r);
        else if (n->gone == NULL)
            (void)own_thread_wait(&n->thread, wait_ns);
    }
    pthread_mutex_unlock(&n->thread.lock);
    return NULL;
}

/* ---- state ---- */

cJSON *notify_state(struct notify *n, const char *rule)
{
    cJSON *json = NULL;
    pthread_mutex_lock(&n->thread.lock);
    const struct receiver *r = notify_find(n, rule);
    if (r != NULL && r->webhook != NULL) {
        json = cJSON_CreateObject();
        json_add_u64(json, "pending", r->pending);
        json_add_u64(json, "delivered", r->delivered);
        json_add_u64(json, "dropped", r->dropped);
        if (r->delivered_ns != 0)
            json_add_time(json, "last_delivery", r->delivered_ns);
        if (r->failed_ns != 0)
            json_add_time(json, "last_failure", r->failed_ns);
        if (r->error[0] != '\0')
            cJSON_AddStringToObject(json, "last_error", r->error);
    }
    pthread_mutex_unlock(&n->thread.lock);
    return json;
}

/* ---- life ---- */

int notify_new(struct catalog *catalog, struct notify **out)
{
    struct notify *n = calloc(1, sizeof *n);
    *out = NULL;
    if (n == NULL)
        return SKEIN_NO_MEMORY;
    own_thread_init(&n->thread);
    n->catalog = catalog;
    int status = http_client_init();
    int64_t rows = status == SKEIN_OK ? catalog_notices(catalog, row_load, n) : status;
    size_t loaded = 0;
    for (const struct receiver *r = n->receivers; r != NULL; r = r->next)
        loaded += r->pending;
    if (rows >= 0 && (size_t)rows != loaded)
        rows = SKEIN_NO_MEMORY;
    *out = n;
    if (rows < 0)
        notify_free(out);
    return rows < 0 ? (int)rows : SKEIN_OK;
}

int notify_start(struct notify *n)
{
    pthread_mutex_lock(&n->thread.lock);
    for (struct receiver *r = n->receivers; r != NULL; r = r->next)
        if (r->webhook == NULL)
            receivers_drop(n, r);
    pthread_mutex_unlock(&n->thread.lock);
    return own_thread_start(&n->thread, notify_run, n);
}

static void list_free(struct notice *list)
{
    while (list != NULL) {
        struct notice *next = list->next;
        notice_free(list);
        list = next;
    }
}

void notify_free(struct notify **notify)
{
    struct notify *n = *notify;
    if (n == NULL)
        return;
    own_thread_end(&n->thread);
    while (n->receivers != NULL) {
        struct receiver *r = n->receivers;
        n->receivers = r->next;
        list_free(r->first);
        cJSON_Delete(r->webhook);
        free(r);
    }
    list_free(n->gone);
    free(n);
    *notify = NULL;
}
