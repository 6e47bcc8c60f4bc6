/* SPDX-License-Identifier: Apache-2.0
 * Who was attached to the run before: who of them has ended, and files that are cut off. */
#include "roster_file.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "durable.h"
#include "proc_info.h"
#include "support.h"

struct place {
    struct loop *loop;
    struct roster *roster;
    uint64_t linger_ms;
};

static void place_init(struct place *place)
{
    place->linger_ms = 0;
    ck_assert_int_eq(loop_new(&place->loop), SKEIN_OK);
    ck_assert_int_eq(roster_new(place->loop, &place->linger_ms, 1000, &place->roster), SKEIN_OK);
}

static void place_fini(struct place *place)
{
    roster_free(&place->roster);
    loop_free(&place->loop);
}

/* Until the worker has written it. */
static void save(struct place *place, int folder, const struct process *first)
{
    struct worker *worker;
    struct roster_file *file;
    ck_assert_int_eq(worker_new(&worker), SKEIN_OK);
    ck_assert_int_eq(roster_file_new(folder, worker, &file), SKEIN_OK);
    roster_file_changed(file);
    roster_file_save(file, "boot", first, place->roster);
    worker_free(&worker);
    roster_file_free(&file);
}

static struct process *process_of(pid_t pid, uint64_t start_clock_ticks)
{
    struct process *p;
    ck_assert_int_eq(process_new(&p), SKEIN_OK);
    p->pid = (uint32_t)pid;
    p->start_clock_ticks = start_clock_ticks;
    p->uid = process_uid_make(7, "boot", p->pid, start_clock_ticks);
    (void)snprintf(p->service, sizeof p->service, "shop");
    return p;
}

START_TEST(the_next_run_knows_who_has_ended_meanwhile)
{
    struct place place;
    int folder;
    uint64_t ticks;
    char *path = temp_dir_new();
    ck_assert_int_eq(durable_folder(path, &folder), SKEIN_OK);
    ck_assert_int_eq(proc_start_ticks(getpid(), &ticks), SKEIN_OK);
    struct process *here = process_of(getpid(), ticks), *gone = process_of(getpid(), ticks - 1);
    here->next = gone; /* of which another process has the number now */
    place_init(&place);
    save(&place, folder, here);
    ck_assert_uint_eq(roster_file_recall(folder, 7, "another boot", place.roster), 0);
    ck_assert_uint_eq(roster_file_recall(folder, 7, "boot", place.roster), 1);
    ck_assert(roster_find(place.roster, &here->uid)->expected);
    ck_assert_uint_eq(roster_find(place.roster, &here->uid)->ended_ns, 0);
    const struct roster_entry *e = roster_find(place.roster, &gone->uid);
    ck_assert_ptr_nonnull(e);
    ck_assert_str_eq(e->service, "shop");
    ck_assert_uint_eq(e->reason, LOSS_RELEASED);
    ck_assert_uint_gt(e->ended_ns, e->start_ns);
    ck_assert_uint_ne(e->start_ns, 0);
    /* A run that ends before it is back has it in its file, and the next one knows it again. */
    save(&place, folder, NULL);
    place_fini(&place);
    place_init(&place);
    ck_assert_uint_eq(roster_file_recall(folder, 7, "boot", place.roster), 1);
    ck_assert_ptr_null(roster_find(place.roster, &gone->uid));
    roster_attached(place.roster, here);
    ck_assert_ptr_null(roster_find(place.roster, &here->uid));
    place_fini(&place);
    process_unref(&here);
    process_unref(&gone);
    close(folder);
    temp_dir_free(&path);
}
END_TEST

