/* SPDX-License-Identifier: Apache-2.0
 *
 * What the program's file and its environment say, read by libskein-preload.so before main(). Keeps
 * nothing; no libc state.
 */
#ifndef PRELOAD_PROGRAM_H
#define PRELOAD_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether one of the ELF notes is Go's: its linker leaves one in every program. What is cut off or
 * longer than it says ends the search. */
bool notes_say_go(const uint8_t *notes, size_t bytes);

/* A decimal number up to `most`; `otherwise` where the text is NULL or anything else. */
uint64_t number_of_text(const char *text, uint64_t most, uint64_t otherwise);

#endif
