/* SPDX-License-Identifier: Apache-2.0
 *
 * skein sched: where the time of each thread went by the scheduler's account, what it waited for
 * longest, and who had the CPUs. One thread; the memory of two partitions, and some numbers for each
 * thread.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli_out.h"
#include "cli_subject.h"
#include "cli_trace.h"
#include "cmd.h"
#include "json.h"
#include "sched_sums.h"

struct options {
    struct cli_collector collector;
    bool json;
};

static const struct cli_option options[] = {CLI_OUTPUT(struct options),
                                            CLI_COLLECTOR(struct options), CLI_OPTIONS_END};

/* ---- as JSON; the text is made from it ---- */

static cJSON *longest_json(const struct sched_longest *longest, bool runnable)
{
    cJSON *json = cJSON_CreateObject();
    json_add_u64(json, "ts_ns", longest->time_ns);
    json_add_time(json, "began", longest->time_ns);
    json_add_u64(json, "dur_ns", longest->dur_ns);
    json_add_flag(json, "cut", longest->cut);
    cJSON_AddStringToObject(json, runnable ? "why" : "state", longest->more);
    if (longest->other != 0 || longest->context[0] != '\0') {
        cJSON *other = cJSON_AddObjectToObject(json, runnable ? "instead" : "waker");
        cJSON_AddNumberToObject(other, "tid", longest->other);
        cJSON_AddStringToObject(other, "name", longest->other_name);
        if (runnable)
            json_add_u64(other, "ns", longest->other_ns);
        else
            cJSON_AddStringToObject(other, "context", longest->context);
    }
    return json;
}

static cJSON *thread_json(const struct sched_thread_sums *t)
{
    static const char *const states[SCHED_BLOCKED_KINDS] = {"S", "D", "T", "other"};
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "service", t->service);
    cJSON_AddStringToObject(json, "host", t->host);
    cJSON_AddNumberToObject(json, "pid", t->pid);
    cJSON_AddStringToObject(json, "thread", t->name);
    cJSON_AddNumberToObject(json, "tid", t->tid);
    if (t->totals)
        cJSON_AddTrueToObject(json, "since_it_began");
    else
        json_add_u64(json, "span_ns", t->to_ns - t->from_ns);
    json_add_u64(json, "run_ns", t->run_ns);
    json_add_u64(json, "runnable_ns", t->runnable_ns);
    if (!t->totals) {
        cJSON *blocked = cJSON_AddObjectToObject(json, "blocked_ns");
        for (size_t i = 0; i < SCHED_BLOCKED_KINDS; i++)
            json_add_u64(blocked, states[i], t->blocked_ns[i]);
    }
    json_add_u64(json, "runs", t->runs);
    json_add_u64(json, "preempted", t->preempted);
    if (t->runnable.dur_ns > 0)
        cJSON_AddItemToObject(json, "longest_runnable", longest_json(&t->runnable, true));
    if (t->blocked.dur_ns > 0)
        cJSON_AddItemToObject(json, "longest_blocked", longest_json(&t->blocked, false));
    return json;
}

static cJSON *user_json(const struct sched_user *user)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddNumberToObject(json, "pid", user->pid);
    cJSON_AddStringToObject(json, "comm", user->comm);
    cJSON_AddStringToObject(json, "host", user->host);
    json_add_u64(json, "cpu_ns", user->cpu_ns);
    json_add_u64(json, "window_ns", user->window_ns);
    json_add_u64(json, "threads", user->threads);
    return json;
}

static cJSON *sums_json(struct sched_sums *sums)
{
    const struct sched_thread_sums *threads;
    const struct sched_user *users;
    uint64_t records, lost_ns = sched_sums_lost(sums, &records);
    cJSON *json = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(json, "threads");
    size_t count = sched_sums_threads(sums, &threads);
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(list, thread_json(&threads[i]));
    list = cJSON_AddArrayToObject(json, "cpu_users");
    count = sched_sums_users(sums, &users);
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(list, user_json(&users[i]));
    json_add_u64(json, "lost_ns", lost_ns);
    json_add_u64(json, "lost_records", records);
    return json;
}

/* ---- as text ---- */

static void other_put(struct buf *text, const cJSON *other, const char *word)
{
    uint64_t tid = json_u64_at(other, "tid");
    const char *context = json_text_at(other, "context");
    if (other == NULL)
        return;
    buf_printf(text, " %s %s", word, json_text_at(other, "name"));
    if (tid != 0)
        buf_printf(text, " (%" PRIu64 ")", tid);
    if (context[0] != '\0' && context[0] != 't')
        buf_printf(text, ", %s", context);
}

