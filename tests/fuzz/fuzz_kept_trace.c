/* SPDX-License-Identifier: Apache-2.0
 * Traces of Go that a hostile file claims to have kept: notes and parts of any kind, place, size and
 * letters. What is put together stays within what was said of it.
 *
 *   one event: what (bit 0: a part; bits 1 to 3: of an odd type), process, ticks, length of the kind,
 *   the kind, bytes or offset (3 bytes), length of the letters, the letters
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "kept_trace.h"
#include "skein/status.h"

#define EVENTS_MAX 256

struct input {
    const uint8_t *at, *end;
};

static uint8_t byte_take(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

/* A copy, so that a read beyond its end is one beyond memory. */
static char *text_take(struct input *in, size_t n, uint32_t *taken)
{
    size_t left = (size_t)(in->end - in->at);
    n = n < left ? n : left;
    char *text = malloc(n > 0 ? n : 1);
    if (text == NULL)
        abort();
    memcpy(text, in->at, n);
    in->at += n;
    *taken = (uint32_t)n;
    return text;
}

static const struct partition_event_type head = {.name = "go.trace",
                                                 .nargs = 4,
                                                 .args = {{SKEIN_T_STR, "", ""},
                                                          {SKEIN_T_U64, "", ""},
                                                          {SKEIN_T_U64, "", ""},
                                                          {SKEIN_T_U64, "", ""}}};
static const struct partition_event_type part = {
    .name = "go.trace.part",
    .nargs = 3,
    .args = {{SKEIN_T_STR, "", ""}, {SKEIN_T_U64, "", ""}, {SKEIN_T_STR, "", ""}}};

struct drawn {
    struct partition_event_type type;
    struct partition_value args[4];
    struct partition_info info;
    struct trace_event event;
    char *kind, *letters;
};

static void draw(struct input *in, struct drawn *d)
{
    uint8_t what = byte_take(in);
    bool is_part = (what & 1) != 0;
    memset(d, 0, sizeof *d);
    d->type = is_part ? part : head;
    if ((what & 2) != 0)
        d->type.args[0].type = SKEIN_T_U64;
    if ((what & 4) != 0)
        d->type.args[2].type = is_part ? SKEIN_T_U64 : SKEIN_T_STR;
    if ((what & 8) != 0)
        d->type.nargs--;
    d->info = (struct partition_info){.evidence = (what & 16) == 0, .host = "h", .service = "s"};
    d->info.key.process.bytes[0] = byte_take(in) & 1;
    d->event = (struct trace_event){.type = &d->type, .ticks = byte_take(in)};
    d->kind = text_take(in, byte_take(in), &d->args[0].str.len);
    d->args[0].str.text = d->kind;
    d->args[1].u64 = byte_take(in);
    d->args[1].u64 |= (uint64_t)byte_take(in) << 8;
    uint8_t high = byte_take(in);
    d->args[1].u64 |= (what & 32) != 0 ? UINT64_MAX << (high & 63) : (uint64_t)high << 16;
    size_t letters = byte_take(in);
    d->letters = text_take(in, letters * 8, &d->args[2].str.len);
    d->args[2].str.text = d->letters;
    memcpy(d->event.args, d->args, sizeof d->args);
}

static void all_feed(struct input in, struct kept_traces *traces, struct kept_trace *one)
{
    struct drawn d;
    for (int i = 0; i < EVENTS_MAX && in.at < in.end; i++) {
        draw(&in, &d);
        if (one == NULL)
            (void)kept_traces_note(traces, &d.info, &d.event);
        else
            (void)kept_trace_take(one, &d.info, &d.event);
        free(d.kind);
        free(d.letters);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kept_traces traces = {.count = 0};
    const struct input in = {data, data + size};
    all_feed(in, &traces, NULL);
    for (size_t i = 0; i < traces.count && i < 8; i++) {
        struct kept_trace *one = &traces.items[i];
        all_feed(in, NULL, one);
        if (one->bytes == NULL ? one->end != 0
                               : one->end > one->total || one->total > KEPT_BYTES_MAX)
            abort();
        if (kept_trace_whole(one) && one->end != one->total)
            abort();
    }
    kept_traces_fini(&traces);
    return 0;
}
