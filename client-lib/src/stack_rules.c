/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads .eh_frame_hdr and .eh_frame, as far as what compilers write for x86-64 goes: the CFA is rsp
 * or rbp and an offset, or a word at rbp (functions that align their stack); the return address is
 * below it. Whatever else it meets is a rule that is not followed, never a guess. Owns the cache of
 * rules. Any thread, also in signal handlers. Reads nothing outside of the segment that the tables
 * lie in: a file that a packer or a linker has spoiled must not be felt.
 */
#include "stack_rules.h"

#include <string.h>

#include "writer_atomic.h"

#define RBP     6
#define RSP     7
#define RETURN  16 /* the column of the return address */
#define SAVED   4  /* rows that are remembered at once */
#define NOWHERE UINT64_MAX

/* ---- bytes of the tables ---- */

struct bytes {
    const uint8_t *p, *end;
    bool bad;
};

static struct bytes bytes_none(void)
{
    return (struct bytes){NULL, NULL, true};
}

/* From `from` on to the end of the object's readable segment. */
static struct bytes bytes_from(const struct code_object *object, uint64_t from)
{
    if (from < object->readable_from || from >= object->readable_to)
        return bytes_none();
    return (struct bytes){(const uint8_t *)(uintptr_t)from,
                          (const uint8_t *)(uintptr_t)object->readable_to, false};
}

static uint64_t number_take(struct bytes *b, size_t bytes)
{
    uint64_t value = 0;
    if (b->bad || bytes > (size_t)(b->end - b->p)) {
        b->bad = true;
        return 0;
    }
    memcpy(&value, b->p, bytes);
    b->p += bytes;
    return value;
}

static uint8_t byte_take(struct bytes *b)
{
    return (uint8_t)number_take(b, 1);
}

static uint64_t uleb_take(struct bytes *b)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = byte_take(b);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    b->bad = true;
    return 0;
}

static int64_t sleb_take(struct bytes *b)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
        uint8_t byte = byte_take(b);
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte < 0x80)
            return (int64_t)(byte & 0x40 && shift < 64 ? value | UINT64_MAX << shift : value);
    }
    b->bad = true;
    return 0;
}

static struct bytes part_take(struct bytes *b, uint64_t bytes)
{
    if (b->bad || bytes > (size_t)(b->end - b->p)) {
        b->bad = true;
        return bytes_none();
    }
    struct bytes part = {b->p, b->p + bytes, false};
    b->p += bytes;
    return part;
}

/* A pointer as the tables encode it; `relative` to its own place, or not. */
static uint64_t pointer_take(struct bytes *b, uint8_t encoding)
{
    const uint64_t place = (uint64_t)(uintptr_t)b->p;
    uint64_t value;
    switch (encoding & 0x0f) {
    case 0x00: /* absolute */
    case 0x04: /* udata8 */
    case 0x0c: /* sdata8 */
        value = number_take(b, 8);
        break;
    case 0x03: /* udata4 */
        value = number_take(b, 4);
        break;
    case 0x0b: /* sdata4 */
        value = (uint64_t)(int64_t)(int32_t)(uint32_t)number_take(b, 4);
        break;
    default:
        b->bad = true;
        return 0;
    }
    if ((encoding & 0x70) == 0x10)
        value += place;
    else if ((encoding & 0x70) != 0)
        b->bad = true;
    return value;
}

/* ---- .eh_frame_hdr: a sorted table of {function, entry}, both relative to its own place ---- */

