/* SPDX-License-Identifier: Apache-2.0
 * Tokens and the lockout of addresses that send wrong ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lockout.h"
#include "support.h"
#include "tokens.h"

#define NOW 1000000000000u

static struct tokens *open_in(const char *folder)
{
    struct tokens *t;
    char error[256] = "";
    int status = tokens_open(folder, &t, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
    return t;
}

static int make(struct tokens *t, const char *name, enum http_scope scope, const char *selector,
                uint64_t expires_ns, char text[TOKEN_TEXT_BYTES])
{
    struct token token = {.scope = scope, .expires_ns = expires_ns};
    char error[256] = "";
    snprintf(token.name, sizeof token.name, "%s", name);
    snprintf(token.selector, sizeof token.selector, "%s", selector);
    return tokens_create(t, &token, NOW, text, error, sizeof error);
}

START_TEST(token_is_known_until_it_is_revoked_or_expires)
{
    char *folder = temp_dir_new(), text[TOKEN_TEXT_BYTES], brief[TOKEN_TEXT_BYTES];
    struct token token;
    struct tokens *t = open_in(folder), *other = open_in(folder);
    ck_assert_int_eq(tokens_any(t), 0);
    ck_assert_int_eq(make(t, "ci", HTTP_OPERATOR, "", 0, text),
                     SKEIN_INVALID); /* who made others? */
    ck_assert_int_eq(tokens_any(t), 0);
    ck_assert_int_eq(make(t, "root", HTTP_ADMIN, "", 0, text), SKEIN_OK);
    ck_assert_int_eq(make(t, "ci", HTTP_OPERATOR, "service=shop", 0, text), SKEIN_OK);
    ck_assert_int_eq(make(t, "brief", HTTP_VIEWER, "", NOW + 5, brief), SKEIN_OK);
    ck_assert_int_eq(strncmp(text, "skn_o_", 6), 0);
    /* Another connection, as of another process, sees it. */
    ck_assert_int_eq(tokens_check(other, text, NOW, &token), SKEIN_OK);
    ck_assert_str_eq(token.name, "ci");
    ck_assert_str_eq(token.selector, "service=shop");
    ck_assert_int_eq(token.scope, HTTP_OPERATOR);
    ck_assert_int_eq(tokens_check(t, brief, NOW + 4, &token), SKEIN_OK);
    ck_assert_int_eq(tokens_check(t, brief, NOW + 5, &token), SKEIN_NOT_FOUND);
    ck_assert_int_eq(tokens_revoke(other, "ci", NOW), SKEIN_OK);
    ck_assert_int_eq(tokens_revoke(other, "ci", NOW), SKEIN_NOT_FOUND);
    ck_assert_int_eq(tokens_check(t, text, NOW, &token), SKEIN_NOT_FOUND);
    ck_assert_int_eq(tokens_any(t), 1);
    ck_assert_int_eq(make(t, "ci", HTTP_VIEWER, "", 0, text), SKEIN_OK); /* the name is free */
    ck_assert_int_eq(make(t, "ci", HTTP_VIEWER, "", 0, text), SKEIN_EXISTS);
    tokens_close(&t);
    tokens_close(&other);
    temp_dir_free(&folder);
}
END_TEST

static void file_make(const char *path, const char *content, size_t bytes)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(content, 1, bytes, f), bytes);
    ck_assert_int_eq(fclose(f), 0);
}

/* Nobody is let in because the tokens are gone, and the first new one is an admin's again. */
static void expect_closed(const char *folder)
{
    char text[TOKEN_TEXT_BYTES];
    struct tokens *t = open_in(folder);
    ck_assert_int_eq(tokens_any(t), 1);
    ck_assert(tokens_lost(t));
    ck_assert_int_eq(make(t, "ci", HTTP_VIEWER, "", 0, text), SKEIN_INVALID);
    ck_assert_int_eq(make(t, "new", HTTP_ADMIN, "", 0, text), SKEIN_OK);
    ck_assert(!tokens_lost(t));
    tokens_close(&t);
}

