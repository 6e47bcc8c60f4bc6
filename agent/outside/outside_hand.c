/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that somebody has named by hand; see outside.h. Who may is the kernel's word: the user
 * to whom the process's files in /proc belong, which are root's where a program has changed its user
 * or may not be looked into. That is asked again each second, as a process may call exec.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_clock.h"
#include "attach_proto.h"
#include "json.h"
#include "log.h"
#include "outside_int.h"
#include "proc_info.h"
#include "proc_text.h"
#include "selector.h"
#include "set_store.h"
#include "shares.h"
#include "skein_check.h"

#define FILE_NAME "watched"
#define WAITS_MAX 3 /* seconds until one that was to call exec must have */

/* ---- who may ---- */

static bool may_watch(uint32_t pid, uint32_t asker)
{
    return asker == 0 || proc_is_users((pid_t)pid, asker);
}

/* ---- the list ---- */

static struct hand *hand_find(const struct outside *outside, uint32_t pid)
{
    struct hand *hand;
    TAILQ_FOREACH(hand, &outside->hands, link) {
        if (hand->pid == pid)
            return hand;
    }
    return NULL;
}

bool hand_has(const struct outside *outside, const struct process_uid *uid)
{
    const struct hand *hand;
    TAILQ_FOREACH(hand, &outside->hands, link) {
        if (hand->waits == 0 && process_uid_equal(&hand->uid, uid))
            return true;
    }
    return false;
}

static void hand_remove(struct outside *outside, struct hand *hand)
{
    TAILQ_REMOVE(&outside->hands, hand, link);
    outside->hand_count--;
    skein_check(TAILQ_FIRST(&outside->hands) != hand);
    free(hand);
}

void hands_free(struct outside *outside)
{
    struct hand *hand;
    while ((hand = TAILQ_FIRST(&outside->hands)) != NULL)
        hand_remove(outside, hand);
}

static void hands_store(const struct outside *outside)
{
    cJSON *array = cJSON_CreateArray();
    const struct hand *hand;
    TAILQ_FOREACH(hand, &outside->hands, link) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "boot", outside->settings.boot);
        json_add_u64(item, "pid", hand->pid);
        json_add_u64(item, "start", hand->start_clock_ticks);
        json_add_u64(item, "asker", hand->asker);
        cJSON_AddStringToObject(item, "service", hand->service);
        cJSON_AddStringToObject(item, "labels", hand->labels);
        cJSON_AddItemToArray(array, item);
    }
    set_store(outside->settings.worker, outside->settings.folder, FILE_NAME, 0, array);
    cJSON_Delete(array);
}

static size_t hands_of(const struct outside *outside, uint32_t asker)
{
    size_t count = 0;
    const struct hand *hand;
    TAILQ_FOREACH(hand, &outside->hands, link)
        count += hand->asker == asker;
    return count;
}

static bool hand_has_room(const struct outside *outside, uint32_t asker)
{
    size_t own = hands_of(outside, asker);
    const uint64_t open = share_open_to(asker == 0 ? SHARE_ROOT : SHARE_ASKED, HANDS_MAX);
    return outside->hand_count < open &&
           (asker == 0 || own == 0 || own < share_most(open, outside->hand_count - own));
}

bool hands_give_way(struct outside *outside)
{
    struct hand *hand, *newest = NULL;
    size_t most = 0;
    TAILQ_FOREACH_REVERSE(hand, &outside->hands, hand_list, link) {
        size_t own = hand->asker != 0 && hand->waits == 0 ? hands_of(outside, hand->asker) : 0;
        if (own <= most)
            continue;
        most = own;
        newest = hand;
    }
    if (newest == NULL)
        return false;
    const struct process_uid uid = newest->uid;
    log_info("outside", "no longer watched: a selector of the config wants its place", "service",
             newest->service, "pid", log_fmt("%u", newest->pid), NULL);
    /* Where it is watched, the hook takes the hand out. */
    if (!attach_unwatch(outside->settings.attach, &uid))
        hand_remove(outside, newest);
    hands_store(outside);
    return true;
}

