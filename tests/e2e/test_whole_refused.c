/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent without privileges: ptrace, perf events and tracefs are refused to an ordinary user, to
 * one under a filter of system calls, and of another user's process. Each capture says so of each
 * kind, with what would allow it, and holds the rest. What the kernel refuses is asked of the kernel
 * itself. Run as root, to become those users; else this says that it is not shown.
 */

#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evidence_scene.h"

#define AGENT_MORE                                                                                 \
    "\"processes\":{\"same_uid_only\":false},\"sched\":{\"buffer_kib\":512},"                      \
    "\"evidence\":{\"deadline_ms\":30000}"

static struct scene scene;
static const char *const nothing[] = {NULL};

static void tear_down(void)
{
    if (scene.w.folder != NULL)
        scene_fini(&scene);
}

static bool can_be_shown(void)
{
    const char *const words[] = {WHOLE_CONFINED, "-u",        SCENE_NOBODY, "test",
                                 "-x",           WHOLE_AGENT, NULL};
    if (geteuid() == 0 && spawn_wait(spawn(words, NULL), 0) == 0)
        return true;
    fprintf(stderr, "not shown: needs root, and a build that is open to other users\n");
    return false;
}

/* ---- what the kernel refuses here ---- */

static long number_read(const char *path, long otherwise)
{
    char *text = file_read(path, NULL);
    long number = text != NULL ? strtol(text, NULL, 10) : otherwise;
    free(text);
    return number;
}

/* Whether an ordinary user may not sample the host. */
static bool perf_is_refused(void)
{
    return number_read("/proc/sys/kernel/perf_event_paranoid", 4) > 0;
}

/* Whether an ordinary user may look into another process of its own. */
static bool dump_is_refused(void)
{
    return number_read("/proc/sys/kernel/yama/ptrace_scope", 0) > 0;
}

/* Whether root has a capability here; in a container it may not. */
static bool root_has(unsigned capability)
{
    char *status = file_read("/proc/self/status", NULL);
    const char *bound = strstr(status, "CapBnd:");
    bool has = bound != NULL && (strtoull(bound + 7, NULL, 16) >> capability & 1) != 0;
    free(status);
    if (!has)
        fprintf(stderr, "not shown: root lacks capability %u\n", capability);
    return has;
}

/* ---- what captures say ---- */

static void evidence_is(const cJSON *capture, const char *kind, const char *state,
                        const char *const *reasons)
{
    const cJSON *evidence = scene_evidence(capture, kind);
    const char *reason = cJSON_GetStringValue(cJSON_GetObjectItem(evidence, "reason"));
    ck_assert_msg(strcmp(whole_str(evidence, "state"), state) == 0, "%s is %s (%s), not %s", kind,
                  whole_str(evidence, "state"), reason != NULL ? reason : "", state);
    for (size_t i = 0; reasons[i] != NULL; i++)
        ck_assert_msg(reason != NULL && strstr(reason, reasons[i]) != NULL,
                      "%s: \"%s\" does not say \"%s\"", kind, reason != NULL ? reason : "",
                      reasons[i]);
}
#define EVIDENCE_IS(capture, kind, state, ...)                                                     \
    evidence_is(capture, kind, state, (const char *const[]){__VA_ARGS__, NULL})

/* `skein capture show` says the same as the API. */
static void cli_tells(const cJSON *capture)
{
    static const char *const kinds[] = {"threads", "samples", "sched", "vitals", "files"};
    char *said = SCENE_SAID(&scene, "capture", "show", scene.id), line[512];
    ck_assert_msg(strstr(said, "evidence   subject (pid ") != NULL, "%s", said);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const cJSON *evidence = scene_evidence(capture, kinds[i]);
        const char *reason = cJSON_GetStringValue(cJSON_GetObjectItem(evidence, "reason"));
        (void)snprintf(line, sizeof line, "%s %s%s%s", kinds[i], whole_str(evidence, "state"),
                       reason != NULL && reason[0] != '\0' ? ", " : "",
                       reason != NULL ? reason : "");
        ck_assert_msg(strstr(said, line) != NULL, "\"%s\" is not in: %s", line, said);
    }
    free(said);
}

