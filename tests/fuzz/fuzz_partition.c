/* SPDX-License-Identifier: Apache-2.0
 *
 * Partitions behind their checksums. The input is a row of pieces {kind u8, length u16, bytes};
 * each becomes a sound section (a BLOCK, and STRINGS of kind 0x83, packed), with head, a footer
 * that lists the blocks, and tail around them, so that mutations reach tables, batches and columns.
 * The same input is also taken as it is. Whatever opens is read to its end and printed in every
 * form.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "partition_int.h"
#include "perfetto_export.h"
#include "stack_profile.h"
#include "trace_file.h"
#include "trace_json.h"
#include "trace_stack.h"
#include "trace_text.h"

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* The profile of all events, in both of its forms. */
static void profile_print(struct stack_profile *profile)
{
    struct buf out = {0};
    require(stack_profile_pprof(profile, &out) == SKEIN_OK && out.len > 0);
    require(stack_profile_folded(profile, false, &out) == SKEIN_OK);
    require(stack_profile_folded(profile, true, &out) == SKEIN_OK);
    buf_fini(&out);
}

static void events_print(struct partition_reader *reader)
{
    struct buf lines = {0};
    struct trace_event event;
    uint64_t last = 0;
    int status;
    const struct partition_info *info = partition_reader_info(reader);
    struct stack_profile *profile;
    require(stack_profile_new(0, &profile) == SKEIN_OK);
    while ((status = partition_reader_next(reader, &event)) == 1) {
        buf_clear(&lines);
        trace_json_put(&lines, info, &event, reader);
        trace_text_put(&lines, info, &event);
        trace_stack_text(&lines, reader, event.stack, 4);
        require(stack_profile_add(profile, reader, &event) == SKEIN_OK);
        require(lines.status == SKEIN_OK && lines.len > 0);
        if (event.kind != TRACE_LOSS && event.kind != TRACE_OPEN) {
            require(event.ticks >= last); /* F-29 */
            last = event.ticks;
        }
        if (event.kind != TRACE_LOSS && event.kind != TRACE_END_ONLY)
            require(event.type != NULL);
        struct partition_stack stack;
        require(event.stack == 0 || partition_reader_stack(reader, event.stack, &stack));
        require(event.type == NULL || event.type->klass != SKEIN_CLASS_STACK);
    }
    require(status == 0 || status == SKEIN_NO_MEMORY ||
            strncmp(partition_reader_error(reader), "F-", 2) == 0);
    profile_print(profile);
    stack_profile_free(&profile);
    buf_fini(&lines);
}

/* Whatever is refused breaks a rule, at a byte that is there or the first that is missing. */
static void fault_try(const uint8_t *bytes, size_t n)
{
    struct partition_fault fault;
    int status = partition_fault_find(bytes, n, &fault);
    if (status == SKEIN_OK || status == SKEIN_NO_MEMORY)
        return;
    require(fault.rule != F_NONE && fault.byte <= n && fault.text[0] != 0);
    require(!fault.packed || fault.unpacked_byte <= PARTITION_BLOCK_RAW_MAX);
}

static void partition_try(const uint8_t *bytes, size_t n)
{
    char error[256] = "";
    struct partition_reader *reader, *after;
    fault_try(bytes, n);
    int status = partition_reader_new(bytes, n, &reader, error, sizeof error);
    require((status == SKEIN_OK) == (reader != NULL));
    require(status == SKEIN_OK || status == SKEIN_NO_MEMORY || strncmp(error, "F-", 2) == 0);
    if (status != SKEIN_OK)
        return;
    events_print(reader);
    struct perfetto_export *exporter;
    struct buf packets = {0};
    require(perfetto_export_new(0, &exporter) == SKEIN_OK);
    require(partition_reader_new(bytes, n, &after, error, sizeof error) == SKEIN_OK);
    partition_reader_continue(after, reader);
    partition_reader_free(&reader);
    perfetto_export_partition(exporter, after, &packets);
    perfetto_export_finish(exporter, &packets);
    perfetto_export_free(&exporter);
    partition_reader_free(&after);
    buf_fini(&packets);
}

/* Frames one piece; notes a block for the footer. */
static void piece_put(struct buf *b, uint8_t kind, const uint8_t *bytes, size_t n,
                      struct partition_footer *footer)
{
    size_t at = b->len;
    if (kind == SECTION_BLOCK || kind == (0x80 | SECTION_STRINGS)) {
        section_put_packed(b, kind & 0x7f, bytes, n);
    } else {
        size_t section = section_begin(b, kind);
        buf_put(b, bytes, n);
        section_end(b, section);
    }
    if (kind == SECTION_BLOCK && footer->block_count < 64)
        footer->blocks[footer->block_count++] = (struct partition_block){
            .offset = at, .stored_bytes = (uint32_t)(b->len - at), .raw_bytes = (uint32_t)n};
}

static void assembled_try(const uint8_t *bytes, size_t n)
{
    struct partition_block blocks[64];
    struct partition_footer footer = {
        .host = (char[]){""}, .service = (char[]){""}, .labels = (char[]){""}, .exe = (char[]){""}};
    struct buf b = {0};
    struct cursor c;
    footer.blocks = blocks;
    cursor_init(&c, bytes, n);
    head_put(&b, HEAD_PARTITION, 0);
    while (cursor_left(&c) > 3 && footer.block_count < 64) {
        uint8_t kind = cursor_u8(&c);
        size_t len = cursor_u16(&c);
        len = len < cursor_left(&c) ? len : cursor_left(&c);
        const uint8_t *piece = cursor_bytes(&c, len);
        if (kind == SECTION_INFO && len > 18) {
            memcpy(footer.key.process.bytes, piece, 16);
            footer.key.epoch = piece[16] & 0x7f;
            footer.key.sequence = piece[17] & 0x7f;
        }
        piece_put(&b, kind, piece, len, &footer);
    }
    size_t last = section_begin(&b, SECTION_FOOTER);
    footer_put(&b, &footer);
    section_end(&b, last);
    tail_put(&b, 0, last, HEAD_PARTITION);
    size_t len = b.len;
    b.len = 0;
    head_put(&b, HEAD_PARTITION, len);
    b.len = len;
    require(b.status == SKEIN_OK);
    uint8_t *exact = malloc(len); /* so that a read past the end is seen */
    require(exact != NULL);
    memcpy(exact, b.data, len);
    partition_try(exact, len);
    free(exact);
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    partition_try(bytes, n);
    assembled_try(bytes, n);
    return 0;
}
