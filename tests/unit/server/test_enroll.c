/* SPDX-License-Identifier: Apache-2.0
 * Who is let in: keys, tokens, revocation, also when another process changes them. */
#include "enroll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#define HOUR UINT64_C(3600000000000)
#define NOW  (1000 * HOUR)

static char *folder;
static struct enroll *e;
static struct seal_pair agent;
static char error[512], reason[SEAL_REASON_MAX + 1];

static void setup(void)
{
    folder = temp_dir_new();
    ck_assert_int_eq(enroll_open(folder, &e, error, sizeof error), SKEIN_OK);
    seal_pair_make(&agent);
}

static void teardown(void)
{
    enroll_close(&e);
    temp_dir_free(&folder);
}

static int admit(uint64_t id, const char *token, uint64_t now_ns)
{
    reason[0] = '\0';
    return enroll_admit(e, id, &agent.open, token, now_ns, reason, sizeof reason);
}

START_TEST(stranger_without_a_token_is_refused)
{
    setup();
    ck_assert_int_eq(admit(7, "", NOW), SKEIN_REFUSED);
    ck_assert_ptr_nonnull(strstr(reason, "not enrolled"));
    ck_assert_int_eq(admit(7, "skj_guessed", NOW), SKEIN_REFUSED);
    ck_assert(!enroll_is_good(e, 7));
    teardown();
}
END_TEST

START_TEST(token_lets_in_as_many_as_it_says_and_they_stay)
{
    char token[ENROLL_TOKEN_BYTES];
    setup();
    ck_assert_int_eq(enroll_token_create(e, NOW, NOW + HOUR, 2, token), SKEIN_OK);
    ck_assert_int_eq(admit(1, token, NOW), SKEIN_OK);
    ck_assert_int_eq(admit(1, token, NOW), SKEIN_OK); /* takes no second use */
    ck_assert_int_eq(admit(2, token, NOW), SKEIN_OK);
    ck_assert_int_eq(admit(3, token, NOW), SKEIN_REFUSED);
    ck_assert_ptr_nonnull(strstr(reason, "used up"));
    ck_assert_int_eq(admit(1, "", NOW + 1000 * HOUR), SKEIN_OK);
    teardown();
}
END_TEST

START_TEST(expired_token_is_refused)
{
    char token[ENROLL_TOKEN_BYTES];
    setup();
    ck_assert_int_eq(enroll_token_create(e, NOW, NOW + HOUR, 1, token), SKEIN_OK);
    ck_assert_int_eq(admit(1, token, NOW + HOUR), SKEIN_REFUSED);
    ck_assert_int_eq(admit(1, token, NOW + HOUR - 1), SKEIN_OK);
    teardown();
}
END_TEST

static int take_id(void *context, const struct enroll_token *token)
{
    snprintf(context, 17, "%s", token->id);
    return 0;
}

START_TEST(revoked_token_is_refused)
{
    char token[ENROLL_TOKEN_BYTES], id[17] = "";
    setup();
    ck_assert_int_eq(enroll_token_create(e, NOW, NOW + HOUR, 1, token), SKEIN_OK);
    ck_assert_int_eq(enroll_tokens(e, take_id, id), 1);
    ck_assert_ptr_null(strstr(token, id));
    ck_assert_int_eq(enroll_token_revoke(e, id), SKEIN_OK);
    ck_assert_int_eq(enroll_token_revoke(e, id), SKEIN_NOT_FOUND);
    ck_assert_int_eq(admit(1, token, NOW), SKEIN_REFUSED);
    teardown();
}
END_TEST

START_TEST(agent_with_another_key_is_refused_until_forgotten)
{
    char token[ENROLL_TOKEN_BYTES];
    setup();
    ck_assert_int_eq(enroll_token_create(e, NOW, NOW + HOUR, 5, token), SKEIN_OK);
    ck_assert_int_eq(admit(1, token, NOW), SKEIN_OK);
    seal_pair_make(&agent);
    ck_assert_int_eq(admit(1, token, NOW), SKEIN_REFUSED);
    ck_assert_int_eq(enroll_forget(e, 1), SKEIN_OK);
    ck_assert_int_eq(admit(1, token, NOW), SKEIN_OK);
    teardown();
}
END_TEST

START_TEST(revocation_by_another_process_is_seen)
{
    char token[ENROLL_TOKEN_BYTES];
    struct enroll *other;
    setup();
    ck_assert_int_eq(enroll_token_create(e, NOW, NOW + HOUR, 5, token), SKEIN_OK);
    ck_assert_int_eq(admit(1, token, NOW), SKEIN_OK);
    int64_t before = enroll_changes(e);
    ck_assert_int_eq(enroll_open(folder, &other, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(enroll_revoke(other, 1, NOW), SKEIN_OK);
    ck_assert_int_eq(enroll_revoke(other, 2, NOW), SKEIN_NOT_FOUND);
    enroll_close(&other);
    ck_assert_int_ne(enroll_changes(e), before);
    ck_assert(!enroll_is_good(e, 1));
    ck_assert_int_eq(admit(1, token, NOW), SKEIN_REFUSED);
    ck_assert_ptr_nonnull(strstr(reason, "revoked"));
    teardown();
}
END_TEST

START_TEST(keys_rotate_and_retire_under_a_running_collector)
{
    struct seal_pair first[ENROLL_KEYS], keys[ENROLL_KEYS];
    setup();
    ck_assert_uint_eq(enroll_keys(e, keys), 0);
    ck_assert_int_eq(enroll_change_keys(folder, ENROLL_ROTATE, error, sizeof error),
                     SKEIN_NOT_FOUND);
    ck_assert_int_eq(enroll_change_keys(folder, ENROLL_MAKE, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(enroll_change_keys(folder, ENROLL_MAKE, error, sizeof error), SKEIN_EXISTS);
    ck_assert_uint_eq(enroll_keys(e, first), 1);
    ck_assert_int_eq(enroll_change_keys(folder, ENROLL_ROTATE, error, sizeof error), SKEIN_OK);
    ck_assert_uint_eq(enroll_keys(e, keys), 2);
    ck_assert(seal_public_equal(&keys[1].open, &first[0].open));
    ck_assert(!seal_public_equal(&keys[0].open, &first[0].open));
    ck_assert_int_eq(enroll_change_keys(folder, ENROLL_RETIRE, error, sizeof error), SKEIN_OK);
    ck_assert_uint_eq(enroll_keys(e, first), 1);
    ck_assert(seal_public_equal(&keys[0].open, &first[0].open));
    ck_assert_int_eq(enroll_change_keys(folder, ENROLL_RETIRE, error, sizeof error),
                     SKEIN_NOT_FOUND);
    teardown();
}
END_TEST

int main(void)
{
    return suite_run(suite_of("enroll", stranger_without_a_token_is_refused,
                              token_lets_in_as_many_as_it_says_and_they_stay,
                              expired_token_is_refused, revoked_token_is_refused,
                              agent_with_another_key_is_refused_until_forgotten,
                              revocation_by_another_process_is_seen,
                              keys_rotate_and_retire_under_a_running_collector, NULL));
}
