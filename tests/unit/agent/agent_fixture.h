/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent's core in a test: host page, loop in a thread of its own, attach socket in a folder that
 * goes away. What happened is counted under a lock, for wait_until. Included by tests of agent/.
 */
#ifndef AGENT_FIXTURE_H
#define AGENT_FIXTURE_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "cutter.h"
#include "partition_reader.h"
#include "support.h"
#include "trace_file.h"

struct fixture_refused {
    struct process_uid uid;
    uint32_t pid;
    uint64_t start_ns;
    char service[128];
};

struct agent_fixture {
    char *folder, *path;
    struct host_page_owner *host;
    struct loop *loop;
    struct attach *attach;
    struct attach_settings settings;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    /* under lock */
    unsigned attached, refused, gone, snapshots, heartbeats;
    int last_status;
    struct fixture_refused last_refused;
    bool last_ok;
    struct process *last; /* referenced; of the latest `attached` */
    enum process_state last_state;
    struct agent_counters counters;
    char reason[128];
};

static inline void fixture_attached(void *context, struct process *p)
{
    struct agent_fixture *f = context;
    pthread_mutex_lock(&f->lock);
    f->attached++;
    process_unref(&f->last);
    f->last = process_ref(p);
    pthread_mutex_unlock(&f->lock);
}

static inline void fixture_snapshot(void *context, struct process *p, const char *reason)
{
    (void)p;
    struct agent_fixture *f = context;
    pthread_mutex_lock(&f->lock);
    f->snapshots++;
    strcpy(f->reason, reason);
    pthread_mutex_unlock(&f->lock);
}

static inline void fixture_heartbeat(void *context, struct process *p)
{
    struct agent_fixture *f = context;
    pthread_mutex_lock(&f->lock);
    f->heartbeats++;
    f->last_ok = p->heartbeat.ok;
    strcpy(f->reason, p->heartbeat.why);
    pthread_mutex_unlock(&f->lock);
}

static inline void fixture_gone(void *context, struct process *p)
{
    struct agent_fixture *f = context;
    pthread_mutex_lock(&f->lock);
    f->gone++;
    f->last_state = process_state(p);
    pthread_mutex_unlock(&f->lock);
}

static inline void *fixture_run(void *context)
{
    struct agent_fixture *f = context;
    loop_run(f->loop);
    return NULL;
}

static inline void fixture_refused(void *context, const struct process *p, int status)
{
    struct agent_fixture *f = context;
    pthread_mutex_lock(&f->lock);
    f->refused++;
    f->last_status = status;
    f->last_refused = (struct fixture_refused){p->uid, p->pid, p->start_ns, ""};
    strcpy(f->last_refused.service, p->service);
    pthread_mutex_unlock(&f->lock);
}

/* Its socket is there, and nobody looks. */
static inline void fixture_agent_listen(struct agent_fixture *f)
{
    char error[256] = "";
    const struct attach_hooks hooks = {.context = f,
                                       .attached = fixture_attached,
                                       .refused = fixture_refused,
                                       .snapshot = fixture_snapshot,
                                       .heartbeat = fixture_heartbeat,
                                       .gone = fixture_gone};
    f->settings.socket_path = f->path;
    ck_assert_int_eq(loop_new(&f->loop), SKEIN_OK);
    ck_assert_msg(attach_new(f->loop, f->host, &f->settings, &hooks, &f->attach, error,
                             sizeof(error)) == SKEIN_OK,
                  "%s", error);
}

static inline void fixture_agent_run(struct agent_fixture *f)
{
    ck_assert_int_eq(pthread_create(&f->thread, NULL, fixture_run, f), 0);
    f->running = true;
}

/* The agent's half, over a folder and host page that stay: so an agent can die and come back. */
static inline void fixture_agent_start(struct agent_fixture *f)
{
    fixture_agent_listen(f);
    fixture_agent_run(f);
}

static inline void fixture_agent_stop(struct agent_fixture *f)
{
    if (!f->running)
        return;
    f->running = false;
    loop_stop(f->loop);
    pthread_join(f->thread, NULL);
    attach_count(f->attach, &f->counters);
    attach_free(&f->attach);
    loop_free(&f->loop);
}

