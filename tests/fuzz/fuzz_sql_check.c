/* SPDX-License-Identifier: Apache-2.0
 * Answers of SQL from a process that is not believed: what is taken is JSON to another parser, too, of
 * the shape that is promised, and its gaps are where they are said to be. */
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "sql_check.h"

static void require(bool fine)
{
    if (!fine)
        abort();
}

static void rows_require(const cJSON *json)
{
    const cJSON *columns = cJSON_GetObjectItemCaseSensitive(json, "columns"), *row, *value;
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(json, "rows");
    require(cJSON_IsArray(columns) && cJSON_IsArray(rows) && cJSON_GetArraySize(columns) > 0);
    cJSON_ArrayForEach(row, rows) {
        require(cJSON_IsArray(row) && cJSON_GetArraySize(row) == cJSON_GetArraySize(columns));
        cJSON_ArrayForEach(value, row)
            require(cJSON_IsNumber(value) || cJSON_IsString(value) || cJSON_IsNull(value));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t gaps = SIZE_MAX;
    if (sql_answer_check(data, size, 0, &gaps) != SKEIN_OK) {
        require(gaps == SIZE_MAX);
        return 0;
    }
    require(gaps > 0 && gaps < size && data[gaps - 1] == '[');
    require(data[gaps] == ']' || data[gaps] == '{');
    require(memchr(data, '\0', size) == NULL);
    cJSON *json = cJSON_ParseWithLength((const char *)data, size);
    require(json != NULL);
    rows_require(json);
    require(cJSON_IsBool(cJSON_GetObjectItemCaseSensitive(json, "more")));
    require(cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(json, "gaps")));
    cJSON_Delete(json);
    return 0;
}