static size_t count_in(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
        count++;
    return count;
}

/* Once each, however many captures there are. */
static void agents_and_ps_tell(const char *threads)
{
    cJSON *page = whole_get(&scene.w, "/api/v1/agents");
    const cJSON *agent = cJSON_GetArrayItem(cJSON_GetObjectItem(page, "items"), 0);
    const cJSON *samples = cJSON_GetObjectItem(agent, "samples");
    ck_assert_ptr_nonnull(strstr(whole_str(samples, "refused"), "CAP_PERFMON"));
    ck_assert_double_eq(whole_number(samples, "cpus"), 0);
    const cJSON *refused = cJSON_GetObjectItem(agent, "refused");
    ck_assert_ptr_nonnull(strstr(whole_str(refused, "sched"), "ProtectKernelTunables"));
    ck_assert_ptr_nonnull(strstr(whole_str(refused, "threads"), threads));
    cJSON_Delete(page);
    char *said = SCENE_SAID(&scene, "ps");
    ck_assert_msg(count_in(said, "captures have no CPU samples") == 1, "%s", said);
    ck_assert_msg(count_in(said, "CAP_PERFMON") == 1, "%s", said);
    ck_assert_msg(count_in(said, "captures have no scheduling: /") == 1, "%s", said);
    ck_assert_msg(count_in(said, "captures have no stacks in dumps: ") == 1, "%s", said);
    ck_assert_msg(count_in(said, threads) == 1, "%s", said);
    free(said);
    ck_assert_uint_eq(scene_log_count(&scene, "CPUs are not sampled"), 1);
    ck_assert_uint_eq(scene_log_count(&scene, "does not record the scheduler"), 1);
    ck_assert_uint_eq(scene_log_count(&scene, "dumps have no stacks"), 1);
}

/* ---- what captures hold ---- */

static bool has_tid(const cJSON *events, uint32_t tid, size_t times)
{
    const cJSON *event;
    size_t count = 0;
    cJSON_ArrayForEach(event, events)
        count += scene_u64(event, "tid") == tid;
    return count == times;
}

/* A sum of a thread, since it began, lies between what it had said before and what it said later. */
static void sums_are_true(const cJSON *events, const char *member)
{
    const cJSON *event;
    uint64_t slack_ns = scene_slack_ns(&scene);
    scene_wait_turns(&scene, scene.page->burns.count + 8);
    cJSON_ArrayForEach(event, events) {
        if (scene_u64(event, "tid") != scene.page->burner)
            continue;
        struct bounds bounds =
            scene_bounds(&scene.page->burns, SCENE_THREAD_NS, scene_u64(event, "ts_ns"), slack_ns);
        uint64_t is = scene_arg(event, member);
        ck_assert_msg(is >= bounds.least && is <= bounds.most,
                      "%s: %" PRIu64 " ns, not in %" PRIu64 "-%" PRIu64, member, is, bounds.least,
                      bounds.most);
    }
}

/* The ring's own events, stacks of waits, and sums of threads by /proc. */
static void rest_is_there(void)
{
    const struct subject_page *page = scene.page;
    const uint32_t tids[] = {page->burner, page->sleeper, page->waiter, page->pid};
    char *file = scene_fetched(&scene);
    cJSON *cpu = scene_events(&scene, file, "thread.cpu");
    cJSON *sched = scene_events(&scene, file, "thread.sched");
    cJSON *sleeps = scene_events(&scene, file, "sleep"), *sleep;
    for (size_t i = 0; i < sizeof tids / sizeof *tids; i++) {
        ck_assert_msg(has_tid(sched, tids[i], 1), "no sums of thread %u", tids[i]);
        ck_assert_msg(!perf_is_refused() || has_tid(cpu, tids[i], 2), "no CPU times of %u",
                      tids[i]);
    }
    sums_are_true(cpu, "run");
    sums_are_true(sched, "run_ns");
    size_t with_stack = 0;
    cJSON_ArrayForEach(sleep, sleeps)
        with_stack += scene_u64(sleep, "tid") == page->sleeper &&
                      cJSON_GetArraySize(cJSON_GetObjectItem(sleep, "frames")) > 1;
    ck_assert_uint_ge(with_stack, 5);
    cJSON_Delete(cpu);
    cJSON_Delete(sched);
    cJSON_Delete(sleeps);
    free(file);
}

