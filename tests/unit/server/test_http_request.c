/* SPDX-License-Identifier: Apache-2.0
 * What is logged while a request is answered has its id, whoever logs it, and nothing else has. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector_fixture.h"
#include "http_int.h"
#include "log.h"
#include "support.h"

#define FIRED "a04f6202d32cc6070000463c0007b8db"

/* Standard error of this process goes to a file from here on; returns the descriptor before. */
static int log_to(const char *path)
{
    int before = dup(STDERR_FILENO);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    ck_assert_int_ge(fd, 0);
    dup2(fd, STDERR_FILENO);
    close(fd);
    return before;
}

/* How many lines have `what`; each of them must have `request` (NULL: no request's id at all). */
static unsigned lines_with(const char *log, const char *what, const char *request)
{
    unsigned count = 0;
    char *text = strdup(log), *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (strstr(line, what) == NULL)
            continue;
        count++;
        if (request != NULL)
            ck_assert_msg(strstr(line, request) != NULL, "%s", line);
        else
            ck_assert_msg(strstr(line, "request_id") == NULL, "%s", line);
    }
    free(text);
    return count;
}

START_TEST(every_line_of_a_request_has_its_id)
{
    struct fixture f;
    struct http_response response;
    char error[256];
    char *folder = temp_dir_new(), *path = path_join(folder, "log");
    int before = log_to(path);
    fixture_start(&f);
    log_configure(LOG_LEVEL_INFO, false);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    call(&f, "POST", "/api/v1/captures", "{\"selector\":\"service=shop\"}",
         "X-Request-Id: of-the-first", &response);
    ck_assert_int_eq(response.status, 202);
    http_response_fini(&response);
    call(&f, "POST", "/api/v1/captures", "{\"selector\":\"service=none\"}",
         "X-Request-Id: of-the-second", &response);
    buf_put_u8(&response.body, 0);
    ck_assert_int_eq(response.status, 422);
    ck_assert_ptr_nonnull(strstr((char *)response.body.data, "\"request_id\":\"of-the-second\""));
    http_response_fini(&response);
    ck_assert(
        wire_agent_report(&f.agent, wire_fired(&f.agent, FIRED, 1, NULL, 1), error, sizeof error));
    fixture_stop(&f);
    dup2(before, STDERR_FILENO);
    close(before);
    char *log = file_read(path, NULL);
    ck_assert_uint_eq(lines_with(log, "captures: began", "request_id=of-the-first"), 1);
    ck_assert_uint_eq(lines_with(log, "status=202", "request_id=of-the-first"), 1);
    ck_assert_uint_eq(lines_with(log, "status=422", "request_id=of-the-second"), 1);
    ck_assert_uint_eq(lines_with(log, "an agent began a capture", NULL), 1);
    free(log);
    free(path);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(client_by_ipv4_of_a_socket_for_both_has_its_ipv4_address)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    char text[HTTP_ADDRESS_BYTES];
    inet_pton(AF_INET6, "::ffff:10.1.2.3", &v6.sin6_addr);
    http_address_text((const struct sockaddr *)(const void *)&v6, text);
    ck_assert_str_eq(text, "10.1.2.3");
    inet_pton(AF_INET6, "2001:db8::1", &v6.sin6_addr);
    http_address_text((const struct sockaddr *)(const void *)&v6, text);
    ck_assert_str_eq(text, "2001:db8::1");
}
END_TEST

int main(void)
{
    return suite_run(suite_of("http_request", every_line_of_a_request_has_its_id,
                              client_by_ipv4_of_a_socket_for_both_has_its_ipv4_address, NULL));
}
