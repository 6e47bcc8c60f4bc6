/* SPDX-License-Identifier: Apache-2.0
 *
 * What the preload library records: each wrapper's event with its arguments, and docs that say so.
 * The wrappers are linked in, and the calls come from a library (preload_calls.h).
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoded_ring.h"
#include "fake_agent.h"
#include "preload_calls.h"
#include "preload_real.h"
#include "preload_wait.h"
#include "support.h"

static struct fake_agent agent;
static struct fake_ring ring;
static struct decoded_ring decoded;

static void record_all(void)
{
    fake_agent_init(&agent, 7);
    fake_agent_attach_self(&agent, &ring, SKEIN_MODE_CIRCULAR, 4 << 20);
    for (unsigned i = 0; i < 64; i++)
        ring.page->threshold_ns[i] = 1;
    calls_prepare();
    sites_fill();
    wait_enable();
}

/* The event that the call left: the last of its name with this argument. */
static const struct decoded_event *event_of(const struct call *call, int64_t detail)
{
    const struct decoded_event *found = NULL;
    ring_decode_free(&decoded);
    ck_assert_msg(ring_decode(ring.ring, &ring.geometry, &decoded), "%s", decoded.error);
    for (uint64_t n = 0, count = decoded_count(&decoded, call->event); n < count; n++) {
        const struct decoded_event *e = decoded_nth(&decoded, call->event, n);
        const struct decoded_arg *first = &e->args[0];
        if (first->type == SKEIN_T_PTR ? first->u64 == (uint64_t)detail : first->i64 == detail)
            found = e;
    }
    return found;
}

START_TEST(each_wrapper_leaves_its_event)
{
    record_all();
    for (size_t i = 0; i < call_count; i++) {
        const struct call *call = &calls[i];
        struct expect expect = {0};
        uint64_t before = decoded_count(&decoded, call->event);
        call->make(&expect);
        const struct decoded_event *e = event_of(call, expect.detail);
        ck_assert_msg(decoded_count(&decoded, call->event) > before, "%s: no event",
                      call->function);
        ck_assert_msg(e != NULL, "%s: no event with argument %lld", call->function,
                      (long long)expect.detail);
        if (strcmp(call->event, "thread_start") == 0)
            continue;
        ck_assert_msg(e->args[1].i64 == expect.result, "%s: result %lld, not %lld", call->function,
                      (long long)e->args[1].i64, (long long)expect.result);
        if (expect.text)
            ck_assert_str_eq(e->args[2].text, expect.text);
    }
}
END_TEST

static const struct call *call_find(const char *function)
{
    for (size_t i = 0; i < call_count; i++)
        if (strcmp(calls[i].function, function) == 0)
            return &calls[i];
    return NULL;
}

/* Wrapped, or called by a wrapper, for another reason than an event of its own. */
static const char *const without_event[] = {
    "pthread_mutex_trylock", "pthread_rwlock_tryrdlock", "pthread_rwlock_trywrlock", "sem_trywait",
    "mtx_trylock", "pthread_setname_np", "longjmp", "_longjmp", "siglongjmp", "__longjmp_chk",
    /* preload_identity.c */
    "unshare", "setns", "setuid", "setgid", "seteuid", "setegid", "setreuid", "setregid",
    "setresuid", "setresgid", "setgroups", "initgroups", "setfsuid", "setfsgid", "capset", "_Fork",
    "prctl", "mq_notify", /* preload_process.c */ "popen", "posix_spawn", "posix_spawnp",
    /* preload_tasks.c */
    "stat", "stat64", "fstatat", "fstatat64", "statx", "__xstat", "__xstat64", "__fxstatat",
    "__fxstatat64", "opendir",
    /* preload_exit.c */
    "_exit", "_Exit", "quick_exit", "io_getevents" /* libaio's, which is not here */};

START_TEST(each_wrapper_has_its_call_here)
{
    static const char *const names[] = {
#define X(name) #name,
        REAL_LIST(X)
#undef X
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool known = call_find(names[i]) != NULL;
        for (size_t k = 0; k < sizeof without_event / sizeof *without_event; k++)
            known = known || strcmp(names[i], without_event[k]) == 0;
        ck_assert_msg(known, "%s: no call in preload_calls.c", names[i]);
    }
}
END_TEST

