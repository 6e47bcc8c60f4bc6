/* SPDX-License-Identifier: Apache-2.0
 *
 * A traced program starts others, in each way that there is: one that the tracer cannot enter is not
 * told to load it, and all others are.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static char said[8192];
static int status;

static void run(const char *command)
{
    FILE *out = popen(command, "r"); /* NOLINT(cert-env33-c): as a person types it */
    ck_assert_ptr_nonnull(out);
    size_t n = fread(said, 1, sizeof said - 1, out);
    said[n] = '\0';
    status = WEXITSTATUS(pclose(out));
}

static const char *const ways[] = {"execve",       "execv",        "execvp",       "execvpe",
                                   "execl",        "execlp",       "execle",       "fexecve",
                                   "fexecve_path", "execveat",     "syscall",      "syscall_at",
                                   "posix_spawn",  "posix_spawnp", "spawn_folder", "spawnp_folder",
                                   "system",       "popen",        "vfork"};

static const char *const few[] = {"execve", "posix_spawn", "system", "vfork"};

/* `before` is what comes before the program, as a shell has it. */
static void started(const char *before, const char *how, const char *program, const char *argument)
{
    char command[8192], folder[4096];
    snprintf(folder, sizeof folder, "%s", program);
    *strrchr(folder, '/') = '\0';
    snprintf(command, sizeof command,
             "export PATH=/nonexistent:\"$PATH\":%s; %s " SKEIN
             " run -q --socket /nonexistent/agent.sock --preload " PRELOAD " -- " STARTS
             " %s %s %s 2>&1",
             folder, before, how, program, argument);
    run(command);
}

static void ck_started(const char *before, const char *how, const char *program, const char *says)
{
    started(before, how, program, "preloads");
    ck_assert_msg(strcmp(said, says) == 0, "%s %s: %s", how, program, said);
    ck_assert_msg(status == 3, "%s %s: status %d", how, program, status);
}

/* A dynamic linker that is not this program's, though it does the same. */
static void linker_make(void)
{
    run("cp -L \"$(readelf -l " PLAIN
        " | sed -n 's/.*interpreter: \\(.*\\)].*/\\1/p')\" " OTHER_LINKER
        " && printf '\\001' | dd of=" OTHER_LINKER " bs=1 seek=15 conv=notrunc status=none");
    ck_assert_int_eq(status, 0);
}

START_TEST(a_normal_program_is_traced_in_whatever_way_it_starts)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        ck_started("", ways[i], PLAIN, PRELOAD "\ndone\n");
}
END_TEST

START_TEST(a_program_with_another_c_library_starts_without_the_tracer)
{
    linker_make();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        ck_started("", ways[i], OTHER_LIBC, "none\ndone\n");
}
END_TEST

START_TEST(a_program_with_an_address_sanitizer_starts_without_the_tracer)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        ck_started("", ways[i], ASAN, "none\ndone\n");
}
END_TEST

/* It loads nothing, and would hand the entry on to what it starts itself. */
START_TEST(a_static_program_starts_without_the_tracer)
{
    for (size_t i = 0; i < sizeof few / sizeof *few; i++)
        ck_started("", few[i], STATIC, "none\ndone\n");
    run(SKEIN " run -q --socket /nonexistent/agent.sock --preload " PRELOAD " -- " STATIC
              " preloads");
    ck_assert_str_eq(said, "none\ndone\n");
}
END_TEST

/* What tini, gosu and their like become is traced as if they were not there; a shell may start others. */
START_TEST(a_static_program_hands_the_tracer_on_to_the_program_that_it_names)
{
    static const struct {
        const char *command, *says;
    } starts[] = {
        {STARTER " " PLAIN " preloads", PRELOAD "\ndone\n"},
        {STARTER " env " PLAIN " preloads", PRELOAD "\ndone\n"},
        {STARTER " " STARTER " " PLAIN " preloads", "none\ndone\n"},
        {STARTER " " ASAN " preloads", "none\ndone\n"},
        {STARTER " env " ASAN " preloads", "none\ndone\n"},
        {"$d/busybox " PLAIN " preloads", "none\ndone\n"},
    };
    /* Started by a program that is traced, and by `skein run` itself, which says nothing of it then. */
    static const char *const forms[][2] = {{"-- sh -c '", "; exit $?'"}, {"-- ", ""}};
    char command[8192], *folder = temp_dir_new();
    for (size_t i = 0; i < 2 * (sizeof starts / sizeof *starts); i++) {
        const size_t start = i / 2;
        const char *const *form = forms[i % 2];
        snprintf(command, sizeof command,
                 "d=%s; ln -sf " STARTER " $d/busybox; export d; exec " SKEIN
                 " run -q --socket /nonexistent/agent.sock --preload " PRELOAD " %s%s%s 2>&1",
                 folder, form[0], starts[start].command, form[1]);
        run(command);
        ck_assert_msg(strcmp(said, starts[start].says) == 0, "%s: %s", command, said);
        ck_assert_msg(status == 3, "%s: status %d", command, status);
    }
    temp_dir_free(&folder);
}
END_TEST

