/* SPDX-License-Identifier: Apache-2.0
 * JSON of strangers: what parses is printed, parses again, and prints the same. The bytes are tried
 * as text to be escaped as well. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "json.h"

static cJSON *parse(const char *text, size_t n)
{
    char error[64] = "";
    cJSON *json = json_parse(text, n, error, sizeof error);
    if (!json && !error[0])
        abort();
    return json;
}

static void read_members(const cJSON *json)
{
    static const char *const known[] = {"a", "b", NULL};
    struct json_reader r = {""};
    json_str(&r, json, "", "a", JSON_OPTIONAL, "", 8);
    json_u64(&r, json, "", "b", JSON_OPTIONAL, 0, 0, UINT64_MAX);
    json_known(&r, json, "", known);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct buf first = {0}, second = {0};
    cJSON *json = parse((const char *)bytes, n);
    if (json) {
        read_members(json);
        json_print(json, &first);
        cJSON_Delete(json);
        json = parse((const char *)first.data, first.len);
        if (!json)
            abort();
        json_print(json, &second);
        cJSON_Delete(json);
        if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
            abort();
    }
    buf_clear(&first);
    json_put_text(&first, (const char *)bytes, n);
    /* Any bytes make a JSON string, except that NUL has an escape which the reader refuses. */
    if (n == 0 || !memchr(bytes, 0, n)) {
        json = parse((const char *)first.data, first.len);
        if (!json)
            abort();
        cJSON_Delete(json);
    }
    buf_fini(&first);
    buf_fini(&second);
    return 0;
}
