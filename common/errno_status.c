/* SPDX-License-Identifier: Apache-2.0
 *
 * The one table of error numbers; see errno_status.h.
 */
#include "errno_status.h"

#include <errno.h>

#include "skein/status.h"

int status_of_errno(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return SKEIN_FULL;
    case ENOENT:
        return SKEIN_NOT_FOUND;
    case EEXIST:
        return SKEIN_EXISTS;
    case EWOULDBLOCK:
        return SKEIN_BUSY;
    case EACCES:
    case EPERM:
    case EROFS:
        return SKEIN_DENIED;
    case ENOMEM:
        return SKEIN_NO_MEMORY;
    default:
        return SKEIN_IO;
    }
}
