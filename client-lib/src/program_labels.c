/* SPDX-License-Identifier: Apache-2.0
 * See program_labels.h. */
#include "program_labels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CUT_BYTES 24 /* ",labels_cut=" and a number */

/* The pair at *at, and behind it. False: there is none, but an empty place between two commas. */
static bool pair_next(const char **at, const char **pair, size_t *bytes, bool *sound)
{
    const char *end = *at, *equals = NULL;
    for (; *end != '\0' && *end != ','; end++)
        if (*end == '=' && equals == NULL)
            equals = end;
    *pair = *at;
    *bytes = (size_t)(end - *at);
    *sound = equals != NULL && equals != *at;
    *at = *end == ',' ? end + 1 : end;
    return *bytes > 0;
}

/* As far as they have room below `most`; returns how many have not, or are none. */
static unsigned pairs_put(const char *labels, char *out, size_t *used, size_t most)
{
    unsigned left_out = 0;
    const char *pair;
    size_t bytes;
    bool sound;
    for (const char *at = labels; at != NULL && *at != '\0';) {
        if (!pair_next(&at, &pair, &bytes, &sound))
            continue;
        size_t need = bytes + (*used > 0);
        if (!sound || need >= most - *used) {
            left_out += left_out < UINT16_MAX;
            continue;
        }
        if (*used > 0)
            out[(*used)++] = ',';
        memcpy(out + *used, pair, bytes);
        *used += bytes;
    }
    return left_out;
}

void labels_fit(const char *first, const char *labels, char out[LABELS_BYTES])
{
    size_t used = 0;
    unsigned left_out = pairs_put(first, out, &used, LABELS_BYTES);
    left_out += pairs_put(labels, out, &used, LABELS_BYTES);
    if (left_out > 0) { /* once more, with room to say so */
        used = 0;
        left_out = pairs_put(first, out, &used, LABELS_BYTES - CUT_BYTES);
        left_out += pairs_put(labels, out, &used, LABELS_BYTES - CUT_BYTES);
        used += (size_t)snprintf(out + used, CUT_BYTES, "%slabels_cut=%u", used > 0 ? "," : "",
                                 left_out);
    }
    out[used] = '\0';
}
