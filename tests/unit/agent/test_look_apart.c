/* SPDX-License-Identifier: Apache-2.0
 * Looks that hang in the kernel, and who waits for them. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "fuse_silent.h"
#include "look_apart.h"
#include "proc_info.h"
#include "support.h"

#define SHORT_NS  UINT64_C(1000000)
#define MINUTE_NS UINT64_C(60000000000)

/* ---- looks that the test holds ---- */

struct held {
    pid_t pid;
    sem_t *gate, *dropped;
    bool left_out;
};

static void look_held(struct apart *apart, void *context)
{
    struct held *held = context;
    held->left_out = !apart_at(apart, held->pid);
    while (!held->left_out && sem_wait(held->gate) != 0)
        continue;
}

static void held_drop(void *context)
{
    struct held *held = context;
    sem_t *dropped = held->dropped;
    free(held);
    sem_post(dropped);
}

/* What became of a look at the process; the gate lets those go that were given up. */
static int held_run(pid_t pid, sem_t *gate, sem_t *dropped)
{
    struct held *held = calloc(1, sizeof *held);
    *held = (struct held){.pid = pid, .gate = gate, .dropped = dropped};
    uint64_t given_up = apart_given_up();
    int status = apart_run(look_held, held_drop, held, SHORT_NS);
    while (status == SKEIN_TIMEOUT && apart_given_up() == given_up) { /* before it was there */
        while (sem_wait(dropped) != 0)
            continue;
        held = calloc(1, sizeof *held);
        *held = (struct held){.pid = pid, .gate = gate, .dropped = dropped};
        status = apart_run(look_held, held_drop, held, SHORT_NS);
    }
    if (status != SKEIN_OK)
        return status;
    status = held->left_out ? SKEIN_BUSY : SKEIN_OK;
    free(held);
    return status;
}

START_TEST(what_hangs_is_shared_out_by_process_and_user)
{
    sem_t gate, dropped;
    pid_t pids[APART_USER_MAX + 1];
    sem_init(&gate, 0, 0);
    sem_init(&dropped, 0, 0);
    for (size_t i = 0; i <= APART_USER_MAX; i++)
        pids[i] = spawn((const char *[]){"/bin/sleep", "600", NULL}, &(struct spawn_options){0});
    for (size_t i = 0; i < APART_USER_MAX; i++) {
        ck_assert_int_eq(held_run(pids[i], &gate, &dropped), SKEIN_TIMEOUT);
        ck_assert_int_eq(held_run(pids[0], &gate, &dropped), SKEIN_BUSY);
    }
    ck_assert_int_eq(held_run(pids[APART_USER_MAX], &gate, &dropped), SKEIN_BUSY);
    for (size_t i = 0; i < APART_USER_MAX; i++)
        sem_post(&gate);
    for (size_t i = 0; i < APART_USER_MAX; i++)
        while (sem_wait(&dropped) != 0)
            continue;
    for (size_t i = 0; i <= APART_USER_MAX; i++)
        (void)spawn_stop(pids[i], SIGKILL, 0);
}
END_TEST

static void look_numbers(struct apart *apart, void *context)
{
    int *number = context;
    *number = apart_at(apart, getpid()) ? 7 : -1;
    apart_tell(apart);
}

START_TEST(what_was_told_is_the_askers)
{
    int number = 0;
    ck_assert_int_eq(apart_run(look_numbers, free, &number, MINUTE_NS), SKEIN_OK);
    ck_assert_int_eq(number, 7);
    ck_assert_uint_eq(apart_given_up(), 0);
}
END_TEST

/* ---- titles ---- */

struct over {
    const char *file;
    int out;
};

/* Lays the file over the page of the command line. On a stack of its own: whoever touches that page, as the
 * first thread may, waits. */
static void *arguments_cover(void *context)
{
    const struct over *over = context;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int fd = open(over->file, O_RDONLY | O_CLOEXEC);
    void *at = (void *)((uintptr_t)program_invocation_name / page * page);
    bool covered = fd >= 0 && mmap(at, page, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == at;
    if (write(over->out, covered ? "y" : "n", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static pid_t covered_start(const char *file)
{
    int pipes[2];
    char done = 'n';
    ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        static struct over over;
        pthread_t thread;
        over = (struct over){file, pipes[1]};
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || pthread_create(&thread, NULL, arguments_cover, &over) != 0)
            _exit(1);
        for (;;)
            pause();
    }
    close(pipes[1]);
    ck_assert_int_eq(read(pipes[0], &done, 1), 1);
    ck_assert_int_eq(done, 'y');
    close(pipes[0]);
    return child;
}

/* So it is asked for on the agent's loop, and by no thread apart: the kernel gives no page of a file as a
 * command line. */
START_TEST(a_command_line_of_a_file_is_refused_and_does_not_hang)
{
    char folder[] = "/tmp/skein-fuse-XXXXXX", title[128] = "before";
    struct fuse_silent fuse;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    if (fuse_silent_start(&fuse, folder)) {
        pid_t silent = covered_start(fuse.file);
        proc_title(silent, title, sizeof title);
        ck_assert_str_eq(title, "");
        (void)kill(silent, SIGKILL);
        fuse_silent_stop(&fuse);
        (void)waitpid(silent, NULL, 0);
    }
    (void)rmdir(folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("looks apart");
    TCase *t = tcase_create("looks");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, what_was_told_is_the_askers);
    tcase_add_test(t, what_hangs_is_shared_out_by_process_and_user);
    tcase_add_test(t, a_command_line_of_a_file_is_refused_and_does_not_hang);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
