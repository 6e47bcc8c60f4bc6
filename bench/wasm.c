/* SPDX-License-Identifier: Apache-2.0
 *
 * What the console's decoder costs beside the same sources natively: a trace (bench_trace.h) is read into
 * lanes, and searched for its longest regions, by trace.wasm in Node and by a program here, both through
 * trace_api.h. Time on the processor of each, so that others at work do not count; medians of some runs.
 *
 *     bench_wasm [--json] [events in millions, 10]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "bench_host.h"
#include "bench_trace.h"
#include "trace_api.h"

#define RUNS 3
#define NONE UINT32_MAX

struct took {
    double lanes, search, rows;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint8_t *file_read(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    bench_must(file != NULL && fseek(file, 0, SEEK_END) == 0, "to open the trace");
    *n = (size_t)ftell(file);
    uint8_t *bytes = malloc(*n);
    rewind(file);
    bench_must(bytes != NULL && fread(bytes, 1, *n, file) == *n, "to read the trace");
    fclose(file);
    return bytes;
}

/* The same calls as in wasm_read.mjs. */
static struct took native_read(const uint8_t *bytes, size_t n)
{
    struct took took = {0};
    struct api_trace *t = api_trace_new();
    double began = now_s();
    bench_must(t != NULL && api_trace_add(t, bytes, n, "made") == 0, "to open the trace");
    struct api_lanes *l = api_lanes_new(t, NONE, -9e18, 9e18, 0);
    bench_must(l != NULL, "lanes");
    while (api_lanes_step(l, 16) == 1)
        ;
    took.lanes = now_s() - began;
    took.rows = api_lanes_rows(l);
    began = now_s();
    struct api_search *s =
        api_search_new(t, "dur\t>\t1000\n", 11, -9e18, 9e18, API_BY_LENGTH, 1000);
    bench_must(s != NULL, "a search");
    while (api_search_step(s, 16) == 1)
        ;
    took.search = now_s() - began;
    api_search_free(s);
    api_lanes_free(l);
    api_trace_free(t);
    return took;
}

/* Three numbers, which wasm_read.mjs writes into a file. */
static struct took wasm_read(const char *path)
{
    char told[600], line[256] = "", *at = line;
    int status = 0;
    snprintf(told, sizeof told, "%s/told", bench_folder());
    pid_t node =
        bench_spawn((const char *const[]){"node", WASM_READ, WASM_MODULE, path, told, NULL});
    bench_must(waitpid(node, &status, 0) == node && status == 0, "node");
    FILE *file = fopen(told, "r");
    bench_must(file != NULL && fgets(line, sizeof line, file) != NULL, "what node says");
    fclose(file);
    struct took took = {.lanes = strtod(at, &at)};
    took.search = strtod(at, &at);
    took.rows = strtod(at, &at);
    return took;
}

int main(int argc, char **argv)
{
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    double millions = strtod(argc > 1 + json ? argv[1 + json] : "10", NULL);
    char path[512];
    double lanes[2][RUNS], search[2][RUNS], rows = 0;
    size_t n;
    snprintf(path, sizeof path, "%s/made.skein", bench_folder());
    uint64_t events = bench_trace_make(path, (uint64_t)(millions * 1e6));
    uint8_t *bytes = file_read(path, &n);
    for (unsigned i = 0; i < RUNS; i++) {
        struct took native = native_read(bytes, n), wasm = wasm_read(path);
        bench_must(native.rows == wasm.rows, "as many rows of both");
        rows = native.rows;
        lanes[0][i] = native.lanes;
        lanes[1][i] = wasm.lanes;
        search[0][i] = native.search;
        search[1][i] = wasm.search;
    }
    double native = bench_median(lanes[0], RUNS), wasm = bench_median(lanes[1], RUNS);
    double found = bench_median(search[0], RUNS), wasm_found = bench_median(search[1], RUNS);
    if (json)
        printf("[{\"name\":\"wasm\",\"events\":%" PRIu64
               ",\"rows\":%.0f,\"bytes\":%zu,\"lanes_s\":%.3f,"
               "\"native_lanes_s\":%.3f,\"search_s\":%.3f,\"native_search_s\":%.3f}]\n",
               events, rows, n, wasm, native, wasm_found, found);
    else
        printf("%" PRIu64 " events, %.0f rows, %zu bytes, in WebAssembly and natively\n"
               "read into lanes      %6.2f s  %6.2f s: %.2f\n"
               "the longest of all   %6.2f s  %6.2f s: %.2f\n",
               events, rows, n, wasm, native, wasm / native, wasm_found, found, wasm_found / found);
    free(bytes);
    return 0;
}
