/* SPDX-License-Identifier: Apache-2.0
 * The agent's socket from the other side: honest peers, silent ones, garbage, and rings that are
 * none. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "agent_clock.h"
#include "agent_fixture.h"
#include "attach_proto.h"
#include "attach_socket.h"
#include "clock.h"
#include "ring_memory.h"

static int peer_connect(const struct agent_fixture *f)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, f->path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static struct attach_hello hello_of(const char *service)
{
    struct attach_hello hello = {.head = {ATTACH_MAGIC, ATTACH_VERSION, ATTACH_HELLO}};
    strcpy(hello.service, service);
    return hello;
}

static void packet_send(int fd, const void *bytes, size_t n, const int *fds, size_t count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(16 * sizeof(int))];
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)bytes, n};
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
    sendmsg(fd, &message, MSG_NOSIGNAL);
}

struct answer {
    ssize_t bytes; /* 0: closed */
    struct attach_welcome welcome;
    int fds[3];
    size_t fd_count;
};

static struct answer answer_get(int fd)
{
    struct answer a = {.fds = {-1, -1, -1}};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct iovec part = {&a.welcome, sizeof(a.welcome)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    ck_assert_int_eq(poll(&wait, 1, (int)support_deadline_ms()), 1);
    a.bytes = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    for (struct cmsghdr *c = a.bytes > 0 ? CMSG_FIRSTHDR(&message) : NULL; c != NULL;
         c = CMSG_NXTHDR(&message, c)) {
        a.fd_count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(a.fds, CMSG_DATA(c), a.fd_count * sizeof(int));
    }
    return a;
}

static void answer_close(struct answer *a)
{
    for (size_t i = 0; i < a->fd_count; i++)
        close(a->fds[i]);
    a->fd_count = 0;
}

static struct answer attach_as(int fd, struct attach_hello hello, int ring)
{
    hello.has_ring = ring >= 0;
    packet_send(fd, &hello, sizeof(hello), &ring, ring >= 0);
    return answer_get(fd);
}

START_TEST(a_peer_gets_a_sealed_ring_and_pages_it_cannot_write)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    fixture_agent_start(f);
    int fd = peer_connect(f);
    struct attach_hello hello = hello_of("che\nckout");
    snprintf(hello.labels, sizeof hello.labels, "note=<a=b>,zone=a");
    struct answer a = attach_as(fd, hello, -1);
    ck_assert_int_eq(a.welcome.status, SKEIN_OK);
    ck_assert_uint_eq(a.fd_count, 3);
    ck_assert_uint_eq(a.welcome.ring_bytes, UINT64_C(1) << 20);
    ck_assert_ptr_ne(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, a.fds[0], 0),
                     MAP_FAILED);
    ck_assert_int_ne(ftruncate(a.fds[0], 4096), 0);
    for (int i = 1; i < 3; i++) {
        ck_assert_ptr_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, a.fds[i], 0),
                         MAP_FAILED);
        ck_assert_int_ne(pwrite(a.fds[i], "x", 1, 0), 1);
        ck_assert_int_ne(fallocate(a.fds[i], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096),
                         0);
        ck_assert_ptr_ne(mmap(NULL, 4096, PROT_READ, MAP_SHARED, a.fds[i], 0), MAP_FAILED);
    }
    ck_assert(wait_until(fixture_has_attached, f, 0));
    ck_assert_str_eq(f->last->service, "che?ckout");
    char own[32]; /* its user is the kernel's word */
    int n = snprintf(own, sizeof own, "uid=%u,", (unsigned)geteuid());
    ck_assert_msg(strncmp(f->last->labels, own, (size_t)n) == 0, "%s", f->last->labels);
    const char *claims = strstr(f->last->labels, "note=");
    ck_assert_ptr_nonnull(claims);
    ck_assert_str_eq(claims, "note=_a_b_,zone=a"); /* as no collector refuses it */
    ck_assert_uint_eq(f->last->pid, (uint32_t)getpid());
    ck_assert_uint_gt(f->last->start_ns, 0);
    answer_close(&a);
    close(fd);
    fixture_free(f);
}
END_TEST

static bool heartbeat_came(void *context)
{
    struct agent_fixture *f = context;
    return fixture_get(f, &f->heartbeats) > 0;
}

