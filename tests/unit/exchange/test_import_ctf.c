/* SPDX-License-Identifier: Apache-2.0
 *
 * CTF, written here byte by byte: what LTTng does not write, and what nobody should. What LTTng writes
 * is in tests/exchange, judged by babeltrace2.
 */
#include <stdlib.h>

#include "import_ctf.h"
#include "import_tsdl.h"
#include "imported.h"
#include "skein/status.h"

static struct import_told told;
static struct ctf_told ctf;

enum { STREAMS_MAX = 4 };

static int imported_of(const char *metadata, const struct buf *streams, unsigned count, bool pairs,
                       struct buf *trace)
{
    struct bytes_source from[STREAMS_MAX + 1] = {{(const uint8_t *)metadata, strlen(metadata)}};
    struct skein_trace_source sources[STREAMS_MAX + 1];
    for (unsigned i = 0; i < count; i++)
        from[i + 1] = (struct bytes_source){streams[i].data, streams[i].len};
    for (unsigned i = 0; i < count + 1; i++)
        sources[i] = (struct skein_trace_source){.read = bytes_source_read,
                                                 .context = &from[i],
                                                 .bytes = from[i].n,
                                                 .name = i == 0 ? "metadata" : "stream"};
    const struct import_to to = {
        .put = imported_put, .context = trace, .host = "", .service = "test"};
    told = (struct import_told){.partitions = 0};
    ctf = (struct ctf_told){.packets = 0};
    int status = import_ctf(&sources[0], &sources[1], count, pairs, &to, &told, &ctf);
    imported_count(trace, &told);
    return status;
}

static int imported(const char *metadata, const uint8_t *stream, size_t n, bool pairs,
                    struct buf *trace)
{
    struct buf one = {0};
    buf_put(&one, stream, n);
    int status = imported_of(metadata, &one, 1, pairs, trace);
    buf_fini(&one);
    return status;
}

static void must_say(const char *lines, const char *what)
{
    ck_assert_msg(strstr(lines, what) != NULL, "no \"%s\" in\n%s", what, lines);
}

/* Big-endian, bits that do not end with bytes, a variant, an enumeration, a nested structure. */
static const char odd[] =
    "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = be; };\n"
    "clock { name = c; freq = 1000; offset_s = 10; offset = 500; };\n"
    "typealias integer { size = 3; align = 1; } := bits3;\n"
    "typealias integer { size = 16; align = 8; map = clock.c.value; } := time16;\n"
    "struct where { bits3 row; bits3 column; };\n"
    "stream { id = 0; event.header := struct { integer { size = 8; } id; time16 t; }; };\n"
    "event { id = 7; name = \"odd\"; stream_id = 0; fields := struct {\n"
    "  bits3 a; struct where at; enum : integer { size = 7; align = 1; signed = true; }\n"
    "  { low = -5 ... -1, \"high\" = 1 } level;\n"
    "  variant <level> { integer { size = 8; signed = true; } low; string high; } what; }; };\n"
    "event { id = 1; name = \"job_begin\"; stream_id = 0; fields := struct {\n"
    "  integer { size = 8; } n; }; };\n"
    "event { id = 2; name = \"job_end\"; stream_id = 0; fields := struct {\n"
    "  integer { size = 8; } n; }; };\n";

START_TEST(fields_of_any_width_and_order_are_read)
{
    /* odd at 0x0102: a 5, row 2, column 6, level -3 (7 bits), what -2; then level 1, what "hi" */
    static const uint8_t stream[] = {
        7, 1, 2, 0xab, 0x7d, 0xfe, /* 101 010 11, 0 1111101 */
        7, 1, 3, 0x00, 0x01, 'h',  'i', 0,
    };
    struct buf trace = {0}, lines = {0};
    int status = imported(odd, stream, sizeof stream, false, &trace);
    ck_assert_msg(status == SKEIN_OK, "%d %s", status, told.why);
    const char *text = imported_lines(&trace, &lines);
    ck_assert_str_eq(told.why, "");
    /* (0x102 + 500) ms + 10 s */
    must_say(text, "instant odd 0 10758000000+0 level=low\n");
    must_say(text, "instant odd 0 10759000000+0 level=high what=hi\n");
    ck_assert_uint_eq(told.events, 2);
    buf_fini(&trace);
    buf_fini(&lines);
}
END_TEST

