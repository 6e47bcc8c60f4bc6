/* SPDX-License-Identifier: Apache-2.0
 *
 * A profile as pprof's profile.proto and as folded stacks. Pure; only reads the profile. Field
 * numbers are those of github.com/google/pprof/proto/profile.proto.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pack_zlib.h"
#include "protobuf_put.h"
#include "stack_profile_int.h"
#include "text_shown.h"
#include "utf8_scan.h"

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NS = 9,
    PROFILE_DURATION_NS = 10,
    PROFILE_DEFAULT_TYPE = 14,
    VALUE_TYPE = 1,
    VALUE_UNIT = 2,
    SAMPLE_LOCATIONS = 1,
    SAMPLE_VALUES = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_TEXT = 2,
    LABEL_NUMBER = 3,
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_END = 3,
    MAPPING_OFFSET = 4,
    MAPPING_PATH = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_NUMBER = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4
};

/* Words of the profile itself; they stand in front of its other strings. */
static const char *const words[] = {"",       "samples", "count", "cpu",         "nanoseconds",
                                    "waits",  "wait",    "wall",  "service",     "pid",
                                    "thread", "tid",     "event", "contentions", "contention"};
enum {
    WORD_NONE,
    WORD_SAMPLES,
    WORD_COUNT,
    WORD_CPU,
    WORD_NS,
    WORD_WAITS,
    WORD_WAIT,
    WORD_WALL,
    WORD_SERVICE,
    WORD_PID,
    WORD_THREAD,
    WORD_TID,
    WORD_EVENT,
    WORD_CONTENTIONS,
    WORD_CONTENTION,
    WORDS
};
_Static_assert(sizeof words / sizeof *words == WORDS, "one each");

struct profile_out {
    const struct stack_profile *p;
    struct buf *out;
    struct buf row, part;
    uint8_t *nameless; /* of each mapping: a location in it has no name */
};

/* A string's index in the profile. */
static uint64_t string_at(uint32_t number)
{
    return number == 0 ? WORD_NONE : WORDS + (uint64_t)number - 1;
}

static const uint8_t *row_bytes(const struct intern_table *table, uint32_t number, size_t *n)
{
    *n = table->entries[number - 1].len;
    return intern_table_bytes(table, number - 1);
}

static void types_put(struct profile_out *o)
{
    static const uint8_t types[][2] = {{WORD_SAMPLES, WORD_COUNT},
                                       {WORD_CPU, WORD_NS},
                                       {WORD_WAITS, WORD_COUNT},
                                       {WORD_WAIT, WORD_NS},
                                       {WORD_CONTENTIONS, WORD_COUNT},
                                       {WORD_CONTENTION, WORD_NS},
                                       {WORD_WALL, WORD_NS}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        pb_varint(&o->row, VALUE_TYPE, types[i][0]);
        pb_varint(&o->row, VALUE_UNIT, types[i][1]);
        pb_message(o->out, PROFILE_SAMPLE_TYPE, &o->row);
    }
    const struct profile_values *sum = &o->p->sum;
    uint8_t first = sum->cpu_ns > 0 ? WORD_CPU : sum->samples > 0 ? WORD_SAMPLES : WORD_WAIT;
    pb_varint(o->out, PROFILE_DEFAULT_TYPE, first);
    bool sampled = sum->samples > 0 && o->p->sampled_from_ns <= o->p->sampled_to_ns;
    uint64_t from_ns = sampled ? o->p->sampled_from_ns : o->p->from_ns;
    uint64_t to_ns = sampled ? o->p->sampled_to_ns : o->p->to_ns;
    if (from_ns > to_ns)
        return;
    pb_varint(o->out, PROFILE_TIME_NS, from_ns);
    pb_varint(o->out, PROFILE_DURATION_NS, to_ns - from_ns);
}

static void label_put(struct profile_out *o, unsigned key, unsigned field, uint64_t value)
{
    pb_varint(&o->part, LABEL_KEY, key);
    pb_varint(&o->part, field, value);
    pb_message(&o->row, SAMPLE_LABEL, &o->part);
}

static void samples_put(struct profile_out *o)
{
    const struct stack_profile *p = o->p;
    for (uint32_t i = 1; i <= p->rows.count && !profile_is_over(p, o->out->len); i++) {
        struct profile_row row;
        const struct profile_values *v = &p->values[i - 1];
        const uint64_t values[] = {v->samples,
                                   v->cpu_ns,
                                   v->waits,
                                   v->wait_ns,
                                   v->contentions,
                                   v->contention_ns,
                                   v->cpu_ns + v->wait_ns};
        size_t n;
        profile_get(p->rows, i, &row);
        const uint8_t *stack = row_bytes(&p->stacks, row.stack, &n);
        for (size_t at = sizeof(struct profile_stack); at < n; at += sizeof(uint32_t)) {
            uint32_t location;
            memcpy(&location, stack + at, sizeof location);
            buf_put_uleb(&o->part, location);
        }
        pb_message(&o->row, SAMPLE_LOCATIONS, &o->part);
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            buf_put_uleb(&o->part, values[k]);
        pb_message(&o->row, SAMPLE_VALUES, &o->part);
        label_put(o, WORD_SERVICE, LABEL_TEXT, string_at(row.service));
        label_put(o, WORD_PID, LABEL_NUMBER, row.pid);
        label_put(o, WORD_THREAD, LABEL_TEXT, string_at(row.thread));
        label_put(o, WORD_TID, LABEL_NUMBER, row.tid);
        label_put(o, WORD_EVENT, LABEL_TEXT, string_at(row.event));
        pb_message(o->out, PROFILE_SAMPLE, &o->row);
    }
}

