/* SPDX-License-Identifier: Apache-2.0
 * Rows and totals of the series from hostile bytes: what is taken is put again and taken again as the
 * same, and merges with itself. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "series_row.h"
#include "series_total.h"

static void require(bool fine)
{
    if (!fine)
        abort();
}

static void total_check(const uint8_t *data, size_t size)
{
    struct series_total total = {.service = "s", .name = "n"}, again = total;
    struct buf bytes = {0};
    if (series_total_get(data, size, &total) != SKEIN_OK)
        return;
    series_total_put(&total, &bytes);
    require(series_total_get(bytes.data, bytes.len, &again) == SKEIN_OK);
    require(memcmp(total.le, again.le, sizeof total.le) == 0);
    require(memcmp(total.n, again.n, sizeof total.n) == 0 && total.sum_ns == again.sum_ns);
    buf_fini(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct series_set set = {NULL, 0, 0};
    struct buf once = {0}, twice = {0};
    total_check(data, size);
    struct series_row *row = series_set_add(&set, 0, "s", "n", 0);
    require(row != NULL);
    if (series_row_get(data, size, row) == SKEIN_OK) {
        series_row_put(row, &once);
        require(series_set_add(&set, 0, "s", "n", 0) != NULL);
        require(series_row_get(once.data, once.len, &set.rows[1]) == SKEIN_OK);
        series_row_put(&set.rows[1], &twice);
        require(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
        require(series_set_settle(&set, 1) == SKEIN_OK && set.count == 1);
    }
    series_set_fini(&set);
    buf_fini(&once);
    buf_fini(&twice);
    return 0;
}
