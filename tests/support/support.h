/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests share: folders that go away, free ports, child processes that never outlive the test,
 * and waiting with a deadline. Failures of the helpers themselves end the test through libcheck.
 * One test process, any thread.
 */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether a sanitizer watches: threads and memory cost many times as much there. */
#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* For what holds a million times: libcheck's assertions each look at the clock when they hold. */
#define must_hold(condition, ...)                                                                  \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg(__VA_ARGS__);                                                             \
    } while (0)

/* How long a test waits for an event before it fails: long enough for a loaded machine under a
 * sanitizer. SKEIN_TEST_DEADLINE_MS replaces it. */
unsigned support_deadline_ms(void);

/* Waits until condition(context) is true; false when deadline_ms have passed first (0: the default
 * above). Looks often at first, then less. */
bool wait_until(bool (*condition)(void *context), void *context, unsigned deadline_ms);

/* A new folder below $TMPDIR or /tmp, absolute. temp_dir_free removes it with all it holds. */
char *temp_dir_new(void);
void temp_dir_free(char **path);

/* "folder/name" in memory of the caller's, to be freed. */
char *path_join(const char *folder, const char *name);

/* A whole file, with a NUL after it; NULL when it cannot be read. Freed by the caller. */
char *file_read(const char *path, size_t *n);
void file_write(const char *path, const void *bytes, size_t n);
void file_write_text(const char *path, const char *text);

/* A tcp port of 127.0.0.1 that no other test gets until this process ends (port.h). */
uint16_t free_port(void);

/* Connects; -1 where nobody listens. tcp on 127.0.0.1, or a Unix stream socket. */
int tcp_connect(uint16_t port);
int unix_connect(const char *path);

/* A child process. It dies with the test (PR_SET_PDEATHSIG). argv ends with NULL; argv[0] is looked
 * up in PATH. */
struct spawn_options {
    const char *const *env; /* "NAME=value", NULL-terminated, added to the test's own; or NULL */
    const char *folder;     /* to run in; NULL: the test's */
    const char *out_file;   /* standard output and error go there; NULL: the test's own */
};
pid_t spawn(const char *const argv[], const struct spawn_options *options);

/* Its exit status (128 + signal where one killed it). Past the deadline (0: default) it is killed
 * and -1 returned. */
int spawn_wait(pid_t pid, unsigned deadline_ms);

/* Sends the signal, then waits as above. */
int spawn_stop(pid_t pid, int signal, unsigned deadline_ms);

/* Runs a suite (it is freed); the exit status of main(). */
int suite_run(Suite *suite);

/* A suite of one case: suite_of("wire", test_a, test_b, NULL). */
Suite *suite_of(const char *name, ...) __attribute__((sentinel));

#endif
