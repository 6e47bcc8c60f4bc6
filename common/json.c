/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the reading of untrusted JSON (over cJSON) and its printing. Pure functions; any thread. A
 * scan of our own goes first: cJSON takes a thousand levels, raw control characters, broken UTF-8,
 * numbers like 01 and a byte order mark, cuts text at \u0000, and does not say where an error is.
 * Members that are there twice are refused behind it: one reader takes the first, another the last.
 * Printing is our own as well:
 * cJSON writes 10^15 as 1e+15, and passes broken UTF-8 on.
 */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "digits.h"
#include "text_shown.h"
#include "units.h"
#include "utf8_scan.h"

#define EXACT_MAX (UINT64_C(1) << 53)
enum { LEVELS_MAX = 64 };

/* ---- reading ---- */

/* What is wrong before cJSON sees the text; NULL when nothing is, else *at points there. */
struct scan {
    const uint8_t *at, *end;
};

/* One string, from its opening quote to past its closing one. */
static const char *scan_string(struct scan *s)
{
    s->at++;
    while (s->at < s->end && *s->at != '"') {
        if (*s->at < ' ')
            return "control character in text";
        size_t left = (size_t)(s->end - s->at);
        if (*s->at == '\\') {
            if (left >= 6 && memcmp(s->at, "\\u0000", 6) == 0)
                return "\\u0000 in text";
            if (left < 2)
                return "text does not end";
            s->at++; /* the escaped character itself is looked at next, unless it ends or escapes */
            if (*s->at == '"' || *s->at == '\\')
                s->at++;
            continue;
        }
        uint32_t point;
        size_t n = utf8_scan(s->at, left, &point);
        if (n == 0)
            return "text is not UTF-8";
        s->at += n;
    }
    if (s->at == s->end)
        return "text does not end";
    s->at++;
    return NULL;
}

static void digits_skip(struct scan *s)
{
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
}

static bool at_one_of(const struct scan *s, const char *letters)
{
    return s->at < s->end && *s->at != 0 && strchr(letters, *s->at) != NULL;
}

/* One number, from its sign or first digit to behind it. */
static const char *scan_number(struct scan *s)
{
    const char *wrong = "not a number of JSON";
    s->at += *s->at == '-';
    if (!at_one_of(s, "0123456789"))
        return wrong;
    if (*s->at == '0')
        s->at++; /* and no digit behind it */
    else
        digits_skip(s);
    if (at_one_of(s, ".")) {
        s->at++;
        if (!at_one_of(s, "0123456789"))
            return wrong;
        digits_skip(s);
    }
    if (at_one_of(s, "eE")) {
        s->at++;
        s->at += at_one_of(s, "+-");
        if (!at_one_of(s, "0123456789"))
            return wrong;
        digits_skip(s);
    }
    return at_one_of(s, "0123456789.eE+-") ? wrong : NULL;
}

static const char *scan_levels(struct scan *s)
{
    unsigned levels = 0;
    while (s->at < s->end) {
        uint8_t c = *s->at;
        if (c == '"' || c == '-' || (c >= '0' && c <= '9')) {
            const char *wrong = c == '"' ? scan_string(s) : scan_number(s);
            if (wrong != NULL)
                return wrong;
            continue;
        }
        if (c >= 0x80)
            return "not JSON: a letter that belongs into text";
        if (c < ' ' && c != '\t' && c != '\n' && c != '\r')
            return "control character";
        if ((c == '{' || c == '[') && ++levels > LEVELS_MAX)
            return "more than 64 levels";
        if ((c == '}' || c == ']') && levels > 0)
            levels--;
        s->at++;
    }
    return NULL;
}

static int names_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The name that an object has twice; NULL: none. false: no memory. */
static bool twice_in(const cJSON *object, const char **twice)
{
    const char *few[16], **names = few;
    size_t count = 0, at = 0;
    *twice = NULL;
    for (const cJSON *item = object->child; item != NULL; item = item->next)
        count++;
    if (count > sizeof few / sizeof *few && (names = malloc(count * sizeof *names)) == NULL)
        return false;
    for (const cJSON *item = object->child; item != NULL; item = item->next)
        names[at++] = item->string;
    if (count > 1)
        qsort(names, count, sizeof *names, names_compare);
    for (at = 1; at < count && *twice == NULL; at++)
        if (strcmp(names[at - 1], names[at]) == 0)
            *twice = names[at];
    if (names != few)
        free(names);
    return true;
}

