/* SPDX-License-Identifier: Apache-2.0
 * HTTPS over a real port, with certificates that openssl makes for each test: what is refused at
 * the start, streams and downloads, and a certificate that is replaced while connections are open.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http_client.h"
#include "http_subject.h"
#include "skein/status.h"
#include "support.h"

struct fixture {
    char *folder, *certificate, *key;
    struct http_server *server;
};

/* A certificate for 127.0.0.1 that is its own authority: NAME.crt and NAME.key. */
static void make_certificate(const char *folder, const char *name)
{
    char key[512], certificate[512], subject[64];
    snprintf(key, sizeof key, "%s/%s.key", folder, name);
    snprintf(certificate, sizeof certificate, "%s/%s.crt", folder, name);
    snprintf(subject, sizeof subject, "/CN=%s", name);
    const char *const argv[] = {"openssl",
                                "req",
                                "-x509",
                                "-newkey",
                                "ec",
                                "-pkeyopt",
                                "ec_paramgen_curve:prime256v1",
                                "-nodes",
                                "-keyout",
                                key,
                                "-out",
                                certificate,
                                "-days",
                                "30",
                                "-subj",
                                subject,
                                "-addext",
                                "subjectAltName=IP:127.0.0.1",
                                NULL};
    struct spawn_options options = {.out_file = "/dev/null"};
    ck_assert_int_eq(spawn_wait(spawn(argv, &options), 0), 0);
}

static int start(struct fixture *f, char *error, size_t error_bytes)
{
    struct http_settings settings = subject_settings();
    settings.tls_certificate = f->certificate;
    settings.tls_key = f->key;
    return http_start(&settings, subject_routes, NULL, &f->server, error, error_bytes);
}

static void fixture_open(struct fixture *f)
{
    http_client_init();
    f->folder = temp_dir_new();
    make_certificate(f->folder, "one");
    f->certificate = path_join(f->folder, "one.crt");
    f->key = path_join(f->folder, "one.key");
    f->server = NULL;
}

static void fixture_start(struct fixture *f)
{
    char error[512] = "";
    fixture_open(f);
    ck_assert_msg(start(f, error, sizeof error) == SKEIN_OK, "%s", error);
}

static void fixture_stop(struct fixture *f)
{
    http_stop(&f->server);
    free(f->certificate);
    free(f->key);
    temp_dir_free(&f->folder);
}

/* The status of http_request, or the HTTP status. */
static long get(const struct fixture *f, const char *scheme, const char *path, const char *ca,
                struct http_response *response)
{
    char url[128], file[512];
    snprintf(url, sizeof url, "%s://127.0.0.1:%u%s", scheme, http_port(f->server), path);
    snprintf(file, sizeof file, "%s/%s", f->folder, ca != NULL ? ca : "");
    struct http_request request = {.url = url, .ca_file = ca != NULL ? file : NULL};
    int status = http_request(&request, response);
    return status != SKEIN_OK ? status : response->status;
}

static long status_of_get(const struct fixture *f, const char *scheme, const char *path,
                          const char *ca)
{
    struct http_response response;
    long status = get(f, scheme, path, ca, &response);
    http_response_fini(&response);
    return status;
}

/* ---- the start ---- */

static void expect_refusal(struct fixture *f, const char *word)
{
    char error[512] = "";
    int status = start(f, error, sizeof error);
    ck_assert_int_lt(status, 0);
    ck_assert_ptr_null(f->server);
    ck_assert_msg(strstr(error, word) != NULL, "%s: %s", word, error);
}

