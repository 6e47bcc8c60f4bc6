/* SPDX-License-Identifier: Apache-2.0
 *
 * Words and numbers of the kernel's texts, for whoever reads them. Pure functions, bounded by the text's end; the text is taken to be hostile. Any thread.
 */
#ifndef PROC_TEXT_H
#define PROC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decimal number that fits in 64 bits, after blanks of the same line; the position moves behind
 * it. False: there is none, and nothing has changed. */
bool text_number(const char **at, uint64_t *value);

/* `count` numbers into values; false, and values may be half filled, where there are fewer. */
bool text_numbers(const char **at, uint64_t *values, size_t count);

/* Behind `count` words and the blanks before them; NULL where the line ends first. */
const char *text_words_skip(const char *at, unsigned count);

/* The whole text is the number of a process or thread, as names of folders are. */
bool text_id(const char *text, uint32_t *id);

/* /proc/PID/stat, or that of a thread, "42 (name) S 1 ...": the text from its third field on, or NULL;
 * the name, cut to its room, may hold blanks and parentheses itself. */
const char *text_stat(const char *text, char *name, size_t bytes);
/* A number in what that gave; fields are counted as proc(5) does. */
bool text_stat_number(const char *fields, unsigned field, uint64_t *value);

/* The text behind the beginning of a line, or NULL. */
const char *text_line_find(const char *text, const char *beginning);
const char *text_line_next(const char *text); /* NULL: there is none */

/* The number behind a key, "pgfault 12" or "Dirty:   12 kB"; the key is all of the line's first
 * word, a colon aside. False: not there. */
bool text_value(const char *text, const char *key, uint64_t *value);

/* The last number of the line that begins so: "NSpid: 4711 12 1". False: there is none. */
bool text_last_number(const char *text, const char *beginning, uint64_t *value);

/* /proc/net/snmp and netstat: a line of names and below it one of numbers, both beginning with
 * "Tcp:". False: not there. */
bool text_column(const char *text, const char *beginning, const char *name, uint64_t *value);

#endif