/* The same of all objects in it; at most LEVELS_MAX deep. */
static bool twice_below(const cJSON *json, const char **twice)
{
    *twice = NULL;
    if (cJSON_IsObject(json) && (!twice_in(json, twice) || *twice != NULL))
        return *twice != NULL;
    for (const cJSON *item = json->child; item != NULL; item = item->next)
        if (!twice_below(item, twice) || *twice != NULL)
            return *twice != NULL;
    return true;
}

static void place_say(const char *text, const uint8_t *at, const char *wrong, char *error,
                      size_t error_bytes)
{
    size_t line = 1, column = 1;
    for (const uint8_t *p = (const uint8_t *)text; p < at; p++) {
        column = *p == '\n' ? 1 : column + 1;
        line += *p == '\n';
    }
    snprintf(error, error_bytes, "line %zu, column %zu: %s", line, column, wrong);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

cJSON *json_parse(const char *text, size_t n, char *error, size_t error_bytes)
{
    const uint8_t *start = (const uint8_t *)text;
    struct scan s = {start, start + n};
    if (n == 0) {
        snprintf(error, error_bytes, "line 1, column 1: no JSON at all");
        return NULL;
    }
    const char *wrong = scan_levels(&s);
    if (wrong != NULL) {
        place_say(text, s.at, wrong, error, error_bytes);
        return NULL;
    }
    const char *end = NULL;
    cJSON *json = cJSON_ParseWithLengthOpts(text, n, &end, 0);
    if (json == NULL) {
        place_say(text, (const uint8_t *)(end != NULL ? end : text), "not JSON", error,
                  error_bytes);
        return NULL;
    }
    while (end < text + n && is_space(*end))
        end++;
    if (end < text + n) {
        place_say(text, (const uint8_t *)end, "something follows the JSON", error, error_bytes);
        cJSON_Delete(json);
        return NULL;
    }
    const char *twice;
    if (twice_below(json, &twice) && twice == NULL)
        return json;
    if (twice != NULL)
        snprintf(error, error_bytes, "%.64s: is given twice", twice);
    else
        snprintf(error, error_bytes, "no memory");
    cJSON_Delete(json);
    return NULL;
}

/* Keeps the first failure only: later ones often follow from it. */
__attribute__((format(printf, 4, 5))) static void
json_fail(struct json_reader *r, const char *path, const char *key, const char *format, ...)
{
    if (r->error[0])
        return;
    int n = snprintf(r->error, sizeof r->error, "%s%s%s: ", path, path[0] ? "." : "", key);
    if (n < 0 || (size_t)n >= sizeof r->error)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(r->error + n, sizeof r->error - (size_t)n, format, args);
    va_end(args);
}

/* The member, or NULL where it is absent (a failure if required) or r has failed before. */
static const cJSON *json_find(struct json_reader *r, const cJSON *object, const char *path,
                              const char *key, bool required)
{
    if (r->error[0])
        return NULL;
    if (!cJSON_IsObject(object)) {
        snprintf(r->error, sizeof r->error, "%s: must be an object", path[0] ? path : "(root)");
        return NULL;
    }
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (cJSON_IsNull(item))
        item = NULL; /* null is a way to say "not given" */
    if (item == NULL && required)
        json_fail(r, path, key, "is missing");
    return item;
}

const char *json_str(struct json_reader *r, const cJSON *object, const char *path, const char *key,
                     bool required, const char *otherwise, size_t max_bytes)
{
    const cJSON *item = json_find(r, object, path, key, required);
    if (item == NULL)
        return otherwise;
    if (!cJSON_IsString(item)) {
        json_fail(r, path, key, "must be text");
        return otherwise;
    }
    if (strlen(item->valuestring) > max_bytes) {
        json_fail(r, path, key, "must be text of at most %zu bytes", max_bytes);
        return otherwise;
    }
    return item->valuestring;
}

static bool digits_value(const char *text, uint64_t *out)
{
    return digits_take(&text, out) && !*text;
}

/* A text is digits, where numbers up to `max` would not be exact, or, where the member has a unit,
 * a number with a unit: smaller digits without one may mean either, and are refused. */
static bool item_value(const cJSON *item, enum unit unit, uint64_t max, uint64_t *out)
{
    if (cJSON_IsString(item) && unit != UNIT_NONE &&
        unit_parse(item->valuestring, unit, out) == SKEIN_OK)
        return true;
    if (cJSON_IsString(item))
        return max > EXACT_MAX && digits_value(item->valuestring, out) &&
               (unit == UNIT_NONE || *out > EXACT_MAX);
    if (!cJSON_IsNumber(item))
        return false;
    double d = item->valuedouble;
    if (!(d >= 0 && d <= (double)EXACT_MAX) || floor(d) < d)
        return false;
    *out = (uint64_t)d;
    return true;
}

uint64_t json_u64(struct json_reader *r, const cJSON *object, const char *path, const char *key,
                  bool required, uint64_t otherwise, uint64_t min, uint64_t max)
{
    const cJSON *item = json_find(r, object, path, key, required);
    if (item == NULL)
        return otherwise;
    uint64_t v;
    enum unit unit = unit_of_name(key);
    if (item_value(item, unit, max, &v) && v >= min && v <= max)
        return v;
    if (cJSON_IsNumber(item) && item->valuedouble > (double)EXACT_MAX && max > EXACT_MAX)
        json_fail(r, path, key, "a number above 2^53 must be written as a string of digits");
    else if (unit == UNIT_NONE)
        json_fail(r, path, key, "must be a whole number from %" PRIu64 " to %" PRIu64, min, max);
    else if (cJSON_IsString(item) && unit_parse(item->valuestring, unit, &v) == SKEIN_TRUNCATED)
        json_fail(r, path, key,
                  "\"%.20s\" has no unit: write the number alone for %s, or \"%.20s%s\"",
                  item->valuestring, unit_words(unit), item->valuestring, unit_likely(unit));
    else
        json_fail(r, path, key,
                  "must be a whole number from %" PRIu64 " to %" PRIu64
                  " (%s), or text with a unit such as \"%s\"",
                  min, max, unit_words(unit), unit_example(unit));
    return otherwise;
}

int64_t json_i64(struct json_reader *r, const cJSON *object, const char *path, const char *key,
                 bool required, int64_t otherwise)
{
    const cJSON *item = json_find(r, object, path, key, required);
    if (item == NULL)
        return otherwise;
    bool negative = cJSON_IsString(item) ? item->valuestring[0] == '-' : item->valuedouble < 0;
    cJSON size = *item;
    size.valuedouble = negative ? -item->valuedouble : item->valuedouble;
    if (cJSON_IsString(item) && negative)
        size.valuestring++;
    uint64_t v;
    if (item_value(&size, UNIT_NONE, INT64_MAX, &v) && v <= INT64_MAX)
        return negative ? -(int64_t)v : (int64_t)v;
    json_fail(r, path, key, "must be a whole number of at most 63 bits, above 2^53 as a string");
    return otherwise;
}

bool json_bool(struct json_reader *r, const cJSON *object, const char *path, const char *key,
               bool otherwise)
{
    const cJSON *item = json_find(r, object, path, key, JSON_OPTIONAL);
    if (item == NULL)
        return otherwise;
    if (!cJSON_IsBool(item)) {
        json_fail(r, path, key, "must be true or false");
        return otherwise;
    }
    return cJSON_IsTrue(item);
}

const cJSON *json_object(struct json_reader *r, const cJSON *object, const char *path,
                         const char *key, bool required)
{
    const cJSON *item = json_find(r, object, path, key, required);
    if (item != NULL && !cJSON_IsObject(item)) {
        json_fail(r, path, key, "must be an object");
        return NULL;
    }
    return item;
}

const cJSON *json_array(struct json_reader *r, const cJSON *object, const char *path,
                        const char *key, bool required)
{
    const cJSON *item = json_find(r, object, path, key, required);
    if (item != NULL && !cJSON_IsArray(item)) {
        json_fail(r, path, key, "must be a list");
        return NULL;
    }
    return item;
}

static bool is_listed(const char *key, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        if (strcmp(key, *keys) == 0)
            return true;
    return false;
}

void json_known(struct json_reader *r, const cJSON *object, const char *path,
                const char *const *keys)
{
    if (r->error[0] || !cJSON_IsObject(object))
        return;
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        if (is_listed(item->string, keys))
            continue;
        struct buf known;
        buf_init(&known);
        for (size_t i = 0; keys[i] != NULL; i++)
            buf_printf(&known, "%s%s", i ? ", " : "", keys[i]);
        const char *list = known.len > 0 ? (const char *)known.data : "none";
        json_fail(r, path, item->string, "unknown key; known are: %s", list);
        buf_fini(&known);
        return;
    }
}