START_TEST(a_heartbeat_is_taken_cleaned_and_one_of_a_wrong_size_ends_the_connection)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    fixture_agent_start(f);
    int fd = peer_connect(f);
    struct answer a = attach_as(fd, hello_of("checkout"), -1);
    ck_assert_uint_eq(a.welcome.takes, ATTACH_TAKES_HEALTH | ATTACH_TAKES_LEAVE);
    struct attach_health health = {.head = {ATTACH_MAGIC, ATTACH_VERSION, ATTACH_HEALTH}, .ok = 0};
    memset(health.why, 'w', sizeof(health.why)); /* without an end */
    health.why[1] = '\n';
    packet_send(fd, &health, sizeof(health), NULL, 0);
    ck_assert(wait_until(heartbeat_came, f, 0));
    ck_assert(!f->last_ok);
    ck_assert_uint_eq(strlen(f->reason), sizeof(health.why) - 1);
    ck_assert_int_eq(strncmp(f->reason, "w?w", 3), 0);
    packet_send(fd, &health, sizeof(health) - 1, NULL, 0);
    ck_assert_int_le(answer_get(fd).bytes, 0);
    ck_assert_uint_eq(fixture_get(f, &f->heartbeats), 1);
    answer_close(&a);
    close(fd);
    fixture_free(f);
}
END_TEST

START_TEST(garbage_is_dropped_and_the_agent_serves_on)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    fixture_agent_start(f);
    uint8_t junk[2048];
    unsigned seed = 99;
    for (int i = 0; i < 300; i++) {
        for (size_t k = 0; k < sizeof(junk); k++)
            junk[k] = (uint8_t)rand_r(&seed);
        struct attach_hello hello = hello_of("x");
        if (i % 3 == 0) /* nearly a HELLO */
            memcpy(junk, &hello, sizeof(hello.head));
        if (i % 7 == 0)
            memset(hello.service, 'x', sizeof(hello.service));
        int fd = peer_connect(f);
        const int fds[9] = {0, 1, 2, 0, 1, 2, 0, 1, 2};
        if (i % 7 == 0)
            packet_send(fd, &hello, sizeof(hello), NULL, 0);
        else
            packet_send(fd, junk, 1 + (size_t)rand_r(&seed) % sizeof(junk), fds,
                        i % 5 == 0 ? 9u : (size_t)i % 2);
        if (i % 4 != 0)
            ck_assert_int_le(answer_get(fd).bytes, 0);
        close(fd);
    }
    int fd = peer_connect(f);
    struct answer a = attach_as(fd, hello_of("honest"), -1);
    ck_assert_int_eq(a.welcome.status, SKEIN_OK);
    answer_close(&a);
    fixture_agent_stop(f);
    ck_assert_uint_ge(f->counters.attach_malformed, 300);
    ck_assert_uint_eq(f->counters.attach_accepted, 1);
    close(fd);
    fixture_free(f);
}
END_TEST

/* Of a process that is here, and of one that has gone; what no honest count can be is none. */
START_TEST(stacks_that_processes_left_out_are_counted)
{
    static const uint64_t told[] = {7, UINT64_MAX};
    for (int i = 0; i < 4; i++) {
        struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
        fixture_agent_start(f);
        int fd = peer_connect(f);
        struct answer a = attach_as(fd, hello_of("leaver"), -1);
        ck_assert_int_eq(a.welcome.status, SKEIN_OK);
        answer_close(&a);
        ck_assert(wait_until(fixture_has_attached, f, 0));
        struct ring_process_record *record =
            (void *)(f->last->ring + f->last->geometry.process_off);
        __atomic_store_n(&record->stacks_missed, told[i % 2], __ATOMIC_RELAXED);
        if (i >= 2) {
            close(fd);
            ck_assert(wait_until(fixture_has_gone, f, 0));
        }
        fixture_agent_stop(f);
        ck_assert_uint_eq(f->counters.stacks_missed, i % 2 == 0 ? 7 : 0);
        if (i < 2)
            close(fd);
        fixture_free(f);
    }
}
END_TEST

START_TEST(silent_connections_crowd_out_each_other_not_honest_peers)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    fixture_agent_start(f);
    int silent[200];
    for (int i = 0; i < 200; i++)
        silent[i] = peer_connect(f);
    int fd = peer_connect(f);
    struct answer a = attach_as(fd, hello_of("honest"), -1);
    ck_assert_int_eq(a.welcome.status, SKEIN_OK);
    answer_close(&a);
    ck_assert_int_le(answer_get(silent[0]).bytes, 0); /* the oldest went */
    for (int i = 0; i < 200; i++)
        close(silent[i]);
    close(fd);
    fixture_agent_stop(f);
    /* 64 stay, of which the honest one may have been one; they may not have been looked at */
    ck_assert_uint_ge(f->counters.attach_silent, 136);
    ck_assert_uint_eq(f->counters.attach_malformed, 0);
    fixture_free(f);
}
END_TEST

