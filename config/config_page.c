/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the two forms of a daemon's own words: --help and the man page of section 8. Pure over the
 * tables; writes to the stream it is given and nowhere else.
 */
#include "config_page.h"

#include <ctype.h>
#include <string.h>

/* ---- --help ---- */

/* Writes each line of `lines` behind `indent`. */
static void lines_put(const char *lines, const char *indent, FILE *out)
{
    while (*lines != '\0') {
        size_t n = strcspn(lines, "\n");
        fprintf(out, "%s%.*s\n", n > 0 ? indent : "", (int)n, lines);
        lines += n + (lines[n] == '\n');
    }
}

void config_page_help(const struct config_page *page, FILE *out)
{
    int width = 0;
    char indent[64];
    for (const struct config_option *o = page->options; o->words != NULL; o++)
        width = (int)strlen(o->words) > width ? (int)strlen(o->words) : width;
    snprintf(indent, sizeof indent, "       %s ", page->name);
    fprintf(out, "Usage: %s %.*s\n", page->name, (int)strcspn(page->synopsis, "\n"),
            page->synopsis);
    const char *second = strchr(page->synopsis, '\n');
    if (second != NULL)
        lines_put(second + 1, indent, out);
    fprintf(out, "\n%s\n", page->about);
    for (const struct config_option *o = page->options; o->words != NULL; o++)
        fprintf(out, "  %-*s  %s\n", width, o->words, o->help);
    fprintf(out, "\nExamples:\n");
    lines_put(page->examples, "  ", out);
    fprintf(out, "\n%s\nSettings:\n", page->more);
    config_print_sources(page->name, out);
    fputc('\n', out);
    config_print_help(page->params, out);
}

/* ---- the man page ---- */

/* Writes text for roff: no line becomes a request, and no '-' a hyphen. */
static void roff_put(const char *text, FILE *out)
{
    bool begins = true;
    for (; *text != '\0'; begins = *text++ == '\n') {
        if (begins && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
    }
}

static void verbatim_put(const char *lines, FILE *out)
{
    fputs(".EX\n", out);
    roff_put(lines, out);
    fputs(".EE\n", out);
}

static void config_page_head_put(const struct config_page *page, FILE *out)
{
    fputs(".TH ", out);
    for (const char *c = page->name; *c != '\0'; c++)
        roff_put((char[]){(char)toupper((unsigned char)*c), '\0'}, out);
    fputs(" 8 " SKEIN_DATE " \"Skein " SKEIN_VERSION_TEXT "\" \"Skein\"\n.SH NAME\n", out);
    roff_put(page->name, out);
    fputs(" \\- ", out);
    roff_put(page->summary, out);
    fputs("\n.SH SYNOPSIS\n", out);
    for (const char *form = page->synopsis; *form != '\0';) {
        size_t n = strcspn(form, "\n");
        fprintf(out, "%s.B ", form == page->synopsis ? "" : ".br\n");
        roff_put(page->name, out);
        fputc('\n', out);
        for (size_t i = 0; i < n; i++)
            roff_put((char[]){form[i], '\0'}, out);
        fputc('\n', out);
        form += n + (form[n] == '\n');
    }
}

void config_page_man(const struct config_page *page, FILE *out)
{
    config_page_head_put(page, out);
    fputs(".SH DESCRIPTION\n", out);
    roff_put(page->about, out);
    fputs(".SH OPTIONS\n", out);
    for (const struct config_option *o = page->options; o->words != NULL; o++) {
        fputs(".TP\n\\fB", out);
        roff_put(o->words, out);
        fputs("\\fR\n", out);
        roff_put(o->help, out);
        fputc('\n', out);
    }
    fputs(".SH SETTINGS\n", out);
    config_print_sources(page->name, out);
    for (const struct config_param *p = page->params; p->type != CONFIG_TYPE_NONE; p++) {
        fputs(".TP\n\\fB", out);
        roff_put(p->path, out);
        fputs("\\fR\n", out);
        roff_put(p->help, out);
        fputs("\n.br\n", out);
        config_print_facts(p, out);
        fputc('\n', out);
    }
    fputs(".SH NOTES\n", out);
    roff_put(page->more, out);
    fputs(".SH EXAMPLES\n", out);
    verbatim_put(page->examples, out);
    fprintf(out, ".SH SEE ALSO\n%s\n", page->see);
}
