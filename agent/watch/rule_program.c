/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the check of a rule for one process; see rule_program.h. Any thread; looks at $PATH.
 */
#include "rule_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_place.h"

/* ---- command lines that are allowed ---- */

#define ANY '\1' /* a star of an entry that stands in no quotes */

/* The next word of an entry, from *at on; out has room for all of the entry. False: there is none. */
static bool entry_word(const char **at, char *out)
{
    const char *c = *at + strspn(*at, " \t");
    char quote = '\0';
    if (*c == '\0')
        return false;
    for (; *c != '\0' && (quote != '\0' || (*c != ' ' && *c != '\t')); c++) {
        if (quote == '\0' && (*c == '\'' || *c == '"'))
            quote = *c;
        else if (*c == quote)
            quote = '\0';
        else
            *out++ = quote == '\0' && *c == '*' ? ANY : *c;
    }
    *out = '\0';
    *at = c;
    return true;
}

/* What a star stands for: no path, no dots alone, and where a word begins with it no option. */
static bool may_be_any(const char *word, const char *at)
{
    return (*at >= '0' && *at <= '9') || (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z') ||
           strchr("._:", *at) != NULL || (*at == '-' && at > word);
}

static bool word_fits(const char *pattern, const char *word, const char *at)
{
    for (; *pattern != ANY; pattern++, at++) {
        if (*pattern != *at)
            return false;
        if (*pattern == '\0')
            return true;
    }
    bool named = false; /* dots alone lead out of a folder */
    while (*at != '\0' && may_be_any(word, at)) {
        named |= *at != '.';
        if (word_fits(pattern + 1, word, ++at) && named)
            return true;
    }
    return false;
}

static bool is_same_program(const char *name, const char *path)
{
    char *allowed = check_program_path(name);
    bool same = allowed != NULL && strcmp(allowed, path) == 0;
    free(allowed);
    return same;
}

/* Whether the entry is this command; `word` has room for all of the entry. */
static bool entry_fits(const char *entry, char *const *argv, const char *path, char *word)
{
    if (!entry_word(&entry, word) || !is_same_program(word, path))
        return false;
    for (argv++; entry_word(&entry, word); argv++)
        if (*argv == NULL || !word_fits(word, *argv, *argv))
            return false;
    return *argv == NULL;
}

char *rule_program_allowed(char *const *argv, const struct config_strs *allow)
{
    char *path = check_program_path(argv[0]);
    for (size_t i = 0; path != NULL && i < allow->count; i++) {
        char *word = malloc(strlen(allow->items[i]) + 1);
        bool fits = word != NULL && entry_fits(allow->items[i], argv, path, word);
        free(word);
        if (fits)
            return path;
    }
    free(path);
    return NULL;
}

/* A word as an entry has it. False: none can, for it has both kinds of quotes. */
static bool word_put(struct buf *line, const char *word)
{
    bool single = strchr(word, '\'') != NULL;
    if (single && strchr(word, '"') != NULL)
        return false;
    if (*word != '\0' && strpbrk(word, " \t*'\"") == NULL)
        buf_printf(line, "%s", word);
    else
        buf_printf(line, single ? "\"%s\"" : "'%s'", word);
    return true;
}

char *rule_program_line(char *const *argv)
{
    struct buf line = {0};
    bool good = true;
    for (size_t i = 0; argv[i] != NULL && good; i++) {
        if (i > 0)
            buf_put_u8(&line, ' ');
        good = word_put(&line, argv[i]);
    }
    buf_put_u8(&line, 0);
    if (good && line.status == SKEIN_OK)
        return (char *)line.data;
    buf_fini(&line);
    return NULL;
}

/* ---- checks ---- */

static bool arguments_fill(struct check_spec *check, const struct rule_spec *spec)
{
    char number[16];
    size_t count = 0;
    snprintf(number, sizeof number, "%u", check->pid);
    while (spec->argv != NULL && spec->argv[count] != NULL)
        count++;
    check->argv = calloc(count + 1, sizeof *check->argv);
    bool copied = check->argv != NULL;
    for (size_t i = 0; i < count && copied; i++)
        copied = (check->argv[i] = check_text_fill(spec->argv[i], "{pid}", number)) != NULL;
    if (spec->target != NULL && copied)
        copied = (check->target = check_text_fill(spec->target, "{pid}", number)) != NULL;
    return copied;
}

struct check_spec *rule_spec_check(const struct rule_spec *spec, uint32_t pid,
                                   const struct rule_program_bounds *bounds)
{
    struct check_spec *check = calloc(1, sizeof *check);
    if (check == NULL)
        return NULL;
    check->kind = spec->kind;
    check->pid = pid;
    check->timeout_ms = spec->timeout_ms;
    check->http_status = spec->http_status;
    bool copied = arguments_fill(check, spec);
    if (spec->expect != NULL && copied)
        copied = (check->expect = strdup(spec->expect)) != NULL;
    if (spec->kind == CHECK_EXEC && copied) {
        check->program = rule_program_allowed(spec->argv, bounds->allow);
        check->line = check->program == NULL ? rule_program_line(spec->argv) : NULL;
        copied = (check->user = strdup(bounds->user)) != NULL;
    }
    if (!copied)
        check_spec_free(&check);
    return check;
}
