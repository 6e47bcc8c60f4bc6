/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables: one entry a site and string, string epochs when a half is full, self-described events
 * while no half is free, and sites that dlclose() takes away.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoded_ring.h"
#include "fake_agent.h"
#include "skein/skein.h"
#include "skein_atomic.h"
#include "support.h"

static struct fake_agent agent;
static struct fake_ring ring;
static struct decoded_ring decoded;

static void attach(uint64_t bytes)
{
    fake_agent_init(&agent, 7);
    fake_agent_attach_self(&agent, &ring, SKEIN_MODE_CIRCULAR, bytes);
}

static void decode(void)
{
    ring_decode_free(&decoded);
    ck_assert_msg(ring_decode(ring.ring, &ring.geometry, &decoded), "%s", decoded.error);
}

static struct ring_header *header(void)
{
    return (struct ring_header *)(void *)ring.ring;
}

/* Sites as a binding makes them at run time. They live as long as the process. */
static struct skein_site *site_new(const char *prefix, unsigned n)
{
    struct skein_site *site = calloc(1, sizeof *site);
    char *name = malloc(64);
    ck_assert(site && name);
    snprintf(name, 64, "%s %u", prefix, n);
    site->name = name;
    site->text = "made at run time";
    site->file = "";
    site->klass = SKEIN_CLASS_INSTANT;
    site->nargs = 1;
    site->args[0] = (struct skein_arg_desc){SKEIN_T_U64, "n", "pieces"};
    return site;
}

static void site_free(struct skein_site *site)
{
    free((void *)(uintptr_t)site->name);
    free(site);
}

static void emit(struct skein_site *site, uint64_t n)
{
    const union skein_value value = {.u64 = n};
    skein_emit(site, &value);
}

START_TEST(one_entry_serves_all_events_of_a_site)
{
    static struct skein_string text = SKEIN_STRING("again");
    attach(1 << 20);
    for (int i = 0; i < 100; i++)
        SKEIN_INSTANT("often", (sym, "s", &text));
    uint64_t used = header()->durable_data_end;
    for (int i = 0; i < 100; i++) {
        SKEIN_INSTANT("often too", (sym, "s", &text));
        used = i ? used : header()->durable_data_end;
    }
    ck_assert_uint_eq(header()->durable_data_end, used);
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "often"), 100);
    ck_assert_str_eq(decoded_nth(&decoded, "often", 99)->args[0].text, "again");
}
END_TEST

START_TEST(a_full_durable_area_starts_a_new_string_epoch)
{
    attach(RING_BYTES_MIN); /* about 40 sites a half */
    uint64_t first = header()->string_epoch, i = 0;
    struct skein_site *kept = site_new("kept", 0);
    for (; header()->string_epoch < first + 4 && i < 100000; i++) {
        struct skein_site *site = site_new("site", (unsigned)i);
        emit(site, i);
        site_free(site); /* as dlclose() would: the ring holds copies only */
        for (int k = 0; k < 200; k++)
            emit(kept, i);
    }
    ck_assert_uint_eq(header()->string_epoch, first + 4);
    emit(kept, i);
    decode();
    size_t count = decoded_count(&decoded, "kept 0");
    ck_assert_uint_eq(decoded_nth(&decoded, "kept 0", count - 1)->args[0].u64, i);
    ck_assert_uint_eq(decoded.lost, 0);
    ck_assert_uint_eq(header()->num_records_dropped, 0);
    site_free(kept);
}
END_TEST

START_TEST(without_a_free_half_events_describe_themselves)
{
    attach(1 << 20); /* its chunks outlive two halves of its table */
    uint64_t first = header()->string_epoch;
    unsigned total = 0;
    for (; total < 3000; total++) {
        struct skein_site *site = site_new("site", total);
        emit(site, total);
        site_free(site);
    }
    ck_assert_uint_eq(header()->string_epoch, first + 1);
    decode();
    unsigned self_described = 0;
    for (size_t i = 0; i < decoded.event_count; i++) {
        char name[64];
        snprintf(name, sizeof name, "site %zu", i);
        ck_assert_str_eq(decoded.events[i].name, name);
        ck_assert_str_eq(decoded.events[i].args[0].name, "n");
        ck_assert_uint_eq(decoded.events[i].args[0].u64, i);
        self_described += decoded.events[i].self_described;
    }
    ck_assert_uint_eq(decoded.event_count, total);
    ck_assert_uint_gt(self_described, 100);
    ck_assert_uint_lt(self_described, total);
}
END_TEST

