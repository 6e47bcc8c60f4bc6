/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of enum skein_status. Owns nothing; entered by any thread; never fails.
 */
#include "skein/status.h"

const char *skein_status_text(int status)
{
    switch (status) {
#define X(name, value, words)                                                                      \
    case value:                                                                                    \
        return words;
        SKEIN_STATUS_LIST(X)
#undef X
    default:
        return "unknown status";
    }
}
