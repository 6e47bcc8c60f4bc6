/* SPDX-License-Identifier: Apache-2.0
 * Ten thousand connections of strangers to the control and HTTP ports, with garbage, silence or
 * half a request: the collector goes on serving an agent and the API. SKEIN_STRESS_CONNECTIONS sets
 * how many. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

int main(void)
{
    return suite_run(suite_of("collector_strangers", collector_serves_on_among_strangers, NULL));
}
