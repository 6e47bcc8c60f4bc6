/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that a test opens and closes: its sites and strings go away with it. It uses the
 * program's own writer.
 */
#include "skein/skein.h"

void plugin_work(void);

void plugin_work(void)
{
    static struct skein_string text = SKEIN_STRING("its own text");
    SKEIN_INSTANT("in the plugin", (sym, "s", &text));
    SKEIN_BEGIN("left open by the plugin");
}
