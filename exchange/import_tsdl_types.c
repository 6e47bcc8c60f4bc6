/* SPDX-License-Identifier: Apache-2.0
 *
 * Types in TSDL, and what they are called.
 */
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "import_tsdl_int.h"

/* ---- tables ---- */

static uint32_t type_put(struct tsdl_reader *r, const struct tsdl_type *type)
{
    struct tsdl *t = r->out;
    if (r->status != SKEIN_OK)
        return TSDL_NONE;
    if (t->type_count == TSDL_TYPES_MAX) {
        tsdl_fail(r, SKEIN_UNSUPPORTED, "there are more than 1000000 types");
        return TSDL_NONE;
    }
    if (!array_grow(t->types, t->type_count + 1, &t->type_cap)) {
        tsdl_fail(r, SKEIN_NO_MEMORY, "out of memory");
        return TSDL_NONE;
    }
    t->types[t->type_count] = *type;
    return (uint32_t)t->type_count++;
}

void tsdl_name_add(struct tsdl_reader *r, const char *text, uint32_t type)
{
    uint32_t kept = tsdl_keep(r, text);
    if (r->status != SKEIN_OK)
        return;
    if (r->name_count == TSDL_NAMES_MAX) {
        tsdl_fail(r, SKEIN_UNSUPPORTED, "there are more than 4096 names of types");
        return;
    }
    if (!array_grow(r->names, r->name_count + 1, &r->name_cap)) {
        tsdl_fail(r, SKEIN_NO_MEMORY, "out of memory");
        return;
    }
    r->names[r->name_count++] = (struct tsdl_name){.text = kept, .type = type};
}

static uint32_t name_find(const struct tsdl_reader *r, const char *text)
{
    for (size_t k = r->name_count; k-- > 0;)
        if (strcmp(tsdl_text(r->out, r->names[k].text), text) == 0)
            return r->names[k].type;
    return TSDL_NONE;
}

/* ---- attributes of integers, floats, strings ---- */

static bool attribute_bool(const struct word *word)
{
    return word->kind == WORD_NUMBER
               ? word->number != 0
               : strcmp(word->text, "true") == 0 || strcmp(word->text, "TRUE") == 0;
}

/* Of "clock.NAME.value" the first word is `value`, `part` the second; NULL: of what has one alone. */
static void attribute_set(struct tsdl_reader *r, struct tsdl_type *type, const char *key,
                          const struct word *value, const struct word *part)
{
    uint64_t number = value->number;
    if (strcmp(key, "size") == 0) {
        type->size = number >= 1 && number <= 64 ? (uint32_t)number : 0;
        if (type->size == 0)
            tsdl_fail(r, SKEIN_UNSUPPORTED, "an integer has not 1 to 64 bits");
    } else if (strcmp(key, "align") == 0) {
        if (number == 0 || number > 4096 || (number & (number - 1)) != 0)
            tsdl_fail(r, SKEIN_CORRUPT, "an alignment is no power of two up to 4096");
        type->align = (uint32_t)number;
    } else if (strcmp(key, "signed") == 0) {
        type->is_signed = attribute_bool(value);
    } else if (strcmp(key, "byte_order") == 0) {
        type->order = strcmp(value->text, "le") == 0 ? TSDL_LITTLE
                      : strcmp(value->text, "be") == 0 || strcmp(value->text, "network") == 0
                          ? TSDL_BIG
                          : TSDL_NATIVE;
    } else if (strcmp(key, "encoding") == 0) {
        type->text = strcmp(value->text, "UTF8") == 0 || strcmp(value->text, "ASCII") == 0;
    } else if (strcmp(key, "map") == 0) {
        if (strcmp(value->text, "clock") == 0 && part != NULL)
            type->clock = (uint16_t)(tsdl_clock_find(r, part->text) + 1);
    } else if (strcmp(key, "exp_dig") == 0 || strcmp(key, "mant_dig") == 0) {
        if (type->kind == TSDL_FLOAT) /* of an integer they say nothing */
            type->size += number <= 64 ? (uint32_t)number : 128;
    }
}

static void attributes_read(struct tsdl_reader *r, struct tsdl_type *type)
{
    char key[64];
    while (r->status == SKEIN_OK && !tsdl_take(r, "}")) {
        snprintf(key, sizeof key, "%.63s", r->word.text);
        if (r->word.kind != WORD_NAME)
            tsdl_fail(r, SKEIN_CORRUPT, "an attribute has no name");
        tsdl_next(r);
        tsdl_must(r, "=");
        const struct word value = r->word;
        struct word part = {.kind = WORD_END};
        tsdl_next(r);
        while (tsdl_take(r, ".")) {
            part = part.kind == WORD_END ? r->word : part;
            tsdl_next(r);
        }
        if (r->status == SKEIN_OK)
            attribute_set(r, type, key, &value, &part);
        tsdl_must(r, ";");
    }
}

