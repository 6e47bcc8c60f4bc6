/* SPDX-License-Identifier: Apache-2.0
 * Who is let in: keys, tokens, revocation, also when another process changes them. */
#include "enroll.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

#define HOUR UINT64_C(3600000000000)
#define NOW  (1000 * HOUR)

static char *folder;
static struct enroll *e;
static struct seal_pair agent;
static char error[512], reason[SEAL_REASON_MAX + 1], made[ENROLL_ID_BYTES], by[ENROLL_ID_BYTES];

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
    return enroll_admit(e, id, &agent.open, token, now_ns, by, reason, sizeof reason);
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
    ck_assert_int_eq(enroll_token_create(e, NOW, NOW + HOUR, 2, made, token), SKEIN_OK);
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
    ck_assert_int_eq(enroll_token_create(e, NOW, NOW + HOUR, 1, made, token), SKEIN_OK);
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
    ck_assert_int_eq(enroll_token_create(e, NOW, NOW + HOUR, 1, made, token), SKEIN_OK);
    ck_assert_int_eq(enroll_tokens(e, NOW, take_id, id), 1);
    ck_assert_ptr_null(strstr(token, id));
    ck_assert_int_eq(enroll_token_revoke(e, id), SKEIN_OK);
    ck_assert_int_eq(enroll_token_revoke(e, id), SKEIN_NOT_FOUND);
    ck_assert_int_eq(admit(1, token, NOW), SKEIN_REFUSED);
    teardown();
}
END_TEST

static int take_state(void *context, const struct enroll_token *token)
{
    snprintf(context, 17, "%s", token->state);
    return 0;
}

static void expect_token(uint64_t now_ns, const char *state)
{
    char text[17] = "";
    ck_assert_int_eq(enroll_tokens(e, now_ns, take_state, text), state != NULL ? 1 : 0);
    ck_assert_str_eq(text, state != NULL ? state : "");
}

START_TEST(token_says_why_it_lets_nobody_in_and_is_forgotten_in_time)
{
    char token[ENROLL_TOKEN_BYTES];
    setup();
    ck_assert_int_eq(enroll_token_create(e, NOW, NOW + HOUR, 1, made, token), SKEIN_OK);
    expect_token(NOW, "active");
    expect_token(NOW + HOUR, "expired");
    expect_token(NOW + HOUR + ENROLL_KEEP_NS - 1, "expired");
    expect_token(NOW + HOUR + ENROLL_KEEP_NS, NULL);
    ck_assert_int_eq(admit(1, token, NOW), SKEIN_OK);
    expect_token(NOW, "used");
    expect_token(NOW + HOUR, "used");
    uint64_t later = NOW + HOUR + ENROLL_KEEP_NS;
    ck_assert_int_eq(enroll_token_create(e, later, later + HOUR, 1, made, token), SKEIN_OK);
    expect_token(0, "active"); /* the first is not in the database any more */
    teardown();
}
END_TEST

START_TEST(agent_with_another_key_is_refused_until_forgotten)
{
    char token[ENROLL_TOKEN_BYTES];
    setup();
    ck_assert_int_eq(enroll_token_create(e, NOW, NOW + HOUR, 5, made, token), SKEIN_OK);
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
    ck_assert_int_eq(enroll_token_create(e, NOW, NOW + HOUR, 5, made, token), SKEIN_OK);
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

#define JOINERS 40
struct joiner {
    struct enroll *e;
    const char *token;
    uint64_t first;
    unsigned joined, refused;
};

static void *join_all(void *argument)
{
    struct joiner *j = argument;
    char why[SEAL_REASON_MAX + 1], used[ENROLL_ID_BYTES];
    struct seal_pair pair;
    for (uint64_t i = 0; i < JOINERS; i++) {
        seal_pair_make(&pair);
        int status =
            enroll_admit(j->e, j->first + i, &pair.open, j->token, NOW, used, why, sizeof why);
        j->joined += status == SKEIN_OK;
        j->refused += status == SKEIN_REFUSED;
    }
    return NULL;
}

/* A running collector and `skeind` beside it, each with a connection of its own. */
START_TEST(two_that_write_at_once_use_a_token_as_often_as_it_says)
{
    char token[ENROLL_TOKEN_BYTES];
    struct enroll *other;
    pthread_t threads[2];
    setup();
    ck_assert_int_eq(enroll_open(folder, &other, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(enroll_token_create(other, NOW, NOW + HOUR, JOINERS + 7, made, token),
                     SKEIN_OK);
    struct joiner joiners[2] = {{.e = e, .token = token, .first = 1},
                                {.e = other, .token = token, .first = 1 + JOINERS}};
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, join_all, &joiners[i]), 0);
    for (uint64_t i = 0; i < 10; i++) /* and an administrator */
        (void)enroll_revoke(other, 1 + i, NOW);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(joiners[0].joined + joiners[1].joined, JOINERS + 7);
    ck_assert_uint_eq(joiners[0].refused + joiners[1].refused, JOINERS - 7);
    enroll_close(&other);
    teardown();
}
END_TEST

static atomic_uint rotations;

static void *rotate_keys(void *argument)
{
    char words[512];
    for (int i = 0; i < 20; i++) {
        int status = enroll_change_keys(argument, ENROLL_ROTATE, words, sizeof words);
        ck_assert(status == SKEIN_OK || status == SKEIN_EXISTS);
        atomic_fetch_add(&rotations, status == SKEIN_OK);
    }
    return NULL;
}

/* Agents that have not had a session since know the first key alone. */
START_TEST(rotations_at_once_or_in_a_row_keep_the_key_that_agents_know)
{
    struct seal_pair before[ENROLL_KEYS], keys[ENROLL_KEYS];
    pthread_t threads[2];
    setup();
    ck_assert_int_eq(enroll_change_keys(folder, ENROLL_MAKE, error, sizeof error), SKEIN_OK);
    ck_assert_uint_eq(enroll_keys(e, before), 1);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, rotate_keys, folder), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(atomic_load(&rotations), 1);
    ck_assert_uint_eq(enroll_keys(e, keys), 2);
    ck_assert(seal_public_equal(&keys[1].open, &before[0].open));
    teardown();
}
END_TEST

