/* SPDX-License-Identifier: Apache-2.0
 *
 * An unprivileged user who asks for all that there is, beside root's service: its captures, its
 * place at the agent and the words that say whose share was used up. Needs root, to be two users.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "whole.h"

#define BOUND  60
#define PLACES 32

/* What one of the ordinary users has at most: an eighth is kept from them all. */
#define OPEN(bound)  ((bound) - (bound) / 8)
#define SHARE(bound) (OPEN(bound) - (OPEN(bound) + 7) / 8)

static char *crowd; /* the program, where everybody may run it */

static void crowd_begin(struct whole *w)
{
    size_t n;
    char *bytes = file_read(WHOLE_CROWD, &n);
    ck_assert_ptr_nonnull(bytes);
    crowd = whole_path(w, "crowd");
    file_write(crowd, bytes, n);
    ck_assert_int_eq(chmod(crowd, 0755), 0);
    ck_assert_int_eq(chmod(w->folder, 0755), 0);
    free(bytes);
}

static pid_t crowd_spawn(const struct whole *w, const char *uid, const char *what, const char *n)
{
    char user[32];
    (void)snprintf(user, sizeof user, "--reuid=%s", uid);
    return spawn(
        (const char *const[]){"setpriv", user, "--clear-groups", crowd, w->socket, what, n, NULL},
        NULL);
}

static void crowd_run(const struct whole *w, const char *what, const char *n)
{
    ck_assert_int_eq(spawn_wait(crowd_spawn(w, "65534", what, n), 0), 0);
}

static void rule_put(const struct whole *w, const char *name, const char *selector,
                     const char *when)
{
    char path[64], body[512];
    (void)snprintf(path, sizeof path, "/api/v1/rules/%s", name);
    (void)snprintf(body, sizeof body,
                   "{\"name\":\"%s\",\"selector\":\"%s\",\"when\":{%s},"
                   "\"capture\":{\"pre_ms\":500,\"post_ms\":0},\"limits\":{\"cooldown_ms\":0}}",
                   name, selector, when);
    ck_assert_int_eq(whole_http(w, "PUT", path, body, NULL), 201);
}

struct wanted {
    const struct whole *w;
    const char *member, *value;
    unsigned count;
};

static void take_capture(void *context, const cJSON *item)
{
    struct wanted *wanted = context;
    const cJSON *trigger = cJSON_GetObjectItemCaseSensitive(item, "trigger");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(trigger, wanted->member);
    wanted->count += cJSON_IsString(value) && strcmp(value->valuestring, wanted->value) == 0;
}

static bool is_captured(void *context)
{
    struct wanted *wanted = context;
    wanted->count = 0;
    (void)whole_list(wanted->w, "/api/v1/captures", take_capture, wanted);
    return wanted->count > 0;
}

static unsigned captured_count(const struct whole *w, const char *member, const char *value)
{
    struct wanted wanted = {.w = w, .member = member, .value = value};
    (void)is_captured(&wanted);
    return wanted.count;
}

static bool state_says(void *context)
{
    struct wanted *wanted = context;
    cJSON *rule = whole_get(wanted->w, "/api/v1/rules/%s", wanted->member);
    const cJSON *state = cJSON_GetObjectItemCaseSensitive(rule, "state");
    const cJSON *why = cJSON_GetObjectItemCaseSensitive(state, "last_not_fired_why");
    bool says = cJSON_IsString(why) && strstr(why->valuestring, wanted->value) != NULL;
    cJSON_Delete(rule);
    return says;
}

static bool has_rule(void *context)
{
    cJSON *rule = whole_get(context, "/api/v1/rules/asked");
    const cJSON *state = cJSON_GetObjectItemCaseSensitive(rule, "state");
    bool has = whole_number(state, "agents_current") == 1;
    cJSON_Delete(rule);
    return has;
}

