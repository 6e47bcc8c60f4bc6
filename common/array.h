/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays that grow, and places in sorted ones. No state; any thread. The array, its count and its
 * room are the caller's.
 */
#ifndef ARRAY_H
#define ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Room for `need` elements in `array`, a pointer that is NULL while *cap is 0: it doubles until it
 * suffices. New room is not initialised. false: no memory, and nothing has changed.
 *
 *   if (!array_grow(list->items, list->count + 1, &list->cap))
 *       return SKEIN_NO_MEMORY;
 *   list->items[list->count++] = item;
 */
#define array_grow(array, need, cap)                                                               \
    array_has_room(&(array), (array) != NULL, sizeof *(array), need, cap)

/* The same, and new room is all zeros. Such an array grows by this alone. */
#define array_grow_zero(array, need, cap)                                                          \
    array_has_zero_room(&(array), (array) != NULL, sizeof *(array), need, cap)

/* `at` (a size_t) becomes the first index from `from` to `to` for which `before`, an expression of
 * `at`, is false; `to`, where there is none. `before` must be true of all in front of that one, and
 * of none behind.
 *
 *   array_find(at, 0, list->count, list->items[at].number < number);
 */
#define array_find(at, from, to, before)                                                           \
    do {                                                                                           \
        size_t low_ = (from), high_ = (to);                                                        \
        while (low_ < high_) {                                                                     \
            (at) = low_ + (high_ - low_) / 2;                                                      \
            if (before)                                                                            \
                low_ = (at) + 1;                                                                   \
            else                                                                                   \
                high_ = (at);                                                                      \
        }                                                                                          \
        (at) = low_;                                                                               \
    } while (0)

/* The halves of array_grow and array_grow_zero: `array` is the address of a pointer to elements of
 * `size` bytes. */
bool array_double(void *array, size_t size, size_t need, size_t *cap);
bool array_double_zero(void *array, size_t size, size_t need, size_t *cap);
static inline bool array_has_room(void *array, bool there, size_t size, size_t need, size_t *cap)
{
    return (there && need <= *cap) || array_double(array, size, need, cap);
}
static inline bool array_has_zero_room(void *array, bool there, size_t size, size_t need,
                                       size_t *cap)
{
    return (there && need <= *cap) || array_double_zero(array, size, need, cap);
}

#endif