static inline struct agent_fixture *fixture_new(uint64_t ring_bytes)
{
    struct agent_fixture *f = calloc(1, sizeof(*f));
    f->folder = temp_dir_new();
    f->path = path_join(f->folder, "agent.sock");
    pthread_mutex_init(&f->lock, NULL);
    ck_assert_int_eq(host_page_new(UINT64_C(1) << 32, &f->host), SKEIN_OK);
    f->settings = (struct attach_settings){.agent_id = 7,
                                           .epoch = 1,
                                           .ring_bytes = ring_bytes,
                                           .ring_bytes_max = UINT64_C(64) << 20,
                                           .total_ring_bytes_max = UINT64_C(256) << 20,
                                           .mode = SKEIN_MODE_CIRCULAR,
                                           .enabled_groups = UINT64_MAX,
                                           .max_processes = 64};
    return f;
}

static inline void fixture_free(struct agent_fixture *f)
{
    fixture_agent_stop(f);
    process_unref(&f->last);
    host_page_free(&f->host);
    temp_dir_free(&f->folder);
    free(f->path);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

static inline unsigned fixture_get(struct agent_fixture *f, const unsigned *counter)
{
    pthread_mutex_lock(&f->lock);
    unsigned value = *counter;
    pthread_mutex_unlock(&f->lock);
    return value;
}

static inline bool fixture_has_attached(void *context)
{
    struct agent_fixture *f = context;
    return fixture_get(f, &f->attached) > 0;
}
static inline bool fixture_has_gone(void *context)
{
    struct agent_fixture *f = context;
    return fixture_get(f, &f->gone) > 0;
}
static inline bool fixture_has_snapshot(void *context)
{
    struct agent_fixture *f = context;
    return fixture_get(f, &f->snapshots) > 0;
}

/* One cut of everything that the ring holds. The caller finishes *result. */
static inline int fixture_cut(struct host_page_owner *host, struct process *p,
                              struct cut_marks *marks, uint64_t from_ns, struct cut_result *result)
{
    const struct cut_request request = {.process = p,
                                        .from_ns = from_ns,
                                        .to_ns = UINT64_MAX / 2,
                                        .marks = marks,
                                        .epoch = 1,
                                        .host = "test"};
    return partition_cut(host, &request, result);
}

/* What a partition holds, by the reader. */
struct partition_sum {
    uint64_t regions, begins, instants, counters, logs, opens, losses, end_onlys, events;
    uint64_t lost, first_ns, last_ns, last_u64;
    uint64_t steps; /* "step" instants whose number followed the one before */
    uint64_t jumps; /* and those where it did not */
};

static inline void event_sum(const struct trace_event *event, struct partition_sum *sum)
{
    sum->regions += event->kind == TRACE_REGION;
    sum->begins += event->kind == TRACE_BEGIN;
    sum->instants += event->kind == TRACE_INSTANT;
    sum->counters += event->kind == TRACE_COUNTER;
    sum->logs += event->kind == TRACE_LOG;
    sum->opens += event->kind == TRACE_OPEN;
    sum->end_onlys += event->kind == TRACE_END_ONLY;
    sum->losses += event->kind == TRACE_LOSS;
    if (event->kind == TRACE_LOSS)
        sum->lost += event->loss->events;
    if (event->kind == TRACE_INSTANT && strcmp(event->type->name, "step") == 0) {
        uint64_t number = event->args[0].u64;
        if (sum->steps + sum->jumps > 0 && number != sum->last_u64 + 1)
            sum->jumps++;
        else
            sum->steps++;
        sum->last_u64 = number;
    }
}

static inline struct partition_sum partition_sum_get(const struct buf *bytes)
{
    char error[256] = "";
    struct partition_reader *reader = NULL;
    struct partition_sum sum = {0};
    ck_assert_msg(partition_check(bytes->data, bytes->len, error, sizeof(error)) == SKEIN_OK, "%s",
                  error);
    ck_assert_msg(partition_reader_new(bytes->data, bytes->len, &reader, error, sizeof(error)) ==
                      SKEIN_OK,
                  "%s", error);
    struct trace_event event;
    int status;
    while ((status = partition_reader_next(reader, &event)) == 1)
        event_sum(&event, &sum);
    ck_assert_msg(status == 0, "%s", partition_reader_error(reader));
    sum.events = partition_reader_footer(reader)->events;
    partition_reader_free(&reader);
    return sum;
}

#endif
