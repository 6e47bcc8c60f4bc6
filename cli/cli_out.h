/* SPDX-License-Identifier: Apache-2.0
 *
 * What `skein` prints: messages, colours, tables. Text from traces and collectors is hostile: it
 * reaches a terminal through text_shown.h alone. One thread.
 */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "buf.h"
#include "text_shown.h"

/* "skein: " and a sentence that says what, where, and what to do, to standard error. */
void say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

enum colour { COLOUR_PLAIN, COLOUR_BOLD, COLOUR_DIM, COLOUR_RED, COLOUR_GREEN, COLOUR_YELLOW };

/* Escape sequences for a terminal, "" elsewhere and where NO_COLOR is set. */
const char *colour_on(FILE *out, enum colour colour);
const char *colour_off(FILE *out);

/* Prints a text of somebody else's to standard output, so. */
void safe_print(const char *text);

/* A buffer as text; "" after it ran out of memory. */
const char *text_of(struct buf *b);

/* Writes a buffer's bytes to standard output; false after a failure, which has been told. */
bool out_write(const struct buf *b);

/* Columns of the terminal that standard output is ($COLUMNS, or as the terminal says); 0: it is
 * none, or nobody knows. */
size_t out_columns(void);

/* Flushes standard output; CLI_OK, or CLI_FAILED after telling why (a full disk, say). */
int out_close(void);

/* "1.5 ms", "16.0 MiB" */
void text_put_duration(struct buf *out, uint64_t ns);
void text_put_bytes(struct buf *out, uint64_t bytes);

enum table_kind {
    TABLE_TEXT,
    TABLE_STATUS, /* text, coloured by what it says */
    TABLE_NUMBER,
    TABLE_BYTES,
    TABLE_MS, /* a duration */
    TABLE_NS,
    TABLE_AGO,    /* milliseconds: "3 s ago" */
    TABLE_LABELS, /* an object: k=v,k2=v2 */
    TABLE_TIME,   /* a text that is never cut */
    TABLE_ID,     /* hex digits: the first few tell things apart */
    TABLE_SPARE =
        16 /* or this to a kind: the last of these goes first where a terminal is narrow */
};
struct table_column {
    const char *title, *path; /* "verdict.text": member of a member; a space joins several paths */
    int kind;                 /* enum table_kind */
};
#define TABLE_COLUMNS_MAX 20

/* Prints an array of objects: the array itself as JSON, or the columns aligned (title NULL ends
 * them). `empty` is what a table without rows says. On a terminal the lines fit: ids are shortened
 * to what tells them apart, spare columns left out and named, long texts cut ("…"); elsewhere all
 * is whole. An object's text TABLE_BELOW, whole lines, stands below its line as it is: it must be
 * safe already. CLI_OK or CLI_FAILED. */
#define TABLE_BELOW "_below"
int table_print(const cJSON *items, bool json, const struct table_column *columns,
                const char *empty);

/* Prints an object's members, a line each: title and value; those that are not there are left out.
 * CLI_OK or CLI_FAILED. */
int fields_print(const cJSON *object, const struct table_column *fields);

/* Prints any JSON, indented, with a newline. CLI_OK or CLI_FAILED. */
int json_show(const cJSON *json);

/* A member by path, or NULL. */
const cJSON *json_at(const cJSON *object, const char *path);
const char *json_text_at(const cJSON *object, const char *path); /* "" where it is no text */
uint64_t json_u64_at(const cJSON *object,
                     const char *path); /* 0 where it is no number; reads digits in a string */

#endif