/* Its runtime starts others by system calls of its own, and keeps the environment as it finds it. */
START_TEST(a_go_program_finds_no_entry_to_hand_on)
{
    for (size_t i = 0; i < sizeof few / sizeof *few; i++)
        ck_started("", few[i], GO, "none\ndone\n");
    ck_started("LD_PRELOAD='libm.so.6  libdl.so.2'", "execve", GO, "libm.so.6:libdl.so.2\ndone\n");
    run(SKEIN " run -q --socket /nonexistent/agent.sock --preload " PRELOAD " -- " GO " preloads");
    ck_assert_str_eq(said, "none\ndone\n");
}
END_TEST

START_TEST(an_address_sanitizer_that_allows_it_is_traced)
{
    ck_started("ASAN_OPTIONS=verify_asan_link_order=0", "execve", ASAN, PRELOAD "\ndone\n");
}
END_TEST

START_TEST(preloads_of_the_user_stay_in_their_order)
{
    linker_make();
    ck_started("LD_PRELOAD=libm.so.6:libdl.so.2", "execve", OTHER_LIBC,
               "libm.so.6:libdl.so.2\ndone\n");
    ck_started("LD_PRELOAD='libm.so.6  libdl.so.2'", "vfork", OTHER_LIBC,
               "libm.so.6:libdl.so.2\ndone\n");
    ck_started("LD_PRELOAD=libm.so.6:libdl.so.2", "execve", PLAIN,
               PRELOAD ":libm.so.6:libdl.so.2\ndone\n");
}
END_TEST

