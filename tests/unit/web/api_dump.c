/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks all that trace_api.h answers, of each file that is named, and prints it: a line a call, with its
 * status and its answer (JSON as it is, columns as a sum of their bytes). wasm_is_native.mjs makes the
 * same calls of the WebAssembly and compares line by line: a change here is one there.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace_api_int.h"

#define EVER       9e18
#define VIEW_LANES 64
#define DETAILS    12

static uint32_t sum_of(const uint8_t *bytes, size_t n)
{
    uint32_t sum = 2166136261u;
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

static void text_say(const char *label, int status)
{
    size_t n = api_answer_bytes();
    printf("%s %d %.*s\n", label, status, (int)n, n > 0 ? (const char *)api_answer() : "");
}

static void columns_say(const char *label, int status)
{
    size_t n = api_answer_bytes();
    printf("%s %d %zu %" PRIu32 "\n", label, status, n, sum_of(api_answer(), n));
}

static void lanes_say(struct api_trace *t)
{
    struct api_lanes *l = api_lanes_new(t, SKEIN_NONE, -EVER, EVER, 0);
    uint32_t lanes[VIEW_LANES];
    int status;
    printf("lanes %d\n", l != NULL);
    if (l == NULL)
        return;
    while ((status = api_lanes_step(l, 3)) == 1)
        ;
    printf("lanes_step %d %.0f\n", status, api_lanes_rows(l));
    text_say("lanes_list", api_lanes_list(l));
    for (uint32_t i = 0; i < VIEW_LANES; i++)
        lanes[i] = i;
    double length = (double)(t->to_ns - t->from_ns);
    for (unsigned zoom = 1; zoom <= 1000; zoom *= 10) {
        double from = length / 3, to = from + length / zoom;
        columns_say("lanes_view",
                    api_lanes_view(l, lanes, VIEW_LANES, zoom == 1 ? 0 : from, to, 200));
    }
    api_lanes_free(l);
}

/* The rows that the last answer has: `n` of them. */
static void details_say(struct api_trace *t, const uint8_t *rows, int n)
{
    size_t count = (size_t)n;
    for (size_t i = 0; i < count && i < DETAILS; i++) {
        double begin, length;
        uint32_t process, thread, depth;
        memcpy(&begin, rows + 8 * i, 8);
        memcpy(&length, rows + 8 * (count + i), 8);
        memcpy(&process, rows + 16 * count + 4 * i, 4);
        memcpy(&thread, rows + 20 * count + 4 * i, 4);
        memcpy(&depth, rows + 28 * count + 4 * i, 4);
        const struct skein_thread *known = skein_trace_thread(t->trace, thread);
        uint32_t tid = known != NULL ? known->tid : 0;
        text_say("details", api_details(t, process, tid, begin, length, depth));
    }
}

static void search_say(struct api_trace *t, const char *terms, uint32_t order, uint32_t most)
{
    struct api_search *s = api_search_new(t, terms, strlen(terms), -EVER, EVER, order, most);
    int status;
    if (s == NULL) {
        text_say("search", -1);
        return;
    }
    while ((status = api_search_step(s, 2)) == 1)
        ;
    printf("search_step %d %.0f\n", status, api_search_total(s));
    status = api_search_rows(s, 0, most);
    columns_say("search_rows", status);
    size_t n = api_answer_bytes();
    uint8_t *rows = malloc(n + 1);
    if (rows != NULL && n > 0) {
        memcpy(rows, api_answer(), n);
        details_say(t, rows, status);
    }
    free(rows);
    api_search_free(s);
}

static struct api_job *job_say(struct api_trace *t, uint32_t what, double from, double to)
{
    struct api_part part = {.from = from, .to = to};
    struct api_job *job = api_job_new(t, what, &part);
    int status = -1;
    while (job != NULL && (status = api_job_step(job, 2)) == 1)
        ;
    printf("job %d %d\n", job != NULL, status);
    if (status == 0)
        text_say("job_json", api_job_json(job));
    return job;
}

static void jobs_say(struct api_trace *t)
{
    uint64_t half_ns = (t->to_ns - t->from_ns) / 2;
    double half = (double)half_ns;
    api_job_free(job_say(t, API_REPORT, -EVER, EVER));
    struct api_job *before = job_say(t, API_SUMMARY, -EVER, half);
    struct api_job *after = job_say(t, API_SUMMARY, half, EVER);
    if (before != NULL && after != NULL)
        text_say("diff", api_jobs_diff(before, after));
    api_job_free(before);
    api_job_free(after);
}

static uint8_t *file_read(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    long size = file != NULL && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    uint8_t *bytes = size >= 0 ? malloc((size_t)size + 1) : NULL;
    *n = size > 0 ? (size_t)size : 0;
    bool read = bytes != NULL && fseek(file, 0, SEEK_SET) == 0 && fread(bytes, 1, *n, file) == *n;
    if (file != NULL)
        fclose(file);
    if (!read) {
        fprintf(stderr, "api_dump: cannot read %s\n", path);
        exit(1);
    }
    return bytes;
}

static void file_say(const char *path)
{
    size_t n;
    uint8_t *bytes = file_read(path, &n);
    struct api_trace *t = api_trace_new();
    printf("file %s\n", path);
    int status = t != NULL ? api_trace_add(t, bytes, n, "trace") : -1;
    text_say("add", status);
    if (status == SKEIN_OK) {
        text_say("facts", api_trace_facts(t));
        lanes_say(t);
        text_say("names", api_trace_names(t, 0, 0));
        search_say(t, "", API_BY_BEGIN, 5000);
        search_say(t, "dur\t>\t1000\n", API_BY_LENGTH, 20);
        search_say(t, "!name\t:\te\narg/bytes\t>=\t10/ns\n", API_BY_BEGIN, 50);
        search_say(t, "kind\t=\tlog\n", API_BY_BEGIN, 50);
        search_say(t, "no\tterm", API_BY_BEGIN, 50);
        jobs_say(t);
    }
    api_trace_free(t);
    free(bytes);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        file_say(argv[i]);
    return fflush(stdout) == 0 ? 0 : 1;
}
