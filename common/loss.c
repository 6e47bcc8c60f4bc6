/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of loss reasons; see loss.h. Pure functions; any thread.
 */
#include "loss.h"

#include <string.h>

static const struct {
    const char *text;
    enum loss_place place;
} reasons[LOSS_REASONS] = {
#define X(name, place, text) {text, LOSS_PLACE_##place},
    LOSS_REASON_LIST(X)
#undef X
};

const char *loss_place_text(enum loss_place place)
{
    static const char *const texts[] = {
#define X(name, text) text,
        LOSS_PLACE_LIST(X)
#undef X
    };
    return texts[place];
}

const char *loss_text(enum loss_reason reason)
{
    return reasons[reason].text;
}

enum loss_place loss_place(enum loss_reason reason)
{
    return reasons[reason].place;
}

enum loss_reason loss_parse(const char *text)
{
    for (int i = 0; i < LOSS_REASONS; i++)
        if (strcmp(reasons[i].text, text) == 0)
            return (enum loss_reason)i;
    return LOSS_UNKNOWN;
}