/* NULL: there are HANDS_MAX, the asker's share of these is used up, or no memory. */
static struct hand *hand_add(struct outside *outside, uint32_t pid, uint64_t start_clock_ticks,
                             uint32_t asker, const char *service, const char *labels)
{
    struct hand *hand = hand_has_room(outside, asker) ? calloc(1, sizeof *hand) : NULL;
    if (hand == NULL)
        return NULL;
    hand->pid = pid;
    hand->start_clock_ticks = start_clock_ticks;
    hand->asker = asker;
    snprintf(hand->service, sizeof hand->service, "%s", service);
    snprintf(hand->labels, sizeof hand->labels, "%s", labels);
    TAILQ_INSERT_TAIL(&outside->hands, hand, link);
    outside->hand_count++;
    return hand;
}

/* ---- taking one ---- */

/* As attach_watch; the hand is watched then. */
static int hand_watch(struct outside *outside, struct hand *hand)
{
    struct process *p;
    const struct attach_watch_order order = {.pid = hand->pid,
                                             .start_clock_ticks = hand->start_clock_ticks,
                                             .service = hand->service,
                                             .labels = hand->labels,
                                             .watched_max =
                                                 (uint32_t)*outside->settings.watched_max,
                                             .by_hand = true,
                                             .asker = hand->asker};
    int status = attach_watch(outside->settings.attach, &order, &p);
    if (status == SKEIN_OK) {
        hand->uid = p->uid;
        hand->start_clock_ticks = p->start_clock_ticks;
        hand->waits = 0;
        snprintf(hand->service, sizeof hand->service, "%s", p->service);
    }
    process_unref(&p);
    return status;
}

static const char *watch_text(int status)
{
    switch (status) {
    case SKEIN_CLOSED:
        return "there is no such process";
    case SKEIN_UNSUPPORTED:
        return "it is the kernel's own, and runs no program";
    case SKEIN_EXISTS:
        return "it is attached or watched already";
    case SKEIN_AGAIN:
        return "it was attached to the agent before this one, and may come back in a moment";
    case SKEIN_BUSY:
        return "as many processes are watched as watch.max allows, or as it leaves your user";
    case SKEIN_FULL:
        return "the agent has as many processes as processes.max allows, or as it leaves your user";
    case SKEIN_DENIED:
        return "it is not yours, or its program changes its user: root may";
    default:
        return skein_status_text(status);
    }
}

static void took_say(const struct outside *outside, const char *service, uint32_t pid, char *text,
                     size_t bytes)
{
    snprintf(text, bytes, "%.80s (pid %u) is watched%s", service, pid,
             outside->settings.has_evidence
                 ? ""
                 : ", but captures take nothing of it: evidence.enabled is false");
}

/* ---- each second ---- */

static bool hand_has_ended(const struct hand *hand)
{
    return !proc_is_same((pid_t)hand->pid, hand->start_clock_ticks);
}

/* A process that was to call exec: whether it is done with. It does not wait long for an answer, so it may
 * have called exec before its question was read: one that stays as it is has. */
static bool wait_look(struct outside *outside, struct hand *hand)
{
    char now[sizeof hand->before] = "";
    if (hand_has_ended(hand))
        return true;
    proc_exe((pid_t)hand->pid, now, sizeof now);
    if (strcmp(now, hand->before) == 0 && --hand->waits > 0)
        return false;
    int status = may_watch(hand->pid, hand->asker) ? hand_watch(outside, hand) : SKEIN_DENIED;
    if (status != SKEIN_OK)
        log_info("outside", "not watched", "service", hand->service, "pid",
                 log_fmt("%u", hand->pid), "reason", watch_text(status), NULL);
    return status != SKEIN_OK;
}