START_TEST(self_described_ranges_open_and_close)
{
    attach(1 << 20);
    for (unsigned i = 0; i < 3000; i++) {
        struct skein_site *site = site_new("site", i);
        emit(site, i);
        site_free(site);
    }
    SKEIN_BEGIN("late range", (str, "s", "text"));
    SKEIN_END();
    decode();
    const struct decoded_event *e = decoded_nth(&decoded, "late range", 0);
    ck_assert(e->self_described);
    ck_assert_uint_eq(e->klass, SKEIN_CLASS_RANGE_BEGIN);
    ck_assert_str_eq(e->args[0].text, "text");
    ck_assert_int_eq(e[1].kind, DECODED_END);
}
END_TEST

START_TEST(long_names_are_cut_and_long_strings_stay_inline)
{
    static char long_name[400];
    static struct skein_string text = {0, long_name};
    memset(long_name, 'n', sizeof long_name - 1);
    attach(1 << 20);
    struct skein_site *site = site_new("x", 0);
    const char *short_name = site->name;
    site->name = long_name;
    emit(site, 1);
    SKEIN_INSTANT("sym", (sym, "s", &text));
    decode();
    ck_assert_uint_eq(strlen(decoded.events[0].name), SKEIN_NAME_MAX);
    ck_assert_str_eq(decoded_nth(&decoded, "sym", 0)->args[0].text, long_name);
    site->name = short_name;
    site_free(site);
}
END_TEST

START_TEST(dlclose_takes_nothing_out_of_the_ring)
{
    attach(1 << 20);
    for (int round = 0; round < 3; round++) {
        void *plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
        ck_assert_msg(plugin != NULL, "%s", dlerror());
        void (*work)(void) = NULL;
        *(void **)&work = dlsym(plugin, "plugin_work");
        ck_assert_ptr_nonnull(work);
        work();
        ck_assert_int_eq(dlclose(plugin), 0);
    }
    SKEIN_INSTANT("after");
    for (unsigned i = 0; i < 20000; i++) /* new chunks repeat the range that the plugin left open */
        SKEIN_INSTANT("n", (u64, "i", i));
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "in the plugin"), 3);
    ck_assert_str_eq(decoded_nth(&decoded, "in the plugin", 0)->args[0].text, "its own text");
    unsigned opens = 0;
    for (size_t i = 0; i < decoded.event_count; i++)
        if (decoded.events[i].kind == DECODED_OPEN) {
            ck_assert_str_eq(decoded.events[i].name, "left open by the plugin");
            opens++;
        }
    ck_assert_uint_gt(opens, 2);
}
END_TEST

/* ---- where the writer is interrupted ---- */

static const char *strike_at;
static void (*strike)(void);

void skein_test_point(const char *name)
{
    if (!strike_at || strcmp(name, strike_at) != 0)
        return;
    strike_at = NULL;
    strike();
}

/* New sites, and so much of `kept` between them that the ring turns over, until the epoch after
 * `first` by `epochs` has begun; `most` at most. */
static struct skein_site *passing; /* what a jump leaves */

static void epochs_pass(struct skein_site *kept, uint64_t epochs, unsigned most)
{
    static unsigned made;
    uint64_t first = header()->string_epoch;
    for (unsigned n = 0; n < most && header()->string_epoch < first + epochs; n++) {
        passing = site_new("site", made++);
        emit(passing, n);
        site_free(passing);
        for (int k = 0; k < 200; k++)
            emit(kept, n);
    }
}

static struct skein_site *known;
static pthread_t other;
static pthread_barrier_t other_has_written, other_may_end;

