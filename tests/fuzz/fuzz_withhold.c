/* SPDX-License-Identifier: Apache-2.0
 *
 * Partitions of hostile bytes, from which things are withheld; the first byte says which. What comes
 * out reads, names nobody by what was withheld, and is the same when it is made once more.
 */
#include "withhold.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "partition_reader.h"

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void event_look(const struct withhold *what, const struct trace_event *event)
{
    const struct partition_event_type *type = event->type;
    if (!what->names || type == NULL || strcmp(type->name, "sched.neighbour") != 0 ||
        event->thread == NULL || event->thread->tid != 0 ||
        strcmp(event->thread->name, "host") != 0)
        return;
    for (unsigned i = 0; i < type->nargs; i++) /* without a number there is no own */
        if (type->args[i].type == SKEIN_T_U64)
            return;
    for (unsigned i = 0; i < type->nargs; i++)
        require(type->args[i].type != SKEIN_T_STR ||
                (event->args[i].str.len == 10 &&
                 memcmp(event->args[i].str.text, "(withheld)", 10) == 0));
}

static void packed_look(const struct withhold *what, const struct buf *packed)
{
    struct partition_reader *reader;
    struct partition_fault fault;
    struct trace_event event;
    int next;
    require(partition_reader_make(packed->data, packed->len, &reader, &fault) == SKEIN_OK);
    while ((next = partition_reader_next(reader, &event)) > 0)
        event_look(what, &event);
    require(next == 0);
    partition_reader_free(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct buf packed = {0}, again = {0};
    if (n == 0)
        return 0;
    const struct withhold what = {(bytes[0] & 1) != 0, (enum withhold_words)(bytes[0] / 2 % 3)};
    int status = withhold_pack(&what, bytes + 1, n - 1, &packed);
    require(status <= SKEIN_OK && (status == SKEIN_OK || packed.len == 0));
    if (status == SKEIN_OK) {
        packed_look(&what, &packed);
        require(withhold_pack(&what, packed.data, packed.len, &again) == SKEIN_OK);
        require(again.len == packed.len && memcmp(again.data, packed.data, again.len) == 0);
    }
    buf_fini(&packed);
    buf_fini(&again);
    return 0;
}