void hands_look(struct outside *outside)
{
    struct hand *hand, *next;
    bool changed = false;
    for (hand = TAILQ_FIRST(&outside->hands); hand != NULL; hand = next) {
        next = TAILQ_NEXT(hand, link);
        bool waited = hand->waits > 0;
        bool over = waited ? wait_look(outside, hand) : !may_watch(hand->pid, hand->asker);
        changed = changed || over || (waited && hand->waits == 0);
        if (!over)
            continue;
        const struct process_uid uid = hand->uid;
        hand_remove(outside, hand);
        if (!waited && attach_unwatch(outside->settings.attach, &uid))
            log_info("outside", "no longer watched: it is another user's now", NULL);
    }
    if (changed)
        hands_store(outside);
}

void outside_gone(struct outside *outside, const struct process *p)
{
    struct hand *hand = hand_find(outside, p->pid);
    if (hand == NULL || hand->waits > 0 || !process_uid_equal(&hand->uid, &p->uid))
        return;
    hand_remove(outside, hand);
    hands_store(outside);
}

/* ---- asked ---- */

static int become_ask(struct outside *outside, const struct attach_watch *ask,
                      const struct ucred *asker, char *text, size_t bytes)
{
    uint64_t ticks;
    uint32_t pid = (uint32_t)asker->pid; /* as it is here; the asker may not know */
    if (hand_find(outside, pid) != NULL)
        return SKEIN_EXISTS;
    if (proc_start_ticks(asker->pid, &ticks) != SKEIN_OK)
        return SKEIN_CLOSED;
    struct hand *hand = hand_add(outside, pid, ticks, asker->uid, ask->service, ask->labels);
    if (hand == NULL)
        return SKEIN_FULL;
    hand->waits = WAITS_MAX;
    proc_exe(asker->pid, hand->before, sizeof hand->before);
    outside_wake(outside);
    took_say(outside, ask->service, pid, text, bytes);
    return SKEIN_OK;
}

/* Whether pids mean to it what they mean here: a process in a namespace of its own has several. */
static bool sees_our_pids(pid_t pid)
{
    char text[4096];
    uint64_t own;
    const char *at = proc_file_read(pid, "status", text, sizeof text) > 0
                         ? text_line_find(text, "NSpid:")
                         : NULL;
    return at != NULL && text_number(&at, &own) && *at == '\n';
}

static int now_ask(struct outside *outside, const struct attach_watch *ask,
                   const struct ucred *asker, char *text, size_t bytes)
{
    uint64_t ticks; /* first: the process that the asker may have watched is the one that is */
    if (proc_start_ticks((pid_t)ask->pid, &ticks) != SKEIN_OK)
        return SKEIN_CLOSED;
    if (!may_watch(ask->pid, asker->uid))
        return SKEIN_DENIED;
    struct hand *hand = hand_add(outside, ask->pid, ticks, asker->uid, ask->service, ask->labels);
    if (hand == NULL)
        return SKEIN_FULL;
    int status = hand_watch(outside, hand);
    if (status != SKEIN_OK) {
        hand_remove(outside, hand);
        return status;
    }
    hands_store(outside);
    outside_wake(outside);
    took_say(outside, hand->service, ask->pid, text, bytes);
    return SKEIN_OK;
}

static int stop_ask(struct outside *outside, const struct attach_watch *ask,
                    const struct ucred *asker, char *text, size_t bytes)
{
    struct hand *hand = hand_find(outside, ask->pid);
    if (hand == NULL) {
        snprintf(text, bytes,
                 "pid %u is not watched by hand; selectors are in watch.select of the "
                 "agent's config",
                 ask->pid);
        return SKEIN_NOT_FOUND;
    }
    if (asker->uid != 0 && asker->uid != hand->asker)
        return SKEIN_DENIED;
    const struct process_uid uid = hand->uid;
    snprintf(text, bytes, "%.80s (pid %u) is no longer watched", hand->service, hand->pid);
    /* Where it is watched, the hook takes the hand out. */
    if (hand->waits > 0 || !attach_unwatch(outside->settings.attach, &uid))
        hand_remove(outside, hand);
    hands_store(outside);
    return SKEIN_OK;
}

