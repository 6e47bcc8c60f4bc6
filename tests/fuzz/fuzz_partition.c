/* SPDX-License-Identifier: Apache-2.0
 *
 * Partitions behind their checksums: the input as pieces of one (fuzz_pieces.h), and as it is.
 * Whatever opens is read to its end and printed in every form.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_pieces.h"
#include "fuzz_target.h"
#include "perfetto_export.h"
#include "stack_profile.h"
#include "trace_file.h"
#include "trace_json.h"
#include "trace_stack.h"
#include "trace_text.h"

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
    perfetto_export_some(exporter, after, SIZE_MAX, &packets);
    perfetto_export_finish(exporter, &packets);
    perfetto_export_free(&exporter);
    partition_reader_free(&after);
    buf_fini(&packets);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    size_t length;
    partition_try(bytes, n);
    uint8_t *assembled = pieces_assemble(bytes, n, &length);
    partition_try(assembled, length);
    free(assembled);
    return 0;
}
