/* SPDX-License-Identifier: Apache-2.0
 *
 * Shares of a bound; see shares.h. Touches nothing but the caller's table.
 */
#include "shares.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "array.h"
#include "checksum.h"

#define SLOT_NS (UINT64_C(300) * 1000000000u)

uint64_t share_most(uint64_t bound, uint64_t others)
{
    uint64_t left = bound > others ? bound - others : 0;
    return left - left / 8 - (left % 8 != 0);
}

uint64_t share_open_to(enum share_rank rank, uint64_t bound)
{
    return rank == SHARE_ROOT ? bound : bound - bound / (rank == SHARE_RULED ? 16 : 8);
}

/* ---- use within the hour ---- */

/* Of this process: a stranger who knew it could choose names that fall together with another's.
 * Whoever comes first sets it; relaxed: it leads to nothing. */
static uint64_t seed_get(void)
{
    static uint64_t seed;
    uint64_t there = __atomic_load_n(&seed, __ATOMIC_RELAXED), fresh = 0;
    if (there != 0)
        return there;
    if (getrandom(&fresh, sizeof fresh, GRND_NONBLOCK) != (ssize_t)sizeof fresh)
        fresh = (uintptr_t)&fresh;
    fresh |= 1;
    return __atomic_compare_exchange_n(&seed, &there, fresh, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED)
               ? fresh
               : there;
}

#define NAME_BYTES 512 /* that tell names apart */

static uint64_t key_of(uint64_t above, enum share_level level, const char *name)
{
    const uint64_t head[3] = {seed_get(), above, level};
    uint8_t bytes[sizeof head + NAME_BYTES];
    size_t n = strnlen(name, NAME_BYTES);
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + sizeof head, name, n);
    return checksum64(bytes, sizeof head + n);
}

struct share_key share_key_of(uint64_t user, const char *program, const char *cause)
{
    struct share_key key;
    key.at[SHARE_USER] = key_of(user, SHARE_USER, "");
    key.at[SHARE_PROGRAM] = key_of(key.at[SHARE_USER], SHARE_PROGRAM, program);
    key.at[SHARE_CAUSE] = key_of(key.at[SHARE_PROGRAM], SHARE_CAUSE, cause);
    return key;
}

const char *share_answer_text(enum share_answer answer)
{
    static const char *const texts[] = {[SHARE_GRANTED] = "",
                                        [SHARE_FULL_USER] = "the share of the user",
                                        [SHARE_FULL_PROGRAM] = "the share of the program",
                                        [SHARE_FULL_CAUSE] = "the program's share for this cause",
                                        [SHARE_FULL] =
                                            "the bound of all, or what is not reserved of it,"};
    return texts[answer];
}

static uint64_t use_sum(const struct share_use *use, uint64_t slot)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < SHARE_SLOTS; i++) /* the newest is i slots old at i 0 */
        if (i <= use->slot && use->slot - i + SHARE_SLOTS > slot)
            sum += use->counts[(use->slot - i) % SHARE_SLOTS];
    return sum;
}

static void use_add(struct share_use *use, uint64_t slot, uint32_t n)
{
    uint64_t passed = slot > use->slot ? slot - use->slot : 0;
    for (uint64_t i = 1; i <= passed && i <= SHARE_SLOTS; i++)
        use->counts[(use->slot + i) % SHARE_SLOTS] = 0;
    use->slot += passed;
    use->counts[use->slot % SHARE_SLOTS] += n;
}

static struct share_row *row_find(const struct shares *s, uint64_t key)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->rows[i].key == key)
            return &s->rows[i];
    return NULL;
}

/* Never one of `keep`, which is the way that is being counted. */
static struct share_row *least_find(const struct shares *s, uint64_t slot,
                                    const struct share_key *keep)
{
    struct share_row *least = NULL;
    uint64_t least_sum = UINT64_MAX;
    for (size_t i = 0; i < s->count; i++) {
        bool kept = false;
        for (int level = 0; level < SHARE_LEVELS; level++)
            kept = kept || s->rows[i].key == keep->at[level];
        uint64_t sum = use_sum(&s->rows[i].use, slot);
        if (!kept && sum < least_sum) {
            least = &s->rows[i];
            least_sum = sum;
        }
    }
    return least;
}

static struct share_row *row_take(struct shares *s, uint64_t slot, const struct share_key *way,
                                  uint64_t key)
{
    struct share_row *row = row_find(s, key);
    if (row != NULL)
        return row;
    if (s->count >= SHARE_ROWS_MAX)
        row = least_find(s, slot, way);
    else if (array_grow(s->rows, s->count + 1, &s->cap))
        row = &s->rows[s->count++];
    if (row != NULL)
        *row = (struct share_row){.key = key, .use = {.slot = slot}};
    return row;
}

/* Whether a key that has `used` may have n more of a bound of which the others have so much. */
static bool is_within(uint64_t used, uint64_t n, uint64_t bound, uint64_t others)
{
    uint64_t left = bound > others ? bound - others : 0;
    return used == 0 ? n <= left : used + n <= share_most(bound, others);
}

enum share_answer shares_take(struct shares *s, uint64_t now_ns, const struct share_key *key,
                              uint32_t n, uint64_t bound)
{
    const uint64_t slot = now_ns / SLOT_NS;
    uint64_t parent = use_sum(&s->all, slot);
    if (parent > bound || n > bound - parent)
        return SHARE_FULL;
    for (int level = 0; level < SHARE_LEVELS; level++) {
        const struct share_row *row = row_find(s, key->at[level]);
        uint64_t used = row != NULL ? use_sum(&row->use, slot) : 0;
        uint64_t others = parent > used ? parent - used : 0;
        if (!is_within(used, n, bound, others))
            return (enum share_answer)(SHARE_FULL_USER + level);
        bound = share_most(bound, others);
        bound = bound > used + n ? bound : used + n; /* that a newcomer was granted */
        parent = used;
    }
    use_add(&s->all, slot, n);
    for (int level = 0; level < SHARE_LEVELS; level++) {
        struct share_row *row = row_take(s, slot, key, key->at[level]);
        if (row != NULL)
            use_add(&row->use, slot, n);
    }
    return SHARE_GRANTED;
}

uint64_t shares_used(const struct shares *s, uint64_t now_ns)
{
    return use_sum(&s->all, now_ns / SLOT_NS);
}

void shares_fini(struct shares *s)
{
    free(s->rows);
    *s = (struct shares){0};
}

/* ---- held now ---- */

static size_t bucket_of(uint64_t holder)
{
    const uint64_t mixed[2] = {seed_get(), holder};
    return checksum64(mixed, sizeof mixed) % SHARE_BUCKETS;
}

void share_tally_add(struct share_tally *tally, uint64_t holder, uint64_t n)
{
    tally->sums[bucket_of(holder)] += n;
}

uint64_t share_tally_of(const struct share_tally *tally, uint64_t holder)
{
    return tally->sums[bucket_of(holder)];
}

uint64_t share_tally_most(const struct share_tally *tally)
{
    uint64_t most = 0;
    for (size_t i = 0; i < SHARE_BUCKETS; i++)
        most = tally->sums[i] > most ? tally->sums[i] : most;
    return most;
}
