/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the grammar of selectors and of "k=v,k2=v2" labels. A selector is built by one thread and
 * never changes afterwards; any thread may match. Pure over its input: no locks, never prints.
 *
 *   selector = [ term *( "," term ) ]
 *   term     = "!" key | key | key ("=" | "==" | "!=") value | key ("in" | "notin") "(" values ")"
 *   values   = value *( "," value )         blanks may stand between any two tokens
 */
#include "selector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 16 << 10 }; /* a selector; longer ones are refused, with that reason */

enum term_kind { TERM_PRESENT, TERM_ABSENT, TERM_IN, TERM_NOT_IN };

struct term {
    enum term_kind kind;
    const char *key;
    const char **values; /* in selector.values */
    size_t count;
};

struct selector {
    struct term *terms;
    const char **values;
    char *words; /* every key and value, each with its NUL */
    size_t count;
};

/* The parse: where in the text we are, and how much of the selector's memory is used. */
struct parse {
    const char *text, *at;
    struct selector *selector;
    size_t words_len, values_len;
    const char *wrong; /* first failure, at `at` */
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '/' || c == '-';
}

static size_t word_length(const char *p)
{
    size_t n = 0;
    while (is_word(p[n]))
        n++;
    return n;
}

static void blanks_skip(struct parse *p)
{
    while (*p->at == ' ' || *p->at == '\t')
        p->at++;
}

/* Consumes `token` after blanks; false and only the blanks consumed where it is not there. */
static bool text_take(struct parse *p, const char *token)
{
    size_t n = strlen(token);
    blanks_skip(p);
    if (strncmp(p->at, token, n) != 0)
        return false;
    p->at += n;
    return true;
}

