/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "support.h"

struct state {
    struct loop *loop;
    struct loop_timer *timer;
    int fd, other;
    unsigned calls, order;
    uint64_t trail;
};

static void digit_1(void *context)
{
    struct state *s = context;
    s->trail = s->trail * 10 + 1;
}
static void digit_2(void *context)
{
    struct state *s = context;
    s->trail = s->trail * 10 + 2;
}
static void digit_3_and_stop(void *context)
{
    struct state *s = context;
    s->trail = s->trail * 10 + 3;
    loop_stop(s->loop);
}

START_TEST(timers_fire_in_order_of_time_then_of_adding)
{
    struct state s = {0};
    ck_assert_int_eq(loop_new(&s.loop), SKEIN_OK);
    ck_assert_ptr_nonnull(loop_timer_add(s.loop, 30, 0, digit_3_and_stop, &s));
    ck_assert_ptr_nonnull(loop_timer_add(s.loop, 0, 0, digit_1, &s));
    ck_assert_ptr_nonnull(loop_timer_add(s.loop, 20, 0, digit_2, &s));
    ck_assert_ptr_nonnull(loop_timer_add(s.loop, 0, 0, digit_2, &s));
    ck_assert_int_eq(loop_run(s.loop), SKEIN_OK);
    ck_assert_uint_eq(s.trail, 1223);
    loop_free(&s.loop);
}
END_TEST

static void cancel_itself(void *context)
{
    struct state *s = context;
    if (++s->calls == 3) {
        loop_timer_cancel(s->loop, &s->timer);
        ck_assert_ptr_null(s->timer);
        loop_stop(s->loop);
    }
}

START_TEST(a_repeating_timer_can_cancel_itself)
{
    struct state s = {0};
    ck_assert_int_eq(loop_new(&s.loop), SKEIN_OK);
    s.timer = loop_timer_add(s.loop, 1, 1, cancel_itself, &s);
    ck_assert_int_eq(loop_run(s.loop), SKEIN_OK);
    ck_assert_uint_eq(s.calls, 3);
    loop_free(&s.loop);
}
END_TEST

START_TEST(many_timers_cancelled_at_random_leave_the_others_in_order)
{
    struct state s = {0};
    struct loop_timer *timers[200];
    ck_assert_int_eq(loop_new(&s.loop), SKEIN_OK);
    for (unsigned i = 0; i < 200; i++)
        timers[i] = loop_timer_add(s.loop, (i * 37) % 11, 0, digit_1, &s);
    for (unsigned i = 0; i < 200; i++)
        if (i % 50 != 0)
            loop_timer_cancel(s.loop, &timers[i]);
    ck_assert_ptr_nonnull(loop_timer_add(s.loop, 15, 0, digit_3_and_stop, &s));
    ck_assert_int_eq(loop_run(s.loop), SKEIN_OK);
    ck_assert_uint_eq(s.trail, 11113);
    loop_free(&s.loop);
}
END_TEST

/* Whoever of the two is called first takes the other away, in the same round of events. */
static void remove_other(void *context, uint32_t events)
{
    (void)events;
    struct state *s = context;
    s->calls++;
    loop_fd_remove(s->loop, s->fd);
    loop_fd_remove(s->loop, s->other);
    loop_stop(s->loop);
}

START_TEST(a_removed_descriptor_gets_no_call_even_if_it_was_ready)
{
    struct state s = {.fd = eventfd(1, EFD_CLOEXEC), .other = eventfd(1, EFD_CLOEXEC)};
    ck_assert_int_eq(loop_new(&s.loop), SKEIN_OK);
    ck_assert_int_eq(loop_fd_add(s.loop, s.fd, EPOLLIN, remove_other, &s), SKEIN_OK);
    ck_assert_int_eq(loop_fd_add(s.loop, s.fd, EPOLLIN, remove_other, &s), SKEIN_EXISTS);
    ck_assert_int_eq(loop_fd_add(s.loop, s.other, EPOLLIN, remove_other, &s), SKEIN_OK);
    ck_assert_int_eq(loop_run(s.loop), SKEIN_OK);
    ck_assert_uint_eq(s.calls, 1);
    loop_free(&s.loop);
    close(s.fd);
    close(s.other);
}
END_TEST

static void count_post(void *context)
{
    struct state *s = context;
    if (++s->calls == 4000)
        loop_stop(s->loop);
}

static void *post_many(void *context)
{
    struct state *s = context;
    for (unsigned i = 0; i < 1000; i++)
        ck_assert_int_eq(loop_post(s->loop, count_post, s), SKEIN_OK);
    return NULL;
}

START_TEST(posts_of_many_threads_all_run_on_the_loop)
{
    struct state s = {0};
    pthread_t threads[4];
    ck_assert_int_eq(loop_new(&s.loop), SKEIN_OK);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, post_many, &s), 0);
    ck_assert_int_eq(loop_run(s.loop), SKEIN_OK);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(s.calls, 4000);
    loop_free(&s.loop);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("loop", timers_fire_in_order_of_time_then_of_adding,
                              a_repeating_timer_can_cancel_itself,
                              many_timers_cancelled_at_random_leave_the_others_in_order,
                              a_removed_descriptor_gets_no_call_even_if_it_was_ready,
                              posts_of_many_threads_all_run_on_the_loop, NULL));
}
