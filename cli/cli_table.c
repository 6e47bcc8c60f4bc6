/* SPDX-License-Identifier: Apache-2.0
 *
 * An array of JSON objects as aligned columns or as JSON, and one object as lines. One thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_out.h"
#include "text_shown.h"
#include "utf8_scan.h"

static const cJSON *member(const cJSON *object, const char *name, size_t n)
{
    const cJSON *child;
    cJSON_ArrayForEach(child, object) {
        if (child->string != NULL && strlen(child->string) == n &&
            memcmp(child->string, name, n) == 0)
            return child;
    }
    return NULL;
}

const cJSON *json_at(const cJSON *object, const char *path)
{
    while (object != NULL && *path) {
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

static void labels_put(struct buf *out, const cJSON *labels)
{
    const cJSON *label;
    bool first = true;
    cJSON_ArrayForEach(label, labels) {
        if (label->string == NULL || !cJSON_IsString(label))
            continue;
        buf_printf(out, "%s", first ? "" : ",");
        shown_put_between(out, "", label->string, "=");
        shown_put(out, label->valuestring);
        first = false;
    }
}

static enum table_kind kind_of(const struct table_column *column)
{
    return (enum table_kind)(column->kind & ~TABLE_SPARE);
}

static void ago_put(struct buf *out, uint64_t seconds)
{
    static const struct {
        uint64_t seconds; /* of one */
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    size_t i = 0;
    while (i < 3 && seconds < 2 * units[i].seconds)
        i++;
    buf_printf(out, "%" PRIu64 " %s ago", seconds / units[i].seconds, units[i].unit);
}

/* The texts at several paths, with blanks between them; without those that are not there. */
static void joined_put(struct buf *out, const cJSON *item, const char *paths)
{
    bool first = true;
    for (const char *from = paths, *end; *from; from = *end ? end + 1 : end) {
        char path[64];
        end = from + strcspn(from, " ");
        snprintf(path, sizeof path, "%.*s", (int)(end - from), from);
        const char *text = json_text_at(item, path);
        if (!*text)
            continue;
        buf_printf(out, "%s", first ? "" : " ");
        shown_put(out, text);
        first = false;
    }
    if (first)
        buf_printf(out, "-");
}

static void cell_put(struct buf *out, const cJSON *item, const struct table_column *column)
{
    if (strchr(column->path, ' ') != NULL) {
        joined_put(out, item, column->path);
        return;
    }
    const cJSON *value = json_at(item, column->path);
    if (value == NULL || cJSON_IsNull(value)) {
        buf_printf(out, "-");
    } else if (kind_of(column) == TABLE_BYTES) {
        text_put_bytes(out, json_u64_at(item, column->path));
    } else if (kind_of(column) == TABLE_MS) {
        text_put_duration(out, json_u64_at(item, column->path) * 1000000);
    } else if (kind_of(column) == TABLE_AGO) {
        ago_put(out, json_u64_at(item, column->path) / 1000);
    } else if (kind_of(column) == TABLE_NS) {
        text_put_duration(out, json_u64_at(item, column->path));
    } else if (kind_of(column) == TABLE_LABELS) {
        labels_put(out, value);
    } else if (cJSON_IsString(value)) {
        shown_put(out, value->valuestring);
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
    return kind_of(column) == TABLE_NUMBER || kind_of(column) == TABLE_BYTES ||
           kind_of(column) == TABLE_MS || kind_of(column) == TABLE_NS ||
           kind_of(column) == TABLE_AGO;
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
        {"watched", COLOUR_YELLOW},   {"full", COLOUR_RED},         {"exceeded", COLOUR_RED},
        {"fired", COLOUR_YELLOW}};
    for (size_t i = 0; kind_of(column) == TABLE_STATUS && i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == cell->len && memcmp(words[i].word, cell->data, cell->len) == 0)
            return words[i].colour;
    return COLOUR_PLAIN;
}

/* How wide each column of a table is shown; 0: it is left out. */
struct layout {
    size_t count, widths[TABLE_COLUMNS_MAX];
};

/* The cell's first columns, with "…" for what is cut of a text; of an id nothing marks it. */
static void cut_put(struct buf *out, const struct buf *cell, size_t width, bool mark)
{
    size_t shown = 0, at = 0;
    for (; at < cell->len; at++) {
        if ((cell->data[at] & 0xc0) != 0x80 && shown++ == width - (mark ? 1 : 0))
            break;
    }
    buf_put(out, cell->data, at);
    if (mark)
        buf_printf(out, "\xe2\x80\xa6");
}

