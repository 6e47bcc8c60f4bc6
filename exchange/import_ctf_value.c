/* SPDX-License-Identifier: Apache-2.0
 *
 * Bits of a packet, and the fields that they are.
 */
#include <inttypes.h>
#include <string.h>

#include "import_ctf_int.h"

/* ---- bits ---- */

/* The first failure is kept. */
static bool fail(struct ctf_bits *b, const char *why)
{
    if (!b->failed)
        b->why = why;
    b->failed = true;
    return false;
}

void ctf_align(struct ctf_bits *b, uint32_t align)
{
    uint64_t rest = align > 1 ? b->at % align : 0, need = rest > 0 ? align - rest : 0;
    if (b->failed || need > b->end - b->at)
        (void)fail(b, "is cut");
    else
        b->at += need;
}

/* Little-endian fields begin at a byte's least bit, big-endian ones at its most. */
uint64_t ctf_integer(struct ctf_bits *b, uint32_t bits, bool big)
{
    uint64_t value = 0;
    if (b->failed || bits > b->end - b->at) {
        (void)fail(b, "is cut");
        return 0;
    }
    for (uint32_t got = 0; got < bits;) {
        uint32_t in = (uint32_t)(b->at % 8), take = 8 - in < bits - got ? 8 - in : bits - got;
        uint32_t byte = b->bytes[b->at / 8], mask = (1u << take) - 1;
        if (big)
            value = value << take | (byte >> (8 - in - take) & mask);
        else
            value |= (uint64_t)(byte >> in & mask) << got;
        b->at += take;
        got += take;
    }
    return value;
}

static bool order_is_big(const struct ctf_bits *b, const struct tsdl_type *type)
{
    return type->order == TSDL_NATIVE ? b->big : type->order == TSDL_BIG;
}

/* ---- values ---- */

const struct ctf_value *ctf_value_find(const struct ctf_values *values, size_t from,
                                       const char *name)
{
    for (size_t k = values->count; k-- > from;)
        if (strcmp(values->items[k].name, name) == 0)
            return &values->items[k];
    return NULL;
}

static const char *bare(const char *name)
{
    return name[0] == '_' && name[1] != '\0' ? name + 1 : name;
}

struct reader {
    const struct tsdl *t;
    struct ctf_bits *b;
    struct ctf_values *values;
    unsigned depth;
    uint32_t fields; /* so far, also those of no size */
};

static bool field_read(struct reader *r, uint32_t type, const char *name);

static struct ctf_value *value_add(struct reader *r, const char *name, enum tsdl_kind kind)
{
    if (r->values->count == CTF_FIELDS_MAX) {
        (void)fail(r->b, "has more than 4096 fields and elements");
        return NULL;
    }
    struct ctf_value *value = &r->values->items[r->values->count++];
    *value = (struct ctf_value){.name = bare(name),
                                .kind = (uint8_t)kind,
                                .text = r->values->texts.len,
                                .label = TSDL_NONE};
    return value;
}