START_TEST(lost_tokens_open_the_collector_to_nobody)
{
    char *folder = temp_dir_new(), *path = path_join(folder, "tokens.db"), to[4096] = "";
    char text[TOKEN_TEXT_BYTES], error[256] = "", garbage[8192];
    struct tokens *t = open_in(folder);
    ck_assert_int_eq(tokens_any(t), 0);
    ck_assert(!tokens_lost(t));
    ck_assert_int_eq(make(t, "root", HTTP_ADMIN, "", 0, text), SKEIN_OK);
    ck_assert(!tokens_lost(t));
    tokens_close(&t);

    file_make(path, "", 0);
    expect_closed(folder);
    ck_assert_int_eq(unlink(path), 0);
    expect_closed(folder);
    memset(garbage, 'x', sizeof garbage);
    file_make(path, garbage, sizeof garbage);
    ck_assert_int_eq(tokens_open(folder, &t, error, sizeof error), SKEIN_CORRUPT);
    ck_assert_ptr_nonnull(strstr(error, "tokens.db is damaged"));
    ck_assert_int_eq(tokens_set_aside(folder, to, sizeof to), SKEIN_OK);
    ck_assert_int_eq(access(to, F_OK), 0);
    expect_closed(folder);
    free(path);
    temp_dir_free(&folder);
}
END_TEST

