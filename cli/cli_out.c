/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the form of messages, colours and quantities. One thread; writes to standard output and
 * standard error only.
 */
#include "cli_out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"
#include "text_shown.h"
#include "trace_text.h"

#define MESSAGE_BYTES 2048

static void out_say(const char *prefix, enum colour colour, const char *format, va_list values)
    __attribute__((format(printf, 3, 0)));

static void out_say(const char *prefix, enum colour colour, const char *format, va_list values)
{
    char message[MESSAGE_BYTES];
    struct buf safe = {0};
    int whole = vsnprintf(message, sizeof message, format, values);
    shown_put(&safe, message);
    if (whole >= MESSAGE_BYTES)
        buf_printf(&safe, " ... (cut)");
    fprintf(stderr, "%sskein: %s%s", colour_on(stderr, colour), prefix, colour_off(stderr));
    fprintf(stderr, "%.*s\n", (int)safe.len, safe.data != NULL ? (const char *)safe.data : "");
    buf_fini(&safe);
}

void say_error(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    out_say("", COLOUR_RED, format, values);
    va_end(values);
}

void say_warning(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    out_say("warning: ", COLOUR_YELLOW, format, values);
    va_end(values);
}

static bool coloured(FILE *out)
{
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    if (no_color != NULL && *no_color)
        return false;
    return isatty(fileno(out)) && !(terminal != NULL && strcmp(terminal, "dumb") == 0);
}

const char *colour_on(FILE *out, enum colour colour)
{
    static const char *const codes[] = {"",         "\033[1m",  "\033[2m",
                                        "\033[31m", "\033[32m", "\033[33m"};
    return coloured(out) ? codes[colour] : "";
}

const char *colour_off(FILE *out)
{
    return coloured(out) ? "\033[0m" : "";
}

void safe_print(const char *text)
{
    struct buf safe = {0};
    shown_put(&safe, text);
    out_write(&safe);
    buf_fini(&safe);
}

const char *text_of(struct buf *b)
{
    buf_put_u8(b, 0);
    if (b->status != SKEIN_OK)
        return "";
    b->len--;
    return (const char *)b->data;
}

/* Once: several parts of a command meet it. */
static void write_failed_tell(void)
{
    static bool told;
    if (!told && errno != EPIPE) /* whoever reads our output has seen enough */
        say_error("cannot write to standard output: %s", strerror(errno));
    told = true;
}

bool out_write(const struct buf *b)
{
    if (b->status != SKEIN_OK) {
        say_error("out of memory");
        return false;
    }
    if (b->len == 0 || fwrite(b->data, 1, b->len, stdout) == b->len)
        return true;
    write_failed_tell();
    return false;
}

size_t out_columns(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size = {0};
    if (!isatty(STDOUT_FILENO))
        return 0;
    unsigned long wanted = columns != NULL ? strtoul(columns, NULL, 10) : 0;
    if (wanted > 0)
        return wanted;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int out_close(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return CLI_OK;
    write_failed_tell();
    return CLI_FAILED;
}

void text_put_duration(struct buf *out, uint64_t ns)
{
    char text[TRACE_DURATION_BYTES];
    trace_duration_short(ns, text);
    buf_printf(out, "%s", text);
}

void text_put_bytes(struct buf *out, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    unsigned unit = 0;
    for (; value >= 1024 && unit < 6; unit++)
        value /= 1024;
    if (unit == 0)
        buf_printf(out, "%" PRIu64 " B", bytes);
    else
        buf_printf(out, "%.1f %s", value, units[unit]);
}
