/* SPDX-License-Identifier: Apache-2.0
 *
 * Debug annotations of Perfetto's track events, as values. What is nested becomes a text.
 */
#include <inttypes.h>
#include <string.h>

#include "import_perfetto_int.h"

#define DEPTH_MAX     12
#define SCRATCH_BYTES ((size_t)1 << 20) /* of an event's texts */

enum {
    NAME_IID = 1,
    VALUE_BOOL = 2,
    VALUE_UINT = 3,
    VALUE_INT = 4,
    VALUE_DOUBLE = 5,
    VALUE_TEXT = 6,
    VALUE_POINTER = 7,
    VALUE_JSON = 9,
    NAME = 10,
    VALUE_DICT = 11,
    VALUE_ARRAY = 12,
    VALUE_TEXT_IID = 17,
    INTERNED_NAMES = 3,
    INTERNED_TEXTS = 29
};

struct import_value *pf_value_add(struct pf_import *i, const char *name, uint8_t type)
{
    if (i->count == IMPORT_VALUES_MAX || name == NULL) {
        import_why(i->told, "at byte %" PRIu64 ": an event has more than %u arguments",
                   i->packet_at, IMPORT_VALUES_MAX);
        return NULL;
    }
    struct import_value *value = &i->values[i->count++];
    *value = (struct import_value){.name = name, .type = type};
    return value;
}

const char *pf_scratch(struct pf_import *i, const void *bytes, size_t n)
{
    n = n <= PARTITION_NAME_MAX ? n : PARTITION_NAME_MAX + 1;
    if (n + 1 > SCRATCH_BYTES - i->scratch.len)
        return NULL;
    char *at = (char *)i->scratch.data + i->scratch.len;
    if (n > 0)
        memcpy(at, bytes, n);
    at[n] = '\0';
    i->scratch.len += n + 1;
    return at;
}

static const char *name_of(struct pf_import *i, const struct pf_sequence *s,
                           struct pb_reader annotation)
{
    struct pb_field field;
    if (pb_find(annotation, NAME, &field) && field.wire == PB_BYTES)
        return pf_scratch(i, field.bytes, field.n);
    if (pb_find(annotation, NAME_IID, &field))
        return pf_interned_text(i, s, INTERNED_NAMES, field.value);
    return "";
}

/* What is nested, appended to a text: {name: value, name: [value, value]}. */
static void nested_print(struct pf_import *i, const struct pf_sequence *s,
                         struct pb_reader annotation, struct buf *out, unsigned depth)
{
    double number;
    struct pb_field field;
    const char *before = "";
    bool array = false, any = false;
    while (pb_next(&annotation, &field) && out->len < PARTITION_NAME_MAX) {
        struct pb_reader below = pb_message_of(&field);
        memcpy(&number, &field.value, sizeof number);
        if (field.number == VALUE_BOOL)
            buf_printf(out, "%s", field.value != 0 ? "true" : "false");
        else if (field.number == VALUE_UINT)
            buf_printf(out, "%" PRIu64, field.value);
        else if (field.number == VALUE_INT)
            buf_printf(out, "%" PRId64, (int64_t)field.value);
        else if (field.number == VALUE_DOUBLE)
            buf_printf(out, "%.17g", number);
        else if (field.number == VALUE_POINTER)
            buf_printf(out, "0x%" PRIx64, field.value);
        else if ((field.number == VALUE_TEXT || field.number == VALUE_JSON) &&
                 field.wire == PB_BYTES)
            buf_put(out, field.bytes, field.n);
        else if (field.number == VALUE_TEXT_IID)
            buf_printf(out, "%s", pf_interned_text(i, s, INTERNED_TEXTS, field.value));
        if (field.number != VALUE_DICT && field.number != VALUE_ARRAY)
            continue;
        array = field.number == VALUE_ARRAY;
        buf_printf(out, "%s", any ? before : array ? "[" : "{");
        any = true;
        before = ", ";
        if (!array)
            buf_printf(out, "%s: ", name_of(i, s, below));
        if (depth < DEPTH_MAX)
            nested_print(i, s, below, out, depth + 1);
        else
            buf_printf(out, "...");
    }
    if (any)
        buf_printf(out, "%s", array ? "]" : "}");
}

static void nested_take(struct pf_import *i, struct pf_sequence *s, const char *name,
                        struct pb_reader annotation)
{
    struct buf text = {0};
    nested_print(i, s, annotation, &text, 0);
    const char *kept = pf_scratch(i, text.data, text.len);
    struct import_value *value = kept != NULL ? pf_value_add(i, name, SKEIN_T_STR) : NULL;
    if (value != NULL) {
        value->text = kept;
        value->n = strlen(kept);
    }
    if (text.status != SKEIN_OK)
        i->status = SKEIN_NO_MEMORY;
    buf_fini(&text);
}

void pf_annotation_take(struct pf_import *i, struct pf_sequence *s, struct pb_reader annotation)
{
    static const uint8_t types[] = {[VALUE_BOOL] = SKEIN_T_BOOL,
                                    [VALUE_UINT] = SKEIN_T_U64,
                                    [VALUE_INT] = SKEIN_T_I64,
                                    [VALUE_DOUBLE] = SKEIN_T_F64,
                                    [VALUE_POINTER] = SKEIN_T_PTR};
    struct pb_field field;
    struct pb_reader at = annotation;
    const char *name = name_of(i, s, annotation), *text;
    while (pb_next(&at, &field)) {
        struct import_value *value;
        bool plain = field.number < sizeof types && types[field.number] != 0;
        text = NULL;
        if (plain && (value = pf_value_add(i, name, types[field.number])) != NULL)
            value->bits = field.value;
        if ((field.number == VALUE_TEXT || field.number == VALUE_JSON) && field.wire == PB_BYTES)
            text = pf_scratch(i, field.bytes, field.n);
        else if (field.number == VALUE_TEXT_IID)
            text = pf_interned_text(i, s, INTERNED_TEXTS, field.value);
        if (text != NULL && (value = pf_value_add(i, name, SKEIN_T_STR)) != NULL) {
            value->text = text;
            value->n = strlen(text);
        }
        if (field.number == VALUE_DICT || field.number == VALUE_ARRAY) {
            nested_take(i, s, name, annotation);
            return;
        }
    }
}
