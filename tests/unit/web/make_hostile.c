/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes hostile traces into a folder, for wasm_is_native.mjs: the pieces of fuzz corpora as partitions
 * (fuzz_pieces.h), each as it is and with bytes changed, the same ones at each run.
 *
 *     make_hostile FOLDER CHANGED PIECES...
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz_pieces.h"

#define BYTES_MAX (1u << 20)

static uint64_t state = 88172645463325252u;

static uint32_t random_take(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static void file_write(const char *folder, unsigned number, const uint8_t *pieces, size_t n)
{
    char path[4096];
    size_t length;
    uint8_t *bytes = pieces_assemble(pieces, n, &length);
    snprintf(path, sizeof path, "%s/%05u.skein", folder, number);
    FILE *file = fopen(path, "wb");
    require(file != NULL && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
    free(bytes);
}

/* Some bytes become others; heads of pieces, too, so that they begin elsewhere. */
static void bytes_change(const uint8_t *from, uint8_t *to, size_t n)
{
    memcpy(to, from, n);
    for (uint32_t left = 1 + random_take() % 4; left > 0 && n > 0; left--)
        to[random_take() % n] = (uint8_t)(random_take() % 3 == 0 ? 0xff : random_take());
}

int main(int argc, char **argv)
{
    static uint8_t pieces[BYTES_MAX], changed[BYTES_MAX];
    unsigned number = 0;
    require(argc > 3);
    unsigned long changes = strtoul(argv[2], NULL, 10);
    for (int i = 3; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        require(file != NULL);
        size_t n = fread(pieces, 1, sizeof pieces, file);
        fclose(file);
        file_write(argv[1], number++, pieces, n);
        for (unsigned long k = 0; k < changes; k++) {
            bytes_change(pieces, changed, n);
            file_write(argv[1], number++, changed, n);
        }
    }
    printf("%u\n", number);
    return 0;
}
