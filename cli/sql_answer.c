/* SPDX-License-Identifier: Apache-2.0
 *
 * See sql_answer.h. cJSON checks the text and holds its values, but its numbers are doubles: of 3 and
 * 3.0 it makes the same. So the digits of a number are read again in the text, in whose order the cells
 * are visited.
 */
#include "sql_answer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_out.h"
#include "json.h"

#define COLUMNS_MAX 4096
#define EXACT_MAX   9007199254740992.0 /* 2^53 */

enum column_type { TYPE_ANY, TYPE_INTEGER, TYPE_REAL, TYPE_BLOB }; /* text and null need no care */

struct column {
    const char *name;
    enum column_type type;
    struct sql_value value;
    struct buf bytes; /* of a blob */
};

struct sql_answer {
    cJSON *json;
    const cJSON *row; /* the next one */
    struct column *columns;
    size_t column_count, row_count, gap_count;
    struct skein_gap *gaps;
    const char *at, *end; /* of the text, behind the numbers that were read; NULL: not needed */
    bool more;
};

/* ---- the text ---- */

/* Behind the string that begins there. */
static const char *string_skip(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\' && end - p > 1)
            p++;
    return p < end ? p + 1 : end;
}

/* Where the value of the outermost member "rows" begins; `end` where there is none. */
static const char *rows_find(const char *p, const char *end)
{
    static const char key[] = "\"rows\"";
    const size_t n = sizeof key - 1;
    int depth = 0;
    while (p < end) {
        if (*p == '"') {
            const char *behind = string_skip(p, end);
            bool found = depth == 1 && (size_t)(behind - p) == n && memcmp(p, key, n) == 0;
            p = behind;
            while (found && p < end && strchr(" \t\r\n", *p) != NULL)
                p++;
            if (found && p < end && *p == ':')
                return p + 1;
            continue;
        }
        depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
        p++;
    }
    return end;
}

/* Whether the next number of the text has nothing but digits; moves behind it. */
static bool number_is_whole(struct sql_answer *a)
{
    const char *p = a->at;
    while (p < a->end && *p != '-' && (*p < '0' || *p > '9'))
        p = *p == '"' ? string_skip(p, a->end) : p + 1;
    const char *from = p;
    while (p < a->end && (*p == '-' || *p == '+' || *p == '.' || *p == 'e' || *p == 'E' ||
                          (*p >= '0' && *p <= '9')))
        p++;
    a->at = p;
    size_t n = (size_t)(p - from);
    return memchr(from, '.', n) == NULL && memchr(from, 'e', n) == NULL &&
           memchr(from, 'E', n) == NULL;
}

/* ---- values ---- */

static void number_take(struct sql_answer *a, struct column *column, double number)
{
    bool whole = column->type != TYPE_REAL && trunc(number) == number && fabs(number) <= EXACT_MAX;
    if (a->at != NULL && !number_is_whole(a))
        whole = false;
    if (whole)
        column->value = (struct sql_value){.type = SQL_INTEGER, .integer = (int64_t)number};
    else
        column->value = (struct sql_value){.type = SQL_REAL, .real = number};
}

static int nibble(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* false: these are no hexadecimal digits. */
static bool blob_take(struct column *column, const char *text, size_t n)
{
    buf_clear(&column->bytes);
    for (size_t i = 0; i + 1 < n; i += 2) {
        int high = nibble(text[i]), low = nibble(text[i + 1]);
        if (high < 0 || low < 0)
            return false;
        buf_put_u8(&column->bytes, (uint8_t)(high << 4 | low));
    }
    column->value = (struct sql_value){
        .type = SQL_BLOB, .text = (const char *)column->bytes.data, .len = column->bytes.len};
    return n % 2 == 0 && column->bytes.status == SKEIN_OK;
}

static bool integer_take(struct column *column, const char *text)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    column->value = (struct sql_value){.type = SQL_INTEGER, .integer = number};
    return errno == 0 && end != text && *end == '\0';
}

static void text_take(struct column *column, const char *text)
{
    size_t n = strlen(text);
    if (column->type == TYPE_INTEGER && integer_take(column, text))
        return;
    if (column->type == TYPE_BLOB && blob_take(column, text, n))
        return;
    column->value = (struct sql_value){.type = SQL_TEXT, .text = text, .len = n};
}

static bool cell_take(struct sql_answer *a, struct column *column, const cJSON *cell)
{
    if (cJSON_IsNull(cell))
        column->value = (struct sql_value){.type = SQL_NULL};
    else if (cJSON_IsNumber(cell))
        number_take(a, column, cell->valuedouble);
    else if (cJSON_IsString(cell))
        text_take(column, cell->valuestring);
    else
        return false;
    return true;
}

/* ---- rows ---- */

static const char *answer_name(void *context, size_t column)
{
    return ((const struct sql_answer *)context)->columns[column].name;
}

