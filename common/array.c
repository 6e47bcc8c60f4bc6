/* SPDX-License-Identifier: Apache-2.0
 *
 * Doubles arrays; see array.h. No state; any thread.
 */
#include "array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 4

bool array_double(void *array, size_t size, size_t need, size_t *cap)
{
    size_t room = *cap > 0 ? *cap : FIRST_CAP;
    void *old, *larger;
    while (room < need && room <= SIZE_MAX / 2)
        room *= 2;
    if (room < need || room > SIZE_MAX / size)
        return false;
    memcpy(&old, array, sizeof old); /* whatever its elements are: no pointer is cast */
    larger = realloc(old, room * size);
    if (larger == NULL)
        return false;
    memcpy(array, &larger, sizeof larger);
    *cap = room;
    return true;
}

bool array_double_zero(void *array, size_t size, size_t need, size_t *cap)
{
    size_t had = *cap;
    char *larger;
    if (!array_double(array, size, need, cap))
        return false;
    memcpy(&larger, array, sizeof larger);
    memset(larger + had * size, 0, (*cap - had) * size);
    return true;
}