START_TEST(a_file_that_is_cut_off_gives_what_it_has)
{
    struct place place;
    int folder;
    struct buf bytes = {0};
    char *path = temp_dir_new();
    ck_assert_int_eq(durable_folder(path, &folder), SKEIN_OK);
    struct process *gone = process_of(getpid(), 1);
    place_init(&place);
    save(&place, folder, gone);
    ck_assert_int_eq(durable_read(folder, "processes", 1 << 20, &bytes), SKEIN_OK);
    for (size_t n = 0; n < bytes.len; n++) {
        const struct durable_part part = {bytes.data, n};
        ck_assert_int_eq(durable_write(folder, "processes", &part, 1), SKEIN_OK);
        ck_assert_uint_eq(roster_file_recall(folder, 7, "boot", place.roster), 0);
    }
    place_fini(&place);
    process_unref(&gone);
    buf_fini(&bytes);
    close(folder);
    temp_dir_free(&path);
}
END_TEST

static void wait_for(void *context)
{
    sem_wait(context);
}

static void post_to(void *context)
{
    sem_post(context);
}

static bool file_there(int folder)
{
    return faccessat(folder, "processes", F_OK, 0) == 0;
}

START_TEST(a_disk_that_stands_still_holds_nobody_up_and_gets_the_newest_alone)
{
    struct place place;
    struct worker *worker;
    struct roster_file *file;
    sem_t disk;
    int folder;
    char *path = temp_dir_new();
    ck_assert_int_eq(durable_folder(path, &folder), SKEIN_OK);
    struct process *first = process_of(getpid(), 1), *second = process_of(getpid(), 2);
    place_init(&place);
    sem_init(&disk, 0, 0);
    ck_assert_int_eq(worker_new(&worker), SKEIN_OK);
    ck_assert_int_eq(roster_file_new(folder, worker, &file), SKEIN_OK);
    ck_assert_int_eq(worker_post(worker, NULL, wait_for, &disk), SKEIN_OK);
    roster_file_changed(file);
    roster_file_save(file, "boot", first, place.roster);
    roster_file_changed(file);
    roster_file_save(file, "boot", second, place.roster);
    roster_file_save(file, "boot", first, place.roster); /* nothing has changed */
    ck_assert(!file_there(folder));
    sem_post(&disk);
    worker_free(&worker);
    roster_file_free(&file);
    (void)roster_file_recall(folder, 7, "boot", place.roster);
    ck_assert_ptr_null(roster_find(place.roster, &first->uid));
    ck_assert_ptr_nonnull(roster_find(place.roster, &second->uid));
    place_fini(&place);
    sem_destroy(&disk);
    process_unref(&first);
    process_unref(&second);
    close(folder);
    temp_dir_free(&path);
}
END_TEST

START_TEST(what_could_not_be_written_is_written_with_the_next_list)
{
    struct place place;
    struct worker *worker;
    struct roster_file *file;
    sem_t written;
    int folder;
    char *path = temp_dir_new();
    ck_assert_int_eq(durable_folder(path, &folder), SKEIN_OK);
    struct process *gone = process_of(getpid(), 1);
    place_init(&place);
    sem_init(&written, 0, 0);
    ck_assert_int_eq(worker_new(&worker), SKEIN_OK);
    ck_assert_int_eq(roster_file_new(folder, worker, &file), SKEIN_OK);
    ck_assert_int_eq(mkdirat(folder, "tmp-processes", 0700), 0); /* in the way of the new file */
    roster_file_changed(file);
    roster_file_save(file, "boot", gone, place.roster);
    ck_assert_int_eq(worker_post(worker, NULL, post_to, &written), SKEIN_OK);
    sem_wait(&written);
    ck_assert(!file_there(folder));
    ck_assert_int_eq(unlinkat(folder, "tmp-processes", AT_REMOVEDIR), 0);
    roster_file_save(file, "boot", gone, place.roster);
    worker_free(&worker);
    ck_assert(file_there(folder));
    roster_file_free(&file);
    place_fini(&place);
    sem_destroy(&written);
    process_unref(&gone);
    close(folder);
    temp_dir_free(&path);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("roster_file", the_next_run_knows_who_has_ended_meanwhile,
                              a_file_that_is_cut_off_gives_what_it_has,
                              a_disk_that_stands_still_holds_nobody_up_and_gets_the_newest_alone,
                              what_could_not_be_written_is_written_with_the_next_list, NULL));
}
