/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns what a thread knows about itself: the waits it is inside of, the event loop it runs, the
 * name it last had. All of it is thread-local; signal handlers may interrupt anywhere and nest. The
 * process-wide settings are written once, before any wrapper traces. Never blocks, never allocates,
 * never changes errno.
 *
 * A loop is the work between two polls: the time from a poll that returned ready descriptors to the
 * next poll from the same place. A place counts as a loop's poll once it has returned ready twice
 * in a row, so that a single wait for a connection is not taken for one. Polls from elsewhere while
 * the loop is at work are waits inside its work; when they keep coming without the loop's own, the
 * thread has moved on to another loop.
 */
#include "preload_wait.h"

#include "preload_exec.h"
#include "preload_look.h"

#include <string.h>
#include <sys/prctl.h>

#include "attach_client.h"
#include "emit.h"
#include "placement.h"
#include "preload_words.h"
#include "stack_walk.h"
#include "sys_raw.h"

#define THRESHOLD_NS      UINT64_C(20000)
#define FOREIGN_POLLS_MAX 8  /* of another place before it is taken for the new loop */
#define KERNEL_NAME_BYTES 16 /* of a thread's name, with its NUL */
#define OPEN_WAITS_MAX    4  /* of a thread, one in another's signal handler */

/* What a jump out of a wait needs of it: the stack that the wait lies on may be gone by then. */
struct open_wait {
    const struct wait *wait; /* only to be compared */
    struct skein_op op;
};

struct thread_state {
    struct open_wait open[OPEN_WAITS_MAX];
    unsigned open_count;
    unsigned jumps; /* out of waits */
    bool busy;      /* inside the client library */
    bool ignored;   /* a thread of the client library */
    uint64_t names_seen;
    char name[KERNEL_NAME_BYTES];
    const void *loop_caller; /* where this thread's loop polls from */
    unsigned foreign_polls;  /* ready polls from elsewhere since the loop's last */
    const void *candidate;   /* where the last of them came from */
    bool looping;            /* loop is open */
    struct skein_op loop;
};
static __thread struct thread_state self;

static bool enabled BESIDE_DATA; /* release in wait_enable, acquire in traced */
static uint64_t io_threshold = THRESHOLD_NS;
static uint64_t name_changes BESIDE_DATA; /* relaxed: only says that something changed */

/* Bounds of this library's code, from the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

bool caller_is_own(const void *caller)
{
    return (uintptr_t)caller >= (uintptr_t)__ehdr_start && (uintptr_t)caller < (uintptr_t)etext;
}

void wait_stacks_prepare(void)
{
    const struct stack_settings settings = {.finder =
                                                (code_object_finder *)real_look("_dl_find_object"),
                                            .own_from = __ehdr_start,
                                            .own_to = etext};
    stack_walk_prepare(&settings);
}

static bool traced(const void *caller)
{
    return __atomic_load_n(&enabled, __ATOMIC_ACQUIRE) && !self.busy && !self.ignored &&
           !caller_is_own(caller);
}

static uint64_t threshold_of(const struct skein_site *site)
{
    enum skein_group group = (enum skein_group)site->group;
    bool io = group == SKEIN_GROUP_IO || group == SKEIN_GROUP_NET;
    return skein_threshold_ns(group, io ? io_threshold : THRESHOLD_NS);
}

/* Tells the trace the name that another thread has given this one. */
static void name_refresh(uint64_t changes)
{
    char name[KERNEL_NAME_BYTES] = "";
    self.names_seen = changes;
    if (!attach_client_is_barred() && RAW2(SYS_prctl, PR_GET_NAME, RAW_POINTER(name)) == 0 &&
        memcmp(name, self.name, sizeof name) != 0) {
        memcpy(self.name, name, sizeof name);
        skein_thread_name(name);
    }
}

/* How long a wait may take in a young process. Nobody knows it of locks, signals and the like.
 * Waits of IO and NET are short in most young processes, or the visitor is sent ahead
 * (preload_poll.c). */
static int64_t longest_ns(enum site site, int64_t detail)
{
    if (site == SITE_sleep || site == SITE_sigwait)
        return detail == -1 ? INT64_MAX : detail;
    bool endless =
        site_group(site) == SKEIN_GROUP_LOCK || site == SITE_accept || site == SITE_thread_join;
    return endless ? INT64_MAX : 0;
}

static void open_drop(unsigned at)
{
    self.open_count--;
    for (; at < self.open_count; at++)
        self.open[at] = self.open[at + 1];
}

/* False: it is not there (any more). */
static bool open_remove(const struct wait *wait)
{
    for (unsigned i = self.open_count; i-- > 0;) {
        if (self.open[i].wait == wait && self.open[i].op.start == wait->op.start) {
            open_drop(i);
            return true;
        }
    }
    return false;
}

/* One that had this one's storage is over, and the oldest of many most likely, too: a program that
 * gives stacks up in signal handlers leaves them behind. */
