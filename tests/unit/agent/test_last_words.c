/* SPDX-License-Identifier: Apache-2.0
 *
 * What a process wrote last, in files of every kind: this process is the one, and writes to its own
 * standard error. What must come out is what was written, by itself.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "last_words.h"
#include "support.h"

#define S      UINT64_C(1000000000)
#define NOBODY 65534

static char *folder, *path;
static struct words_place place;
static struct words_mark mark;
static struct words words;

static void setup(void)
{
    folder = temp_dir_new();
    path = path_join(folder, "stderr.log");
    place = (struct words_place){.file = ""};
    mark = (struct words_mark){.known = false};
}

static void teardown(void)
{
    words_fini(&words);
    free(path);
    temp_dir_free(&folder);
}

/* ---- standard error ---- */

static void stderr_set(int fd)
{
    ck_assert_int_ge(fd, 0);
    if (fd == 2)
        return;
    ck_assert_int_eq(dup2(fd, 2), 2);
    close(fd);
}

static void stderr_to(const char *name, int flags)
{
    stderr_set(open(name, flags, 0600));
}

static void put(const char *text, size_t n)
{
    ck_assert_int_eq(write(2, text, n), (ssize_t)n);
}

static void say(const char *text)
{
    put(text, strlen(text));
}

/* The file was last written to then. */
static void written_at(uint64_t ns)
{
    const struct timespec times[2] = {{(time_t)(ns / S), (long)(ns % S)},
                                      {(time_t)(ns / S), (long)(ns % S)}};
    ck_assert_int_eq(futimens(2, times), 0);
}

static void look(uint64_t start_ns)
{
    ck_assert_int_eq(words_place_read(getpid(), &place), SKEIN_OK);
    words_place_stat(getpid(), start_ns, &place, &mark);
}

static void read_end(uint64_t start_ns)
{
    words_fini(&words);
    words_read(&place, &mark, start_ns, &words);
}

static void has(const char *text, size_t n, uint64_t before)
{
    ck_assert_msg(words.bytes != NULL, "%s%s", words.why, words.why_more);
    ck_assert_uint_eq(words.count, n);
    ck_assert_mem_eq(words.bytes, text, n);
    ck_assert_uint_eq(words.before, before);
}

static void has_text(const char *text)
{
    has(text, strlen(text), 0);
}

static void lacks(const char *why)
{
    ck_assert_ptr_null(words.bytes);
    ck_assert_uint_eq(words.count, 0);
    ck_assert_str_eq(words.why, why);
}

/* ---- files ---- */

START_TEST(a_file_is_read_to_its_end)
{
    stderr_to(path, O_WRONLY | O_CREAT | O_APPEND);
    look(0);
    say("first\n");
    say("no room for order 7\n");
    read_end(0);
    has_text("first\nno room for order 7\n");
    ck_assert(!words.since_start);
    ck_assert_str_eq(place.file, path);
}
END_TEST

START_TEST(a_file_that_is_younger_than_the_process_is_all_of_it_since_then)
{
    stderr_to(path, O_WRONLY | O_CREAT);
    look(1 * S);
    say("only\n");
    read_end(1 * S);
    has_text("only\n");
    struct statx about;
    ck_assert_int_eq(statx(AT_FDCWD, path, 0, STATX_BTIME, &about), 0);
    ck_assert_int_eq(words.since_start, (about.stx_mask & STATX_BTIME) != 0);
}
END_TEST

START_TEST(what_the_process_before_it_wrote_is_left_out)
{
    uint64_t now_ns = clock_realtime_ns();
    stderr_to(path, O_WRONLY | O_CREAT | O_APPEND);
    say("the one before died of hunger\n");
    written_at(now_ns - 60 * S);
    look(now_ns - 30 * S);
    ck_assert(mark.known);
    read_end(now_ns - 30 * S);
    lacks("a file that nobody wrote to since it began");
    say("and I of thirst\n");
    look(now_ns - 30 * S); /* the mark stays where it was */
    read_end(now_ns - 30 * S);
    has_text("and I of thirst\n");
    ck_assert(words.since_start);
}
END_TEST