/* Several times what an agent may begin in an hour, asked for and crashed by nobody. */
START_TEST(who_uses_up_his_share_leaves_others_their_captures)
{
    struct whole w;
    struct load load;
    char bound[40];
    (void)snprintf(bound, sizeof bound, "\"captures_per_hour\":%d", BOUND);
    whole_init(&w, NULL,
               "\"snapshot\":{\"cooldown_ms\":0},\"crash\":{\"cooldown_ms\":0},"
               "\"processes\":{\"same_uid_only\":false}," WHOLE_NO_EVIDENCE);
    w.agents_more = bound;
    whole_configure(&w);
    whole_collector_start(&w);
    whole_agent_start(&w);
    crowd_begin(&w);
    rule_put(&w, "asked", "service=crowd", "\"application\":{}");
    ck_assert(wait_until(has_rule, &w, 0)); /* and so it knows the bound */
    load_start(
        &w, &(struct load_options){.service = "shop", .threads = 1, .burst = 10, .pause_us = 1000},
        &load);
    load_wait_attached(&load);

    crowd_run(&w, "ask", "200");
    struct wanted held = {.w = &w, .member = "asked", .value = "(uid 65534"};
    ck_assert_msg(wait_until(state_says, &held, 0), "the rule does not say whose share it was");
    crowd_run(&w, "crash", "60");
    whole_wait_drained(&w);
    unsigned asked = captured_count(&w, "rule", "asked");
    unsigned crashed = captured_count(&w, "type", "crash");
    ck_assert_uint_gt(asked, BOUND / 2);
    ck_assert_uint_le(asked + crashed, BOUND - BOUND / 8);

    rule_put(&w, "grown", "service=shop", "\"memory\":{\"above_bytes\":4096,\"for_ms\":0}");
    struct wanted grown = {.w = &w, .member = "rule", .value = "grown"};
    ck_assert_msg(wait_until(is_captured, &grown, 0), "root's rule captures nothing");
    load_kill(&load, SIGSEGV);
    struct wanted crash = {
        .w = &w, .member = "reason", .value = "the process was killed by signal 11 (SIGSEGV)"};
    ck_assert_msg(wait_until(is_captured, &crash, 0), "root's crash is not captured");
    load_free(&load);
    free(crowd);
    whole_fini(&w);
}
END_TEST

struct places {
    const struct whole *w;
    unsigned want, recorded, all;
};

static void take_process(void *context, const cJSON *item)
{
    struct places *places = context;
    if (strcmp(whole_str(item, "service"), "crowd") != 0)
        return;
    places->all++;
    places->recorded += !cJSON_HasObjectItem(item, "not_recorded");
}

static bool are_placed(void *context)
{
    struct places *places = context;
    places->recorded = places->all = 0;
    (void)whole_list(places->w, "/api/v1/processes", take_process, places);
    return places->recorded == places->want;
}

static void wait_placed(const struct whole *w, unsigned n)
{
    struct places places = {.w = w, .want = n};
    ck_assert_msg(wait_until(are_placed, &places, 0), "%u of %u processes have a ring, not %u",
                  places.recorded, places.all, n);
}

START_TEST(who_takes_all_places_has_his_share_and_others_find_theirs)
{
    struct whole w;
    struct load load;
    whole_init(&w, NULL, "\"processes\":{\"max\":32,\"same_uid_only\":false}," WHOLE_NO_EVIDENCE);
    whole_collector_start(&w);
    whole_agent_start(&w);
    crowd_begin(&w);
    pid_t nobody = crowd_spawn(&w, "65534", "places", "100");
    wait_placed(&w, SHARE(PLACES));
    pid_t other = crowd_spawn(&w, "65533", "places", "2");
    wait_placed(&w, SHARE(PLACES) + 2);
    load_start(
        &w, &(struct load_options){.service = "shop", .threads = 1, .burst = 10, .pause_us = 1000},
        &load);
    load_wait_attached(&load);
    whole_wait_live(&w, "service=shop", 1);
    (void)spawn_stop(nobody, SIGKILL, 0);
    (void)spawn_stop(other, SIGKILL, 0);
    load_free(&load);
    free(crowd);
    whole_fini(&w);
}
END_TEST

#define WATCHED 16

