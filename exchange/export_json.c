/* SPDX-License-Identifier: Apache-2.0
 *
 * Values as JSON for exports: exact, and valid whatever a trace says. No state.
 */
#include <math.h>
#include <string.h>

#include "export_int.h"
#include "json.h"

#define EXACT_MAX (UINT64_C(1) << 53)

/* By hand, as a trace has millions of them. */
static size_t digits_of(uint64_t v, char out[24])
{
    size_t at = 24;
    do {
        out[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    return at;
}

void export_json_digits(struct buf *out, uint64_t v)
{
    char digits[24];
    size_t at = digits_of(v, digits);
    buf_put(out, digits + at, sizeof digits - at);
}

static void integer_put(struct buf *out, bool negative, uint64_t size)
{
    const char *quote = size > EXACT_MAX ? "\"" : "";
    export_put(out, quote);
    if (negative)
        buf_put_u8(out, '-');
    export_json_digits(out, size);
    export_put(out, quote);
}

void export_json_u64(struct buf *out, uint64_t v)
{
    integer_put(out, false, v);
}

void export_json_i64(struct buf *out, int64_t v)
{
    integer_put(out, v < 0, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void export_json_f64(struct buf *out, double v)
{
    if (isnan(v))
        buf_printf(out, "\"NaN\"");
    else if (isinf(v))
        buf_printf(out, v < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    else
        buf_printf(out, "%.17g", v);
}

void export_json_text(struct buf *out, const char *text)
{
    json_put_text(out, text, strlen(text));
}

void export_json_us(struct buf *out, uint64_t ns, uint64_t base)
{
    uint64_t size = ns < base ? base - ns : ns - base;
    unsigned part = (unsigned)(size % 1000);
    const char fraction[] = {'.', (char)('0' + part / 100), (char)('0' + part / 10 % 10),
                             (char)('0' + part % 10)};
    if (ns < base)
        buf_put_u8(out, '-');
    export_json_digits(out, size / 1000);
    buf_put(out, fraction, sizeof fraction);
}
