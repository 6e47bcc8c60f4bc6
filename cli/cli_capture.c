/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures as the collector tells of them. One thread; waiting asks the collector again, first
 * often, then every half second.
 */
#include "cli_capture.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "cli_gaps.h"
#include "cli_progress.h"
#include "cli_resource.h"
#include "cli_trace.h"
#include "clock.h"
#include "event_groups.h"
#include "evidence_kinds.h"

#define ASK_FIRST_NS UINT64_C(20000000)
#define ASK_MOST_NS  UINT64_C(500000000)

void capture_link(const struct api *api, cJSON *capture)
{
    struct buf path = {0}, url = {0};
    if (!cJSON_IsObject(capture) || cJSON_HasObjectItem(capture, "url"))
        return;
    buf_printf(&path, "!/captures/");
    api_segment(&path, json_text_at(capture, "capture"));
    api_url(api, text_of(&path), &url);
    cJSON_AddStringToObject(capture, "url", text_of(&url));
    buf_fini(&path);
    buf_fini(&url);
}

int capture_get(const struct api *api, const char *id, cJSON **capture)
{
    static const struct resource captures = {.noun = "capture", .folder = "/captures"};
    int status = resource_get(api, &captures, id, "", capture);
    if (status == CLI_OK)
        capture_link(api, *capture);
    return status;
}

int capture_time_query(struct buf *path, const char *command, const char *name, const char *text,
                       const cJSON *capture)
{
    struct trace_bounds bounds = {0, 0};
    char number[32];
    uint64_t ns;
    if (text == NULL)
        return CLI_OK;
    (void)clock_parse(json_text_at(capture, "window.from"), &bounds.from_ns);
    (void)clock_parse(json_text_at(capture, "window.to"), &bounds.to_ns);
    if (trace_time_parse(text, &bounds, &ns) != SKEIN_OK) {
        say_error("%s: --%s %s: must be " TRACE_TIME_WANTED, command, name, text);
        return CLI_USAGE;
    }
    snprintf(number, sizeof number, "%" PRIu64, ns);
    api_query(path, name, number);
    return CLI_OK;
}

bool capture_running(const cJSON *capture)
{
    return strcmp(json_text_at(capture, "status"), "running") == 0;
}

/* ---- showing ---- */

static void field_put(struct buf *out, const char *title, const char *text)
{
    if (!*text)
        return;
    buf_printf(out, "%-10s ", title);
    shown_put_between(out, "", text, "\n");
}

static bool is_bound(const cJSON *ledger, const char *reason)
{
    const cJSON *bound;
    cJSON_ArrayForEach(bound, json_at(ledger, "at_most")) {
        if (cJSON_IsString(bound) && strcmp(bound->valuestring, reason) == 0)
            return true;
    }
    return false;
}

static void capture_losses_put(struct buf *out, const cJSON *ledger)
{
    const cJSON *reason, *reasons = json_at(ledger, "reasons");
    cJSON_ArrayForEach(reason, reasons) {
        if (reason->string != NULL && cJSON_IsNumber(reason) && reason->valuedouble > 0) {
            buf_printf(out, "%-10s %s%.0f events: ", "lost",
                       is_bound(ledger, reason->string) ? "at most " : "", reason->valuedouble);
            shown_put_between(out, "", reason->string, "\n");
        }
    }
}

static void groups_put(struct buf *out, const cJSON *capture)
{
    uint64_t groups = event_groups_get(&(struct json_reader){{0}}, capture, "groups");
    if (groups == 0)
        return;
    buf_printf(out, "%-10s ", "groups");
    event_groups_put(out, groups);
    buf_printf(out, " are shown; all are stored\n");
}

