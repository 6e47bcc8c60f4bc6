/* SPDX-License-Identifier: Apache-2.0
 *
 * What the system's error numbers mean here. No state; any thread.
 */
#ifndef ERRNO_STATUS_H
#define ERRNO_STATUS_H

/* The status of an errno of a file: SKEIN_FULL, SKEIN_NOT_FOUND, SKEIN_EXISTS, SKEIN_BUSY,
 * SKEIN_DENIED, SKEIN_NO_MEMORY; SKEIN_IO for all others. */
int status_of_errno(int error);

#endif
