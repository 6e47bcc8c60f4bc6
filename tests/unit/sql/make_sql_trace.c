/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the traces of shop_trace.h for scripts: make_sql_trace FILE, or FILE SEED EVENTS for a wood.
 */
#include "shop_trace.h"

int main(int argc, char **argv)
{
    struct buf out = {0};
    if (argc == 4)
        wood_trace(&out, strtoull(argv[2], NULL, 10), (uint32_t)strtoul(argv[3], NULL, 10));
    else
        shop_trace(&out);
    FILE *file = fopen(argv[1], "wb");
    shop_must(file != NULL && fwrite(out.data, 1, out.len, file) == out.len, "writing");
    shop_must(fclose(file) == 0, "writing");
    buf_fini(&out);
    return 0;
}