static uint32_t number_type_read(struct tsdl_reader *r, enum tsdl_kind kind)
{
    struct tsdl_type type = {.kind = (uint8_t)kind, .first = TSDL_NONE};
    tsdl_must(r, "{");
    attributes_read(r, &type);
    if (r->status == SKEIN_OK && (type.size == 0 || type.size > 64 ||
                                  (kind == TSDL_FLOAT && type.size != 32 && type.size != 64)))
        tsdl_fail(r, SKEIN_UNSUPPORTED, "a number has no size, or a float not 32 or 64 bits");
    if (type.align == 0)
        type.align = type.size % 8 == 0 ? 8 : 1;
    return type_put(r, &type);
}

static uint32_t string_read(struct tsdl_reader *r)
{
    struct tsdl_type type = {.kind = TSDL_STRING, .align = 8, .first = TSDL_NONE};
    if (tsdl_take(r, "{"))
        attributes_read(r, &type);
    type.align = 8;
    return type_put(r, &type);
}

/* ---- enumerations ---- */

static uint32_t label_put(struct tsdl_reader *r, const struct tsdl_label *label)
{
    struct tsdl *t = r->out;
    if (!array_grow(t->labels, t->label_count + 1, &t->label_cap)) {
        tsdl_fail(r, SKEIN_NO_MEMORY, "out of memory");
        return TSDL_NONE;
    }
    t->labels[t->label_count] = *label;
    return (uint32_t)t->label_count++;
}

static int64_t number_take(struct tsdl_reader *r)
{
    int64_t number = (int64_t)r->word.number;
    if (r->word.kind != WORD_NUMBER)
        tsdl_fail(r, SKEIN_CORRUPT, "there must be a number");
    tsdl_next(r);
    return number;
}

static uint32_t labels_read(struct tsdl_reader *r)
{
    uint32_t first = TSDL_NONE, last = TSDL_NONE;
    int64_t next = 0;
    while (r->status == SKEIN_OK && !tsdl_take(r, "}")) {
        struct tsdl_label label = {
            .name = tsdl_keep(r, r->word.text), .next = TSDL_NONE, .from = next, .to = next};
        if (r->word.kind != WORD_NAME && r->word.kind != WORD_TEXT)
            tsdl_fail(r, SKEIN_CORRUPT, "a label has no name");
        tsdl_next(r);
        if (tsdl_take(r, "=")) {
            label.from = label.to = number_take(r);
            if (tsdl_take(r, "..."))
                label.to = number_take(r);
        }
        next = (int64_t)((uint64_t)label.to + 1);
        if (r->status != SKEIN_OK)
            return TSDL_NONE;
        uint32_t at = label_put(r, &label);
        if (first == TSDL_NONE)
            first = at;
        else
            r->out->labels[last].next = at;
        last = at;
        if (!tsdl_take(r, ",") && !tsdl_is(r, "}"))
            tsdl_fail(r, SKEIN_CORRUPT, "labels are parted by commas");
    }
    return first;
}

/* "enum X", "struct X", "variant X": what comes behind the first word. */
static void tag_read(struct tsdl_reader *r, const char *kind, char tag[TSDL_TEXT_MAX + 16])
{
    tag[0] = '\0';
    if (r->word.kind != WORD_NAME)
        return;
    snprintf(tag, TSDL_TEXT_MAX + 16, "%s %s", kind, r->word.text);
    tsdl_next(r);
}

static uint32_t tagged(struct tsdl_reader *r, const char *tag)
{
    uint32_t type = name_find(r, tag);
    if (type == TSDL_NONE)
        tsdl_fail(r, SKEIN_CORRUPT, "a type is named that there is none of");
    return type;
}

static uint32_t enum_read(struct tsdl_reader *r)
{
    char tag[TSDL_TEXT_MAX + 16];
    struct tsdl_type type = {.kind = TSDL_ENUM, .first = TSDL_NONE, .element = TSDL_NONE};
    tag_read(r, "enum", tag);
    if (tsdl_take(r, ":"))
        type.element = tsdl_type_read(r);
    else if (tsdl_is(r, "{"))
        type.element = name_find(r, "int");
    if (!tsdl_take(r, "{"))
        return tagged(r, tag);
    if (r->status == SKEIN_OK &&
        (type.element == TSDL_NONE || r->out->types[type.element].kind != TSDL_INTEGER))
        tsdl_fail(r, SKEIN_CORRUPT, "an enumeration is of no integer");
    if (r->status != SKEIN_OK)
        return TSDL_NONE;
    type.align = r->out->types[type.element].align;
    type.first = labels_read(r);
    uint32_t made = type_put(r, &type);
    if (tag[0] != '\0')
        tsdl_name_add(r, tag, made);
    return made;
}

