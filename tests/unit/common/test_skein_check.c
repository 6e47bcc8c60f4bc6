/* SPDX-License-Identifier: Apache-2.0
 * A check that does not hold says where, in one line, and aborts, whatever the build. */
#ifndef NDEBUG
#define NDEBUG /* as in release builds: it is on all the same */
#endif
#include "skein_check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"
#include "support.h"

START_TEST(what_holds_costs_its_condition_alone)
{
    int looked = 0;
    skein_check(++looked == 1);
    ck_assert_int_eq(looked, 1);
}
END_TEST

START_TEST(what_does_not_hold_aborts)
{
    int entries = 3;
    skein_check(entries < 3);
}
END_TEST

/* Standard error of a child whose check fails at line *line. */
static char *last_words(int *line, int *status)
{
    int ends[2];
    char *text = calloc(1, 4096);
    ck_assert_int_eq(pipe(ends), 0);
    *line = __LINE__ + 4; /* of the check below */
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        skein_check(1 + 1 == 3 && "sum");
    }
    close(ends[1]);
    for (size_t n = 0; n < 4095;) {
        ssize_t got = read(ends[0], text + n, 4095 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, status, 0), child);
    return text;
}

START_TEST(its_line_says_file_line_and_condition)
{
    char where[64];
    int line, status;
    log_configure(LOG_LEVEL_ERROR, false);
    char *text = last_words(&line, &status);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    snprintf(where, sizeof where, "file=test_skein_check.c line=%d ", line);
    ck_assert_ptr_nonnull(strstr(text, where));
    ck_assert_ptr_nonnull(strstr(text, "condition=\"1 + 1 == 3 && \\\"sum\\\"\""));
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    free(text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("skein_check");
    TCase *tc = tcase_create("skein_check");
    tcase_add_test(tc, what_holds_costs_its_condition_alone);
    tcase_add_test_raise_signal(tc, what_does_not_hold_aborts, SIGABRT);
    tcase_add_test(tc, its_line_says_file_line_and_condition);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