START_TEST(a_narrow_clock_that_goes_round_goes_on_and_pairs_are_regions_if_asked)
{
    static const uint8_t stream[] = {1, 0xff, 0xff, 4, 2, 0, 1, 5};
    struct buf trace = {0}, lines = {0};
    ck_assert_int_eq(imported(odd, stream, sizeof stream, true, &trace), SKEIN_OK);
    const char *text = imported_lines(&trace, &lines);
    must_say(text, "instant job_begin 0 76035000000+0");
    must_say(text, "region job 0 76035000000+2000000");
    buf_fini(&trace);
    buf_fini(&lines);
    lines = (struct buf){0};
    ck_assert_int_eq(imported(odd, stream, sizeof stream, false, &trace), SKEIN_OK);
    must_say(imported_lines(&trace, &lines), "instant job_end 0 76037000000+0");
    buf_fini(&trace);
    buf_fini(&lines);
}
END_TEST

START_TEST(metadata_that_cannot_be_read_is_refused_with_its_line)
{
    static const struct {
        const char *text, *why;
        int status;
    } cases[] = {
        {"trace { major = 1;\n minor = 8", "line 2: there must be a \";\"", SKEIN_CORRUPT},
        {"\n\n/* never", "line 3: a comment does not end", SKEIN_CORRUPT},
        {"typealias integer { size = 65; } := x;", "has not 1 to 64 bits", SKEIN_UNSUPPORTED},
        {"typealias integer { size = 64; exp_dig = 64; mant_dig = 64; } := x;", "no event",
         SKEIN_NOT_FOUND}, /* they are not the integer's */
        {"typealias integer { exp_dig = 64; mant_dig = 64; } := x;", "has no size",
         SKEIN_UNSUPPORTED},
        {"typealias floating_point { exp_dig = 11; mant_dig = 64; } := x;", "not 32 or 64 bits",
         SKEIN_UNSUPPORTED},
        {"typealias floating_point { exp_dig = 64; mant_dig = 4294967264; } := x;",
         "not 32 or 64 bits", SKEIN_UNSUPPORTED},
        {"typealias integer { size = 8; align = 3; } := x;", "no power of two", SKEIN_CORRUPT},
        {"event { fields := struct {\n nothing x; }; };", "line 2: a type is named", SKEIN_CORRUPT},
        {"event { fields := integer { size = 8; }; };", "is no structure", SKEIN_CORRUPT},
        {"clock { freq = 0; };", "frequency is 0", SKEIN_CORRUPT},
        {"trace { major = 2; };", "not of CTF 1", SKEIN_UNSUPPORTED},
        {"{\n  \"type\": \"preamble\", \"version\": 2\n}\n",
         "of CTF 2, which is not read; babeltrace2", SKEIN_UNSUPPORTED},
        {"\x1e{\"type\":\"preamble\",\"version\":2}", "ctf-version=\"1\"", SKEIN_UNSUPPORTED},
        {"struct x { string a; }\nenum y : nothing { a }", "line 2: a type is named",
         SKEIN_CORRUPT},
        {"typealias integer { size = 99999999999999999999; } := x;", "more than 64 bits",
         SKEIN_CORRUPT},
        {"", "no event", SKEIN_NOT_FOUND},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf trace = {0};
        int status = imported(cases[i].text, (const uint8_t *)"", 0, false, &trace);
        ck_assert_msg(status == cases[i].status, "%s: %d %s", cases[i].text, status, told.why);
        must_say(told.why, cases[i].why);
        buf_fini(&trace);
    }
    struct buf deep = {0};
    for (unsigned i = 0; i < 100; i++)
        buf_printf(&deep, "struct { ");
    buf_put_u8(&deep, 0);
    struct buf trace = {0};
    ck_assert_int_eq(imported((char *)deep.data, (const uint8_t *)"", 0, false, &trace),
                     SKEIN_UNSUPPORTED);
    must_say(told.why, "deeper");
    buf_fini(&deep);
}
END_TEST

