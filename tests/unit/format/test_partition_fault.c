/* SPDX-License-Identifier: Apache-2.0
 * What is said of damage: the rule that is broken and the byte that breaks it. Each case writes its
 * bytes by hand, behind sound checksums, and so knows both.
 */
#include <unistd.h>

#include "checksum.h"
#include "pack_lz4.h"
#include "partition_entries_int.h"
#include "partition_int.h"
#include "reading.h"

/* ---- a partition from pieces ---- */

struct piece {
    uint16_t kind;
    uint8_t flags;
    bool packed, torn; /* torn: packed, and then changed */
    struct buf raw;
    size_t at; /* where its section begins, once it is made */
};

struct made {
    struct piece pieces[16];
    size_t count;
    struct partition_footer footer;
    struct partition_block blocks[4];
    struct buf bytes;
    size_t footer_at;
};

static void piece_add(struct made *m, uint16_t kind, const void *bytes, size_t n)
{
    struct piece *piece = &m->pieces[m->count++];
    *piece = (struct piece){.kind = kind, .packed = kind == SECTION_BLOCK};
    buf_put(&piece->raw, bytes, n);
}
#define PIECE(m, kind, ...)                                                                        \
    piece_add(m, kind, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void head_seal(struct made *m, uint8_t kind)
{
    size_t n = m->bytes.len;
    m->bytes.len = 0;
    head_put(&m->bytes, kind, n);
    m->bytes.len = n;
}

static void piece_put(struct made *m, struct piece *piece)
{
    struct buf *b = &m->bytes;
    piece->at = b->len;
    if (!piece->packed) {
        section_put(b, piece->kind, &piece->raw);
    } else {
        size_t at = section_begin(b, piece->kind);
        lz4_pack(b, piece->raw.data, piece->raw.len);
        b->data[b->len - 1] ^= piece->torn; /* of the frame's own checksum */
        section_end(b, at);
        b->data[at + 2] = PACKING_LZ4;
        for (unsigned i = 0; i < 4; i++)
            b->data[at + 4 + i] = (uint8_t)(piece->raw.len >> (8 * i));
    }
    b->data[piece->at + 3] = piece->flags;
    uint8_t fields[24]; /* F-9, with what was changed */
    memcpy(fields, b->data + piece->at, 16);
    uint64_t p = checksum64(b->data + piece->at + SECTION_HEAD_BYTES,
                            b->len - piece->at - SECTION_HEAD_BYTES);
    for (unsigned i = 0; i < 8; i++)
        fields[16 + i] = (uint8_t)(p >> (8 * i));
    uint64_t sum = checksum64(fields, sizeof fields);
    for (unsigned i = 0; i < 8; i++)
        b->data[piece->at + 16 + i] = (uint8_t)(sum >> (8 * i));
    if (piece->kind == SECTION_BLOCK)
        m->blocks[m->footer.block_count++] =
            (struct partition_block){.offset = piece->at,
                                     .stored_bytes = (uint32_t)(b->len - piece->at),
                                     .raw_bytes = (uint32_t)piece->raw.len};
}

/* Section heads, FOOTER and tail around the pieces. The footer names the blocks, and else nothing:
 * its other figures are looked at when all else is sound. */
static void made_seal(struct made *m)
{
    buf_clear(&m->bytes);
    head_put(&m->bytes, HEAD_PARTITION, 0);
    m->footer.block_count = 0;
    m->footer.blocks = m->blocks;
    m->footer.host = m->footer.service = m->footer.labels = m->footer.exe = (char[]){""};
    for (size_t i = 0; i < m->count; i++)
        piece_put(m, &m->pieces[i]);
    m->footer_at = section_begin(&m->bytes, SECTION_FOOTER);
    footer_put(&m->bytes, &m->footer);
    section_end(&m->bytes, m->footer_at);
    tail_put(&m->bytes, 0, m->footer_at, HEAD_PARTITION);
    head_seal(m, HEAD_PARTITION);
    ck_assert_int_eq(m->bytes.status, SKEIN_OK);
}

static void made_fini(struct made *m)
{
    for (size_t i = 0; i < m->count; i++)
        buf_fini(&m->pieces[i].raw);
    buf_fini(&m->bytes);
    memset(m, 0, sizeof *m);
}

/* ---- sound pieces ---- */

enum { INFO_CLOCKS = 24 }; /* where INFO's snapshots begin: 16, five numbers, three bytes */

static void info_add(struct made *m, bool clocks, bool evidence)
{
    struct buf b = {0};
    buf_put(&b, (const uint8_t[INFO_CLOCKS]){0}, INFO_CLOCKS);
    const uint64_t snapshots[8] = {0, 0, 0, 0, clocks ? 1000 : 0, 64000, 64000, 64000};
    for (unsigned i = 0; i < 8; i++)
        buf_put_uleb(&b, snapshots[i]);
    buf_put(&b, (const uint8_t[]){0, 0, 100, 0, 0, 0, 0, 0, 0, 0, evidence}, 11);
    piece_add(m, SECTION_INFO, b.data, b.len);
    buf_fini(&b);
}

/* Type 0: an instant with a string; 1: a stack; 2: a span without arguments. */
#define TYPE_INSTANT 10, 1, 0, 0, 1, 'i', 0, 0, 1, SKEIN_T_STR, 0, 0
#define TYPE_STACK   10, 6, 0, 0, 1, 's', 0, 0, 1, SKEIN_T_U64, 0, 0

static void tables_add(struct made *m)
{
    info_add(m, true, false);
    PIECE(m, SECTION_TYPES, 3, 11, 1, 0, 0, 1, 'i', 0, 0, 1, SKEIN_T_STR, 0, 0, 11, 6, 0, 0, 1, 's',
          0, 0, 1, SKEIN_T_U64, 0, 0, 8, 3, 0, 0, 1, 'n', 0, 0, 0);
    PIECE(m, SECTION_STRINGS, 1, 1, 'a');
    PIECE(m, SECTION_THREADS, 1, 4, 7, 1, 1, 't');
    PIECE(m, SECTION_STACKS, 1, 0, 1, 64);
}

/* A block of one batch of thread 0: its header behind the length, then what the columns hold. */
#define BLOCK(m, header_bytes, ...) PIECE(m, SECTION_BLOCK, header_bytes, __VA_ARGS__)
/* thread, flags, generation, sequence, span, base, last - base, records, codes, times, no ranges */
#define HEADER(last, records, codes, times) 0, 0, 1, 1, 0, 10, last, records, codes, times, 0

/* ---- cases: what each damages is what it expects ---- */

struct expected {
    enum format_rule rule;
    size_t byte;
    bool packed;
    size_t unpacked_byte;
};

static bool seen[64]; /* rules that were found broken */

static void expect(struct made *m, struct expected want)
{
    struct partition_fault fault;
    char text[256], begin[64];
    int status = partition_fault_find(m->bytes.data, m->bytes.len, &fault);
    partition_fault_print(&fault, 1000, text, sizeof text);
    ck_assert_msg(status < 0, "nothing found: F-%d wanted", (int)want.rule);
    ck_assert_msg(fault.rule == want.rule && fault.byte == want.byte &&
                      fault.packed == want.packed && fault.unpacked_byte == want.unpacked_byte,
                  "F-%d at %zu (%zu) wanted; found, from byte 1000 on: %s", (int)want.rule,
                  want.byte, want.unpacked_byte, text);
    snprintf(begin, sizeof begin, "F-%d, byte %zu", (int)want.rule, 1000 + want.byte);
    ck_assert_msg(strncmp(text, begin, strlen(begin)) == 0, "%s", text);
    ck_assert(fault.text[0] != 0);
    seen[want.rule] = true;
    made_fini(m);
}

/* The last piece breaks the rule at this byte of its payload. */
static void expect_last(struct made *m, enum format_rule rule, size_t payload_byte)
{
    made_seal(m);
    expect(m, (struct expected){.rule = rule,
                                .byte = m->pieces[m->count - 1].at + SECTION_HEAD_BYTES +
                                        payload_byte});
}

/* The last piece, as a whole. */
static void expect_section(struct made *m, enum format_rule rule)
{
    made_seal(m);
    expect(m, (struct expected){.rule = rule, .byte = m->pieces[m->count - 1].at});
}

/* The last piece is packed and breaks the rule at this byte of what is packed. */
static void expect_packed(struct made *m, enum format_rule rule, size_t unpacked_byte)
{
    made_seal(m);
    expect(m, (struct expected){rule, m->pieces[m->count - 1].at, true, unpacked_byte});
}

static void sound_check(void)
{
    struct made m = {0};
    struct partition_fault fault;
    tables_add(&m);
    BLOCK(&m, 17, HEADER(5, 1, 1, 1), 1, 0, 1, 1, 0, 1, 1, 5, 0);
    made_seal(&m);
    struct partition_reader *reader;
    struct trace_event event;
    ck_assert_int_eq(partition_reader_make(m.bytes.data, m.bytes.len, &reader, &fault), SKEIN_OK);
    ck_assert_msg(partition_reader_next(reader, &event) == 1, "%s", partition_reader_error(reader));
    ck_assert_int_eq(partition_reader_next(reader, &event), 0);
    partition_reader_free(&reader);
    made_fini(&m);
}

static void frame_cases(void)
{
    struct made m = {0};
    static const struct {
        size_t at;
        uint8_t value;
        enum format_rule rule;
    } heads[] = {{8, 2, F_5}, {10, 9, F_8}, {11, 0x80, F_8}};
    for (unsigned i = 0; i < 3; i++) {
        tables_add(&m);
        made_seal(&m);
        m.bytes.data[heads[i].at] = heads[i].value;
        uint64_t sum = checksum64(m.bytes.data, 24);
        for (unsigned k = 0; k < 8; k++)
            m.bytes.data[24 + k] = (uint8_t)(sum >> (8 * k));
        expect(&m, (struct expected){.rule = heads[i].rule, .byte = heads[i].at});
    }
    for (unsigned i = 0; i < 2; i++) { /* magic; a byte that only the checksum covers */
        tables_add(&m);
        made_seal(&m);
        m.bytes.data[i == 0 ? 3 : 13] ^= 4;
        expect(&m, (struct expected){.rule = F_8, .byte = i == 0 ? 3 : 0});
    }
    for (int more = -1; more <= 1; more += 2) {
        tables_add(&m);
        made_seal(&m);
        size_t n = m.bytes.len;
        buf_put_u8(&m.bytes, 0);
        m.bytes.len = n + (size_t)more;
        expect(&m, (struct expected){.rule = F_14, .byte = more < 0 ? n - 1 : n});
    }
    tables_add(&m);
    made_seal(&m);
    m.bytes.len -= TAIL_BYTES; /* a tail of another length, sealed */
    tail_put_length(&m.bytes, m.footer_at, m.bytes.len + TAIL_BYTES + 1, HEAD_PARTITION);
    expect(&m, (struct expected){.rule = F_14, .byte = m.bytes.len - TAIL_BYTES + 8});
    for (unsigned i = 0; i < 2; i++) {
        tables_add(&m);
        made_seal(&m);
        size_t tail = m.bytes.len - TAIL_BYTES;
        m.bytes.data[tail + (i == 0 ? 26 : 18)] ^= 1;
        expect(&m, (struct expected){.rule = F_13, .byte = i == 0 ? tail + 26 : tail});
    }
}

static void section_cases(void)
{
    struct made m = {0};
    for (unsigned i = 0; i < 2; i++) { /* a table, and the footer */
        tables_add(&m);
        made_seal(&m);
        size_t at = i == 0 ? m.pieces[2].at : m.footer_at;
        m.bytes.data[at + SECTION_HEAD_BYTES] ^= 1;
        expect(&m, (struct expected){.rule = F_9, .byte = at});
    }
    tables_add(&m);
    made_seal(&m);
    m.bytes.data[m.pieces[1].at + 12] = 1; /* a length of 4 GiB and more */
    expect(&m, (struct expected){.rule = F_9, .byte = m.pieces[1].at});
    tables_add(&m);
    BLOCK(&m, 17, HEADER(5, 1, 1, 1), 1, 0, 1, 1, 0, 1, 1, 5, 0);
    m.pieces[m.count - 1].torn = true;
    expect_section(&m, F_10);
    tables_add(&m);
    PIECE(&m, SECTION_STRINGS, 0); /* behind STACKS */
    expect_section(&m, F_11);
    info_add(&m, true, false);
    PIECE(&m, SECTION_THREADS, 0);
    m.pieces[1].packed = true;
    expect_section(&m, F_11);
    PIECE(&m, SECTION_THREADS, 0); /* and no INFO */
    expect_section(&m, F_11);
    tables_add(&m);
    BLOCK(&m, 0);
    m.pieces[m.count - 1].packed = false;
    expect_section(&m, F_11);
    tables_add(&m);
    PIECE(&m, 99, 1, 2, 3);
    m.pieces[m.count - 1].flags = SECTION_NEEDED;
    expect_section(&m, F_12);
}

static void table_cases(void)
{
    struct made m = {0};
    PIECE(&m, SECTION_INFO, 1, 2, 3);
    expect_last(&m, F_15, 0);
    info_add(&m, false, false);
    expect_last(&m, F_16, INFO_CLOCKS);
    info_add(&m, true, false);
    PIECE(&m, SECTION_TYPES, 0x81, 0x80, 0x04, 0); /* 65 537 */
    expect_last(&m, F_4, 0);
    info_add(&m, true, false);
    PIECE(&m, SECTION_TYPES, 2, 8, 3, 0, 0, 1, 'n', 0, 0, 0); /* two told, one there */
    expect_last(&m, F_18, 0);
    info_add(&m, true, false);
    PIECE(&m, SECTION_TYPES, 1, 8, 0, 0, 0, 1, 'n', 0, 0, 0); /* class 0 */
    expect_last(&m, F_19, 2);
    info_add(&m, true, false);
    PIECE(&m, SECTION_TYPES, 1, 11, 1, 0, 0, 1, 'n', 0, 0, 1, 0, 0, 0); /* argument type 0 */
    expect_last(&m, F_19, 10);
    info_add(&m, true, false);
    PIECE(&m, SECTION_TYPES, 1, 8, 6, 0, 0, 1, 's', 0, 0, 0); /* a stack without its argument */
    expect_last(&m, F_45, 2);
    info_add(&m, true, false);
    PIECE(&m, SECTION_STRINGS, 2, 1, 'a', 5, 'b');
    expect_last(&m, F_20, 4);
    uint8_t name[1 + 2 + PARTITION_NAME_MAX + 1] = {1, 0x81, 0x08}; /* 1 025 bytes */
    for (unsigned packed = 0; packed < 2; packed++) {
        info_add(&m, true, false);
        piece_add(&m, SECTION_STRINGS, name, sizeof name);
        m.pieces[1].packed = packed > 0;
        if (packed > 0)
            expect_packed(&m, F_3, 1);
        else
            expect_last(&m, F_3, 1);
    }
    info_add(&m, true, false);
    PIECE(&m, SECTION_THREADS, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2); /* 65 bits */
    expect_last(&m, F_1, 0);
    info_add(&m, true, false);
    PIECE(&m, SECTION_THREADS, 1, 100, 7, 1, 1, 't'); /* an entry of 100 bytes */
    expect_last(&m, F_6, 1);
    info_add(&m, true, false);
    PIECE(&m, SECTION_THREADS, 1, 8, 0x80, 0x80, 0x80, 0x80, 0x10, 1, 1, 't'); /* tid 2^32 */
    expect_last(&m, F_21, 2);
    tables_add(&m);
    PIECE(&m, SECTION_OPEN, 1, 4, 1, 0, 5, 0); /* thread 1 of 1 */
    expect_last(&m, F_30, 2);
    tables_add(&m);
    PIECE(&m, SECTION_OPEN, 1, 4, 0, 1, 5, 0); /* in progress: a stack */
    expect_last(&m, F_45, 2);
    tables_add(&m);
    PIECE(&m, SECTION_LOSS, 1, 5, 2, 1, 1, 5, 6); /* thread 1 of 1 */
    expect_last(&m, F_31, 0);
}

static void stack_cases(void)
{
    struct made m = {0};
    info_add(&m, true, false);
    PIECE(&m, SECTION_STACKS, 1, 0, 9, 64, 2); /* nine frames told, two there */
    expect_last(&m, F_44, 2);
    info_add(&m, true, false);
    PIECE(&m, SECTION_MAPPINGS, 1, 5, 9, 9, 0, 0, 0); /* ends where it starts */
    expect_last(&m, F_46, 2);
    info_add(&m, true, false);
    PIECE(&m, SECTION_MAPPINGS, 2, 5, 8, 9, 0, 0, 0, 5, 7, 9, 0, 0, 0); /* not by start */
    expect_last(&m, F_46, 7);
    info_add(&m, true, false);
    PIECE(&m, SECTION_SYMBOLS, 2, 2, 8, 0, 2, 8, 0); /* the same address twice */
    expect_last(&m, F_47, 4);
}

/* Of a batch with type 0 once, bytes of the block: 0 length of the header, 1 to 11 HEADER, 12 number
 * of types, 13 to 17 the type, 18 code, 19 time, 20 the string's column. */
static void block_cases(void)
{
    struct made m = {0};
    tables_add(&m);
    BLOCK(&m, 90, HEADER(5, 0, 0, 0), 0);
    expect_packed(&m, F_23, 0);
    tables_add(&m);
    BLOCK(&m, 17, HEADER(5, 1, 1, 1), 1, 0, 1, 1, 0, 9, 1, 5, 0); /* a column behind the block */
    expect_packed(&m, F_23, 20);
    tables_add(&m);
    BLOCK(&m, 12, 1, 0, 1, 1, 0, 10, 5, 0, 0, 0, 0, 0); /* thread 1 of 1 */
    expect_packed(&m, F_24, 1);
    tables_add(&m);
    BLOCK(&m, 17, HEADER(6, 1, 1, 1), 1, 0, 1, 1, 0, 1, 1, 5, 0); /* not its last record */
    expect_packed(&m, F_24, 20);
    tables_add(&m);
    BLOCK(&m, 17, HEADER(5, 1, 1, 1), 1, 0, 1, 1, 0, 1, 9, 5, 0); /* code 9 of one type */
    expect_packed(&m, F_25, 18);
    tables_add(&m);
    BLOCK(&m, 17, HEADER(5, 1, 1, 2), 1, 0, 1, 1, 0, 1, 1, 5, 5, 0); /* a time too many */
    expect_packed(&m, F_25, 20);
    tables_add(&m);
    BLOCK(&m, 15, HEADER(5, 1, 1, 1), 1, 0, 1, 0, 1, 5); /* the string has no column */
    expect_packed(&m, F_26, 13);
    tables_add(&m);
    BLOCK(&m, 17, HEADER(5, 1, 1, 1), 1, 0, 1, 1, 0, 2, 1, 5, 0, 0); /* a value too many */
    expect_packed(&m, F_26, 21);
    tables_add(&m);
    BLOCK(&m, 17, HEADER(5, 1, 1, 1), 1, 0, 1, 1, 0, 0, 1, 5); /* and one too few */
    expect_packed(&m, F_26, 20);
    tables_add(&m);
    BLOCK(&m, 17, HEADER(5, 1, 1, 1), 1, 0, 1, 1, 3, 1, 1, 5, 0); /* encoding 3 */
    expect_packed(&m, F_27, 20);
    tables_add(&m);
    BLOCK(&m, 17, HEADER(5, 1, 1, 1), 1, 0, 1, 1, 0, 1, 1, 5, 2); /* string 1 of 1 */
    expect_packed(&m, F_27, 20);
    tables_add(&m);
    BLOCK(&m, 17, HEADER(5, 1, 1, 1), 1, 1, 1, 1, 0, 1, 1, 5, 1); /* a stack without a record */
    expect_packed(&m, F_45, 18);
    tables_add(&m); /* bytes 13 to 22 are the types, 23 the codes, 25 the times, 27 the stack */
    BLOCK(&m, 22, HEADER(5, 2, 2, 2), 2, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 2, 5, 0, 0, 2);
    expect_packed(&m, F_45, 28);
    tables_add(&m);
    BLOCK(&m, 22, HEADER(6, 2, 2, 2), 2, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 2, 5, 1, 0, 1);
    expect_packed(&m, F_45, 26); /* with a time of its own */
    tables_add(&m);
    BLOCK(&m, 14, 0, 0, 1, 1, 0, 10, 5, 0, 0, 0, 1, 2, 0, 0); /* a stack is open */
    expect_packed(&m, F_45, 12);
}

/* ---- the footer of the sample, changed and sealed again ---- */

/* The sample with another footer; gives where its FOOTER begins. */
static size_t footer_change(struct made *m, bool stacks,
                            void (*change)(struct partition_footer *footer))
{
    struct buf sample = {0};
    size_t need;
    ck_assert_int_eq(stacks ? sample_stacks_partition(&sample) : sample_partition(&sample),
                     SKEIN_OK);
    struct partition_footer footer;
    struct tail tail;
    const uint8_t *last;
    ck_assert_int_eq(partition_footer_get(sample.data, sample.len, &footer, &need), SKEIN_OK);
    ck_assert_int_eq(tail_get(sample.data, sample.len, &tail, &last, &need), SKEIN_OK);
    change(&footer);
    m->footer_at = (size_t)(last - sample.data);
    buf_put(&m->bytes, sample.data, m->footer_at);
    section_begin(&m->bytes, SECTION_FOOTER);
    footer_put(&m->bytes, &footer);
    section_end(&m->bytes, m->footer_at);
    tail_put(&m->bytes, 0, m->footer_at, HEAD_PARTITION);
    head_seal(m, HEAD_PARTITION);
    partition_footer_free(&footer);
    buf_fini(&sample);
    return m->footer_at + SECTION_HEAD_BYTES;
}

static uint64_t number_at(const struct made *m, size_t *at)
{
    uint64_t v = 0;
    unsigned shift = 0;
    do
        v |= (uint64_t)(m->bytes.data[*at] & 0x7f) << shift, shift += 7;
    while ((m->bytes.data[(*at)++] & 0x80) != 0);
    return v;
}

/* Behind that many numbers. */
static size_t numbers_pass(const struct made *m, size_t at, unsigned count)
{
    while (count-- > 0)
        number_at(m, &at);
    return at;
}

static size_t texts_pass(const struct made *m, size_t at, uint64_t count)
{
    while (count-- > 0) {
        size_t n = (size_t)number_at(m, &at);
        at += n;
    }
    return at;
}

static size_t list_pass(const struct made *m, size_t at)
{
    uint64_t count = number_at(m, &at);
    return texts_pass(m, at, count);
}

enum {
    KEY = 16,
    TO_PID = 2,
    TO_TIMES = 3,
    TO_EVENTS = 7,
    TO_LOST = 8,
    TO_THREADS = 9,
    TO_NAMES = 11
};

static void key_change(struct partition_footer *f)
{
    f->key.epoch++;
}
static void pid_change(struct partition_footer *f)
{
    f->pid++;
}
static void times_change(struct partition_footer *f)
{
    f->to_ns++;
}
static void events_change(struct partition_footer *f)
{
    f->events++;
}
static void slice_change(struct partition_footer *f)
{
    f->slice = true, f->events++;
}
static void lost_change(struct partition_footer *f)
{
    f->lost++;
}
static void threads_change(struct partition_footer *f)
{
    f->threads++;
}
static void names_change(struct partition_footer *f)
{
    f->host[0] ^= 1;
}
static void block_change(struct partition_footer *f)
{
    f->blocks[0].events++;
}
static void place_change(struct partition_footer *f)
{
    f->blocks[0].raw_bytes++;
}
static void reach_change(struct partition_footer *f)
{
    f->blocks[0].since_ticks--;
}
static void type_change(struct partition_footer *f)
{
    f->types[1].events++;
}
static void loss_change(struct partition_footer *f)
{
    f->losses[1].events++, f->lost++;
}
static void range_change(struct partition_footer *f)
{
    f->open_ranges[0].since_ticks++;
}
static void evidence_change(struct partition_footer *f)
{
    f->evidence = true;
}
static void filter_change(struct partition_footer *f)
{
    free(f->trace_id_filter);
    f->trace_id_filter = calloc(3, 8);
    f->trace_id_filter_words = 3;
}

static void footer_figures(void)
{
    static const struct {
        void (*change)(struct partition_footer *);
        enum format_rule rule;
        unsigned numbers;
    } figures[] = {{pid_change, F_34, TO_PID},       {times_change, F_34, TO_TIMES},
                   {events_change, F_34, TO_EVENTS}, {slice_change, F_40, TO_EVENTS},
                   {lost_change, F_34, TO_LOST},     {threads_change, F_34, TO_THREADS},
                   {names_change, F_34, TO_NAMES}};
    struct made m = {0};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        size_t at = footer_change(&m, true, figures[i].change) + KEY;
        at = numbers_pass(&m, at, figures[i].numbers);
        expect(&m, (struct expected){.rule = figures[i].rule, .byte = at});
    }
    size_t at = footer_change(&m, true, key_change);
    expect(&m, (struct expected){.rule = F_34, .byte = at});
}