START_TEST(where_somebody_has_written_since_the_start_all_is_taken_and_said_to_be_older)
{
    uint64_t start_ns = clock_realtime_ns() + 3600 * S; /* no file is younger than that */
    stderr_to(path, O_WRONLY | O_CREAT | O_APPEND);
    say("whose?\n");
    written_at(start_ns);
    look(start_ns);
    ck_assert(!mark.known);
    say("mine\n");
    read_end(start_ns);
    has_text("whose?\nmine\n");
    ck_assert(!words.since_start);
}
END_TEST

START_TEST(a_file_that_was_truncated_since_is_taken_from_its_begin)
{
    uint64_t now_ns = clock_realtime_ns();
    stderr_to(path, O_WRONLY | O_CREAT | O_APPEND);
    say("a long line of the one before\n");
    written_at(now_ns - 60 * S);
    look(now_ns - 30 * S);
    ck_assert_int_eq(ftruncate(2, 0), 0); /* as logrotate does (copytruncate) */
    say("mine\n");
    read_end(now_ns - 30 * S);
    has_text("mine\n");
    ck_assert(words.since_start);
}
END_TEST

START_TEST(of_a_large_file_the_last_64_kib_are_taken_and_the_rest_is_counted)
{
    char line[64];
    size_t written = 0, n = 0;
    char *all = malloc(1 << 20);
    stderr_to(path, O_WRONLY | O_CREAT);
    for (int i = 0; i < 4000; i++, written += n) {
        n = (size_t)snprintf(line, sizeof line, "line %d of many that were written\n", i);
        memcpy(all + written, line, n);
        put(line, n);
    }
    look(0);
    read_end(0);
    has(all + written - LAST_WORDS_BYTES, LAST_WORDS_BYTES, written - LAST_WORDS_BYTES);
    free(all);
}
END_TEST

START_TEST(a_character_that_was_cut_in_front_is_left_out)
{
    char *all = malloc(LAST_WORDS_BYTES + 2);
    stderr_to(path, O_WRONLY | O_CREAT);
    memcpy(all, "\xe2\x82\xac", 3); /* the last 64 KiB begin in it */
    memset(all + 3, 'x', LAST_WORDS_BYTES - 1);
    put(all, LAST_WORDS_BYTES + 2);
    look(0);
    read_end(0);
    has(all + 3, LAST_WORDS_BYTES - 1, 3);
    free(all);
}
END_TEST

START_TEST(a_hole_is_left_out)
{
    stderr_to(path, O_WRONLY | O_CREAT);
    ck_assert_int_eq(ftruncate(2, 10 << 20), 0);
    look(0);
    read_end(0);
    lacks("a file that ends in a hole");
    ck_assert_int_eq(lseek(2, 0, SEEK_END), 10 << 20);
    say("behind it\n");
    read_end(0);
    has("behind it\n", 10, 10 << 20);
}
END_TEST

START_TEST(bytes_that_are_no_text_are_kept_as_they_are)
{
    static const char bytes[] = "\xff\xfe\0\x1b[31mred\xe2\x82\n";
    stderr_to(path, O_WRONLY | O_CREAT);
    put(bytes, sizeof bytes - 1);
    look(0);
    read_end(0);
    has(bytes, sizeof bytes - 1, 0);
}
END_TEST

START_TEST(an_empty_file_says_so)
{
    stderr_to(path, O_WRONLY | O_CREAT);
    look(0);
    read_end(0);
    lacks("an empty file");
}
END_TEST

/* ---- files that went elsewhere ---- */

START_TEST(a_file_that_was_renamed_is_found_by_the_next_look)
{
    char *rotated = path_join(folder, "stderr.log.1");
    stderr_to(path, O_WRONLY | O_CREAT);
    look(0);
    ck_assert_int_eq(rename(path, rotated), 0);
    say("after it was rotated\n");
    read_end(0);
    lacks("a file that is not at its path here: deleted, moved, or a container's");
    look(0);
    ck_assert_str_eq(place.file, rotated);
    read_end(0);
    has_text("after it was rotated\n");
    free(rotated);
}
END_TEST

START_TEST(another_file_at_its_path_is_not_taken_for_it)
{
    stderr_to(path, O_WRONLY | O_CREAT);
    say("mine\n");
    look(0);
    ck_assert_int_eq(unlink(path), 0);
    file_write(path, "another's\n", 10);
    read_end(0);
    lacks("a file that another is in the place of, or that was not seen in time");
}
END_TEST

