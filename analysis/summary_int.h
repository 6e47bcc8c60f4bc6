/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a summary: tables of rows under keys, and what becomes of each member. Included by
 * analysis/summary_*.c alone.
 *
 * Everything that moves rows is one function: tables_merge puts the rows of one summary into another,
 * under the keys that they have there. A merge is that; so is sorting and the bound of memory (into an
 * empty one, in order, those beyond the limit as "(others)"), and the view by service.
 */
#ifndef SUMMARY_INT_H
#define SUMMARY_INT_H

#include "intern_table.h"
#include "summary.h"

enum summary_table {
#define X(table, singular, plural) SUMMARY_##table,
    SUMMARY_TABLE_LIST(X)
#undef X
        SUMMARY_TABLES
};

enum field_kind { /* how two merge */
                  FIELD_SUM,
                  FIELD_MAX,
                  FIELD_LEAST,  /* 0: unknown */
                  FIELD_LATEST, /* of the row that ends later; of two that end at once the greater */
                  FIELD_TEXT,   /* the same of a text */
                  FIELD_REAL_SUM,
                  FIELD_REAL_LEAST,
                  FIELD_REAL_MOST,
                  FIELD_REAL_LATEST,
                  FIELD_PEAK, /* the longer one */
                  FIELD_HISTOGRAM,
                  FIELD_HOLDERS
};

struct summary_field {
    const char *name; /* in JSON */
    enum field_kind kind;
    size_t offset;
};

enum summary_of { OF_NOTHING, OF_PROCESS, OF_THREAD };
enum summary_number {
    NUMBER_PLAIN,
    NUMBER_TEXT,
    NUMBER_HOST
}; /* HOST: a text where of is NONE; a text: the low half */

struct summary_kind {
    const char *plural, *text, *number_name; /* names in JSON; NULL: not shown */
    size_t row_bytes;
    enum summary_of of;
    enum summary_number number;
    size_t weights[3]; /* offsets of 64 bits: by which rows come first */
    const struct summary_field *fields;
    size_t field_count;
};
extern const struct summary_kind summary_kinds[SUMMARY_TABLES];

struct summary_rows { /* of a table: found by of, text and number */
    uint8_t *rows;
    size_t count, cap;
    uint32_t *slots; /* row + 1; 0: empty; a power of two of them */
    size_t slot_count;
};

struct summary {
    size_t limit;
    struct intern_table texts; /* each with a NUL behind it */
    struct summary_rows tables[SUMMARY_TABLES];
    uint64_t generation; /* changes where rows get other numbers */
};

#define OTHERS_NUMBER UINT64_MAX

static inline struct summary_row *row_at(const struct summary *s, enum summary_table table,
                                         size_t i)
{
    return (struct summary_row *)(void *)(s->tables[table].rows +
                                          i * summary_kinds[table].row_bytes);
}

/* The row under a key, made where there is none (then all-zero but for the key). NULL: no memory. */
struct summary_row *summary_row_get(struct summary *s, enum summary_table table, uint32_t of,
                                    uint32_t text, uint64_t number, bool *fresh);
/* The number of a text; SKEIN_NO_MEMORY. */
int64_t text_intern(struct summary *s, const char *text, size_t n);
/* Whether a row's number is one of a text. */
bool number_is_text(enum summary_table table, const struct summary_row *row);
/* The row ends events at this time. */
void row_touch(struct summary_row *row, uint64_t ns);
/* Merges rows of tables that have grown to twice the limit. SKEIN_OK, SKEIN_NO_MEMORY. */
int summary_bound(struct summary *s);

/* summary_fields.c: adds the members of a row of `from` to those of a row; head and all. */
int row_merge(struct summary *s, enum summary_table table, struct summary_row *row, bool fresh,
              const struct summary *from, const struct summary_row *other);
void row_fini(enum summary_table table, struct summary_row *row);
void holder_add(struct summary_lock *lock, const struct summary_holder *holder);
/* Sums stay finite. */
static inline void real_add(double *sum, double n)
{
    double all = *sum + n;
    if (all - all == 0)
        *sum = all;
}
/* Sums stop at UINT64_MAX. */
static inline void sum_add(uint64_t *sum, uint64_t n)
{
    *sum = n > UINT64_MAX - *sum ? UINT64_MAX : *sum + n;
}

#endif
