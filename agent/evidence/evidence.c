/* SPDX-License-Identifier: Apache-2.0
 *
 * What sources of evidence say of themselves; see evidence.h.
 */
#include "evidence.h"

#include <stdarg.h>
#include <stdio.h>

void evidence_say(struct evidence_note *note, enum evidence_state state, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note->state = state;
    vsnprintf(note->why, sizeof note->why, format, args);
    va_end(args);
}