START_TEST(names_of_types_have_a_limit_that_is_told)
{
    struct buf text = {0}, trace = {0};
    for (unsigned i = 0; i < TSDL_NAMES_MAX; i++)
        buf_printf(&text, "typealias integer { size = 8; } := t%u;\n", i);
    size_t n = text.len;
    buf_put_u8(&text, 0);
    ck_assert_int_eq(imported((char *)text.data, (const uint8_t *)"", 0, false, &trace),
                     SKEIN_NOT_FOUND);
    must_say(told.why, "no event");
    text.len = n;
    buf_printf(&text, "typealias integer { size = 8; } := more;\n");
    buf_put_u8(&text, 0);
    ck_assert_int_eq(imported((char *)text.data, (const uint8_t *)"", 0, false, &trace),
                     SKEIN_UNSUPPORTED);
    must_say(told.why, "there are more than 4096 names of types");
    buf_fini(&text);
    buf_fini(&trace);
}
END_TEST

/* Packets with a head of 16 bytes: magic, stream, size and content in bits. */
static const char packed[] =
    "trace { byte_order = le; packet.header := struct {\n"
    "  integer { size = 32; } magic; integer { size = 32; } stream_id; }; };\n"
    "clock { name = c; freq = 1000; };\n"
    "stream { id = 0; packet.context := struct {\n"
    "  integer { size = 32; } packet_size; integer { size = 32; } content_size; };\n"
    "  event.header := struct { integer { size = 8; } id;\n"
    "  integer { size = 64; align = 8; map = clock.c.value; } t; }; };\n"
    "event { id = 1; name = \"one\"; stream_id = 0; fields := struct {\n"
    "  integer { size = 8; } n; }; };\n"
    "event { id = 2; name = \"texts\"; stream_id = 0; fields := struct {\n"
    "  integer { size = 16; } count; string all[count]; }; };\n";

static void le_put(struct buf *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        buf_put_u8(out, (uint8_t)(value >> 8 * i));
}

/* `padding` bytes behind the events. */
static void packet_put(struct buf *out, const struct buf *events, unsigned padding)
{
    le_put(out, 0xc1fc1fc1u, 4);
    le_put(out, 0, 4);
    le_put(out, (16 + events->len + padding) * 8, 4);
    le_put(out, (16 + events->len) * 8, 4);
    buf_put(out, events->data, events->len);
    le_put(out, 0, padding);
}

/* Of 10 bytes. */
static void event_put(struct buf *out, uint8_t id, uint64_t t)
{
    buf_put_u8(out, id);
    le_put(out, t, 8);
    buf_put_u8(out, 0);
}

START_TEST(a_broken_event_ends_its_packet_and_the_next_goes_on)
{
    struct buf first = {0}, second = {0}, third = {0}, stream = {0}, trace = {0}, lines = {0};
    event_put(&first, 1, 1000);
    event_put(&first, 1, 2000);
    event_put(&first, 9, UINT64_MAX); /* there is no such kind, nor such a time */
    event_put(&first, 1, 3000);
    event_put(&second, 1, 4000);
    event_put(&second, 1, 5000);
    second.len--;
    event_put(&third, 1, 6000);
    packet_put(&stream, &first, 0);
    packet_put(&stream, &second, 5);
    packet_put(&stream, &third, 0);
    ck_assert_int_eq(imported(packed, stream.data, stream.len, false, &trace), SKEIN_OK);
    must_say(told.why, "an event is of a kind that the metadata does not have near byte 36;");
    ck_assert_uint_eq(told.cut_bytes, 20 + 9);
    ck_assert_uint_eq(told.events, 4);
    ck_assert_uint_eq(ctf.packets, 3);
    const char *text = imported_lines(&trace, &lines);
    must_say(text, "instant one 0 2000000000+0\n");
    must_say(text, "instant one 0 4000000000+0\n");
    must_say(text, "instant one 0 6000000000+0\n");
    const char *loss = strstr(text, "loss ");
    ck_assert_ptr_nonnull(loss);
    must_say(loss + 1, "loss ");
    buf_fini(&lines);
    buf_fini(&trace);
    buf_fini(&stream);

    /* behind the third, one that has no size: from there on nothing can be read */
    struct buf cut = {0};
    packet_put(&cut, &second, 5);
    packet_put(&cut, &third, 0);
    ck_assert_int_eq(imported(packed, cut.data, cut.len - 1, false, &trace), SKEIN_OK);
    must_say(told.why, "an event is cut near byte 26;");
    ck_assert_uint_eq(told.cut_bytes, 9 + 25);
    ck_assert_uint_eq(told.events, 1);
    buf_fini(&cut);
    buf_fini(&trace);
    buf_fini(&first);
    buf_fini(&second);
    buf_fini(&third);
}
END_TEST

