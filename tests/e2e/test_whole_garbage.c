/* SPDX-License-Identifier: Apache-2.0
 *
 * Strangers at every door of the running daemons: random bytes, half frames, wrong checksums, huge
 * announced sizes, silence, half-open requests, right frames with hostile JSON. Afterwards both
 * still serve, have not grown without bound and hold no descriptor more.
 * SKEIN_GARBAGE sets the number of connections (default 10000).
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "transport.h"
#include "whole.h"
#include "wire.h"

enum { OPEN_MAX_AT_ONCE = 60, GROWTH_KB = 96 << 10, FRAMES_EACH = 40 };

/* ---- what a process holds ---- */

static size_t descriptors_of(pid_t pid)
{
    char path[64];
    size_t count = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static size_t resident_kb(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    char *text = file_read(path, NULL);
    ck_assert_ptr_nonnull(text);
    const char *line = strstr(text, "VmRSS:");
    size_t kb = line ? strtoul(line + 6, NULL, 10) : 0;
    free(text);
    return kb;
}

/* ---- bytes ---- */

static size_t put_random(uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)rand();
    return n;
}

static size_t put_u64_big(uint8_t *out, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(v >> (56 - 8 * i));
    return 8;
}

/* nanomsg's greeting of a REQ socket on tcp, its length prefix, a request id, and a frame of ours:
 * each in turn damaged, cut or exaggerated. */
static size_t put_nanomsg(uint8_t *out, int kind)
{
    static const uint8_t greeting[8] = {0, 'S', 'P', 0, 0, 48, 0, 0};
    struct buf frame = {0};
    size_t n = sizeof greeting, body = (size_t)rand() % 200;
    uint8_t noise[256];
    memcpy(out, greeting, n);
    wire_frame_put(&frame, (uint8_t)(rand() % 20), (uint64_t)rand(), noise,
                   put_random(noise, body));
    if (kind == 0)
        frame.data[20] ^= 0xff; /* the checksum */
    if (kind == 1)
        frame.data[4] = (uint8_t)rand(); /* the version */
    uint64_t announced = kind == 2 ? UINT64_C(1) << (rand() % 64) : 4 + frame.len;
    n += put_u64_big(out + n, announced);
    n += put_u64_big(out + n, UINT64_C(0x80000000) << 32) - 4;
    memcpy(out + n, frame.data, frame.len);
    n += kind == 3 ? (size_t)rand() % frame.len : frame.len; /* half a frame */
    buf_fini(&frame);
    return n;
}

