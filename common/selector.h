/* SPDX-License-Identifier: Apache-2.0
 *
 * Kubernetes-style label selectors: "service=checkout,zone in (a,b),!canary". Labels are text
 * "k=v,k2=v2" or looked up by a callback. A parsed selector is immutable; any thread may match.
 *
 *   k=v  k==v  k!=v (also when k is absent)  k in (a,b)  k notin (a,b)  k (present)  !k (absent)
 *   The empty selector matches everything. Keys: [A-Za-z0-9._/-]+; values the same, may be empty.
 */
#ifndef SELECTOR_H
#define SELECTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "skein/status.h"

struct selector;

/* Parses text into a new selector in *out. Returns SKEIN_OK; SKEIN_INVALID with a sentence that
 * says what and at which column in error (at most error_bytes); SKEIN_NO_MEMORY. On failure *out is
 * NULL. */
int selector_new(const char *text, struct selector **out, char *error, size_t error_bytes);
void selector_free(struct selector **selector);

/* `get` returns the value of a label or NULL where it is absent. */
typedef const char *selector_get_fn(void *context, const char *key);
bool selector_match(const struct selector *selector, selector_get_fn *get, void *context);

/* Whether what has this value of the key may match: all terms of that key hold. */
bool selector_allows(const struct selector *selector, const char *key, const char *value);

/* Whether it has no term, and matches everything; so does none (NULL). */
bool selector_is_all(const struct selector *selector);

/* The n-th term, from 0, that allows one value alone ("k=v", "k in (v)"): what matches has it.
 * False where there are not so many. */
bool selector_equality(const struct selector *selector, size_t n, const char **key,
                       const char **value);

/* Looks key up in "k=v,k2=v2" and copies its value (cut to out_bytes - 1); false where absent. */
bool labels_get(const char *labels, const char *key, char *out, size_t out_bytes);

/* Walks "k=v,k2=v2": one pair a call, from *at, which moves behind it; what is no pair is passed
 * over. False at the end. Neither text ends with a NUL. */
bool labels_next(const char **at, const char **key, size_t *key_bytes, const char **value,
                 size_t *value_bytes);

/* Whether text is "k=v,k2=v2" with valid keys and values. */
bool labels_valid(const char *labels);

/* Makes it so, in place: what no key or value may hold becomes '_', and what is no pair, or has no key,
 * goes. */
void labels_clean(char *labels);

#endif