static void locations_put(struct profile_out *o)
{
    const struct stack_profile *p = o->p;
    for (uint32_t i = 1; i <= p->locations.count; i++) {
        struct profile_location row;
        size_t n;
        const uint8_t *bytes = row_bytes(&p->locations, i, &n);
        profile_get(p->locations, i, &row);
        pb_varint(&o->row, LOCATION_ID, i);
        pb_varint(&o->row, LOCATION_MAPPING, row.mapping);
        pb_varint(&o->row, LOCATION_ADDRESS, row.address);
        for (size_t at = sizeof row; at < n; at += sizeof(struct profile_line)) {
            struct profile_line line;
            memcpy(&line, bytes + at, sizeof line);
            pb_varint(&o->part, LINE_FUNCTION, line.function);
            pb_varint(&o->part, LINE_NUMBER, line.line);
            pb_message(&o->row, LOCATION_LINE, &o->part);
        }
        if (row.mapping > 0 && n == sizeof row)
            o->nameless[row.mapping] = 1;
        pb_message(o->out, PROFILE_LOCATION, &o->row);
    }
}

static void mappings_put(struct profile_out *o)
{
    const struct stack_profile *p = o->p;
    for (uint32_t i = 1; i <= p->mappings.count; i++) {
        struct profile_mapping row;
        profile_get(p->mappings, i, &row);
        pb_varint(&o->row, MAPPING_ID, i);
        pb_varint(&o->row, MAPPING_START, row.start);
        pb_varint(&o->row, MAPPING_END, row.end);
        pb_varint(&o->row, MAPPING_OFFSET, row.offset);
        pb_varint(&o->row, MAPPING_PATH, string_at(row.path));
        pb_varint(&o->row, MAPPING_BUILD_ID, string_at(row.build_id));
        pb_varint(&o->row, MAPPING_HAS_FUNCTIONS, o->nameless[i] == 0);
        pb_message(o->out, PROFILE_MAPPING, &o->row);
    }
}

static void functions_put(struct profile_out *o)
{
    const struct stack_profile *p = o->p;
    for (uint32_t i = 1; i <= p->functions.count; i++) {
        struct profile_function row;
        profile_get(p->functions, i, &row);
        pb_varint(&o->row, FUNCTION_ID, i);
        pb_varint(&o->row, FUNCTION_NAME, string_at(row.name));
        pb_varint(&o->row, FUNCTION_SYSTEM_NAME, string_at(row.name));
        pb_varint(&o->row, FUNCTION_FILE, string_at(row.file));
        pb_message(o->out, PROFILE_FUNCTION, &o->row);
    }
}

/* Protobuf's strings are UTF-8; what is none becomes U+FFFD. */
static void string_put(struct profile_out *o, const uint8_t *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t point;
        size_t len = utf8_scan(text + i, n - i, &point);
        if (len > 0)
            buf_put(&o->row, text + i, len);
        else
            buf_put(&o->row, "\xef\xbf\xbd", 3);
        i += len > 0 ? len : 1;
    }
    pb_message(o->out, PROFILE_STRING, &o->row);
}

static void strings_put(struct profile_out *o)
{
    for (size_t i = 0; i < WORDS; i++)
        pb_text(o->out, PROFILE_STRING, words[i]);
    for (uint32_t i = 1; i <= o->p->strings.count; i++) {
        size_t n;
        const uint8_t *text = row_bytes(&o->p->strings, i, &n);
        string_put(o, text, n);
    }
}

int stack_profile_pprof(const struct stack_profile *profile, struct buf *out)
{
    struct buf plain = {0};
    struct profile_out o = {.p = profile, .out = &plain};
    o.nameless = calloc(profile->mappings.count + 1, 1);
    int status = SKEIN_NO_MEMORY;
    if (o.nameless != NULL) {
        types_put(&o);
        samples_put(&o);
        locations_put(&o);
        mappings_put(&o);
        functions_put(&o);
        strings_put(&o);
        status = plain.status;
        if (status == SKEIN_OK)
            status = profile_is_over(profile, plain.len) ? SKEIN_TOO_LARGE
                                                         : gzip_pack(out, plain.data, plain.len);
    }
    free(o.nameless);
    buf_fini(&o.row);
    buf_fini(&o.part);
    buf_fini(&plain);
    return status;
}

/* ---- folded ---- */