static int ring_fd_new(uint64_t bytes, int seals)
{
    int fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
    fcntl(fd, F_ADD_SEALS, seals);
    return fd;
}

START_TEST(a_ring_that_is_none_is_refused_and_a_new_one_given)
{
    const int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    fixture_agent_start(f);
    int rings[] = {ring_fd_new(1 << 20, sealed),                      /* zeros: no header */
                   ring_fd_new(1 << 20, F_SEAL_SHRINK | F_SEAL_SEAL), /* could grow */
                   ring_fd_new(100, sealed),                          /* too small */
                   ring_fd_new(UINT64_C(1) << 31, sealed),            /* too large */
                   ring_fd_new(1 << 20, sealed | F_SEAL_WRITE),       /* cannot be pinned */
                   open("/dev/zero", O_RDWR | O_CLOEXEC)};
    for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
        int fd = peer_connect(f);
        struct answer a = attach_as(fd, hello_of("liar"), rings[i]);
        ck_assert_int_eq(a.welcome.status, SKEIN_OK);
        ck_assert_uint_eq(a.welcome.ring_bytes, UINT64_C(1) << 20);
        answer_close(&a);
        close(fd);
        close(rings[i]);
    }
    fixture_agent_stop(f);
    ck_assert_uint_eq(f->counters.attach_adopted, 0);
    fixture_free(f);
}
END_TEST

/* Its header is right, and says that its last chunks were in use: it takes a few pages. */
START_TEST(a_ring_that_boasts_gets_no_more_memory_than_a_new_one)
{
    const uint64_t bytes = UINT64_C(64) << 20;
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    const struct ring_identity identity = {.pid = 1,
                                           .clock = host_page_clock(f->host),
                                           .shift = host_page_shift(f->host),
                                           .service = "boaster"};
    struct ring_geometry g;
    struct stat st;
    uint8_t *ring;
    int ring_fd, fd;
    fixture_agent_start(f);
    ck_assert_int_eq(ring_geometry_init(&g, SKEIN_MODE_CIRCULAR, bytes), SKEIN_OK);
    ck_assert_int_eq(ring_memory_new(&g, &identity, &ring_fd, &ring), SKEIN_OK);
    uint64_t last[2] = {ring_small_offset(&g, ring_small_count(&g) - 1),
                        ring_big_offset(&g, ring_big_count(&g) - 1)};
    for (int i = 0; i < 2; i++)
        ((struct ring_chunk *)(void *)(ring + last[i]))->state = RING_CHUNK_FULL;
    ((struct ring_header *)(void *)ring)->durable_data_end = UINT64_MAX;
    fd = peer_connect(f);
    struct answer a = attach_as(fd, hello_of("boaster"), ring_fd);
    ck_assert_int_eq(a.welcome.status, SKEIN_OK);
    ck_assert_uint_eq(a.welcome.ring_bytes, bytes);
    ck_assert_int_eq(fstat(ring_fd, &st), 0);
    ck_assert_uint_lt((uint64_t)st.st_blocks * 512, UINT64_C(2) << 20);
    answer_close(&a);
    close(fd);
    munmap(ring, bytes);
    close(ring_fd);
    fixture_free(f);
}
END_TEST

START_TEST(an_adopted_ring_loses_the_pins_of_the_agent_before)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    fixture_agent_start(f);
    int fd = peer_connect(f);
    struct answer a = attach_as(fd, hello_of("svc"), -1);
    uint8_t *ring = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, a.fds[0], 0);
    struct ring_geometry g;
    ck_assert_int_eq(ring_geometry_init(&g, SKEIN_MODE_CIRCULAR, 1 << 20), SKEIN_OK);
    uint32_t last = ring_big_count(&g) - 1;
    uint32_t *word = (uint32_t *)(void *)(ring + ring_big_offset(&g, last));
    *word = RING_CHUNK_FULL | RING_CHUNK_PIN | 3u << RING_CHUNK_EPOCH_SHIFT;
    close(fd);
    fixture_agent_stop(f);
    fixture_agent_start(f);
    fd = peer_connect(f);
    struct answer b = attach_as(fd, hello_of("svc"), a.fds[0]);
    ck_assert_int_eq(b.welcome.status, SKEIN_OK);
    ck_assert_uint_eq(*word, RING_CHUNK_FULL | 3u << RING_CHUNK_EPOCH_SHIFT);
    fixture_agent_stop(f);
    ck_assert_uint_eq(f->counters.attach_adopted, 1);
    answer_close(&a);
    answer_close(&b);
    close(fd);
    munmap(ring, 1 << 20);
    fixture_free(f);
}
END_TEST

