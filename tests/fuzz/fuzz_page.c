/* SPDX-License-Identifier: Apache-2.0
 * A trace that a hostile hand has written, as lanes and as a page: rows at any time and depth, and
 * texts of any bytes. What lanes give is in order, within the pixels; a page is UTF-8 without controls,
 * of a bounded size, with one script.
 *
 *   flags, text length, text, then rows of 12 bytes: kind, thread, depth, type, time (4), length (4)
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "page.h"
#include "utf8_scan.h"

#define ROWS_MOST 4000
#define PIXELS    64

static char name[256];

static void require(bool fine)
{
    if (!fine)
        abort();
}

static const struct skein_event_type *type_of(const void *context, uint32_t number)
{
    static const char *const names[] = {"sched.run", "sched.runnable", "sched.blocked",
                                        "sched.lost"};
    static struct skein_event_type type;
    (void)context;
    type = (struct skein_event_type){.name = number < 4 ? names[number] : name, .arg_count = 1};
    type.args[0].type = (uint8_t)(number % 8);
    return &type;
}

static const char *name_of(const void *context, uint32_t number)
{
    (void)context;
    (void)number;
    return name;
}

/* Numbers of any order of magnitude from few bytes. */
static uint64_t number_of(const uint8_t *bytes)
{
    uint64_t value = (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16;
    return value << bytes[3] % 48;
}

static void rows_add(struct lanes *lanes, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < ROWS_MOST && (i + 1) * 12 <= n; i++) {
        const uint8_t *row = bytes + i * 12;
        const uint8_t kind = row[0] % 10, flags = row[0] / 16;
        const uint32_t process = row[1] / 64, thread = row[1] % 8 ? row[1] % 64 : SKEIN_NONE;
        const uint32_t depth = row[2], type = row[3], more = row[0] % 3 ? SKEIN_NONE : 0;
        const uint64_t time = number_of(row + 4), dur = number_of(row + 8);
        const struct skein_arg args[SKEIN_ARGS_MAX] = {{.u64 = time * dur}};
        const struct skein_row_more mores = {.loss_reason = row[3]};
        const struct skein_batch batch = {1,     &kind,  &flags, &process, &thread, &time, &dur,
                                          &type, &depth, NULL,   args,     &more,   &mores};
        require(lanes_add(lanes, &batch) == SKEIN_OK);
    }
}

static void views_check(const struct lanes *lanes, uint64_t from, uint64_t to, size_t pixels)
{
    struct lanes_item items[PIXELS];
    for (size_t i = 0; i < lanes_count(lanes); i++) {
        size_t count = lanes_view(lanes, i, from, to, pixels, items);
        require(count <= pixels);
        for (size_t k = 0; k < count; k++) {
            require(items[k].to_ns >= items[k].from_ns);
            require(k == 0 || items[k].from_ns >= items[k - 1].from_ns);
            require(lanes_at(lanes, i)->kind == LANE_MARK ||
                    (items[k].share >= 0 && items[k].share <= 1));
        }
    }
}

static void page_check(const struct lanes *lanes, uint64_t from, uint64_t to, uint64_t at)
{
    const char *const lines[] = {name};
    const struct page_fact fact = {name, name};
    const struct page_finding finding = {PAGE_NOTE, name, lines, 1, from, to};
    const struct page_bucket buckets[] = {{from % 1000, from, at}, {from, to, 1}};
    const uint32_t numbers[] = {1, 2, 3, SKEIN_NONE};
    const struct page_region region = {.name = name,
                                       .service = name,
                                       .place = name,
                                       .count = at,
                                       .total_ns = to,
                                       .self_ns = from,
                                       .p50_ns = at,
                                       .p99_ns = to,
                                       .max_ns = at,
                                       .buckets = buckets,
                                       .bucket_count = 2};
    const struct page_thread thread = {.name = name,
                                       .service = name,
                                       .host = name,
                                       .numbers = numbers,
                                       .number_count = 4,
                                       .why = name,
                                       .longest = name};
    struct page page = {.title = name,
                        .verdict = name,
                        .facts = &fact,
                        .fact_count = 1,
                        .findings = &finding,
                        .finding_count = 1,
                        .missing = lines,
                        .missing_count = 1,
                        .regions = &region,
                        .region_count = 1,
                        .threads = &thread,
                        .thread_count = 1,
                        .lanes = lanes,
                        .from_ns = from,
                        .to_ns = to,
                        .at_ns = at,
                        .at = name,
                        .type_name = name_of,
                        .loss_name = name_of,
                        .cpu = name,
                        .cpu_bytes = strlen(name),
                        .waits = name,
                        .waits_bytes = strlen(name),
                        .cpu_ns_each = at % 3};
    struct buf out = {0};
    uint32_t point = 0;
    size_t scripts = 0;
    require(page_put(&page, &out) == SKEIN_OK && out.len <= PAGE_BYTES_MAX);
    for (size_t i = 0, len; i < out.len; i += len) {
        len = utf8_scan(out.data + i, out.len - i, &point);
        require(len > 0 && (point >= ' ' || point == '\n') && (point < 0x7f || point > 0x9f));
        require(!(point >= 0x202a && point <= 0x202e) && !(point >= 0x2066 && point <= 0x2069));
        scripts += out.len - i > 7 && memcmp(out.data + i, "<script", 7) == 0;
        require(out.len - i < 5 ||
                (memcmp(out.data + i, "<img ", 5) != 0 && memcmp(out.data + i, " nan ", 5) != 0));
    }
    require(scripts == 1);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct lanes *lanes;
    if (n < 8 || n - 8 < bytes[1])
        return 0;
    const struct lanes_options options = {.from_ns = bytes[2],
                                          .to_ns = bytes[2] + number_of(bytes + 3),
                                          .most_bytes =
                                              bytes[0] % 4 == 0 ? 0 : (size_t)bytes[0] << 10,
                                          .type = type_of};
    memcpy(name, bytes + 8, bytes[1]);
    name[bytes[1]] = '\0';
    require(lanes_new(&options, &lanes) == SKEIN_OK);
    rows_add(lanes, bytes + 8 + bytes[1], n - 8 - bytes[1]);
    require(lanes_settle(lanes) == SKEIN_OK);
    for (size_t pixels = 1; pixels <= PIXELS; pixels *= 4) {
        views_check(lanes, 0, UINT64_MAX, pixels);
        views_check(lanes, number_of(bytes + 4), number_of(bytes + 4) + number_of(bytes + 3),
                    pixels);
    }
    page_check(lanes, options.from_ns, options.to_ns, number_of(bytes + 4));
    lanes_free(&lanes);
    return 0;
}
