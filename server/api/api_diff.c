/* SPDX-License-Identifier: Apache-2.0
 *
 * /captures/{capture}/diff: a failure beside its baseline (docs/diff.md). Which, and the two sides, is
 * decided here; reading is a process's of its own; comparing is the library's. No state but the places
 * of exports; any thread. The work is done beside the server's threads (http_aside).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_diff_int.h"
#include "api_handlers.h"
#include "clock.h"
#include "diff.h"
#include "json.h"

#define DIFF_S        60 /* for all reading */
#define SAMPLE_AGE_NS (UINT64_C(3600) * 1000000000u)

struct diff_ask {
    struct diff_request r;
    struct capture_id id, with;
    bool has_with, automatic;
    enum diff_baseline asked;
    struct process_uid process; /* the one that failed */
    bool has_process, only;     /* only: the capture has no other target */
    char service[128];          /* its service, or that of all targets; "": several, or none */
    uint64_t at_ns, from_ns[2], to_ns[2]; /* [0]: of the baseline; to_ns 0: no end */
    cJSON *capture;
    struct diff_choice choice;
    struct diff_part parts[2];
    struct buf ids;        /* of parts[0] */
    struct summary *whole; /* of the failure's side; to find the onset */
};

/* ---- what is asked ---- */

static bool times_take(struct diff_ask *a, struct http_exchange *x)
{
    return api_query_time(x, "at", 0, &a->at_ns) &&
           api_times(x, "from", "to", &a->from_ns[1], &a->to_ns[1]) &&
           api_times(x, "baseline_from", "baseline_to", &a->from_ns[0], &a->to_ns[0]);
}

/* False: an answer was given. */
static bool ask_take(struct diff_ask *a, struct http_exchange *x)
{
    const char *baseline = http_query(x, "baseline");
    if (!api_query_id(x, "with", a->with.bytes, &a->has_with) ||
        !api_query_id(x, "process", a->process.bytes, &a->has_process) || !times_take(a, x))
        return false;
    if (baseline != NULL && !diff_baseline_parse(baseline, &a->asked)) {
        http_problem(x, 400, "baseline", "must be auto, earlier, sample or neighbours");
        return false;
    }
    if (baseline == NULL)
        a->asked = DIFF_BASELINES;
    if (a->has_with && baseline != NULL) {
        http_problem(x, 400, "with", "names the baseline itself: no baseline beside it");
        return false;
    }
    a->automatic = a->asked == DIFF_BASELINES;
    return api_path_id(x, "capture", a->id.bytes);
}

static const char *text_of_member(const cJSON *json, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, key));
    return text != NULL ? text : "";
}

static const cJSON *target_find(const struct diff_ask *a, const uint8_t id[16])
{
    char text[ID_TEXT_BYTES];
    const cJSON *target;
    id_text(id, text);
    cJSON_ArrayForEach(target, cJSON_GetObjectItemCaseSensitive(a->capture, "targets")) {
        if (strcmp(text_of_member(target, "process"), text) == 0)
            return target;
    }
    return NULL;
}

/* The process that failed: as asked, else the one that began the capture, else its only target. */
static bool subject_take(struct diff_ask *a, struct http_exchange *x)
{
    const cJSON *target, *targets = cJSON_GetObjectItemCaseSensitive(a->capture, "targets");
    const cJSON *trigger = cJSON_GetObjectItemCaseSensitive(a->capture, "trigger");
    if (a->has_process && target_find(a, a->process.bytes) == NULL) {
        http_problem(x, 400, "process", "is no target of the capture");
        return false;
    }
    a->only = cJSON_GetArraySize(targets) == 1;
    if (!a->has_process && a->only)
        a->has_process =
            id_parse(text_of_member(targets->child, "process"), a->process.bytes) == SKEIN_OK;
    if (!a->has_process)
        a->has_process =
            id_parse(text_of_member(trigger, "process"), a->process.bytes) == SKEIN_OK &&
            target_find(a, a->process.bytes) != NULL;
    target = a->has_process ? target_find(a, a->process.bytes) : NULL;
    if (target != NULL) {
        snprintf(a->service, sizeof a->service, "%s", text_of_member(target, "service"));
        return true;
    }
    cJSON_ArrayForEach(target, targets) {
        const char *service = text_of_member(target, "service");
        if (target == targets->child)
            snprintf(a->service, sizeof a->service, "%s", service);
        else if (strcmp(a->service, service) != 0)
            a->service[0] = '\0';
        if (a->service[0] == '\0')
            break;
    }
    return true;
}

