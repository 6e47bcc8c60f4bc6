/* SPDX-License-Identifier: Apache-2.0
 * Summaries of hostile bytes: what is taken is put again and taken again with the same bytes, merges
 * with itself, and is JSON. The same bytes as a log line have a shape. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "json.h"
#include "summary.h"
#include "summary_feed.h"

#define ROWS 64

static void require(bool fine)
{
    if (!fine)
        abort();
}

static void again_check(const struct summary *s)
{
    struct buf once = {0}, twice = {0};
    struct summary *back;
    require(summary_bytes_put(s, &once) == SKEIN_OK);
    require(summary_bytes_get(once.data, once.len, ROWS, &back) == SKEIN_OK);
    require(summary_bytes_put(back, &twice) == SKEIN_OK);
    require(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
    summary_free(&back);
    buf_fini(&once);
    buf_fini(&twice);
}

static void uses_check(struct summary *s)
{
    struct buf text = {0};
    struct summary *services, *twice;
    char error[128];
    summary_json(s, &text);
    cJSON *json = json_parse((const char *)text.data, text.len, error, sizeof error);
    require(json != NULL);
    cJSON_Delete(json);
    buf_fini(&text);
    require(summary_by_service(s, &services) == SKEIN_OK);
    require(summary_new(ROWS / 2, &twice) == SKEIN_OK);
    require(summary_merge(twice, s) == SKEIN_OK && summary_merge(twice, services) == SKEIN_OK);
    require(summary_sort(twice) == SKEIN_OK);
    again_check(twice);
    summary_free(&services);
    summary_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct summary *s;
    struct buf shape = {0};
    log_shape_put(&shape, (const char *)bytes, n, 100);
    require(shape.len <= 100 + 3);
    buf_fini(&shape);
    if (summary_bytes_get(bytes, n, ROWS, &s) != SKEIN_OK) {
        require(s == NULL);
        return 0;
    }
    again_check(s);
    uses_check(s);
    summary_free(&s);
    return 0;
}
