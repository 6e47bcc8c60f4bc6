/* SPDX-License-Identifier: Apache-2.0
 *
 * What the program's file and its environment say, read by libskein-preload.so before main(). Keeps
 * nothing, and calls nothing: in a process of a millisecond, to find a function of libc and the
 * page that it lies in takes longer than what it does.
 */
#ifndef PRELOAD_PROGRAM_H
#define PRELOAD_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The variables' values, as they lie in the environment; NULL: not there. Of two with the same name
 * the first one counts, as for getenv(). */
struct environment {
    const char *service, *labels, *socket; /* SKEIN_SERVICE, ... */
    const char *check;                     /* SKEIN_CHECK: the agent's own, not to be recorded */
    const char *io_threshold_us, *attach_ms, *service_pid;
    const char *systemd_pid; /* SYSTEMD_EXEC_PID */
};
void environment_read(char *const *lines, struct environment *out);

/* Whether one of the ELF notes is Go's: its linker leaves one in every program. What is cut off or
 * longer than it says ends the search. */
bool notes_say_go(const uint8_t *notes, size_t bytes);

/* A decimal number up to `most`; `otherwise` where the text is NULL or anything else. */
uint64_t number_of_text(const char *text, uint64_t most, uint64_t otherwise);

#endif