static void texts_put(struct buf *out, unsigned count, size_t length)
{
    buf_put_u8(out, 2);
    le_put(out, 1000, 8);
    le_put(out, count, 2);
    for (unsigned i = 0; i < count; i++) {
        for (size_t k = 0; k < length; k++)
            buf_put_u8(out, 'x');
        buf_put_u8(out, 0);
    }
}

START_TEST(an_array_longer_than_a_text_is_cut_and_one_of_too_many_elements_is_told)
{
    struct buf events = {0}, stream = {0}, trace = {0}, lines = {0};
    texts_put(&events, 3, 40000);
    event_put(&events, 1, 2000);
    packet_put(&stream, &events, 0);
    ck_assert_int_eq(imported(packed, stream.data, stream.len, false, &trace), SKEIN_OK);
    ck_assert_str_eq(told.why, "");
    ck_assert_uint_eq(told.events, 2);
    ck_assert_uint_eq(told.cut_bytes, 0);
    const char *text = imported_lines(&trace, &lines);
    must_say(text, "instant texts 0 1000000000+0 all=[xxxx");
    must_say(text, "instant one 0 2000000000+0\n");
    buf_fini(&lines);
    buf_fini(&trace);
    buf_fini(&stream);
    buf_fini(&events);

    event_put(&events, 1, 500);
    texts_put(&events, 5000, 1);
    packet_put(&stream, &events, 0);
    ck_assert_int_eq(imported(packed, stream.data, stream.len, false, &trace), SKEIN_OK);
    must_say(told.why, "an event has more than 4096 fields and elements near byte 26;");
    ck_assert_uint_eq(told.cut_bytes, 11 + 5000 * 2);
    buf_fini(&trace);
    buf_fini(&stream);
    buf_fini(&events);
}
END_TEST

START_TEST(every_cut_and_changed_stream_gives_a_sound_trace_and_tells_the_rest)
{
    char *folder = path_join(TRACES, "lttng"), *path = path_join(folder, "ring_1");
    char *meta_path = path_join(folder, "metadata");
    size_t n, m;
    uint8_t *stream = (uint8_t *)file_read(path, &n);
    char *packets = file_read(meta_path, &m);
    ck_assert_ptr_nonnull(stream);
    ck_assert_ptr_nonnull(packets);
    struct bytes_source from[2] = {{(uint8_t *)packets, m}, {stream, n}};
    uint64_t state = 7;
    for (unsigned i = 0; i < 600; i++) {
        struct buf trace = {0};
        state = state * 6364136223846793005u + 1442695040888963407u;
        bool cut = i % 3 == 0, meta = i % 3 == 1;
        size_t at = (size_t)((state >> 20) % (meta ? m : n));
        uint8_t *byte = meta ? (uint8_t *)packets + at : stream + at, kept = *byte;
        if (!cut)
            *byte = (uint8_t)(state >> 56);
        from[1].n = cut ? at : n;
        struct skein_trace_source sources[2];
        for (unsigned k = 0; k < 2; k++)
            sources[k] = (struct skein_trace_source){
                .read = bytes_source_read, .context = &from[k], .bytes = from[k].n, .name = "x"};
        const struct import_to to = {
            .put = imported_put, .context = &trace, .host = "", .service = "test"};
        told = (struct import_told){.partitions = 0};
        int status = import_ctf(&sources[0], &sources[1], 1, false, &to, &told, &ctf);
        ck_assert_msg(status == SKEIN_OK || told.why[0] != '\0', "%u: %d", i, status);
        ck_assert_msg(!cut || at == 0 || told.cut_bytes == at, "cut at %zu: %llu", at,
                      (unsigned long long)told.cut_bytes);
        imported_walk(&trace, NULL, NULL);
        *byte = kept;
        buf_fini(&trace);
    }
    free(stream);
    free(packets);
    free(path);
    free(meta_path);
    free(folder);
}
END_TEST

