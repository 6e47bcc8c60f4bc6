/* SPDX-License-Identifier: Apache-2.0
 * skeind, the program: killed with SIGKILL while captures run, it has lost nothing that it has
 * acknowledged, and what read a trace for it is gone; it stops by SIGTERM, reloads by SIGHUP, and refuses a wrong config. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask_client.h"
#include "clock.h"
#include "collector_fixture.h"
#include "support.h"

#define ROUNDS 5

static pid_t start_skeind(const struct fixture *f, const char *out_file)
{
    const char *const argv[] = {SKEIND, "--config", f->config_path, NULL};
    struct spawn_options options = {.out_file = out_file};
    return spawn(argv, &options);
}

static bool answers(void *context)
{
    const struct fixture *f = context;
    int fd = tcp_connect(f->http_port);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* A fixture without the collector in this process. */
static void prepare(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    http_client_init();
    f->folder = temp_dir_new();
    f->data_port = free_port();
    f->control_port = free_port();
    f->http_port = free_port();
    fixture_write_config(f);
    wire_agent_open(&f->agent, 7, "host-a", f->control_port, f->data_port);
}

static void finish(struct fixture *f)
{
    wire_agent_close(&f->agent);
    free(f->config_path);
    temp_dir_free(&f->folder);
}

START_TEST(what_was_acknowledged_survives_a_kill)
{
    struct fixture f;
    char error[256], id[33], path[96];
    prepare(&f);
    for (unsigned round = 0; round < ROUNDS; round++) {
        pid_t pid = start_skeind(&f, NULL);
        ck_assert(wait_until(answers, &f, 0));
        cJSON_Delete(wire_agent_hello(&f.agent));
        wire_agent_processes(&f.agent, 1, 1, "shop");
        /* Everything of the earlier rounds is there, and the last one's report still counts. */
        for (unsigned old = 0; old < round; old++) {
            snprintf(path, sizeof path, "/api/v1/captures/01a100000000000000000000000000%02x", old);
            if (old + 1 == round)
                wire_agent_upload(&f.agent, 1, old, path + strlen("/api/v1/captures/"), 0);
            wait_for_text(&f, path, "status", "complete");
        }
        snprintf(id, sizeof id, "01a100000000000000000000000000%02x", round);
        ck_assert(wire_agent_report(
            &f.agent, wire_fired(&f.agent, id, 1, NULL, clock_realtime_ns()), error, sizeof error));
        cJSON *target = wire_target(&f.agent, id, 1, "uploading", round + 1, 1);
        while (cJSON_GetArraySize(cJSON_GetObjectItem(target, "partitions")) > 1)
            cJSON_DeleteItemFromArray(cJSON_GetObjectItem(target, "partitions"), 0);
        ck_assert(wire_agent_report(&f.agent, target, error, sizeof error));
        ck_assert_int_eq(spawn_stop(pid, SIGKILL, 0), 128 + SIGKILL);
    }
    finish(&f);
}
END_TEST

START_TEST(rules_and_their_generation_survive_a_kill)
{
    struct fixture f;
    static const char rule[] =
        "{\"selector\":\"\",\"when\":{\"health\":{\"tcp\":{\"address\":\"127.0.0.1:1\"}}}}";
    prepare(&f);
    for (unsigned round = 1; round <= 4; round++) {
        pid_t pid = start_skeind(&f, NULL);
        ck_assert(wait_until(answers, &f, 0));
        cJSON *json = call_json(&f, "PUT", "/api/v1/rules/a", rule, round == 1 ? 201 : 200);
        ck_assert_double_eq(number_at(json, "state.generation"), round);
        cJSON_Delete(json);
        ck_assert_int_eq(spawn_stop(pid, SIGKILL, 0), 128 + SIGKILL);
    }
    finish(&f);
}
END_TEST

START_TEST(program_drains_on_sigterm_and_reloads_on_sighup)
{
    struct fixture f;
    prepare(&f);
    char *out = path_join(f.folder, "out");
    pid_t pid = start_skeind(&f, out);
    ck_assert(wait_until(answers, &f, 0));
    kill(pid, SIGHUP);
    cJSON_Delete(call_json(&f, "GET", "/readyz", NULL, 200));
    ck_assert_int_eq(spawn_stop(pid, SIGTERM, 0), 0);
    free(out);
    finish(&f);
}
END_TEST

START_TEST(wrong_config_is_refused_with_the_key)
{
    struct fixture f;
    size_t n;
    prepare(&f);
    char *out = path_join(f.folder, "out");
    file_write_text(f.config_path, "{\"http\":{\"threads\":\"many\"}}");
    const char *const argv[] = {SKEIND, "--check-config", "--config", f.config_path, NULL};
    struct spawn_options options = {.out_file = out};
    ck_assert_int_eq(spawn_wait(spawn(argv, &options), 0), 1);
    char *text = file_read(out, &n);
    ck_assert_ptr_nonnull(strstr(text, "http.threads"));
    free(text);
    const char *const wrong[] = {SKEIND, "--no-such-option", NULL};
    ck_assert_int_eq(spawn_wait(spawn(wrong, &options), 0), 2);
    free(out);
    finish(&f);
}
END_TEST

struct reader {
    uint16_t port;
    const char *capture;
    int fd; /* of the request */
    pid_t skeind, child;
};

/* Asks again where there is an answer already: that nothing of the capture is stored yet, as the report
 * that lists it is taken a moment later. */
static bool has_child(void *context)
{
    struct reader *reader = context;
    struct pollfd answer = {.fd = reader->fd, .events = POLLIN};
    if (children_of(reader->skeind, &reader->child) > 0)
        return true;
    if (poll(&answer, 1, 0) > 0) {
        close(reader->fd);
        reader->fd = ask_send(reader->port, reader->capture, ENDLESS_SQL);
    }
    return false;
}

static bool is_over(void *context)
{
    return is_process_over(((const struct reader *)context)->child);
}

START_TEST(what_reads_a_trace_ends_with_it)
{
    static const char id[] = "01a100000000000000000000000000aa";
    struct fixture f;
    char error[256];
    prepare(&f);
    struct reader reader = {.skeind = start_skeind(&f, NULL)};
    ck_assert(wait_until(answers, &f, 0));
    cJSON_Delete(wire_agent_hello(&f.agent));
    wire_agent_processes(&f.agent, 1, 1, "shop");
    ck_assert(wire_agent_report(&f.agent, wire_fired(&f.agent, id, 1, NULL, clock_realtime_ns()),
                                error, sizeof error));
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 0, id, 0), WIRE_STORED);
    reader.port = f.http_port;
    reader.capture = id;
    reader.fd = ask_send(f.http_port, id, ENDLESS_SQL);
    ck_assert(wait_until(has_child, &reader, 0));
    ck_assert_int_eq(spawn_stop(reader.skeind, SIGKILL, 0), 128 + SIGKILL);
    ck_assert(wait_until(is_over, &reader, 0));
    close(reader.fd);
    finish(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("skeind_kill", what_was_acknowledged_survives_a_kill,
                              rules_and_their_generation_survive_a_kill,
                              what_reads_a_trace_ends_with_it,
                              program_drains_on_sigterm_and_reloads_on_sighup,
                              wrong_config_is_refused_with_the_key, NULL));
}