static void footer_lists(void)
{
    static const struct {
        void (*change)(struct partition_footer *);
        enum format_rule rule;
        unsigned lists, entry; /* passed over: whole lists, then entries; 0: the list's count */
    } lists[] = {{block_change, F_34, 0, 1},
                 {place_change, F_34, 0, 1},
                 {reach_change, F_42, 0, 1},
                 {type_change, F_34, 1, 2},
                 {loss_change, F_34, 2, 0}};
    struct made m = {0};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        size_t at = footer_change(&m, true, lists[i].change) + KEY;
        at = texts_pass(&m, numbers_pass(&m, at, TO_NAMES), 4);
        for (unsigned k = 0; k < lists[i].lists; k++)
            at = list_pass(&m, at);
        if (lists[i].entry > 0)
            at = texts_pass(&m, numbers_pass(&m, at, 1), lists[i].entry - 1);
        expect(&m, (struct expected){.rule = lists[i].rule, .byte = at});
    }
    size_t at = footer_change(&m, true, filter_change) + KEY;
    at = texts_pass(&m, numbers_pass(&m, at, TO_NAMES), 4);
    at = list_pass(&m, list_pass(&m, list_pass(&m, at)));
    expect(&m, (struct expected){.rule = F_33, .byte = at});
    for (unsigned i = 0; i < 2; i++) {
        at = footer_change(&m, true, i == 0 ? range_change : evidence_change) + KEY;
        at = texts_pass(&m, numbers_pass(&m, at, TO_NAMES), 4);
        at = list_pass(&m, list_pass(&m, list_pass(&m, at)));
        size_t words = (size_t)number_at(&m, &at);
        at = numbers_pass(&m, at + words * 8 + 1, 2);
        if (i == 0)
            expect(&m, (struct expected){.rule = F_42, .byte = numbers_pass(&m, at, 1)});
        else
            expect(&m, (struct expected){.rule = F_50, .byte = list_pass(&m, at)});
    }
}

