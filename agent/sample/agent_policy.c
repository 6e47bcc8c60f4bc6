/* SPDX-License-Identifier: Apache-2.0
 *
 * The set of policies and the timers of their samples; see agent_policy.h. Loop thread.
 */
#include "agent_policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "agent_clock.h"
#include "agent_rules.h"
#include "array.h"
#include "clock.h"
#include "json.h"
#include "log.h"
#include "policy_spec.h"
#include "report_policy.h"
#include "set_store.h"

#define MS          UINT64_C(1000000)
#define WAIT_MS_MAX 60000 /* the clocks may be set meanwhile: looked at again after so long */
#define CPU_LOOK_MS 2000
#define HZ_CALM_MS  60000

struct policy {
    struct policy_spec *spec;
    bool over; /* the agent has used more CPU than its limit */
};

/* One process under one policy. */
struct sample {
    TAILQ_ENTRY(sample) link;
    struct agent_policies *policies;
    struct policy *policy;   /* of the set, which outlives this */
    struct process *process; /* a reference */
    struct loop_timer *timer;
    uint64_t begin_ns; /* of the next one, on the collector's clock */
};
TAILQ_HEAD(sample_list, sample);

struct agent_policies {
    struct agent_policies_settings settings;
    struct policy *set;
    size_t count;
    struct process **processes; /* references; those attached now */
    size_t process_count, process_cap;
    struct sample_list samples;
    struct loop_timer *cpu_timer; /* while a policy has a limit */
    uint64_t cpu_ns, cpu_at_ns;   /* CPU time used, and when that was looked at */
    uint64_t cpu_percent;
    struct loop_timer *hz_timer; /* while a lower rate is due */
    uint64_t hz;                 /* that was told */
};

/* ---- samples ---- */

static uint64_t collector_now_ns(const struct agent_policies *policies)
{
    return agent_clock_ns() + (uint64_t)uplink_clock_offset(policies->settings.uplink);
}

static void sample_due(void *context);

static void sample_wait(struct sample *sample)
{
    struct loop *loop = sample->policies->settings.loop;
    uint64_t now_ns = collector_now_ns(sample->policies);
    uint64_t wait_ms = sample->begin_ns > now_ns ? (sample->begin_ns - now_ns + MS - 1) / MS : 0;
    sample->timer =
        loop_timer_add(loop, wait_ms < WAIT_MS_MAX ? wait_ms : WAIT_MS_MAX, 0, sample_due, sample);
    if (sample->timer == NULL)
        log_error("policies", "out of memory: a process is not sampled until the next push",
                  "policy", sample->policy->spec->name, NULL);
}

static void sample_plan(struct sample *sample, uint64_t after_ns)
{
    const struct policy_spec *spec = sample->policy->spec;
    sample->begin_ns = sampling_next_ns(
        &spec->plan, sampling_slot_of(&spec->plan, &sample->process->uid), after_ns);
}

static void sample_take(const struct sample *sample)
{
    const struct policy_spec *spec = sample->policy->spec;
    struct capture_order order = {
        .capture = sampling_capture(&spec->plan, spec->name, spec->generation, sample->begin_ns),
        .trigger = TRIGGER_POLICY,
        .rule = spec->name,
        .reason = "a sample",
        .at_ns = agent_clock_ns(),
        .post_ms = spec->plan.record_ms,
        .wish = spec->wish};
    (void)captures_begin(sample->policies->settings.captures, &order, sample->process);
}

static void sample_due(void *context)
{
    struct sample *sample = context;
    const struct policy_spec *spec = sample->policy->spec;
    uint64_t now_ns = collector_now_ns(sample->policies);
    sample->timer = NULL; /* one-shot */
    if (now_ns >= sample->begin_ns) {
        /* A host that slept through its slot leaves it out: others are on now. */
        if (now_ns - sample->begin_ns < spec->plan.record_ms * MS && !spec->paused &&
            !sample->policy->over)
            sample_take(sample);
        sample_plan(sample, (now_ns > sample->begin_ns ? now_ns : sample->begin_ns) + 1);
    } else if (sampling_is_astray(&spec->plan, sample->begin_ns, now_ns)) {
        sample_plan(sample, now_ns); /* the clock was set back */
    }
    sample_wait(sample);
}

static void sample_begin(struct agent_policies *policies, struct policy *policy,
                         struct process *process)
{
    /* Samples are of the ring alone. */
    if (process->watched ||
        !process_matches(policy->spec->selector, process, policies->settings.host))
        return;
    struct sample *sample = calloc(1, sizeof *sample);
    if (sample == NULL) {
        log_error("policies", "out of memory: a process is not sampled", "policy",
                  policy->spec->name, NULL);
        return;
    }
    sample->policies = policies;
    sample->policy = policy;
    sample->process = process_ref(process);
    TAILQ_INSERT_TAIL(&policies->samples, sample, link);
    sample_plan(sample, collector_now_ns(policies));
    sample_wait(sample);
}