/* ---- the two sides ---- */

static void part_narrow(struct diff_part *part, uint64_t from_ns, uint64_t to_ns)
{
    part->from_ns = from_ns > part->from_ns ? from_ns : part->from_ns;
    if (to_ns != 0 && (part->to_ns == 0 || to_ns < part->to_ns))
        part->to_ns = to_ns;
}

/* What a baseline begins with: both of the same capture and process, in the times asked for. */
static void parts_reset(struct diff_ask *a)
{
    for (unsigned side = 0; side < 2; side++)
        a->parts[side] =
            (struct diff_part){.capture = a->id,
                               .process = a->has_process && !a->only ? &a->process : NULL,
                               .from_ns = a->from_ns[side],
                               .to_ns = a->to_ns[side]};
}

static int earlier_take(struct diff_ask *a)
{
    if (!diff_earlier_exists(a->whole, a->from_ns[1], &a->choice))
        return SKEIN_NOT_FOUND;
    part_narrow(&a->parts[0], a->from_ns[1], a->choice.onset.from_ns);
    part_narrow(&a->parts[1], a->choice.onset.from_ns, 0);
    snprintf(a->choice.why, sizeof a->choice.why, "the same process%s until the onset",
             a->has_process ? "" : "es");
    return SKEIN_OK;
}

