/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the two printed forms of a table of parameters: --help and docs/configuration.md. Pure over
 * the table; writes to the stream it is given and nowhere else.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "units.h"

enum { VALUE_BYTES = 64, RANGE_BYTES = 96 };

static const char *number_name(const struct config_param *p)
{
    switch (unit_of_name(config_leaf(p))) {
    case UNIT_BYTES:
        return "size in bytes, or \"64MiB\"";
    case UNIT_MS:
        return "time in ms, or \"10s\"";
    case UNIT_US:
        return "time in us, or \"20ms\"";
    case UNIT_NS:
        return "time in ns, or \"20us\"";
    case UNIT_NONE:
        break;
    }
    return "number";
}

static const char *type_name(const struct config_param *p)
{
    switch (p->type) {
    case CONFIG_TYPE_STR:
        return "text";
    case CONFIG_TYPE_U64:
        return number_name(p);
    case CONFIG_TYPE_BOOL:
        return "true/false";
    case CONFIG_TYPE_STRS:
        return "list of texts";
    case CONFIG_TYPE_MAP:
        return "object of sizes";
    case CONFIG_TYPE_NONE:
        break;
    }
    return "";
}

static void default_text(const struct config_param *p, char out[VALUE_BYTES])
{
    switch (p->type) {
    case CONFIG_TYPE_STR:
        snprintf(out, VALUE_BYTES, "\"%s\"", p->otherwise != NULL ? p->otherwise : "");
        break;
    case CONFIG_TYPE_U64:
        snprintf(out, VALUE_BYTES, "%" PRIu64, p->number);
        break;
    case CONFIG_TYPE_BOOL:
        snprintf(out, VALUE_BYTES, "%s", p->number ? "true" : "false");
        break;
    default:
        snprintf(out, VALUE_BYTES, "%s", p->type == CONFIG_TYPE_MAP ? "{}" : "[]");
        break;
    }
}

/* "1 to 100", "at least 1", or nothing where every value is fine. */
static void range_text(const struct config_param *p, char out[RANGE_BYTES])
{
    out[0] = '\0';
    if (p->type != CONFIG_TYPE_U64 && p->type != CONFIG_TYPE_MAP)
        return;
    if (p->max < UINT64_MAX)
        snprintf(out, RANGE_BYTES, "%" PRIu64 " to %" PRIu64, p->min, p->max);
    else if (p->min > 0)
        snprintf(out, RANGE_BYTES, "at least %" PRIu64, p->min);
}

void config_print_facts(const struct config_param *p, FILE *out)
{
    char value[VALUE_BYTES], range[RANGE_BYTES];
    default_text(p, value);
    range_text(p, range);
    fprintf(out, "%s, default %s%s%s%s", type_name(p), value, range[0] ? ", " : "", range,
            p->live ? ", read again on SIGHUP" : "");
}

void config_print_sources(const char *daemon, FILE *out)
{
    char prefix[CONFIG_VARIABLE_BYTES];
    config_variable(daemon, &(struct config_param){.path = "spool.max_bytes"}, prefix);
    *strstr(prefix, "SPOOL") = '\0';
    fprintf(out,
            "Each may stand in the JSON file (a dot is an object in it), in a variable of the\n"
            "environment (%sA_B for a.b) and behind --set (--set a.b=VALUE). What stands further\n"
            "right counts. In the last two a list of texts has commas. Times and sizes may have\n"
            "units: 10s, 7d, 64MiB.\n",
            prefix);
}

void config_print_help(const struct config_param *params, FILE *out)
{
    int width = 0;
    for (const struct config_param *p = params; p->type != CONFIG_TYPE_NONE; p++)
        width = (int)strlen(p->path) > width ? (int)strlen(p->path) : width;
    for (const struct config_param *p = params; p->type != CONFIG_TYPE_NONE; p++) {
        fprintf(out, "  %-*s  %s\n  %-*s  ", width, p->path, p->help, width, "");
        config_print_facts(p, out);
        fprintf(out, "\n");
    }
}

/* A bar ends a cell of the table, also inside backticks. */
static void cell_put(const char *text, FILE *out)
{
    for (; *text; text++)
        fprintf(out, *text == '|' ? "\\%c" : "%c", *text);
}

void config_print_markdown(const struct config_param *params, FILE *out)
{
    fprintf(out,
            "| Key | Type | Default | Range | SIGHUP | Meaning |\n|---|---|---|---|---|---|\n");
    for (const struct config_param *p = params; p->type != CONFIG_TYPE_NONE; p++) {
        char value[VALUE_BYTES], range[RANGE_BYTES];
        default_text(p, value);
        range_text(p, range);
        fprintf(out, "| `%s` | %s | `", p->path, type_name(p));
        cell_put(value, out);
        fprintf(out, "` | %s | %s | ", range, p->live ? "read again" : "restart");
        cell_put(p->help, out);
        fprintf(out, " |\n");
    }
}
