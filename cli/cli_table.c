/* SPDX-License-Identifier: Apache-2.0
 *
 * An array of JSON objects as aligned columns or as JSON, and one object as lines. One thread.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_out.h"

static const cJSON *member(const cJSON *object, const char *name, size_t n)
{
    const cJSON *child;
    cJSON_ArrayForEach(child, object)
    {
        if (child->string && strlen(child->string) == n && memcmp(child->string, name, n) == 0)
            return child;
    }
    return NULL;
}

const cJSON *json_at(const cJSON *object, const char *path)
{
    while (object && *path) {
        size_t n = strcspn(path, ".");
        object = cJSON_IsObject(object) ? member(object, path, n) : NULL;
        path += n;
        path += *path == '.';
    }
    return object;
}

const char *json_text_at(const cJSON *object, const char *path)
{
    const cJSON *found = json_at(object, path);
    return cJSON_IsString(found) ? found->valuestring : "";
}

uint64_t json_u64_at(const cJSON *object, const char *path)
{
    const cJSON *found = json_at(object, path);
    if (cJSON_IsString(found))
        return strtoull(found->valuestring, NULL, 10);
    if (!cJSON_IsNumber(found) || !(found->valuedouble > 0))
        return 0;
    return found->valuedouble < 1.8e19 ? (uint64_t)found->valuedouble : UINT64_MAX;
}

static void put_labels(struct buf *out, const cJSON *labels)
{
    const cJSON *label;
    bool first = true;
    cJSON_ArrayForEach(label, labels)
    {
        if (!label->string || !cJSON_IsString(label))
            continue;
        buf_printf(out, "%s", first ? "" : ",");
        text_put_safe(out, label->string, strlen(label->string));
        buf_printf(out, "=");
        text_put_safe(out, label->valuestring, strlen(label->valuestring));
        first = false;
    }
}

static void put_cell(struct buf *out, const cJSON *item, const struct table_column *column)
{
    const cJSON *value = json_at(item, column->path);
    if (!value || cJSON_IsNull(value)) {
        buf_printf(out, "-");
    } else if (column->kind == TABLE_BYTES) {
        text_put_bytes(out, json_u64_at(item, column->path));
    } else if (column->kind == TABLE_MS) {
        text_put_duration(out, json_u64_at(item, column->path) * 1000000);
    } else if (column->kind == TABLE_NS) {
        text_put_duration(out, json_u64_at(item, column->path));
    } else if (column->kind == TABLE_LABELS) {
        put_labels(out, value);
    } else if (cJSON_IsString(value)) {
        text_put_safe(out, value->valuestring, strlen(value->valuestring));
    } else if (cJSON_IsBool(value)) {
        buf_printf(out, "%s", cJSON_IsTrue(value) ? "yes" : "no");
    } else if (cJSON_IsNumber(value)) {
        buf_printf(out, "%.15g", value->valuedouble);
    }
}

/* Columns on a terminal: bytes that begin a UTF-8 character. */
static size_t width_of(const struct buf *cell)
{
    size_t width = 0;
    for (size_t i = 0; i < cell->len; i++)
        width += (cell->data[i] & 0xc0) != 0x80;
    return width;
}

static bool right_aligned(const struct table_column *column)
{
    return column->kind == TABLE_NUMBER || column->kind == TABLE_BYTES ||
           column->kind == TABLE_MS || column->kind == TABLE_NS;
}

static enum colour colour_of(const struct table_column *column, const struct buf *cell)
{
    static const struct {
        const char *word;
        enum colour colour;
    } words[] = {
        {"complete", COLOUR_GREEN},   {"live", COLOUR_GREEN},       {"online", COLOUR_GREEN},
        {"ok", COLOUR_GREEN},         {"passing", COLOUR_GREEN},    {"running", COLOUR_YELLOW},
        {"stopped", COLOUR_YELLOW},   {"incomplete", COLOUR_RED},   {"failed", COLOUR_RED},
        {"expired", COLOUR_RED},      {"failing", COLOUR_RED},      {"offline", COLOUR_RED},
        {"armed", COLOUR_GREEN},      {"active", COLOUR_GREEN},     {"firing", COLOUR_RED},
        {"throttled", COLOUR_YELLOW}, {"suspended", COLOUR_YELLOW}, {"paused", COLOUR_YELLOW},
        {"full", COLOUR_RED},         {"exceeded", COLOUR_RED},     {"fired", COLOUR_YELLOW}};
    for (size_t i = 0; column->kind == TABLE_STATUS && i < sizeof(words) / sizeof(*words); i++)
        if (strlen(words[i].word) == cell->len && memcmp(words[i].word, cell->data, cell->len) == 0)
            return words[i].colour;
    return COLOUR_PLAIN;
}