static void *other_thread(void *unused)
{
    emit(known, 1000000);
    pthread_barrier_wait(&other_has_written);
    pthread_barrier_wait(&other_may_end);
    return unused;
}

static void strike_other(void)
{
    ck_assert_int_eq(pthread_create(&other, NULL, other_thread, NULL), 0);
    pthread_barrier_wait(&other_has_written);
}

/* Its chunk stays while the others turn over, and so must the names of its ids. */
START_TEST(a_chunk_that_begins_while_an_epoch_does_keeps_its_names)
{
    attach(RING_BYTES_MIN);
    pthread_barrier_init(&other_has_written, NULL, 2);
    pthread_barrier_init(&other_may_end, NULL, 2);
    struct skein_site *kept = site_new("kept", 0);
    known = site_new("known", 0);
    epochs_pass(kept, 2, 100000);
    emit(known, 0); /* has an id of the epoch that is about to end */
    strike = strike_other;
    strike_at = "epoch_begun";
    epochs_pass(kept, 1, 100000);
    ck_assert_ptr_null(strike_at);
    epochs_pass(kept, 3, 3000);
    decode();
    size_t count = decoded_count(&decoded, "known 0");
    ck_assert_uint_ge(count, 1);
    ck_assert_uint_eq(decoded_nth(&decoded, "known 0", count - 1)->args[0].u64, 1000000);
    pthread_barrier_wait(&other_may_end);
    pthread_join(other, NULL);
    site_free(known);
    site_free(kept);
}
END_TEST

/* It lies where others find it, but none comes. */
START_TEST(a_chunk_that_waits_for_a_thread_keeps_no_epoch)
{
    attach(RING_BYTES_MIN);
    struct skein_site *kept = site_new("kept", 0);
    emit(kept, 0);
    pthread_barrier_init(&other_has_written, NULL, 1);
    pthread_barrier_init(&other_may_end, NULL, 1);
    known = site_new("known", 0);
    ck_assert_int_eq(pthread_create(&other, NULL, other_thread, NULL), 0);
    pthread_join(other, NULL);
    uint64_t first = header()->string_epoch;
    epochs_pass(kept, 4, 100000);
    ck_assert_uint_eq(header()->string_epoch, first + 4);
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "known 0"), 0); /* overwritten as all of its time */
    site_free(known);
    site_free(kept);
}
END_TEST

static const char *const table_points[] = {"table_half_emptied", "epoch_begun",
                                           "epoch_switched",     "table_written",
                                           "table_committed",    "id_published"};
#define TABLE_POINTS (sizeof table_points / sizeof *table_points)

static sigjmp_buf home;

static void strike_jump(int signal)
{
    (void)signal;
    siglongjmp(home, 1);
}

static void strike_raise(void)
{
    raise(SIGUSR1);
}

/* Loop test: epochs go on, and each event has its name. */
START_TEST(a_jump_out_of_the_table_leaves_it_whole)
{
    attach(RING_BYTES_MIN);
    ck_assert_ptr_ne(signal(SIGUSR1, strike_jump), SIG_ERR);
    struct skein_site *kept = site_new("kept", 0);
    epochs_pass(kept, 2, 100000);
    strike = strike_raise;
    strike_at = table_points[_i];
    if (sigsetjmp(home, 1) == 0)
        epochs_pass(kept, 1, 100000);
    else
        site_free(passing);
    ck_assert_ptr_null(strike_at);
    uint64_t epoch = header()->string_epoch;
    epochs_pass(kept, 4, 100000);
    ck_assert_uint_ge(header()->string_epoch, epoch + 4);
    emit(kept, 1);
    decode();
    for (size_t i = 0; i < decoded.event_count; i++) {
        const struct decoded_event *e = &decoded.events[i];
        must_hold(strncmp(e->name, "site ", 5) == 0 || strcmp(e->name, "kept 0") == 0, "%s",
                  e->name);
    }
    const struct decoded_event *last = &decoded.events[decoded.event_count - 1];
    ck_assert(!last->self_described);
    site_free(kept);
}
END_TEST

static struct skein_site *deep, *shallow;

static void jump_home(void)
{
    siglongjmp(home, 1);
}