static void sample_free(struct sample *sample)
{
    loop_timer_cancel(sample->policies->settings.loop, &sample->timer);
    process_unref(&sample->process);
    free(sample);
}

static void policies_end(struct agent_policies *policies)
{
    struct sample *sample = TAILQ_FIRST(&policies->samples);
    TAILQ_INIT(&policies->samples);
    while (sample != NULL) {
        struct sample *next = TAILQ_NEXT(sample, link);
        sample_free(sample);
        sample = next;
    }
}

/* ---- the agent's own CPU ---- */

static void policy_report(const struct agent_policies *policies, const struct policy *policy)
{
    char key[PUSHED_POLICY_NAME_MAX + 16];
    struct buf text = {0};
    const struct report_policy told = {.agent = policies->settings.agent,
                                       .policy = policy->spec->name,
                                       .paused = policy->over,
                                       .cpu_percent = policies->cpu_percent};
    report_policy_put(&told, &text);
    (void)snprintf(key, sizeof key, "policy:%s", policy->spec->name);
    if (text.status != SKEIN_OK || uplink_report(policies->settings.uplink, key, NULL, NULL,
                                                 (const char *)text.data, text.len) != SKEIN_OK)
        log_error("policies", "out of memory: the collector is not told of a pause", NULL);
    buf_fini(&text);
}

void agent_policies_report(struct agent_policies *policies)
{
    for (size_t i = 0; i < policies->count; i++)
        if (policies->set[i].spec->agent_cpu_percent != 0)
            policy_report(policies, &policies->set[i]);
}

static void cpu_look(void *context)
{
    struct agent_policies *policies = context;
    uint64_t cpu_ns = clock_cpu_ns(), now_ns = clock_monotonic_ns();
    if (now_ns > policies->cpu_at_ns)
        policies->cpu_percent = (cpu_ns - policies->cpu_ns) * 100 / (now_ns - policies->cpu_at_ns);
    policies->cpu_ns = cpu_ns;
    policies->cpu_at_ns = now_ns;
    for (size_t i = 0; i < policies->count; i++) {
        struct policy *policy = &policies->set[i];
        uint64_t limit = policy->spec->agent_cpu_percent;
        bool over = limit != 0 && policies->cpu_percent > limit;
        if (over == policy->over)
            continue;
        policy->over = over;
        log_info("policies", over ? "paused: the agent's CPU is over the limit" : "goes on",
                 "policy", policy->spec->name, NULL);
        policy_report(policies, policy);
    }
}

static void cpu_watch(struct agent_policies *policies)
{
    struct loop *loop = policies->settings.loop;
    bool limited = false;
    for (size_t i = 0; i < policies->count; i++)
        limited = limited || policies->set[i].spec->agent_cpu_percent != 0;
    if (!limited && policies->cpu_timer != NULL)
        loop_timer_cancel(loop, &policies->cpu_timer);
    if (!limited || policies->cpu_timer != NULL)
        return;
    policies->cpu_ns = clock_cpu_ns();
    policies->cpu_at_ns = clock_monotonic_ns();
    policies->cpu_timer = loop_timer_add(loop, CPU_LOOK_MS, 1, cpu_look, policies);
    if (policies->cpu_timer == NULL)
        log_error("policies", "out of memory: the agent's CPU is not looked at", NULL);
}

/* ---- how often CPUs are sampled ---- */

static uint64_t hz_wanted(const struct agent_policies *policies)
{
    uint64_t most = 0;
    const struct sample *sample;
    TAILQ_FOREACH(sample, &policies->samples, link) {
        const struct policy_spec *spec = sample->policy->spec;
        if (!spec->paused && spec->samples_hz > most)
            most = spec->samples_hz;
    }
    return most;
}

static void hz_tell(struct agent_policies *policies)
{
    loop_timer_cancel(policies->settings.loop, &policies->hz_timer);
    uint64_t wanted = hz_wanted(policies);
    if (wanted == policies->hz || policies->settings.samples_hz == NULL)
        return;
    policies->hz = wanted;
    policies->settings.samples_hz(policies->settings.context, wanted);
}

static void hz_calm(void *context)
{
    struct agent_policies *policies = context;
    policies->hz_timer = NULL; /* one-shot */
    hz_tell(policies);
}

/* A process has come or gone. */
static void hz_look(struct agent_policies *policies)
{
    bool lower = hz_wanted(policies) < policies->hz;
    if (lower && policies->hz_timer == NULL)
        policies->hz_timer =
            loop_timer_add(policies->settings.loop, HZ_CALM_MS, 0, hz_calm, policies);
    if (!lower || policies->hz_timer == NULL)
        hz_tell(policies);
}

/* ---- the set ---- */

static void set_free(struct policy *set, size_t count)
{
    for (size_t i = 0; i < count; i++)
        policy_spec_free(&set[i].spec);
    free(set);
}

