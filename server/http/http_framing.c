/* SPDX-License-Identifier: Apache-2.0
 *
 * The framing of requests, byte by byte. Owns nothing: the state is the connection's. Never passes
 * on a line end that is not CR LF, a name with anything but letters before its colon, a folded
 * line, two lengths, or a length beside a coding.
 *
 *   START ─▶ METHOD ─▶ TARGET ─▶ VERSION ─▶ LINE ◀─────────────────┐
 *     ▲                                      │ name                │ CR LF
 *     │                                      ├─▶ NAME ─':'─▶ VALUE ┘
 *     │ no body                              │ CR LF
 *     ├──────────────────────────────────────┤ a length
 *     ├── BODY ◀─────────────────────────────┤
 *     │                                      │ chunked
 *     │           ┌──── DATA ◀── size > 0 ───┤
 *     │           └────────────────────▶ CHUNK (SIZE_SPACE, EXTENSION)
 *     └── TRAILER ◀───────────── size 0 ─────┘            any, at the first doubt ─▶ CUT
 */
#include "http_framing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HEAD_BYTES_MAX  (25u << 10) /* a little more than http_mhd.c takes, which answers 431 */
#define LINES_MAX       101u        /* the same */
#define METHOD_MAX      32u
#define EXTRA_BYTES_MAX (16u << 10) /* extensions and trailers of one request */
#define DIGITS_MAX      15u

enum {
    START,
    START_LF,
    METHOD,
    TARGET,
    VERSION,
    VERSION_LF,
    LINE,
    NAME,
    VALUE,
    VALUE_LF,
    HEAD_LF,
    BODY,
    CHUNK,
    SIZE_SPACE,
    EXTENSION,
    CHUNK_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER,
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    TRAILERS_LF,
    CUT,
    STATES
};

struct sink {
    uint8_t *out;
    size_t len, room;
};

static void framing_put(struct http_framing *f, struct sink *to, const void *bytes, size_t n)
{
    size_t fits = to->room - to->len < n ? to->room - to->len : n;
    memcpy(to->out + to->len, bytes, fits);
    to->len += fits;
    size_t rest = n - fits, free_bytes = sizeof f->pending - f->pending_len;
    rest = rest < free_bytes ? rest : free_bytes; /* always: see HTTP_FRAMING_MORE */
    memcpy(f->pending + f->pending_len, (const uint8_t *)bytes + fits, rest);
    f->pending_len += rest;
}

static void text_put(struct http_framing *f, struct sink *to, const char *text)
{
    framing_put(f, to, text, strlen(text));
}

static bool is_token(uint8_t c)
{
    return c > 0x20 && c < 0x7f && strchr("\"(),/:;<=>?@[\\]{}", c) == NULL;
}

/* Of a value, an extension, a trailer. */
static bool is_text(uint8_t c)
{
    return c == '\t' || (c >= 0x20 && c != 0x7f);
}

/* ---- ending a doubtful request ---- */

static bool named(const struct http_framing *f, const char *name)
{
    return f->name_len <= HTTP_FRAMING_NAME && strcasecmp(f->name, name) == 0;
}

/* Whether the header decides where the request ends: it is passed on as a whole, or not at all. */
static bool is_framing(const struct http_framing *f)
{
    return named(f, "Content-Length") || named(f, "Transfer-Encoding");
}

/* Ends the line that has been passed on in part. */
static const char *line_end(const struct http_framing *f)
{
    switch (f->state) {
    case START:
    case START_LF:
        return "GET / HTTP/1.1\r\n";
    case METHOD:
        return " / HTTP/1.1\r\n";
    case TARGET:
        return f->line_bytes == 0 ? "/ HTTP/1.1\r\n" : " HTTP/1.1\r\n";
    case VERSION:
    case VERSION_LF:
        return "HTTP/1.1\r\n";
    case NAME:
        return f->name_len > HTTP_FRAMING_NAME ? ":\r\n" : "";
    case VALUE:
    case VALUE_LF:
        return is_framing(f) ? "" : "\r\n";
    case CHUNK:
    case SIZE_SPACE:
    case EXTENSION:
    case CHUNK_LF:
        return "0\r\n";
    case DATA_CR:
    case DATA_LF:
        return "\r\n0\r\n";
    default:
        return "";
    }
}