static void perf_and_tracefs_are_refused(const cJSON *capture, const char *error)
{
    if (perf_is_refused())
        EVIDENCE_IS(capture, "samples", "refused", "perf_event_open: ", error, "CAP_PERFMON",
                    "kernel.perf_event_paranoid");
    EVIDENCE_IS(capture, "sched", "partial", "sums of each thread alone",
                "/tracing: ", "needs root", "ProtectKernelTunables");
    ck_assert_double_gt(whole_number(scene_evidence(capture, "vitals"), "events"), 20);
}

static size_t states_with_stack(size_t *threads)
{
    char *file = scene_fetched(&scene);
    cJSON *states = scene_events(&scene, file, "thread.state"), *state;
    size_t count = 0;
    *threads = (size_t)cJSON_GetArraySize(states);
    cJSON_ArrayForEach(state, states)
        count += cJSON_GetArraySize(cJSON_GetObjectItem(state, "frames")) > 0;
    cJSON_Delete(states);
    free(file);
    return count;
}

/* ---- */

START_TEST(an_ordinary_user_may_dump_its_own_processes_alone)
{
    static const char *const nobody[] = {WHOLE_CONFINED, "-u", SCENE_NOBODY, NULL};
    size_t threads;
    if (!can_be_shown())
        return;
    scene_init(&scene, AGENT_MORE, nobody);
    scene_subject(&scene, nobody, 60);
    cJSON *capture = scene_capture(&scene, 300, ",\"threads\":true");
    perf_and_tracefs_are_refused(capture, "EACCES");
    evidence_is(capture, "files", "taken", nothing);
    if (dump_is_refused()) {
        EVIDENCE_IS(capture, "threads", "partial", "no stack of ", "refused", "Yama");
    } else {
        ck_assert_uint_ge(states_with_stack(&threads), 3);
        ck_assert_uint_ge(threads, 4);
    }
    cli_tells(capture);
    cJSON_Delete(capture);
    rest_is_there();
    cJSON_Delete(scene_capture(&scene, 300, ""));
    agents_and_ps_tell("of other users' programs; needs CAP_SYS_PTRACE");
}
END_TEST

START_TEST(a_filter_of_system_calls_leaves_what_proc_tells)
{
    static const char *const filtered[] = {WHOLE_CONFINED, "-u", SCENE_NOBODY, "-n", "-f", NULL};
    static const char *const nobody[] = {WHOLE_CONFINED, "-u", SCENE_NOBODY, NULL};
    size_t threads;
    if (!can_be_shown())
        return;
    scene_init(&scene, AGENT_MORE, filtered);
    scene_subject(&scene, nobody, 60);
    cJSON *capture = scene_capture(&scene, 300, ",\"threads\":true");
    EVIDENCE_IS(capture, "samples", "refused", "perf_event_open: EPERM", "seccomp");
    EVIDENCE_IS(capture, "threads", "partial", "no stack of ", "refused", "seccomp");
    evidence_is(capture, "files", "taken", nothing);
    ck_assert_uint_eq(states_with_stack(&threads), 0);
    ck_assert_uint_ge(threads, 4);
    cli_tells(capture);
    cJSON_Delete(capture);
    rest_is_there();
    agents_and_ps_tell("process_vm_readv is barred; needs a seccomp filter");
}
END_TEST

