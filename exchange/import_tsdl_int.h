/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the reader of TSDL: import_tsdl_words.c (words), import_tsdl_types.c (types),
 * import_tsdl.c (blocks). For these alone.
 */
#ifndef IMPORT_TSDL_INT_H
#define IMPORT_TSDL_INT_H

#include "import_tsdl.h"

enum word_kind { WORD_END, WORD_NAME, WORD_NUMBER, WORD_TEXT, WORD_SIGN };

struct word {
    enum word_kind kind;
    char text[TSDL_TEXT_MAX + 1]; /* of a sign: ":=", "..." or one character */
    uint64_t number;
    bool negative;
};

/* A name of a type: "struct X", "enum X", "variant X", or an alias's words with blanks between. */
struct tsdl_name {
    uint32_t text, type;
};

struct tsdl_reader {
    const char *at, *end;
    unsigned line;
    struct word word; /* the next one */
    struct tsdl *out;
    struct tsdl_name *names; /* those in scope */
    size_t name_count, name_cap;
    unsigned depth;
    int status;
    char *error;
    size_t error_bytes;
};

/* All stop at the first failure, and then do nothing. */
void tsdl_fail(struct tsdl_reader *r, int status, const char *what);
void tsdl_next(struct tsdl_reader *r);
bool tsdl_is(const struct tsdl_reader *r, const char *word); /* a name or a sign */
bool tsdl_take(struct tsdl_reader *r, const char *word);
void tsdl_must(struct tsdl_reader *r, const char *word);
uint32_t tsdl_keep(struct tsdl_reader *r, const char *text);
/* Up to and with the block's closing brace, whose opening one was taken. */
void tsdl_skip_block(struct tsdl_reader *r);

/* The clock's place, also of one that is described later; after a failure any. */
size_t tsdl_clock_find(struct tsdl_reader *r, const char *name);

/* A type where one is written; TSDL_NONE after a failure. */
uint32_t tsdl_type_read(struct tsdl_reader *r);
/* "name[4]", "name[len]": the type that the name has; `name` is kept. */
uint32_t tsdl_declarator_read(struct tsdl_reader *r, uint32_t type, uint32_t *name);
void tsdl_name_add(struct tsdl_reader *r, const char *text, uint32_t type);
/* A typealias or typedef; false: none comes, and nothing was read. */
bool tsdl_alias_read(struct tsdl_reader *r);

#endif
