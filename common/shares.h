/* SPDX-License-Identifier: Apache-2.0
 *
 * How a bound that many share is shared out: among users, among each one's programs, and among what
 * each program does it for. No threads; the caller guards a table.
 *
 * One rule holds at each level: a key may have seven eighths of what the others leave, and one that
 * has nothing finds room as long as there is any. So whoever is alone has nearly all, two that want
 * everything get the same, and whoever comes next finds room left.
 *
 *     the bound     |------- others -------|--------- what they leave ----------|
 *     a key's most                         |------------ 7/8 ------------| 1/8  |  <- for newcomers
 *
 * What a user may have at most is the bound of his programs, and so on down.
 */
#ifndef SHARES_H
#define SHARES_H

#include <stddef.h>
#include <stdint.h>

/* What one key may have of a bound at most, where the others have so much of it. */
uint64_t share_most(uint64_t bound, uint64_t others);

/* What of a bound is open to whom. The last eighth is kept: half of it for rules, crashes and root,
 * the rest for root alone. Who may choose among thousands of users is a newcomer each time, and takes
 * all that is open to newcomers; so newcomers are not let into what is kept. */
enum share_rank { SHARE_ASKED, SHARE_RULED, SHARE_ROOT };
uint64_t share_open_to(enum share_rank rank, uint64_t bound);

#define SHARE_USER_UNKNOWN UINT32_MAX

/* ---- what was used within the last hour ---- */

enum share_level { SHARE_USER, SHARE_PROGRAM, SHARE_CAUSE, SHARE_LEVELS };

/* Who uses something: the hash of the way down to each level. */
struct share_key {
    uint64_t at[SHARE_LEVELS];
};
/* `user` may also be another number by which those at the first level differ. */
struct share_key share_key_of(uint64_t user, const char *program, const char *cause);

/* FULL: the bound itself, as it was given, is used up. The others: the share of that level is. */
enum share_answer {
    SHARE_GRANTED,
    SHARE_FULL_USER,
    SHARE_FULL_PROGRAM,
    SHARE_FULL_CAUSE,
    SHARE_FULL
};
/* Whose share it is that is used up, as "the share of the user"; "" where it is granted. */
const char *share_answer_text(enum share_answer answer);

#define SHARE_SLOTS 12 /* of five minutes */
struct share_use {
    uint64_t slot; /* of the newest count, by any clock that only rises */
    uint32_t counts[SHARE_SLOTS];
};
struct share_row {
    uint64_t key;
    struct share_use use;
};
/* Rows that are remembered. Who comes beyond takes the place of who used least: that one's use stays
 * in the counts above it, and is forgotten as its own. */
#define SHARE_ROWS_MAX 512

struct shares { /* all zero: nothing is used */
    struct share_use all;
    struct share_row *rows;
    size_t count, cap;
};

/* Takes n of `bound` for the key, at now_ns by a clock that only rises; nothing, unless it is
 * granted. Without memory for a row, its use counts above it alone. */
enum share_answer shares_take(struct shares *shares, uint64_t now_ns, const struct share_key *key,
                              uint32_t n, uint64_t bound);
/* What all have used within the hour. */
uint64_t shares_used(const struct shares *shares, uint64_t now_ns);
void shares_fini(struct shares *shares);

/* ---- what is held now, and can be taken back ---- */

/* A sum for each of many holders, in bounded room: holders whose numbers fall together count as one,
 * which is which differs from process to process. */
#define SHARE_BUCKETS 1024
struct share_tally {
    uint64_t sums[SHARE_BUCKETS];
};
void share_tally_add(struct share_tally *tally, uint64_t holder, uint64_t n);
uint64_t share_tally_of(const struct share_tally *tally, uint64_t holder);
/* What those have who hold most: where a bound is full, they give way. */
uint64_t share_tally_most(const struct share_tally *tally);

#endif