/* ---- the page: "| `event` | ... | `function`, `function` |" under "## Recorded", names in
 * backticks under "## Not recorded", and in the list under "## Without an event" ---- */

static char *next_name(char **at)
{
    char *from = strchr(*at, '`'), *end = from ? strchr(from + 1, '`') : NULL;
    if (!end)
        return NULL;
    *end = '\0';
    *at = end + 1;
    return from + 1;
}

static void check_row(char *line, size_t *listed)
{
    char *at = line, *event = next_name(&at), *functions = strrchr(at, '|');
    ck_assert_ptr_nonnull(event);
    ck_assert_ptr_nonnull(functions);
    *functions = '\0';
    functions = strrchr(at, '|');
    ck_assert_ptr_nonnull(functions);
    for (const char *name; (name = next_name(&functions)) != NULL; ++*listed) {
        const struct call *call = call_find(name);
        if (!call && strcmp(name, "io_getevents") == 0)
            continue;
        ck_assert_msg(call != NULL, "the page lists %s, which is not recorded", name);
        ck_assert_msg(strcmp(call->event, event) == 0, "%s is %s, not %s", name, call->event,
                      event);
    }
}

START_TEST(the_page_lists_what_is_recorded)
{
    char line[4096];
    size_t listed = 0;
    bool recorded = false, not_recorded = false;
    FILE *page = fopen(SKEIN_SOURCE_DIR "/docs/what-is-recorded.md", "r");
    ck_assert_ptr_nonnull(page);
    while (fgets(line, sizeof line, page)) {
        if (strncmp(line, "## ", 3) == 0) {
            recorded = strcmp(line, "## Recorded\n") == 0;
            not_recorded = strcmp(line, "## Not recorded\n") == 0;
        }
        char *at = line;
        if (recorded && strncmp(line, "| `", 3) == 0)
            check_row(line, &listed);
        for (const char *name; not_recorded && (name = next_name(&at)) != NULL;)
            ck_assert_msg(call_find(name) == NULL, "%s is recorded", name);
    }
    fclose(page);
    ck_assert_uint_eq(listed, call_count + 1); /* and io_getevents */
}
END_TEST

/* Whether a line of the page's list "Without an event" names it. */
static bool is_named(const char *function)
{
    char line[4096];
    bool within = false, named = false;
    FILE *page = fopen(SKEIN_SOURCE_DIR "/docs/what-is-recorded.md", "r");
    ck_assert_ptr_nonnull(page);
    while (fgets(line, sizeof line, page)) {
        char *at = line;
        if (strncmp(line, "## ", 3) == 0)
            within = strcmp(line, "## Without an event\n") == 0;
        for (const char *name; within && line[0] == '-' && (name = next_name(&at)) != NULL;)
            named = named || strcmp(name, function) == 0;
    }
    fclose(page);
    return named;
}

START_TEST(the_page_names_all_that_the_library_stands_in_for)
{
    char line[512], name[256], type;
    size_t silent = 0;
    char *folder = temp_dir_new(), *list = path_join(folder, "symbols");
    static const char *const nm[] = {"nm", "-D", "--defined-only", PRELOAD, NULL};
    ck_assert_int_eq(spawn_wait(spawn(nm, &(struct spawn_options){.out_file = list}), 0), 0);
    FILE *symbols = fopen(list, "r");
    ck_assert_ptr_nonnull(symbols);
    while (fgets(line, sizeof line, symbols)) {
        ck_assert_int_eq(sscanf(line, "%*s %c %255[^@\n]", &type, name), 2);
        bool recorded = call_find(name) != NULL || strcmp(name, "io_getevents") == 0;
        ck_assert_msg(recorded || is_named(name), "the page does not name %s", name);
        silent += !recorded;
    }
    fclose(symbols);
    free(list);
    temp_dir_free(&folder);
    ck_assert_uint_gt(silent, 0);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("preload_events", each_wrapper_leaves_its_event,
                              each_wrapper_has_its_call_here, the_page_lists_what_is_recorded,
                              the_page_names_all_that_the_library_stands_in_for, NULL));
}