static void line_put(struct buf *out, const struct buf *cells, const struct table_column *columns,
                     const struct layout *layout, bool heading)
{
    bool first = true;
    size_t gap = 0; /* not written yet: nothing stands behind a line's last cell */
    for (size_t c = 0; c < layout->count; c++) {
        size_t width = layout->widths[c], own = width_of(&cells[c]);
        if (width == 0)
            continue;
        gap += first ? 0 : 2;
        first = false;
        size_t fill = own < width ? width - own : 0;
        bool right = right_aligned(&columns[c]);
        enum colour colour = heading ? COLOUR_BOLD : colour_of(&columns[c], &cells[c]);
        buf_printf(out, "%*s", (int)(gap + (right ? fill : 0)), "");
        if (colour != COLOUR_PLAIN)
            buf_printf(out, "%s", colour_on(stdout, colour));
        if (own > width)
            cut_put(out, &cells[c], width, heading || kind_of(&columns[c]) != TABLE_ID);
        else
            buf_put(out, cells[c].data, cells[c].len);
        if (colour != COLOUR_PLAIN)
            buf_printf(out, "%s", colour_off(stdout));
        gap = right ? 0 : fill;
    }
    buf_printf(out, "\n");
}

/* Measures all lines where `out` is NULL, else writes them. */
static void each_line(const cJSON *items, const struct table_column *columns, struct layout *layout,
                      struct buf *out)
{
    struct buf cells[TABLE_COLUMNS_MAX] = {{0}};
    const cJSON *item = NULL;
    do {
        for (size_t c = 0; c < layout->count; c++) {
            buf_clear(&cells[c]);
            if (item != NULL)
                cell_put(&cells[c], item, &columns[c]);
            else
                buf_printf(&cells[c], "%s", columns[c].title);
            size_t width = width_of(&cells[c]);
            if (out == NULL && width > layout->widths[c])
                layout->widths[c] = width;
        }
        if (out != NULL)
            line_put(out, cells, columns, layout, item == NULL);
        if (out != NULL && item != NULL)
            buf_printf(out, "%s", json_text_at(item, TABLE_BELOW));
        item = item != NULL ? item->next : items->child;
    } while (item != NULL);
    for (size_t c = 0; c < layout->count; c++)
        buf_fini(&cells[c]);
}

/* ---- fitting a terminal ---- */

#define ID_LEAST    8  /* digits of an id that are shown */
#define TEXT_LEAST  8  /* columns of a text that is cut */
#define TEXT_ENOUGH 24 /* of a text, before a spare column goes */

static int texts_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Digits that tell the ids of a column apart, and never less than ID_LEAST. */
static size_t digits_enough(const cJSON *items, const char *path, size_t all)
{
    size_t count = 0, most = ID_LEAST;
    const cJSON *item;
    const char **ids = calloc((size_t)cJSON_GetArraySize(items) + 1, sizeof *ids);
    if (ids == NULL)
        return all;
    cJSON_ArrayForEach(item, items)
        ids[count++] = json_text_at(item, path);
    qsort(ids, count, sizeof *ids, texts_compare);
    for (size_t i = 1; i < count; i++) {
        size_t same = 0;
        while (ids[i][same] && ids[i][same] == ids[i - 1][same])
            same++;
        if (ids[i][same] && same + 1 > most)
            most = same + 1;
    }
    free(ids);
    return most < all ? most : all;
}

static bool can_be_cut(const struct table_column *column)
{
    return kind_of(column) == TABLE_TEXT || kind_of(column) == TABLE_LABELS;
}

/* Columns of a line, texts counted as at most `text`. */
static size_t line_width(const struct layout *l, const struct table_column *columns, size_t text)
{
    size_t sum = 0;
    for (size_t c = 0; c < l->count; c++) {
        if (l->widths[c] == 0)
            continue;
        bool cut = can_be_cut(&columns[c]) && l->widths[c] > text;
        sum += (cut ? text : l->widths[c]) + (sum > 0 ? 2 : 0);
    }
    return sum;
}

/* The rightmost spare column goes. */
static bool spare_drop(struct layout *l, const struct table_column *columns)
{
    for (size_t c = l->count; c-- > 0;)
        if (l->widths[c] > 0 && (columns[c].kind & TABLE_SPARE)) {
            l->widths[c] = 0;
            return true;
        }
    return false;
}

/* The rightmost column goes, but for the first one, by which a line is known, and ids. */
static bool plain_drop(struct layout *l, const struct table_column *columns)
{
    for (size_t c = l->count; c-- > 1;)
        if (l->widths[c] > 0 && kind_of(&columns[c]) != TABLE_ID) {
            l->widths[c] = 0;
            return true;
        }
    return false;
}

