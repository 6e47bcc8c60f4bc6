/* SPDX-License-Identifier: Apache-2.0
 *
 * Selectors of processes that are watched from outside, the search for them, and who listens on a
 * port. The search is held against folders that the test makes and a callback that counts.
 */
#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "outside_ports.h"
#include "outside_rule.h"
#include "outside_scan.h"
#include "skein/status.h"
#include "support.h"

/* ---- selectors ---- */

static struct outside_rule parsed(const char *text)
{
    struct outside_rule rule;
    char why[256] = "";
    ck_assert_msg(outside_rule_parse(text, &rule, why, sizeof why) == SKEIN_OK, "%s: %s", text,
                  why);
    return rule;
}

START_TEST(a_selector_is_a_service_and_its_conditions)
{
    struct outside_rule rule =
        parsed("  shop/web exe=/opt/*/web\tcgroup=/system.slice/* port=65535 label=a=b label=c=d ");
    ck_assert_str_eq(rule.service, "shop/web");
    ck_assert_str_eq(rule.exe, "/opt/*/web");
    ck_assert_str_eq(rule.cgroup, "/system.slice/*");
    ck_assert_uint_eq(rule.port, 65535);
    ck_assert_str_eq(rule.labels, "a=b,c=d");
    rule = parsed("go exe=x go_pprof=[::1]:6060 go_flight=127.0.0.1:6060/debug/flight?a=b");
    ck_assert_str_eq(rule.go.pprof, "[::1]:6060");
    ck_assert_str_eq(rule.go.flight, "127.0.0.1:6060/debug/flight?a=b");
}
END_TEST

START_TEST(what_is_no_selector_is_refused_with_a_reason)
{
    static const char *const texts[] = {"",
                                        "   ",
                                        "shop",
                                        "shop label=a=b",
                                        "sh\"op exe=x",
                                        "shop exe=",
                                        "shop exe",
                                        "shop exe=a exe=b",
                                        "shop cgroup=relative",
                                        "shop port=0",
                                        "shop port=65536",
                                        "shop port=+1",
                                        "shop port=1 port=2",
                                        "shop exe=x label=bad",
                                        "shop exe=x label=",
                                        "shop exe=x what=y",
                                        "shop exe=x go_pprof=10.0.0.1:80",
                                        "shop exe=x go_pprof=localhost:80",
                                        "shop exe=x go_pprof=127.0.0.1",
                                        "shop exe=x go_pprof=127.0.0.1:0",
                                        "shop exe=x go_pprof=127.0.0.1:80/x",
                                        "shop exe=x go_pprof=127.0.0.1@evil:80",
                                        "shop exe=x go_pprof=127.1:80",
                                        "shop exe=x go_pprof=127.0.0.1.5:80",
                                        "shop exe=x go_pprof=127.0.0.1:80 go_pprof=127.0.0.1:80",
                                        "shop exe=x go_pprof=[::1:80",
                                        "shop exe=x go_pprof=[]:80",
                                        "shop exe=x go_pprof=[",
                                        "shop exe=x go_pprof=0.0.0.0:80",
                                        "shop exe=x go_flight=127.0.0.1:80",
                                        "shop exe=x go_flight=127.0.0.1:80/a#b",
                                        "shop exe=x go_flight=[::2]:80/x",
                                        "shop go_pprof=127.0.0.1:80",
                                        "exe=x"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct outside_rule rule = {.port = 7};
        char why[256] = "";
        ck_assert_msg(outside_rule_parse(texts[i], &rule, why, sizeof why) == SKEIN_INVALID, "%s",
                      texts[i]);
        ck_assert_msg(strlen(why) > 5, "%s", texts[i]);
        ck_assert_uint_eq(rule.port, 7); /* nothing is set */
    }
    char *texts_long[] = {malloc(600)};
    struct outside_rule rule;
    char why[256];
    memset(texts_long[0], 'x', 599);
    memcpy(texts_long[0], "shop exe=", 9);
    texts_long[0][599] = '\0';
    ck_assert_int_eq(outside_rule_parse(texts_long[0], &rule, why, sizeof why), SKEIN_INVALID);
    free(texts_long[0]);
}
END_TEST

static bool holds(const char *selector, const char *exe, const char *cgroup, uint16_t port)
{
    struct outside_rule rule = parsed(selector);
    const struct outside_rules rules = {&rule, 1};
    const struct outside_view view = {exe, cgroup, &port, port != 0};
    return outside_rules_match(&rules, &view) != NULL;
}