static void open_add(const struct wait *wait)
{
    for (unsigned i = self.open_count; i-- > 0;)
        if (self.open[i].wait == wait)
            open_drop(i);
    if (self.open_count == OPEN_WAITS_MAX)
        open_drop(0);
    self.open[self.open_count] = (struct open_wait){wait, wait->op};
    self.open_count++;
}

void wait_begin(struct wait *wait, enum site site, int64_t detail, const void *caller)
{
    wait->op.start = 0;
    wait->result = -ECANCELED; /* stays where the call never returned */
    wait->more[0].u64 = wait->more[1].u64 = 0;
    wait->words_of = NULL;
    if (!traced(caller))
        return;
    int saved = errno;
    self.busy = true;
    if (skein_load32(&attach_client_wanted))
        attach_client_block(longest_ns(site, detail));
    uint64_t changes = __atomic_load_n(&name_changes, __ATOMIC_RELAXED);
    if (changes != self.names_seen)
        name_refresh(changes);
    wait->jumps = self.jumps;
    wait->op = skein_op_enter(&sites[site], detail);
    if (wait->op.start)
        open_add(wait);
    self.busy = false;
    errno = saved;
}

/* What an event says: op_leave_told asks for it when it is written. */
struct telling {
    struct wait *wait;
    struct words *words; /* room, where it has any */
    union skein_value values[4];
};

static const union skein_value *wait_tell(void *context)
{
    struct telling *telling = context;
    struct wait *wait = telling->wait;
    if (wait->words_of != NULL)
        wait->words_of(wait, telling->words);
    telling->values[1].i64 = wait->result;
    telling->values[2] = wait->more[0];
    telling->values[3] = wait->more[1];
    return telling->values;
}

static void wait_leave(struct wait *wait, struct words *words)
{
    struct telling telling; /* set when it is asked for */
    telling.wait = wait;
    telling.words = words;
    op_leave_told(&wait->op, threshold_of(wait->op.site), wait_tell, &telling);
}

/* Apart: most waits have no words, and their thread perhaps little stack. */
static __attribute__((noinline)) void wait_leave_with_words(struct wait *wait)
{
    struct words words;
    wait_leave(wait, &words);
}

/* Where a program switches stacks in a signal handler, waits end in any order. */
void wait_end(struct wait *wait)
{
    if (!wait->op.start)
        return;
    int saved = errno;
    self.busy = true;
    if (open_remove(wait) || wait->jumps == self.jumps) { /* else a jump has ended it */
        if (wait->words_of != NULL)
            wait_leave_with_words(wait);
        else
            wait_leave(wait, NULL);
    }
    wait->op.start = 0;
    self.busy = false;
    errno = saved;
}

void wait_abandon_all(void)
{
    int saved = errno;
    self.jumps += self.open_count > 0;
    while (self.open_count > 0) {
        struct open_wait *open = &self.open[--self.open_count];
        self.busy = true;
        const union skein_value values[4] = {
            [1] = {.i64 = -ECANCELED}, [2] = {.i64 = site_unknown(open->op.site)}};
        op_leave_told(&open->op, threshold_of(open->op.site), NULL, (void *)(uintptr_t)values);
    }
    self.busy = false; /* the handler may have interrupted the client library */
    errno = saved;
}

static void loop_open(int ready)
{
    int saved = errno;
    self.busy = true;
    self.loop = skein_op_enter(&sites[SITE_loop], ready);
    self.looping = self.loop.start != 0;
    self.busy = false;
    errno = saved;
}

void loop_end(void)
{
    if (!self.looping)
        return;
    int saved = errno;
    self.looping = false;
    self.busy = true;
    union skein_value ready = {.i64 = self.loop.detail};
    skein_op_leave(&self.loop, threshold_of(&sites[SITE_loop]), &ready);
    self.busy = false;
    errno = saved;
}

void loop_before_poll(const void *caller)
{
    if (self.looping && caller == self.loop_caller && traced(caller))
        loop_end();
}

void loop_after_poll(const void *caller, int ready)
{
    if (ready <= 0 || !traced(caller))
        return;
    if (caller == self.loop_caller) {
        self.foreign_polls = 0;
        if (!self.looping)
            loop_open(ready);
        return;
    }
    self.foreign_polls = caller == self.candidate ? self.foreign_polls + 1 : 1;
    self.candidate = caller;
    if (self.foreign_polls < (self.looping ? FOREIGN_POLLS_MAX : 2))
        return;
    loop_end();
    self.loop_caller = caller;
    self.foreign_polls = 0;
    loop_open(ready);
}

void wait_thresholds(uint64_t io_ns)
{
    io_threshold = io_ns;
}

void wait_enable(void)
{
    __atomic_store_n(&enabled, true, __ATOMIC_RELEASE);
}

void wait_forked(void)
{
    struct thread_state fresh = {.names_seen = self.names_seen, .ignored = self.ignored};
    self = fresh;
    look_forked();
    exec_forked();
}

void wait_ignore_thread(void)
{
    self.ignored = true;
}

void names_changed(void)
{
    __atomic_fetch_add(&name_changes, 1, __ATOMIC_RELAXED);
}