START_TEST(files_that_do_not_do_are_refused_with_words)
{
    struct fixture f;
    fixture_open(&f);
    make_certificate(f.folder, "two");
    ck_assert_int_eq(chmod(f.key, 0604), 0);
    expect_refusal(&f, "others may read it");
    ck_assert_int_eq(chmod(f.key, 0640), 0); /* a group may */
    char *kept = f.key;
    f.key = path_join(f.folder, "two.key");
    expect_refusal(&f, "is not the key of the first certificate");
    free(f.key);
    f.key = path_join(f.folder, "none.key");
    expect_refusal(&f, "No such file");
    file_write_text(f.key, "no key\n");
    ck_assert_int_eq(chmod(f.key, 0600), 0);
    expect_refusal(&f, "http.tls_key");
    free(f.key);
    f.key = kept;
    kept = f.certificate;
    f.certificate = path_join(f.folder, "none.crt");
    expect_refusal(&f, "http.tls_certificate");
    file_write_text(f.certificate, "no certificate\n");
    expect_refusal(&f, "http.tls_certificate");
    free(f.certificate);
    f.certificate = strdup(f.folder);
    expect_refusal(&f, "is no file");
    free(f.certificate);
    f.certificate = kept;
    char error[512] = "";
    ck_assert_msg(start(&f, error, sizeof error) == SKEIN_OK, "%s", error);
    fixture_stop(&f);
}
END_TEST

/* ---- requests ---- */

START_TEST(only_who_trusts_the_certificate_is_answered_and_plain_http_is_not)
{
    struct fixture f;
    struct http_response response;
    fixture_start(&f);
    make_certificate(f.folder, "two");
    ck_assert_int_eq(get(&f, "https", "/small", "one.crt", &response), 200);
    ck_assert_uint_eq(response.body.len, 5);
    http_response_fini(&response);
    ck_assert_int_eq(status_of_get(&f, "https", "/aside", "one.crt"), 200);
    ck_assert_int_lt(status_of_get(&f, "https", "/small", "two.crt"), 0);
    ck_assert_int_lt(status_of_get(&f, "https", "/small", NULL), 0);
    ck_assert_int_lt(status_of_get(&f, "http", "/small", NULL), 0);
    fixture_stop(&f);
}
END_TEST

START_TEST(long_download_comes_whole)
{
    struct fixture f;
    struct http_response response;
    fixture_start(&f);
    ck_assert_int_eq(get(&f, "https", "/big", "one.crt", &response), 200);
    ck_assert_uint_eq(response.body.len, SUBJECT_BIG_BYTES);
    for (size_t i = 0; i < SUBJECT_BIG_BYTES; i += 4099)
        ck_assert_uint_eq(response.body.data[i], i % 251);
    http_response_fini(&response);
    fixture_stop(&f);
}
END_TEST

/* The exit status of a handshake by openssl with this version alone. */
static int shake_hands(const struct fixture *f, const char *version)
{
    char command[160];
    struct spawn_options options = {.out_file = "/dev/null"};
    snprintf(command, sizeof command,
             "openssl s_client -connect 127.0.0.1:%u -brief -cipher DEFAULT@SECLEVEL=0 %s "
             "</dev/null",
             http_port(f->server), version);
    const char *const argv[] = {"sh", "-c", command, NULL};
    return spawn_wait(spawn(argv, &options), 0);
}

START_TEST(versions_before_1_2_are_refused)
{
    struct fixture f;
    fixture_start(&f);
    ck_assert_int_eq(shake_hands(&f, "-tls1_3"), 0);
    ck_assert_int_eq(shake_hands(&f, "-tls1_2"), 0);
    ck_assert_int_eq(shake_hands(&f, "-tls1_1"), 1);
    fixture_stop(&f);
}
END_TEST

/* ---- framing ---- */

/* Sends what printf makes of `format`; what came until the server has closed. */
static char *talk(const struct fixture *f, const char *format)
{
    char command[600];
    size_t n;
    char *file = path_join(f->folder, "answer");
    struct spawn_options options = {.out_file = "/dev/null"};
    snprintf(command, sizeof command,
             "printf '%s' | openssl s_client -connect 127.0.0.1:%u -quiet >%s 2>/dev/null", format,
             http_port(f->server), file);
    const char *const argv[] = {"sh", "-c", command, NULL};
    ck_assert_int_ge(spawn_wait(spawn(argv, &options), 0), 0);
    char *text = file_read(file, &n);
    ck_assert_ptr_nonnull(text);
    free(file);
    return text;
}