/* Begins another request. Output of earlier ones that was not taken yet stays. */
static void framing_begin(struct http_framing *f)
{
    struct http_framing next = {.request = f->request + 1, .pending_len = f->pending_len};
    memcpy(next.pending, f->pending, f->pending_len);
    *f = next;
}

/* Brings the request to an end wherever it is. `wrong` NULL: it is only too large. */
static void framing_cut(struct http_framing *f, struct sink *to, const char *wrong)
{
    if (f->state <= START_LF)
        framing_begin(f);
    text_put(f, to, line_end(f));
    if (f->state < BODY && f->hosts == 0)
        text_put(f, to, "Host: x\r\n");
    text_put(f, to, "\r\n");
    f->wrong = wrong;
    f->cut = true;
    f->state = CUT;
}

/* ---- the first line ---- */

static void on_start(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c == '\r') { /* empty lines before a request mean nothing */
        f->state = START_LF;
    } else if (!is_token(c)) {
        framing_cut(f, to, "its first line begins with no method");
    } else {
        framing_begin(f);
        f->state = METHOD;
        f->head_bytes = f->line_bytes = 1;
        framing_put(f, to, &c, 1);
    }
}

static void on_start_lf(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c == '\n')
        f->state = START;
    else
        framing_cut(f, to, "a CR stands alone");
}

static void on_method(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c == ' ') {
        f->state = TARGET;
        f->line_bytes = 0;
        framing_put(f, to, &c, 1);
    } else if (!is_token(c) || f->line_bytes++ >= METHOD_MAX) {
        framing_cut(f, to, "its method is none");
    } else {
        framing_put(f, to, &c, 1);
    }
}

static void on_target(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c == ' ' && f->line_bytes > 0) {
        f->state = VERSION;
        f->line_bytes = 0;
        framing_put(f, to, &c, 1);
    } else if (c <= 0x20 || c == 0x7f) {
        framing_cut(f, to, "its address holds a space, a control character or nothing");
    } else {
        f->line_bytes++;
        framing_put(f, to, &c, 1);
    }
}

static void on_version(struct http_framing *f, struct sink *to, uint8_t c)
{
    static const char want[] = "HTTP/1.";
    size_t at = f->line_bytes++;
    bool good = at < sizeof want - 1    ? c == (uint8_t)want[at]
                : at == sizeof want - 1 ? c == '0' || c == '1'
                                        : at == sizeof want && c == '\r';
    if (at == sizeof want - 1)
        f->minor = (char)c;
    if (at == sizeof want)
        f->state = VERSION_LF;
    if (!good)
        framing_cut(f, to, "its version is not HTTP/1.1 or HTTP/1.0, alone, before CR LF");
}

static void on_version_lf(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c != '\n') {
        framing_cut(f, to, "a CR stands alone");
        return;
    }
    text_put(f, to, f->minor == '1' ? "HTTP/1.1\r\n" : "HTTP/1.0\r\n");
    f->state = LINE;
}

/* ---- the lines of the head ---- */

static void on_line(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c == '\r') {
        f->state = HEAD_LF;
    } else if (f->lines++ >= LINES_MAX) {
        framing_cut(f, to, NULL);
    } else if (!is_token(c)) {
        framing_cut(f, to,
                    c == ' ' || c == '\t' ? "a line of its header is folded"
                                          : "a header has no name");
    } else {
        f->state = NAME;
        f->name[0] = (char)c;
        f->name_len = 1;
        f->value_len = 0;
    }
}

static void on_name(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c == ':') {
        f->name[f->name_len <= HTTP_FRAMING_NAME ? f->name_len : HTTP_FRAMING_NAME] = '\0';
        f->hosts += named(f, "Host");
        f->authorizations += named(f, "Authorization");
        if (f->hosts > 1 || f->authorizations > 1) {
            framing_cut(f, to, f->hosts > 1 ? "it has two Host" : "it has two Authorization");
            return;
        }
        if (f->name_len <= HTTP_FRAMING_NAME && !is_framing(f))
            framing_put(f, to, f->name, f->name_len);
        if (!is_framing(f))
            framing_put(f, to, &c, 1);
        f->state = VALUE;
    } else if (!is_token(c)) {
        framing_cut(f, to,
                    "the name of a header holds what no name can, or a space before its colon");
    } else if (f->name_len < HTTP_FRAMING_NAME) {
        f->name[f->name_len++] = (char)c;
    } else {
        if (f->name_len++ == HTTP_FRAMING_NAME)
            framing_put(f, to, f->name, HTTP_FRAMING_NAME);
        framing_put(f, to, &c, 1);
    }
}

