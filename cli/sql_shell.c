/* SPDX-License-Identifier: Apache-2.0
 *
 * See sql_shell.h. A statement ends with ';', or with the input; a line that begins with a dot, where
 * no statement has begun, is a word of the shell's own.
 */
#include "sql_shell.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "cli_out.h"
#include "line_edit.h"

#define TEXT_BYTES (16u << 20) /* of all statements from a pipe that are not complete */

/* What SIGINT ends; set while a statement runs at a person's terminal. */
static const struct sql_source *_Atomic running;
static volatile sig_atomic_t pressed; /* since the person's line */

struct shell {
    const struct sql_source *source;
    enum sql_form form;
    bool person, quits;
    size_t line;     /* of the input, of the text's first */
    struct buf text; /* a statement that has begun */
};

/* ---- words with a dot ---- */

static void tables_print(void)
{
    for (size_t i = 0; sql_table_name(i) != NULL; i++)
        printf("%s\n", sql_table_name(i));
}

static bool schema_print(const char *of)
{
    bool found = false;
    for (size_t i = 0; sql_table_name(i) != NULL; i++) {
        const char *column, *type;
        if (*of != '\0' && strcmp(of, sql_table_name(i)) != 0)
            continue;
        found = true;
        printf("create table %s(", sql_table_name(i));
        for (size_t c = 0; (column = sql_table_column(i, c, &type)) != NULL; c++)
            printf("%s%s%s%s", c > 0 ? ", " : "", column, *type != '\0' ? " " : "", type);
        printf(");\n");
    }
    return found;
}

static const char *const dot_words[] = {".help", ".quit", ".schema", ".tables"};

static int dot_run(struct shell *shell, const char *word)
{
    static const char help[] =
        ".tables           the tables\n"
        ".schema [TABLE]   their columns\n"
        ".quit             the end (Ctrl-D, too)\n"
        "A statement ends with ;. Ctrl-C ends one that runs, or drops what is typed.\n"
        "docs/sql.md says what each column holds.\n";
    size_t n = strcspn(word, " \t;");
    const char *rest = word + n + strspn(word + n, " \t;");
    char of[64];
    snprintf(of, sizeof of, "%.*s", (int)strcspn(rest, " \t;"), rest);
    if (n == 7 && strncmp(word, ".tables", n) == 0)
        tables_print();
    else if (n == 5 && strncmp(word, ".help", n) == 0)
        printf("%s", help);
    else if (n == 5 && (strncmp(word, ".quit", n) == 0 || strncmp(word, ".exit", n) == 0))
        shell->quits = true;
    else if (n != 7 || strncmp(word, ".schema", n) != 0) {
        say_error("sql: %.*s: there are .tables, .schema, .help and .quit", (int)n, word);
        return CLI_FAILED;
    } else if (!schema_print(of)) {
        say_error("sql: there is no table %s; see .tables", of);
        return CLI_FAILED;
    }
    return out_close();
}

/* ---- statements ---- */

/* What is wrong, and where in the text that is, for people. */
static void error_tell(const struct shell *shell, const char *text, const char *statement)
{
    int at = -1;
    const char *error = shell->source->error(shell->source->context, &at);
    size_t line = shell->line + 1, column = 1;
    if (error == NULL) /* it has been told */
        return;
    if (at < 0 || (size_t)at > strlen(statement)) {
        say_error("sql: %s", error);
        return;
    }
    for (const char *p = text; p < statement + at; p++) {
        line += *p == '\n';
        column = *p == '\n' ? 1 : column + 1;
    }
    say_error("sql: %s (line %zu, column %zu)", error, line, column);
}

/* The first statement of `from`, which is in `text`; *used: how much of it that was. */
static int statement_run(struct shell *shell, const char *text, const char *from, size_t *used)
{
    const struct sql_source *source = shell->source;
    int taken = source->take(source->context, from, used);
    int status = taken < 0 ? CLI_FAILED : CLI_OK;
    if (taken == 0)
        return CLI_OK;
    if (taken > 0) {
        running = shell->person ? source : NULL;
        if (pressed) /* before it ran */
            source->interrupt(source->context);
        status = source->run(source->context, shell->form);
        running = NULL;
    }
    fflush(stdout);
    if (status != CLI_OK)
        error_tell(shell, text, from);
    int ended = source->end(source->context);
    return status != CLI_OK ? status : ended;
}

static int statements_run(struct shell *shell, const char *text)
{
    const char *at = text;
    int status = CLI_OK;
    while (*at != '\0' && status == CLI_OK) {
        size_t used = 0;
        status = statement_run(shell, text, at, &used);
        if (used == 0)
            break;
        at += used;
    }
    return status;
}

int sql_text_run(const struct sql_source *source, enum sql_form form, const char *text)
{
    struct shell shell = {.source = source, .form = form};
    const char *word = text + strspn(text, " \t\n");
    int status = *word == '.' ? dot_run(&shell, word) : statements_run(&shell, text);
    int closed = out_close();
    return status == CLI_OK ? closed : status;
}

/* ---- lines ---- */

