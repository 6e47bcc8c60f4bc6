/* SPDX-License-Identifier: Apache-2.0
 *
 * TSDL's words: names, numbers, texts, signs; comments are none.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "import_tsdl_int.h"

void tsdl_fail(struct tsdl_reader *r, int status, const char *what)
{
    if (r->status == SKEIN_OK)
        snprintf(r->error, r->error_bytes, "its metadata, line %u: %s", r->line, what);
    r->status = r->status == SKEIN_OK ? status : r->status;
    r->word = (struct word){.kind = WORD_END};
}

static char peek(const struct tsdl_reader *r, size_t ahead)
{
    return ahead < (size_t)(r->end - r->at) ? r->at[ahead] : '\0';
}

static void char_step(struct tsdl_reader *r)
{
    r->line += *r->at == '\n';
    r->at++;
}

/* false: a comment does not end. */
static bool blanks_skip(struct tsdl_reader *r)
{
    for (;;) {
        if (r->at < r->end && isspace((unsigned char)*r->at)) {
            char_step(r);
        } else if (peek(r, 0) == '/' && peek(r, 1) == '/') {
            while (r->at < r->end && *r->at != '\n')
                char_step(r);
        } else if (peek(r, 0) == '/' && peek(r, 1) == '*') {
            for (r->at += 2; !(peek(r, 0) == '*' && peek(r, 1) == '/'); char_step(r))
                if (r->at >= r->end)
                    return false;
            r->at += 2;
        } else {
            return true;
        }
    }
}

static void char_put(struct tsdl_reader *r, size_t *n, char c)
{
    if (*n == TSDL_TEXT_MAX) {
        tsdl_fail(r, SKEIN_UNSUPPORTED, "a word has more than 1024 characters");
        return;
    }
    r->word.text[(*n)++] = c;
    r->word.text[*n] = '\0';
}

static void text_read(struct tsdl_reader *r)
{
    size_t n = 0;
    char quote = *r->at;
    char_step(r);
    while (r->status == SKEIN_OK && peek(r, 0) != quote) {
        if (r->at == r->end) {
            tsdl_fail(r, SKEIN_CORRUPT, "a text does not end");
            return;
        }
        if (*r->at == '\\' && r->end - r->at > 1)
            char_step(r);
        char_put(r, &n, *r->at);
        char_step(r);
    }
    if (r->status == SKEIN_OK)
        char_step(r);
    r->word.kind = WORD_TEXT;
}

static unsigned digit_of(char c)
{
    return c >= '0' && c <= '9'         ? (unsigned)(c - '0')
           : isxdigit((unsigned char)c) ? (unsigned)(tolower((unsigned char)c) - 'a' + 10)
                                        : 99;
}

static void number_read(struct tsdl_reader *r)
{
    unsigned base = 10;
    r->word.kind = WORD_NUMBER;
    r->word.negative = *r->at == '-';
    if (*r->at == '-' || *r->at == '+')
        char_step(r);
    if (peek(r, 0) == '0' && (peek(r, 1) == 'x' || peek(r, 1) == 'X')) {
        base = 16;
        r->at += 2;
    } else if (peek(r, 0) == '0' && digit_of(peek(r, 1)) < 8) {
        base = 8;
    }
    for (; digit_of(peek(r, 0)) < base; char_step(r)) {
        unsigned digit = digit_of(*r->at);
        if (r->word.number > (UINT64_MAX - digit) / base)
            tsdl_fail(r, SKEIN_CORRUPT, "a number has more than 64 bits");
        r->word.number = r->word.number * base + digit;
    }
    while (strchr("uUlL", peek(r, 0)) != NULL && peek(r, 0) != '\0')
        char_step(r);
    if (r->word.negative)
        r->word.number = 0 - r->word.number;
}

static void sign_read(struct tsdl_reader *r)
{
    size_t n = 0;
    r->word.kind = WORD_SIGN;
    unsigned length = peek(r, 0) == ':' && peek(r, 1) == '='                        ? 2
                      : peek(r, 0) == '.' && peek(r, 1) == '.' && peek(r, 2) == '.' ? 3
                                                                                    : 1;
    for (unsigned i = 0; i < length; i++) {
        char_put(r, &n, *r->at);
        char_step(r);
    }
}

void tsdl_next(struct tsdl_reader *r)
{
    size_t n = 0;
    r->word.kind = WORD_END;
    r->word.text[0] = '\0';
    r->word.number = 0;
    r->word.negative = false;
    if (r->status != SKEIN_OK)
        return;
    if (!blanks_skip(r)) {
        tsdl_fail(r, SKEIN_CORRUPT, "a comment does not end");
        return;
    }
    char c = peek(r, 0);
    if (r->at >= r->end)
        return;
    if (isalpha((unsigned char)c) || c == '_') {
        r->word.kind = WORD_NAME;
        for (; r->status == SKEIN_OK && (isalnum((unsigned char)peek(r, 0)) || peek(r, 0) == '_');
             char_step(r))
            char_put(r, &n, *r->at);
    } else if (isdigit((unsigned char)c) ||
               ((c == '-' || c == '+') && isdigit((unsigned char)peek(r, 1)))) {
        number_read(r);
    } else if (c == '"' || c == '\'') {
        text_read(r);
    } else {
        sign_read(r);
    }
}

bool tsdl_is(const struct tsdl_reader *r, const char *word)
{
    return (r->word.kind == WORD_NAME || r->word.kind == WORD_SIGN) &&
           strcmp(r->word.text, word) == 0;
}

bool tsdl_take(struct tsdl_reader *r, const char *word)
{
    if (!tsdl_is(r, word))
        return false;
    tsdl_next(r);
    return true;
}

void tsdl_must(struct tsdl_reader *r, const char *word)
{
    char what[64];
    if (tsdl_take(r, word))
        return;
    snprintf(what, sizeof what, "there must be a \"%s\"", word);
    tsdl_fail(r, SKEIN_CORRUPT, what);
}

uint32_t tsdl_keep(struct tsdl_reader *r, const char *text)
{
    size_t at = r->out->texts.len;
    if (at > UINT32_MAX / 2) {
        tsdl_fail(r, SKEIN_UNSUPPORTED, "it is too large");
        return TSDL_NONE;
    }
    buf_put(&r->out->texts, text, strlen(text) + 1);
    if (r->out->texts.status == SKEIN_OK)
        return (uint32_t)at;
    tsdl_fail(r, SKEIN_NO_MEMORY, "out of memory");
    return TSDL_NONE;
}

void tsdl_skip_block(struct tsdl_reader *r)
{
    for (unsigned open = 1; open > 0 && r->status == SKEIN_OK; tsdl_next(r)) {
        open += tsdl_is(r, "{");
        open -= tsdl_is(r, "}");
        if (r->word.kind == WORD_END)
            tsdl_fail(r, SKEIN_CORRUPT, "a block does not end");
    }
}