/* What agents were asked for; nothing where it is the usual. */
static void wish_put(struct buf *out, const cJSON *capture)
{
    struct evidence_wish wish;
    evidence_wish_told(&(struct json_reader){{0}}, capture, "", false, &wish);
    if (!wish.only && wish.kinds == 0)
        return;
    buf_printf(out, "%-10s ", "asked for");
    if (wish.only)
        evidence_kinds_put(out, wish.kinds);
    else
        buf_printf(out, "threads, too");
    buf_printf(out, "\n");
}

static void summary_put(struct buf *out, const cJSON *capture, bool all_gaps)
{
    field_put(out, "capture", json_text_at(capture, "capture"));
    if (strcmp(json_text_at(capture, "incident"), json_text_at(capture, "capture")) != 0)
        field_put(out, "incident", json_text_at(capture, "incident"));
    field_put(out, "status", json_text_at(capture, "status"));
    field_put(out, "trigger", json_text_at(capture, "trigger.type"));
    field_put(out, "rule", json_text_at(capture, "trigger.rule"));
    field_put(out, "reason", json_text_at(capture, "trigger.reason"));
    field_put(out, "selector", json_text_at(capture, "selector"));
    groups_put(out, capture);
    wish_put(out, capture);
    field_put(out, "at", json_text_at(capture, "at"));
    buf_printf(out, "%-10s %s to %s\n", "window", json_text_at(capture, "window.from"),
               json_text_at(capture, "window.to"));
    field_put(out, "finished", json_text_at(capture, "finished"));
    buf_printf(out, "%-10s %" PRIu64 " of %" PRIu64 " events\n", "stored",
               json_u64_at(capture, "ledger.stored"), json_u64_at(capture, "ledger.produced"));
    capture_losses_put(out, json_at(capture, "ledger"));
    gaps_put(out, capture, all_gaps);
    field_put(out, "verdict", json_text_at(capture, "verdict.text"));
    field_put(out, "page", json_text_at(capture, "url"));
}

/* "evidence   redis (pid 7): threads taken, 30 threads; samples refused, …": a line for each target.
 */
static void evidence_put(struct buf *out, const cJSON *capture)
{
    const cJSON *target, *evidence;
    cJSON_ArrayForEach(target, json_at(capture, "targets")) {
        const char *before = "";
        if (json_at(target, "evidence") == NULL)
            continue;
        buf_printf(out, "%-10s ", "evidence");
        shown_put(out, json_text_at(target, "service"));
        buf_printf(out, " (pid %" PRIu64 "): ", json_u64_at(target, "pid"));
        cJSON_ArrayForEach(evidence, json_at(target, "evidence")) {
            const char *kind = json_text_at(evidence, "kind");
            const char *state = json_text_at(evidence, "state");
            const char *reason = json_text_at(evidence, "reason");
            shown_put_between(out, before, kind, " ");
            shown_put(out, state);
            shown_put_between(out, reason[0] != '\0' ? ", " : "", reason, "");
            before = "; ";
        }
        buf_printf(out, "\n");
    }
}

int capture_show(const cJSON *capture, bool all_gaps)
{
    static const struct table_column columns[] = {{"SERVICE", "service", TABLE_TEXT},
                                                  {"HOST", "host", TABLE_TEXT},
                                                  {"PID", "pid", TABLE_NUMBER},
                                                  {"STATUS", "status", TABLE_STATUS},
                                                  {"EVENTS", "events", TABLE_NUMBER},
                                                  {"BYTES", "bytes", TABLE_BYTES},
                                                  {"PROCESS", "process", TABLE_ID},
                                                  {"REASON", "reason", TABLE_TEXT},
                                                  {NULL, NULL, TABLE_TEXT}};
    struct buf out = {0};
    summary_put(&out, capture, all_gaps);
    evidence_put(&out, capture);
    const cJSON *targets = json_at(capture, "targets");
    if (cJSON_IsArray(targets) && targets->child != NULL)
        buf_printf(&out, "\n");
    bool written = out_write(&out);
    buf_fini(&out);
    if (!written)
        return CLI_FAILED;
    if (!cJSON_IsArray(targets) || targets->child == NULL)
        return out_close();
    return table_print(targets, false, columns, "");
}

