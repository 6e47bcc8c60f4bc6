/* SPDX-License-Identifier: Apache-2.0
 *
 * Summaries of version 1, as they were when it was released, are read and say the same (docs/summary.md:
 * what a later version may add to, and never change). Members that are newer are nothing in them.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "summary.h"
#include "support.h"

/* All that the old one said, the new one says. */
static void said_again(const cJSON *was, const cJSON *is, const char *name)
{
    const cJSON *item;
    ck_assert_msg(is != NULL && (was->type & 0xff) == (is->type & 0xff), "%s", name);
    if (cJSON_IsArray(was)) {
        ck_assert_int_eq(cJSON_GetArraySize(was), cJSON_GetArraySize(is));
        for (int i = 0; i < cJSON_GetArraySize(was); i++)
            said_again(cJSON_GetArrayItem(was, i), cJSON_GetArrayItem(is, i), name);
    } else if (cJSON_IsObject(was)) {
        cJSON_ArrayForEach(item, was)
            said_again(item, cJSON_GetObjectItemCaseSensitive(is, item->string), item->string);
    } else {
        ck_assert_msg(cJSON_Compare(was, is, true), "%s", name);
    }
}

START_TEST(a_summary_of_version_1_says_what_it_said)
{
    size_t n, text_bytes;
    char *bytes = file_read(GOLDEN_DIR "/summary-v1.bin", &n);
    char *text = file_read(GOLDEN_DIR "/summary-v1.json", &text_bytes);
    struct summary *s;
    struct buf json = {0};
    ck_assert(bytes != NULL && text != NULL);
    ck_assert_int_eq(summary_bytes_get(bytes, n, 0, &s), SKEIN_OK);
    summary_json(s, &json);
    buf_put_u8(&json, '\0');
    cJSON *was = cJSON_Parse(text), *is = cJSON_Parse((const char *)json.data);
    ck_assert(was != NULL && cJSON_GetArraySize(cJSON_GetObjectItem(was, "names")) == 4);
    said_again(was, is, "summary");
    cJSON_Delete(was);
    cJSON_Delete(is);
    summary_free(&s);
    buf_fini(&json);
    free(bytes);
    free(text);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("summary_v1", a_summary_of_version_1_says_what_it_said, NULL));
}