/* SKEIN_OK; SKEIN_INVALID: some are left out; SKEIN_NO_MEMORY: nothing is made. */
static int set_parse(const cJSON *array, struct policy **out, size_t *count, char *error,
                     size_t error_bytes)
{
    struct policy *set = calloc((size_t)cJSON_GetArraySize(array) + 1, sizeof *set);
    int status = set != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    *count = 0;
    for (const cJSON *item = array->child; item != NULL && set != NULL; item = item->next) {
        char why[256];
        int read = policy_spec_new(item, &set[*count].spec, why, sizeof why);
        if (read == SKEIN_NO_MEMORY) {
            set_free(set, *count);
            return read;
        }
        *count += read == SKEIN_OK;
        if (read == SKEIN_OK)
            continue;
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "name");
        const char *text = cJSON_IsString(name) ? name->valuestring : "without a name";
        log_warn("policies", "left out one that this agent does not understand", "policy", text,
                 "reason", why, NULL);
        if (status == SKEIN_OK)
            snprintf(error, error_bytes, "policy %s: %s", text, why);
        status = SKEIN_INVALID;
    }
    *out = set;
    return status;
}

static int set_take(struct agent_policies *policies, uint64_t generation, const cJSON *array,
                    char *error, size_t error_bytes)
{
    struct policy *set = NULL;
    size_t count = 0;
    int status = set_parse(array, &set, &count, error, error_bytes);
    if (status == SKEIN_NO_MEMORY)
        return status;
    policies_end(policies);
    set_free(policies->set, policies->count);
    policies->set = set;
    policies->count = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t limit = set[i].spec->agent_cpu_percent;
        set[i].over = limit != 0 && policies->cpu_percent > limit;
        for (size_t j = 0; j < policies->process_count; j++)
            sample_begin(policies, &set[i], policies->processes[j]);
    }
    cpu_watch(policies);
    hz_tell(policies);
    agent_policies_report(policies);
    uplink_set_policies_generation(policies->settings.uplink, generation);
    log_info("policies", "in force", "generation", log_fmt("%" PRIu64, generation), "policies",
             log_fmt("%zu", count), NULL);
    return status;
}

int agent_policies_set(struct agent_policies *policies, uint64_t generation, const cJSON *array,
                       char *error, size_t error_bytes)
{
    int status = set_take(policies, generation, array, error, error_bytes);
    if (status != SKEIN_NO_MEMORY)
        set_store(policies->settings.worker, policies->settings.folder, "policies", generation,
                  array);
    return status;
}

void agent_policies_attached(struct agent_policies *policies, struct process *process)
{
    if (!array_grow(policies->processes, policies->process_count + 1, &policies->process_cap)) {
        log_error("policies", "out of memory: a process is not sampled", "service",
                  process->service, NULL);
        return;
    }
    policies->processes[policies->process_count++] = process_ref(process);
    for (size_t i = 0; i < policies->count; i++)
        sample_begin(policies, &policies->set[i], process);
    hz_look(policies);
}

void agent_policies_gone(struct agent_policies *policies, const struct process *process)
{
    struct sample *sample, *next;
    for (sample = TAILQ_FIRST(&policies->samples); sample != NULL; sample = next) {
        next = TAILQ_NEXT(sample, link);
        if (sample->process != process)
            continue;
        TAILQ_REMOVE(&policies->samples, sample, link);
        sample_free(sample);
    }
    hz_look(policies);
    for (size_t i = 0; i < policies->process_count; i++) {
        if (policies->processes[i] != process)
            continue;
        process_unref(&policies->processes[i]);
        policies->processes[i] = policies->processes[--policies->process_count];
        return;
    }
}

int agent_policies_new(const struct agent_policies_settings *settings, struct agent_policies **out)
{
    *out = NULL;
    struct agent_policies *policies = calloc(1, sizeof *policies);
    if (policies == NULL)
        return SKEIN_NO_MEMORY;
    policies->settings = *settings;
    TAILQ_INIT(&policies->samples);
    uint64_t generation = 0;
    char why[256];
    cJSON *array = set_load(settings->folder, "policies", &generation);
    if (array != NULL)
        (void)set_take(policies, generation, array, why, sizeof why);
    cJSON_Delete(array);
    *out = policies;
    return SKEIN_OK;
}

void agent_policies_free(struct agent_policies **policies_p)
{
    struct agent_policies *policies = *policies_p;
    if (policies == NULL)
        return;
    *policies_p = NULL;
    policies_end(policies);
    loop_timer_cancel(policies->settings.loop, &policies->cpu_timer);
    loop_timer_cancel(policies->settings.loop, &policies->hz_timer);
    for (size_t i = 0; i < policies->process_count; i++)
        process_unref(&policies->processes[i]);
    free(policies->processes);
    set_free(policies->set, policies->count);
    free(policies);
}
