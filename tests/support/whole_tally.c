/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the load program and counts what a trace holds of it: see whole.h.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "partition_reader.h"
#include "trace_file.h"
#include "whole.h"

/* ---- the load ---- */

void load_start(const struct whole *w, const struct load_options *o, struct load *load)
{
    static unsigned number;
    char name[64], threads[16], burst[16], pause[16], snapshot[16], socket[160];
    *load = (struct load){.threads = o->threads};
    (void)snprintf(name, sizeof name, "load-%u-%u", (unsigned)getpid(), number++);
    load->file = whole_path(w, name);
    int fd = open(load->file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, sizeof *load->page), 0);
    load->page = mmap(NULL, sizeof *load->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(load->page, MAP_FAILED);
    close(fd);
    (void)snprintf(threads, sizeof threads, "%u", o->threads);
    (void)snprintf(burst, sizeof burst, "%u", o->burst);
    (void)snprintf(pause, sizeof pause, "%u", o->pause_us);
    (void)snprintf(snapshot, sizeof snapshot, "%u", o->snapshot_ms);
    (void)snprintf(socket, sizeof socket, "SKEIN_SOCKET=%s", w->socket);
    const char *const env[] = {socket, NULL};
    const char *program = o->program != NULL ? o->program : WHOLE_LOAD;
    const char *const argv[] = {program, load->file, o->service, threads,
                                burst,   pause,      snapshot,   NULL};
    load->pid = spawn(argv, &(struct spawn_options){.env = env});
}

static bool is_attached(void *context)
{
    const struct load *load = context;
    return load->page->attached != 0;
}

void load_wait_attached(const struct load *load)
{
    struct load copy = *load;
    ck_assert_msg(wait_until(is_attached, &copy, 0), "the load does not attach");
}

void whole_shop(struct whole *w, struct load *load, const char *agent_more)
{
    static const struct load_options options = {
        .service = "shop", .threads = 2, .burst = 20, .pause_us = 2000};
    whole_init(w, NULL, agent_more);
    whole_collector_start(w);
    whole_agent_start(w);
    load_start(w, &options, load);
    load_wait_attached(load);
    whole_wait_live(w, "service%3Dshop", 1);
}

struct events_wait {
    const struct load *load;
    uint64_t want[LOAD_THREADS_MAX];
};

static bool has_events(void *context)
{
    const struct events_wait *wait = context;
    for (unsigned i = 0; i < wait->load->threads; i++)
        if (wait->load->page->committed[i] < wait->want[i])
            return false;
    return true;
}

void load_wait_events(const struct load *load, uint64_t n)
{
    struct events_wait wait = {.load = load};
    for (unsigned i = 0; i < load->threads; i++)
        wait.want[i] = load->page->committed[i] + n;
    ck_assert_msg(wait_until(has_events, &wait, 0), "the load stands still");
}

void load_wait_written(const struct load *load, uint64_t n)
{
    struct events_wait wait = {.load = load};
    for (unsigned i = 0; i < load->threads; i++)
        wait.want[i] = n;
    ck_assert_msg(wait_until(has_events, &wait, 0), "the load stands still");
}

void load_kill(struct load *load, int signal)
{
    ck_assert_int_eq(kill(load->pid, signal), 0);
    ck_assert_int_eq(spawn_wait(load->pid, 0), 128 + signal);
    load->pid = 0;
}

void load_free(struct load *load)
{
    if (load->pid > 0)
        (void)spawn_stop(load->pid, SIGKILL, 0);
    munmap(load->page, sizeof *load->page);
    unlink(load->file);
    free(load->file);
    *load = (struct load){0};
}

/* ---- the trace ---- */

/* Which numbers of a thread have come, as bits: partitions of one capture need not lie in order. */
struct numbers {
    uint8_t *bits;
    size_t bytes;
};

