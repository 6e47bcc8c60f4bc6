/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of services that have a network or a file system of their own. Making such a service needs
 * rights; where they are missing, a test says so and passes.
 */
#include "check_place.h"

#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "http_client.h"
#include "rule_program.h"
#include "support.h"

static pid_t service;
static char *folder;

static void setup(void)
{
    folder = temp_dir_new();
    ck_assert_int_eq(http_client_init(), SKEIN_OK);
}

static void teardown(void)
{
    if (service > 0)
        spawn_stop(service, SIGKILL, 0);
    service = 0;
    temp_dir_free(&folder);
}

static bool loopback_up(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    close(fd);
    return up;
}

static bool listens(const struct sockaddr *address, socklen_t bytes)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && bind(fd, address, bytes) == 0 && listen(fd, 64) == 0;
}

/* A service in namespaces of its own: on `port` in its network, at "own.sock" of a tmpfs that it
 * alone sees at `folder`. False: that may not be made here. */
static bool start_service(uint16_t port)
{
    int ready[2];
    char said = 0;
    ck_assert_int_eq(pipe(ready), 0);
    service = fork();
    if (service == 0) {
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
        struct sockaddr_un un = {.sun_family = AF_UNIX};
        snprintf(un.sun_path, sizeof un.sun_path, "%s/own.sock", folder);
        if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0 ||
            mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("none", folder, "tmpfs", 0, NULL) != 0)
            _exit(77);
        if (loopback_up() && listens((struct sockaddr *)&in, sizeof in) &&
            listens((struct sockaddr *)&un, sizeof un) && write(ready[1], "r", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    ssize_t n = read(ready[0], &said, 1);
    close(ready[0]);
    if (n == 1)
        return true;
    ck_assert_int_eq(spawn_wait(service, 0), 77);
    service = 0;
    fprintf(stderr, "not shown: namespaces may not be made here\n");
    return false;
}

static struct check_result run(const char *health)
{
    char text[1024], error[256] = "";
    struct config_strs none = {.count = 0};
    const struct rule_program_bounds bounds = {&none, ""};
    snprintf(text, sizeof text, "{\"name\":\"r\",\"when\":{\"health\":{\"timeout_ms\":20000,%s}}}",
             health);
    cJSON *json = cJSON_Parse(text);
    struct rule_spec *rule;
    ck_assert_msg(rule_spec_new(json, &rule, error, sizeof error) == SKEIN_OK, "%s", error);
    struct check_spec *spec = rule_spec_check(rule, (uint32_t)service, &bounds);
    struct check_until until = {.deadline_ns = clock_monotonic_ns() + UINT64_C(20000000000),
                                .cancel_fd = -1};
    struct check_result result;
    check_run(spec, &until, &result);
    check_spec_free(&spec);
    rule_spec_free(&rule);
    cJSON_Delete(json);
    return result;
}

static struct check_result run_tcp(const char *host, uint16_t port)
{
    char health[128];
    snprintf(health, sizeof health, "\"tcp\":{\"address\":\"%s:%u\"}", host, port);
    return run(health);
}

START_TEST(loopback_is_that_of_the_service)
{
    uint16_t port = free_port();
    if (!start_service(port))
        return;
    struct check_result result = run_tcp("127.0.0.1", port);
    ck_assert_msg(result.passed, "%s", result.reason);
    char health[128];
    snprintf(health, sizeof health, "\"http\":{\"url\":\"http://localhost:%u/\"}", port);
    spawn_stop(service, SIGKILL, 0);
    service = 0;
    result = run(health); /* and this thread is back where it was */
    ck_assert(!result.passed && !result.not_run);
}
END_TEST

START_TEST(a_socket_is_looked_for_where_the_service_sees_it)
{
    char health[256];
    if (!start_service(free_port()))
        return;
    snprintf(health, sizeof health, "\"unix\":{\"path\":\"%s/own.sock\"}", folder);
    struct check_result result = run(health);
    ck_assert_msg(result.passed, "%s", result.reason);
    snprintf(health, sizeof health, "\"unix\":{\"path\":\"%s/no.sock\"}", folder);
    result = run(health);
    ck_assert_msg(!result.passed && strstr(result.reason, "No such file") != NULL, "%s",
                  result.reason);
}
END_TEST

/* Two ends of a cable, one in the service's network. False: not to be made here. */
static bool connect_networks(void)
{
    char command[512];
    snprintf(command, sizeof command,
             "ip link add sk%d type veth peer name skein netns %d 2>/dev/null &&"
             " ip addr add 198.51.100.5/30 dev sk%d && ip link set sk%d up &&"
             " nsenter -t %d -n ip addr add 198.51.100.6/30 dev skein &&"
             " nsenter -t %d -n ip link set skein up",
             (int)service, (int)service, (int)service, (int)service, (int)service, (int)service);
    return system(command) == 0; /* NOLINT(cert-env33-c) */
}

START_TEST(ip_is_an_address_of_the_service)
{
    uint16_t port = free_port();
    if (!start_service(port))
        return;
    struct check_result result = run_tcp("{ip}", port);
    ck_assert_msg(result.not_run && strstr(result.reason, "no address but loopback") != NULL, "%s",
                  result.reason);
    if (!connect_networks()) {
        fprintf(stderr, "not shown: networks cannot be connected here\n");
        return;
    }
    result = run_tcp("{ip}", port);
    ck_assert_msg(result.passed, "%s", result.reason);
}
END_TEST

static void give_up_sys_admin(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    ck_assert_int_eq(syscall(SYS_capget, &head, data), 0);
    data[0].effective &= ~(UINT32_C(1) << CAP_SYS_ADMIN);
    ck_assert_int_eq(syscall(SYS_capset, &head, data), 0);
}

START_TEST(a_network_that_may_not_be_entered_is_said_and_fails_nothing)
{
    uint16_t port = free_port();
    if (!start_service(port))
        return;
    give_up_sys_admin();
    struct check_result result = run_tcp("127.0.0.1", port);
    ck_assert(result.not_run && !result.passed);
    ck_assert_msg(strstr(result.reason, "has a network of its own") != NULL, "%s", result.reason);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("check_place");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 280);
    tcase_add_test(tc, loopback_is_that_of_the_service);
    tcase_add_test(tc, a_socket_is_looked_for_where_the_service_sees_it);
    tcase_add_test(tc, ip_is_an_address_of_the_service);
    tcase_add_test(tc, a_network_that_may_not_be_entered_is_said_and_fails_nothing);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
