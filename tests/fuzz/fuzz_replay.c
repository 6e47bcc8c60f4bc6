/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target without a fuzz engine: over each file given, or each file in a folder given,
 * and beside it over beginnings of the file and copies with one byte changed. Deterministic and
 * bounded, so that it is an ordinary test. Each run's bytes are in memory of exactly their size: a
 * read past the end is seen by the sanitizers.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz_target.h"

enum { VARIANTS_MAX = 512, PATH_BYTES = 4096 };

static unsigned long runs, files;

static void run_copy(const uint8_t *bytes, size_t n, size_t flip)
{
    uint8_t *copy = malloc(n > 0 ? n : 1);
    if (!copy) {
        fprintf(stderr, "fuzz_replay: out of memory\n");
        exit(2);
    }
    if (n > 0)
        memcpy(copy, bytes, n);
    if (flip < n)
        copy[flip] ^= (uint8_t)(1u << (flip % 8));
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
    runs++;
}

static void run_variants(const uint8_t *bytes, size_t n)
{
    run_copy(bytes, n, SIZE_MAX);
    if (n == 0)
        return;
    size_t step = n / VARIANTS_MAX + 1;
    run_copy(bytes, n - 1, SIZE_MAX);
    for (size_t at = 0; at < n; at += step) {
        run_copy(bytes, at, SIZE_MAX);
        run_copy(bytes, n, at);
    }
}

static int replay_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in) {
        perror(path);
        return 1;
    }
    size_t n = 0, cap = 4096;
    uint8_t *bytes = malloc(cap);
    while (bytes) {
        n += fread(bytes + n, 1, cap - n, in);
        if (n < cap)
            break;
        uint8_t *more = realloc(bytes, cap *= 2);
        if (!more)
            free(bytes);
        bytes = more;
    }
    int failed = !bytes || ferror(in);
    fclose(in);
    if (failed) {
        fprintf(stderr, "%s: cannot be read\n", path);
        free(bytes);
        return 1;
    }
    run_variants(bytes, n);
    free(bytes);
    files++;
    return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int replay_folder(const char *path)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, by_name), failed = 0;
    if (count < 0) {
        perror(path);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        char file[PATH_BYTES];
        int n = snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            failed |= n >= (int)sizeof file ? 1 : replay_file(file);
        free(entries[i]);
    }
    free(entries);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) != 0) {
            perror(argv[i]);
            failed = 1;
        } else {
            failed |= S_ISDIR(st.st_mode) ? replay_folder(argv[i]) : replay_file(argv[i]);
        }
    }
    /* A corpus that has gone missing must not look like one that passes. */
    if (files == 0) {
        fprintf(stderr, "usage: %s FILE-OR-FOLDER...: no file was replayed\n", argv[0]);
        return 2;
    }
    printf("%lu files, %lu runs\n", files, runs);
    return failed;
}