/* ---- structures and variants ---- */

static uint32_t field_put(struct tsdl_reader *r, uint32_t name, uint32_t type)
{
    struct tsdl *t = r->out;
    if (r->status != SKEIN_OK || !array_grow(t->fields, t->field_count + 1, &t->field_cap)) {
        tsdl_fail(r, SKEIN_NO_MEMORY, "out of memory");
        return TSDL_NONE;
    }
    t->fields[t->field_count] = (struct tsdl_field){.name = name, .type = type, .next = TSDL_NONE};
    return (uint32_t)t->field_count++;
}

/* Fields of a structure so far. */
struct field_list {
    uint32_t first, last, align; /* align: the most that one has */
};

/* "name[4]" of this type, as the next field. */
static void field_read(struct tsdl_reader *r, uint32_t type, struct field_list *list)
{
    uint32_t name;
    type = tsdl_declarator_read(r, type, &name);
    uint32_t at = r->status == SKEIN_OK ? field_put(r, name, type) : TSDL_NONE;
    if (r->status != SKEIN_OK)
        return;
    if (list->first == TSDL_NONE)
        list->first = at;
    else
        r->out->fields[list->last].next = at;
    list->last = at;
    if (r->out->types[type].align > list->align)
        list->align = r->out->types[type].align;
}

/* Fields up to the closing brace; *align becomes the most that one has. */
static uint32_t fields_read(struct tsdl_reader *r, uint32_t *align)
{
    struct field_list list = {.first = TSDL_NONE, .last = TSDL_NONE, .align = *align};
    while (r->status == SKEIN_OK && !tsdl_take(r, "}")) {
        if (tsdl_alias_read(r))
            continue;
        uint32_t type = tsdl_type_read(r);
        if (tsdl_take(r, ";"))
            continue; /* a type alone */
        do
            field_read(r, type, &list);
        while (tsdl_take(r, ","));
        tsdl_must(r, ";");
    }
    *align = list.align;
    return r->status == SKEIN_OK ? list.first : TSDL_NONE;
}

static uint32_t struct_read(struct tsdl_reader *r)
{
    char tag[TSDL_TEXT_MAX + 16];
    struct tsdl_type type = {.kind = TSDL_STRUCT, .align = 1, .first = TSDL_NONE};
    tag_read(r, "struct", tag);
    if (!tsdl_take(r, "{"))
        return tagged(r, tag);
    size_t scope = r->name_count;
    type.first = fields_read(r, &type.align);
    r->name_count = scope;
    if (tsdl_take(r, "align")) {
        tsdl_must(r, "(");
        struct tsdl_type least = {.align = 1};
        attribute_set(r, &least, "align", &r->word, NULL);
        tsdl_next(r);
        tsdl_must(r, ")");
        type.align = least.align > type.align ? least.align : type.align;
    }
    uint32_t made = type_put(r, &type);
    if (tag[0] != '\0')
        tsdl_name_add(r, tag, made);
    return made;
}

static uint32_t variant_read(struct tsdl_reader *r)
{
    char tag[TSDL_TEXT_MAX + 16];
    uint32_t align = 1;
    struct tsdl_type type = {.kind = TSDL_VARIANT, .align = 1, .name = TSDL_NONE};
    tag_read(r, "variant", tag);
    if (tsdl_take(r, "<")) {
        do { /* of a path, its last name */
            type.name = tsdl_keep(r, r->word.text);
            tsdl_next(r);
        } while (tsdl_take(r, "."));
        tsdl_must(r, ">");
    }
    if (!tsdl_take(r, "{")) { /* one that is known, with this tag */
        uint32_t known = tagged(r, tag);
        if (known == TSDL_NONE || type.name == TSDL_NONE)
            return known;
        type.first = r->out->types[known].first;
        return type_put(r, &type);
    }
    size_t scope = r->name_count;
    type.first = fields_read(r, &align);
    r->name_count = scope;
    uint32_t made = type_put(r, &type);
    if (tag[0] != '\0')
        tsdl_name_add(r, tag, made);
    return made;
}

/* ---- any type ---- */

/* The next word behind those in `text`, with a blank between. false: they are too long. */
static bool word_append(const struct tsdl_reader *r, char text[TSDL_TEXT_MAX + 1])
{
    size_t n = strlen(text), m = strlen(r->word.text), blank = n > 0;
    if (n + blank + m > TSDL_TEXT_MAX)
        return false;
    memcpy(text + n, " ", blank);
    memcpy(text + n + blank, r->word.text, m + 1);
    return true;
}