static bool attached_twice(void *context)
{
    struct agent_fixture *f = context;
    return fixture_get(f, &f->attached) >= 2;
}

START_TEST(a_process_that_attaches_anew_never_repeats_a_sequence)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    fixture_agent_start(f);
    int fd = peer_connect(f);
    struct answer a = attach_as(fd, hello_of("svc"), -1);
    answer_close(&a);
    ck_assert(wait_until(fixture_has_attached, f, 0));
    __atomic_fetch_add(&f->last->next_sequence, 3, __ATOMIC_RELAXED);
    struct process_uid uid = f->last->uid;
    close(fd); /* without BYE, and we live on: gone, but not crashed */
    ck_assert(wait_until(fixture_has_gone, f, 0));
    ck_assert_int_eq(f->last_state, PROCESS_ENDED);
    fd = peer_connect(f);
    a = attach_as(fd, hello_of("svc"), -1);
    answer_close(&a);
    ck_assert(wait_until(attached_twice, f, 0));
    ck_assert(process_uid_equal(&uid, &f->last->uid));
    ck_assert_uint_ge(__atomic_load_n(&f->last->next_sequence, __ATOMIC_RELAXED), 3);
    close(fd);
    fixture_free(f);
}
END_TEST

/* Attaches this process anew, after its ring before held so many chunks. Returns since when that is
 * missing; 0: nothing is. */
static uint64_t replaced_from(uint64_t chunks)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    fixture_agent_start(f);
    struct loss_gap gap = {0};
    for (int i = 0; i < 2; i++) {
        int fd = peer_connect(f);
        struct answer a = attach_as(fd, hello_of("svc"), -1);
        answer_close(&a);
        ck_assert(wait_until(i ? attached_twice : fixture_has_attached, f, 0));
        struct ring_header *header = (struct ring_header *)(void *)f->last->ring;
        struct ring_process_record *record =
            (void *)(f->last->ring + f->last->geometry.process_off);
        skein_store64(&record->began_ns, clock_monotonic_ns());
        if (process_unrecorded(f->last, 0, UINT64_MAX, &gap))
            ck_assert_int_eq(gap.reason, LOSS_REPLACED);
        else
            gap.from_ns = 0;
        ck_assert(i == 1 || gap.from_ns == 0);
        ck_assert(gap.from_ns == 0 || gap.to_ns == f->last->attached_ns); /* at the latest */
        skein_store64(&header->small_cursor, chunks);
        close(fd);
        ck_assert(wait_until(fixture_has_gone, f, 0));
    }
    fixture_free(f);
    return gap.from_ns;
}

/* As a program does that is only there to become another: nice, env, setpriv. */
START_TEST(a_ring_without_a_record_is_replaced_without_a_loss)
{
    ck_assert_uint_eq(replaced_from(0), 0);
    ck_assert_uint_gt(replaced_from(1), 0);
}
END_TEST

static bool attached_three_times(void *context)
{
    struct agent_fixture *f = context;
    return fixture_get(f, &f->attached) >= 3;
}

/* The agent that saw the exec ends; the next one adopts the ring that was given behind it. */
START_TEST(an_adopted_ring_says_what_the_one_before_it_had)
{
    bool (*const attached[])(void *) = {fixture_has_attached, attached_twice, attached_three_times};
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    struct loss_gap gap = {0}, before = {0};
    struct answer a = {.fds = {-1}};
    fixture_agent_start(f);
    for (int i = 0; i < 3; i++) {
        int fd = peer_connect(f), ring = i == 2 ? a.fds[0] : -1;
        struct answer next = attach_as(fd, hello_of("svc"), ring);
        answer_close(&a);
        a = next;
        ck_assert(wait_until(attached[i], f, 0));
        struct ring_header *header = (struct ring_header *)(void *)f->last->ring;
        struct ring_process_record *record =
            (void *)(f->last->ring + f->last->geometry.process_off);
        if (i < 2)
            skein_store64(&record->began_ns, clock_monotonic_ns());
        skein_store64(&header->small_cursor, 1);
        before = gap;
        ck_assert(process_unrecorded(f->last, 0, UINT64_MAX, &gap) == (i > 0));
        if (i == 1)
            fixture_agent_stop(f);
        if (i == 1)
            fixture_agent_start(f);
        close(fd);
    }
    ck_assert_int_eq(gap.reason, LOSS_REPLACED);
    ck_assert_uint_le(gap.from_ns, before.from_ns + 1000);
    ck_assert_uint_ge(gap.from_ns + 1000000, before.from_ns);
    ck_assert_uint_le(gap.to_ns, before.to_ns + 1000000);
    ck_assert_uint_ge(gap.to_ns + 1000000, before.to_ns);
    fixture_agent_stop(f);
    ck_assert_uint_eq(f->counters.attach_adopted, 1);
    answer_close(&a);
    fixture_free(f);
}
END_TEST

