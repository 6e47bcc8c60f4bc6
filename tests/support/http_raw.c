/* SPDX-License-Identifier: Apache-2.0 */
#include "http_raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support.h"

void ask(const struct http_server *server, const char *method, const char *path,
         const char *headers, struct answer *out)
{
    struct buf request = {0};
    uint8_t bytes[4096];
    ssize_t got;
    *out = (struct answer){0};
    buf_printf(&request, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", method,
               path, headers);
    int fd = tcp_connect((uint16_t)http_port(server));
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(send(fd, request.data, request.len, MSG_NOSIGNAL), (ssize_t)request.len);
    while ((got = recv(fd, bytes, sizeof bytes, 0)) > 0)
        buf_put(&out->all, bytes, (size_t)got);
    close(fd);
    buf_fini(&request);
    const uint8_t *end = memmem(out->all.data, out->all.len, "\r\n\r\n", 4);
    ck_assert_ptr_nonnull(end);
    out->body = end + 4;
    out->n = out->all.len - (size_t)(out->body - out->all.data);
    size_t head = (size_t)(end - out->all.data) + 2;
    out->head = calloc(1, head + 1);
    ck_assert_ptr_nonnull(out->head);
    memcpy(out->head, out->all.data, head);
    ck_assert_msg(strncmp(out->head, "HTTP/1.1 ", 9) == 0, "%s", out->head);
    out->status = (unsigned)strtoul(out->head + 9, NULL, 10);
}

void forget(struct answer *a)
{
    free(a->head);
    buf_fini(&a->all);
}

const char *value(const struct answer *a, const char *name, char out[512])
{
    char key[64];
    out[0] = '\0';
    snprintf(key, sizeof key, "\r\n%s: ", name);
    const char *at = strcasestr(a->head, key);
    if (at == NULL)
        return out;
    at += strlen(key);
    ck_assert_msg(strcasestr(at, key) == NULL, "%s twice: %s", name, a->head);
    snprintf(out, 512, "%.*s", (int)strcspn(at, "\r"), at);
    return out;
}

void expect_value(const struct answer *a, const char *name, const char *wanted)
{
    char got[512];
    ck_assert_msg(strcmp(value(a, name, got), wanted) == 0, "%s: %s, not %s", name, got, wanted);
}

/* What gzip of the system makes of them. */
static void unzip(const uint8_t *bytes, size_t n, struct buf *out)
{
    char *folder = temp_dir_new();
    char *packed = path_join(folder, "packed.gz"), *plain = path_join(folder, "plain");
    const char *const argv[] = {"gzip", "-dc", packed, NULL};
    size_t plain_n;
    file_write(packed, bytes, n);
    ck_assert_int_eq(spawn_wait(spawn(argv, &(struct spawn_options){.out_file = plain}), 0), 0);
    char *text = file_read(plain, &plain_n);
    ck_assert_ptr_nonnull(text);
    buf_put(out, text, plain_n);
    free(text);
    free(packed);
    free(plain);
    temp_dir_free(&folder);
}

void body_of(const struct answer *a, struct buf *out)
{
    char coding[512];
    if (strcmp(value(a, "Content-Encoding", coding), "gzip") == 0)
        unzip(a->body, a->n, out);
    else
        buf_put(out, a->body, a->n);
}