/* The kernel gives the number of a deleted file to the next one. */
START_TEST(another_file_with_its_number_is_not_taken_for_it)
{
    struct statx about;
    stderr_to(path, O_WRONLY | O_CREAT);
    say("mine\n");
    look(0);
    stderr_to("/dev/null", O_WRONLY);
    ck_assert_int_eq(unlink(path), 0);
    for (int i = 0; i < 64; i++) {
        char name[32];
        snprintf(name, sizeof name, "other%d", i);
        char *other = path_join(folder, name);
        file_write(other, "another's\n", 10);
        ck_assert_int_eq(statx(AT_FDCWD, other, 0, STATX_INO | STATX_BTIME, &about), 0);
        bool same = about.stx_ino == place.inode && (about.stx_mask & STATX_BTIME) != 0;
        if (same)
            ck_assert_int_eq(rename(other, path), 0);
        free(other);
        if (!same)
            continue;
        read_end(0);
        lacks("a file that another is in the place of, or that was not seen in time");
        return;
    }
    printf("not shown: this file system gives no number again\n");
}
END_TEST

START_TEST(a_deleted_file_says_so)
{
    stderr_to(path, O_WRONLY | O_CREAT);
    ck_assert_int_eq(unlink(path), 0);
    look(0);
    read_end(0);
    lacks("a file that is not at its path here: deleted, moved, or a container's");
}
END_TEST

/* ---- what is no file, or not to be read ---- */

START_TEST(what_is_no_file_is_named_and_not_touched)
{
    int ends[2];
    char *fifo = path_join(folder, "fifo"), byte;
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    stderr_set(ends[1]);
    say("in the pipe");
    look(0);
    read_end(0);
    lacks("a pipe");
    ck_assert_int_eq(read(ends[0], &byte, 1), 1); /* all of it is there for its reader */
    ck_assert_int_eq(byte, 'i');
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    stderr_set(ends[1]);
    look(0);
    read_end(0);
    lacks("a socket, as the journal's");
    stderr_to("/dev/null", O_WRONLY);
    look(0);
    read_end(0);
    lacks("/dev/null");
    stderr_to("/dev/full", O_WRONLY);
    look(0);
    read_end(0);
    lacks("a device");
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    stderr_to(fifo, O_RDWR);
    say("in the fifo");
    look(0);
    read_end(0);
    lacks("a named pipe");
    ck_assert_int_eq(read(2, &byte, 1), 1);
    ck_assert_int_eq(byte, 'i');
    free(fifo);
}
END_TEST

/* It was a file, and is a pipe that nobody writes to: to open it would wait for ever. */
START_TEST(a_pipe_in_the_place_of_a_file_is_not_opened)
{
    stderr_to(path, O_WRONLY | O_CREAT);
    look(0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    read_end(0);
    lacks("a named pipe");
}
END_TEST

START_TEST(a_terminal_is_named)
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
        printf("not shown: no terminals here\n");
        return;
    }
    stderr_to(ptsname(terminal), O_RDWR | O_NOCTTY);
    look(0);
    read_end(0);
    lacks("a terminal");
}
END_TEST

/* Who could make a descriptor of it without the right to read it would have the agent read it. */
START_TEST(a_file_that_was_not_open_to_be_written_is_not_read)
{
    file_write(path, "secret\n", 7);
    stderr_to(path, O_PATH);
    look(0);
    read_end(0);
    lacks("not open to be written");
    stderr_to(path, O_RDONLY);
    look(0);
    read_end(0);
    lacks("not open to be written");
}
END_TEST

/* The kernel's number of a mount is another there: the device says that the file is the same. */
START_TEST(a_file_that_was_opened_below_other_mounts_is_known_by_its_device)
{
    int ends[2];
    char byte;
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        bool may = unshare(CLONE_NEWNS) == 0;
        int fd = may ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
        may = fd >= 0 && dup2(fd, 2) == 2 && write(2, "mine\n", 5) == 5;
        (void)!write(ends[1], may ? "y" : "n", 1);
        for (;;)
            pause();
    }
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    if (byte == 'y') {
        ck_assert_int_eq(words_place_read(child, &place), SKEIN_OK);
        read_end(0);
        lacks("a file that another is in the place of, or that was not seen in time");
        words_place_stat(child, 0, &place, &mark);
        ck_assert(place.has_device);
        read_end(0);
        has_text("mine\n");
    } else {
        printf("not shown: needs CAP_SYS_ADMIN\n");
    }
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