/* Its numbers are for all to read; where it is, and what it has open, is not. */
START_TEST(of_another_users_process_there_are_numbers_alone)
{
    static const char *const nobody[] = {WHOLE_CONFINED, "-u", SCENE_NOBODY, NULL};
    static const char *const other[] = {WHOLE_CONFINED, "-u", SCENE_OTHER, NULL};
    size_t threads;
    if (!can_be_shown())
        return;
    scene_init(&scene, AGENT_MORE, nobody);
    scene_subject(&scene, other, 60);
    cJSON *capture = scene_capture(&scene, 300, ",\"threads\":true");
    perf_and_tracefs_are_refused(capture, "EACCES");
    EVIDENCE_IS(capture, "threads", "partial", "no stack of ", "refused", "CAP_SYS_PTRACE");
    EVIDENCE_IS(capture, "files", "refused", "another user's process", "CAP_SYS_PTRACE",
                "CAP_DAC_READ_SEARCH");
    ck_assert_uint_eq(states_with_stack(&threads), 0);
    ck_assert_uint_ge(threads, 4);
    cli_tells(capture);
    cJSON_Delete(capture);
    rest_is_there();
}
END_TEST

/* What the shipped unit leaves of root, as numbers: "2,19,38". Root must have them here. */
static bool unit_powers(char *numbers, size_t bytes)
{
    static const struct {
        const char *name;
        unsigned number;
    } known[] = {{"CAP_DAC_READ_SEARCH", CAP_DAC_READ_SEARCH},
                 {"CAP_SYS_PTRACE", CAP_SYS_PTRACE},
                 {"CAP_PERFMON", CAP_PERFMON}};
    char *unit = file_read(SHIPPED_FOLDER "systemd/skein-agent.service", NULL);
    char *set = strstr(unit, "\nCapabilityBoundingSet=") + strlen("\nCapabilityBoundingSet=");
    bool has = true;
    numbers[0] = '\0';
    set[strcspn(set, "\n")] = '\0';
    for (char *word; (word = strsep(&set, " ")) != NULL;) {
        size_t i = 0, n = strlen(numbers);
        while (i < sizeof known / sizeof *known && strcmp(known[i].name, word) != 0)
            i++;
        ck_assert_msg(i < sizeof known / sizeof *known, "the unit has %s", word);
        (void)snprintf(numbers + n, bytes - n, "%s%u", n > 0 ? "," : "", known[i].number);
        has = has && root_has(known[i].number);
    }
    free(unit);
    return has;
}

START_TEST(the_powers_of_the_shipped_unit_are_enough)
{
    char powers[64];
    const char *const unit[] = {WHOLE_CONFINED, "-c", powers, "-n", NULL};
    static const char *const other[] = {WHOLE_CONFINED, "-u", SCENE_OTHER, NULL};
    size_t threads;
    if (!can_be_shown() || !unit_powers(powers, sizeof powers))
        return;
    scene_init(&scene, AGENT_MORE, unit);
    scene_subject(&scene, other, 60);
    cJSON *capture = scene_capture(&scene, 300, ",\"threads\":true");
    const cJSON *samples = scene_evidence(capture, "samples");
    const cJSON *sched = scene_evidence(capture, "sched");
    ck_assert_str_ne(whole_str(samples, "state"), "refused");
    evidence_is(capture, "files", "taken", nothing);
    ck_assert_uint_ge(states_with_stack(&threads), 3);
    if (access("/sys/kernel/tracing/instances", W_OK) == 0) /* the unit alone bars it, by a mount */
        ck_assert_ptr_null(strstr(whole_str(sched, "reason"), "sums of each thread"));
    cJSON_Delete(capture);
    ck_assert_uint_eq(scene_log_count(&scene, "CPUs are not sampled"), 0);
    ck_assert_uint_eq(scene_log_count(&scene, "dumps have no stacks"), 0);
    if (access("/sys/kernel/tracing/events/signal/signal_deliver/id", R_OK) == 0)
        ck_assert_uint_eq(scene_log_count(&scene, "crashes are captured without their stacks"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_refused");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, NULL, tear_down);
    tcase_add_test(t, an_ordinary_user_may_dump_its_own_processes_alone);
    tcase_add_test(t, a_filter_of_system_calls_leaves_what_proc_tells);
    tcase_add_test(t, the_powers_of_the_shipped_unit_are_enough);
    tcase_add_test(t, of_another_users_process_there_are_numbers_alone);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
