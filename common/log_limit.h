/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps a line that somebody else can cause from filling a log: of each minute the first few are
 * written, the others counted and told in one ("and 312 more in 60 s"). Owns nothing; one owner a
 * limit, whose thread calls.
 */
#ifndef LOG_LIMIT_H
#define LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define LOG_LIMIT_NS UINT64_C(60000000000)

struct log_limit {
    uint32_t most;     /* lines a minute; 0: one */
    uint64_t since_ns; /* monotonic; of the minute; 0: none has begun */
    uint32_t written, held;
};

/* Whether a line may be written now. */
bool log_limit_take(struct log_limit *limit, uint64_t now_ns);

/* Once the minute is over, or `last`: how many lines were held, to be told now; else 0. */
uint32_t log_limit_over(struct log_limit *limit, uint64_t now_ns, bool last);

#endif