/* ---- files ---- */

static struct trace_fault file_fault(const struct buf *bytes)
{
    char path[] = "fault-XXXXXX", error[256] = "";
    struct trace_file *file;
    struct trace_fault fault;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq((int)write(fd, bytes->data, bytes->len), (int)bytes->len);
    close(fd);
    ck_assert_msg(trace_file_inspect(path, &file, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_uint_eq(trace_file_faults(file), 1);
    ck_assert_int_lt(trace_file_fault(file, 0, &fault), 0);
    trace_file_free(&file);
    unlink(path);
    seen[fault.why.rule] = true;
    return fault;
}

static void file_cases(void)
{
    struct buf one = {0}, file = {0};
    ck_assert_int_eq(sample_partition(&one), SKEIN_OK);
    struct trace_fault fault = file_fault(&file);
    ck_assert(fault.why.rule == F_37 && fault.why.byte == 0);
    const uint64_t lengths[2] = {one.len, one.len + 1};
    buf_put(&file, one.data, one.len);
    buf_put(&file, one.data, one.len);
    ck_assert_int_eq(trace_table_put(lengths, 2, &file),
                     SKEIN_OK); /* the second is no such length */
    fault = file_fault(&file);
    size_t second = 2 * one.len + HEAD_BYTES + SECTION_HEAD_BYTES + 1 + 2;
    ck_assert(one.len >= 1u << 7 && one.len < 1u << 14); /* so the first length takes two bytes */
    ck_assert_msg(fault.why.rule == F_36 && fault.why.byte == second && fault.bytes == 0, "%d %u",
                  (int)fault.why.rule, (unsigned)fault.why.byte);
    file.len = 2 * one.len - 7; /* torn */
    fault = file_fault(&file);
    ck_assert(fault.why.rule == F_14 && fault.why.byte == file.len);
    ck_assert(fault.offset == one.len && fault.bytes == one.len - 7);
    file.len = one.len;
    buf_put(&file, "garbage", 7); /* between two */
    buf_put(&file, one.data, one.len);
    fault = file_fault(&file);
    ck_assert(fault.why.rule == F_8 && fault.why.byte == one.len && fault.bytes == 7);
    buf_fini(&file);
    buf_fini(&one);
}

START_TEST(every_rule_that_can_be_broken_is_named_with_its_byte)
{
    sound_check();
    frame_cases();
    section_cases();
    table_cases();
    stack_cases();
    block_cases();
    footer_figures();
    footer_lists();
    file_cases();
#define X(n) ck_assert_msg(seen[n], "nothing breaks F-%d", n);
    FORMAT_RULE_LIST(X)
#undef X
}
END_TEST

/* Where the sections of sound bytes begin and end, by F-8 and F-9 alone. */
START_TEST(a_changed_bit_is_named_by_the_section_that_it_lies_in)
{
    struct buf bytes = {0};
    ck_assert_int_eq(sample_stacks_partition(&bytes), SKEIN_OK);
    size_t at = HEAD_BYTES, sections = 0;
    for (; at < bytes.len - TAIL_BYTES; sections++) {
        size_t end = at + SECTION_HEAD_BYTES + bytes.data[at + 8] + bytes.data[at + 9] * 256u;
        for (size_t bit = (at + SECTION_HEAD_BYTES) * 8; bit < end * 8; bit += 3) {
            struct partition_fault fault;
            bytes.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
            ck_assert_int_eq(partition_fault_find(bytes.data, bytes.len, &fault), SKEIN_CORRUPT);
            ck_assert_msg(fault.rule == F_9 && fault.byte == at, "bit %zu: F-%d at %u", bit,
                          (int)fault.rule, (unsigned)fault.byte);
            bytes.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        }
        at = end;
    }
    ck_assert_uint_gt(sections, 8);
    ck_assert_uint_eq(at, bytes.len - TAIL_BYTES);
    for (size_t bit = 0; bit < bytes.len * 8; bit++) { /* and anywhere, some rule */
        struct partition_fault fault;
        bytes.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        ck_assert_int_lt(partition_fault_find(bytes.data, bytes.len, &fault), 0);
        ck_assert(fault.rule != F_NONE && fault.byte <= bytes.len);
        bytes.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    buf_fini(&bytes);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("partition_fault",
                              every_rule_that_can_be_broken_is_named_with_its_byte,
                              a_changed_bit_is_named_by_the_section_that_it_lies_in, NULL));
}
