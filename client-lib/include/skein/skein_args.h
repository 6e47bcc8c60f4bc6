/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of an event: captured before its record is opened (skein_field_...), then put into it
 * (skein_put_...). Included by skein_inline.h; not for reading. Any thread; signal-safe.
 */
#ifndef SKEIN_ARGS_H
#define SKEIN_ARGS_H

#ifdef __cplusplus
extern "C" {
#endif

SKEIN_ALWAYS struct skein_field skein_field_of(uint64_t a, uint64_t b)
{
    struct skein_field field;
    field.a = a;
    field.b = b;
    return field;
}
SKEIN_ALWAYS struct skein_field skein_field_i64(int64_t value)
{
    return skein_field_of((uint64_t)value << 1 ^ (uint64_t)(value >> 63), 0);
}
SKEIN_ALWAYS struct skein_field skein_field_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return skein_field_of(bits, 0);
}
SKEIN_ALWAYS struct skein_field skein_field_seq(const struct skein_sequence *sequence)
{
    return skein_field_of(sequence->resource, sequence->number);
}

/* Hides where the text comes from: the bound may well exceed a short buffer, which its NUL ends. */
SKEIN_ALWAYS size_t skein_text_bytes(const char *text)
{
    __asm__("" : "+r"(text));
    const char *end = (const char *)memchr(text, 0, SKEIN_STR_MAX + 1); /* strnlen is not ISO C */
    return end ? (size_t)(end - text) : SKEIN_STR_MAX + 1;
}
SKEIN_ALWAYS struct skein_field skein_field_str(const char *text)
{
    size_t bytes = 0;
    if (text)
        bytes = __builtin_constant_p(__builtin_strlen(text)) ? __builtin_strlen(text)
                                                             : skein_text_bytes(text);
    if (SKEIN_UNLIKELY(bytes > SKEIN_STR_MAX))
        bytes = SKEIN_STR_MAX + SKEIN_STR_CUT;
    return skein_field_of((uint64_t)(uintptr_t)text, bytes);
}

SKEIN_ALWAYS uint8_t *skein_put_f64(uint8_t *p, struct skein_field field)
{
    memcpy(p, &field.a, 8);
    return p + 8;
}
SKEIN_ALWAYS uint8_t *skein_put_str(uint8_t *p, struct skein_field field)
{
    size_t bytes = field.b & (SKEIN_STR_CUT - 1);
    p = skein_put_leb(p, field.b << 1 | 1);
    if (bytes)
        memcpy(p, (const void *)(uintptr_t)field.a, bytes);
    return p + bytes;
}
SKEIN_ALWAYS uint8_t *skein_put_sym(const struct skein_lane *lane, uint8_t *p,
                                    struct skein_field field)
{
    struct skein_string *string = (struct skein_string *)(uintptr_t)field.a;
    uint64_t id = skein_site_load(&string->id);
    id ^= lane->string_epoch;
    if (SKEIN_UNLIKELY(id > UINT32_MAX))
        return skein_put_sym_slow(lane, p, string);
    return skein_put_leb(p, id << 1);
}

#ifdef __cplusplus
}
#endif
#endif
