/* SPDX-License-Identifier: Apache-2.0
 *
 * Man pages from the tables, in the man(7) macros that groff and mandoc both know. One thread.
 */
#include <ctype.h>
#include <string.h>

#include "buf.h"
#include "cli.h"

#define SECTION "1"

/* Text for roff, `n` bytes: no line of it is taken for a request, and no '-' for a hyphen. */
static void put(struct buf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool begins =
            i == 0 ? out->len > 0 && out->data[out->len - 1] == '\n' : text[i - 1] == '\n';
        if (begins && (text[i] == '.' || text[i] == '\''))
            buf_printf(out, "\\&");
        if (text[i] == '\\')
            buf_printf(out, "\\e");
        else if (text[i] == '-')
            buf_printf(out, "\\-");
        else
            buf_put_u8(out, (uint8_t)text[i]);
    }
}

static void put_text(struct buf *out, const char *text)
{
    put(out, text, strlen(text));
}

/* "rule apply" to "skein-rule", in capitals for a heading. */
static void put_page(struct buf *out, const char *name, bool capitals)
{
    buf_printf(out, capitals ? "SKEIN" : "skein");
    if (!name)
        return;
    buf_printf(out, "\\-");
    for (; *name && *name != ' '; name++)
        buf_put_u8(out, (uint8_t)(capitals ? toupper((unsigned char)*name) : *name));
}

static void put_head(struct buf *out, const char *name, const char *summary)
{
    buf_printf(out, ".TH ");
    put_page(out, name, true);
    buf_printf(out, " " SECTION " " SKEIN_DATE " \"Skein " SKEIN_VERSION_TEXT "\" \"Skein\"\n");
    buf_printf(out, ".SH NAME\n");
    put_page(out, name, false);
    buf_printf(out, " \\- ");
    buf_put_u8(out, (uint8_t)tolower((unsigned char)summary[0]));
    put_text(out, summary + 1);
    buf_printf(out, "\n.SH SYNOPSIS\n");
}

static void put_synopsis(struct buf *out, const struct cli_command *command)
{
    buf_printf(out, ".B skein ");
    put_text(out, command->name);
    buf_printf(out, "\n[\\fIOPTIONS\\fR]\n");
    if (*command->arguments) {
        put_text(out, command->arguments);
        buf_printf(out, "\n");
    }
}

static void put_options(struct buf *out, const struct cli_command *command)
{
    for (const struct cli_option *o = command->options; o->type; o++) {
        buf_printf(out, ".TP\n");
        if (o->letter)
            buf_printf(out, "\\fB\\-%c\\fR, ", o->letter);
        buf_printf(out, "\\fB\\-\\-");
        put_text(out, o->name);
        buf_printf(out, "\\fR");
        if (o->value) {
            buf_printf(out, " \\fI");
            put_text(out, o->value);
            buf_printf(out, "\\fR");
        }
        buf_printf(out, "\n");
        put_text(out, o->help);
        buf_printf(out, "\n");
    }
    buf_printf(out, ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nthe same as a short text\n");
}

static void put_prose(struct buf *out, const struct cli_command *command, bool summary)
{
    if (summary) {
        put_text(out, command->summary);
        buf_printf(out, ".\n");
    }
    if (command->details) {
        if (summary)
            buf_printf(out, ".PP\n");
        put_text(out, command->details);
    }
}

/* Lines that stay as they are. */
static void put_lines(struct buf *out, const char *lines)
{
    buf_printf(out, ".EX\n");
    put_text(out, lines);
    buf_printf(out, ".EE\n");
}

static void put_action(struct buf *out, const struct cli_command *action)
{
    buf_printf(out, ".SH \"SKEIN ");
    for (const char *c = action->name; *c; c++)
        put(out, (char[]){(char)toupper((unsigned char)*c)}, 1);
    buf_printf(out, "\"\n");
    put_synopsis(out, action);
    buf_printf(out, ".PP\n");
    put_prose(out, action, true);
    put_options(out, action);
    if (action->examples) {
        buf_printf(out, ".PP\n");
        put_lines(out, action->examples);
    }
}

/* What every page ends with. */
static void put_foot(struct buf *out, const char *see)
{
    buf_printf(out, ".SH EXIT STATUS\n");
#define X(name, value, text) buf_printf(out, ".TP\n.B %d\n" text "\n", value);
    CLI_EXIT_LIST(X)
#undef X
    buf_printf(out, ".SH ENVIRONMENT\n");
#define X(name, text)                                                                              \
    buf_printf(out, ".TP\n.B " name "\n");                                                         \
    put_text(out, text "\n");
    CLI_ENVIRONMENT_LIST(X)
#undef X
    buf_printf(out, ".SH SEE ALSO\n%s\n", see);
}

static void put_overview(struct buf *out)
{
    put_head(out, NULL, "what happened just before, on one process or on the whole fleet");
    buf_printf(out, ".B skein\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n"
                    ".SH DESCRIPTION\n"
                    "Skein is a flight recorder: programs write what they do into memory, all the "
                    "time, an agent on each host keeps the last seconds, and a collector stores "
                    "those that somebody, or a rule, asks for.\n"
                    "Each command has a page of its own.\n");
    for (const struct cli_command *const *c = cli_commands; *c; c++) {
        buf_printf(out, ".TP\n.BR ");
        put_page(out, (*c)->name, false);
        buf_printf(out, " (" SECTION ")\n");
        put_text(out, (*c)->summary);
        buf_printf(out, "\n");
    }
}

void cli_man_put(struct buf *out, const struct cli_command *command)
{
    if (!command) {
        put_overview(out);
        put_foot(out, "https://ui.perfetto.dev shows what `skein export` writes.");
        return;
    }
    put_head(out, command->name, command->summary);
    if (command->actions) {
        buf_printf(out, ".B skein ");
        put_text(out, command->name);
        buf_printf(out, "\n\\fIACTION\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n");
    } else {
        put_synopsis(out, command);
    }
    buf_printf(out, ".SH DESCRIPTION\n");
    put_prose(out, command, true);
    if (command->actions) {
        for (const struct cli_command *const *action = command->actions; *action; action++)
            put_action(out, *action);
    } else {
        buf_printf(out, ".SH OPTIONS\n");
        put_options(out, command);
    }
    if (command->examples) {
        buf_printf(out, ".SH EXAMPLES\n");
        put_lines(out, command->examples);
    }
    put_foot(out, ".BR skein (" SECTION ")");
}