START_TEST(all_conditions_must_hold)
{
    ck_assert(holds("s exe=/opt/a/*", "/opt/a/bin/x", "", 0)); /* a star stands for slashes */
    ck_assert(!holds("s exe=/opt/a/*", "/opt/b/x", "", 0));
    ck_assert(holds("s exe=java", "/usr/lib/jvm/bin/java", "", 0));
    ck_assert(!holds("s exe=java", "/usr/lib/jvm/bin/javac", "", 0));
    ck_assert(holds("s exe=java", "/usr/lib/jvm/bin/java (deleted)", "", 0));
    ck_assert(!holds("s exe=*", "", "", 0)); /* it may not be read */
    ck_assert(holds("s cgroup=/a/*", "", "/a/b.service", 0));
    ck_assert(!holds("s cgroup=/a/*", "", "", 0));
    ck_assert(holds("s port=80", "", "", 80));
    ck_assert(!holds("s port=80", "", "", 81));
    ck_assert(!holds("s port=80", "", "", 0));
    ck_assert(holds("s exe=x port=80", "/x", "", 80));
    ck_assert(!holds("s exe=x port=80", "/x", "", 0));
    ck_assert(!holds("s exe=x port=80", "/y", "", 80));
}
END_TEST

/* ---- the search ---- */

#define PIDS 64
struct counts {
    unsigned looks[PIDS];
};

static void count_look(void *context, uint32_t pid)
{
    struct counts *counts = context;
    ck_assert_uint_lt(pid, PIDS);
    counts->looks[pid]++;
}

static void folder_make(const char *proc, const char *name)
{
    char *path = path_join(proc, name);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    free(path);
}

static void round_run(struct outside_scan *scan)
{
    while (!outside_scan_step(scan, UINT64_C(1000000000)))
        continue;
}

START_TEST(a_process_is_looked_at_in_the_round_behind_and_then_each_tenth)
{
    char *proc = temp_dir_new();
    struct counts counts = {{0}};
    struct outside_scan *scan;
    folder_make(proc, "7");
    folder_make(proc, "self");
    folder_make(proc, "7x");
    folder_make(proc, "0");
    folder_make(proc, "4294967303"); /* 7, if cut */
    ck_assert_int_eq(outside_scan_new(proc, count_look, &counts, &scan), SKEIN_OK);
    round_run(scan);
    ck_assert_uint_eq(counts.looks[7], 0);
    round_run(scan);
    ck_assert_uint_eq(counts.looks[7], 1);
    for (int i = 0; i < 10 * OUTSIDE_LOOK_EACH; i++)
        round_run(scan);
    ck_assert_uint_eq(counts.looks[7], 11);
    outside_scan_anew(scan);
    unsigned before = counts.looks[7];
    round_run(scan);
    ck_assert_uint_eq(counts.looks[7], before + 1);
    outside_scan_free(&scan);
    temp_dir_free(&proc);
}
END_TEST

START_TEST(another_process_with_the_pid_is_looked_at)
{
    char *proc = temp_dir_new(), *old = path_join(proc, "9"), *other = path_join(proc, "gone");
    struct counts counts = {{0}};
    struct outside_scan *scan;
    folder_make(proc, "9");
    ck_assert_int_eq(outside_scan_new(proc, count_look, &counts, &scan), SKEIN_OK);
    round_run(scan);
    round_run(scan);
    ck_assert_uint_eq(counts.looks[9], 1);
    ck_assert_int_eq(rename(old, other), 0); /* so that its number is not given again */
    folder_make(proc, "9");
    /* 9 has its turn where round + 9 is a multiple of 10: not in these two. */
    round_run(scan);
    ck_assert_uint_eq(counts.looks[9], 1);
    round_run(scan);
    ck_assert_uint_eq(counts.looks[9], 2);
    outside_scan_free(&scan);
    free(old);
    free(other);
    temp_dir_free(&proc);
}
END_TEST

START_TEST(a_round_without_time_goes_on_in_the_next_step)
{
    char *proc = temp_dir_new();
    struct counts counts = {{0}};
    struct outside_scan *scan;
    for (unsigned i = 1; i < PIDS; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        folder_make(proc, name);
    }
    ck_assert_int_eq(outside_scan_new(proc, count_look, &counts, &scan), SKEIN_OK);
    unsigned steps = 1;
    while (!outside_scan_step(scan, 0))
        steps++;
    ck_assert_uint_gt(steps, 2);
    while (!outside_scan_step(scan, 0))
        continue;
    for (unsigned i = 1; i < PIDS; i++)
        ck_assert_uint_ge(counts.looks[i], 1);
    outside_scan_free(&scan);
    temp_dir_free(&proc);
}
END_TEST

START_TEST(no_more_is_looked_at_once_the_time_is_over)
{
    char *proc = temp_dir_new();
    struct counts counts = {{0}};
    struct outside_scan *scan;
    unsigned before = 0, most = 0;
    for (unsigned i = 1; i < PIDS; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        folder_make(proc, name);
    }
    ck_assert_int_eq(outside_scan_new(proc, count_look, &counts, &scan), SKEIN_OK);
    round_run(scan);
    for (bool over = false; !over;) {
        unsigned looks = 0;
        over = outside_scan_step(scan, 0);
        for (unsigned i = 1; i < PIDS; i++)
            looks += counts.looks[i];
        most = looks - before > most ? looks - before : most;
        before = looks;
    }
    ck_assert_uint_eq(before, PIDS - 1);
    ck_assert_uint_eq(most, 1);
    outside_scan_free(&scan);
    temp_dir_free(&proc);
}
END_TEST

/* ---- ports ---- */