static void answer_value(void *context, size_t column, struct sql_value *value)
{
    *value = ((const struct sql_answer *)context)->columns[column].value;
}

static int answer_next(void *context)
{
    struct sql_answer *a = context;
    size_t i = 0;
    const cJSON *cell;
    if (a->row == NULL)
        return 0;
    if (!cJSON_IsArray(a->row))
        return SKEIN_CORRUPT;
    for (cell = a->row->child; cell != NULL && i < a->column_count; cell = cell->next, i++)
        if (!cell_take(a, &a->columns[i], cell))
            return SKEIN_CORRUPT;
    if (cell != NULL || i != a->column_count)
        return SKEIN_CORRUPT;
    a->row = a->row->next;
    return 1;
}

void sql_answer_rows(struct sql_answer *answer, struct sql_rows *rows)
{
    *rows = (struct sql_rows){answer, answer->column_count, answer_name, answer_next, answer_value};
}

size_t sql_answer_row_count(const struct sql_answer *answer)
{
    return answer->row_count;
}

bool sql_answer_has_more(const struct sql_answer *answer)
{
    return answer->more;
}

size_t sql_answer_gaps(const struct sql_answer *answer, const struct skein_gap **gaps,
                       uint64_t *left_out)
{
    *gaps = answer->gaps;
    *left_out = json_u64_at(answer->json, "gaps_left_out");
    return answer->gap_count;
}

/* ---- the whole ---- */

static enum column_type type_of(const char *name)
{
    return strcmp(name, "integer") == 0 ? TYPE_INTEGER
           : strcmp(name, "real") == 0  ? TYPE_REAL
           : strcmp(name, "blob") == 0  ? TYPE_BLOB
                                        : TYPE_ANY;
}

static bool columns_take(struct sql_answer *a, const cJSON *columns)
{
    const cJSON *column;
    cJSON_ArrayForEach(column, columns) {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(column, "name");
        if (!cJSON_IsString(name))
            return false;
        a->columns[a->column_count].name = name->valuestring;
        a->columns[a->column_count++].type = type_of(json_text_at(column, "type"));
    }
    return true;
}

static void gaps_take(struct sql_answer *a, const cJSON *gaps)
{
    const cJSON *gap;
    cJSON_ArrayForEach(gap, gaps) {
        const char *reason = json_text_at(gap, "reason");
        struct skein_gap *to = &a->gaps[a->gap_count++];
        to->reason = strcmp(reason, "missing") == 0 ? SKEIN_GAP_MISSING
                     : strcmp(reason, "torn") == 0  ? SKEIN_GAP_TORN
                                                    : SKEIN_GAP_BROKEN;
        to->what = json_text_at(gap, "text");
    }
}

static int answer_take(struct sql_answer *a, const char *text, size_t n, char error[256])
{
    a->json = json_parse(text, n, error, 256);
    if (a->json == NULL)
        return SKEIN_INVALID;
    const cJSON *columns = json_at(a->json, "columns"), *rows = json_at(a->json, "rows");
    const cJSON *gaps = json_at(a->json, "gaps");
    int count = cJSON_IsArray(columns) ? cJSON_GetArraySize(columns) : 0;
    snprintf(error, 256, "no columns and rows are in it");
    if (count <= 0 || count > COLUMNS_MAX || !cJSON_IsArray(rows))
        return SKEIN_INVALID;
    a->columns = calloc((size_t)count, sizeof *a->columns);
    a->gaps = calloc(1 + (size_t)cJSON_GetArraySize(gaps), sizeof *a->gaps);
    if (a->columns == NULL || a->gaps == NULL)
        return SKEIN_NO_MEMORY;
    if (!columns_take(a, columns))
        return SKEIN_INVALID;
    gaps_take(a, gaps);
    a->row = rows->child;
    a->row_count = (size_t)cJSON_GetArraySize(rows);
    a->more = cJSON_IsTrue(json_at(a->json, "more"));
    a->end = text + n;
    for (size_t i = 0; i < a->column_count; i++)
        if (a->columns[i].type == TYPE_ANY)
            a->at = rows_find(text, a->end);
    return SKEIN_OK;
}

int sql_answer_read(const char *text, size_t n, struct sql_answer **out, char error[256])
{
    *out = calloc(1, sizeof **out);
    error[0] = '\0';
    int status = *out != NULL ? answer_take(*out, text, n, error) : SKEIN_NO_MEMORY;
    if (status != SKEIN_OK)
        sql_answer_free(out);
    return status;
}

void sql_answer_free(struct sql_answer **answer)
{
    struct sql_answer *a = *answer;
    if (a == NULL)
        return;
    for (size_t i = 0; i < a->column_count; i++)
        buf_fini(&a->columns[i].bytes);
    cJSON_Delete(a->json);
    free(a->columns);
    free(a->gaps);
    free(a);
    *answer = NULL;
}
