/* SPDX-License-Identifier: Apache-2.0
 *
 * Invariants of the daemons and the CLI, checked in every build, also with NDEBUG: where one is
 * broken the program says so in one log line, with file, line and the condition, and aborts. Agents
 * and collectors start again from what is on disk, as after any kill; with a state that cannot be
 * they might write it there. Any thread.
 *
 * Only of what this process alone has made. What others write (shared memory, messages, files, the
 * answers of the operating system) is an error to be returned, never a check. libskein and the
 * preload library live in other people's processes: they do not include this.
 */
#ifndef SKEIN_CHECK_H
#define SKEIN_CHECK_H

#define skein_check(cond)                                                                          \
    (__builtin_expect(!!(cond), 1) ? (void)0 : skein_check_failed(__FILE_NAME__, __LINE__, #cond))

_Noreturn void skein_check_failed(const char *file, int line, const char *condition);

#endif
