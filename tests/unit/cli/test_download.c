/* SPDX-License-Identifier: Apache-2.0
 *
 * skein fetch against a server that breaks connections: a small HTTP server in a thread of the test
 * answers one request a connection, as the test's script says.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sample.h"
#include "support.h"
#include "trace_file.h"

#define ID              "0193a5c0e1f27d3b8c4e5f60718293a4"
#define BODY_BYTES      100000
#define BODY_PARTITIONS 80
#define REQUEST_BYTES   4096

/* One answer: the range asked for is served up to `until` bytes of the body, then the connection
 * is closed. */
struct answer {
    const char *etag;
    size_t until;
    int status; /* other than 200 and 206: with a problem document */
};

static struct server {
    int listener;
    uint16_t port;
    pthread_t thread;
    const struct answer *answers;
    char requests[8][REQUEST_BYTES]; /* as they came, for the test to look at after joining */
    size_t count;
} server;

/* A trace of no more than BODY_BYTES. */
static struct buf body;
static char *folder, *file, *out;

static void put_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t put = send(fd, bytes, n, MSG_NOSIGNAL);
        if (put <= 0)
            return;
        bytes += put;
        n -= (size_t)put;
    }
}

static void answer_one(int fd, const char *request, const struct answer *answer)
{
    char head[512];
    size_t from = 0;
    const char *range = strstr(request, "Range: bytes=");
    const char *if_range = strstr(request, "If-Range: ");
    bool partial =
        range && if_range && strncmp(if_range + 10, answer->etag, strlen(answer->etag)) == 0;
    if (answer->status) {
        const char *problem = "{\"title\":\"Not Found\",\"detail\":\"no such capture\"}";
        snprintf(head, sizeof(head),
                 "HTTP/1.1 %d No\r\nContent-Type: application/problem+json\r\n"
                 "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                 answer->status, strlen(problem), problem);
        put_all(fd, head, strlen(head));
        return;
    }
    if (partial)
        from = strtoul(range + 13, NULL, 10);
    snprintf(head, sizeof(head),
             "HTTP/1.1 %s\r\nETag: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
             partial ? "206 Partial" : "200 OK", answer->etag, body.len - from);
    put_all(fd, head, strlen(head));
    size_t until = answer->until < body.len ? answer->until : body.len;
    if (until > from)
        put_all(fd, (const char *)body.data + from, until - from);
}

static void *serve(void *unused)
{
    for (const struct answer *a = server.answers; a->etag; a++) {
        int fd = accept(server.listener, NULL, NULL);
        if (fd < 0)
            break;
        char *request = server.requests[server.count];
        size_t n = 0;
        while (n < REQUEST_BYTES - 1 && !strstr(request, "\r\n\r\n")) {
            ssize_t got = recv(fd, request + n, REQUEST_BYTES - 1 - n, 0);
            if (got <= 0)
                break;
            n += (size_t)got;
            request[n] = '\0';
        }
        server.count++;
        answer_one(fd, request, a);
        shutdown(fd, SHUT_WR);
        while (recv(fd, (char[256]){0}, 256, 0) > 0) /* until the client has gone */
            ;
        close(fd);
    }
    return unused;
}

static void server_start(const struct answer *answers)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(address);
    memset(&server, 0, sizeof(server));
    server.answers = answers;
    server.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(server.listener, (struct sockaddr *)&address, n), 0);
    ck_assert_int_eq(listen(server.listener, 16), 0);
    ck_assert_int_eq(getsockname(server.listener, (struct sockaddr *)&address, &n), 0);
    server.port = ntohs(address.sin_port);
    ck_assert_int_eq(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

static void server_stop(void)
{
    shutdown(server.listener, SHUT_RDWR);
    pthread_join(server.thread, NULL);
    close(server.listener);
}

static int fetch(void)
{
    char url[64];
    snprintf(url, sizeof(url), "http://127.0.0.1:%u/", server.port);
    const char *argv[] = {SKEIN_PROGRAM, "fetch", "--collector", url, ID, "-o", file, NULL};
    struct spawn_options options = {.out_file = out};
    return spawn_wait(spawn(argv, &options), 0);
}

static char *beside(const char *suffix)
{
    char *path = malloc(strlen(file) + 32);
    ck_assert_ptr_nonnull(path);
    sprintf(path, "%s%s", file, suffix);
    return path;
}

static bool exists(const char *suffix)
{
    char *path = beside(suffix);
    bool there = access(path, F_OK) == 0;
    free(path);
    return there;
}

static void check_whole(void)
{
    size_t n = 0;
    char *bytes = file_read(file, &n);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(n, body.len);
    ck_assert_int_eq(memcmp(bytes, body.data, n), 0);
    ck_assert(!exists(".part") && !exists(".part.etag"));
    free(bytes);
}

static void set_up(void)
{
    folder = temp_dir_new();
    file = path_join(folder, "trace.skein");
    out = path_join(folder, "out");
    uint64_t lengths[BODY_PARTITIONS];
    for (size_t i = 0, before = 0; i < BODY_PARTITIONS; i++, before = body.len) {
        ck_assert_int_eq(sample_partition(&body), SKEIN_OK);
        lengths[i] = body.len - before;
    }
    ck_assert_int_eq(trace_table_put(lengths, BODY_PARTITIONS, &body), SKEIN_OK);
    ck_assert_uint_lt(body.len, BODY_BYTES);
}

static void tear_down(void)
{
    free(file);
    free(out);
    buf_fini(&body);
    temp_dir_free(&folder);
}

START_TEST(a_broken_connection_is_resumed)
{
    static const struct answer answers[] = {
        {"\"one\"", 30000, 0}, {"\"one\"", 70000, 0}, {"\"one\"", BODY_BYTES, 0}, {NULL, 0, 0}};
    server_start(answers);
    ck_assert_int_eq(fetch(), 0);
    server_stop();
    ck_assert_uint_eq(server.count, 3);
    ck_assert_ptr_nonnull(strstr(server.requests[1], "Range: bytes=30000-\r\n"));
    ck_assert_ptr_nonnull(strstr(server.requests[2], "Range: bytes=70000-\r\n"));
    ck_assert_ptr_nonnull(
        strstr(server.requests[0], "GET /api/v1/captures/" ID "/trace?format=skein "));
    check_whole();
}
END_TEST

START_TEST(other_bytes_under_the_same_name_start_over)
{
    static const struct answer answers[] = {
        {"\"one\"", 30000, 0}, {"\"two\"", BODY_BYTES, 0}, {NULL, 0, 0}};
    server_start(answers);
    ck_assert_int_eq(fetch(), 0);
    server_stop();
    ck_assert_ptr_nonnull(strstr(server.requests[1], "If-Range: \"one\"\r\n"));
    check_whole();
}
END_TEST

START_TEST(a_later_run_resumes_what_an_earlier_one_left)
{
    static const struct answer answers[] = {{"\"one\"", BODY_BYTES, 0}, {NULL, 0, 0}};
    char *part = beside(".part"), *etag = beside(".part.etag");
    file_write(part, body.data, 50000);
    file_write_text(etag, "\"one\"\n");
    server_start(answers);
    ck_assert_int_eq(fetch(), 0);
    server_stop();
    ck_assert_ptr_nonnull(strstr(server.requests[0], "Range: bytes=50000-\r\n"));
    ck_assert_ptr_nonnull(strstr(server.requests[0], "If-Range: \"one\"\r\n"));
    check_whole();
    free(part);
    free(etag);
}
END_TEST

START_TEST(what_an_earlier_run_left_is_not_believed)
{
    static const struct answer answers[] = {{"\"one\"", BODY_BYTES, 0}, {NULL, 0, 0}};
    char *part = beside(".part"), *etag = beside(".part.etag");
    uint8_t *wrong = malloc(50000);
    ck_assert_ptr_nonnull(wrong);
    memcpy(wrong, body.data, 50000);
    memset(wrong + 30000, 0, 20000);
    file_write(part, wrong, 50000);
    file_write_text(etag, "\"one\"\n");
    server_start(answers);
    ck_assert_int_eq(fetch(), 1);
    server_stop();
    ck_assert(exists(".part") && !exists(".part.etag") && !exists("")); /* begins anew */
    free(wrong);
    free(part);
    free(etag);
}
END_TEST

START_TEST(a_connection_that_keeps_breaking_fails_and_keeps_the_part)
{
    static const struct answer answers[] = {{"\"one\"", 30000, 0}, {"\"one\"", 0, 0}, {NULL, 0, 0}};
    server_start(answers);
    ck_assert_int_eq(fetch(), 1);
    server_stop();
    ck_assert(exists(".part") && exists(".part.etag") && !exists(""));
}
END_TEST

START_TEST(a_problem_is_told_and_leaves_no_file)
{
    static const struct answer answers[] = {{"", 0, 404}, {NULL, 0, 0}};
    server_start(answers);
    ck_assert_int_eq(fetch(), 1);
    server_stop();
    char *text = file_read(out, NULL);
    ck_assert_ptr_nonnull(strstr(text, "404: no such capture"));
    ck_assert(!exists(".part") && !exists(".part.etag") && !exists(""));
    free(text);
}
END_TEST

START_TEST(a_trace_without_its_closing_table_is_no_success)
{
    static const struct answer answers[] = {{"\"one\"", BODY_BYTES, 0}, {NULL, 0, 0}};
    uint64_t first;
    bool is_table;
    ck_assert_int_eq(trace_head_get(body.data, body.len, &first, &is_table), SKEIN_OK);
    body.len = (size_t)first; /* a whole partition, and nothing behind it */
    server_start(answers);
    ck_assert_int_eq(fetch(), 1);
    server_stop();
    ck_assert(exists(".part") && !exists(".part.etag") && !exists(""));
}
END_TEST

START_TEST(a_device_is_not_replaced_by_a_trace)
{
    static const struct answer none[] = {{NULL, 0, 0}};
    struct stat about;
    ck_assert_int_eq(symlink("/dev/null", file), 0);
    server_start(none);
    ck_assert_int_eq(fetch(), 1);
    server_stop();
    char *text = file_read(out, NULL);
    ck_assert_ptr_nonnull(strstr(text, "no regular file"));
    free(text);
    ck_assert_int_eq(stat(file, &about), 0);
    ck_assert(S_ISCHR(about.st_mode) && !exists(".part"));
}
END_TEST

START_TEST(a_dash_is_no_file)
{
    static const struct answer none[] = {{NULL, 0, 0}};
    strcpy(file, "-");
    server_start(none);
    ck_assert_int_eq(fetch(), 1);
    server_stop();
    char *text = file_read(out, NULL);
    ck_assert_ptr_nonnull(strstr(text, "goes into a file"));
    free(text);
    ck_assert(!exists("") && !exists(".part"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("download");
    TCase *all = tcase_create("download");
    tcase_set_timeout(all, 280);
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, a_broken_connection_is_resumed);
    tcase_add_test(all, other_bytes_under_the_same_name_start_over);
    tcase_add_test(all, a_later_run_resumes_what_an_earlier_one_left);
    tcase_add_test(all, what_an_earlier_run_left_is_not_believed);
    tcase_add_test(all, a_connection_that_keeps_breaking_fails_and_keeps_the_part);
    tcase_add_test(all, a_problem_is_told_and_leaves_no_file);
    tcase_add_test(all, a_trace_without_its_closing_table_is_no_success);
    tcase_add_test(all, a_device_is_not_replaced_by_a_trace);
    tcase_add_test(all, a_dash_is_no_file);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