static int line_take(struct shell *shell, const char *line)
{
    int status = CLI_OK;
    if (shell->text.len == 0 && line[strspn(line, " \t")] == '\0') {
        shell->line++;
        return CLI_OK;
    }
    if (shell->text.len == 0 && *line == '.') {
        shell->line++;
        return dot_run(shell, line);
    }
    if (shell->text.len > TEXT_BYTES) {
        say_error("sql: line %zu begins a statement of more than 16 MiB", shell->line + 1);
        return CLI_FAILED;
    }
    buf_put(&shell->text, line, strlen(line));
    buf_put(&shell->text, "\n", 2); /* and a NUL */
    if (shell->text.status != SKEIN_OK) {
        say_error("out of memory");
        return CLI_FAILED;
    }
    shell->text.len--;
    const char *text = (const char *)shell->text.data;
    if (sql_is_complete(text)) {
        status = statements_run(shell, text);
        for (const char *p = text; *p != '\0'; p++)
            shell->line += *p == '\n';
        buf_clear(&shell->text);
    }
    return status;
}

/* What is left without a ';'. */
static int rest_take(struct shell *shell)
{
    return shell->text.len > 0 ? statements_run(shell, (const char *)shell->text.data) : CLI_OK;
}

static int pipe_run(struct shell *shell)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int status = CLI_OK;
    while (status == CLI_OK && !shell->quits && (n = getline(&line, &cap, stdin)) >= 0) {
        if (strlen(line) != (size_t)n) {
            say_error("sql: line %zu has a NUL", shell->line + 1);
            status = CLI_FAILED;
            break;
        }
        line[strcspn(line, "\n")] = '\0';
        status = line_take(shell, line);
    }
    if (status == CLI_OK && !shell->quits && ferror(stdin)) {
        say_error("sql: standard input: %s", strerror(errno));
        status = CLI_FAILED;
    }
    if (status == CLI_OK && !shell->quits)
        status = rest_take(shell);
    free(line);
    return status;
}

/* ---- a person ---- */

/* Whether a table before has a column of that name. */
static bool column_was_told(const char *name, size_t table)
{
    const char *column, *type;
    for (size_t i = 0; i < table; i++)
        for (size_t c = 0; (column = sql_table_column(i, c, &type)) != NULL; c++)
            if (strcmp(column, name) == 0)
                return true;
    return false;
}

static const char *word_at(void *context, size_t n)
{
    static const char *const keywords[] = {
        "and",       "as",       "asc",  "avg",  "between",      "by",    "case",  "count",
        "desc",      "distinct", "else", "end",  "explain",      "from",  "glob",  "group",
        "having",    "in",       "is",   "join", "json_extract", "left",  "like",  "limit",
        "max",       "min",      "not",  "null", "on",           "or",    "order", "over",
        "partition", "select",   "sum",  "then", "total",        "union", "using", "values",
        "when",      "where",    "with"};
    const size_t dots = sizeof dot_words / sizeof *dot_words;
    const size_t keys = sizeof keywords / sizeof *keywords;
    (void)context;
    if (n < dots)
        return dot_words[n];
    n -= dots;
    if (n < keys)
        return keywords[n];
    n -= keys;
    size_t tables = 0;
    while (sql_table_name(tables) != NULL)
        tables++;
    if (n < tables)
        return sql_table_name(n);
    n -= tables;
    for (size_t i = 0; i < tables; i++) {
        const char *column, *type;
        for (size_t c = 0; (column = sql_table_column(i, c, &type)) != NULL; c++)
            if (!column_was_told(column, i) && n-- == 0)
                return column;
    }
    return NULL;
}

/* Makes a folder for the user alone, and those around it. */
static bool folders_make(char *path)
{
    for (char *p = path + 1; *p != '\0'; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        *p = '/';
        if (!made)
            return false;
    }
    return true;
}

/* $XDG_STATE_HOME/skein/sql_history, or below ~/.local/state; NULL where there is no home. */
static char *history_path(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int n = -1;
    if (state != NULL && state[0] == '/')
        n = asprintf(&path, "%s/skein/sql_history", state);
    else if (home != NULL && home[0] == '/')
        n = asprintf(&path, "%s/.local/state/skein/sql_history", home);
    if (n < 0)
        return NULL;
    if (folders_make(path))
        return path;
    say_warning("no history is kept: %s: %s", path, strerror(errno));
    free(path);
    return NULL;
}

static void statement_interrupt(int signal)
{
    (void)signal;
    pressed = 1;
    const struct sql_source *source = running;
    if (source != NULL)
        source->interrupt(source->context);
}

static int person_run(struct shell *shell)
{
    struct sigaction before, action = {.sa_handler = statement_interrupt, .sa_flags = SA_RESTART};
    struct line_edit *edit;
    const char *line;
    bool cancelled;
    char *history = history_path();
    int status = line_edit_new("skein", history, word_at, NULL, &edit);
    free(history);
    if (status != SKEIN_OK) {
        say_error("out of memory");
        return CLI_FAILED;
    }
    sigaction(SIGINT, &action, &before);
    printf("Tables: .tables, .schema; .help says more.\n");
    while (!shell->quits && (line = line_edit_get(edit, shell->text.len > 0 ? "...> " : "sql> ",
                                                  &cancelled)) != NULL) {
        pressed = 0;
        if (cancelled)
            buf_clear(&shell->text);
        else
            line_take(shell, line);
        shell->line = 0; /* lines are counted in a statement */
        fflush(stdout);
    }
    if (!shell->quits)
        printf("\n");
    sigaction(SIGINT, &before, NULL);
    line_edit_free(&edit);
    return CLI_OK;
}

int sql_input_run(const struct sql_source *source, enum sql_form form)
{
    struct shell shell = {.source = source, .form = form};
    shell.person = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
    int status = shell.person ? person_run(&shell) : pipe_run(&shell);
    buf_fini(&shell.text);
    int closed = out_close();
    return status == CLI_OK ? closed : status;
}