/* ---- ciphers ---- */

/* A certificate with a key that could also decrypt what a client chooses: old clients ask for that. */
static void rsa_certificate(struct fixture *f)
{
    const char *const argv[] = {"openssl", "req",     "-x509", "-newkey", "rsa:2048",
                                "-nodes",  "-keyout", f->key,  "-out",    f->certificate,
                                "-days",   "30",      "-subj", "/CN=rsa", NULL};
    struct spawn_options options = {.out_file = "/dev/null"};
    ck_assert_int_eq(spawn_wait(spawn(argv, &options), 0), 0);
}

static bool cipher_is_taken(const struct fixture *f, const char *cipher)
{
    char address[32], list[80];
    struct spawn_options options = {.out_file = "/dev/null"};
    snprintf(address, sizeof address, "127.0.0.1:%u", http_port(f->server));
    snprintf(list, sizeof list, "%s:@SECLEVEL=0", cipher);
    const char *const argv[] = {"openssl", "s_client", "-connect", address,
                                "-tls1_2", "-cipher",  list,       NULL};
    return spawn_wait(spawn(argv, &options), 0) == 0;
}

START_TEST(ciphers_without_secrecy_of_the_past_are_refused)
{
    struct fixture f;
    char error[512] = "";
    static const struct {
        const char *cipher;
        bool taken;
    } cases[] = {{"ECDHE-RSA-AES128-GCM-SHA256", true},
                 {"ECDHE-RSA-AES256-GCM-SHA384", true},
                 {"ECDHE-RSA-CHACHA20-POLY1305", true},
                 {"AES128-SHA", false},
                 {"AES256-SHA", false},
                 {"AES128-GCM-SHA256", false},
                 {"AES256-GCM-SHA384", false},
                 {"ECDHE-RSA-AES128-SHA", false},
                 {"ECDHE-RSA-AES256-SHA384", false},
                 {"ECDHE-RSA-AES128-SHA256", false},
                 {"DHE-RSA-AES128-SHA", false},
                 {"CAMELLIA128-SHA", false}};
    fixture_open(&f);
    rsa_certificate(&f);
    ck_assert_msg(start(&f, error, sizeof error) == SKEIN_OK, "%s", error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(cipher_is_taken(&f, cases[i].cipher) == cases[i].taken, "%s",
                      cases[i].cipher);
    fixture_stop(&f);
}
END_TEST

static bool is_strict(const struct fixture *f, const char *host)
{
    char request[200];
    snprintf(request, sizeof request,
             "GET /small HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n", host);
    char *text = talk(f, request);
    ck_assert_msg(strstr(text, " 200 ") != NULL, "%s", text);
    bool strict = strstr(text, "Strict-Transport-Security: max-age=31536000\r\n") != NULL;
    free(text);
    return strict;
}

START_TEST(browsers_are_told_to_stay_with_https_but_for_localhost)
{
    struct fixture f;
    fixture_start(&f);
    ck_assert(is_strict(&f, "skein.example") && is_strict(&f, "skein.example:7462"));
    ck_assert(is_strict(&f, "127.0.0.1:7462") && is_strict(&f, "notlocalhost"));
    ck_assert(!is_strict(&f, "localhost") && !is_strict(&f, "LOCALHOST:7462"));
    ck_assert(!is_strict(&f, "a.localhost:1"));
    fixture_stop(&f);
}
END_TEST

START_TEST(doubts_are_refused_behind_the_encryption_too)
{
    struct fixture f;
    fixture_start(&f);
    char *text = talk(&f, "POST /echo HTTP/1.1\\r\\nHost: h\\r\\nContent-Length: 0\\r\\n"
                          "Transfer-Encoding : chunked\\r\\n\\r\\n"
                          "GET /small HTTP/1.1\\r\\nHost: h\\r\\n\\r\\n");
    ck_assert_msg(strncmp(text, "HTTP/1.1 400 ", 13) == 0, "%s", text);
    ck_assert_ptr_null(strstr(text, "HTTP/1.1 200 "));
    free(text);
    text = talk(&f, "POST /echo HTTP/1.1\\r\\nHost: h\\r\\nContent-Type: application/json\\r\\n"
                    "Transfer-Encoding: chunked\\r\\nConnection: close\\r\\n\\r\\n"
                    "2;x\\r\\n{}\\r\\n0\\r\\n\\r\\n");
    ck_assert_msg(strncmp(text, "HTTP/1.1 200 ", 13) == 0, "%s", text);
    free(text);
    fixture_stop(&f);
}
END_TEST

/* ---- a certificate that is replaced ---- */

struct watcher {
    const struct fixture *fixture;
    int fd;
    char ca[512];
    bool finished; /* atomic */
};

static int pass_on(void *context, const void *bytes, size_t n)
{
    const struct watcher *w = context;
    return write(w->fd, bytes, n) == (ssize_t)n ? SKEIN_OK : SKEIN_IO;
}

static void *watch(void *context)
{
    struct watcher *w = context;
    struct http_response response;
    char url[64];
    snprintf(url, sizeof url, "https://127.0.0.1:%u/live", http_port(w->fixture->server));
    struct http_request request = {.url = url, .ca_file = w->ca, .sink = pass_on, .context = w};
    (void)http_request(&request, &response);
    http_response_fini(&response);
    __atomic_store_n(&w->finished, true, __ATOMIC_RELAXED);
    close(w->fd);
    return NULL;
}

static void expect_tick(int fd)
{
    char text[4];
    size_t n = 0;
    while (n < sizeof text) {
        ssize_t got = read(fd, text + n, sizeof text - n);
        ck_assert_int_gt(got, 0);
        n += (size_t)got;
    }
    ck_assert_int_eq(memcmp(text, "tick", 4), 0);
}

static void move(const struct fixture *f, const char *from, const char *to)
{
    char *a = path_join(f->folder, from), *b = path_join(f->folder, to);
    ck_assert_int_eq(rename(a, b), 0);
    free(a);
    free(b);
}

START_TEST(new_connections_see_a_new_certificate_and_old_ones_go_on)
{
    struct fixture f;
    struct watcher w = {.fixture = &f};
    pthread_t thread;
    int ends[2];
    char error[512] = "";
    fixture_start(&f);
    make_certificate(f.folder, "two");
    char *copy = path_join(f.folder, "old.crt");
    size_t n;
    char *text = file_read(f.certificate, &n);
    file_write(copy, text, n);
    snprintf(w.ca, sizeof w.ca, "%s", copy);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    w.fd = ends[1];
    ck_assert_int_eq(pthread_create(&thread, NULL, watch, &w), 0);
    subject_tick();
    expect_tick(ends[0]);

    move(&f, "two.crt", "one.crt"); /* without its key yet: the old pair stays */
    ck_assert_int_eq(http_reload(f.server, error, sizeof error), SKEIN_INVALID);
    ck_assert_int_eq(status_of_get(&f, "https", "/small", "old.crt"), 200);
    move(&f, "two.key", "one.key");
    ck_assert_int_eq(http_reload(f.server, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(http_reload(f.server, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(status_of_get(&f, "https", "/small", "one.crt"), 200);
    ck_assert_int_lt(status_of_get(&f, "https", "/small", "old.crt"), 0);

    subject_tick();
    expect_tick(ends[0]);
    ck_assert(!__atomic_load_n(&w.finished, __ATOMIC_RELAXED));
    http_stop(&f.server);
    pthread_join(thread, NULL);
    close(ends[0]);
    free(copy);
    free(text);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("http_tls", files_that_do_not_do_are_refused_with_words,
                 only_who_trusts_the_certificate_is_answered_and_plain_http_is_not,
                 long_download_comes_whole, doubts_are_refused_behind_the_encryption_too,
                 versions_before_1_2_are_refused, ciphers_without_secrecy_of_the_past_are_refused,
                 browsers_are_told_to_stay_with_https_but_for_localhost,
                 new_connections_see_a_new_certificate_and_old_ones_go_on, NULL));
}
