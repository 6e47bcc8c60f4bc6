/* SPDX-License-Identifier: Apache-2.0
 * Sessions and codes of logins: when they end, how many there are, and that one code makes one
 * session, whoever comes at once. The clock is the test's. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "logins.h"
#include "support.h"

#define NOW  UINT64_C(1000000000000)
#define HOUR (UINT64_C(3600) * 1000000000)

struct held {
    char secret[LOGIN_SECRET_BYTES];
    struct login login;
};

static bool finds(struct logins *l, const struct held *h, uint64_t now_ns)
{
    struct login found;
    bool there = logins_find(l, h->secret, strlen(h->secret), now_ns, &found);
    if (there) {
        ck_assert_uint_eq(found.number, h->login.number);
        ck_assert_uint_eq(found.ends_ns, h->login.ends_ns);
        ck_assert_str_eq(found.token, h->login.token);
    }
    return there;
}

static void begin(struct logins *l, const char *token, uint64_t now_ns, struct held *out)
{
    logins_begin(l, token, now_ns, out->secret, &out->login);
    ck_assert_uint_eq(strlen(out->secret), LOGIN_SECRET_BYTES - 1);
    ck_assert_str_eq(out->login.token, token);
}

static bool is_token(void *context, const char *token)
{
    return strcmp(context, token) == 0;
}

START_TEST(sweep_ends_sessions_of_tokens_that_are_gone)
{
    struct logins *l = logins_new();
    struct held a[2], b;
    char gone[] = "tokenA", none[] = "tokenC";
    begin(l, "tokenA", NOW, &a[0]);
    begin(l, "tokenB", NOW, &b);
    begin(l, "tokenA", NOW, &a[1]);
    logins_sweep(l, NOW, is_token, none);
    ck_assert_uint_eq(logins_count(l, NOW), 3);
    logins_sweep(l, NOW, is_token, gone);
    ck_assert_uint_eq(logins_count(l, NOW), 1);
    ck_assert(!finds(l, &a[0], NOW) && !finds(l, &a[1], NOW) && finds(l, &b, NOW));
    logins_free(&l);
}
END_TEST

START_TEST(session_ends_when_idle_and_at_last)
{
    struct logins *l = logins_new();
    struct held idle, busy;
    begin(l, "tokenA", NOW, &idle);
    ck_assert_uint_eq(logins_count(l, NOW), 1);
    begin(l, "tokenA", NOW, &busy);
    ck_assert_uint_eq(logins_count(l, NOW), 2);
    ck_assert_str_ne(idle.secret, busy.secret);
    ck_assert_uint_eq(busy.login.ends_ns, NOW + 24 * HOUR);
    /* looking whether it goes on is no request: a stream of events alone keeps no session */
    ck_assert(logins_still(l, idle.login.number, NOW + 7 * HOUR, NULL));
    for (unsigned hour = 7; hour < 24; hour += 7)
        ck_assert(finds(l, &busy, NOW + hour * HOUR));
    ck_assert(!finds(l, &idle, NOW + 8 * HOUR));
    ck_assert_uint_eq(logins_count(l, NOW + 8 * HOUR), 1);
    ck_assert(!logins_still(l, idle.login.number, NOW + 8 * HOUR, NULL));
    ck_assert(finds(l, &busy, NOW + 24 * HOUR - 1));
    ck_assert(!finds(l, &busy, NOW + 24 * HOUR));
    ck_assert(!logins_still(l, busy.login.number, NOW + 24 * HOUR, NULL));
    logins_free(&l);
}
END_TEST

START_TEST(request_that_read_the_clock_before_another_ends_nothing)
{
    struct logins *l = logins_new();
    struct held h;
    begin(l, "tokenA", NOW, &h);
    ck_assert(finds(l, &h, NOW + 5 * HOUR));
    ck_assert(finds(l, &h, NOW + 5 * HOUR - 1));
    ck_assert(finds(l, &h, NOW + 13 * HOUR - 1)); /* counted from the later one */
    logins_free(&l);
}
END_TEST

START_TEST(session_is_found_by_its_whole_secret_alone)
{
    struct logins *l = logins_new();
    struct held h;
    struct login found;
    char other[LOGIN_SECRET_BYTES + 1];
    begin(l, "tokenA", NOW, &h);
    for (size_t i = 0; i < strlen(h.secret); i++) {
        snprintf(other, sizeof other, "%s", h.secret);
        other[i] = other[i] == 'A' ? 'B' : 'A';
        ck_assert(!logins_find(l, other, strlen(other), NOW, &found));
        ck_assert(!logins_find(l, h.secret, i, NOW, &found));
    }
    snprintf(other, sizeof other, "%sA", h.secret);
    ck_assert(!logins_find(l, other, strlen(other), NOW, &found));
    ck_assert(!logins_find(l, "", 0, NOW, &found));
    ck_assert(!logins_still(l, 0, NOW, NULL)); /* what is no session */
    ck_assert(finds(l, &h, NOW));
    logins_end(l, h.login.number);
    logins_end(l, h.login.number);
    ck_assert(!finds(l, &h, NOW));
    ck_assert(!logins_still(l, h.login.number, NOW, NULL));
    logins_free(&l);
}
END_TEST

START_TEST(one_more_session_ends_the_one_that_was_used_longest_ago)
{
    static struct held own[LOGINS_OF_TOKEN + 1];
    struct logins *l = logins_new();
    struct held other;
    begin(l, "tokenB", NOW, &other); /* the oldest of all, but of another token */
    for (size_t i = 0; i < LOGINS_OF_TOKEN; i++)
        begin(l, "tokenA", NOW + 1 + i, &own[i]);
    ck_assert(finds(l, &own[0], NOW + 100));
    begin(l, "tokenA", NOW + 101, &own[LOGINS_OF_TOKEN]);
    ck_assert(finds(l, &own[0], NOW + 102));
    ck_assert(!finds(l, &own[1], NOW + 102));
    for (size_t i = 2; i <= LOGINS_OF_TOKEN; i++)
        ck_assert(finds(l, &own[i], NOW + 102));
    ck_assert(finds(l, &other, NOW + 102));
    logins_free(&l);
}
END_TEST