/* No stream block, no semicolon behind a structure or a block, and a number with a sign. */
START_TEST(what_the_metadata_may_leave_out_is_not_missed)
{
    static const char bare[] = "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; }\n"
                               "struct pair { integer { size = 8; } a; integer { size = 8; } b; }\n"
                               "clock { name = c; freq = 1000; offset = +1000; };\n"
                               "event { name = only; fields := struct { struct pair p; }; };\n";
    static const char numbered[] =
        "trace { byte_order = le; }; stream { id = 3; event.header := struct { integer { size = 8; } t; "
        "}; }; event { id = 7; name = only; fields := struct { integer { size = 8; } n; }; };";
    static const uint8_t stream[] = {1, 2, 3, 4};
    struct buf trace = {0}, lines = {0};
    int status = imported(bare, stream, sizeof stream, false, &trace);
    ck_assert_msg(status == SKEIN_OK, "%d %s", status, told.why);
    ck_assert_uint_eq(told.events, 2);
    must_say(imported_lines(&trace, &lines), "instant only 0 1000000000+0\n");
    buf_fini(&trace);
    buf_fini(&lines);
    /* the only event of the only stream, whatever their numbers are */
    status = imported(numbered, stream, sizeof stream, false, &trace);
    ck_assert_msg(status == SKEIN_OK, "%d %s", status, told.why);
    ck_assert_uint_eq(told.events, 2);
    buf_fini(&trace);
}
END_TEST

/* As Zephyr writes it: a time that is only called so. With a clock it is of that one. */
START_TEST(a_timestamp_that_is_mapped_to_no_clock_is_a_time)
{
    static const char zephyr[] =
        "trace { byte_order = le; }; typealias integer { size = 32; } := uint32_t;\n"
        "struct event_header { uint32_t timestamp; integer { size = 8; } id; };\n"
        "stream { event.header := struct event_header; }; event { name = idle; id = 0x1E; };\n"
        "event { name = give; id = 0x22; fields := struct { uint32_t id; }; };\n";
    static const char slow[] =
        "trace { byte_order = le; }; clock { name = c; freq = 1000; offset_s = 5; };\n"
        "stream { event.header := struct { integer { size = 32; } timestamp; integer { size = 8; } id; }; };\n"
        "event { name = idle; id = 0x1E; };\n";
    /* of one that nobody describes */
    static const char other[] =
        "trace { byte_order = le; }; clock { name = c; freq = 1000; offset_s = 5; }; stream { event.header "
        ":= struct { integer { size = 32; map = clock.d.value; } t; integer { size = 8; } id; }; };\n"
        "event { name = idle; id = 0x1E; };\n";
    struct buf stream = {0}, trace = {0}, lines = {0};
    le_put(&stream, 0xfffffffe, 4);
    le_put(&stream, 0x1e, 1);
    le_put(&stream, 3, 4); /* it has gone round */
    le_put(&stream, 0x22, 1);
    le_put(&stream, 77, 4);
    ck_assert_int_eq(imported(zephyr, stream.data, stream.len, false, &trace), SKEIN_OK);
    const char *text = imported_lines(&trace, &lines);
    must_say(text, "instant idle 0 4294967294+0");
    must_say(text, "instant give 0 4294967299+0");
    ck_assert_ptr_nonnull(strstr(told.why, "no clock"));
    buf_fini(&trace);
    buf_fini(&lines);
    lines = (struct buf){0};
    ck_assert_int_eq(imported(slow, stream.data, 5, false, &trace), SKEIN_OK);
    must_say(imported_lines(&trace, &lines), "instant idle 0 4294972294000000+0");
    ck_assert_str_eq(told.why, "");
    buf_fini(&trace);
    buf_fini(&lines);
    lines = (struct buf){0};
    ck_assert_int_eq(imported(other, stream.data, 5, false, &trace), SKEIN_OK);
    must_say(imported_lines(&trace, &lines), "instant idle 0 4294972294000000+0");
    buf_fini(&stream);
    buf_fini(&trace);
    buf_fini(&lines);
}
END_TEST

