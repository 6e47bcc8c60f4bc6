/* SPDX-License-Identifier: Apache-2.0
 *
 * What the preload library records: each wrapper's event with its arguments, and docs that say so.
 * The wrappers are linked in, and the calls come from a library (preload_calls.h).
 */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "decoded_ring.h"
#include "fake_agent.h"
#include "preload_calls.h"
#include "preload_real.h"
#include "preload_words.h"
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

static size_t calls_all(void)
{
    return call_count + call_of_words_count;
}

static const struct call *call_at(size_t i)
{
    return i < call_count ? &calls[i] : &calls_of_words[i - call_count];
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

static void text_check(const struct call *call, const char *wanted, const struct decoded_event *e,
                       uint8_t at)
{
    if (wanted == NULL)
        return;
    ck_assert_msg(e->nargs > at && e->args[at].text != NULL, "%s: no text", call->function);
    ck_assert_msg(strcmp(e->args[at].text, wanted) == 0, "%s: argument %u is %s, not %s",
                  call->function, at, e->args[at].text, wanted);
}

static void number_check(const struct call *call, int64_t wanted, const struct decoded_event *e,
                         uint8_t at)
{
    if (wanted == NOT_LOOKED_AT)
        return;
    ck_assert_msg(e->nargs > at && e->args[at].i64 == wanted, "%s: argument %u is %lld, not %lld",
                  call->function, at, (long long)(e->nargs > at ? e->args[at].i64 : 0),
                  (long long)wanted);
}

static void more_check(const struct call *call, const struct expect *expect,
                       const struct decoded_event *e)
{
    text_check(call, expect->text, e, 2);
    text_check(call, expect->text_2, e, 3);
    number_check(call, expect->number, e, 2);
    number_check(call, expect->number_2, e, 3);
}

START_TEST(each_wrapper_leaves_its_event)
{
    record_all();
    for (size_t i = 0; i < calls_all() + call_again_count; i++) {
        const struct call *call = i < calls_all() ? call_at(i) : &calls_again[i - calls_all()];
        struct expect expect = {.number = NOT_LOOKED_AT, .number_2 = NOT_LOOKED_AT};
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
        more_check(call, &expect, e);
    }
}
END_TEST

static const struct call *call_find(const char *function)
{
    for (size_t i = 0; i < calls_all(); i++)
        if (strcmp(call_at(i)->function, function) == 0)
            return call_at(i);
    return NULL;
}

/* Wrapped, or called by a wrapper, for another reason than an event of its own. */
static const char *const without_event[] = {
    "pthread_mutex_trylock", "pthread_rwlock_tryrdlock", "pthread_rwlock_trywrlock", "sem_trywait",
    "mtx_trylock", "pthread_setname_np", "longjmp", "_longjmp", "siglongjmp", "__longjmp_chk",
    /* preload_identity.c */
    "unshare", "setns", "setuid", "setgid", "seteuid", "setegid", "setreuid", "setregid",
    "setresuid", "setresgid", "setgroups", "initgroups", "setfsuid", "setfsgid", "capset", "_Fork",
    "prctl", "mq_notify", /* preload_process.c */ "popen", "wordexp",
    /* preload_exec.c */ "posix_spawn", "pidfd_spawn", "pidfd_spawnp", "posix_spawnp", "execve",
    "execvpe", "fexecve", "execveat",
    /* preload_tasks.c */ "opendir"};

/* Recorded, and not called here: libaio is not here, and the others do not return
 * (test_preload_run.c). */
static const char *const elsewhere[] = {"io_getevents", "exit",  "_exit",        "_Exit",
                                        "quick_exit",   "abort", "__assert_fail"};
#define ELSEWHERE (sizeof elsewhere / sizeof *elsewhere)

static bool is_elsewhere(const char *function)
{
    for (size_t i = 0; i < ELSEWHERE; i++)
        if (strcmp(elsewhere[i], function) == 0)
            return true;
    return false;
}

START_TEST(each_wrapper_has_its_call_here)
{
    static const char *const names[] = {
#define X(name) #name,
        REAL_LIST(X)
#undef X
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool known = call_find(names[i]) != NULL || is_elsewhere(names[i]);
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
        if (call == NULL && is_elsewhere(name))
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
    ck_assert_uint_eq(listed, calls_all() + ELSEWHERE);
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
        bool recorded = call_find(name) != NULL || is_elsewhere(name);
        ck_assert_msg(recorded || is_named(name), "the page does not name %s", name);
        silent += !recorded;
    }
    fclose(symbols);
    free(list);
    temp_dir_free(&folder);
    ck_assert_uint_gt(silent, 0);
}
END_TEST

/* ---- addresses ---- */

static uint16_t random_group(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    uint64_t bits = *state >> 33;
    return (bits & 3) == 0    ? 0
           : (bits & 12) == 0 ? (uint16_t)(bits >> 8 & 15)
                              : (uint16_t)(bits >> 8);
}

static void address_check(const struct sockaddr_in6 *address)
{
    char host[INET6_ADDRSTRLEN], wanted[64], given[WORDS_BYTES];
    const struct sockaddr_in *v4 = (const void *)address;
    bool is_v4 = address->sin6_family == AF_INET;
    const void *bytes = is_v4 ? (const void *)&v4->sin_addr : (const void *)&address->sin6_addr;
    ck_assert_ptr_nonnull(inet_ntop(address->sin6_family, bytes, host, sizeof host));
    snprintf(wanted, sizeof wanted, is_v4 ? "%s:%u" : "[%s]:%u", host, ntohs(address->sin6_port));
    words_of_address((const struct sockaddr *)address, is_v4 ? sizeof *v4 : sizeof *address, given);
    must_hold(strcmp(given, wanted) == 0, "%s, not %s", given, wanted);
}

/* As the C library writes them, but for the old form "::1.2.3.4". */
START_TEST(addresses_are_written_as_everywhere)
{
    uint64_t state = 7;
    record_all();
    for (int i = 0; i < 20000; i++) {
        struct sockaddr_in6 address = {.sin6_family = i % 4 == 0 ? AF_INET : AF_INET6,
                                       .sin6_port = random_group(&state)};
        uint16_t groups[8];
        for (size_t k = 0; k < 8; k++)
            groups[k] = htons(random_group(&state));
        if (i % 16 == 1)
            memcpy(groups, (uint16_t[8]){[5] = 0xffff}, 12); /* mapped */
        memcpy(&address.sin6_addr, groups, sizeof groups);
        if (address.sin6_family == AF_INET)
            memcpy(&((struct sockaddr_in *)(void *)&address)->sin_addr, groups, 4);
        if (address.sin6_family == AF_INET || !IN6_IS_ADDR_V4COMPAT(&address.sin6_addr))
            address_check(&address);
    }
}
END_TEST

/* No byte behind what the kernel has said that there is decides anything, and all fits. */
START_TEST(addresses_that_are_cut_or_strange_are_written_short)
{
    static const struct {
        sa_family_t family;
        socklen_t bytes;
        const char *wanted;
    } cases[] = {{AF_INET, 0, ""},
                 {AF_INET, 1, ""},
                 {AF_INET, 15, "family 2"},
                 {AF_INET6, 2, "family 10"},
                 {AF_UNIX, 2, "unix"},
                 {AF_UNSPEC, 16, ""},
                 {AF_NETLINK, 12, "family 16"},
                 {AF_UNIX, 3, "x"},
                 {AF_UNIX, 5, "xxx"}};
    char given[WORDS_BYTES];
    record_all();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sockaddr_storage address;
        memset(&address, 'x', sizeof address);
        address.ss_family = cases[i].family;
        words_of_address((const struct sockaddr *)&address, cases[i].bytes, given);
        ck_assert_str_eq(given, cases[i].wanted);
    }
    struct sockaddr_un whole = {.sun_family = AF_UNIX};
    memset(whole.sun_path, 'p', sizeof whole.sun_path);
    words_of_address((const struct sockaddr *)&whole, sizeof whole, given);
    ck_assert_uint_eq(strlen(given), sizeof whole.sun_path);
    words_of_address((const struct sockaddr *)&whole, sizeof(struct sockaddr_storage), given);
    ck_assert_uint_eq(strlen(given), sizeof whole.sun_path);
    whole.sun_path[0] = whole.sun_path[5] = '\0';
    words_of_address((const struct sockaddr *)&whole, 10, given);
    ck_assert_str_eq(given, "@pppp@pp");
}
END_TEST

START_TEST(a_thread_that_names_itself_has_that_name)
{
    record_all();
    struct expect expect = {.detail = 0};
    calls[0].make(&expect); /* the thread has a slot */
    const struct ring_slot *slot =
        (const struct ring_slot *)(const void *)(ring.ring + ring.geometry.slots_off);
    ck_assert_int_eq(call_of_name("a name of more than fifteen bytes"), 0);
    ck_assert_str_eq(slot->name, "a name of more "); /* as the kernel has it */
    ck_assert_int_eq(call_of_name(NULL), -1);
    ck_assert_int_eq(call_of_name("renamed"), 0);
    ck_assert_str_eq(slot->name, "renamed");
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("preload_events", each_wrapper_leaves_its_event, each_wrapper_has_its_call_here,
                 the_page_lists_what_is_recorded, the_page_names_all_that_the_library_stands_in_for,
                 addresses_are_written_as_everywhere, a_thread_that_names_itself_has_that_name,
                 addresses_that_are_cut_or_strange_are_written_short, NULL));
}