/* ---- writing ---- */

void json_add_u64(cJSON *object, const char *key, uint64_t v)
{
    char digits[24];
    if (v <= EXACT_MAX) {
        cJSON_AddNumberToObject(object, key, (double)v);
        return;
    }
    snprintf(digits, sizeof digits, "%" PRIu64, v);
    cJSON_AddStringToObject(object, key, digits);
}

void json_add_i64(cJSON *object, const char *key, int64_t v)
{
    char digits[24];
    if (v >= -(int64_t)EXACT_MAX && v <= (int64_t)EXACT_MAX) {
        cJSON_AddNumberToObject(object, key, (double)v);
        return;
    }
    snprintf(digits, sizeof digits, "%" PRId64, v);
    cJSON_AddStringToObject(object, key, digits);
}

void json_add_time(cJSON *object, const char *key, uint64_t realtime_ns)
{
    char text[CLOCK_TEXT_BYTES];
    clock_text(realtime_ns, text);
    cJSON_AddStringToObject(object, key, text);
}

void json_add_text_some(cJSON *object, const char *key, const char *text)
{
    if (text[0] != '\0')
        cJSON_AddStringToObject(object, key, text);
}

void json_add_u64_some(cJSON *object, const char *key, uint64_t v)
{
    if (v != 0)
        json_add_u64(object, key, v);
}

