/* SPDX-License-Identifier: Apache-2.0
 * Children that die, hang and lie, files that are none, and callers who ask all at once. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "proc_info.h"
#include "symbol_fixture.h"
#include "symbol_int.h"

struct asked {
    struct symbolizer *s;
    struct self self;
    void *library;
    uint64_t place;
};

static void asked_make(struct asked *asked, struct symbolizer_settings settings)
{
    asked->s = symbolizer_make(settings);
    asked->library = dlopen(SYMBOL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ck_assert_ptr_nonnull(asked->library);
    asked->place = (uint64_t)(uintptr_t)dlsym(asked->library, "plugin_mix");
    self_read(asked->s, &asked->self);
}

static void asked_free(struct asked *asked)
{
    self_free(&asked->self);
    ck_assert(symbolizer_free(&asked->s));
    dlclose(asked->library);
}

/* Another place of the function each time, so that none is remembered. */
static bool is_named(void *context)
{
    struct asked *asked = context;
    struct buf text = {0};
    asked->place++;
    (void)symbolizer_names(asked->s, &asked->self.process, &asked->place, 1, deadline_far(),
                           names_print, &text);
    bool named = text.len > 0;
    buf_fini(&text);
    return named;
}

static struct symbolizer_counters counters_of(struct asked *asked)
{
    struct symbolizer_counters counters;
    symbolizer_count(asked->s, &counters);
    return counters;
}

START_TEST(a_child_that_was_killed_is_begun_anew)
{
    struct asked asked;
    asked_make(&asked, (struct symbolizer_settings){0});
    ck_assert(is_named(&asked));
    kill(asked.s->child.process.pid, SIGKILL);
    /* It is dead by the next request, or during it. */
    (void)is_named(&asked);
    struct asked other = asked;
    void *cpp = dlopen(SYMBOL_PLUGIN_CPP, RTLD_NOW | RTLD_LOCAL);
    other.place = (uint64_t)(uintptr_t)dlsym(cpp, "plugin_cpp_visit");
    self_read(asked.s, &other.self);
    ck_assert(wait_until(is_named, &other, 0));
    struct symbolizer_counters counters = counters_of(&asked);
    ck_assert_uint_eq(counters.crashed, 1);
    ck_assert_uint_eq(counters.children, 2);
    ck_assert_uint_eq(counters.files_fatal, 1);
    self_free(&other.self);
    dlclose(cpp);
    asked_free(&asked);
}
END_TEST

START_TEST(a_child_may_compute_and_nothing_else)
{
    struct asked asked;
    char path[64], text[4096];
    asked_make(&asked, (struct symbolizer_settings){0});
    ck_assert(is_named(&asked)); /* so it has entered its sandbox */
    snprintf(path, sizeof path, "/proc/%d/status", asked.s->child.process.pid);
    ck_assert_int_gt(text_file_read(path, text, sizeof text), 0);
    ck_assert_ptr_nonnull(strstr(text, "\nCapPrm:\t0000000000000000\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nCapEff:\t0000000000000000\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nNoNewPrivs:\t1\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nSeccomp:\t2\n")); /* a filter */
    asked_free(&asked);
}
END_TEST

/* Asks where somebody waits, and then for what nobody waits for. */
static int child_nice(struct asked *asked, bool waits)
{
    symbol_child_hurry(&asked->s->child, waits);
    return getpriority(PRIO_PROCESS, (id_t)asked->s->child.process.pid);
}

/* On a busy machine a low priority is a hundredth of a processor. */
START_TEST(a_child_has_its_agents_priority_while_somebody_waits)
{
    struct asked asked;
    const int own = getpriority(PRIO_PROCESS, 0);
    asked_make(&asked, (struct symbolizer_settings){0});
    ck_assert(is_named(&asked));
    /* Its thread sleeps: what it was given for its caller stays. */
    ck_assert_int_eq(getpriority(PRIO_PROCESS, (id_t)asked.s->child.process.pid), own);
    ck_assert_int_eq(child_nice(&asked, false), own + 10 < 19 ? own + 10 : 19);
    const int again = child_nice(&asked, true);
    ck_assert(again == own || geteuid() != 0); /* others may not raise it again */
    asked_free(&asked);
}
END_TEST

static bool has_hung(void *context)
{
    return counters_of(context).hung == 1;
}

START_TEST(a_child_that_hangs_costs_its_caller_the_deadline_alone)
{
    struct asked asked;
    asked_make(&asked, (struct symbolizer_settings){.hang_ms = 300});
    ck_assert(wait_until(is_named, &asked, 0));
    kill(asked.s->child.process.pid, SIGSTOP);
    struct buf text = {0};
    asked.place++;
    ck_assert_int_eq(symbolizer_names(asked.s, &asked.self.process, &asked.place, 1,
                                      deadline_in_ms(1), names_print, &text),
                     SKEIN_TIMEOUT);
    ck_assert_uint_eq(text.len, 0);
    ck_assert_uint_eq(counters_of(&asked).late, 1);
    buf_fini(&text);
    ck_assert(wait_until(has_hung, &asked, 0));
    asked_free(&asked);
}
END_TEST