/* Of a process that lived for a minute, had a ring until it was 20 s old, and missed something from
 * missed_s until 50 s, when it had one again (0: nothing): what a window lacks, in seconds. */
static struct loss_gap replaced_lacks(uint64_t missed_s, uint64_t from_s, uint64_t to_s)
{
    const uint64_t s = UINT64_C(1000000000), born_ns = clock_monotonic_ns() - 60 * s;
    const struct ring_identity identity = {.pid = 1, .service = "anew"};
    struct loss_gap gap = {0};
    struct process *p;
    ck_assert_int_eq(process_new(&p), SKEIN_OK);
    ck_assert_int_eq(ring_geometry_init(&p->geometry, SKEIN_MODE_CIRCULAR, 1 << 20), SKEIN_OK);
    ck_assert_int_eq(ring_memory_new(&p->geometry, &identity, &p->ring_fd, &p->ring), SKEIN_OK);
    struct ring_process_record *record = (void *)(p->ring + p->geometry.process_off);
    skein_store64(&record->began_ns, born_ns + 50 * s);
    skein_store64(&record->missed_ns, missed_s != 0 ? born_ns + missed_s * s : 0);
    p->unrecorded = LOSS_REPLACED;
    p->start_ns = agent_clock_at(born_ns);
    p->lacks_from_ns = p->start_ns + 10 * s;
    p->lacks_to_ns = p->start_ns + 20 * s;
    ck_assert_uint_eq(process_lacks_from(p), p->lacks_from_ns);
    /* A ring that holds nothing does not end. */
    ck_assert_uint_eq(process_lacks_to(p, p->start_ns + 55 * s),
                      p->start_ns + (missed_s != 0 ? 50 * s : 20 * s));
    skein_store64(&((struct ring_header *)(void *)p->ring)->small_cursor, 1);
    ck_assert_uint_eq(process_lacks_to(p, p->start_ns + 55 * s), p->start_ns + 55 * s);
    if (!process_unrecorded(p, p->start_ns + from_s * s, p->start_ns + to_s * s, &gap))
        gap = (struct loss_gap){p->start_ns, p->start_ns, LOSS_REPLACED};
    gap.from_ns = (gap.from_ns - p->start_ns) / s;
    gap.to_ns = (gap.to_ns - p->start_ns) / s;
    process_unref(&p);
    return gap;
}

START_TEST(behind_the_end_of_a_ring_that_was_replaced_nothing_is_lacked)
{
    const struct {
        uint64_t missed, from, to, lacks_from, lacks_to;
    } all[] = {
        {0, 0, 60, 10, 20},  {0, 15, 60, 15, 20}, {0, 21, 60, 0, 0},    {0, 21, 49, 0, 0},
        {40, 0, 60, 10, 50}, {40, 0, 30, 10, 20}, {40, 21, 60, 40, 50}, {40, 21, 39, 0, 0},
        {15, 0, 60, 10, 50}, {40, 51, 60, 0, 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct loss_gap gap = replaced_lacks(all[i].missed, all[i].from, all[i].to);
        ck_assert_int_eq(gap.reason, LOSS_REPLACED);
        ck_assert_uint_eq(gap.from_ns, all[i].lacks_from);
        ck_assert_uint_eq(gap.to_ns, all[i].lacks_to);
    }
}
END_TEST

/* A process says some milliseconds after it has its ring that events go to it. */
START_TEST(a_ring_that_nothing_goes_to_yet_lacks_all_until_now)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    fixture_agent_start(f);
    struct loss_gap gap = {0};
    int fd = peer_connect(f);
    struct answer a = attach_as(fd, hello_of("svc"), -1);
    answer_close(&a);
    ck_assert(wait_until(fixture_has_attached, f, 0));
    uint64_t now_ns = agent_clock_ns();
    ck_assert(process_unrecorded(f->last, now_ns - 1000000, now_ns, &gap));
    ck_assert_int_eq(gap.reason, LOSS_LATE);
    ck_assert_uint_eq(gap.to_ns, now_ns);
    struct ring_process_record *record = (void *)(f->last->ring + f->last->geometry.process_off);
    skein_store64(&record->began_ns, clock_monotonic_ns());
    ck_assert(!process_unrecorded(f->last, 0, UINT64_MAX, &gap)); /* and had missed nothing */
    /* A thread that had looked for a ring before stood still, and says behind it what it missed. */
    uint64_t began_ns = skein_load64(&record->began_ns);
    skein_store64(&record->missed_ns, began_ns + 1000);
    ck_assert(process_unrecorded(f->last, 0, UINT64_MAX, &gap));
    ck_assert_uint_eq(gap.from_ns, agent_clock_at(began_ns));
    ck_assert_uint_eq(gap.to_ns, agent_clock_at(began_ns + 1000));
    close(fd);
    fixture_free(f);
}
END_TEST