static size_t put_http(uint8_t *out, size_t cap, int kind)
{
    static const char *const texts[] = {
        "GET /api/v1/captures HTTP/1.1\r\nHost: x\r\n",
        "POST /api/v1/captures HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n{",
        "POST /api/v1/captures HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        "Content-Length: 40\r\n\r\n{\"selector\":",
        "POST /api/v1/captures HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
        "GET /api/v1/partitions/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /api/v1/partitions?limit=-1&cursor=%00%ff HTTP/1.1\r\nHost: x\r\n\r\n",
        "PUT /api/v1/rules/%2e%2e%2f HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        "Content-Length: 2\r\n\r\n[[",
        "\r\n\r\n\r\n",
        "GET"};
    int n = snprintf((char *)out, cap, "%s", texts[(size_t)kind % (sizeof texts / sizeof *texts)]);
    return (size_t)n;
}

/* ---- connections ---- */

static int seqpacket_connect(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ck_assert_uint_lt(strlen(path), sizeof a.sun_path);
    strcpy(a.sun_path, path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* One stranger: connects to one of the doors and says something that is wrong, or nothing. */
static int stranger_open(const struct whole *w, int i)
{
    uint8_t bytes[4096];
    size_t n = 0;
    int door = i % 4, kind = rand();
    int fd = door == 3 ? seqpacket_connect(w->socket)
                       : tcp_connect(door == 0   ? w->data
                                     : door == 1 ? w->control
                                                 : w->http);
    if (fd < 0)
        return -1; /* its queue is full: it may turn strangers away, not end */
    if (kind % 5 == 0)
        n = 0; /* silence */
    else if (kind % 5 == 1 || door == 3)
        n = put_random(bytes, 1 + (size_t)rand() % sizeof bytes);
    else if (door == 2)
        n = put_http(bytes, sizeof bytes, rand());
    else
        n = put_nanomsg(bytes, rand() % 5);
    if (door == 3 && n >= 8 && kind % 2) /* the right head, and anything behind it */
        memcpy(bytes, "1KSA\1\0\1\0", 8);
    (void)!send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    return fd;
}

static void strangers_come(const struct whole *w, int count)
{
    int open[OPEN_MAX_AT_ONCE];
    memset(open, -1, sizeof open);
    for (int i = 0; i < count; i++) {
        int *slot = &open[rand() % OPEN_MAX_AT_ONCE];
        if (*slot >= 0)
            close(*slot);
        *slot = stranger_open(w, i);
    }
    for (size_t i = 0; i < OPEN_MAX_AT_ONCE; i++)
        if (open[i] >= 0)
            close(open[i]);
}

/* ---- frames that are right and mean harm ---- */

static const char *const hostile[] = {
    "",
    "{",
    "[]",
    "null",
    "{}",
    "{\"agent\":5}",
    "{\"agent\":\"zz\"}",
    "{\"agent\":\"1111111111111111\"}",
    "{\"agent\":\"1111111111111111\",\"host\":\"\\u0000\",\"epoch\":-1}",
    "{\"agent\":\"1111111111111111\",\"kind\":\"processes\",\"version\":\"99999999999999999999\","
    "\"page\":4294967295,\"pages\":4294967295,\"processes\":[]}",
    "{\"agent\":\"1111111111111111\",\"kind\":\"processes\",\"version\":1,\"page\":0,\"pages\":1,"
    "\"processes\":[{\"process\":\"x\"},7,null,[]]}",
    "{\"agent\":\"1111111111111111\",\"kind\":\"fired\",\"capture\":\"00\",\"trigger\":\"health\","
    "\"process\":\"\",\"at_ns\":1e308,\"reason\":\"\",\"pre_ms\":1e99,\"post_ms\":-5}",
    "{\"agent\":\"1111111111111111\",\"kind\":\"target\",\"capture\":"
    "\"ffffffffffffffffffffffffffffffff\",\"process\":\"ffffffffffffffffffffffffffffffff\","
    "\"state\":\"uploading\",\"partitions\":[{\"epoch\":\"18446744073709551615\",\"first\":-1,"
    "\"events\":1e30,\"bytes\":{}}],\"ledger\":[],\"gaps\":{}}",
    "{\"agent\":\"1111111111111111\",\"kind\":\"rule\",\"rule\":\"../../x\",\"process\":0}",
    "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":[[[[[[[[[[[[[[[[[[[[",
};

static void frames_send(const char *address, size_t max, int count)
{
    struct transport *t;
    ck_assert_int_eq(transport_dial(address, max, &t), SKEIN_OK);
    for (int i = 0; i < count; i++) {
        struct buf frame = {0};
        const char *body = hostile[(size_t)rand() % (sizeof hostile / sizeof *hostile)];
        uint8_t type = (uint8_t)(rand() % 18);
        wire_frame_put(&frame, type, (uint64_t)rand(), body, strlen(body));
        void *message = transport_alloc(frame.len);
        ck_assert_ptr_nonnull(message);
        memcpy(message, frame.data, frame.len);
        if (transport_send(t, message, NULL, 2000) != SKEIN_OK)
            transport_alloc_free(message);
        buf_fini(&frame);
    }
    /* Closing throws away what is still on its way; the answers to some show that it got there. */
    struct transport_message answer;
    while (transport_receive(t, 50, &answer) == SKEIN_OK)
        transport_message_free(&answer);
    transport_free(&t);
}

static void frames_come(const struct whole *w, int count)
{
    char data[64], control[64];
    (void)snprintf(data, sizeof data, "tcp://127.0.0.1:%u", w->data);
    (void)snprintf(control, sizeof control, "tcp://127.0.0.1:%u", w->control);
    for (int i = 0; i < count; i += 2 * FRAMES_EACH) {
        frames_send(data, WIRE_DATA_MAX, FRAMES_EACH);
        frames_send(control, WIRE_CONTROL_MAX, FRAMES_EACH);
    }
}

/* ---- afterwards ---- */

/* That the garbage was looked at, not just dropped on its way. */
static unsigned long metric(const struct whole *w, const char *name)
{
    struct buf text = {0};
    ck_assert_int_eq(whole_http(w, "GET", "/metrics", NULL, &text), 200);
    buf_put_u8(&text, 0);
    const char *line = strstr((const char *)text.data, name);
    ck_assert_ptr_nonnull(line);
    unsigned long value = strtoul(line + strlen(name), NULL, 10);
    buf_fini(&text);
    return value;
}

struct settle {
    const struct whole *w;
    size_t collector, agent; /* descriptors before; a few may be the daemons' own doing */
};

static bool has_settled(void *context)
{
    const struct settle *s = context;
    return descriptors_of(s->w->collector) <= s->collector + 8 &&
           descriptors_of(s->w->agent) <= s->agent + 4;
}

START_TEST(garbage_at_every_door_leaves_both_serving)
{
    struct whole w;
    struct load load;
    struct load_options options = {.service = "load", .threads = 2, .burst = 10, .pause_us = 1000};
    const char *text = getenv("SKEIN_GARBAGE");
    int count = text ? (int)strtol(text, NULL, 10) : 10000;
    unsigned seed = (unsigned)time(NULL);
    fprintf(stderr, "seed %u\n", seed);
    srand(seed);
    whole_init(&w, "\"http\":{\"receive_ms\":1000,\"idle_ms\":2000}",
               "\"ring\":{\"bytes\":1048576}");
    whole_collector_start(&w);
    whole_agent_start(&w);
    load_start(&w, &options, &load);
    whole_wait_live(&w, "service%3Dload", 1);
    strangers_come(&w, 500); /* what the first strangers make the daemons allocate stays */
    frames_come(&w, 500);
    whole_serves(&w, "service=load");
    size_t collector_kb = resident_kb(w.collector), agent_kb = resident_kb(w.agent);
    struct settle settle = {&w, descriptors_of(w.collector), descriptors_of(w.agent)};
    strangers_come(&w, count / 2);
    frames_come(&w, count / 2);
    whole_serves(&w, "service=load");
    ck_assert_msg(wait_until(has_settled, &settle, 0),
                  "descriptors: collector %zu then %zu, agent %zu then %zu", settle.collector,
                  descriptors_of(w.collector), settle.agent, descriptors_of(w.agent));
    ck_assert_uint_gt(metric(&w, "\nskein_ingest_malformed_total "), (unsigned)count / 10);
    ck_assert_uint_gt(metric(&w, "\nskein_control_malformed_total "), (unsigned)count / 10);
    size_t collector_end_kb = resident_kb(w.collector), agent_end_kb = resident_kb(w.agent);
    fprintf(stderr, "collector %zu then %zu KiB, agent %zu then %zu KiB\n", collector_kb,
            collector_end_kb, agent_kb, agent_end_kb);
    ck_assert_uint_lt(collector_end_kb, collector_kb + GROWTH_KB);
    ck_assert_uint_lt(agent_end_kb, agent_kb + GROWTH_KB);
    load_free(&load);
    whole_fini(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_garbage");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 280);
    tcase_add_test(c, garbage_at_every_door_leaves_both_serving);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