/* "12.0 ms, cp (771) ran" */
static void longest_say(cJSON *row, const char *member, const char *as, const char *word)
{
    const cJSON *longest = json_at(row, member);
    struct buf text = {0};
    if (longest == NULL)
        return;
    text_put_duration(&text, json_u64_at(longest, "dur_ns"));
    if (cJSON_IsTrue(json_at(longest, "cut")))
        buf_put(&text, "+", 1);
    if (json_text_at(longest, "state")[0] != '\0')
        buf_printf(&text, " %s", json_text_at(longest, "state"));
    other_put(&text, json_at(longest, word[0] == 'b' ? "waker" : "instead"), word);
    cJSON_AddStringToObject(row, as, text_of(&text));
    buf_fini(&text);
}

static int sums_show(const cJSON *json)
{
    static const struct table_column threads[] = {
        {"THREAD", "thread", TABLE_TEXT},
        {"TID", "tid", TABLE_NUMBER},
        {"SERVICE", "service", TABLE_TEXT | TABLE_SPARE},
        {"RAN", "run_ns", TABLE_NS},
        {"WAITED FOR A CPU", "runnable_ns", TABLE_NS},
        {"ASLEEP", "blocked_ns.S", TABLE_NS},
        {"DISK", "blocked_ns.D", TABLE_NS},
        {"STOPPED", "blocked_ns.T", TABLE_NS | TABLE_SPARE},
        {"LONGEST WAIT FOR A CPU", "waited", TABLE_TEXT},
        {"LONGEST BLOCK", "blocked", TABLE_TEXT},
        {NULL, NULL, TABLE_TEXT}};
    static const struct table_column users[] = {{"CPU TIME", "cpu_ns", TABLE_NS},
                                                {"IN", "window_ns", TABLE_NS},
                                                {"PROCESS", "comm", TABLE_TEXT},
                                                {"PID", "pid", TABLE_NUMBER},
                                                {"THREADS", "threads", TABLE_NUMBER | TABLE_SPARE},
                                                {"HOST", "host", TABLE_TEXT | TABLE_SPARE},
                                                {NULL, NULL, TABLE_TEXT}};
    cJSON *row;
    cJSON_ArrayForEach(row, json_at(json, "threads")) {
        longest_say(row, "longest_runnable", "waited", "instead:");
        longest_say(row, "longest_blocked", "blocked", "by");
    }
    int status = table_print(json_at(json, "threads"), false, threads,
                             "the scheduler was not recorded (skein info says why)");
    if (status == CLI_OK && json_u64_at(json, "lost_ns") > 0)
        printf("\n%" PRIu64 " records of the scheduler are lost; nothing is known of that time.\n",
               json_u64_at(json, "lost_records"));
    if (status != CLI_OK || cJSON_GetArraySize(json_at(json, "cpu_users")) == 0)
        return status == CLI_OK ? out_close() : status;
    printf("\nWho had the CPUs\n");
    return table_print(json_at(json, "cpu_users"), false, users, "none");
}

/* ---- */

static int sums_read(struct trace_walk *walk, struct sched_sums *sums)
{
    struct trace_step step;
    struct trace_event event;
    int status = SKEIN_OK;
    while (status == SKEIN_OK && trace_walk_next(walk, &step))
        while (status == SKEIN_OK && trace_walk_event(walk, &event))
            status = sched_sums_add(sums, partition_reader_info(step.reader), &event);
    return status;
}

static int file_tell(const char *file, bool as_json)
{
    struct trace_walk *walk = NULL;
    struct sched_sums *sums = NULL;
    int status = trace_walk_new(file, &walk);
    if (status == CLI_OK &&
        (sched_sums_new(&sums) != SKEIN_OK || sums_read(walk, sums) != SKEIN_OK)) {
        say_error("out of memory");
        status = CLI_FAILED;
    }
    if (status == CLI_OK) {
        cJSON *json = sums_json(sums);
        status = as_json ? json_show(json) : sums_show(json);
        cJSON_Delete(json);
    }
    if (status == CLI_OK && !trace_walk_sound(walk))
        status = CLI_FAILED;
    sched_sums_free(&sums);
    trace_walk_free(&walk);
    return status;
}

static int sched_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct trace_subject subject;
    int status = subject_open(o->collector, call->arguments[0], &subject);
    if (status == CLI_OK)
        status = file_tell(subject.file, o->json);
    subject_close(&subject);
    return status;
}

const struct cli_command cmd_sched = {
    .name = "sched",
    .arguments = "FILE|CAPTURE",
    .summary = "Why threads did not run: waits for a CPU and who had it, blocks and who ended them",
    .details =
        "By the kernel's records of each change of thread, which captures hold where the agent may\n"
        "read them, and files that skein import made. A + says that a wait was longer than is known.\n",
    .examples = "  skein sched 0193a5c0\n"
                "  skein sched redis.skein -o json | jq '.threads[0].longest_runnable'\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = sched_run,
};