/* A name without what the form itself uses. */
static void name_put(struct buf *b, const uint8_t *name, size_t n)
{
    size_t at = b->len;
    text_shown_put(b, (const char *)name, n);
    for (; b->status == SKEIN_OK && at < b->len; at++)
        if (b->data[at] == ';')
            b->data[at] = ':';
}

static void text_put(struct buf *b, const struct stack_profile *p, uint32_t number)
{
    size_t n;
    if (number == 0)
        return;
    const uint8_t *text = row_bytes(&p->strings, number, &n);
    name_put(b, text, n);
}

/* "libc.so.6+0x28150" */
static void place_put(struct buf *b, const struct stack_profile *p,
                      const struct profile_location *location)
{
    struct profile_mapping mapping = {0};
    size_t n = 0;
    const uint8_t *path = (const uint8_t *)"";
    if (location->mapping > 0)
        profile_get(p->mappings, location->mapping, &mapping);
    if (mapping.path > 0)
        path = row_bytes(&p->strings, mapping.path, &n);
    for (size_t i = n; i-- > 0;)
        if (path[i] == '/') {
            path += i + 1;
            n -= i + 1;
            break;
        }
    if (n == 0) {
        buf_printf(b, "0x%" PRIx64, location->address);
        return;
    }
    name_put(b, path, n);
    buf_printf(b, "+0x%" PRIx64, location->address - mapping.start + mapping.offset);
}

/* Outermost first; what was inlined is marked as flamegraph.pl knows it. */
static void location_put(struct buf *b, const struct stack_profile *p, uint32_t number)
{
    struct profile_location row;
    size_t n;
    const uint8_t *bytes = row_bytes(&p->locations, number, &n);
    profile_get(p->locations, number, &row);
    if (n == sizeof row) {
        buf_put_u8(b, ';');
        place_put(b, p, &row);
    }
    for (size_t at = n; at > sizeof row; at -= sizeof(struct profile_line)) {
        struct profile_line line;
        struct profile_function function;
        memcpy(&line, bytes + at - sizeof line, sizeof line);
        profile_get(p->functions, line.function, &function);
        buf_put_u8(b, ';');
        text_put(b, p, function.name);
        if (at < n)
            buf_printf(b, "_[i]");
    }
}

static void row_put(struct buf *b, const struct stack_profile *p, const struct profile_row *row)
{
    struct profile_stack stack;
    size_t n;
    const uint8_t *bytes = row_bytes(&p->stacks, row->stack, &n);
    profile_get(p->stacks, row->stack, &stack);
    text_put(b, p, row->service);
    buf_printf(b, "[%" PRIu32 "];", row->pid);
    text_put(b, p, row->thread);
    if (stack.end != PARTITION_STACK_WHOLE && stack.end != PARTITION_STACK_LISTED)
        buf_printf(b, ";[...]");
    for (size_t at = n; at > sizeof stack; at -= sizeof(uint32_t)) {
        uint32_t location;
        memcpy(&location, bytes + at - sizeof location, sizeof location);
        location_put(b, p, location);
    }
}

/* Of a row; *any: whether it is of this kind at all. */
static uint64_t value_of(const struct profile_values *v, enum stack_profile_of of, bool *any)
{
    switch (of) {
    case STACK_PROFILE_WAITS:
        *any = v->waits > 0;
        return v->wait_ns;
    case STACK_PROFILE_WALL:
        *any = v->samples + v->waits > 0;
        return v->cpu_ns + v->wait_ns;
    case STACK_PROFILE_CONTENTION:
        *any = v->contentions > 0;
        return v->contention_ns;
    default:
        *any = v->samples > 0;
        return v->samples;
    }
}

int stack_profile_folded(const struct stack_profile *p, enum stack_profile_of of, struct buf *out)
{
    struct intern_table lines = {0};
    struct buf line = {0};
    uint64_t *sums = calloc(p->rows.count + 1, sizeof *sums);
    int status = sums == NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
    for (uint32_t i = 1; i <= p->rows.count && status == SKEIN_OK; i++) {
        struct profile_row row;
        const struct profile_values *v = &p->values[i - 1];
        bool fresh, any;
        profile_get(p->rows, i, &row);
        uint64_t value = value_of(v, of, &any);
        if (!any)
            continue;
        buf_clear(&line);
        row_put(&line, p, &row);
        int64_t at = line.status == SKEIN_OK ? intern_table_put(&lines, line.data, line.len, &fresh)
                                             : SKEIN_NO_MEMORY;
        if (at < 0)
            status = SKEIN_NO_MEMORY;
        else if (profile_is_over(p, lines.bytes.len))
            status = SKEIN_TOO_LARGE;
        else
            sums[at] += value;
    }
    for (size_t i = 0; i < lines.count && status == SKEIN_OK; i++) {
        buf_put(out, intern_table_bytes(&lines, i), lines.entries[i].len);
        buf_printf(out, " %" PRIu64 "\n", of == STACK_PROFILE_SAMPLES ? sums[i] : sums[i] / 1000);
    }
    intern_table_fini(&lines);
    buf_fini(&line);
    free(sums);
    return status == SKEIN_OK ? out->status : status;
}