static int64_t extended(uint64_t value, uint32_t bits)
{
    return bits == 0 || bits >= 64 ? (int64_t)value
                                   : (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static bool integer_read(struct reader *r, const struct tsdl_type *type, const char *name)
{
    ctf_align(r->b, type->align);
    uint64_t number = ctf_integer(r->b, type->size, order_is_big(r->b, type));
    struct ctf_value *value = r->b->failed ? NULL : value_add(r, name, TSDL_INTEGER);
    if (value == NULL)
        return false;
    value->number = type->is_signed ? (uint64_t)extended(number, type->size) : number;
    value->is_signed = type->is_signed;
    value->clock = type->clock;
    value->bits = type->size;
    return true;
}

static bool float_read(struct reader *r, const struct tsdl_type *type, const char *name)
{
    ctf_align(r->b, type->align);
    uint64_t number = ctf_integer(r->b, type->size, order_is_big(r->b, type));
    struct ctf_value *value = r->b->failed ? NULL : value_add(r, name, TSDL_FLOAT);
    if (value == NULL)
        return false;
    if (type->size == 32) {
        uint32_t bits = (uint32_t)number;
        float narrow;
        memcpy(&narrow, &bits, sizeof narrow);
        double wide = (double)narrow;
        memcpy(&number, &wide, sizeof number);
    }
    value->number = number;
    return true;
}

static bool enum_read(struct reader *r, const struct tsdl_type *type, const char *name)
{
    const struct tsdl_type *integer = &r->t->types[type->element];
    if (!integer_read(r, integer, name))
        return false;
    struct ctf_value *value = &r->values->items[r->values->count - 1];
    for (uint32_t k = type->first; k != TSDL_NONE; k = r->t->labels[k].next) {
        const struct tsdl_label *label = &r->t->labels[k];
        bool in =
            integer->is_signed
                ? (int64_t)value->number >= label->from && (int64_t)value->number <= label->to
                : value->number >= (uint64_t)label->from && value->number <= (uint64_t)label->to;
        if (in) {
            value->label = label->name;
            break;
        }
    }
    return true;
}

static void text_byte(struct reader *r, struct ctf_value *value, uint8_t byte)
{
    if (value->n == CTF_TEXT_MAX)
        return;
    buf_put_u8(&r->values->texts, byte);
    value->n++;
}

static bool string_read(struct reader *r, const char *name)
{
    ctf_align(r->b, 8);
    struct ctf_value *value = value_add(r, name, TSDL_STRING);
    while (value != NULL && !r->b->failed) {
        uint8_t byte = (uint8_t)ctf_integer(r->b, 8, false);
        if (byte == 0)
            break;
        text_byte(r, value, byte);
    }
    return !r->b->failed;
}

static bool struct_read(struct reader *r, const struct tsdl_type *type)
{
    ctf_align(r->b, type->align);
    for (uint32_t k = type->first; k != TSDL_NONE && !r->b->failed; k = r->t->fields[k].next)
        if (!field_read(r, r->t->fields[k].type, tsdl_text(r->t, r->t->fields[k].name)))
            return false;
    return !r->b->failed;
}

/* The option that is called as the tag's label. */
static bool variant_read(struct reader *r, const struct tsdl_type *type, const char *name)
{
    const struct ctf_value *tag = ctf_value_find(r->values, 0, bare(tsdl_text(r->t, type->name)));
    const char *label = tag != NULL ? tsdl_text(r->t, tag->label) : "";
    for (uint32_t k = type->first; k != TSDL_NONE; k = r->t->fields[k].next) {
        const char *option = tsdl_text(r->t, r->t->fields[k].name);
        if (strcmp(bare(option), bare(label)) == 0)
            return field_read(r, r->t->fields[k].type, name);
    }
    return fail(r->b, "has a variant without an option for its tag");
}

/* Characters are a text up to the first NUL; others are texts of their elements: [1, 2]. */
static bool chars_read(struct reader *r, const struct tsdl_type *element, uint64_t length,
                       const char *name)
{
    bool ended = false;
    struct ctf_value *value = value_add(r, name, TSDL_STRING);
    if (value == NULL || length > (r->b->end - r->b->at) / element->size)
        return fail(r->b, "is cut");
    for (uint64_t k = 0; k < length && !r->b->failed; k++) {
        ctf_align(r->b, element->align);
        uint64_t c = ctf_integer(r->b, element->size, order_is_big(r->b, element));
        ended = ended || c == 0;
        if (!ended)
            text_byte(r, value, (uint8_t)c);
    }
    return !r->b->failed;
}

void ctf_value_put(struct buf *out, const struct tsdl *t, const struct ctf_values *values,
                   const struct ctf_value *value)
{
    double number;
    memcpy(&number, &value->number, sizeof number);
    if (value->label != TSDL_NONE)
        buf_printf(out, "%s", tsdl_text(t, value->label));
    else if (value->kind == TSDL_STRING)
        buf_put(out, values->texts.data + value->text, value->n);
    else if (value->kind == TSDL_FLOAT)
        buf_printf(out, "%.17g", number);
    else if (value->is_signed)
        buf_printf(out, "%" PRId64, (int64_t)value->number);
    else
        buf_printf(out, "%" PRIu64, value->number);
}

/* A text has up to CTF_TEXT_MAX bytes; what is beyond is read, and is not kept. */
static bool elements_read(struct reader *r, const struct tsdl_type *type, uint64_t length,
                          const char *name)
{
    struct buf text = {0};
    size_t before = r->values->count, texts = r->values->texts.len;
    bool good = true;
    ctf_align(r->b, type->align);
    buf_put_u8(&text, '[');
    for (uint64_t k = 0; k < length && good; k++) {
        good = field_read(r, type->element, "");
        for (size_t v = before; good && v < r->values->count && text.len < CTF_TEXT_MAX; v++) {
            if (text.len > 1)
                buf_put(&text, ", ", 2);
            ctf_value_put(&text, r->t, r->values, &r->values->items[v]);
        }
        good = good && r->values->texts.status == SKEIN_OK && text.status == SKEIN_OK;
        r->values->count = before;
        r->values->texts.len = texts;
    }
    buf_put_u8(&text, ']');
    struct ctf_value *value = good ? value_add(r, name, TSDL_STRING) : NULL;
    if (value != NULL) {
        value->n = text.len < CTF_TEXT_MAX ? text.len : CTF_TEXT_MAX;
        buf_put(&r->values->texts, text.data, value->n);
    }
    good = value != NULL && text.status == SKEIN_OK;
    if (text.status != SKEIN_OK)
        r->values->texts.status = text.status; /* no memory, and not a broken field */
    buf_fini(&text);
    return good;
}

static bool array_read(struct reader *r, const struct tsdl_type *type, const char *name)
{
    const struct tsdl_type *element = &r->t->types[type->element];
    uint64_t length = type->length;
    if (type->kind == TSDL_SEQUENCE) {
        const struct ctf_value *told =
            ctf_value_find(r->values, 0, bare(tsdl_text(r->t, type->name)));
        if (told == NULL || told->kind != TSDL_INTEGER)
            return fail(r->b, "has a sequence without a length");
        length = told->number;
    }
    if (element->kind == TSDL_INTEGER && element->text && element->size == 8)
        return chars_read(r, element, length, name);
    return elements_read(r, type, length, name);
}

static bool field_read(struct reader *r, uint32_t at, const char *name)
{
    const struct tsdl_type *type = &r->t->types[at];
    bool good = false;
    if (r->b->failed)
        return false;
    if (r->fields++ == CTF_FIELDS_MAX)
        return fail(r->b, "has more than 4096 fields and elements");
    if (r->depth == TSDL_DEPTH_MAX)
        return fail(r->b, "has fields deeper in each other than 32");
    r->depth++;
    switch (type->kind) {
    case TSDL_INTEGER:
        good = integer_read(r, type, name);
        break;
    case TSDL_FLOAT:
        good = float_read(r, type, name);
        break;
    case TSDL_ENUM:
        good = enum_read(r, type, name);
        break;
    case TSDL_STRING:
        good = string_read(r, name);
        break;
    case TSDL_STRUCT:
        good = struct_read(r, type);
        break;
    case TSDL_VARIANT:
        good = variant_read(r, type, name);
        break;
    default:
        good = array_read(r, type, name);
    }
    r->depth--;
    return good;
}

bool ctf_struct_read(const struct tsdl *t, struct ctf_bits *b, uint32_t type,
                     struct ctf_values *values)
{
    struct reader r = {.t = t, .b = b, .values = values};
    if (type == TSDL_NONE)
        return true;
    return field_read(&r, type, "") && values->texts.status == SKEIN_OK;
}
