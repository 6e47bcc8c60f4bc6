/* SPDX-License-Identifier: Apache-2.0
 * Ten thousand connections of strangers to the control and HTTP ports, with garbage, silence or
 * half a request: the collector goes on serving an agent and the API. SKEIN_STRESS_CONNECTIONS sets
 * how many. */
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector_fixture.h"
#include "support.h"

#define OPEN_AT_ONCE 100

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* What a stranger says. */
static size_t garbage(unsigned kind, unsigned *random, char *out, size_t n)
{
    static const char *const texts[] = {
        "GET / HTTP/1.1\r\n\r\n", "GET /api/v1/captures HTTP/1.1\r\nHost: a\r\nRange: bytes=",
        "POST /api/v1/captures HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
        ("PUT /api/v1/rules/%00%ff HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
         "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"),
        "\0SP\0\0\x30\0\0\xff\xff\xff\xff\xff\xff\xff\xff"};
    if (kind < 5) {
        size_t length = kind == 4 ? 16 : strlen(texts[kind]);
        memcpy(out, texts[kind], length);
        return length;
    }
    if (kind == 5)
        return 0;
    for (size_t i = 0; i < n; i++)
        out[i] = (char)next_random(random);
    return n;
}

START_TEST(collector_serves_on_among_strangers)
{
    struct fixture f;
    char bytes[512];
    unsigned random = 99;
    int open_fds[OPEN_AT_ONCE];
    const char *wish = getenv("SKEIN_STRESS_CONNECTIONS");
    unsigned total = wish != NULL ? (unsigned)strtoul(wish, NULL, 10) : 10000;
    fixture_start(&f);
    memset(open_fds, 0xff, sizeof open_fds);
    for (unsigned i = 0; i < total; i++) {
        int *slot = &open_fds[i % OPEN_AT_ONCE];
        if (*slot >= 0)
            close(*slot);
        *slot = tcp_connect(i % 2 == 0 ? f.control_port : f.http_port);
        size_t n = garbage(next_random(&random) % 8, &random, bytes, sizeof bytes);
        if (*slot >= 0 && n > 0)
            (void)!send(*slot, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (i % 1000 == 999)
            cJSON_Delete(wire_agent_beat(&f.agent, 0, 0));
    }
    cJSON_Delete(wire_agent_hello(&f.agent));
    wire_agent_processes(&f.agent, 1, 1, "shop");
    for (unsigned i = 0; i < OPEN_AT_ONCE; i++)
        if (open_fds[i] >= 0)
            close(open_fds[i]);
    cJSON_Delete(call_json(&f, "GET", "/readyz", NULL, 200));
    wait_for_text(&f, "/api/v1/processes", "items.0.service", "shop");
    fixture_stop(&f);
}
END_TEST

/* ---- places of agents ---- */

enum { PLACES = 64, OURS = 40 };

/* As a user without rights: says HELLO as one agent after the other, each by a connection of its own
 * and with a process. Ends when it is killed. */
static void places_take(int ports)
{
    static struct wire_agent agents[2 * PLACES];
    uint16_t port[2];
    if (read(ports, port, sizeof port) != sizeof port || setgroups(0, NULL) != 0 ||
        setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
        _exit(1);
    for (unsigned i = 0; i < 2 * PLACES; i++) {
        char host[32];
        snprintf(host, sizeof host, "taken-%u", i);
        wire_agent_open(&agents[i], 1000 + i, strdup(host), port[0], port[1]);
        cJSON_Delete(wire_agent_hello(&agents[i]));
        wire_agent_processes(&agents[i], 100 + i, 1, "taken");
    }
    for (;;)
        pause();
}

/* Whether they have all that they can get: no connection more, or no place. */
static bool have_all(void *context)
{
    const struct fixture *f = context;
    struct fleet *fleet = f->collector.fleet;
    size_t at = 0, count = 0;
    control_lock(fleet_control(fleet));
    while (fleet_agent_next(fleet, &at) != NULL)
        count++;
    control_unlock(fleet_control(fleet));
    return transport_refused() > 0 || count >= PLACES;
}

/* None of them says a word any more. */
static void leases_end(struct fixture *f)
{
    struct fleet *fleet = f->collector.fleet;
    size_t at = 0;
    control_lock(fleet_control(fleet));
    for (struct fleet_agent *a; (a = fleet_agent_next(fleet, &at)) != NULL;)
        if (a->id >= 1000 && a->id < 2000)
            fleet_agent_end(fleet, a);
    control_unlock(fleet_control(fleet));
}

/* As an agent of root's; welcome, or the test fails. */
static void place_find(struct fixture *f, unsigned i)
{
    static struct wire_agent agents[OURS];
    char host[32];
    snprintf(host, sizeof host, "ours-%u", i);
    wire_agent_open(&agents[i], 2000 + i, strdup(host), f->control_port, f->data_port);
    cJSON_Delete(wire_agent_hello(&agents[i]));
}

START_TEST(no_user_of_the_host_holds_all_places_of_agents)
{
    int ports[2], status;
    struct fixture f;
    if (geteuid() != 0)
        return; /* nobody else can be played */
    ck_assert_int_eq(pipe2(ports, O_CLOEXEC), 0);
    pid_t pid = fork(); /* before the transport has threads */
    if (pid == 0)
        places_take(ports[0]);
    ck_assert_int_gt(pid, 0);
    fixture_start_with(&f, NULL, ",\"agents\":{\"max\":64,\"heartbeat_ms\":1000}");
    const uint16_t port[2] = {f.control_port, f.data_port};
    ck_assert_int_eq(write(ports[1], port, sizeof port), sizeof port);
    ck_assert(wait_until(have_all, &f, 0));
    for (unsigned i = 0; i < PLACES / 8 - 1; i++) /* there is an agent of the fixture */
        place_find(&f, i);
    /* Who gave way is silent, and forgotten where places are needed. */
    for (unsigned i = PLACES / 8 - 1; i < OURS; i++) {
        leases_end(&f);
        place_find(&f, i);
    }
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("collector_strangers", collector_serves_on_among_strangers,
                              no_user_of_the_host_holds_all_places_of_agents, NULL));
}
