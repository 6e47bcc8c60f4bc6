/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that calls back, in two builds of the same layout whose frames differ: who takes the one for
 * the other's, in the same place, finds no caller.
 */
#include <string.h>

extern const char walk_plugin_name[];
const char walk_plugin_name[] = WALK_PLUGIN;

void walk_plugin_work(void (*call)(void));

__attribute__((noinline)) void walk_plugin_work(void (*call)(void))
{
    volatile char room[WALK_ROOM];
    memset((char *)room, 1, sizeof room);
    call();
    room[0] = 2;
}