START_TEST(all_together_are_bounded_and_ended_ones_make_room)
{
    static struct held all[LOGINS_MOST + 1];
    struct logins *l = logins_new();
    char token[PRINCIPAL_TOKEN_BYTES];
    for (size_t i = 0; i < LOGINS_MOST; i++) {
        snprintf(token, sizeof token, "token%zu", i / LOGINS_OF_TOKEN);
        begin(l, token, NOW + i, &all[i]);
    }
    logins_end(l, all[7].login.number);
    begin(l, "more", NOW + LOGINS_MOST, &all[7]); /* in the place of what had ended */
    for (size_t i = 0; i < LOGINS_MOST; i++)
        ck_assert(logins_still(l, all[i].login.number, NOW + LOGINS_MOST, NULL));
    begin(l, "more", NOW + LOGINS_MOST, &all[LOGINS_MOST]);
    ck_assert(!logins_still(l, all[0].login.number, NOW + LOGINS_MOST, NULL));
    for (size_t i = 1; i <= LOGINS_MOST; i++)
        ck_assert(logins_still(l, all[i].login.number, NOW + LOGINS_MOST, NULL));
    logins_free(&l);
}
END_TEST

START_TEST(code_is_good_once_and_for_a_minute)
{
    struct logins *l = logins_new();
    char first[LOGIN_SECRET_BYTES], second[LOGIN_SECRET_BYTES], id[PRINCIPAL_TOKEN_BYTES] = "";
    struct login found;
    logins_code_make(l, "tokenA", NOW, first);
    logins_code_make(l, "tokenB", NOW, second);
    ck_assert(!logins_find(l, first, strlen(first), NOW, &found)); /* it is no session */
    ck_assert(logins_code_take(l, first, NOW + LOGIN_CODE_NS - 1, id));
    ck_assert_str_eq(id, "tokenA");
    ck_assert(!logins_code_take(l, first, NOW + LOGIN_CODE_NS - 1, id));
    ck_assert(!logins_code_take(l, second, NOW + LOGIN_CODE_NS, id));
    ck_assert(!logins_code_take(l, "", NOW, id));
    logins_free(&l);
}
END_TEST

START_TEST(codes_are_bounded)
{
    static char codes[LOGIN_CODES_OF_TOKEN + 1][LOGIN_SECRET_BYTES];
    struct logins *l = logins_new();
    char id[PRINCIPAL_TOKEN_BYTES];
    for (size_t i = 0; i <= LOGIN_CODES_OF_TOKEN; i++)
        logins_code_make(l, "tokenA", NOW + i, codes[i]);
    ck_assert(!logins_code_take(l, codes[0], NOW + 20, id));
    for (size_t i = 1; i <= LOGIN_CODES_OF_TOKEN; i++)
        ck_assert(logins_code_take(l, codes[i], NOW + 20, id));
    logins_free(&l);
}
END_TEST

/* ---- several at once ---- */

#define THREADS 4
#define ROUNDS  200

static struct {
    struct logins *logins;
    pthread_barrier_t barrier;
    char code[LOGIN_SECRET_BYTES];
    struct held shared;
    unsigned taken; /* atomic */
} at_once;

static void *race(void *context)
{
    char id[PRINCIPAL_TOKEN_BYTES], token[PRINCIPAL_TOKEN_BYTES];
    unsigned long thread = (unsigned long)(uintptr_t)context;
    struct held own;
    struct login found;
    snprintf(token, sizeof token, "thread%lu", thread);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        if (thread == 0)
            logins_code_make(at_once.logins, "tokenA", NOW, at_once.code);
        pthread_barrier_wait(&at_once.barrier);
        if (logins_code_take(at_once.logins, at_once.code, NOW, id))
            __atomic_add_fetch(&at_once.taken, 1, __ATOMIC_RELAXED);
        logins_begin(at_once.logins, token, NOW + i, own.secret, &own.login);
        (void)logins_find(at_once.logins, at_once.shared.secret, LOGIN_SECRET_BYTES - 1, NOW + i,
                          &found);
        (void)logins_still(at_once.logins, own.login.number, NOW + i, &found);
        logins_end(at_once.logins, own.login.number);
        pthread_barrier_wait(&at_once.barrier);
    }
    return NULL;
}

START_TEST(one_code_makes_one_session_whoever_comes_at_once)
{
    pthread_t threads[THREADS];
    at_once.logins = logins_new();
    begin(at_once.logins, "shared", NOW, &at_once.shared);
    pthread_barrier_init(&at_once.barrier, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, (void *)i), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(at_once.taken, ROUNDS);
    ck_assert(finds(at_once.logins, &at_once.shared, NOW + ROUNDS));
    pthread_barrier_destroy(&at_once.barrier);
    logins_free(&at_once.logins);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "logins", sweep_ends_sessions_of_tokens_that_are_gone, session_ends_when_idle_and_at_last,
        request_that_read_the_clock_before_another_ends_nothing,
        session_is_found_by_its_whole_secret_alone,
        one_more_session_ends_the_one_that_was_used_longest_ago,
        all_together_are_bounded_and_ended_ones_make_room, code_is_good_once_and_for_a_minute,
        codes_are_bounded, one_code_makes_one_session_whoever_comes_at_once, NULL));
}