/* Words that name an alias: as few as make a name that is known. */
static uint32_t alias_read(struct tsdl_reader *r)
{
    char text[TSDL_TEXT_MAX + 1] = "";
    if (r->word.kind != WORD_NAME) {
        tsdl_fail(r, SKEIN_CORRUPT, "there must be a type");
        return TSDL_NONE;
    }
    while (r->word.kind == WORD_NAME && word_append(r, text)) {
        tsdl_next(r);
        uint32_t type = name_find(r, text);
        if (type != TSDL_NONE)
            return type;
    }
    tsdl_fail(r, SKEIN_CORRUPT, "a type is named that there is none of");
    return TSDL_NONE;
}

uint32_t tsdl_type_read(struct tsdl_reader *r)
{
    uint32_t type;
    if (r->status != SKEIN_OK || r->depth == TSDL_DEPTH_MAX) {
        tsdl_fail(r, SKEIN_UNSUPPORTED, "types lie deeper in each other than 32");
        return TSDL_NONE;
    }
    r->depth++;
    (void)tsdl_take(r, "const");
    if (tsdl_take(r, "integer"))
        type = number_type_read(r, TSDL_INTEGER);
    else if (tsdl_take(r, "floating_point"))
        type = number_type_read(r, TSDL_FLOAT);
    else if (tsdl_take(r, "string"))
        type = string_read(r);
    else if (tsdl_take(r, "enum"))
        type = enum_read(r);
    else if (tsdl_take(r, "struct"))
        type = struct_read(r);
    else if (tsdl_take(r, "variant"))
        type = variant_read(r);
    else
        type = alias_read(r);
    r->depth--;
    return r->status == SKEIN_OK ? type : TSDL_NONE;
}

#define BRACKETS_MAX 8

uint32_t tsdl_declarator_read(struct tsdl_reader *r, uint32_t type, uint32_t *name)
{
    struct tsdl_type arrays[BRACKETS_MAX];
    unsigned count = 0;
    *name = tsdl_keep(r, r->word.text);
    if (r->word.kind != WORD_NAME)
        tsdl_fail(r, SKEIN_CORRUPT, "a field has no name");
    tsdl_next(r);
    while (r->status == SKEIN_OK && tsdl_take(r, "[")) {
        struct tsdl_type array = {.kind = TSDL_ARRAY, .first = TSDL_NONE};
        if (r->word.kind == WORD_NUMBER) {
            array.length = r->word.number;
            tsdl_next(r);
        } else {
            array.kind = TSDL_SEQUENCE;
            do { /* of a path, its last name */
                array.name = tsdl_keep(r, r->word.text);
                tsdl_next(r);
            } while (tsdl_take(r, "."));
        }
        tsdl_must(r, "]");
        if (count == BRACKETS_MAX)
            tsdl_fail(r, SKEIN_UNSUPPORTED, "an array has more than 8 dimensions");
        else
            arrays[count++] = array;
    }
    while (count > 0 && r->status == SKEIN_OK) {
        struct tsdl_type array = arrays[--count];
        array.element = type;
        array.align = r->out->types[type].align;
        type = type_put(r, &array);
    }
    return r->status == SKEIN_OK ? type : TSDL_NONE;
}

static void typealias_read(struct tsdl_reader *r)
{
    char text[TSDL_TEXT_MAX + 1] = "";
    uint32_t type = tsdl_type_read(r);
    tsdl_must(r, ":=");
    while (r->status == SKEIN_OK && r->word.kind == WORD_NAME) {
        if (!word_append(r, text))
            tsdl_fail(r, SKEIN_UNSUPPORTED, "a type's name is too long");
        tsdl_next(r);
    }
    tsdl_must(r, ";");
    if (r->status == SKEIN_OK)
        tsdl_name_add(r, text, type);
}

static void typedef_read(struct tsdl_reader *r)
{
    uint32_t name, type = tsdl_type_read(r);
    type = tsdl_declarator_read(r, type, &name);
    tsdl_must(r, ";");
    if (r->status != SKEIN_OK)
        return;
    char text[TSDL_TEXT_MAX + 1];
    snprintf(text, sizeof text, "%s", tsdl_text(r->out, name));
    tsdl_name_add(r, text, type);
}

bool tsdl_alias_read(struct tsdl_reader *r)
{
    if (tsdl_take(r, "typealias"))
        typealias_read(r);
    else if (tsdl_take(r, "typedef"))
        typedef_read(r);
    else
        return false;
    return true;
}
