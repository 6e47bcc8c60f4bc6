/* SPDX-License-Identifier: Apache-2.0
 *
 * Vitals, descriptors, CPU samples and scheduling on their whole way: a program under `skein run`,
 * agent, collector, file, `skein`; against what the program says of itself by its own clocks and
 * rusage, and what /proc says to the test. Where the kernel refuses, the test asks it first.
 */
#include <dirent.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "evidence_scene.h"

#define NS      UINT64_C(1000000000)
#define TRACEFS "/sys/kernel/tracing"
#define SPAN_NS (4 * NS)      /* that the program has run for */
#define BURN_NS (8 * NS / 10) /* that its burner had a CPU for, however long that takes */
#define MORE                                                                                       \
    "\"sched\":{\"buffer_kib\":32768},\"samples\":{\"hz\":199,\"reach_ms\":60000},"                \
    "\"evidence\":{\"deadline_ms\":60000,\"max_bytes\":16777216}"

static struct scene scene;
static cJSON *capture;
static char *file;

/* From the program's first turn to its last one, so far; and what its burner has run in between. */
static uint64_t has_run_ns, has_burnt_ns;

static bool has_run(void *context)
{
    const struct subject_turns *turns = &scene.page->burns;
    uint64_t count = turns->count;
    (void)context;
    if (count < 2)
        return false;
    has_run_ns = turns->turns[count - 1].time_ns - turns->turns[0].time_ns;
    has_burnt_ns = turns->turns[count - 1].thread_ns - turns->turns[0].thread_ns;
    return has_run_ns > SPAN_NS && has_burnt_ns > BURN_NS;
}

/* Where the machine has little to give, the window is longer: all but the first second of the program. */
static void set_up(void)
{
    scene_init(&scene, MORE, NULL);
    scene_subject(&scene, NULL, 10);
    ck_assert_msg(wait_until(has_run, NULL, 8 * support_deadline_ms()), "%" PRIu64 " of %" PRIu64,
                  has_burnt_ns, has_run_ns);
    capture = scene_capture(&scene, (unsigned)((has_run_ns - NS) / 1000000), "");
    file = scene_fetched(&scene);
    scene_wait_turns(&scene, scene.page->burns.count + 8); /* it is known for all times in it */
}

static void tear_down(void)
{
    cJSON_Delete(capture);
    free(file);
    scene_fini(&scene);
}

/* The kernel lets this user sample a CPU. */
static bool perf_is_allowed(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_CPU_CLOCK,
                                   .sample_period = 10000000};
    long fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);
    if (fd < 0)
        return false;
    close((int)fd);
    return true;
}

static const char *state_of(const char *kind)
{
    return whole_str(scene_evidence(capture, kind), "state");
}

static const char *reason_of(const char *kind)
{
    const char *text =
        cJSON_GetStringValue(cJSON_GetObjectItem(scene_evidence(capture, kind), "reason"));
    return text != NULL ? text : "";
}

static void within(const char *what, double is, struct bounds bounds, double slack)
{
    ck_assert_msg(is >= (double)bounds.least - slack && is <= (double)bounds.most + slack,
                  "%s: %.0f, not in %" PRIu64 "-%" PRIu64 " (give or take %.0f)", what, is,
                  bounds.least, bounds.most, slack);
}

static const char *text_arg(const cJSON *event, const char *name)
{
    return whole_str(cJSON_GetObjectItem(event, "args"), name);
}

/* ---- vitals ---- */

/* The counter's value at a look; NaN where it had none. */
static double value_at(const cJSON *events, uint64_t time_ns)
{
    const cJSON *event;
    cJSON_ArrayForEach(event, events)
        if (scene_u64(event, "ts_ns") == time_ns)
            return whole_number(cJSON_GetObjectItem(event, "args"), "value");
    return __builtin_nan("");
}