int outside_ask(struct outside *outside, const struct attach_watch *ask, const struct ucred *asker,
                char *text, size_t bytes)
{
    int status = SKEIN_INVALID;
    text[0] = '\0';
    if ((ask->service[0] != '\0' && !outside_service_valid(ask->service)) ||
        (ask->labels[0] != '\0' && !labels_valid(ask->labels)))
        snprintf(text, bytes, "the service's name or a label could not be selected");
    else if (ask->what != ATTACH_WATCH_BECOMES && !sees_our_pids(asker->pid))
        snprintf(text, bytes, "you are in a pid namespace of your own: ask on the agent's host");
    else if (ask->what == ATTACH_WATCH_STOP)
        status = stop_ask(outside, ask, asker, text, bytes);
    else if (ask->what == ATTACH_WATCH_BECOMES)
        status = become_ask(outside, ask, asker, text, bytes);
    else if (ask->what == ATTACH_WATCH_NOW)
        status = now_ask(outside, ask, asker, text, bytes);
    if (text[0] == '\0')
        snprintf(text, bytes, "%s", watch_text(status));
    return status;
}

/* ---- a restart ---- */

static void missed_tell(const struct outside *outside, const struct hand *hand)
{
    struct process *p;
    if (process_new(&p) != SKEIN_OK)
        return;
    p->watched = true;
    p->unrecorded = LOSS_WATCHED;
    p->pid = hand->pid;
    p->start_clock_ticks = hand->start_clock_ticks;
    p->start_ns = proc_start_realtime_ns(hand->start_clock_ticks);
    p->uid = process_uid_make(outside->settings.agent, outside->settings.boot, hand->pid,
                              hand->start_clock_ticks);
    snprintf(p->service, sizeof p->service, "%s", hand->service);
    snprintf(p->labels, sizeof p->labels, "%s", hand->labels);
    outside->settings.missed(outside->settings.context, p);
    process_unref(&p);
}

/* What this agent has written itself; what is not as it writes it is damage, and left out. */
static void hand_load(struct outside *outside, const cJSON *item)
{
    struct json_reader r = {.error = ""};
    const char *boot = json_str(&r, item, "", "boot", JSON_REQUIRED, "", 63);
    const char *service = json_str(&r, item, "", "service", JSON_REQUIRED, "", 127);
    const char *labels = json_str(&r, item, "", "labels", JSON_REQUIRED, "", 511);
    uint64_t pid = json_u64(&r, item, "", "pid", JSON_REQUIRED, 0, 1, INT32_MAX);
    uint64_t ticks = json_u64(&r, item, "", "start", JSON_REQUIRED, 0, 0, UINT64_MAX);
    uint64_t asker = json_u64(&r, item, "", "asker", JSON_REQUIRED, 0, 0, UINT32_MAX);
    if (r.error[0] != '\0' || strcmp(boot, outside->settings.boot) != 0 ||
        (labels[0] != '\0' && !labels_valid(labels)))
        return;
    struct hand *hand = hand_add(outside, (uint32_t)pid, ticks, (uint32_t)asker, service, labels);
    if (hand == NULL)
        return;
    if (hand_has_ended(hand))
        missed_tell(outside, hand);
    else if (may_watch(hand->pid, hand->asker) && hand_watch(outside, hand) == SKEIN_OK)
        return;
    hand_remove(outside, hand);
}

void hands_load(struct outside *outside)
{
    uint64_t generation = 0;
    cJSON *array = set_load(outside->settings.folder, FILE_NAME, &generation), *item;
    cJSON_ArrayForEach(item, array)
        hand_load(outside, item);
    cJSON_Delete(array);
}