/* A character of a value that is kept until it is whole: spaces around it do not count. */
static void value_keep(struct http_framing *f, uint8_t c)
{
    if ((c == ' ' || c == '\t') && f->value_len == 0)
        return;
    if (f->value_len < HTTP_FRAMING_VALUE)
        f->value[f->value_len] = (char)c;
    f->value_len++;
}

static void on_value(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c == '\r') {
        f->state = VALUE_LF;
    } else if (!is_text(c)) {
        framing_cut(f, to,
                    c == '\n' ? "a line ends with LF alone" : "a header holds a control character");
    } else if (is_framing(f)) {
        value_keep(f, c);
    } else {
        framing_put(f, to, &c, 1);
    }
}

/* What is wrong with it, or NULL. */
static const char *framing_take(struct http_framing *f)
{
    while (f->value_len > 0 && f->value_len <= HTTP_FRAMING_VALUE &&
           (f->value[f->value_len - 1] == ' ' || f->value[f->value_len - 1] == '\t'))
        f->value_len--;
    bool fits = f->value_len <= HTTP_FRAMING_VALUE;
    f->value[fits ? f->value_len : 0] = '\0';
    if (named(f, "Transfer-Encoding")) {
        f->codings++;
        if (f->minor != '1' || strcasecmp(f->value, "chunked") != 0)
            return "its Transfer-Encoding is not chunked";
    } else {
        f->lengths++;
        size_t digits = strspn(f->value, "0123456789");
        if (digits == 0 || digits != f->value_len || digits > 18)
            return "its Content-Length is no number";
        f->left = 0;
        for (size_t i = 0; i < digits; i++)
            f->left = f->left * 10 + (uint64_t)(f->value[i] - '0');
    }
    return f->lengths + f->codings > 1 ? "it has two Content-Length or Transfer-Encoding" : NULL;
}

static void on_value_lf(struct http_framing *f, struct sink *to, uint8_t c)
{
    const char *wrong = c == '\n' ? NULL : "a CR stands alone";
    if (wrong == NULL && is_framing(f)) {
        wrong = framing_take(f);
        if (wrong == NULL) {
            framing_put(f, to, f->name, f->name_len);
            text_put(f, to, ":");
            text_put(f, to, f->value);
        }
    }
    if (wrong != NULL) {
        framing_cut(f, to, wrong);
        return;
    }
    text_put(f, to, "\r\n");
    f->state = LINE;
}

static void on_head_lf(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c != '\n' || (f->minor == '1' && f->hosts == 0)) {
        framing_cut(f, to, c != '\n' ? "a CR stands alone" : "it has no Host");
        return;
    }
    text_put(f, to, "\r\n");
    f->state = f->codings > 0 ? CHUNK : f->left > 0 ? BODY : START;
    f->size = f->digits = 0;
}

/* ---- chunks ---- */

static unsigned hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10u : 16;
}

static void on_chunk(struct http_framing *f, struct sink *to, uint8_t c)
{
    unsigned digit = hex_digit(c);
    if (digit < 16 && f->digits < DIGITS_MAX) {
        f->size = f->size * 16 + digit;
        f->digits++;
    } else if (f->digits > 0 && c == '\r') {
        f->state = CHUNK_LF;
    } else if (f->digits > 0 && (c == ';' || c == ' ' || c == '\t')) {
        f->state = c == ';' ? EXTENSION : SIZE_SPACE;
    } else {
        framing_cut(f, to, "the size of a chunk is none, or does not end with CR LF");
    }
}

/* Behind a size and a space: "5 0" is 5 to one reader and 80 to another. */
static void on_size_space(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c == '\r')
        f->state = CHUNK_LF;
    else if (c == ';')
        f->state = EXTENSION;
    else if ((c != ' ' && c != '\t') || f->extra_bytes++ >= EXTRA_BYTES_MAX)
        framing_cut(f, to, "the size of a chunk has more than an extension behind it");
}

