/* SPDX-License-Identifier: Apache-2.0
 *
 * Last words; see cli_words.h. Whoever wrote them may have written anything. Owns nothing.
 */
#include "cli_words.h"

#include <inttypes.h>
#include <string.h>

#include "cli_out.h"
#include "utf8_scan.h"

#define TEXT_MAX    ((size_t)256 << 10) /* of a row: more than an agent keeps, also if all is U+FFFD */
#define LINES_SHOWN 20u
#define LINE_SHOWN  400u /* bytes */
#define TAB         "    "

/* ---- rows ---- */

static void clean_put(struct buf *out, const char *text, size_t n)
{
    uint32_t point;
    for (size_t i = 0, bytes; i < n; i += bytes) {
        bytes = utf8_scan((const uint8_t *)text + i, n - i, &point);
        if (bytes > 0 && point != 0) {
            buf_put(out, text + i, bytes);
        } else {
            buf_put(out, "\xef\xbf\xbd", 3);
            bytes = 1;
        }
    }
}

int words_row_find(const cJSON *rows, const char *process)
{
    const cJSON *row;
    int at = 0, found = -1;
    cJSON_ArrayForEach(row, rows) {
        if (strcmp(json_text_at(row, "end"), "words") == 0 &&
            strcmp(json_text_at(row, "process"), process) == 0)
            found = at;
        at++;
    }
    return found;
}

int words_piece_add(cJSON *rows, const char *process, const char *text, size_t n)
{
    cJSON *row = cJSON_GetArrayItem(rows, words_row_find(rows, process));
    struct buf whole = {0};
    int status = SKEIN_OK;
    if (row == NULL)
        return SKEIN_OK; /* no agent of ours wrote this */
    const char *before = json_text_at(row, "text");
    size_t length = strlen(before);
    if (length > TEXT_MAX || n > TEXT_MAX - length) {
        if (json_at(row, "cut") == NULL)
            cJSON_AddBoolToObject(row, "cut", true);
        return SKEIN_OK;
    }
    buf_put(&whole, before, length);
    clean_put(&whole, text, n);
    buf_put_u8(&whole, 0);
    cJSON *item = whole.status == SKEIN_OK ? cJSON_CreateString((const char *)whole.data) : NULL;
    if (item == NULL)
        status = SKEIN_NO_MEMORY;
    else if (json_at(row, "text") != NULL)
        cJSON_ReplaceItemInObject(row, "text", item);
    else
        cJSON_AddItemToObject(row, "text", item);
    buf_fini(&whole);
    return status;
}

/* ---- text ---- */

static uint64_t lines_count(const char *text)
{
    uint64_t count = 0;
    for (const char *at = text; *at != '\0'; count++) {
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return count;
}

/* One line of n bytes, without what a terminal would obey. */
static void line_put(struct buf *out, const char *line, size_t n)
{
    size_t shown = n < LINE_SHOWN ? n : LINE_SHOWN;
    if (shown > 0 && shown == n && line[n - 1] == '\r')
        n = --shown;
    while (shown < n && shown > 0 && ((uint8_t)line[shown] & 0xc0u) == 0x80)
        shown--; /* of a character that would be cut */
    buf_printf(out, "        | ");
    for (size_t i = 0, part; i < shown; i += part) {
        if (line[i] == '\t') {
            buf_printf(out, TAB);
            part = 1;
            continue;
        }
        const char *tab = memchr(line + i, '\t', shown - i);
        part = tab != NULL ? (size_t)(tab - line) - i : shown - i;
        text_shown_put(out, line + i, part);
    }
    if (shown < n)
        buf_printf(out, " ... (%zu more bytes)", n - shown);
    buf_printf(out, "\n");
}

static void file_put(struct buf *out, const cJSON *row, const char *before)
{
    const char *file = json_text_at(row, "file");
    if (*file != '/')
        return;
    buf_printf(out, "%s", before);
    shown_put(out, file);
}

static void missing_put(struct buf *out, const cJSON *row)
{
    const char *missing = json_text_at(row, "missing");
    shown_put_between(out, "no last words: standard error was ", missing, "");
    file_put(out, row, ", ");
    buf_printf(out, "\n");
}

void words_row_put(struct buf *out, const cJSON *row)
{
    const char *text = json_text_at(row, "text");
    uint64_t lines = lines_count(text), skip = lines > LINES_SHOWN ? lines - LINES_SHOWN : 0;
    uint64_t before = json_u64_at(row, "before");
    if (*json_text_at(row, "missing") != '\0') {
        missing_put(out, row);
        return;
    }
    buf_printf(out, "its last words, ");
    if (skip > 0)
        buf_printf(out, "%" PRIu64 " of ", lines - skip);
    buf_printf(out, "%" PRIu64 " %s", lines, lines == 1 ? "line" : "lines");
    file_put(out, row, " of ");
    if (skip > 0)
        buf_printf(out, "; skein threads -o json has all");
    if (before > 0)
        buf_printf(out, "; %" PRIu64 " bytes before them were not kept", before);
    if (json_at(row, "cut") != NULL)
        buf_printf(out, "; not all of them");
    if (strcmp(json_text_at(row, "since"), "start") != 0)
        buf_printf(out, "; some may be of others, from before it began");
    buf_printf(out, "\n");
    for (const char *at = text; *at != '\0'; at += *at == '\n') {
        size_t n = strcspn(at, "\n");
        if (skip > 0)
            skip--;
        else
            line_put(out, at, n);
        at += n;
    }
}