static void number_take(struct numbers *numbers, struct seen *seen, uint64_t n)
{
    size_t at = (size_t)(n / 8);
    must_hold(n < UINT64_C(1) << 33, "event %llu", (unsigned long long)n);
    if (at >= numbers->bytes) {
        size_t bytes = (at + 1) * 2;
        numbers->bits = realloc(numbers->bits, bytes);
        ck_assert_ptr_nonnull(numbers->bits);
        memset(numbers->bits + numbers->bytes, 0, bytes - numbers->bytes);
        numbers->bytes = bytes;
    }
    uint8_t bit = (uint8_t)(1u << (n % 8));
    must_hold(!(numbers->bits[at] & bit), "event %llu came twice", (unsigned long long)n);
    numbers->bits[at] = (uint8_t)(numbers->bits[at] | bit);
    seen->first = seen->count == 0 || n < seen->first ? n : seen->first;
    seen->last = seen->count == 0 || n > seen->last ? n : seen->last;
    seen->count++;
}

static void inside_take(struct seen *seen, uint64_t n)
{
    seen->inside_first = !seen->inside || n < seen->inside_first ? n : seen->inside_first;
    seen->inside_last = !seen->inside || n > seen->inside_last ? n : seen->inside_last;
    seen->inside = true;
}

struct window {
    uint64_t from_ns, to_ns;
};

static void tally_partition(const uint8_t *bytes, size_t n, const struct window *window,
                            struct tally *tally, struct numbers *numbers)
{
    char why[256] = "";
    struct partition_reader *r;
    struct trace_event event;
    int status;
    ck_assert_msg(partition_check(bytes, n, why, sizeof why) == SKEIN_OK, "%s", why);
    ck_assert_msg(partition_reader_new(bytes, n, &r, why, sizeof why) == SKEIN_OK, "%s", why);
    const struct partition_info *info = partition_reader_info(r);
    if (info->death.known)
        tally->death_signal = info->death.signal;
    while ((status = partition_reader_next(r, &event)) == 1) {
        if (event.kind != TRACE_INSTANT || strcmp(event.type->name, "tick") != 0)
            continue;
        uint64_t thread = event.args[0].u64;
        must_hold(event.type->nargs == 2 && thread < LOAD_THREADS_MAX, "a tick of another kind");
        number_take(&numbers[thread], &tally->threads[thread], event.args[1].u64);
        if (event.time_ns >= window->from_ns && event.time_ns <= window->to_ns)
            inside_take(&tally->threads[thread], event.args[1].u64);
        tally->events++;
    }
    ck_assert_msg(status == 0, "%s", partition_reader_error(r));
    partition_reader_free(&r);
    tally->partitions++;
}

static bool number_seen(const struct numbers *numbers, uint64_t n)
{
    return n / 8 < numbers->bytes && (numbers->bits[n / 8] >> (n % 8) & 1) != 0;
}

static unsigned holes_count(const struct seen *seen, const struct numbers *numbers)
{
    unsigned holes = 0;
    for (uint64_t n = seen->inside_first; seen->inside && n < seen->inside_last; n++)
        holes += number_seen(numbers, n) && !number_seen(numbers, n + 1);
    return holes;
}

void tally_trace(const struct buf *bytes, struct tally *tally)
{
    tally_window(bytes, 0, UINT64_MAX, tally);
}

void tally_window(const struct buf *bytes, uint64_t from_ns, uint64_t to_ns, struct tally *tally)
{
    const struct window window = {from_ns, to_ns};
    struct numbers numbers[LOAD_THREADS_MAX] = {{0}};
    *tally = (struct tally){0};
    for (size_t at = 0; at < bytes->len;) {
        uint64_t length;
        bool is_table;
        ck_assert_int_eq(trace_head_get(bytes->data + at, bytes->len - at, &length, &is_table),
                         SKEIN_OK);
        ck_assert_uint_le(length, bytes->len - at);
        if (!is_table)
            tally_partition(bytes->data + at, (size_t)length, &window, tally, numbers);
        at += (size_t)length;
    }
    for (size_t i = 0; i < LOAD_THREADS_MAX; i++) {
        struct seen *seen = &tally->threads[i];
        if (seen->count > 0 && seen->last - seen->first + 1 != seen->count)
            seen->holes = holes_count(seen, &numbers[i]);
        free(numbers[i].bits);
    }
}