static void on_extension(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c == '\r')
        f->state = CHUNK_LF;
    else if (!is_text(c) || f->extra_bytes++ >= EXTRA_BYTES_MAX)
        framing_cut(f, to,
                    is_text(c) ? "the extensions of its chunks are too long"
                               : "the extension of a chunk does not end with CR LF");
}

static void on_chunk_lf(struct http_framing *f, struct sink *to, uint8_t c)
{
    char text[32];
    if (c != '\n') {
        framing_cut(f, to, "a CR stands alone");
        return;
    }
    snprintf(text, sizeof text, "%" PRIx64 "\r\n", f->size);
    text_put(f, to, text);
    f->left = f->size;
    f->state = f->size > 0 ? DATA : TRAILER;
}

static void on_data_cr(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c == '\r')
        f->state = DATA_LF;
    else
        framing_cut(f, to, "a chunk is longer than its size");
}

static void on_data_lf(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c != '\n') {
        framing_cut(f, to, "a CR stands alone");
        return;
    }
    text_put(f, to, "\r\n");
    f->state = CHUNK;
    f->size = f->digits = 0;
}

/* ---- trailers: checked and left out ---- */

static void on_trailer(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c == '\r')
        f->state = TRAILERS_LF;
    else if (is_token(c))
        f->state = TRAILER_NAME;
    else
        framing_cut(f, to, "a trailer has no name");
}

static void on_trailer_name(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c == ':')
        f->state = TRAILER_VALUE;
    else if (!is_token(c) || f->extra_bytes++ >= EXTRA_BYTES_MAX)
        framing_cut(f, to, "a trailer has no name, or is too long");
}

static void on_trailer_value(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c == '\r')
        f->state = TRAILER_LF;
    else if (!is_text(c) || f->extra_bytes++ >= EXTRA_BYTES_MAX)
        framing_cut(f, to, "a trailer does not end with CR LF, or is too long");
}

static void on_trailer_lf(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c == '\n')
        f->state = TRAILER;
    else
        framing_cut(f, to, "a CR stands alone");
}

static void on_trailers_lf(struct http_framing *f, struct sink *to, uint8_t c)
{
    if (c != '\n') {
        framing_cut(f, to, "a CR stands alone");
        return;
    }
    text_put(f, to, "\r\n");
    f->state = START;
}

static void (*const steps[STATES])(struct http_framing *, struct sink *, uint8_t) = {
    [START] = on_start,
    [START_LF] = on_start_lf,
    [METHOD] = on_method,
    [TARGET] = on_target,
    [VERSION] = on_version,
    [VERSION_LF] = on_version_lf,
    [LINE] = on_line,
    [NAME] = on_name,
    [VALUE] = on_value,
    [VALUE_LF] = on_value_lf,
    [HEAD_LF] = on_head_lf,
    [CHUNK] = on_chunk,
    [SIZE_SPACE] = on_size_space,
    [EXTENSION] = on_extension,
    [CHUNK_LF] = on_chunk_lf,
    [DATA_CR] = on_data_cr,
    [DATA_LF] = on_data_lf,
    [TRAILER] = on_trailer,
    [TRAILER_NAME] = on_trailer_name,
    [TRAILER_VALUE] = on_trailer_value,
    [TRAILER_LF] = on_trailer_lf,
    [TRAILERS_LF] = on_trailers_lf,
};

size_t http_framing_feed(struct http_framing *f, const uint8_t *in, size_t n, uint8_t *out,
                         size_t room)
{
    struct sink to = {out, 0, room};
    size_t pending = f->pending_len, at = 0;
    f->pending_len = 0;
    uint8_t held[HTTP_FRAMING_MORE];
    memcpy(held, f->pending, pending);
    framing_put(f, &to, held, pending);
    while (at < n && f->state != CUT) {
        if (f->state == BODY || f->state == DATA) {
            size_t part = n - at < f->left ? n - at : (size_t)f->left;
            framing_put(f, &to, in + at, part);
            at += part;
            f->left -= part;
            if (f->left == 0)
                f->state = f->state == BODY ? START : DATA_CR;
        } else {
            uint8_t c = in[at++];
            if (f->state > START_LF && f->state < BODY && f->head_bytes++ >= HEAD_BYTES_MAX)
                framing_cut(f, &to, NULL);
            else
                steps[f->state](f, &to, c);
        }
    }
    return to.len;
}