START_TEST(nothing_is_told_of_what_was_not_seen)
{
    read_end(0);
    lacks("closed, or not seen in time");
    close(2);
    ck_assert_int_eq(words_place_read(getpid(), &place), SKEIN_NOT_FOUND);
    read_end(0);
    lacks("closed, or not seen in time");
}
END_TEST

START_TEST(a_file_that_may_not_be_read_says_so)
{
    stderr_to(path, O_WRONLY | O_CREAT);
    say("mine\n");
    ck_assert_int_eq(chmod(path, 0200), 0);
    ck_assert_int_eq(chmod(folder, 0755), 0);
    look(0);
    if (geteuid() == 0)
        ck_assert_int_eq(seteuid(NOBODY), 0);
    read_end(0);
    lacks("a file that could not be opened: ");
    ck_assert_str_eq(words.why_more, "Permission denied");
    if (geteuid() != NOBODY)
        return;
    ck_assert_int_eq(words_place_read(1, &place), SKEIN_DENIED);
    read_end(0);
    lacks("it may not be looked at: needs CAP_SYS_PTRACE");
    ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

START_TEST(a_name_that_is_too_long_is_not_guessed)
{
    char part[200];
    memset(part, 'n', sizeof part - 1);
    part[sizeof part - 1] = '\0';
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(chdir(i == 0 ? folder : part), 0);
        ck_assert_int_eq(mkdir(part, 0700), 0);
    }
    stderr_to("log", O_WRONLY | O_CREAT);
    ck_assert_int_eq(chdir("/"), 0);
    look(0);
    ck_assert(place.cut);
    read_end(0);
    lacks("a file of too long a name");
}
END_TEST

/* ---- texts ---- */

START_TEST(the_kernels_lines_are_read)
{
    struct words_place found = {.mount = 7};
    ck_assert(words_fdinfo_parse("pos:\t0\nflags:\t02100001\nmnt_id:\t29\nino:\t4711\n", &found));
    ck_assert(found.writes);
    ck_assert_uint_eq(found.mount, 29);
    ck_assert_uint_eq(found.inode, 4711);
    ck_assert(words_fdinfo_parse("flags:\t0100000\nmnt_id:\t1", &found)); /* before Linux 5.14 */
    ck_assert(!found.writes);
    ck_assert_uint_eq(found.inode, 0);
    ck_assert(words_fdinfo_parse("flags:\t010000001\nmnt_id:\t1", &found));
    ck_assert(!found.writes);
    found.mount = 7;
    ck_assert(!words_fdinfo_parse("flags:\t09\nmnt_id:\t1\n", &found));
    ck_assert(!words_fdinfo_parse("flags:\t01\n", &found));
    ck_assert(!words_fdinfo_parse("", &found));
    ck_assert_uint_eq(found.mount, 7);
}
END_TEST

/* By mode, owner and folders; the process is this one, or somebody else. */
START_TEST(who_could_read_the_file_is_told)
{
    static const struct {
        const char *readers;
        mode_t mode, folder;
        uint32_t owner, user;
    } cases[] = {
        {"everybody", 0644, 0755, 0, NOBODY}, {"everybody", 0604, 0711, 0, NOBODY},
        {"others", 0640, 0755, 0, NOBODY},    {"others", 0600, 0755, 0, NOBODY},
        {"process", 0600, 0755, 1000, 1000},  {"others", 0200, 0755, 1000, 1000},
        {"others", 0600, 0755, 1000, 1001},   {"process", 0600, 0755, 1000, 0},
        {"others", 0644, 0700, 0, NOBODY},    {"process", 0644, 0700, NOBODY, 0},
        {"everybody", 0644, 0701, 0, NOBODY}, {"others", 0666, 0766, 0, NOBODY},
    };
    struct stat about;
    for (char *up = strdup(folder), *slash; up != NULL; *slash = '\0') { /* a test's own, or /tmp */
        slash = strrchr(up, '/');
        if (strcmp(up, folder) != 0 && *up != '\0' && stat(up, &about) == 0 &&
            (about.st_mode & S_IXOTH) == 0) {
            fprintf(stderr, "not shown: %s is closed to others\n", up);
            free(up);
            return;
        }
        if (slash == up || slash == NULL) {
            free(up);
            break;
        }
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct words_file file = {path, S_IFREG | cases[i].mode, cases[i].owner};
        const struct words_place of = {.has_user = true, .user = cases[i].user};
        ck_assert_int_eq(chmod(folder, cases[i].folder), 0);
        ck_assert_msg(strcmp(words_readers(&file, &of), cases[i].readers) == 0, "case %zu: %s", i,
                      words_readers(&file, &of));
        const struct words_place unseen = {.has_user = false};
        ck_assert_str_ne(words_readers(&file, &unseen), "process");
    }
    ck_assert_int_eq(chmod(folder, 0700), 0);
    stderr_to(path, O_WRONLY | O_CREAT);
    ck_assert_int_eq(chmod(path, 0600), 0);
    look(0);
    say("mine\n");
    read_end(0);
    ck_assert(place.has_user && place.user == geteuid());
    ck_assert_str_eq(words.readers, "process");
}
END_TEST

