/* SPDX-License-Identifier: Apache-2.0
 *
 * Burns CPU in known functions, and says by its own clocks how much: the truth that samples are held
 * against. Two threads: one three parts of its time in burn_much and one in burn_little, the other
 * all of it in burn_other.
 *
 *   cpu_burner MS         each thread burns so many milliseconds of CPU time
 *   cpu_burner MS FIFO    not before somebody has opened FIFO for writing
 *
 * When it begins, for each function: "code NAME FIRST LAST" (addresses), and at its end, for each
 * slice of work: "slice TID NAME FROM TO CPU" (CLOCK_MONOTONIC from and to, CPU time of the thread
 * between; ns), then "end". It stays then, so that it can be looked at, until a signal ends it.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS         UINT64_C(1000000)
#define SLICES_MAX 4096

/* Functions have a section each, whose bounds the linker names. */
#define IN_SECTION(name) __attribute__((noinline, section("code_" #name)))
#define BOUNDS(name)     extern const char __start_code_##name[], __stop_code_##name[]
BOUNDS(burn_much);
BOUNDS(burn_little);
BOUNDS(burn_other);
BOUNDS(burn_main);

struct slice {
    const char *name;
    uint64_t from_ns, to_ns, cpu_ns;
};
struct burner {
    long tid;
    struct slice slices[SLICES_MAX];
    unsigned count;
};

static uint64_t burn_ms;
static struct burner burners[2];

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The work itself, so that no other function has a share in it; with a frame, that its caller is
 * found by, unless there shall be none (BURN_FRAMELESS): then the frame pointer's register holds
 * something else, and only a copy of the stack leads to the caller. */
#if defined(BURN_FRAMELESS) && defined(__x86_64__)
#define BURN_ONE __asm__ volatile("xorl %%ebp, %%ebp" : : : "memory", "rbp", "cc")
#else
#define BURN_ONE __asm__ volatile("" : : "r"(__builtin_frame_address(0)) : "memory")
#endif
#define BURN(n)                                                                                    \
    do {                                                                                           \
        for (uint64_t i = 0; i < (n); i++)                                                         \
            BURN_ONE;                                                                              \
    } while (0)

static IN_SECTION(burn_much) void burn_much(uint64_t n)
{
    BURN(n);
}

static IN_SECTION(burn_little) void burn_little(uint64_t n)
{
    BURN(n);
}

static IN_SECTION(burn_other) void burn_other(uint64_t n)
{
    BURN(n);
}

static IN_SECTION(burn_main) void slice_burn(struct burner *burner, const char *name,
                                             void (*fn)(uint64_t n), uint64_t n)
{
    struct slice *slice = &burner->slices[burner->count++];
    slice->name = name;
    uint64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    slice->from_ns = now_ns(CLOCK_MONOTONIC);
    fn(n);
    slice->to_ns = now_ns(CLOCK_MONOTONIC);
    slice->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
}

static void *burner_main(void *context)
{
    struct burner *burner = context;
    burner->tid = syscall(SYS_gettid);
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < burn_ms * MS && burner->count + 2 <= SLICES_MAX) {
        if (burner == &burners[0]) {
            slice_burn(burner, "burn_much", burn_much, 30000000);
            slice_burn(burner, "burn_little", burn_little, 10000000);
        } else {
            slice_burn(burner, "burn_other", burn_other, 20000000);
        }
    }
    return NULL;
}

static void code_print(const char *name, const char *first, const char *last)
{
    printf("code %s %" PRIu64 " %" PRIu64 "\n", name, (uint64_t)(uintptr_t)first,
           (uint64_t)(uintptr_t)last);
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    burn_ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    code_print("burn_much", __start_code_burn_much, __stop_code_burn_much);
    code_print("burn_little", __start_code_burn_little, __stop_code_burn_little);
    code_print("burn_other", __start_code_burn_other, __stop_code_burn_other);
    code_print("burn_main", __start_code_burn_main, __stop_code_burn_main);
    fflush(stdout);
    if (argc > 2) {
        int begin = open(argv[2], O_RDONLY | O_CLOEXEC); /* waits for a writer */
        if (begin < 0) {
            perror(argv[2]);
            return 1;
        }
        close(begin);
    }
    /* Before all others, where it may: what it burns is to fit into a ring that they fill, too. */
    (void)sched_setscheduler(0, SCHED_RR, &(struct sched_param){1});
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, burner_main, &burners[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        for (unsigned s = 0; s < burners[i].count; s++) {
            const struct slice *slice = &burners[i].slices[s];
            printf("slice %ld %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", burners[i].tid,
                   slice->name, slice->from_ns, slice->to_ns, slice->cpu_ns);
        }
    }
    printf("end\n");
    fflush(stdout);
    for (;;)
        pause();
}
