/* SPDX-License-Identifier: Apache-2.0
 *
 * The metadata of a CTF export, in TSDL. Names of a trace are hostile: those of events are quoted and
 * escaped, those of arguments become identifiers; "env" says which ones had to change. Memory: that of
 * the metadata. No state.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export_ctf_int.h"

/* A text as TSDL quotes it. */
static void quoted_put(struct buf *out, const char *text, const char *behind)
{
    struct buf whole = {0};
    export_utf8_put(&whole, text, strlen(text));
    export_utf8_put(&whole, behind, strlen(behind));
    buf_put_u8(out, '"');
    for (size_t i = 0; i < whole.len; i++) {
        uint8_t c = whole.data[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c < ' ' || c == 0x7f)
            buf_printf(out, "\\%03o", c);
        else
            buf_put_u8(out, c);
    }
    buf_put_u8(out, '"');
    if (whole.status != SKEIN_OK)
        out->status = whole.status;
    buf_fini(&whole);
}

/* ---- names of fields ---- */

#define FIELD_BYTES (SKEIN_ARGS_MAX + 2 * 1024 + 16)

static bool letter_is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The name of argument i without the "_" that all fields begin with, which keeps them from being
 * words of TSDL and which readers take away. Whether it is the name as it was. */
static bool field_name(const struct skein_event_type *type, unsigned i, char out[FIELD_BYTES])
{
    const char *name = type->args[i].name;
    size_t n = strnlen(name, FIELD_BYTES - SKEIN_ARGS_MAX - 16);
    bool same = n > 0 && name[n] == '\0';
    for (size_t k = 0; k < n; k++) {
        out[k] = letter_is_plain(name[k]) ? name[k] : '_';
        same = same && out[k] == name[k];
    }
    out[n] = '\0';
    return same;
}

/* The same, with the number of the argument behind it where another has that name. */
static bool field_only(const struct skein_event_type *type, unsigned i, char out[FIELD_BYTES])
{
    char other[FIELD_BYTES];
    bool same = field_name(type, i, out), again = out[0] == '\0';
    for (unsigned k = 0; k < i; k++) {
        field_name(type, k, other);
        again = again || strcmp(out, other) == 0;
    }
    if (!again)
        return same;
    size_t n = strlen(out);
    /* No name ends in two of these and a number, but for one that was made hostile; it is then told
     * apart by one more. */
    snprintf(out + n, FIELD_BYTES - n, "__%u", i);
    for (unsigned k = 0; k < type->arg_count; k++) {
        field_name(type, k, other);
        if (k != i && strcmp(out, other) == 0) {
            n = strlen(out);
            snprintf(out + n, FIELD_BYTES - n, "_");
            k = UINT32_MAX; /* from the first again */
        }
    }
    return false;
}

/* ---- classes ---- */

static void field_put(struct buf *out, uint8_t type, const char *name)
{
    static const char *const types[] = {[SKEIN_T_U64] = "u64",
                                        [SKEIN_T_I64] = "i64",
                                        [SKEIN_T_F64] = "f64",
                                        [SKEIN_T_BOOL] = "truth",
                                        [SKEIN_T_PTR] = "hex64",
                                        [SKEIN_T_STR] = "string",
                                        [SKEIN_T_SEQ] = "struct { hex64 _resource; u64 _number; }"};
    if (ctf_has_field(type))
        buf_printf(out, "\t\t%s _%s;\n", types[type], name);
}

static void class_put(struct buf *out, const struct skein_event_type *type, uint32_t number,
                      enum ctf_variant variant)
{
    char name[FIELD_BYTES];
    buf_printf(out, "event {\n\tid = %" PRIu32 ";\n\tname = ", number * CTF_VARIANTS + variant);
    quoted_put(out, type->name, variant == CTF_END ? " (end, its begin is lost)" : "");
    buf_printf(out, ";\n\tstream_id = 0;\n");
    if (variant != CTF_POINT && variant != CTF_END)
        buf_printf(out, "\tcontext := struct {\n\t\tu64 _begin;\n\t\tu64 _duration;\n"
                        "\t\tregion_state _state;\n\t};\n");
    buf_printf(out, "\tfields := struct {\n");
    if (variant == CTF_OPERATION)
        buf_printf(out, "\t\ti64 _detail;\n");
    bool args = variant == CTF_POINT || variant == CTF_REGION;
    for (unsigned i = 0; i < type->arg_count && args; i++) {
        field_only(type, i, name);
        field_put(out, type->args[i].type, name);
    }
    buf_printf(out, "\t};\n};\n\n");
}

static void classes_put(const struct export_run *x, struct buf *out)
{
    const struct ctf *ctf = x->state;
    for (uint32_t i = 0; i < ctf->used_cap && out->status == SKEIN_OK; i++)
        for (unsigned v = 0; v < CTF_VARIANTS; v++)
            if ((ctf->used[i] >> v & 1) != 0)
                class_put(out, skein_trace_type(x->trace, i), i, (enum ctf_variant)v);
    buf_printf(out,
               "event {\n\tid = %" PRIu32 ";\n\tname = \"skein: records lost\";\n\tstream_id = 0;\n"
               "\tfields := struct {\n\t\tu64 _begin;\n\t\tu64 _duration;\n\t\tstring _reason;\n"
               "\t\tu64 _records;\n\t};\n};\n\n",
               CTF_ID_LOSS);
    buf_printf(out,
               "event {\n\tid = %" PRIu32 ";\n\tname = \"skein: end of something unknown\";\n"
               "\tstream_id = 0;\n\tfields := struct {\n\t};\n};\n",
               CTF_ID_END);
}

