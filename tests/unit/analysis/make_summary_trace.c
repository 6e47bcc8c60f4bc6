/* SPDX-License-Identifier: Apache-2.0
 * Writes a trace of three processes with regions in regions: make_summary_trace FILE. */
#include "summary_made.h"

int main(int argc, char **argv)
{
    struct buf bytes = {0};
    if (argc != 2)
        return 2;
    for (uint32_t i = 0; i < 3; i++) {
        struct made_program program = {.pid = 100 + i * 11, .threads = 3, .random = i + 1};
        for (uint64_t cut = 0; cut < 2; cut++)
            made_cut(&program, &bytes, 42 + cut, 1000 + cut * 100000, 1000 + (cut + 1) * 100000);
    }
    FILE *out = fopen(argv[1], "wb");
    bool bad = out == NULL || fwrite(bytes.data, 1, bytes.len, out) != bytes.len;
    bad = (out != NULL && fclose(out) != 0) || bad;
    buf_fini(&bytes);
    return bad;
}