START_TEST(a_ring_that_nothing_went_to_lacks_no_more_than_its_process_lived)
{
    const struct ring_identity identity = {.pid = 1, .service = "young"};
    struct loss_gap gap = {0};
    struct process *p;
    ck_assert_int_eq(process_new(&p), SKEIN_OK);
    ck_assert_int_eq(ring_geometry_init(&p->geometry, SKEIN_MODE_CIRCULAR, 1 << 20), SKEIN_OK);
    ck_assert_int_eq(ring_memory_new(&p->geometry, &identity, &p->ring_fd, &p->ring), SKEIN_OK);
    p->unrecorded = LOSS_LATE;
    p->start_ns = agent_clock_ns();
    ck_assert(process_unrecorded(p, 0, UINT64_MAX, &gap));
    ck_assert_uint_eq(gap.to_ns, UINT64_MAX);
    process_set_gone(p, PROCESS_ENDED);
    ck_assert(process_unrecorded(p, 0, UINT64_MAX, &gap));
    ck_assert_uint_eq(gap.from_ns, p->start_ns);
    ck_assert_uint_eq(gap.to_ns, p->gone_ns);
    ck_assert(!process_unrecorded(p, p->gone_ns + 1, UINT64_MAX, &gap));
    process_unref(&p);
}
END_TEST

static bool same_file(int a, int b)
{
    struct stat of_a, of_b;
    ck_assert(fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0);
    return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

START_TEST(a_process_that_leaves_keeps_its_ring_until_it_is_back)
{
    const struct attach_bye leave = {{ATTACH_MAGIC, ATTACH_VERSION, ATTACH_LEAVE}};
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    struct attach_hello back = hello_of("svc");
    back.comes_back = 1;
    fixture_agent_start(f);
    int fd = peer_connect(f);
    struct answer first = attach_as(fd, hello_of("svc"), -1);
    ck_assert(first.welcome.takes & ATTACH_TAKES_LEAVE);
    packet_send(fd, &leave, sizeof(leave), NULL, 0);
    close(fd);
    int silent = peer_connect(f); /* turned away when the grace of others would be over */
    struct answer none = answer_get(silent);
    ck_assert_int_eq(none.bytes, 0);
    close(silent);
    fd = peer_connect(f);
    struct answer second = attach_as(fd, back, -1);
    ck_assert_int_eq(second.welcome.status, SKEIN_OK);
    for (int i = 0; i < 3; i++)
        ck_assert(same_file(first.fds[i], second.fds[i]));
    ck_assert_uint_eq(fixture_get(f, &f->attached), 1);
    ck_assert_uint_eq(fixture_get(f, &f->gone), 0);
    close(fd); /* the connection broke; or exec(): a program that knows nothing of a ring */
    fd = peer_connect(f);
    struct answer third = attach_as(fd, hello_of("svc"), -1);
    ck_assert(!same_file(first.fds[0], third.fds[0]));
    ck_assert(wait_until(fixture_has_gone, f, 0));
    answer_close(&first);
    answer_close(&second);
    answer_close(&third);
    close(fd);
    fixture_free(f);
}
END_TEST

/* The kernel tells of what it has not read before it gives what it said. */
START_TEST(a_process_that_leaves_as_it_comes_back_keeps_its_ring)
{
    const struct attach_bye leave = {{ATTACH_MAGIC, ATTACH_VERSION, ATTACH_LEAVE}};
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    struct attach_hello back = hello_of("svc");
    back.comes_back = 1;
    fixture_agent_start(f);
    int fd = peer_connect(f);
    struct answer first = attach_as(fd, hello_of("svc"), -1);
    packet_send(fd, &leave, sizeof(leave), NULL, 0);
    close(fd);
    for (int i = 0; i < 40; i++) {
        struct pollfd answered = {.events = POLLIN};
        fd = answered.fd = peer_connect(f);
        packet_send(fd, &back, sizeof(back), NULL, 0);
        if (i % 2 == 0)
            ck_assert_int_eq(poll(&answered, 1, (int)support_deadline_ms()), 1);
        packet_send(fd, &leave, sizeof(leave), NULL, 0);
        close(fd);
    }
    int silent = peer_connect(f); /* turned away when a grace would be over */
    struct answer none = answer_get(silent);
    ck_assert_int_eq(none.bytes, 0);
    close(silent);
    fd = peer_connect(f);
    struct answer second = attach_as(fd, back, -1);
    ck_assert(same_file(first.fds[0], second.fds[0]));
    ck_assert_uint_eq(fixture_get(f, &f->attached), 1);
    ck_assert_uint_eq(fixture_get(f, &f->gone), 0);
    answer_close(&first);
    answer_close(&second);
    close(fd);
    fixture_free(f);
}
END_TEST

START_TEST(limits_are_refused_with_a_status_and_counted)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    f->settings.max_processes = 0;
    fixture_agent_start(f);
    int fd = peer_connect(f);
    struct answer a = attach_as(fd, hello_of("svc"), -1);
    ck_assert_int_eq(a.welcome.status, SKEIN_FULL);
    ck_assert_uint_eq(a.fd_count, 0);
    close(fd);
    fixture_agent_stop(f);
    ck_assert_uint_eq(f->counters.attach_refused, 1);
    f->settings.max_processes = 8;
    f->settings.total_ring_bytes_max = 1000;
    fixture_agent_start(f);
    fd = peer_connect(f);
    a = attach_as(fd, hello_of("svc"), -1);
    ck_assert_int_eq(a.welcome.status, SKEIN_FULL);
    close(fd);
    fixture_free(f);
}
END_TEST

