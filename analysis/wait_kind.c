/* SPDX-License-Identifier: Apache-2.0
 * See wait_kind.h. */
#include "wait_kind.h"

#include <string.h>

#include "skein/skein.h"

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

struct wait_kind wait_kind_of(const char *name, uint8_t group)
{
    static const char *const anything[] = {"poll",    "select",     "epoll_wait", "accept",
                                           "sigwait", "wait_child", NULL};
    static const char *const replies[] = {"recv", "read", "message", "io_getevents", NULL};
    struct wait_kind kind = {.wait = group >= SKEIN_GROUP_NET && group <= SKEIN_GROUP_SLEEP};
    kind.for_anything = kind.wait && is_one_of(name, anything);
    kind.for_lock = kind.wait && strstr(name, "lock") != NULL;
    kind.own_time = group == SKEIN_GROUP_SLEEP || (group == SKEIN_GROUP_LOCK && !kind.for_lock);
    kind.rhythmic = kind.own_time || (kind.wait && is_one_of(name, replies));
    return kind;
}