static int listener_open(int family, uint16_t *port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    struct sockaddr_in four = {.sin_family = AF_INET};
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const struct sockaddr *address =
        family == AF_INET ? (const struct sockaddr *)&four : (const struct sockaddr *)&six;
    socklen_t bytes = family == AF_INET ? sizeof four : sizeof six;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, address, bytes) != 0 || listen(fd, 1) != 0)
        return -1; /* without IPv6 */
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } own = {.six = {.sin6_port = 0}};
    bytes = sizeof own;
    ck_assert_int_eq(getsockname(fd, &own.any, &bytes), 0);
    *port = ntohs(family == AF_INET ? own.four.sin_port : own.six.sin6_port);
    return fd;
}

START_TEST(who_listens_on_a_port_is_found)
{
    uint16_t ports[2] = {0, 0}, found[4] = {0};
    struct outside_sockets *sockets = calloc(1, sizeof *sockets);
    int four = listener_open(AF_INET, &ports[0]), six = listener_open(AF_INET6, &ports[1]);
    ck_assert_int_ge(four, 0);
    const char *why = outside_sockets_read(sockets, ports, six >= 0 ? 2 : 1);
    ck_assert_msg(why == NULL, "%s", why);
    size_t count = outside_ports_of((uint32_t)getpid(), sockets, found, 4);
    ck_assert_uint_eq(count, six >= 0 ? 2 : 1);
    ck_assert(found[0] == ports[0] || found[1] == ports[0]);
    close(four);
    if (six >= 0)
        close(six);
    struct outside_sockets *after = calloc(1, sizeof *after);
    ck_assert_ptr_null(outside_sockets_read(after, ports, 2));
    ck_assert(!outside_sockets_equal(sockets, after));
    ck_assert_uint_eq(outside_ports_of((uint32_t)getpid(), after, found, 4), 0);
    free(after);
    free(sockets);
}
END_TEST

START_TEST(an_answer_of_the_kernel_is_read_within_its_bounds)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_msg row;
    } answer;
    const uint16_t port = 8080;
    struct outside_sockets *sockets = calloc(1, sizeof *sockets);
    memset(&answer, 0, sizeof answer);
    answer.head.nlmsg_len = sizeof answer;
    answer.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    answer.row.idiag_state = TCP_LISTEN;
    answer.row.idiag_inode = 77;
    answer.row.id.idiag_sport = htons(port);
    const uint8_t *bytes = (const uint8_t *)&answer;
    for (size_t n = sizeof answer.head; n < sizeof answer; n++)
        ck_assert_int_eq(outside_answer_take(bytes, n, &port, 1, sockets), SKEIN_CORRUPT);
    ck_assert_uint_eq(sockets->count, 0);
    ck_assert_int_eq(outside_answer_take(bytes, sizeof answer, &port, 1, sockets), SKEIN_AGAIN);
    ck_assert_uint_eq(sockets->count, 1);
    ck_assert_uint_eq(sockets->items[0].inode, 77);
    answer.row.idiag_inode = 78;
    answer.row.idiag_state = TCP_ESTABLISHED; /* it does not listen */
    (void)outside_answer_take(bytes, sizeof answer, &port, 1, sockets);
    answer.row.idiag_state = TCP_LISTEN;
    answer.row.id.idiag_sport = htons(8081); /* nobody asked */
    (void)outside_answer_take(bytes, sizeof answer, &port, 1, sockets);
    ck_assert_uint_eq(sockets->count, 1);
    answer.row.id.idiag_sport = htons(port);
    for (uint32_t inode = 100; inode < 100 + OUTSIDE_SOCKETS_MAX + 5; inode++) {
        answer.row.idiag_inode = inode;
        (void)outside_answer_take(bytes, sizeof answer, &port, 1, sockets);
    }
    ck_assert_uint_eq(sockets->count, OUTSIDE_SOCKETS_MAX);
    ck_assert_uint_eq(sockets->left_out, 6);
    answer.head.nlmsg_len = 0;
    ck_assert_int_eq(outside_answer_take(bytes, sizeof answer, &port, 1, sockets), SKEIN_CORRUPT);
    answer.head.nlmsg_len = sizeof answer.head;
    answer.head.nlmsg_type = NLMSG_DONE;
    ck_assert_int_eq(outside_answer_take(bytes, sizeof answer, &port, 1, sockets), SKEIN_OK);
    answer.head.nlmsg_type = NLMSG_ERROR;
    ck_assert_int_eq(outside_answer_take(bytes, sizeof answer, &port, 1, sockets),
                     SKEIN_UNSUPPORTED);
    free(sockets);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "outside", a_selector_is_a_service_and_its_conditions,
        what_is_no_selector_is_refused_with_a_reason, all_conditions_must_hold,
        a_process_is_looked_at_in_the_round_behind_and_then_each_tenth,
        another_process_with_the_pid_is_looked_at, a_round_without_time_goes_on_in_the_next_step,
        no_more_is_looked_at_once_the_time_is_over, who_listens_on_a_port_is_found,
        an_answer_of_the_kernel_is_read_within_its_bounds, NULL));
}