START_TEST(vitals_add_up_to_what_the_program_has_run)
{
    cJSON *looks = scene_events(&scene, file, "proc.threads");
    cJSON *user = scene_events(&scene, file, "proc.cpu.user");
    cJSON *kernel = scene_events(&scene, file, "proc.cpu.system");
    const cJSON *look;
    uint64_t first_ns = 0, last_ns = 0;
    double run_ns = 0, tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
    cJSON_ArrayForEach(look, looks) {
        uint64_t time_ns = scene_u64(look, "ts_ns");
        double value = value_at(user, time_ns) + value_at(kernel, time_ns);
        ck_assert_double_ge(whole_number(cJSON_GetObjectItem(look, "args"), "value"), 4);
        if (value != value && last_ns != 0) /* moments behind another: the next one tells */
            continue;
        if (last_ns != 0) /* the first look has no rate */
            run_ns += value / 100 * (double)(time_ns - last_ns);
        first_ns = first_ns == 0 ? time_ns : first_ns;
        last_ns = time_ns;
    }
    ck_assert_uint_gt(last_ns - first_ns, NS);
    within("CPU time by vitals", run_ns,
           scene_growth(&scene.page->burns, SCENE_PROCESS_NS, first_ns, last_ns,
                        scene_slack_ns(&scene)),
           4 * tick_ns); /* the kernel counts ticks, of each mode, at both ends */
    cJSON_Delete(looks);
    cJSON_Delete(user);
    cJSON_Delete(kernel);
}
END_TEST

START_TEST(loads_of_a_thread_add_up_to_its_clock)
{
    cJSON *loads = scene_events(&scene, file, "thread.load");
    const cJSON *load;
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    double run_ns = 0;
    cJSON_ArrayForEach(load, loads) {
        uint64_t time_ns = scene_u64(load, "ts_ns"), over_ns = scene_arg(load, "over");
        if (scene_u64(load, "tid") != scene.page->burner)
            continue;
        first_ns = time_ns - over_ns < first_ns ? time_ns - over_ns : first_ns;
        last_ns = time_ns > last_ns ? time_ns : last_ns;
        run_ns += whole_number(cJSON_GetObjectItem(load, "args"), "run") / 100 * (double)over_ns;
    }
    ck_assert_uint_gt(last_ns, first_ns);
    within("CPU time by loads", run_ns,
           scene_growth(&scene.page->burns, SCENE_THREAD_NS, first_ns, last_ns,
                        scene_slack_ns(&scene)),
           1e6);
    cJSON_Delete(loads);
}
END_TEST

