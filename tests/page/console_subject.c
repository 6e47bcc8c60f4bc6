/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that the console's page tests look at, each until it is ended.
 *
 *     console_subject shop PORT      asks the Redis on PORT for a piece of stock, again and again
 *     console_subject hostile PORT   has names and texts that would break a careless page
 *
 * One thread works; of the shop a second one only waits. Says nothing, and ends with 1 where it cannot begin.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "skein/skein.h"

#define RTL_MARKS 65536 /* bytes of a text that is right-to-left marks alone */

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = 0, .tv_nsec = ms * 1000000}, NULL);
}

/* ---- shop ---- */

static int redis_connect(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* As long as Redis takes to answer. */
static bool stock_ask(int fd)
{
    static const char words[] = "PING\r\n";
    char answer[16];
    return write(fd, words, sizeof words - 1) == sizeof words - 1 &&
           read(fd, answer, sizeof answer) > 0;
}

static bool take_from_stock(int fd, uint64_t pieces)
{
    SKEIN_REGION("take_from_stock", (u64, "pieces", pieces), (str, "shelf", "redis"));
    return stock_ask(fd);
}

static bool request_serve(int fd, uint64_t number)
{
    SKEIN_REGION("request", (u64, "number", number), (str, "path", "/cart"));
    SKEIN_COUNTER("queue", (int64_t)(number % 7));
    if (number % 50 == 0) {
        SKEIN_INSTANT("traced", (str, "trace_id", "4bf92f3577b34da6a3ce929d0e0e4736"));
        SKEIN_LOG(SKEIN_INFO, "fifty more requests are served");
    }
    return take_from_stock(fd, 1 + number % 5);
}

static void *idle_run(void *unused)
{
    skein_thread_name("idle");
    for (;; pause_ms(100))
        SKEIN_INSTANT("nothing_to_do");
    return unused;
}

static int shop_run(uint16_t port)
{
    pthread_t idle;
    int fd = redis_connect(port);
    skein_thread_name("worker");
    if (fd < 0 || pthread_create(&idle, NULL, idle_run, NULL) != 0)
        return 1;
    for (uint64_t n = 1; request_serve(fd, n); n++)
        pause_ms(4);
    close(fd);
    return 0; /* Redis has ended */
}

/* ---- hostile ---- */

static char *rtl_marks(void)
{
    char *text = malloc(RTL_MARKS + 1);
    for (size_t i = 0; text != NULL && i + 3 <= RTL_MARKS; i += 3)
        memcpy(text + i, "\xe2\x80\x8f", 3);
    if (text != NULL)
        text[RTL_MARKS / 3 * 3] = 0;
    return text;
}

static int hostile_run(void)
{
    char *marks = rtl_marks();
    if (marks == NULL)
        return 1;
    skein_thread_name("<img src=x onerror=alert(1)>");
    for (uint64_t n = 0;; n++) {
        SKEIN_REGION("<script>alert(2)</script>", (str, "<b>marks</b>", marks));
        SKEIN_REGION("\xe2\x80\xaegnorw\x1b[31m",
                     (str, "javascript:alert(3)", "\"><svg onload=alert(4)>"));
        SKEIN_LOG(SKEIN_WARN, "<iframe srcdoc='<script>alert(5)</script>'>");
        pause_ms(10);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 1;
    bool hostile = strcmp(argv[1], "hostile") == 0;
    struct skein_options options = {.size = sizeof options, .service = argv[1], .labels = "zone=a"};
    if (skein_start(&options) != SKEIN_OK)
        return 1;
    return hostile ? hostile_run() : shop_run((uint16_t)strtoul(argv[2], NULL, 10));
}
