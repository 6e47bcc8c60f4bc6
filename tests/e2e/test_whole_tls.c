/* SPDX-License-Identifier: Apache-2.0
 *
 * `skein` and skeind over HTTPS, with tokens and certificates that openssl makes: whom the command
 * line trusts, and a renewed certificate after SIGHUP. One thread.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "whole.h"

static struct whole w;
static char *out, *certificate, *key, *token;
static char url[64], ca[512];

/* Runs a program; what it prints is in `out`. */
static int run(const char *const *argv, const char *variable)
{
    (void)remove(out); /* spawn() appends */
    struct spawn_options options = {
        .env = (const char *const[]){url, variable, NULL}, .folder = w.folder, .out_file = out};
    return spawn_wait(spawn(argv, &options), 0);
}
#define RUN(variable, ...) run((const char *const[]){__VA_ARGS__, NULL}, variable)

static bool said(const char *words)
{
    char *text = file_read(out, NULL);
    bool found = text != NULL && strstr(text, words) != NULL;
    free(text);
    return found;
}

/* A new certificate in the files that skeind reads; `copy` is what clients trust. */
static void renew(const char *copy)
{
    size_t n;
    ck_assert_int_eq(RUN(NULL, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                         "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out",
                         certificate, "-days", "30", "-subj", "/CN=skein", "-addext",
                         "subjectAltName=IP:127.0.0.1"),
                     0);
    ck_assert_int_eq(chmod(key, 0600), 0);
    char *text = file_read(certificate, &n);
    ck_assert_ptr_nonnull(text);
    file_write(copy, text, n);
    free(text);
}

static void set_up(void)
{
    char settings[1200];
    whole_init(&w, NULL, NULL);
    out = whole_path(&w, "out");
    certificate = whole_path(&w, "tls.crt");
    key = whole_path(&w, "tls.key");
    token = whole_path(&w, "token");
    char *copy = whole_path(&w, "one.crt");
    renew(copy);
    (void)snprintf(url, sizeof url, "SKEIN_COLLECTOR=https://127.0.0.1:%u", w.http);
    (void)snprintf(ca, sizeof ca, "SKEIN_CA=%s", copy);
    free(copy);
    (void)snprintf(settings, sizeof settings,
                   "\"http\":{\"tls_certificate\":\"%s\",\"tls_key\":\"%s\"}", certificate, key);
    w.collector_more = settings;
    whole_configure(&w);
    w.collector_more = NULL;
}

static void tear_down(void)
{
    whole_fini(&w);
    free(out);
    free(certificate);
    free(key);
    free(token);
}

static bool asked_well(void *variable)
{
    return RUN(variable, SKEIN_PROGRAM, "ps") == 0;
}

/* whole_collector_start would ask it in plain. */
static void start_collector(void)
{
    char *config = whole_path(&w, "collector.json"), *log = whole_path(&w, "collector.log");
    struct spawn_options options = {.out_file = log};
    const char *const argv[] = {WHOLE_SKEIND, "--config", config, NULL};
    w.collector = spawn(argv, &options);
    ck_assert_msg(wait_until(asked_well, ca, 0), "no collector: see %s", w.folder);
    free(config);
    free(log);
}

START_TEST(command_line_trusts_the_given_authority_alone_and_sees_a_renewal)
{
    char again[512];
    set_up();
    start_collector();
    ck_assert_int_eq(RUN(NULL, SKEIN_PROGRAM, "ps"), 1);
    ck_assert(said("certificate") && said("--ca FILE"));
    ck_assert_int_eq(RUN(NULL, SKEIN_PROGRAM, "ps", "--ca", ca + strlen("SKEIN_CA=")), 0);
    ck_assert_int_eq(RUN(NULL, SKEIN_PROGRAM, "ps", "--ca", "x", "--collector", "http://h:1"), 2);

    char *copy = whole_path(&w, "two.crt");
    renew(copy);
    (void)snprintf(again, sizeof again, "SKEIN_CA=%s", copy);
    ck_assert_int_ne(RUN(again, SKEIN_PROGRAM, "ps"), 0); /* not before it is told */
    ck_assert_int_eq(kill(w.collector, SIGHUP), 0);
    ck_assert(wait_until(asked_well, again, 0));
    ck_assert_int_ne(RUN(ca, SKEIN_PROGRAM, "ps"), 0);
    free(copy);
    tear_down();
}
END_TEST

START_TEST(token_comes_from_a_file_that_others_cannot_read)
{
    set_up();
    start_collector();
    ck_assert_int_eq(RUN(NULL, WHOLE_SKEIND, "token", "create", "--name", "ada", "--scope", "admin",
                         "--config", "collector.json"),
                     0);
    char *text = file_read(out, NULL);
    file_write_text(token, text);
    ck_assert_int_eq(chmod(token, 0644), 0);
    ck_assert_int_eq(RUN(ca, SKEIN_PROGRAM, "ps"), 1);
    ck_assert(said("--token-file or SKEIN_TOKEN"));
    ck_assert_int_eq(RUN(ca, SKEIN_PROGRAM, "ps", "--token-file", token), 1);
    ck_assert(said("chmod 600"));
    ck_assert_int_eq(chmod(token, 0600), 0);
    ck_assert_int_eq(RUN(ca, SKEIN_PROGRAM, "ps", "--token-file", token), 0);
    free(text);
    tear_down();
}
END_TEST

/* The token ada, in a file. */
static void make_token(void)
{
    ck_assert_int_eq(RUN(NULL, WHOLE_SKEIND, "token", "create", "--name", "ada", "--scope", "admin",
                         "--config", "collector.json"),
                     0);
    char *text = file_read(out, NULL);
    file_write_text(token, text);
    ck_assert_int_eq(chmod(token, 0600), 0);
    free(text);
}

START_TEST(console_is_linked_and_the_link_logs_in_once)
{
    char link[256];
    set_up();
    start_collector();
    ck_assert_int_eq(RUN(ca, SKEIN_PROGRAM, "console"), 0);
    ck_assert(said("no login is needed") && !said("login#"));
    make_token();
    ck_assert_int_eq(RUN(ca, SKEIN_PROGRAM, "console"), 1);
    ck_assert(said("--token-file or SKEIN_TOKEN"));
    ck_assert_int_eq(RUN(ca, SKEIN_PROGRAM, "console", "--print", "-j", "--token-file", token), 0);
    ck_assert(said("\"expires\""));
    ck_assert_int_eq(RUN(ca, SKEIN_PROGRAM, "console", "--token-file", token), 0);
    ck_assert(said("good once"));
    char *text = file_read(out, NULL), *at = strstr(text, "https://");
    ck_assert_ptr_nonnull(at);
    (void)snprintf(link, sizeof link, "%.*s", (int)strcspn(at, "\n"), at);
    free(text);
    int status = RUN(ca, "python3", CONSOLE_LOGIN, link, ca + strlen("SKEIN_CA="));
    text = file_read(out, NULL);
    ck_assert_msg(status == 0, "%s", text);
    free(text);
    status = RUN(ca, "python3", CONSOLE_OPEN, SKEIN_PROGRAM, token);
    text = file_read(out, NULL);
    ck_assert_msg(status == 0, "%s", text);
    free(text);
    tear_down();
}
END_TEST

int main(void)
{
    return suite_run(suite_of("whole_tls",
                              command_line_trusts_the_given_authority_alone_and_sees_a_renewal,
                              token_comes_from_a_file_that_others_cannot_read,
                              console_is_linked_and_the_link_logs_in_once, NULL));
}