static size_t descriptors_count(void)
{
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%u/fd", scene.page->pid);
    DIR *folder = opendir(path);
    ck_assert_ptr_nonnull(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

START_TEST(skein_vitals_tells_of_the_process_and_its_host)
{
    cJSON *vitals = SCENE_PRINTED(&scene, "vitals", scene.id, "--all", "-o", "json");
    const cJSON *row, *rows = cJSON_GetObjectItem(vitals, "counters");
    unsigned found = 0;
    cJSON_ArrayForEach(row, rows) {
        const char *name = whole_str(row, "name");
        if (strcmp(name, "host.cpu.idle") == 0 || strcmp(name, "host.memory.total") == 0)
            found |= 1;
        if (cJSON_GetObjectItem(row, "pid") == NULL)
            continue;
        ck_assert_uint_eq(scene_u64(row, "pid"), scene.page->pid);
        if (strcmp(name, "proc.descriptors") == 0) {
            ck_assert_double_eq(whole_number(row, "max"), (double)descriptors_count());
            found |= 2;
        }
        found |= strcmp(name, "proc.run_delay") == 0 ? 4 : 0;
        if (strcmp(name, "thread.run") == 0 && scene_u64(row, "tid") == scene.page->burner)
            found |= strcmp(whole_str(row, "thread"), "burner") == 0 ? 8 : 0;
    }
    ck_assert_msg((found & 13) == 13, "%u of the counters", found);
    cJSON_Delete(vitals);
    char *said = SCENE_SAID(&scene, "vitals", scene.id, "-n", "proc.cpu.*");
    ck_assert_msg(strstr(said, "proc.cpu.user") != NULL && strstr(said, "subject[") != NULL, "%s",
                  said);
    free(said);
}
END_TEST

/* Rounds over all processes of the host take their time. */
static bool has_top(void *context)
{
    (void)context;
    cJSON_Delete(scene_capture(&scene, 100, ""));
    cJSON *vitals = SCENE_PRINTED(&scene, "vitals", scene.id, "-o", "json");
    const cJSON *row, *top = cJSON_GetObjectItem(vitals, "top");
    bool here = false;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(top, "cpu"))
        here = here || scene_u64(row, "pid") == scene.page->pid;
    cJSON_Delete(vitals);
    return here;
}

START_TEST(the_program_is_one_of_those_that_use_most)
{
    ck_assert(wait_until(has_top, NULL, 0));
}
END_TEST

static const cJSON *descriptor(const cJSON *events, int number)
{
    const cJSON *event;
    cJSON_ArrayForEach(event, events)
        if (scene_arg(event, "fd") == (uint64_t)number)
            return event;
    ck_abort_msg("descriptor %d is not there", number);
}

START_TEST(each_descriptor_is_what_the_program_opened)
{
    char listens[64];
    const struct subject_page *page = scene.page;
    cJSON *events = scene_events(&scene, file, "fd");
    const cJSON *pipes[2] = {descriptor(events, page->pipe[0]), descriptor(events, page->pipe[1])};
    snprintf(listens, sizeof listens, "127.0.0.1:%u", page->port);
    ck_assert_str_eq(state_of("files"), "taken");
    ck_assert_int_eq(cJSON_GetArraySize(events), (int)descriptors_count());
    ck_assert_str_eq(text_arg(descriptor(events, page->file), "kind"), "file");
    ck_assert_str_eq(text_arg(descriptor(events, page->file), "path"), scene.known);
    ck_assert_ptr_nonnull(strstr(text_arg(pipes[0], "kind"), "pipe"));
    ck_assert_str_eq(text_arg(pipes[0], "kind"), text_arg(pipes[1], "kind"));
    ck_assert_str_eq(text_arg(descriptor(events, page->listener), "kind"), "tcp listen");
    char *text = cJSON_PrintUnformatted(descriptor(events, page->listener));
    ck_assert_msg(strstr(text, listens) != NULL, "%s", text);
    free(text);
    cJSON_Delete(events);
}
END_TEST

/* ---- scheduling ---- */

/* Of a thread's spans, from the first one to the last one. */
struct spans {
    uint64_t from_ns, to_ns, run_ns, blocks;
};

static struct spans spans_of(const cJSON *events, uint32_t tid)
{
    struct spans spans = {UINT64_MAX, 0, 0, 0};
    const cJSON *event;
    cJSON_ArrayForEach(event, events) {
        if (cJSON_GetObjectItem(event, "dur_ns") == NULL || scene_u64(event, "tid") != tid)
            continue;
        uint64_t from_ns = scene_u64(event, "ts_ns"), dur_ns = scene_u64(event, "dur_ns");
        spans.from_ns = from_ns < spans.from_ns ? from_ns : spans.from_ns;
        spans.to_ns = from_ns + dur_ns > spans.to_ns ? from_ns + dur_ns : spans.to_ns;
        spans.run_ns += strcmp(whole_str(event, "name"), "sched.run") == 0 ? dur_ns : 0;
        spans.blocks += strcmp(whole_str(event, "name"), "sched.blocked") == 0;
    }
    ck_assert_msg(spans.to_ns > spans.from_ns, "no spans of thread %u: %s", tid,
                  reason_of("sched"));
    return spans;
}

/* Switches that this machine's kernel has not recorded. */
static double unseen_count(void)
{
    const char *at = strstr(reason_of("sched"), "did not record ");
    return at != NULL ? strtod(at + strlen("did not record "), NULL) : 0;
}

static bool sched_is_told(void)
{
    if (access(TRACEFS "/instances", W_OK) == 0)
        return true;
    fprintf(stderr, "not shown: %s\n", reason_of("sched"));
    ck_assert_str_ne(reason_of("sched"), "");
    return false;
}

START_TEST(scheduling_adds_up_to_clocks_and_rusage)
{
    if (!sched_is_told())
        return;
    cJSON *events = scene_events(&scene, file, "sched.*");
    uint64_t slack_ns = scene_slack_ns(&scene);
    struct spans burner = spans_of(events, scene.page->burner);
    struct spans sleeper = spans_of(events, scene.page->sleeper);
    ck_assert_msg(burner.to_ns - burner.from_ns > NS, "%" PRIu64 " ns: %s",
                  burner.to_ns - burner.from_ns, reason_of("sched"));
    struct bounds run =
        scene_growth(&scene.page->burns, SCENE_THREAD_NS, burner.from_ns, burner.to_ns, slack_ns);
    within("running, by its clock", (double)burner.run_ns, run, 8e6 + (double)run.most / 20);
    within(
        "blocks, by rusage", (double)sleeper.blocks,
        scene_growth(&scene.page->sleeps, SCENE_GAVE_WAY, sleeper.from_ns, sleeper.to_ns, slack_ns),
        1 + unseen_count());
    cJSON_Delete(events);
}
END_TEST

static const cJSON *thread_row(const cJSON *sums, uint32_t tid)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(sums, "threads"))
        if (scene_u64(row, "tid") == tid)
            return row;
    ck_abort_msg("thread %u is not there", tid);
}