/* ---- waiting ---- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* The first Ctrl-C is heard, the second one ends the program. */
static void interrupt_hear(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    interrupted = 0;
    sigaction(SIGINT, &action, NULL);
}

/* "[###...] 2 complete, 1 uploading" */
static void capture_progress_show(const cJSON *capture)
{
    struct buf line = {0}, words = {0};
    const cJSON *count;
    uint64_t all = 0, done = 0;
    if (!progress_seen())
        return;
    cJSON_ArrayForEach(count, json_at(capture, "target_counts")) {
        if (count->string == NULL || !cJSON_IsNumber(count) || !(count->valuedouble > 0))
            continue;
        bool waits = strcmp(count->string, "pending") == 0 || strcmp(count->string, "sent") == 0 ||
                     strcmp(count->string, "capturing") == 0 ||
                     strcmp(count->string, "uploading") == 0 ||
                     strcmp(count->string, "offline") == 0;
        all += (uint64_t)count->valuedouble;
        done += waits ? 0 : (uint64_t)count->valuedouble;
        buf_printf(&words, "%s%.0f ", words.len ? ", " : "", count->valuedouble);
        shown_put(&words, count->string);
    }
    progress_bar_put(&line, done, all);
    buf_printf(&line, "%s; %" PRIu64 " events", text_of(&words),
               json_u64_at(capture, "ledger.stored"));
    progress_show(&line);
    buf_fini(&line);
    buf_fini(&words);
}

uint64_t capture_until_ns(const cJSON *capture)
{
    uint64_t deadline_ns, now_ns = clock_realtime_ns();
    if (clock_parse(json_text_at(capture, "deadline"), &deadline_ns) != SKEIN_OK ||
        deadline_ns < now_ns)
        deadline_ns = now_ns;
    return clock_monotonic_ns() + (deadline_ns - now_ns) + CAPTURE_GRACE_NS;
}

static int capture_stop_until(const struct api *api, const char *id, uint64_t *until_ns)
{
    struct buf path = {0};
    cJSON *capture = NULL;
    buf_printf(&path, "/captures/%s:stop", id);
    int status = api_call(api, "POST", text_of(&path), NULL, &capture);
    if (status == CLI_OK)
        *until_ns = capture_until_ns(capture);
    cJSON_Delete(capture);
    buf_fini(&path);
    return status;
}

int capture_wait(const struct api *api, const char *id, uint64_t until_monotonic_ns, bool stops,
                 cJSON **capture)
{
    uint64_t pause_ns = ASK_FIRST_NS;
    int status = CLI_OK;
    *capture = NULL;
    if (stops)
        interrupt_hear();
    while (status == CLI_OK) {
        if (stops && interrupted) {
            stops = false;
            status = capture_stop_until(api, id, &until_monotonic_ns);
        }
        if (status == CLI_OK)
            status = capture_get(api, id, capture);
        if (status != CLI_OK)
            break;
        capture_progress_show(*capture);
        if (!capture_running(*capture))
            break;
        cJSON_Delete(*capture);
        *capture = NULL;
        if (clock_monotonic_ns() >= until_monotonic_ns) {
            say_error("capture %s still runs; the collector should have ended it", id);
            status = CLI_FAILED;
            break;
        }
        nanosleep(&(struct timespec){0, (long)pause_ns}, NULL); /* a signal ends it */
        pause_ns = pause_ns * 3 / 2 < ASK_MOST_NS ? pause_ns * 3 / 2 : ASK_MOST_NS;
    }
    progress_clear();
    if (status != CLI_OK)
        say_error("the capture goes on without us: skein capture show --wait %s", id);
    return status;
}

int capture_exit(const cJSON *capture)
{
    return capture_is_whole(capture) ? CLI_OK : CLI_INCOMPLETE;
}
