/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the descriptions of waits. They are zero until the process is about to be recorded: one of a
 * millisecond pays for no page of them, and no pointer in them has to be relocated.
 */
#include "preload_wait.h"

struct skein_site sites[SITE_COUNT];

static void site_fill(enum site site, const char *name, const char *text, uint8_t group,
                      struct skein_arg_desc first, uint8_t arguments)
{
    sites[site] = (struct skein_site){
        .name = name,
        .text = text,
        .file = "",
        .klass = SKEIN_CLASS_SPAN,
        .group = group,
        .nargs = arguments,
        .args = {first, {SKEIN_T_I64, "result", "errno"}, {SKEIN_T_STR, "name", ""}},
    };
}

void sites_fill(void)
{
#define X(event, event_group, arg, arg_unit, count, words)                                         \
    site_fill(SITE_##event, #event, words, SKEIN_GROUP_##event_group,                              \
              (struct skein_arg_desc){SKEIN_T_I64, arg, arg_unit}, count);
    SITE_LIST(X)
#undef X
}

uint8_t site_group(enum site site)
{
    static const uint8_t groups[SITE_COUNT] = {
#define X(event, group, arg, unit, count, words) [SITE_##event] = SKEIN_GROUP_##group,
        SITE_LIST(X)
#undef X
    };
    return groups[site];
}