static bool three_were_refused(void *context)
{
    struct agent_fixture *f = context;
    return fixture_get(f, &f->refused) == 3;
}

/* A process that says HELLO, as old as that, and ends. */
static pid_t peer_that_ended(const struct agent_fixture *f, struct attach_hello hello,
                             uint32_t age_ms)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        hello.began_ms = age_ms ? (uint32_t)(clock_monotonic_ns() / 1000000) - age_ms : 0;
        int fd = peer_connect(f);
        packet_send(fd, &hello, sizeof(hello), NULL, 0);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    return pid;
}

/* Of an agent that is late. One that says not since when is as one that never came. */
START_TEST(a_process_that_ended_before_its_hello_was_read_is_named)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    struct attach_hello back = hello_of("had a ring");
    back.comes_back = 1;
    fixture_agent_listen(f);
    peer_that_ended(f, hello_of("first"), 100);
    peer_that_ended(f, back, 100);
    peer_that_ended(f, hello_of("silent"), 0);
    peer_that_ended(f, hello_of("second"), 100);
    uint64_t before_ns = agent_clock_ns();
    pid_t pid = peer_that_ended(f, hello_of("la\nst"), 1500);
    uint64_t after_ns = agent_clock_ns();
    fixture_agent_run(f);
    ck_assert(wait_until(three_were_refused, f, 0));
    ck_assert_int_eq(f->last_status, SKEIN_CLOSED);
    ck_assert_str_eq(f->last_refused.service, "la?st");
    ck_assert_uint_eq(f->last_refused.pid, (uint32_t)pid);
    ck_assert_uint_ge(f->last_refused.start_ns, before_ns - UINT64_C(1502000000));
    ck_assert_uint_le(f->last_refused.start_ns, after_ns - UINT64_C(1498000000));
    fixture_agent_stop(f);
    ck_assert_uint_eq(f->refused, 3);
    ck_assert_uint_eq(f->counters.attach_refused, 5);
    fixture_free(f);
}
END_TEST

START_TEST(a_crowd_that_has_spoken_is_answered_by_an_agent_that_was_late)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    const struct attach_hello hello = hello_of("svc");
    int fds[300];
    fixture_agent_listen(f);
    for (int i = 0; i < 300; i++) {
        fds[i] = peer_connect(f);
        packet_send(fds[i], &hello, sizeof(hello), NULL, 0);
    }
    fixture_agent_run(f);
    for (int i = 0; i < 300; i++) {
        struct answer a = answer_get(fds[i]);
        ck_assert_int_eq(a.bytes, sizeof(a.welcome));
        ck_assert_int_eq(a.welcome.status, SKEIN_OK);
        answer_close(&a);
        close(fds[i]);
    }
    fixture_free(f);
}
END_TEST