/* One line; `widths` of all columns are known. */
static void put_line(struct buf *out, const struct buf *cells, const struct table_column *columns,
                     size_t count, const size_t *widths, bool heading)
{
    for (size_t c = 0; c < count; c++) {
        size_t gap = widths[c] - width_of(&cells[c]);
        bool right = right_aligned(&columns[c]);
        enum colour colour = heading ? COLOUR_BOLD : colour_of(&columns[c], &cells[c]);
        if (right)
            buf_printf(out, "%*s", (int)gap, "");
        if (colour != COLOUR_PLAIN)
            buf_printf(out, "%s", colour_on(stdout, colour));
        buf_put(out, cells[c].data, cells[c].len);
        if (colour != COLOUR_PLAIN)
            buf_printf(out, "%s", colour_off(stdout));
        if (!right && c + 1 < count)
            buf_printf(out, "%*s", (int)gap, "");
        buf_printf(out, "%s", c + 1 < count ? "  " : "\n");
    }
}

/* Calls visit() for the heading and for each item with its cells. */
static void each_line(const cJSON *items, const struct table_column *columns, size_t count,
                      struct buf *out, size_t *widths)
{
    struct buf cells[TABLE_COLUMNS_MAX] = {{0}};
    const cJSON *item = NULL;
    do {
        for (size_t c = 0; c < count; c++) {
            buf_clear(&cells[c]);
            if (item)
                put_cell(&cells[c], item, &columns[c]);
            else
                buf_printf(&cells[c], "%s", columns[c].title);
            size_t width = width_of(&cells[c]);
            if (!out && width > widths[c])
                widths[c] = width;
        }
        if (out)
            put_line(out, cells, columns, count, widths, item == NULL);
        item = item ? item->next : items->child;
    } while (item);
    for (size_t c = 0; c < count; c++)
        buf_fini(&cells[c]);
}

int json_show(const cJSON *json)
{
    char *text = cJSON_Print(json);
    if (!text) {
        say_error("out of memory");
        return CLI_FAILED;
    }
    printf("%s\n", text);
    cJSON_free(text);
    return out_close();
}

int table_print(const cJSON *items, bool json, const struct table_column *columns,
                const char *empty)
{
    size_t widths[TABLE_COLUMNS_MAX] = {0};
    size_t count = 0;
    struct buf out = {0};
    if (json)
        return json_show(items);
    if (!items->child) {
        printf("%s\n", empty);
        return out_close();
    }
    while (count < TABLE_COLUMNS_MAX && columns[count].title)
        count++;
    each_line(items, columns, count, NULL, widths);
    each_line(items, columns, count, &out, widths);
    bool written = out_write(&out);
    buf_fini(&out);
    return written ? out_close() : CLI_FAILED;
}

int fields_print(const cJSON *object, const struct table_column *fields)
{
    struct buf out = {0}, cell = {0};
    size_t width = 0;
    for (const struct table_column *f = fields; f->title; f++)
        width = strlen(f->title) > width ? strlen(f->title) : width;
    for (const struct table_column *f = fields; f->title; f++) {
        const cJSON *value = json_at(object, f->path);
        if (!value || cJSON_IsNull(value))
            continue;
        buf_clear(&cell);
        put_cell(&cell, object, f);
        enum colour colour = colour_of(f, &cell);
        buf_printf(&out, "%-*s  %s", (int)width, f->title, colour_on(stdout, colour));
        buf_put(&out, cell.data, cell.len);
        buf_printf(&out, "%s\n", colour != COLOUR_PLAIN ? colour_off(stdout) : "");
    }
    bool written = out_write(&out);
    buf_fini(&out);
    buf_fini(&cell);
    return written ? out_close() : CLI_FAILED;
}