START_TEST(pieces_end_with_lines_or_else_with_characters)
{
    char text[3000];
    memset(text, 'x', sizeof text);
    ck_assert_uint_eq(words_piece(text, 1), 1);
    ck_assert_uint_eq(words_piece(text, WORDS_PIECE), WORDS_PIECE);
    ck_assert_uint_eq(words_piece(text, sizeof text), WORDS_PIECE);
    text[10] = text[700] = text[WORDS_PIECE] = '\n';
    ck_assert_uint_eq(words_piece(text, sizeof text), 701);
    ck_assert_uint_eq(words_piece(text, WORDS_PIECE), WORDS_PIECE);
    text[10] = text[700] = 'x';
    for (size_t cut = 1; cut < 3; cut++) {
        memset(text, 'x', sizeof text);
        memcpy(text + WORDS_PIECE - cut, "\xe2\x82\xac", 3);
        ck_assert_uint_eq(words_piece(text, sizeof text), WORDS_PIECE - cut);
    }
    memset(text, 0x82, sizeof text); /* no characters at all */
    ck_assert_uint_eq(words_piece(text, sizeof text), WORDS_PIECE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("last_words");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, a_file_is_read_to_its_end);
    tcase_add_test(all, a_file_that_is_younger_than_the_process_is_all_of_it_since_then);
    tcase_add_test(all, what_the_process_before_it_wrote_is_left_out);
    tcase_add_test(all,
                   where_somebody_has_written_since_the_start_all_is_taken_and_said_to_be_older);
    tcase_add_test(all, a_file_that_was_truncated_since_is_taken_from_its_begin);
    tcase_add_test(all, of_a_large_file_the_last_64_kib_are_taken_and_the_rest_is_counted);
    tcase_add_test(all, a_character_that_was_cut_in_front_is_left_out);
    tcase_add_test(all, a_hole_is_left_out);
    tcase_add_test(all, bytes_that_are_no_text_are_kept_as_they_are);
    tcase_add_test(all, an_empty_file_says_so);
    tcase_add_test(all, a_file_that_was_renamed_is_found_by_the_next_look);
    tcase_add_test(all, another_file_at_its_path_is_not_taken_for_it);
    tcase_add_test(all, another_file_with_its_number_is_not_taken_for_it);
    tcase_add_test(all, a_deleted_file_says_so);
    tcase_add_test(all, what_is_no_file_is_named_and_not_touched);
    tcase_add_test(all, a_pipe_in_the_place_of_a_file_is_not_opened);
    tcase_add_test(all, a_terminal_is_named);
    tcase_add_test(all, a_file_that_was_not_open_to_be_written_is_not_read);
    tcase_add_test(all, a_file_that_was_opened_below_other_mounts_is_known_by_its_device);
    tcase_add_test(all, nothing_is_told_of_what_was_not_seen);
    tcase_add_test(all, a_file_that_may_not_be_read_says_so);
    tcase_add_test(all, a_name_that_is_too_long_is_not_guessed);
    tcase_add_test(all, the_kernels_lines_are_read);
    tcase_add_test(all, who_could_read_the_file_is_told);
    tcase_add_test(all, pieces_end_with_lines_or_else_with_characters);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