/* Far down the stack: a later handler's record is above what this one leaves. */
static void strike_deep(int signal)
{
    volatile char room[8192];
    room[0] = room[sizeof room - 1] = (char)signal;
    strike = jump_home;
    strike_at = "table_written";
    emit(deep, 1);
    room[0] = 0;
}

static void strike_shallow(int signal)
{
    (void)signal;
    emit(shallow, 1);
}

/* Loop test: a handler that finds the signal lane left by a jump, while the record that it
 * interrupts holds the table, leaves that record the table. */
START_TEST(a_handler_takes_no_table_from_what_it_interrupts)
{
    attach(1 << 20);
    struct skein_site *first = site_new("first", 0), *then = site_new("then", 0);
    deep = site_new("deep", 0);
    shallow = site_new("shallow", 0);
    ck_assert_ptr_ne(signal(SIGUSR1, strike_deep), SIG_ERR);
    strike = strike_raise;
    strike_at = "chunk_started";
    if (sigsetjmp(home, 1) == 0)
        emit(first, 1);
    ck_assert_ptr_null(strike_at);
    ck_assert_ptr_ne(signal(SIGUSR1, strike_shallow), SIG_ERR);
    emit(first, 2); /* the main lane, and the table, are free again */
    strike = strike_raise;
    strike_at = table_points[TABLE_POINTS - 1 - (unsigned)_i];
    emit(then, 3);
    ck_assert_ptr_null(strike_at);
    emit(then, 4);
    emit(shallow, 2);
    emit(deep, 2);
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "then 0"), 2);
    ck_assert_uint_eq(decoded_count(&decoded, "shallow 0"), 2);
    ck_assert_uint_eq(decoded_count(&decoded, "deep 0"), 1);
    ck_assert_uint_eq(decoded_nth(&decoded, "then 0", 1)->args[0].u64, 4);
    site_free(first);
    site_free(then);
    site_free(deep);
    site_free(shallow);
}
END_TEST

static void strike_end(int signal)
{
    (void)signal;
    pthread_exit(NULL);
}

static void *ending_thread(void *site)
{
    emit(site, 1);
    return NULL;
}

/* Loop test: the table is nobody's afterwards. */
START_TEST(a_thread_that_ends_in_the_table_gives_it_back)
{
    pthread_t thread;
    attach(1 << 20);
    ck_assert_ptr_ne(signal(SIGUSR1, strike_end), SIG_ERR);
    struct skein_site *first = site_new("first", 0), *then = site_new("then", 0);
    strike = strike_raise;
    strike_at = table_points[TABLE_POINTS - 1 - (unsigned)_i];
    ck_assert_int_eq(pthread_create(&thread, NULL, ending_thread, first), 0);
    pthread_join(thread, NULL);
    ck_assert_ptr_null(strike_at);
    emit(then, 2);
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "then 0"), 1);
    ck_assert(!decoded_nth(&decoded, "then 0", 0)->self_described);
    site_free(first);
    site_free(then);
}
END_TEST

int main(void)
{
    Suite *suite = suite_of(
        "table", one_entry_serves_all_events_of_a_site,
        a_full_durable_area_starts_a_new_string_epoch,
        without_a_free_half_events_describe_themselves, self_described_ranges_open_and_close,
        long_names_are_cut_and_long_strings_stay_inline, dlclose_takes_nothing_out_of_the_ring,
        a_chunk_that_begins_while_an_epoch_does_keeps_its_names,
        a_chunk_that_waits_for_a_thread_keeps_no_epoch, NULL);
    if (!SKEIN_UNDER_TSAN) { /* which delivers signals later, not where they strike */
        TCase *struck = tcase_create("struck");
        tcase_add_loop_test(struck, a_jump_out_of_the_table_leaves_it_whole, 0, (int)TABLE_POINTS);
        tcase_add_loop_test(struck, a_handler_takes_no_table_from_what_it_interrupts, 0, 3);
        tcase_add_loop_test(struck, a_thread_that_ends_in_the_table_gives_it_back, 0, 3);
        suite_add_tcase(suite, struck);
    }
    return suite_run(suite);
}