START_TEST(a_second_agent_leaves_the_first_ones_socket_alone)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    fixture_agent_start(f);
    char error[256] = "";
    struct loop *loop = NULL;
    struct attach *second = NULL;
    const struct attach_hooks hooks = {0};
    ck_assert_int_eq(loop_new(&loop), SKEIN_OK);
    ck_assert_int_eq(attach_new(loop, f->host, &f->settings, &hooks, &second, error, sizeof(error)),
                     SKEIN_BUSY);
    ck_assert_str_ne(error, "");
    loop_free(&loop);
    close(peer_connect(f));
    fixture_free(f);
}
END_TEST

static bool more_snapshots_came(void *context)
{
    struct agent_fixture *f = context;
    return fixture_get(f, &f->snapshots) > 400;
}

START_TEST(a_process_that_asks_in_a_loop_is_made_to_wait)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    fixture_agent_start(f);
    int fd = peer_connect(f);
    struct answer a = attach_as(fd, hello_of("loud"), -1);
    ck_assert_int_eq(a.welcome.status, SKEIN_OK);
    const struct attach_snapshot ask = {.head = {ATTACH_MAGIC, ATTACH_VERSION, ATTACH_SNAPSHOT},
                                        .reason = "again"};
    unsigned sent = 0;
    while (sent < 100000 && send(fd, &ask, sizeof(ask), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        sent++;
    ck_assert_uint_lt(sent, 100000); /* it is not read as fast as it is written */
    ck_assert_uint_lt(fixture_get(f, &f->snapshots), 1000);
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    for (unsigned more = 0; more < 500 && poll(&room, 1, (int)support_deadline_ms()) == 1; more++)
        send(fd, &ask, sizeof(ask), MSG_DONTWAIT | MSG_NOSIGNAL);
    ck_assert(wait_until(more_snapshots_came, f, 0)); /* but it is read */
    answer_close(&a);
    close(fd);
    fixture_free(f);
}
END_TEST

/* Between its bind and its listen nobody answers there. */
START_TEST(the_socket_of_an_agent_that_is_about_to_listen_is_not_taken_over)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    char *lock = path_join(f->folder, "agent.sock.lock");
    int held = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(flock(held, LOCK_EX), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, f->path);
    int first = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(first, (struct sockaddr *)&address, sizeof(address)), 0);
    char error[256] = "";
    struct attach_socket mine;
    ck_assert_int_eq(attach_socket_open(f->path, 0600, &mine, error, sizeof(error)), SKEIN_BUSY);
    ck_assert_ptr_nonnull(strstr(error, "another agent"));
    attach_socket_close(&mine, f->path);
    ck_assert_int_eq(access(f->path, F_OK), 0);
    close(held);
    close(first);
    ck_assert_int_eq(attach_socket_open(f->path, 0600, &mine, error, sizeof(error)), SKEIN_OK);
    close(peer_connect(f));
    attach_socket_close(&mine, f->path);
    free(lock);
    fixture_free(f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "attach", a_peer_gets_a_sealed_ring_and_pages_it_cannot_write,
        a_heartbeat_is_taken_cleaned_and_one_of_a_wrong_size_ends_the_connection,
        garbage_is_dropped_and_the_agent_serves_on, stacks_that_processes_left_out_are_counted,
        silent_connections_crowd_out_each_other_not_honest_peers,
        a_ring_that_is_none_is_refused_and_a_new_one_given,
        a_ring_that_boasts_gets_no_more_memory_than_a_new_one,
        an_adopted_ring_loses_the_pins_of_the_agent_before,
        a_process_that_attaches_anew_never_repeats_a_sequence,
        a_ring_without_a_record_is_replaced_without_a_loss,
        behind_the_end_of_a_ring_that_was_replaced_nothing_is_lacked,
        an_adopted_ring_says_what_the_one_before_it_had,
        a_ring_that_nothing_goes_to_yet_lacks_all_until_now,
        a_process_that_leaves_keeps_its_ring_until_it_is_back,
        a_process_that_leaves_as_it_comes_back_keeps_its_ring,
        a_ring_that_nothing_went_to_lacks_no_more_than_its_process_lived,
        limits_are_refused_with_a_status_and_counted,
        a_process_that_ended_before_its_hello_was_read_is_named,
        a_crowd_that_has_spoken_is_answered_by_an_agent_that_was_late,
        a_second_agent_leaves_the_first_ones_socket_alone,
        a_process_that_asks_in_a_loop_is_made_to_wait,
        the_socket_of_an_agent_that_is_about_to_listen_is_not_taken_over, NULL));
}
