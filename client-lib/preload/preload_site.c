/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the descriptions of waits. They are zero until the process is about to be recorded: one of a
 * millisecond pays for no page of them, and no pointer in them has to be relocated.
 */
#include "preload_wait.h"

struct skein_site sites[SITE_COUNT];

/* Arguments 1 to 3. Returns how many arguments the event has. */
static uint8_t arguments_fill(struct skein_arg_desc *args, enum site_arguments arguments)
{
    uint8_t count = 1;
    if (arguments == SITE_ARGUMENTS_ASSERTION) {
        args[count++] = (struct skein_arg_desc){SKEIN_T_STR, "assertion", ""};
        args[count++] = (struct skein_arg_desc){SKEIN_T_STR, "in", ""};
    }
    if (arguments <= SITE_ARGUMENTS_ASSERTION)
        return count;
    args[count++] = (struct skein_arg_desc){SKEIN_T_I64, "result", "errno"};
    switch (arguments) {
    case SITE_ARGUMENTS_NAME:
    case SITE_ARGUMENTS_NAMES:
    case SITE_ARGUMENTS_HOST:
        args[count++] = (struct skein_arg_desc){SKEIN_T_STR, "name", ""};
        if (arguments == SITE_ARGUMENTS_NAMES)
            args[count++] = (struct skein_arg_desc){SKEIN_T_STR, "to", ""};
        if (arguments == SITE_ARGUMENTS_HOST)
            args[count++] = (struct skein_arg_desc){SKEIN_T_STR, "address", ""};
        break;
    case SITE_ARGUMENTS_PEER:
        args[count++] = (struct skein_arg_desc){SKEIN_T_STR, "peer", ""};
        break;
    case SITE_ARGUMENTS_FD:
        args[count++] = (struct skein_arg_desc){SKEIN_T_I64, "fd", ""};
        break;
    case SITE_ARGUMENTS_OWNER:
        args[count++] = (struct skein_arg_desc){SKEIN_T_I64, "owner", "tid"};
        break;
    case SITE_ARGUMENTS_MUTEX:
        args[count++] = (struct skein_arg_desc){SKEIN_T_I64, "mutex", "address"};
        break;
    case SITE_ARGUMENTS_TID:
        args[count++] = (struct skein_arg_desc){SKEIN_T_I64, "joined", "tid"};
        break;
    case SITE_ARGUMENTS_ENDED:
        args[count++] = (struct skein_arg_desc){SKEIN_T_I64, "status", ""};
        args[count++] = (struct skein_arg_desc){SKEIN_T_I64, "signal", ""};
        break;
    default:
        break;
    }
    return count;
}

static void site_fill(enum site site, const char *name, const char *text, uint8_t group,
                      struct skein_arg_desc first, enum site_arguments arguments)
{
    sites[site] = (struct skein_site){
        .name = name,
        .text = text,
        .file = "",
        .klass = arguments == SITE_ARGUMENTS_INSTANT || arguments == SITE_ARGUMENTS_ASSERTION
                     ? SKEIN_CLASS_INSTANT
                     : SKEIN_CLASS_SPAN,
        .group = group,
        .args = {first},
    };
    sites[site].nargs = arguments_fill(sites[site].args, arguments);
}

void sites_fill(void)
{
#define X(event, event_group, arg, arg_unit, arguments, words)                                     \
    site_fill(SITE_##event, #event, words, SKEIN_GROUP_##event_group,                              \
              (struct skein_arg_desc){SKEIN_T_I64, arg, arg_unit}, SITE_ARGUMENTS_##arguments);
    SITE_LIST(X)
#undef X
}

int64_t site_unknown(const struct skein_site *site)
{
    static const uint8_t kinds[SITE_COUNT] = {
#define X(event, group, arg, unit, arguments, words) [SITE_##event] = SITE_ARGUMENTS_##arguments,
        SITE_LIST(X)
#undef X
    };
    switch ((enum site_arguments)kinds[site - sites]) {
    case SITE_ARGUMENTS_FD:
    case SITE_ARGUMENTS_TID:
    case SITE_ARGUMENTS_ENDED:
        return -1;
    default:
        return 0;
    }
}

uint8_t site_group(enum site site)
{
    static const uint8_t groups[SITE_COUNT] = {
#define X(event, group, arg, unit, arguments, words) [SITE_##event] = SKEIN_GROUP_##group,
        SITE_LIST(X)
#undef X
    };
    return groups[site];
}
