/* SPDX-License-Identifier: Apache-2.0
 *
 * What answers as analyst_run (server/analyst/analyst.h) does, in the test's own process, for summaries;
 * or as the test sets it. One test at a time.
 */
#ifndef FAKE_ANALYST_H
#define FAKE_ANALYST_H

#include "analyst.h"

struct fake_analyst {
    int status;        /* not SKEIN_OK: is answered */
    const char *error; /* with these words; NULL: none */
    unsigned runs;
};
extern struct fake_analyst fake_analyst;

int fake_analyst_run(struct analyst *analyst, const struct analyst_job *job, struct buf *answer,
                     char error[ANALYST_ERROR_BYTES]);

#endif