void json_add_time_some(cJSON *object, const char *key, uint64_t realtime_ns)
{
    if (realtime_ns != 0)
        json_add_time(object, key, realtime_ns);
}

void json_add_flag(cJSON *object, const char *key, bool flag)
{
    if (flag)
        cJSON_AddTrueToObject(object, key);
}

static void escaped_put(struct buf *b, uint32_t c)
{
    static const char names[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (size_t i = 0; i + 1 < sizeof names; i += 2) {
        if (c == (uint32_t)names[i]) {
            buf_put_u8(b, '\\');
            buf_put_u8(b, (uint8_t)names[i + 1]);
            return;
        }
    }
    text_json_digits(b, c);
}

void json_put_text(struct buf *b, const char *text, size_t n)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + n, *run = p;
    buf_put_u8(b, '"');
    /* Runs of bytes that need no change go in at once. */
    while (p < end) {
        uint32_t point = 0;
        size_t length = utf8_scan(p, (size_t)(end - p), &point);
        bool seen = point >= ' ' && (point < 0x7f || !text_unseen(point));
        if (length > 0 && seen && point != '"' && point != '\\') {
            p += length;
            continue;
        }
        buf_put(b, run, (size_t)(p - run));
        if (length == 0)
            buf_put(b, "\xef\xbf\xbd", 3); /* U+FFFD */
        else
            escaped_put(b, point);
        p += length > 0 ? length : 1;
        run = p;
    }
    buf_put(b, run, (size_t)(p - run));
    buf_put_u8(b, '"');
}

static void number_put(struct buf *b, double d)
{
    if (!isfinite(d))
        buf_put(b, "null", 4); /* JSON has no word for it */
    else if (fabs(d) <= (double)EXACT_MAX && floor(d) >= d)
        buf_printf(b, "%.0f", d);
    else
        buf_printf(b, "%.17g", d);
}

static void item_print(const cJSON *item, struct buf *b, unsigned level);

static void members_print(const cJSON *item, struct buf *b, unsigned level)
{
    bool object = cJSON_IsObject(item);
    buf_put_u8(b, object ? '{' : '[');
    for (const cJSON *child = item->child; child != NULL; child = child->next) {
        if (child != item->child)
            buf_put_u8(b, ',');
        if (object) {
            json_put_text(b, child->string, strlen(child->string));
            buf_put_u8(b, ':');
        }
        item_print(child, b, level + 1);
    }
    buf_put_u8(b, object ? '}' : ']');
}

/* Recurses at most LEVELS_MAX deep. */
static void item_print(const cJSON *item, struct buf *b, unsigned level)
{
    if (level > LEVELS_MAX) {
        if (b->status == SKEIN_OK)
            b->status = SKEIN_TOO_LARGE;
        return;
    }
    if (cJSON_IsObject(item) || cJSON_IsArray(item))
        members_print(item, b, level);
    else if (cJSON_IsString(item))
        json_put_text(b, item->valuestring, strlen(item->valuestring));
    else if (cJSON_IsNumber(item))
        number_put(b, item->valuedouble);
    else if (cJSON_IsRaw(item))
        buf_put(b, item->valuestring, strlen(item->valuestring));
    else if (cJSON_IsBool(item))
        buf_printf(b, "%s", cJSON_IsTrue(item) ? "true" : "false");
    else
        buf_put(b, "null", 4);
}

void json_print(const cJSON *json, struct buf *b)
{
    item_print(json, b, 0);
}