START_TEST(keys_that_root_makes_are_the_folders_owners)
{
    static const char *const paths[] = {"keys", "keys/current.key", "keys/previous.key",
                                        "enroll.db"};
    char path[4096];
    struct stat st;
    if (geteuid() != 0)
        return;
    setup();
    enroll_close(&e);
    ck_assert_int_eq(enroll_change_keys(folder, ENROLL_MAKE, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(chown(folder, 65534, 65533), 0); /* from here on it is another's */
    ck_assert_int_eq(enroll_change_keys(folder, ENROLL_MAKE, error, sizeof error), SKEIN_EXISTS);
    ck_assert_int_eq(enroll_change_keys(folder, ENROLL_ROTATE, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(enroll_open(folder, &e, error, sizeof error), SKEIN_OK);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, paths[i]);
        ck_assert_int_eq(lstat(path, &st), 0);
        ck_assert_msg(st.st_uid == 65534 && st.st_gid == 65533, "%s: %u:%u", path, st.st_uid,
                      st.st_gid);
        ck_assert_uint_eq(st.st_mode & 077, 0);
    }
    /* What somebody else names elsewhere too is not given away, and no link is followed. */
    snprintf(path, sizeof path, "%s/other", folder);
    file_write_text(path, "root's");
    char name[4200];
    snprintf(name, sizeof name, "%s/keys/previous.key", folder);
    ck_assert_int_eq(unlink(name), 0);
    ck_assert_int_eq(link(path, name), 0);
    ck_assert_int_eq(enroll_change_keys(folder, ENROLL_MAKE, error, sizeof error), SKEIN_EXISTS);
    ck_assert_int_eq(unlink(name), 0);
    ck_assert_int_eq(symlink(path, name), 0);
    ck_assert_int_eq(enroll_change_keys(folder, ENROLL_MAKE, error, sizeof error), SKEIN_EXISTS);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_uid, 0);
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

static void expect_damaged(void)
{
    ck_assert_int_eq(enroll_open(folder, &e, error, sizeof error), SKEIN_CORRUPT);
    ck_assert_ptr_nonnull(strstr(error, "enroll.db is damaged: put a backup's in its place"));
}

START_TEST(damaged_database_says_what_to_do)
{
    setup();
    enroll_close(&e);
    char *path = path_join(folder, "enroll.db"), garbage[4096];
    memset(garbage, 'x', sizeof garbage);
    file_write(path, garbage, sizeof garbage);
    expect_damaged();
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(enroll_open(folder, &e, error, sizeof error), SKEIN_OK);
    enroll_close(&e);
    FILE *file = fopen(path, "r+"); /* behind the schema: a page of rows */
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, sizeof garbage, SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(garbage, 1, sizeof garbage, file), sizeof garbage);
    ck_assert_int_eq(fclose(file), 0);
    expect_damaged();
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(enroll_open(folder, &e, error, sizeof error), SKEIN_OK);
    free(path);
    teardown();
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "enroll", stranger_without_a_token_is_refused,
        token_lets_in_as_many_as_it_says_and_they_stay, expired_token_is_refused,
        revoked_token_is_refused, token_says_why_it_lets_nobody_in_and_is_forgotten_in_time,
        agent_with_another_key_is_refused_until_forgotten, revocation_by_another_process_is_seen,
        two_that_write_at_once_use_a_token_as_often_as_it_says,
        rotations_at_once_or_in_a_row_keep_the_key_that_agents_know,
        keys_that_root_makes_are_the_folders_owners,
        keys_rotate_and_retire_under_a_running_collector, damaged_database_says_what_to_do, NULL));
}