/* Of a collector that did not know the mark yet. */
START_TEST(tokens_that_are_there_are_marked_at_the_next_start)
{
    char *folder = temp_dir_new(), *mark = path_join(folder, "tokens.needed");
    char text[TOKEN_TEXT_BYTES];
    struct tokens *t = open_in(folder);
    ck_assert_int_eq(make(t, "root", HTTP_ADMIN, "", 0, text), SKEIN_OK);
    tokens_close(&t);
    ck_assert_int_eq(unlink(mark), 0);
    t = open_in(folder);
    tokens_close(&t);
    ck_assert_int_eq(access(mark, F_OK), 0);
    free(mark);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(no_changed_letter_passes)
{
    char *folder = temp_dir_new(), text[TOKEN_TEXT_BYTES];
    struct token token;
    struct tokens *t = open_in(folder);
    ck_assert_int_eq(make(t, "a", HTTP_ADMIN, "", 0, text), SKEIN_OK);
    for (size_t i = 0; text[i] != '\0'; i++) {
        char kept = text[i];
        text[i] = kept == 'o' ? 'a' : 'o'; /* also the letter of the scope */
        ck_assert_int_eq(tokens_check(t, text, NOW, &token), SKEIN_NOT_FOUND);
        text[i] = '\0';
        ck_assert_int_eq(tokens_check(t, text, NOW, &token), SKEIN_NOT_FOUND);
        text[i] = kept;
    }
    ck_assert_int_eq(tokens_check(t, text, NOW, &token), SKEIN_OK);
    tokens_close(&t);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(database_holds_no_token_and_is_its_owners_alone)
{
    char *folder = temp_dir_new(), text[TOKEN_TEXT_BYTES], *path;
    struct stat st;
    size_t n;
    struct tokens *t = open_in(folder);
    ck_assert_int_eq(make(t, "a", HTTP_ADMIN, "", 0, text), SKEIN_OK);
    tokens_close(&t);
    path = path_join(folder, "tokens.db");
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    char *bytes = file_read(path, &n);
    ck_assert_ptr_null(memmem(bytes, n, text + 18, strlen(text + 18)));
    free(bytes);
    free(path);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(wrong_tokens_are_not_made)
{
    char *folder = temp_dir_new(), text[TOKEN_TEXT_BYTES];
    struct tokens *t = open_in(folder);
    ck_assert_int_eq(make(t, "", HTTP_VIEWER, "", 0, text), SKEIN_INVALID);
    ck_assert_int_eq(make(t, "a b", HTTP_VIEWER, "", 0, text), SKEIN_INVALID);
    ck_assert_int_eq(make(t, "local", HTTP_ADMIN, "", 0, text), SKEIN_INVALID);
    ck_assert_int_eq(make(t, "a", HTTP_PUBLIC, "", 0, text), SKEIN_INVALID);
    ck_assert_int_eq(make(t, "a", HTTP_VIEWER, "a in", 0, text), SKEIN_INVALID);
    ck_assert_int_eq(make(t, "a", HTTP_VIEWER, "", NOW, text), SKEIN_INVALID);
    ck_assert_int_eq(make(t, "a", HTTP_ADMIN, "a=b", 0, text), SKEIN_INVALID);
    ck_assert_int_eq(tokens_any(t), 0);
    tokens_close(&t);
    temp_dir_free(&folder);
}
END_TEST

#define WRONG "skn_a_0123456789abcdefgh"

START_TEST(address_is_locked_out_for_a_while)
{
    struct lockout *l = lockout_new(3, 10000);
    uint64_t now = NOW, second = 1000000000u;
    for (int i = 0; i < 2; i++)
        lockout_bad(l, "10.0.0.1", WRONG, now);
    ck_assert_uint_eq(lockout_left(l, "10.0.0.1", WRONG, now), 0);
    lockout_bad(l, "10.0.0.1", WRONG, now + 61 * second); /* the minute is over: counted anew */
    ck_assert_uint_eq(lockout_left(l, "10.0.0.1", WRONG, now + 61 * second), 0);
    now += 61 * second;
    for (int i = 0; i < 2; i++)
        lockout_bad(l, "10.0.0.1", WRONG, now);
    ck_assert_uint_eq(lockout_left(l, "10.0.0.1", WRONG, now), 10);
    ck_assert_uint_eq(lockout_left(l, "10.0.0.2", WRONG, now), 0);
    ck_assert_uint_eq(lockout_left(l, "10.0.0.1", WRONG, now + 10 * second), 0);
    for (int i = 0; i < 3; i++)
        lockout_bad(l, i > 0 ? "2001:db8::1" : "2001:db8::2", WRONG, now);
    ck_assert_uint_gt(lockout_left(l, "2001:db8::77", WRONG, now), 0);
    lockout_free(&l);
}
END_TEST

START_TEST(many_bad_addresses_do_not_free_one_that_is_locked_out)
{
    struct lockout *l = lockout_new(2, 10000);
    char address[32];
    lockout_bad(l, "10.9.9.9", WRONG, NOW);
    lockout_bad(l, "10.9.9.9", WRONG, NOW);
    for (unsigned i = 0; i < 5000; i++) {
        snprintf(address, sizeof address, "10.1.%u.%u", i / 250, i % 250);
        lockout_bad(l, address, WRONG, NOW + 1 + i);
    }
    ck_assert_uint_gt(lockout_left(l, "10.9.9.9", WRONG, NOW + 6000), 0);
    lockout_free(&l);
}
END_TEST

START_TEST(one_behind_a_proxy_does_not_lock_out_another)
{
    struct lockout *l = lockout_new(3, 10000);
    char token[32];
    for (int i = 0; i < 3; i++)
        lockout_bad(l, "10.0.0.1", WRONG, NOW);
    ck_assert_uint_eq(lockout_left(l, "10.0.0.1", WRONG, NOW), 10);
    /* what is behind the prefix is the same client's next try */
    ck_assert_uint_eq(lockout_left(l, "10.0.0.1", "skn_a_0123456789abXXXX", NOW), 10);
    ck_assert_uint_eq(lockout_left(l, "10.0.0.1", "skn_a_0123456789aX", NOW), 0);
    ck_assert_uint_eq(lockout_left(l, "10.0.0.1", "", NOW), 0);
    /* Who comes with ever new ones has one count for all of them, but for the first few. */
    for (unsigned i = 0; i < 15 + 2; i++) {
        snprintf(token, sizeof token, "skn_a_%u", i);
        lockout_bad(l, "10.0.0.1", token, NOW);
    }
    ck_assert_uint_eq(lockout_left(l, "10.0.0.1", "skn_a_never seen", NOW), 0);
    lockout_bad(l, "10.0.0.1", "skn_a_one more", NOW);
    ck_assert_uint_eq(lockout_left(l, "10.0.0.1", "skn_a_never seen", NOW), 10);
    ck_assert_uint_eq(lockout_left(l, "10.0.0.1", "skn_a_3", NOW), 0); /* of the first few */
    ck_assert_uint_eq(lockout_left(l, "10.0.0.2", "skn_a_never seen", NOW), 0);
    /* A minute and the lockout later each counts alone again. */
    ck_assert_uint_eq(lockout_left(l, "10.0.0.1", "skn_a_never seen", NOW + UINT64_C(61000000000)),
                      0);
    lockout_free(&l);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "tokens", token_is_known_until_it_is_revoked_or_expires,
        lost_tokens_open_the_collector_to_nobody,
        tokens_that_are_there_are_marked_at_the_next_start, no_changed_letter_passes,
        database_holds_no_token_and_is_its_owners_alone, wrong_tokens_are_not_made,
        address_is_locked_out_for_a_while, many_bad_addresses_do_not_free_one_that_is_locked_out,
        one_behind_a_proxy_does_not_lock_out_another, NULL));
}
