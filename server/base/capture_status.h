/* SPDX-License-Identifier: Apache-2.0
 *
 * What a capture has come to, and the word for it: in the API, the catalog and the metrics. Pure.
 */
#ifndef CAPTURE_STATUS_H
#define CAPTURE_STATUS_H

enum capture_status { CAPTURE_RUNNING, CAPTURE_COMPLETE, CAPTURE_INCOMPLETE, CAPTURE_STOPPED };

const char *capture_status_text(enum capture_status status);

#endif