START_TEST(skein_sched_tells_who_ran_and_who_waited)
{
    if (!sched_is_told())
        return;
    cJSON *sums = SCENE_PRINTED(&scene, "sched", scene.id, "-o", "json"), *user;
    const cJSON *burner = thread_row(sums, scene.page->burner);
    const cJSON *sleeper = thread_row(sums, scene.page->sleeper);
    const cJSON *waiter = thread_row(sums, scene.page->waiter);
    ck_assert_str_eq(whole_str(burner, "thread"), "burner");
    ck_assert_uint_gt(scene_u64(burner, "run_ns"), 5 * scene_u64(sleeper, "run_ns"));
    ck_assert_uint_eq(scene_u64(waiter, "run_ns"), 0); /* it had no record at all */
    ck_assert_uint_gt(scene_u64(cJSON_GetObjectItem(waiter, "blocked_ns"), "S"), NS);
    uint64_t cpu_ns = 0, named = 0, least_ns = UINT64_MAX;
    cJSON_ArrayForEach(user, cJSON_GetObjectItem(sums, "cpu_users")) {
        if (scene_u64(user, "pid") == 0)
            continue; /* (others), (idle) */
        named++;
        least_ns = scene_u64(user, "cpu_ns") < least_ns ? scene_u64(user, "cpu_ns") : least_ns;
        cpu_ns += scene_u64(user, "pid") == scene.page->pid ? scene_u64(user, "cpu_ns") : 0;
    }
    if (cpu_ns == 0) { /* ten others had more */
        ck_assert_uint_eq(named, 10);
        cpu_ns = least_ns;
    }
    /* The one is cut at the window's ends, the other may be some moments longer. */
    ck_assert_uint_ge(cpu_ns + 8 * NS / 1000, scene_u64(burner, "run_ns"));
    cJSON_Delete(sums);
    char *said = SCENE_SAID(&scene, "sched", scene.id);
    ck_assert_msg(strstr(said, "burner") != NULL && strstr(said, "Who had the CPUs") != NULL, "%s",
                  said);
    free(said);
}
END_TEST

/* ---- samples ---- */

static bool samples_are_told(void)
{
    if (perf_is_allowed())
        return true;
    ck_assert_str_eq(state_of("samples"), "refused");
    fprintf(stderr, "not shown: %s\n", reason_of("samples"));
    return false;
}

/* Samples are drawn: of n, one in sixteen is 4 standard deviations for more than 4,096; here they
 * are some hundreds, so a third of them. */