START_TEST(a_script_starts_as_its_interpreter_does)
{
    char *folder = temp_dir_new(), *path = path_join(folder, "script"),
         *next = path_join(folder, "next"), text[8192];
    linker_make();
    snprintf(text, sizeof text, "#! %s", OTHER_LIBC); /* which is not told to say its preloads */
    file_write_text(path, text);
    snprintf(text, sizeof text, "#!%s an argument\n", path);
    file_write_text(next, text);
    ck_assert_int_eq(chmod(path, 0755) | chmod(next, 0755), 0);
    started("", "execve", path, "x");
    ck_assert_str_eq(said, "done\n");
    /* The script's interpreter is a script, and so on. */
    started("", "execvp", next, "x");
    ck_assert_str_eq(said, "done\n");
    ck_assert_int_eq(status, 3);
    free(next);
    free(path);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(a_text_that_the_shell_runs_is_judged_by_the_shell)
{
    char *folder = temp_dir_new(), *path = path_join(folder, "text");
    file_write_text(path, "echo \"${LD_PRELOAD:-none}\"; exit 3\n");
    ck_assert_int_eq(chmod(path, 0755), 0);
    ck_started("", "execvp", path, PRELOAD "\n");
    free(path);
    temp_dir_free(&folder);
}
END_TEST

/* As ldd does it, whose output programs read. */
START_TEST(a_list_of_libraries_does_not_name_the_tracer)
{
    run(SKEIN " run -q --socket /nonexistent/agent.sock --preload " PRELOAD
              " -- sh -c 'ldd /bin/ls; LD_TRACE_LOADED_OBJECTS=1 /bin/ls' 2>&1");
    ck_assert_ptr_nonnull(strstr(said, "libc.so.6"));
    ck_assert_ptr_null(strstr(said, "skein"));
}
END_TEST

START_TEST(a_start_that_fails_leaves_no_trace)
{
    started("", "fails", PLAIN, "x");
    ck_assert_str_eq(said, "2 2 13 14 14 14 14 14 14, 0 left open\n");
}
END_TEST

/* The look at a program opens it, and who closes a file gives up the locks that he has on it. */
START_TEST(record_locks_on_what_is_started_stay)
{
    started("", "locks", PLAIN, "x");
    ck_assert_str_eq(said, "done\ndone\n1 1\n");
    ck_assert_int_eq(status, 1); /* of the program that it has become */
}
END_TEST

START_TEST(a_long_path_fits_on_a_small_stack)
{
    linker_make();
    started("", "long_path", OTHER_LIBC, "x");
    ck_assert_str_eq(said, "done\n");
    ck_assert_int_eq(status, 3);
}
END_TEST

/* Also not by the capabilities that it loses by exec, as setpriv has them at that moment. */
START_TEST(a_user_who_cannot_read_the_tracer_hears_nothing_of_it)
{
    char command[8192];
    if (geteuid() != 0)
        return;
    char *folder = temp_dir_new();
    snprintf(command, sizeof command,
             "cp " PRELOAD " %s && chmod 700 %s && " SKEIN
             " run -q --socket /nonexistent/agent.sock --preload %s/libskein-preload.so -- sh -c '"
             "setpriv --reuid 65534 --clear-groups /bin/echo a; "
             "setpriv --reuid 65534 --regid 65534 --clear-groups sh -c \"/bin/echo b\"; "
             "/bin/echo c; perl -e \"\\$> = 65534; system q(/bin/echo d; :)\"' 2>&1",
             folder, folder, folder);
    run(command);
    temp_dir_free(&folder);
    ck_assert_str_eq(said, "a\nb\nc\nd\n");
}
END_TEST

/* Its own system(), popen() and wordexp(), too, whose shell the C library starts. */
START_TEST(a_program_in_a_root_without_the_tracer_hears_nothing_of_it)
{
    char command[8192];
    if (geteuid() != 0)
        return;
    char *folder = temp_dir_new();
    snprintf(command, sizeof command,
             "cd %s && for file in /bin/sh $(ldd /bin/sh | grep -o '/[^ ]*'); do mkdir -p "
             ".$(dirname $file) && cp -L $file .$file || exit 1; done; " SKEIN
             " run -q --socket /nonexistent/agent.sock --preload " PRELOAD
             " -- perl -e 'chroot q(.); chdir q(/); system q(echo a; :); print `echo b; :`; "
             "$| = 1; open F, q(echo c; :|); print <F>; close F; "
             "print exists $ENV{LD_PRELOAD} ? qq(kept\\n) : qq(lost\\n); "
             "exec q(echo d; :)' 2>&1; chroot . /bin/sh -c 'echo e'; " SKEIN
             " run -q --socket /nonexistent/agent.sock --preload " PRELOAD " -- " STARTS
             " words . x 2>&1; " SKEIN " run -q --socket /nonexistent/agent.sock --preload " PRELOAD
             " -- " STARTS " shells . x 2>&1",
             folder);
    run(command);
    temp_dir_free(&folder);
    ck_assert_str_eq(said, "a\nb\nc\nkept\nd\ne\nf x\nchild kept\ncancelled kept\nat once kept\n");
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "starts", a_normal_program_is_traced_in_whatever_way_it_starts,
        a_program_with_another_c_library_starts_without_the_tracer,
        a_program_with_an_address_sanitizer_starts_without_the_tracer,
        a_static_program_starts_without_the_tracer,
        a_static_program_hands_the_tracer_on_to_the_program_that_it_names,
        a_go_program_finds_no_entry_to_hand_on, an_address_sanitizer_that_allows_it_is_traced,
        preloads_of_the_user_stay_in_their_order, a_script_starts_as_its_interpreter_does,
        a_text_that_the_shell_runs_is_judged_by_the_shell,
        a_list_of_libraries_does_not_name_the_tracer, a_start_that_fails_leaves_no_trace,
        record_locks_on_what_is_started_stay, a_long_path_fits_on_a_small_stack,
        a_user_who_cannot_read_the_tracer_hears_nothing_of_it,
        a_program_in_a_root_without_the_tracer_hears_nothing_of_it, NULL));
}
