/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the golden file of the trace format and the corpora of its fuzz targets from the sample
 * partition of the unit tests. Run by hand, once for each released format version:
 *
 *   make_samples tests/golden tests/fuzz/corpus
 */
#include <stdio.h>

#include "../unit/format/sample.h"
#include "pack_lz4.h"
#include "partition_int.h"
#include "partition_reader.h"
#include "trace_json.h"

static int file_put(const char *folder, const char *name, const void *bytes, size_t n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "wb");
    if (out == NULL) {
        perror(path);
        return 1;
    }
    int bad = fwrite(bytes, 1, n, out) != n;
    return fclose(out) != 0 || bad;
}

static int lines_put(const char *folder, const char *name, const struct buf *partition)
{
    struct buf lines = {0};
    struct partition_reader *reader;
    struct trace_event event;
    char error[256];
    if (partition_reader_new(partition->data, partition->len, &reader, error, sizeof error) !=
        SKEIN_OK) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    while (partition_reader_next(reader, &event) == 1)
        trace_json_put(&lines, partition_reader_info(reader), &event);
    int bad = file_put(folder, name, lines.data, lines.len);
    partition_reader_free(&reader);
    buf_fini(&lines);
    return bad;
}

static void piece_put(struct buf *out, const struct section *section)
{
    struct buf raw = {0};
    if (section->packing == PACKING_LZ4) {
        uint8_t *to = buf_reserve(&raw, section->raw_bytes);
        if (to != NULL && lz4_unpack(section->payload, (size_t)section->length, to,
                                     section->raw_bytes) == SKEIN_OK)
            raw.len = section->raw_bytes;
    } else {
        buf_put(&raw, section->payload, (size_t)section->length);
    }
    buf_put_u8(out, (uint8_t)section->kind);
    buf_put_u16(out, (uint16_t)raw.len);
    buf_put(out, raw.data, raw.len);
    buf_fini(&raw);
}

/* The form that fuzz_partition takes, and the footer's payload for fuzz_footer. */
static int pieces_put(const char *corpus, const struct buf *partition, const char *name)
{
    char folder[4096];
    struct buf pieces = {0};
    struct cursor c;
    struct section section;
    int bad = 0;
    cursor_init(&c, partition->data + HEAD_BYTES, partition->len - HEAD_BYTES - TAIL_BYTES);
    while (cursor_left(&c) > 0 && section_get(&c, 0, &section) == SKEIN_OK) {
        if (section.kind == SECTION_FOOTER) {
            snprintf(folder, sizeof folder, "%s/footer", corpus);
            bad |= file_put(folder, name, section.payload, (size_t)section.length);
        } else {
            piece_put(&pieces, &section);
        }
    }
    snprintf(folder, sizeof folder, "%s/partition", corpus);
    bad |= file_put(folder, name, pieces.data, pieces.len);
    buf_fini(&pieces);
    return bad;
}

/* Records that wait for each other, ranges that are restated, a type of every class. */
static void tangle_fill(struct partition_writer *w)
{
    uint32_t lock = (uint32_t)partition_writer_type(w, &sample_lock);
    uint32_t query = (uint32_t)partition_writer_type(w, &sample_query);
    struct partition_value args[2];
    for (unsigned t = 0; t < 3; t++) {
        struct partition_thread thread = {t + 1, "t", 1};
        uint32_t id = (uint32_t)partition_writer_thread(w, &thread);
        for (unsigned i = 0; i < 4; i++) {
            partition_writer_batch(w, id, 7, i * 2, false);
            if (i > 1)
                partition_writer_open_range(w, query, i * 10);
            args[0] = sample_seq(9, (i * 3 + t) ^ 1);
            partition_writer_event(w, lock, 100 + i * 10 + t, 0, args);
            args[0] = sample_str("q");
            args[1] = sample_u64(i);
            partition_writer_event(w, query, 105 + i * 10 + t, 0, args);
            partition_writer_end(w, 106 + i * 10 + t);
        }
    }
}

static int tangle_partition(struct buf *out)
{
    struct partition_info info = sample_info();
    struct partition_writer *w;
    if (partition_writer_new(&info, &w) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    tangle_fill(w);
    int status = partition_writer_finish(w, out, NULL);
    partition_writer_free(&w);
    return status;
}

int main(int argc, char **argv)
{
    struct buf sample = {0}, stacks = {0}, tangle = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: make_samples GOLDEN_FOLDER CORPUS_FOLDER\n");
        return 2;
    }
    if (sample_partition(&sample) != SKEIN_OK || sample_stacks_partition(&stacks) != SKEIN_OK ||
        tangle_partition(&tangle) != SKEIN_OK)
        return 1;
    int bad = file_put(argv[1], "partition-v1-3.skein", stacks.data, stacks.len);
    bad |= lines_put(argv[1], "partition-v1.jsonl", &sample);
    bad |= lines_put(argv[1], "partition-v1-3.jsonl", &stacks);
    bad |= pieces_put(argv[2], &sample, "sample");
    bad |= pieces_put(argv[2], &stacks, "stacks");
    bad |= pieces_put(argv[2], &tangle, "tangle");
    buf_fini(&sample);
    buf_fini(&stacks);
    buf_fini(&tangle);
    return bad;
}
