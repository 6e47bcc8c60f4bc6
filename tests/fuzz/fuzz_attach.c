/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets of a service to the agent's socket, with descriptors: no text that an agent passes on
 * holds a control character, and no descriptor stays behind. A packet is how it is sent (its number
 * of descriptors; whether its head is right), its type and length, how many bytes of it follow, and
 * these; the others are 0.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "attach.h"
#include "attach_proto.h"
#include "fuzz_target.h"
#include "log.h"

#define HEAD_IS_RIGHT 0x80
#define FDS_MAX       10
#define PACKET_MAX    1024
#define TURNS         6

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* ---- the agent ---- */

static void text_check(const char *text)
{
    for (; *text != '\0'; text++)
        require((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void on_process(void *context, struct process *p)
{
    (void)context;
    text_check(p->service);
    text_check(p->labels);
}

static void on_refused(void *context, const struct process *p, int status)
{
    (void)context;
    require(status < 0);
    text_check(p->service);
}

static void on_snapshot(void *context, struct process *p, const char *reason)
{
    on_process(context, p);
    text_check(reason);
}

static void on_heartbeat(void *context, struct process *p)
{
    on_process(context, p);
    text_check(p->heartbeat.why);
}

static int on_watch(void *context, const struct attach_watch *ask, const struct ucred *asker,
                    char *text, size_t bytes)
{
    (void)context;
    require(asker->pid > 0);
    require(strnlen(ask->service, sizeof ask->service) < sizeof ask->service);
    require(strnlen(ask->labels, sizeof ask->labels) < sizeof ask->labels);
    require(bytes > 0);
    text[0] = '\0';
    return SKEIN_DENIED;
}

static void stop(void *context)
{
    loop_stop(context);
}

static void turn(struct loop *loop)
{
    for (int i = 0; i < TURNS; i++)
        require(loop_post(loop, stop, loop) == SKEIN_OK && loop_run(loop) == SKEIN_OK);
}

/* ---- the service ---- */

static void packet_send(int fd, int ring, uint8_t how, uint8_t *bytes, size_t n)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control = {0};
    size_t count = how % (FDS_MAX + 1);
    int fds[FDS_MAX];
    for (size_t i = 0; i < FDS_MAX; i++)
        fds[i] = ring;
    struct iovec part = {bytes, n};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, count * sizeof(int));
    }
    (void)sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void packets_send(int fd, int ring, struct loop *loop, const uint8_t *in, size_t n)
{
    while (n >= 4) {
        uint8_t packet[PACKET_MAX] = {0}, how = in[0] & 0x7f;
        size_t bytes = (size_t)(in[1] & 3) << 8 | in[2], held = in[3] < n - 4 ? in[3] : n - 4;
        memcpy(packet, in + 4, held);
        struct attach_head head = {ATTACH_MAGIC, ATTACH_VERSION, in[1] >> 2 & 7};
        if (in[0] & HEAD_IS_RIGHT)
            memcpy(packet, &head, sizeof head);
        packet_send(fd, ring, how, packet, bytes);
        turn(loop);
        in += 4 + held;
        n -= 4 + held;
    }
}

/* ---- both ---- */

static char path[64];
static struct host_page_owner *host; /* for all runs: it measures the clock first */

static void folder_remove(void)
{
    (void)unlink(path);
    *strrchr(path, '/') = '\0';
    (void)rmdir(path);
    host_page_free(&host);
}

static void begin(void)
{
    char folder[] = "/tmp/skein-fuzz.XXXXXX";
    require(mkdtemp(folder) != NULL);
    strcat(strcpy(path, folder), "/a");
    atexit(folder_remove);
    log_configure(LOG_LEVEL_ERROR, false);
    require(host_page_new(1, &host) == SKEIN_OK);
}

static void run(const uint8_t *bytes, size_t n, int ring)
{
    struct loop *loop;
    struct attach *attach;
    char error[256];
    const struct attach_settings settings = {.socket_path = path,
                                             .agent_id = 7,
                                             .epoch = 1,
                                             .ring_bytes = 65536,
                                             .ring_bytes_max = 1 << 20,
                                             .total_ring_bytes_max = 4 << 20,
                                             .mode = SKEIN_MODE_CIRCULAR,
                                             .max_processes = 4};
    const struct attach_hooks hooks = {.attached = on_process,
                                       .refused = on_refused,
                                       .snapshot = on_snapshot,
                                       .heartbeat = on_heartbeat,
                                       .gone = on_process,
                                       .watch = on_watch};
    require(loop_new(&loop) == SKEIN_OK);
    require(attach_new(loop, host, &settings, &hooks, &attach, error, sizeof error) == SKEIN_OK);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    require(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    packets_send(fd, ring, loop, bytes, n);
    close(fd);
    turn(loop);
    attach_free(&attach);
    loop_free(&loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (path[0] == '\0')
        begin();
    int ring = memfd_create("no ring", MFD_CLOEXEC);
    require(ring >= 0 && ftruncate(ring, 65536) == 0);
    run(bytes, n, ring);
    close(ring);
    int lowest = dup(0); /* as low as the ring's was: nothing is left open */
    require(lowest == ring);
    close(lowest);
    return 0;
}