/* The same for a word, which must end there: "in" is not the beginning of "inner". */
static bool word_take(struct parse *p, const char *word)
{
    blanks_skip(p);
    size_t n = word_length(p->at);
    if (n != strlen(word) || strncmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    return true;
}

/* A key or value, copied to the selector's words; may be empty. */
static const char *selector_text_take(struct parse *p)
{
    blanks_skip(p);
    size_t n = word_length(p->at);
    char *to = p->selector->words + p->words_len;
    memcpy(to, p->at, n);
    to[n] = '\0';
    p->words_len += n + 1;
    p->at += n;
    return to;
}

static void value_take(struct parse *p, struct term *term)
{
    p->selector->values[p->values_len++] = selector_text_take(p);
    term->count++;
}

static void list_take(struct parse *p, struct term *term)
{
    if (!text_take(p, "(")) {
        p->wrong = "expected (";
        return;
    }
    do {
        value_take(p, term);
    } while (text_take(p, ","));
    if (!text_take(p, ")"))
        p->wrong = "expected , or )";
}

static void term_take(struct parse *p, struct term *term)
{
    bool absent = text_take(p, "!");
    blanks_skip(p);
    if (!is_word(*p->at)) {
        p->wrong = "expected a label's name";
        return;
    }
    term->key = selector_text_take(p);
    term->values = p->selector->values + p->values_len;
    term->kind = absent ? TERM_ABSENT : TERM_PRESENT;
    if (absent)
        return;
    if (text_take(p, "==") || text_take(p, "=")) {
        term->kind = TERM_IN;
        value_take(p, term);
    } else if (text_take(p, "!=")) {
        term->kind = TERM_NOT_IN;
        value_take(p, term);
    } else if (word_take(p, "in")) {
        term->kind = TERM_IN;
        list_take(p, term);
    } else if (word_take(p, "notin")) {
        term->kind = TERM_NOT_IN;
        list_take(p, term);
    }
}

static void selector_take(struct parse *p)
{
    blanks_skip(p);
    if (!*p->at)
        return;
    do {
        term_take(p, &p->selector->terms[p->selector->count++]);
    } while (p->wrong == NULL && text_take(p, ","));
    blanks_skip(p);
    if (p->wrong == NULL && *p->at)
        p->wrong = "expected , or the end";
}

/* Memory for the most that text can hold. Each value follows one of "=(,"; each word is followed by
 * a mark, a blank or the end, except that "k=" and "(," hold one empty word each, which the mark
 * before it pays for. */
static struct selector *selector_alloc(const char *text, size_t n)
{
    size_t marks = 1;
    for (const char *c = text; *c; c++)
        marks += *c == ',' || *c == '=' || *c == '(';
    struct selector *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->terms = calloc(marks, sizeof *s->terms);
    s->values = calloc(marks, sizeof *s->values);
    s->words = malloc(n + marks + 1);
    if (s->terms == NULL || s->values == NULL || s->words == NULL)
        selector_free(&s);
    return s;
}

int selector_new(const char *text, struct selector **out, char *error, size_t error_bytes)
{
    *out = NULL;
    size_t n = strlen(text);
    if (n > TEXT_MAX) {
        snprintf(error, error_bytes, "selector: longer than %d characters", TEXT_MAX);
        return SKEIN_INVALID;
    }
    struct parse p = {.text = text, .at = text, .selector = selector_alloc(text, n)};
    if (p.selector == NULL) {
        snprintf(error, error_bytes, "selector: out of memory");
        return SKEIN_NO_MEMORY;
    }
    selector_take(&p);
    if (p.wrong != NULL) {
        snprintf(error, error_bytes, "selector: column %zu: %s", (size_t)(p.at - text) + 1,
                 p.wrong);
        selector_free(&p.selector);
        return SKEIN_INVALID;
    }
    *out = p.selector;
    return SKEIN_OK;
}

void selector_free(struct selector **selector)
{
    struct selector *s = *selector;
    if (s == NULL)
        return;
    free(s->terms);
    free(s->values);
    free(s->words);
    free(s);
    *selector = NULL;
}

static bool is_among(const struct term *term, const char *value)
{
    for (size_t i = 0; i < term->count; i++)
        if (strcmp(term->values[i], value) == 0)
            return true;
    return false;
}

static bool term_match(const struct term *term, const char *value)
{
    switch (term->kind) {
    case TERM_PRESENT:
        return value != NULL;
    case TERM_ABSENT:
        return value == NULL;
    case TERM_IN:
        return value != NULL && is_among(term, value);
    case TERM_NOT_IN:
        return value == NULL || !is_among(term, value);
    }
    return false;
}

bool selector_match(const struct selector *selector, selector_get_fn *get, void *context)
{
    for (size_t i = 0; i < selector->count; i++)
        if (!term_match(&selector->terms[i], get(context, selector->terms[i].key)))
            return false;
    return true;
}

bool selector_allows(const struct selector *selector, const char *key, const char *value)
{
    for (size_t i = 0; i < selector->count; i++)
        if (strcmp(selector->terms[i].key, key) == 0 && !term_match(&selector->terms[i], value))
            return false;
    return true;
}

bool selector_is_all(const struct selector *selector)
{
    return selector == NULL || selector->count == 0;
}

bool selector_equality(const struct selector *selector, size_t n, const char **key,
                       const char **value)
{
    for (size_t i = 0; i < selector->count; i++) {
        const struct term *term = &selector->terms[i];
        if (term->kind != TERM_IN || term->count != 1 || n-- > 0)
            continue;
        *key = term->key;
        *value = term->values[0];
        return true;
    }
    return false;
}

bool labels_next(const char **at, const char **key, size_t *key_bytes, const char **value,
                 size_t *value_bytes)
{
    while (**at) {
        const char *pair = *at;
        size_t n = strcspn(pair, ",");
        const char *mark = memchr(pair, '=', n);
        *at += n + (pair[n] == ',');
        if (mark == NULL)
            continue;
        *key = pair;
        *key_bytes = (size_t)(mark - pair);
        *value = mark + 1;
        *value_bytes = n - *key_bytes - 1;
        return true;
    }
    return false;
}

bool labels_get(const char *labels, const char *key, char *out, size_t out_bytes)
{
    const char *name, *value;
    size_t name_bytes, n, key_bytes = strlen(key);
    while (labels_next(&labels, &name, &name_bytes, &value, &n)) {
        if (name_bytes != key_bytes || memcmp(name, key, key_bytes) != 0)
            continue;
        if (out_bytes > 0) {
            n = n < out_bytes ? n : out_bytes - 1;
            memcpy(out, value, n);
            out[n] = '\0';
        }
        return true;
    }
    return false;
}

bool labels_valid(const char *labels)
{
    if (!*labels)
        return true;
    for (const char *p = labels;; p++) {
        size_t key = word_length(p);
        if (key == 0 || p[key] != '=')
            return false;
        p += key + 1;
        p += word_length(p);
        if (!*p)
            return true;
        if (*p != ',')
            return false;
    }
}

static char *word_clean(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *to++ = is_word(from[i]) ? from[i] : '_';
    return to;
}

void labels_clean(char *labels)
{
    const char *at = labels, *key, *value;
    size_t key_bytes, value_bytes;
    char *to = labels; /* never beyond what has been read: a pair takes no more room than it had */
    while (labels_next(&at, &key, &key_bytes, &value, &value_bytes)) {
        if (key_bytes == 0)
            continue;
        if (to > labels)
            *to++ = ',';
        to = word_clean(to, key, key_bytes);
        *to++ = '=';
        to = word_clean(to, value, value_bytes);
    }
    *to = '\0';
}