static int sample_take(struct diff_ask *a)
{
    char *why = a->choice.why_not[DIFF_SAMPLE];
    struct capture_id sample;
    uint64_t at_ns = a->choice.onset.at_ns;
    if (a->service[0] == '\0') {
        snprintf(why, DIFF_WHY_BYTES, "it has several services: process= names one process");
        return SKEIN_NOT_FOUND;
    }
    uint64_t before_ns = at_ns > SAMPLE_AGE_NS ? at_ns - SAMPLE_AGE_NS : 0;
    int status = diff_sample_find(&a->r, a->service, before_ns, &sample, &a->ids, why);
    if (status != SKEIN_OK)
        return status;
    buf_put_u8(&a->ids, '\0');
    if (a->ids.status != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    a->parts[0].capture = sample;
    a->parts[0].process = NULL;
    a->parts[0].processes = (const char *)a->ids.data;
    if (a->choice.onset.found)
        part_narrow(&a->parts[1], a->choice.onset.from_ns, 0);
    id_text(sample.bytes, a->choice.capture);
    snprintf(a->choice.why, sizeof a->choice.why,
             "the newest sample of %.64s that is older than an hour, and in which no rule fired "
             "for it",
             a->service);
    return SKEIN_OK;
}

static int neighbours_take(struct diff_ask *a)
{
    char *why = a->choice.why_not[DIFF_NEIGHBOURS];
    const cJSON *target;
    struct process_uid uid;
    size_t count = 0;
    if (!a->has_process) {
        snprintf(why, DIFF_WHY_BYTES, "which process failed is not known: process= names it");
        return SKEIN_NOT_FOUND;
    }
    buf_clear(&a->ids);
    cJSON_ArrayForEach(target, cJSON_GetObjectItemCaseSensitive(a->capture, "targets")) {
        if (strcmp(text_of_member(target, "service"), a->service) == 0 &&
            id_parse(text_of_member(target, "process"), uid.bytes) == SKEIN_OK &&
            !process_uid_equal(&uid, &a->process))
            diff_ids_put(&a->ids, &count, uid.bytes);
    }
    if (count == 0) {
        snprintf(why, DIFF_WHY_BYTES, "it is the only process of its service here");
        return SKEIN_NOT_FOUND;
    }
    buf_put_u8(&a->ids, '\0');
    if (a->ids.status != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    a->parts[0].process = NULL;
    a->parts[0].processes = (const char *)a->ids.data;
    for (unsigned side = 0; side < 2; side++) {
        part_narrow(&a->parts[side], a->from_ns[1], a->to_ns[1]);
        if (a->choice.onset.found)
            part_narrow(&a->parts[side], a->choice.onset.from_ns, 0);
    }
    int n = snprintf(a->choice.why, sizeof a->choice.why,
                     "the other processes of its service (%zu), at the same time", count);
    if (count > DIFF_PROCESSES_MAX)
        snprintf(a->choice.why + n, sizeof a->choice.why - (size_t)n,
                 "; the first %d of them are read", DIFF_PROCESSES_MAX);
    return SKEIN_OK;
}

/* Tries what is asked for, or all in their order. SKEIN_NOT_FOUND: none exists. */
static int baseline_take(struct diff_ask *a)
{
    static int (*const takes[])(struct diff_ask *) = {[DIFF_EARLIER] = earlier_take,
                                                      [DIFF_SAMPLE] = sample_take,
                                                      [DIFF_NEIGHBOURS] = neighbours_take};
    int status = SKEIN_NOT_FOUND;
    a->choice.automatic = a->automatic;
    for (unsigned i = 0; i < DIFF_GIVEN && status == SKEIN_NOT_FOUND; i++) {
        if (!a->automatic && i != (unsigned)a->asked)
            continue;
        parts_reset(a);
        status = takes[i](a);
        a->choice.chosen = (enum diff_baseline)i;
    }
    return status;
}

/* Finds the onset in what is stored of the capture. */
static int onset_find(struct diff_ask *a)
{
    uint64_t at_ns = a->at_ns;
    parts_reset(a);
    int status = diff_part_read(&a->r, &a->parts[1], &a->whole);
    if (status != SKEIN_OK)
        return status;
    if (at_ns == 0 && clock_parse(text_of_member(a->capture, "at"), &at_ns) != SKEIN_OK)
        at_ns = DIFF_AT_UNKNOWN;
    diff_onset_find(a->whole, at_ns, &a->choice.onset);
    a->choice.has_onset = true;
    return SKEIN_OK;
}

/* ---- the answer ---- */

static void none_reply(const struct diff_ask *a)
{
    char words[3 * DIFF_WHY_BYTES];
    size_t n = 0;
    for (unsigned i = 0; i < DIFF_GIVEN && n < sizeof words; i++)
        if (a->choice.why_not[i][0] != '\0')
            n += (size_t)snprintf(words + n, sizeof words - n, "%s%s: %s", n > 0 ? "; " : "",
                                  diff_baseline_text((enum diff_baseline)i), a->choice.why_not[i]);
    http_problem_of(a->r.x, PROBLEM_NO_MATCH, "baseline", "there is no baseline; %s", words);
}

static void failed_reply(const struct diff_ask *a, int status, bool sought)
{
    struct http_exchange *x = a->r.x;
    const char *error = a->r.error[0] != '\0' ? a->r.error : skein_status_text(status);
    char late[96];
    if (status == SKEIN_NOT_FOUND && sought) {
        none_reply(a);
        return;
    }
    if (status == SKEIN_NOT_FOUND) {
        http_problem_of(x, PROBLEM_NOTHING_STORED, NULL,
                        "nothing that can be read is stored of one side in that time");
        return;
    }
    if (status == SKEIN_TIMEOUT) {
        snprintf(late, sizeof late, "there is more of it than can be read within %d s", DIFF_S);
        error = late;
    }
    api_read_failed(x, &a->id, status, error,
                    "ask for one process, or for less time (process=, from=, to=), or fetch it and "
                    "use `skein diff`");
}

static int sides_compare(struct diff_ask *a, struct buf *json)
{
    struct summary *sides[2] = {NULL, NULL};
    struct diff *diff = NULL;
    const struct diff_list *list;
    int status = SKEIN_OK;
    summary_free(&a->whole);
    for (unsigned side = 0; side < 2 && status == SKEIN_OK; side++)
        status = diff_part_read(&a->r, &a->parts[side], &sides[side]);
    if (status == SKEIN_OK)
        status = diff_new(sides[0], sides[1], false, &diff, &list);
    if (status == SKEIN_OK) {
        diff_json(list, &a->choice, json);
        status = json->status;
    }
    diff_free(&diff);
    summary_free(&sides[0]);
    summary_free(&sides[1]);
    return status;
}

/* The comparison, with what the collector adds to it. */
static void diff_reply(const struct diff_ask *a, struct buf *json)
{
    char id[ID_TEXT_BYTES];
    json->len--; /* its last brace */
    id_text(a->id.bytes, id);
    buf_printf(json, ",\"capture\":\"%s\",\"damaged\":%s}", id, a->r.damaged ? "true" : "false");
    if (json->status == SKEIN_OK)
        http_reply(a->r.x, 200, "application/json", json->data, json->len);
    else
        api_failed(a->r.x, json->status, "the comparison cannot be told");
}

/* In its place among the exports. */
static void diff_run(struct diff_ask *a)
{
    struct buf json = {0};
    int status;
    bool sought = false;
    a->r.deadline_ns = clock_monotonic_ns() + DIFF_S * NS_PER_S;
    if (a->has_with) {
        parts_reset(a);
        a->parts[0].capture = a->with;
        a->parts[0].process = NULL;
        a->choice.chosen = DIFF_GIVEN;
        id_text(a->with.bytes, a->choice.capture);
        snprintf(a->choice.why, sizeof a->choice.why, "picked by hand");
        status = SKEIN_OK;
    } else {
        status = onset_find(a);
        if (status == SKEIN_OK) {
            status = baseline_take(a);
            sought = true;
        }
    }
    if (status == SKEIN_OK) {
        sought = false;
        status = sides_compare(a, &json);
    }
    if (status == SKEIN_OK)
        diff_reply(a, &json);
    else
        failed_reply(a, status, sought);
    buf_fini(&json);
}

static void diff_ask_free(struct diff_ask *a)
{
    summary_free(&a->whole);
    buf_fini(&a->ids);
    cJSON_Delete(a->capture);
    free(a);
}

static void diff_aside(void *context, struct http_exchange *x)
{
    struct diff_ask *a = context;
    struct api_services *api = a->r.api;
    diff_run(a);
    diff_ask_free(a);
    places_leave(api->exports, api_holder(x));
}

/* Once it is known what is asked. False: an answer was given, or could not be. */
static bool diff_begin(struct diff_ask *a)
{
    struct api_services *api = a->r.api;
    struct http_exchange *x = a->r.x;
    const struct selector *within = http_principal(x)->selector;
    if (!api_capture_get(api, x, &a->id, &a->capture))
        return false;
    int status = a->has_with ? capture_look(api->captures, &a->with, within) : SKEIN_OK;
    if (status == SKEIN_NOT_FOUND)
        http_problem(x, 404, "with", "no such capture; GET /api/v1/captures lists them");
    else if (status != SKEIN_OK)
        api_failed(x, status, "the capture of `with` cannot be read");
    if (status != SKEIN_OK)
        return false;
    return subject_take(a, x) && api_read_aside(x, diff_aside, a);
}

void api_captures_diff(void *context, struct http_exchange *x)
{
    struct diff_ask *a = calloc(1, sizeof *a);
    if (a == NULL)
        return;
    a->r.api = context;
    a->r.x = x;
    if (!ask_take(a, x) || !diff_begin(a))
        diff_ask_free(a);
}