static int32_t table_word(const uint8_t *at)
{
    int32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* The entry of the function that the address may lie in; NOWHERE: no table of this kind, or the
 * address lies before all of them. */
static uint64_t entry_find(const struct code_object *object, uint64_t address)
{
    const uint64_t base = (uint64_t)(uintptr_t)object->index;
    struct bytes b = bytes_from(object, base);
    uint8_t version = byte_take(&b), frame_encoding = byte_take(&b), count_encoding = byte_take(&b),
            table_encoding = byte_take(&b);
    (void)pointer_take(&b, frame_encoding);
    uint64_t count = pointer_take(&b, count_encoding);
    if (b.bad || version != 1 || count_encoding != 0x03 || table_encoding != 0x3b || count == 0 ||
        count > (size_t)(b.end - b.p) / 8)
        return NOWHERE;
    const int64_t wanted = (int64_t)(address - base);
    uint64_t low = 0, high = count; /* the first function behind the address */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (table_word(b.p + 8 * middle) <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? NOWHERE : base + (uint64_t)(int64_t)table_word(b.p + 8 * low - 4);
}

/* ---- an entry (FDE) and what entries share (CIE) ---- */

struct entry {
    struct bytes common, own; /* instructions */
    uint64_t code_align;
    int64_t data_align;
    uint64_t from, to; /* addresses that it speaks of */
    uint8_t encoding;
    bool augmented, is_signal;
};

/* Length and all that it covers, but for the length itself. */
static struct bytes record_take(const struct code_object *object, uint64_t at)
{
    struct bytes b = bytes_from(object, at);
    uint64_t length = number_take(&b, 4);
    return length == 0 || length == UINT32_MAX ? bytes_none() : part_take(&b, length);
}

/* "z", and then for each letter what it stands for. False: a letter that is not known. */
static bool augmentation_take(struct bytes *b, const char *letters, struct entry *out)
{
    out->encoding = 0;
    if (*letters == '\0')
        return true;
    if (*letters != 'z')
        return false;
    out->augmented = true;
    struct bytes data = part_take(b, uleb_take(b));
    for (letters++; *letters; letters++) {
        if (*letters == 'R') {
            out->encoding = byte_take(&data);
        } else if (*letters == 'P') {
            uint8_t encoding = byte_take(&data);
            (void)pointer_take(&data, encoding & 0x7f);
        } else if (*letters == 'L') {
            (void)byte_take(&data);
        } else if (*letters == 'S') {
            out->is_signal = true;
        } else {
            return false;
        }
    }
    return !data.bad;
}

static bool common_read(const struct code_object *object, uint64_t at, struct entry *out)
{
    struct bytes b = record_take(object, at);
    if (number_take(&b, 4) != 0)
        return false;
    uint8_t version = byte_take(&b);
    const char *letters = (const char *)b.p;
    while (byte_take(&b) != 0) {
    }
    if (b.bad || (version != 1 && version != 3))
        return false;
    out->code_align = uleb_take(&b);
    out->data_align = sleb_take(&b);
    uint64_t column = version == 1 ? byte_take(&b) : uleb_take(&b);
    if (column != RETURN || !augmentation_take(&b, letters, out))
        return false;
    out->common = b;
    return !b.bad;
}

/* False: nothing is known of the address. */
static bool entry_read(const struct code_object *object, uint64_t address, struct entry *out)
{
    memset(out, 0, sizeof *out);
    uint64_t at = object->index != NULL ? entry_find(object, address) : NOWHERE;
    if (at == NOWHERE)
        return false;
    struct bytes b = record_take(object, at);
    uint64_t back = number_take(&b, 4);
    if (b.bad || back == 0 || !common_read(object, at + 4 - back, out))
        return false;
    out->from = pointer_take(&b, out->encoding);
    out->to = out->from + pointer_take(&b, out->encoding & 0x0f);
    if (out->augmented)
        (void)part_take(&b, uleb_take(&b));
    out->own = b;
    return !b.bad && address >= out->from && address < out->to;
}

/* ---- instructions ---- */

enum place_kind { PLACE_SAME = 0, PLACE_AT_CFA, PLACE_AT_RBP, PLACE_UNDEFINED, PLACE_STRANGE };

struct place {
    uint8_t kind; /* enum place_kind */
    int64_t offset;
};

struct row {
    bool by_word; /* the CFA is the word at rbp + offset */
    bool strange; /* an expression of another kind */
    uint64_t base;
    int64_t offset;
    struct place rbp, back;
};

struct machine {
    const struct entry *entry;
    struct row row, first; /* first: behind the common instructions */
    struct row saved[SAVED];
    unsigned saved_count;
    uint64_t location;
    bool stuck;
};

static void place_set(struct machine *m, uint64_t column, uint8_t kind, int64_t offset)
{
    const struct place place = {kind, offset};
    if (column == RBP)
        m->row.rbp = place;
    else if (column == RETURN)
        m->row.back = place;
    else if (column == RSP)
        m->stuck = true; /* the caller's rsp is the CFA, and nothing else is followed */
}

static void place_restore(struct machine *m, uint64_t column)
{
    if (column == RBP)
        m->row.rbp = m->first.rbp;
    else if (column == RETURN)
        m->row.back = m->first.back;
}

static void cfa_set(struct row *row, uint64_t base, int64_t offset)
{
    row->by_word = row->strange = false;
    row->base = base;
    row->offset = offset;
}

/* "rbp + offset", and for a CFA the word there: what compilers write where they align the stack. */
static bool expression_of_rbp(struct bytes expression, bool word, int64_t *offset)
{
    if (byte_take(&expression) != 0x70 + RBP)
        return false;
    *offset = sleb_take(&expression);
    if (word && byte_take(&expression) != 0x06)
        return false;
    return !expression.bad && expression.p == expression.end;
}

static void cfa_expression(struct machine *m, struct bytes *b)
{
    struct bytes expression = part_take(b, uleb_take(b));
    m->row.by_word = expression_of_rbp(expression, true, &m->row.offset);
    m->row.strange = !m->row.by_word;
}

static void place_expression(struct machine *m, struct bytes *b, bool of_value)
{
    uint64_t column = uleb_take(b);
    struct bytes expression = part_take(b, uleb_take(b));
    int64_t offset = 0;
    bool known = !of_value && expression_of_rbp(expression, false, &offset);
    place_set(m, column, known ? PLACE_AT_RBP : PLACE_STRANGE, offset);
}

/* What says where the CFA is. False: another kind of instruction. */
static bool cfa_step(struct machine *m, struct bytes *b, uint8_t code)
{
    const int64_t factor = m->entry->data_align;
    uint64_t base;
    switch (code) {
    case 0x0c: /* def_cfa */
        base = uleb_take(b);
        cfa_set(&m->row, base, (int64_t)uleb_take(b));
        return true;
    case 0x12: /* def_cfa_sf */
        base = uleb_take(b);
        cfa_set(&m->row, base, sleb_take(b) * factor);
        return true;
    case 0x0d: /* def_cfa_register */
        m->stuck |= m->row.by_word || m->row.strange;
        m->row.base = uleb_take(b);
        return true;
    case 0x0e: /* def_cfa_offset */
        m->stuck |= m->row.by_word || m->row.strange;
        m->row.offset = (int64_t)uleb_take(b);
        return true;
    case 0x13: /* def_cfa_offset_sf */
        m->stuck |= m->row.by_word || m->row.strange;
        m->row.offset = sleb_take(b) * factor;
        return true;
    case 0x0f: /* def_cfa_expression */
        cfa_expression(m, b);
        return true;
    default:
        return false;
    }
}

/* What says where the caller's registers are. False: another kind of instruction. */
static bool place_step(struct machine *m, struct bytes *b, uint8_t code)
{
    const int64_t factor = m->entry->data_align;
    uint64_t column;
    switch (code) {
    case 0x05: /* offset_extended */
        column = uleb_take(b);
        place_set(m, column, PLACE_AT_CFA, (int64_t)uleb_take(b) * factor);
        return true;
    case 0x11: /* offset_extended_sf */
        column = uleb_take(b);
        place_set(m, column, PLACE_AT_CFA, sleb_take(b) * factor);
        return true;
    case 0x06: /* restore_extended */
        place_restore(m, uleb_take(b));
        return true;
    case 0x07: /* undefined */
        place_set(m, uleb_take(b), PLACE_UNDEFINED, 0);
        return true;
    case 0x08: /* same_value */
        place_set(m, uleb_take(b), PLACE_SAME, 0);
        return true;
    case 0x09: /* register */
    case 0x14: /* val_offset */
        column = uleb_take(b);
        (void)uleb_take(b);
        place_set(m, column, PLACE_STRANGE, 0);
        return true;
    case 0x15: /* val_offset_sf */
        column = uleb_take(b);
        (void)sleb_take(b);
        place_set(m, column, PLACE_STRANGE, 0);
        return true;
    case 0x10: /* expression */
    case 0x16: /* val_expression */
        place_expression(m, b, code == 0x16);
        return true;
    default:
        return false;
    }
}

static void rows_remember(struct machine *m)
{
    if (m->saved_count == SAVED)
        m->stuck = true;
    else
        m->saved[m->saved_count++] = m->row;
}

static void rows_recall(struct machine *m)
{
    if (m->saved_count == 0)
        m->stuck = true;
    else
        m->row = m->saved[--m->saved_count];
}

/* Whether the instruction moves the location, and by how much. */
static bool advance_step(struct machine *m, struct bytes *b, uint8_t code)
{
    uint64_t by;
    if (code >> 6 == 1)
        by = code & 0x3f;
    else if (code >= 0x02 && code <= 0x04)
        by = number_take(b, (size_t)1 << (code - 2));
    else
        return false;
    m->location += by * m->entry->code_align;
    return true;
}

static void other_step(struct machine *m, struct bytes *b, uint8_t code)
{
    if (code >> 6 == 2) /* offset */
        place_set(m, code & 0x3f, PLACE_AT_CFA, (int64_t)uleb_take(b) * m->entry->data_align);
    else if (code >> 6 == 3) /* restore */
        place_restore(m, code & 0x3f);
    else if (code == 0x0a)
        rows_remember(m);
    else if (code == 0x0b)
        rows_recall(m);
    else if (code == 0x2e) /* GNU_args_size */
        (void)uleb_take(b);
    else if (code != 0 && !cfa_step(m, b, code) && !place_step(m, b, code))
        m->stuck = true;
}

/* Carries out what holds at the address. */
static void instructions_run(struct machine *m, struct bytes b, uint64_t address)
{
    while (!m->stuck && b.p < b.end) {
        uint8_t code = byte_take(&b);
        if (advance_step(m, &b, code)) {
            if (m->location > address)
                return;
        } else {
            other_step(m, &b, code);
        }
        m->stuck |= b.bad;
    }
}

/* ---- from the row to the rule ---- */

static bool number_fits(int64_t value, unsigned bits)
{
    const int64_t limit = INT64_C(1) << (bits - 1);
    return value >= -limit && value < limit;
}

static struct stack_rule rule_of_row(const struct row *row)
{
    struct stack_rule rule = {.cfa = STACK_CFA_STRANGE};
    if (row->back.kind == PLACE_UNDEFINED) {
        rule.cfa = STACK_CFA_OUTERMOST;
        return rule;
    }
    if (row->strange || row->back.kind != PLACE_AT_CFA || row->back.offset != -8 ||
        !number_fits(row->offset, 32))
        return rule;
    rule.cfa_offset = (int32_t)row->offset;
    if (number_fits(row->rbp.offset, 24))
        rule.rbp_offset = (int32_t)row->rbp.offset;
    if (row->rbp.kind == PLACE_AT_CFA && number_fits(row->rbp.offset, 24))
        rule.rbp = STACK_RBP_AT_CFA;
    else if (row->rbp.kind == PLACE_AT_RBP && number_fits(row->rbp.offset, 24))
        rule.rbp = STACK_RBP_AT_RBP;
    else if (row->rbp.kind != PLACE_SAME)
        rule.rbp = STACK_RBP_GONE;
    if (row->by_word)
        rule.cfa = STACK_CFA_AT_RBP;
    else if (row->base == RSP)
        rule.cfa = STACK_CFA_RSP;
    else if (row->base == RBP)
        rule.cfa = STACK_CFA_RBP;
    return rule;
}

struct stack_rule stack_rule_read(const struct code_object *object, uint64_t address)
{
    struct entry entry;
    if (!entry_read(object, address, &entry))
        return (struct stack_rule){.cfa = STACK_CFA_NONE};
    struct machine m = {.entry = &entry, .location = entry.from};
    m.row.base = NOWHERE;
    m.stuck = entry.is_signal; /* the address is the one that was interrupted, not a call's */
    instructions_run(&m, entry.common, UINT64_MAX);
    m.first = m.row;
    m.location = entry.from;
    instructions_run(&m, entry.own, address);
    return m.stuck ? (struct stack_rule){.cfa = STACK_CFA_STRANGE} : rule_of_row(&m.row);
}

/* ---- the cache ---- */

/* Two words a place: the rule, and the address with it and the object's stamp mixed in. Who reads
 * one word of one writer and one of another finds an address that is not his (RULE). An object
 * that dlclose() has taken away leaves rules of another stamp than one that is loaded in its
 * place. */
#define CACHE_PLACES 2048
struct cache_place {
    uint64_t key, rule;
};
static struct cache_place cache[CACHE_PLACES];

static uint64_t rule_pack(const struct stack_rule *rule)
{
    return (uint64_t)(uint32_t)rule->cfa_offset << 32 |
           (uint64_t)((uint32_t)rule->rbp_offset & 0xffffff) << 8 | (uint64_t)rule->rbp << 4 |
           (uint64_t)rule->cfa;
}

static struct stack_rule rule_unpack(uint64_t word)
{
    return (struct stack_rule){.cfa = word & 0xf,
                               .rbp = word >> 4 & 0xf,
                               .cfa_offset = (int32_t)(uint32_t)(word >> 32),
                               .rbp_offset = (int32_t)((uint32_t)word & 0xffffff00) >> 8};
}

/* Bits of one rule are not to undo bits of another. */
static uint64_t rule_mixed(uint64_t word)
{
    word *= UINT64_C(0x9e3779b97f4a7c15);
    return word ^ word >> 29;
}

struct stack_rule stack_rule_at(const struct code_object *object, uint64_t address)
{
    if (object->stamp == 0) /* nothing tells it from what may be loaded in its place */
        return stack_rule_read(object, address);
    struct cache_place *place =
        &cache[(address * UINT64_C(0x9e3779b97f4a7c15)) >> 53 & (CACHE_PLACES - 1)];
    uint64_t word = skein_rule_load(&place->rule);
    if (word && (skein_rule_load(&place->key) ^ rule_mixed(word) ^ object->stamp) == address)
        return rule_unpack(word);
    struct stack_rule rule = stack_rule_read(object, address);
    if (rule.cfa == STACK_CFA_NONE)
        return rule;
    word = rule_pack(&rule);
    skein_rule_store(&place->rule, word);
    skein_rule_store(&place->key, address ^ rule_mixed(word) ^ object->stamp);
    return rule;
}
