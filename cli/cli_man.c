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
static void man_put(struct buf *out, const char *text, size_t n)
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

static void text_put(struct buf *out, const char *text)
{
    man_put(out, text, strlen(text));
}

/* "rule apply" to "skein-rule", in capitals for a heading. */
static void man_page_put(struct buf *out, const char *name, bool capitals)
{
    buf_printf(out, capitals ? "SKEIN" : "skein");
    if (name == NULL)
        return;
    buf_printf(out, "\\-");
    for (; *name && *name != ' '; name++)
        buf_put_u8(out, (uint8_t)(capitals ? toupper((unsigned char)*name) : *name));
}

static void man_head_put(struct buf *out, const char *name, const char *summary)
{
    buf_printf(out, ".TH ");
    man_page_put(out, name, true);
    buf_printf(out, " " SECTION " " SKEIN_DATE " \"Skein " SKEIN_VERSION_TEXT "\" \"Skein\"\n");
    buf_printf(out, ".SH NAME\n");
    man_page_put(out, name, false);
    buf_printf(out, " \\- ");
    buf_put_u8(out, (uint8_t)tolower((unsigned char)summary[0]));
    text_put(out, summary + 1);
    buf_printf(out, "\n.SH SYNOPSIS\n");
}

static void synopsis_put(struct buf *out, const struct cli_command *command)
{
    buf_printf(out, ".B skein ");
    text_put(out, command->name);
    buf_printf(out, "\n[\\fIOPTIONS\\fR]\n");
    if (command->arguments != NULL) {
        text_put(out, command->arguments);
        buf_printf(out, "\n");
    }
}

static void options_put(struct buf *out, const struct cli_command *command)
{
    for (const struct cli_option *o = command->options; o->type; o++) {
        buf_printf(out, ".TP\n");
        if (o->letter)
            buf_printf(out, "\\fB\\-%c\\fR, ", o->letter);
        buf_printf(out, "\\fB\\-\\-");
        text_put(out, o->name);
        buf_printf(out, "\\fR");
        if (o->value != NULL) {
            buf_printf(out, " \\fI");
            text_put(out, o->value);
            buf_printf(out, "\\fR");
        }
        buf_printf(out, "\n");
        text_put(out, o->help);
        buf_printf(out, "\n");
    }
    buf_printf(out, ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nthe same as a short text\n");
}

static void prose_put(struct buf *out, const struct cli_command *command)
{
    text_put(out, command->summary);
    buf_printf(out, ".\n");
    if (command->details != NULL) {
        buf_printf(out, ".PP\n");
        text_put(out, command->details);
    }
}

/* Lines that stay as they are. */
static void lines_put(struct buf *out, const char *lines)
{
    buf_printf(out, ".EX\n");
    text_put(out, lines);
    buf_printf(out, ".EE\n");
}

static void action_put(struct buf *out, const struct cli_command *action)
{
    buf_printf(out, ".SH \"SKEIN ");
    for (const char *c = action->name; *c; c++)
        man_put(out, (char[]){(char)toupper((unsigned char)*c)}, 1);
    buf_printf(out, "\"\n");
    synopsis_put(out, action);
    buf_printf(out, ".PP\n");
    prose_put(out, action);
    options_put(out, action);
    if (action->examples != NULL) {
        buf_printf(out, ".PP\n");
        lines_put(out, action->examples);
    }
}

/* What every page ends with. */
static void foot_put(struct buf *out, const char *see)
{
    buf_printf(out, ".SH EXIT STATUS\n");
#define X(name, value, text) buf_printf(out, ".TP\n.B %d\n" text "\n", value);
    CLI_EXIT_LIST(X)
#undef X
    buf_printf(out, ".SH ENVIRONMENT\n");
#define X(name, text)                                                                              \
    buf_printf(out, ".TP\n.B " name "\n");                                                         \
    text_put(out, text "\n");
    CLI_ENVIRONMENT_LIST(X)
#undef X
    buf_printf(out, ".SH SEE ALSO\n%s\n", see);
}

static void overview_put(struct buf *out)
{
    man_head_put(out, NULL, "what happened just before, on one process or on the whole fleet");
    buf_printf(out, ".B skein\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n"
                    ".SH DESCRIPTION\n"
                    "Skein is a flight recorder: programs write what they do into memory, all the "
                    "time, an agent on each host keeps the last seconds, and a collector stores "
                    "those that somebody, or a rule, asks for.\n"
                    "Each command has a page of its own.\n");
    for (const struct cli_command *const *c = cli_commands; *c != NULL; c++) {
        buf_printf(out, ".TP\n.BR ");
        man_page_put(out, (*c)->name, false);
        buf_printf(out, " (" SECTION ")\n");
        text_put(out, (*c)->summary);
        buf_printf(out, "\n");
    }
}

void cli_man_put(struct buf *out, const struct cli_command *command)
{
    if (command == NULL) {
        overview_put(out);
        foot_put(out, "https://ui.perfetto.dev shows what `skein export` writes.");
        return;
    }
    man_head_put(out, command->name, command->summary);
    if (command->actions != NULL) {
        buf_printf(out, ".B skein ");
        text_put(out, command->name);
        buf_printf(out, "\n\\fIACTION\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n");
    } else {
        synopsis_put(out, command);
    }
    buf_printf(out, ".SH DESCRIPTION\n");
    prose_put(out, command);
    if (command->actions != NULL) {
        for (const struct cli_command *const *action = command->actions; *action != NULL; action++)
            action_put(out, *action);
    } else {
        buf_printf(out, ".SH OPTIONS\n");
        options_put(out, command);
    }
    if (command->examples != NULL) {
        buf_printf(out, ".SH EXAMPLES\n");
        lines_put(out, command->examples);
    }
    foot_put(out, ".BR skein (" SECTION ")");
}