/* A type may come before its clock. */
START_TEST(times_are_of_the_clock_of_their_stream)
{
    static const char clocks[] =
        "trace { byte_order = le; packet.header := struct { integer { size = 8; } stream_id; }; };\n"
        "typealias integer { size = 16; map = clock.slow.value; } := slow_t;\n"
        "clock { name = fast; freq = 1000000; offset_s = 100; };\n"
        "clock { name = \"slow\"; freq = 1000; offset_s = 200; };\n"
        "stream { id = 0; event.header := struct { slow_t t; }; };\n"
        "stream { id = 1; packet.context := struct { integer { size = 16; map = clock.fast.value; }\n"
        "timestamp_begin; }; event.header := struct { integer { size = 16; map = clock.fast.value; } t; }; };\n"
        "event { name = a; stream_id = 0; }; event { name = b; stream_id = 1; };\n";
    const struct buf streams[2] = {{.data = (uint8_t[]){0, 7, 0}, .len = 3},
                                   {.data = (uint8_t[]){1, 1, 0, 9, 0}, .len = 5}};
    struct buf trace = {0}, lines = {0};
    int status = imported_of(clocks, streams, 2, false, &trace);
    ck_assert_msg(status == SKEIN_OK, "%d %s", status, told.why);
    const char *text = imported_lines(&trace, &lines);
    must_say(text, "instant a 0 200007000000+0");
    must_say(text, "instant b 0 100000009000+0");
    buf_fini(&trace);
    buf_fini(&lines);
}
END_TEST

START_TEST(a_packet_that_names_its_content_alone_has_that_size)
{
    static const char sized[] =
        "trace { byte_order = le; }; stream { packet.context := struct { integer { size = 32; } "
        "content_size; }; }; event { name = one; fields := struct { integer { size = 32; } f; }; };";
    struct buf stream = {0}, trace = {0};
    for (unsigned i = 0; i < 3; i++) {
        le_put(&stream, 64, 4);
        le_put(&stream, 0x42424242, 4);
    }
    ck_assert_int_eq(imported(sized, stream.data, stream.len, false, &trace), SKEIN_OK);
    ck_assert_uint_eq(told.events, 3);
    ck_assert_uint_eq(ctf.packets, 3);
    ck_assert_str_eq(told.why, "");
    buf_fini(&stream);
    buf_fini(&trace);
}
END_TEST

/* Packets with all that a tracer says of them. */
static const char counted[] =
    "trace { byte_order = le; packet.header := struct { integer { size = 64; } stream_instance_id; }; };\n"
    "clock { name = c; freq = 1000000000; };\n"
    "stream { packet.context := struct { integer { size = 64; } timestamp_begin, timestamp_end,\n"
    "  packet_size, events_discarded, packet_seq_num; };\n"
    "  event.header := struct { integer { size = 64; map = clock.c.value; } t; }; };\n"
    "event { name = one; fields := struct { integer { size = 8; } n; }; };\n";

/* One event, at `ns`, in a packet from 10 ns before to 10 ns behind it. */
static void counted_put(struct buf *out, uint64_t instance, uint64_t ns, uint64_t number,
                        uint64_t discarded)
{
    const uint64_t fields[] = {instance, ns - 10, ns + 10, (6 * 8 + 9) * 8, discarded, number, ns};
    for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++)
        le_put(out, fields[i], 8);
    le_put(out, 1, 1);
}

static const char *losses_of(const struct buf *trace, struct buf *lines)
{
    buf_fini(lines);
    *lines = (struct buf){0};
    return imported_lines(trace, lines);
}

START_TEST(packets_that_are_missing_by_their_numbers_are_a_loss)
{
    struct buf stream = {0}, trace = {0}, lines = {0};
    counted_put(&stream, 0, 1000, 7, 0); /* whatever came before it: nobody says */
    counted_put(&stream, 0, 2000, 8, 0);
    counted_put(&stream, 0, 3000, 11, 0);
    counted_put(&stream, 0, 4000, 3, 0); /* it begins anew */
    counted_put(&stream, 0, 5000, 5, 4);
    ck_assert_int_eq(imported(counted, stream.data, stream.len, false, &trace), SKEIN_OK);
    ck_assert_uint_eq(told.events, 5);
    ck_assert_uint_eq(ctf.lost_packets, 2 + 1);
    ck_assert_uint_eq(ctf.discarded, 4);
    const char *text = losses_of(&trace, &lines);
    must_say(text, "loss - 0 2010+980\n"); /* from the end of one to the begin of the next */
    must_say(text, "loss - 0 4010+980\n");
    must_say(text, "loss - 0 4010+1000\n"); /* of events: to its end */
    buf_fini(&stream);
    buf_fini(&trace);
    buf_fini(&lines);
}
END_TEST

