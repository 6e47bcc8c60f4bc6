/* SPDX-License-Identifier: Apache-2.0
 *
 * What the agent's configuration says of privacy is in each process's page before the process has
 * it, and changes with the configuration.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent_daemon.h"
#include "attach_proto.h"
#include "privacy.h"
#include "ring_layout.h"

static const struct process_page *page;

static int service_connect(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ck_assert_uint_lt(strlen(socket_path), sizeof address.sun_path);
    strcpy(address.sun_path, socket_path);
    return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : (close(fd), -1);
}

static bool service_is_connected(void *fd)
{
    *(int *)fd = service_connect();
    return *(int *)fd >= 0;
}

/* Attaches this process, and maps its page as it is when it comes. */
static int page_get(void)
{
    int fd = -1;
    struct attach_hello hello = {.head = {ATTACH_MAGIC, ATTACH_VERSION, ATTACH_HELLO},
                                 .service = "private"};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct attach_welcome welcome;
    struct iovec part = {&welcome, sizeof welcome};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ck_assert(wait_until(service_is_connected, &fd, 0));
    ck_assert_int_eq(send(fd, &hello, sizeof hello, MSG_NOSIGNAL), (ssize_t)sizeof hello);
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    ck_assert_int_eq(poll(&ready, 1, (int)support_deadline_ms()), 1);
    ck_assert_int_eq(recvmsg(fd, &message, MSG_CMSG_CLOEXEC), (ssize_t)sizeof welcome);
    ck_assert_int_eq(welcome.status, SKEIN_OK);
    const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    ck_assert_ptr_nonnull(c);
    int fds[3];
    memcpy(fds, CMSG_DATA(c), sizeof fds);
    page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fds[2], 0);
    ck_assert_ptr_ne(page, MAP_FAILED);
    return fd;
}

static bool page_has(void *mode)
{
    return __atomic_load_n(&page->privacy, __ATOMIC_RELAXED) == *(const uint32_t *)mode;
}

START_TEST(a_process_has_the_privacy_of_the_configuration)
{
    char text[40] = "", digits[40];
    FAKE_WAIT(fake, hellos, 1); /* it takes signals by then */
    ck_assert_int_eq(spawn_stop(agent, SIGTERM, 0), 0);
    write_config(",\"evidence\":{\"privacy\":\"hash\"}");
    start_agent();
    int fd = page_get();
    ck_assert_uint_eq(page->privacy, PRIVACY_HASH);
    char *path = state_path("privacy.key");
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
    fclose(file);
    free(path);
    snprintf(digits, sizeof digits, "%016" PRIx64 "%016" PRIx64 "\n", page->privacy_key[0],
             page->privacy_key[1]);
    ck_assert_str_eq(text, digits);
    write_config(",\"evidence\":{\"privacy\":\"leave_out\"}");
    ck_assert_int_eq(kill(agent, SIGHUP), 0);
    ck_assert(wait_until(page_has, &(uint32_t){PRIVACY_LEAVE_OUT}, 0));
    write_config("");
    ck_assert_int_eq(kill(agent, SIGHUP), 0);
    ck_assert(wait_until(page_has, &(uint32_t){PRIVACY_OFF}, 0));
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_privacy");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, agent_setup, agent_teardown);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, a_process_has_the_privacy_of_the_configuration);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