struct sleeper {
    pid_t pid;
};

/* It runs its program as nobody. */
static bool sleeps(void *context)
{
    const struct sleeper *sleeper = context;
    char path[40], exe[64] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)sleeper->pid);
    ssize_t n = readlink(path, exe, sizeof exe - 1);
    return n > 0 && strstr(exe, "setpriv") == NULL && strstr(exe, "t_e2e") == NULL;
}

struct watched {
    const struct whole *w;
    unsigned named, naps; /* by the config; by hand */
};

static void take_watched(void *context, const cJSON *item)
{
    struct watched *watched = context;
    const cJSON *why = cJSON_GetObjectItemCaseSensitive(item, "not_recorded");
    if (!cJSON_IsString(why) || strcmp(why->valuestring, "watched") != 0 ||
        strcmp(whole_str(item, "status"), "live") != 0)
        return;
    watched->named += strcmp(whole_str(item, "service"), "named") == 0;
    watched->naps += strcmp(whole_str(item, "service"), "nap") == 0;
}

static bool all_named_are_watched(void *context)
{
    struct watched *watched = context;
    watched->named = watched->naps = 0;
    (void)whole_list(watched->w, "/api/v1/processes", take_watched, watched);
    return watched->named == WATCHED / 2 && watched->naps == WATCHED / 2;
}

/* By hand, nobody has most of the places; the config's selector takes what it needs of them. */
START_TEST(what_the_operator_named_is_watched_before_what_anybody_names)
{
    struct whole w;
    pid_t naps[2 * WATCHED], named[WATCHED / 2];
    char more[600];
    whole_init(&w, NULL, NULL);
    crowd_begin(&w);
    (void)snprintf(more, sizeof more,
                   "\"watch\":{\"max\":%d,\"select\":[\"named exe=%s/crowd\"]}," WHOLE_NO_EVIDENCE,
                   WATCHED, w.folder);
    w.agent_more = more;
    whole_configure(&w);
    whole_collector_start(&w);
    whole_agent_start(&w);
    unsigned taken = 0;
    for (unsigned i = 0; i < 2 * WATCHED; i++) {
        char pid[16];
        naps[i] = spawn((const char *const[]){"setpriv", "--reuid=65534", "--clear-groups", "sleep",
                                              "1000", NULL},
                        NULL);
        (void)snprintf(pid, sizeof pid, "%d", (int)naps[i]);
        struct sleeper sleeper = {naps[i]};
        ck_assert(wait_until(sleeps, &sleeper, 0));
        taken +=
            spawn_wait(spawn((const char *const[]){"setpriv", "--reuid=65534", "--clear-groups",
                                                   SKEIN_PROGRAM, "watch-process", "--socket",
                                                   w.socket, "--service", "nap", pid, NULL},
                             NULL),
                       0) == 0;
    }
    ck_assert_uint_eq(taken, SHARE(WATCHED));
    for (unsigned i = 0; i < WATCHED / 2; i++) /* it says no HELLO: there is no such socket */
        named[i] = spawn((const char *const[]){crowd, "/nowhere", "places", "0", NULL}, NULL);
    struct watched watched = {.w = &w};
    ck_assert_msg(wait_until(all_named_are_watched, &watched, 0),
                  "%u that the config names are watched, and %u by hand", watched.named,
                  watched.naps);
    for (unsigned i = 0; i < 2 * WATCHED; i++)
        (void)spawn_stop(naps[i], SIGKILL, 0);
    for (unsigned i = 0; i < WATCHED / 2; i++)
        (void)spawn_stop(named[i], SIGKILL, 0);
    free(crowd);
    whole_fini(&w);
}
END_TEST

int main(void)
{
    if (geteuid() != 0) {
        printf("skipped: to be two users needs root\n");
        return 0;
    }
    return suite_run(suite_of("whole_crowd", who_uses_up_his_share_leaves_others_their_captures,
                              who_takes_all_places_has_his_share_and_others_find_theirs,
                              what_the_operator_named_is_watched_before_what_anybody_names, NULL));
}