START_TEST(files_of_one_stream_go_on_from_each_other)
{
    struct buf streams[4] = {{0}}, trace = {0}, lines = {0};
    counted_put(&streams[0], 0, 3000, 3, 5); /* the later file first, and one of another stream */
    counted_put(&streams[0], 0, 4000, 4, 5);
    counted_put(&streams[1], 1, 1500, 9, 0);
    counted_put(&streams[1], 1, 3500, 10, 0);
    counted_put(&streams[2], 0, 1000, 0, 0);
    counted_put(&streams[2], 0, 2000, 1, 5);
    ck_assert_int_eq(imported_of(counted, streams, 3, false, &trace), SKEIN_OK);
    ck_assert_uint_eq(told.events, 6);
    ck_assert_uint_eq(told.fixed_up, 0);
    ck_assert_uint_eq(ctf.discarded, 5); /* once, though three packets say it */
    ck_assert_uint_eq(ctf.lost_packets, 1);
    must_say(losses_of(&trace, &lines), "loss - 0 2010+980\n");
    buf_fini(&trace);
    /* of one that lies across the other nothing follows: they are streams of their own */
    counted_put(&streams[2], 0, 3500, 2, 5);
    ck_assert_int_eq(imported_of(counted, streams, 3, false, &trace), SKEIN_OK);
    ck_assert_uint_eq(told.events, 7);
    ck_assert_uint_eq(told.fixed_up, 0);
    for (unsigned i = 0; i < 4; i++)
        buf_fini(&streams[i]);
    buf_fini(&trace);
    buf_fini(&lines);
}
END_TEST

/* Whatever a clock shows, times that are apart stay apart, and what is moved is told. */
START_TEST(times_before_1970_and_far_behind_it_are_moved_and_told)
{
    static const struct {
        const char *offset;
        const char *first, *second, *why;
    } cases[] = {
        {"-5", "one 0 0+0", "one 0 6000000000+0", "it begins 5 s before 1970"},
        {"0", "one 0 0+0", "one 0 6000000000+0", ""},
        {"5000000000", "one 0 0+0", "one 0 6000000000+0", ""}, /* 2128: behind 2^62 ns */
        {"900000000000", "one 0 0+0", "one 0 6000000000+0", "it begins behind 2262"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct buf text = {0}, stream = {0}, trace = {0}, lines = {0};
        buf_printf(
            &text,
            "trace { byte_order = le; }; clock { name = c; freq = 1; offset_s = %s; };\n"
            "stream { event.header := struct { integer { size = 8; map = clock.c.value; } t; "
            "}; }; event { name = one; fields := struct { integer { size = 8; } n; }; };",
            cases[k].offset);
        buf_put_u8(&text, 0);
        le_put(&stream, 0x0100, 2);
        le_put(&stream, 0x0206, 2);
        ck_assert_int_eq(imported((char *)text.data, stream.data, stream.len, false, &trace),
                         SKEIN_OK);
        const char *said = imported_lines(&trace, &lines);
        must_say(said, cases[k].first);
        must_say(said, cases[k].second);
        if (cases[k].why[0] != '\0')
            must_say(told.why, cases[k].why);
        else
            ck_assert_str_eq(told.why, "");
        ck_assert_uint_eq(told.clamped, 0);
        buf_fini(&text);
        buf_fini(&stream);
        buf_fini(&trace);
        buf_fini(&lines);
    }
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "import_ctf", fields_of_any_width_and_order_are_read,
        a_narrow_clock_that_goes_round_goes_on_and_pairs_are_regions_if_asked,
        metadata_that_cannot_be_read_is_refused_with_its_line,
        names_of_types_have_a_limit_that_is_told,
        a_broken_event_ends_its_packet_and_the_next_goes_on,
        an_array_longer_than_a_text_is_cut_and_one_of_too_many_elements_is_told,
        every_cut_and_changed_stream_gives_a_sound_trace_and_tells_the_rest,
        what_the_metadata_may_leave_out_is_not_missed,
        a_timestamp_that_is_mapped_to_no_clock_is_a_time, times_are_of_the_clock_of_their_stream,
        a_packet_that_names_its_content_alone_has_that_size,
        packets_that_are_missing_by_their_numbers_are_a_loss,
        files_of_one_stream_go_on_from_each_other,
        times_before_1970_and_far_behind_it_are_moved_and_told, NULL));
}