/* The widest text gets a column narrower. */
static bool text_shrink(struct layout *l, const struct table_column *columns)
{
    size_t widest = TABLE_COLUMNS_MAX;
    for (size_t c = 0; c < l->count; c++)
        if (can_be_cut(&columns[c]) && l->widths[c] > TEXT_LEAST &&
            (widest == TABLE_COLUMNS_MAX || l->widths[c] >= l->widths[widest]))
            widest = c;
    if (widest == TABLE_COLUMNS_MAX)
        return false;
    l->widths[widest]--;
    return true;
}

static void layout_fit(struct layout *l, const cJSON *items, const struct table_column *columns,
                       size_t room)
{
    if (room == 0 || line_width(l, columns, SIZE_MAX) <= room)
        return;
    for (size_t c = 0; c < l->count; c++)
        if (kind_of(&columns[c]) == TABLE_ID)
            l->widths[c] = digits_enough(items, columns[c].path, l->widths[c]);
    while (line_width(l, columns, TEXT_ENOUGH) > room && spare_drop(l, columns)) {
    }
    while (line_width(l, columns, TEXT_LEAST) > room && plain_drop(l, columns)) {
    }
    while (line_width(l, columns, SIZE_MAX) > room && text_shrink(l, columns)) {
    }
}

static void left_out_put(struct buf *out, const struct table_column *columns,
                         const struct layout *l, size_t room)
{
    static const char words[] = "narrow terminal, left out: ";
    size_t used = 0;
    for (size_t c = 0; c < l->count && columns[c].title != NULL; c++) {
        if (l->widths[c] != 0)
            continue;
        size_t own = strlen(columns[c].title);
        if (used == 0) {
            buf_printf(out, "%s%s", colour_on(stdout, COLOUR_DIM), words);
            used = sizeof words - 1;
        } else if (used + 2 + own + 1 > room) { /* a comma may follow */
            buf_printf(out, ",\n");
            used = 0;
        } else {
            buf_printf(out, ", ");
            used += 2;
        }
        buf_printf(out, "%s", columns[c].title);
        used += own;
    }
    if (used > 0)
        buf_printf(out, "%s\n", colour_off(stdout));
}

int json_show(const cJSON *json)
{
    char *text = cJSON_Print(json);
    struct buf out = {0};
    if (text == NULL) {
        say_error("out of memory");
        return CLI_FAILED;
    }
    size_t n = strlen(text);
    for (size_t i = 0, plain; i < n; i = plain) {
        uint32_t point = 0;
        for (plain = i; plain < n && text[plain] > 0 && text[plain] < 0x7f;)
            plain++;
        buf_put(&out, text + i, plain - i);
        if (plain == n)
            break;
        size_t bytes = utf8_scan((const uint8_t *)text + plain, n - plain, &point);
        if (bytes == 0)
            buf_put(&out, "\xef\xbf\xbd", 3);
        else if (text_unseen(point)) /* in a string, as all that is no ASCII */
            text_json_digits(&out, point);
        else
            buf_put(&out, text + plain, bytes);
        plain += bytes > 0 ? bytes : 1;
    }
    cJSON_free(text);
    buf_put_u8(&out, '\n');
    bool written = out_write(&out);
    buf_fini(&out);
    return written ? out_close() : CLI_FAILED;
}

int table_print(const cJSON *items, bool json, const struct table_column *columns,
                const char *empty)
{
    struct layout layout = {0};
    struct buf out = {0};
    if (json)
        return json_show(items);
    if (items->child == NULL) {
        printf("%s\n", empty);
        return out_close();
    }
    while (layout.count < TABLE_COLUMNS_MAX && columns[layout.count].title != NULL)
        layout.count++;
    each_line(items, columns, &layout, NULL);
    size_t room = out_columns();
    layout_fit(&layout, items, columns, room);
    each_line(items, columns, &layout, &out);
    left_out_put(&out, columns, &layout, room);
    bool written = out_write(&out);
    buf_fini(&out);
    return written ? out_close() : CLI_FAILED;
}

int fields_print(const cJSON *object, const struct table_column *fields)
{
    struct buf out = {0}, cell = {0};
    size_t width = 0;
    for (const struct table_column *f = fields; f->title != NULL; f++)
        width = strlen(f->title) > width ? strlen(f->title) : width;
    for (const struct table_column *f = fields; f->title != NULL; f++) {
        const cJSON *value = json_at(object, f->path);
        if (value == NULL || cJSON_IsNull(value))
            continue;
        buf_clear(&cell);
        cell_put(&cell, object, f);
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