/* ---- the environment ---- */

static void renamed_put(const struct export_run *x, struct buf *out)
{
    const struct ctf *ctf = x->state;
    char name[FIELD_BYTES];
    for (uint32_t i = 0; i < ctf->used_cap; i++) {
        if (ctf->used[i] == 0)
            continue;
        const struct skein_event_type *type = skein_trace_type(x->trace, i);
        for (unsigned k = 0; k < type->arg_count; k++) {
            if (!ctf_has_field(type->args[k].type) || field_only(type, k, name))
                continue;
            buf_printf(out, "\tname_of_%" PRIu32 "_%u = ", i * CTF_VARIANTS, k);
            quoted_put(out, type->args[k].name, "");
            buf_printf(out, ";\n");
        }
    }
}

/* The host where there is one; readers show it. */
static const char *host_of(const struct export_run *x)
{
    const char *host = NULL;
    for (uint32_t i = 0; i < skein_trace_process_count(x->trace); i++) {
        const char *one = skein_trace_process(x->trace, i)->host;
        if (host != NULL && strcmp(host, one) != 0)
            return NULL;
        host = one;
    }
    return host;
}

static void environment_put(const struct export_run *x, struct buf *out)
{
    const struct skein_gap *gaps;
    size_t count = export_gaps(x, &gaps);
    buf_printf(out, "env {\n\ttracer_name = \"skein\";\n\ttracer_version = \"" SKEIN_VERSION_TEXT
                    "\";\n\tdomain = \"ust\";\n");
    if (host_of(x) != NULL) {
        buf_printf(out, "\thostname = ");
        quoted_put(out, host_of(x), "");
        buf_printf(out, ";\n");
    }
    buf_printf(out, "\tlost_records = %" PRIu64 ";\n\tlosses_of_unknown_size = %" PRIu64 ";\n",
               x->lost_records, x->losses_unknown);
    buf_printf(out, "\tfixed_up = %" PRIu64 ";\n\tunordered = %" PRIu64 ";\n",
               skein_cursor_fixed_up(x->cursor), skein_cursor_unordered(x->cursor));
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "\tgap_%zu = ", i);
        quoted_put(out, gaps[i].what, "");
        buf_printf(out, ";\n");
    }
    renamed_put(x, out);
    buf_printf(out, "};\n\n");
}

static const char types_text[] =
    "typealias integer { size = 8; align = 8; signed = false; } := u8;\n"
    "typealias integer { size = 16; align = 8; signed = false; } := u16;\n"
    "typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
    "typealias integer { size = 64; align = 8; signed = true; } := i64;\n"
    "typealias integer { size = 64; align = 8; signed = false; base = 16; } := hex64;\n"
    "typealias integer { size = 8; align = 8; signed = false; base = 16; } := hex8;\n"
    "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64;\n"
    "typealias enum : u8 { \"false\" = 0, \"true\" = 1 } := truth;\n"
    "typealias enum : u8 { \"ended\" = 0, \"began earlier\" = 1, \"ended later\" = 2,\n"
    "\t\"began earlier and ended later\" = 3, \"in progress\" = 4 } := region_state;\n\n";

static const char clock_text_behind[] =
    "typealias integer { size = 64; align = 8; signed = false; map = clock.utc.value; } := "
    "utc_time;\n\n"
    "stream {\n\tid = 0;\n\tpacket.context := struct {\n\t\tutc_time timestamp_begin;\n"
    "\t\tutc_time timestamp_end;\n\t\tu64 content_size;\n\t\tu64 packet_size;\n"
    "\t\tu64 events_discarded;\n\t\tu64 packet_seq_num;\n\t\tu32 _pid;\n\t\tstring _process;\n"
    "\t\tstring _host;\n\t\tstring _service;\n\t};\n"
    "\tevent.header := struct {\n\t\tu32 id;\n\t\tutc_time timestamp;\n\t};\n"
    "\tevent.context := struct {\n\t\tu32 _tid;\n\t\tstring _thread;\n\t\thex8 _flags;\n"
    "\t\tu16 _stack_length;\n\t\tstring _stack[_stack_length];\n\t};\n};\n\n";

int ctf_metadata_put(struct export_run *x)
{
    const struct ctf *ctf = x->state;
    const uint8_t *u = ctf->uuid;
    struct buf out = {0};
    buf_printf(&out, "/* CTF 1.8 */\n\n%s", types_text);
    buf_printf(
        &out,
        "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"%02x%02x%02x%02x-%02x%02x-%02x%02x-"
        "%02x%02x-%02x%02x%02x%02x%02x%02x\";\n\tbyte_order = le;\n\tpacket.header := struct "
        "{\n\t\tu32 magic;\n\t\tu8 uuid[16];\n\t\tu32 stream_id;\n\t};\n};\n\n",
        u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
        u[14], u[15]);
    environment_put(x, &out);
    buf_printf(&out,
               "clock {\n\tname = utc;\n\tdescription = \"UTC by the collector's clock\";\n"
               "\tfreq = 1000000000;\n\toffset_s = %" PRIu64
               ";\n\toffset = 0;\n\tabsolute = true;\n"
               "};\n\n%s",
               ctf->base_ns / UINT64_C(1000000000), clock_text_behind);
    classes_put(x, &out);
    int status = out.status;
    if (status == SKEIN_OK)
        status = x->sink.put(x->sink.context, "metadata", out.data, out.len);
    buf_fini(&out);
    return status;
}