START_TEST(a_file_that_a_child_died_of_is_not_tried_again)
{
    struct asked asked;
    asked_make(&asked, (struct symbolizer_settings){.hang_ms = 300});
    ck_assert(wait_until(is_named, &asked, 0));
    kill(asked.s->child.process.pid, SIGSTOP);
    (void)is_named(&asked);
    ck_assert(wait_until(has_hung, &asked, 0));
    ck_assert_uint_eq(counters_of(&asked).files_fatal, 1);
    for (int i = 0; i < 5; i++)
        ck_assert(!is_named(&asked));
    ck_assert_uint_eq(counters_of(&asked).children, 1);
    asked_free(&asked);
}
END_TEST

START_TEST(without_its_program_there_is_no_symbolizer)
{
    struct symbolizer *s;
    struct symbolizer_settings settings = {.program = "/nonexistent/skein-symbolizer"};
    ck_assert_int_eq(symbolizer_new(&settings, &s), SKEIN_NOT_FOUND);
    ck_assert_ptr_null(s);
}
END_TEST

START_TEST(another_program_gives_no_names)
{
    static const char *const programs[] = {"/bin/true", "/bin/cat", "/bin/yes"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct asked asked;
        asked_make(&asked, (struct symbolizer_settings){.program = programs[i], .hang_ms = 1000});
        ck_assert(!is_named(&asked));
        ck_assert(!is_named(&asked));
        ck_assert_uint_eq(counters_of(&asked).named, 0);
        asked_free(&asked);
    }
}
END_TEST

/* ---- files that are none ---- */

static char *damaged;

static int damaged_find(void *context, const struct partition_mapping *mapping, int *fd,
                        int *debug_fd)
{
    (void)context, (void)debug_fd;
    if (strcmp(mapping->path, SYMBOL_PLUGIN) != 0)
        return SKEIN_NOT_FOUND;
    *fd = open(damaged, O_RDONLY | O_CLOEXEC);
    return *fd >= 0 ? SKEIN_OK : SKEIN_NOT_FOUND;
}

/* Whatever is in them: an answer comes, and later the names of a sound file. */
START_TEST(damaged_files_harm_nobody)
{
    struct asked asked;
    asked_make(&asked, (struct symbolizer_settings){.find = damaged_find});
    uint64_t place = asked.place;
    char *folder = temp_dir_new();
    damaged = path_join(folder, "damaged.so");
    size_t n;
    char *bytes = file_read(SYMBOL_PLUGIN, &n);
    for (size_t i = 0; i < 200; i++) {
        size_t flip = i < 64 ? i : n * i / 201;
        bytes[flip] = (char)~bytes[flip];
        file_write(damaged, bytes, i % 2 == 0 ? n : 64 + (n - 64) * i / 200);
        bytes[flip] = (char)~bytes[flip];
        asked.place = place + i % 64;
        (void)is_named(&asked);
    }
    file_write(damaged, bytes, n);
    asked.place = place;
    asked.s->child.pause_ns = 0; /* it may have died a few times */
    ck_assert(wait_until(is_named, &asked, 0));
    free(bytes);
    free(damaged);
    temp_dir_free(&folder);
    asked_free(&asked);
}
END_TEST

/* ---- many callers ---- */

static void *ask_often(void *context)
{
    struct asked asked = *(struct asked *)context;
    for (int i = 0; i < 100; i++) {
        struct buf text = {0};
        asked.place = ((struct asked *)context)->place + (uint64_t)(i % 20);
        (void)symbolizer_names(asked.s, &asked.self.process, &asked.place, 1,
                               i % 7 == 0 ? 0 : deadline_far(), names_print, &text);
        must_hold(i % 7 == 0 ||
                      (text.len > 0 && memmem(text.data, text.len, "plugin_mix", 10) != NULL),
                  "no name");
        buf_fini(&text);
    }
    return NULL;
}

START_TEST(many_threads_ask_at_once)
{
    struct asked asked;
    pthread_t threads[4];
    asked_make(&asked, (struct symbolizer_settings){0});
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_often, &asked), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    struct symbolizer_counters counters = counters_of(&asked);
    ck_assert_uint_eq(counters.asked, 400);
    ck_assert_uint_eq(counters.crashed + counters.hung, 0);
    asked_free(&asked);
}
END_TEST

int main(void)
{
    Suite *suite = suite_of(
        "symbol_child", a_child_that_was_killed_is_begun_anew, a_child_may_compute_and_nothing_else,
        a_child_has_its_agents_priority_while_somebody_waits,
        a_child_that_hangs_costs_its_caller_the_deadline_alone,
        a_file_that_a_child_died_of_is_not_tried_again, without_its_program_there_is_no_symbolizer,
        another_program_gives_no_names, damaged_files_harm_nobody, many_threads_ask_at_once, NULL);
    return suite_run(suite);
}
