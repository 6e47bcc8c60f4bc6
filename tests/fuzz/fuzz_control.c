/* SPDX-License-Identifier: Apache-2.0
 * The control port of strangers: the first byte picks the message type, the rest is its body, as a
 * sound frame and, with the top bit set, as raw bytes. A known agent says hello first, so that
 * reports reach the tables. What is read of a body is put again and read as the same. */
#include <stdlib.h>
#include <string.h>

#include "fleet.h"
#include "fuzz_again.h"
#include "fuzz_target.h"
#include "heartbeat.h"
#include "hello.h"
#include "wire.h"

static const char hello[] = "{\"agent\":\"0000000000000007\",\"host\":\"h\",\"epoch\":1}";

static int on_report(void *context, struct fleet_agent *agent, const struct report *report,
                     const cJSON *json, char *error, size_t error_bytes)
{
    (void)context;
    (void)agent;
    (void)json;
    (void)error;
    (void)error_bytes;
    if (report->kind == REPORT_TARGET) /* every list is readable */
        for (size_t i = 0; i < report->target.gap_count; i++)
            if (report->target.gaps[i].reason == NULL)
                abort();
    return SKEIN_OK;
}

static void try_bodies(const void *body, size_t n)
{
    char error[256];
    cJSON *json = control_body_parse(body, n, error, sizeof error);
    if (json == NULL)
        return;
    FUZZ_AGAIN(hello, json);
    FUZZ_AGAIN(heartbeat, json);
    FUZZ_AGAIN(command_ack, json);
    FUZZ_AGAIN_OWNER(report_processes, json);
    FUZZ_AGAIN_OWNER(report_fired, json);
    FUZZ_AGAIN_OWNER(report_target, json);
    FUZZ_AGAIN(report_rule, json);
    FUZZ_AGAIN(report_policy, json);
    cJSON_Delete(json);
}

static void handle(struct fleet *f, uint8_t type, const void *body, size_t n)
{
    struct transport_peer peer = {.len = 8};
    struct buf frame = {0};
    wire_frame_put(&frame, type, 1, body, n);
    if (frame.status == SKEIN_OK)
        fleet_handle(f, frame.data, frame.len, &peer);
    buf_fini(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct fleet_settings settings = {.address = "tcp://127.0.0.1:1",
                                      .lease_ms = 1000,
                                      .heartbeat_ms = 100,
                                      .max_agents = 8,
                                      .max_processes_per_agent = 16,
                                      .keep_gone_ms = 1000};
    struct fleet_hooks hooks = {.report = on_report};
    struct transport_peer peer = {.len = 8};
    struct fleet *f;
    if (n == 0 || fleet_new(&settings, NULL, &f) != SKEIN_OK)
        return 0;
    try_bodies(bytes + 1, n - 1);
    fleet_set_hooks(f, &hooks);
    control_lock(fleet_control(f));
    handle(f, WIRE_HELLO, hello, sizeof hello - 1);
    if (bytes[0] & 0x80)
        fleet_handle(f, bytes + 1, n - 1, &peer);
    else
        handle(f, bytes[0] & 0x1f, bytes + 1, n - 1);
    handle(f, WIRE_HEARTBEAT, hello, sizeof hello - 1);
    size_t at = 0;
    for (struct fleet_process *p; (p = fleet_process_next(f, &at)) != NULL;)
        if (fleet_process_find(f, &p->uid) != p || fleet_agent_find(f, p->agent) == NULL)
            abort();
    control_unlock(fleet_control(f));
    fleet_free(&f);
    return 0;
}