START_TEST(samples_weigh_what_the_thread_has_run)
{
    if (!samples_are_told())
        return;
    cJSON *events = scene_events(&scene, file, "cpu.sample"), *event;
    uint64_t weight_ns = 0, count = 0, first_ns = UINT64_MAX, last_ns = 0;
    cJSON_ArrayForEach(event, events) {
        uint64_t time_ns = scene_u64(event, "ts_ns");
        first_ns = time_ns < first_ns ? time_ns : first_ns;
        last_ns = time_ns > last_ns ? time_ns : last_ns;
        if (scene_u64(event, "tid") != scene.page->burner)
            continue;
        weight_ns += scene_arg(event, "weight");
        count++;
    }
    struct bounds run = scene_growth(&scene.page->burns, SCENE_THREAD_NS, first_ns, last_ns,
                                     scene_slack_ns(&scene));
    ck_assert_uint_gt(count, 30);
    within("CPU time by samples", (double)weight_ns, run, (double)run.most / 3);
    cJSON_Delete(events);
}
END_TEST

/* Folded stacks, read here by hand: "subject;burner;…;burn_here COUNT". */
static void folded_sum(const char *text, uint64_t *burner, uint64_t *burning)
{
    *burner = *burning = 0;
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        size_t n = strcspn(line, "\n");
        char copy[4096];
        ck_assert_uint_lt(n, sizeof copy);
        memcpy(copy, line, n);
        copy[n] = '\0';
        uint64_t count = strtoull(strrchr(copy, ' ') + 1, NULL, 10);
        *burner += strstr(copy, "burner") != NULL ? count : 0;
        *burning += strstr(copy, "burner") != NULL && strstr(copy, "burn_here") != NULL ? count : 0;
    }
}

START_TEST(a_profile_names_the_function_that_burns)
{
    uint64_t burner, burning;
    if (!samples_are_told())
        return;
    char *folded = whole_path(&scene.w, "a.folded"), *pprof = whole_path(&scene.w, "a.pb.gz");
    free(SCENE_SAID(&scene, "export", "--to", "folded", "--of", "samples", "-o", folded, file));
    free(SCENE_SAID(&scene, "export", "--to", "pprof", "-o", pprof, file));
    char *text = file_read(folded, NULL);
    folded_sum(text, &burner, &burning);
    ck_assert_msg(burning > 20 && burning * 10 >= burner * 8, "%" PRIu64 " of %" PRIu64 ":\n%s",
                  burning, burner, text);
    free(text);
    /* pprof's file is a gzip of a message whose strings lie in it as they are. */
    char *plain = whole_path(&scene.w, "a.pb");
    const char *const gunzip[] = {"gzip", "-dc", pprof, NULL};
    ck_assert_int_eq(spawn_wait(spawn(gunzip, &(struct spawn_options){.out_file = plain}), 0), 0);
    size_t n;
    text = file_read(plain, &n);
    ck_assert(memmem(text, n, "burn_here", 9) != NULL &&
              memmem(text, n, "nanoseconds", 11) != NULL);
    ck_assert(memmem(text, n, "sleep_here", 10) != NULL); /* waits are in it, too */
    free(text);
    free(plain);
    free(folded);
    free(pprof);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_evidence");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 300);
    tcase_add_unchecked_fixture(t, set_up, tear_down);
    tcase_add_test(t, vitals_add_up_to_what_the_program_has_run);
    tcase_add_test(t, loads_of_a_thread_add_up_to_its_clock);
    tcase_add_test(t, skein_vitals_tells_of_the_process_and_its_host);
    tcase_add_test(t, the_program_is_one_of_those_that_use_most);
    tcase_add_test(t, each_descriptor_is_what_the_program_opened);
    tcase_add_test(t, scheduling_adds_up_to_clocks_and_rusage);
    tcase_add_test(t, skein_sched_tells_who_ran_and_who_waited);
    tcase_add_test(t, samples_weigh_what_the_thread_has_run);
    tcase_add_test(t, a_profile_names_the_function_that_burns);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
