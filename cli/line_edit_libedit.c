/* SPDX-License-Identifier: Apache-2.0
 *
 * See line_edit.h. The only file that knows libedit.
 */
#include <histedit.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "line_edit.h"
#include "skein/status.h"

#define HISTORY_LINES 1000
#define WORD_BYTES    256

struct line_edit {
    EditLine *el;
    History *history;
    char *file;
    const char *prompt;
    line_word *word;
    void *context;
    char *line;
    bool cancelled;
};

static struct line_edit *edit_of(EditLine *el)
{
    void *edit = NULL;
    el_get(el, EL_CLIENTDATA, &edit);
    return edit;
}

static char *prompt_of(EditLine *el)
{
    static char none[] = "";
    struct line_edit *edit = edit_of(el);
    return edit->prompt != NULL ? (char *)(uintptr_t)edit->prompt : none;
}

static unsigned char line_cancel(EditLine *el, int key)
{
    (void)key;
    edit_of(el)->cancelled = true;
    fputs("^C", stdout);
    return CC_NEWLINE;
}

/* ---- completion ---- */

static bool is_of_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Letters of either case are the same to SQL. */
static bool word_begins(const char *word, const char *with, size_t n)
{
    return strncasecmp(word, with, n) == 0;
}

static void words_list(const struct line_edit *edit, const char *begin, size_t n)
{
    size_t column = 0;
    fputc('\n', stdout);
    for (size_t i = 0; edit->word(edit->context, i) != NULL; i++) {
        const char *word = edit->word(edit->context, i);
        if (!word_begins(word, begin, n))
            continue;
        if (column + strlen(word) > 78) {
            fputc('\n', stdout);
            column = 0;
        }
        column += (size_t)fprintf(stdout, "%s  ", word);
    }
    fputc('\n', stdout);
}

static unsigned char word_complete(EditLine *el, int key)
{
    const struct line_edit *edit = edit_of(el);
    const LineInfo *line = el_line(el);
    const char *begin = line->cursor;
    char rest[WORD_BYTES] = "";
    size_t found = 0;
    (void)key;
    while (begin > line->buffer && is_of_word(begin[-1]))
        begin--;
    if (begin == line->buffer + 1 && line->buffer[0] == '.')
        begin--;
    size_t n = (size_t)(line->cursor - begin);
    for (size_t i = 0; edit->word(edit->context, i) != NULL; i++) {
        const char *word = edit->word(edit->context, i);
        if (!word_begins(word, begin, n))
            continue;
        if (found++ == 0) {
            snprintf(rest, sizeof rest, "%s ", word + n);
            continue;
        }
        size_t same = 0;
        while (rest[same] != '\0' && rest[same] == word[n + same])
            same++;
        rest[same] = '\0';
    }
    if (found == 0)
        return CC_REFRESH_BEEP;
    if (rest[0] != '\0')
        return el_insertstr(el, rest) == 0 ? CC_REFRESH : CC_ERROR;
    words_list(edit, begin, n);
    return CC_REDISPLAY;
}

/* ---- */

int line_edit_new(const char *program, const char *file, line_word *word, void *context,
                  struct line_edit **out)
{
    struct line_edit *edit = calloc(1, sizeof *edit);
    HistEvent event;
    *out = NULL;
    if (edit == NULL)
        return SKEIN_NO_MEMORY;
    setlocale(LC_CTYPE, "");
    edit->word = word;
    edit->context = context;
    edit->file = file != NULL ? strdup(file) : NULL;
    edit->history = history_init();
    edit->el = el_init(program, stdin, stdout, stderr);
    if (edit->history == NULL || edit->el == NULL || (file != NULL && edit->file == NULL)) {
        line_edit_free(&edit);
        return SKEIN_NO_MEMORY;
    }
    history(edit->history, &event, H_SETSIZE, HISTORY_LINES);
    history(edit->history, &event, H_SETUNIQUE, 1);
    if (edit->file != NULL)
        history(edit->history, &event, H_LOAD, edit->file);
    el_set(edit->el, EL_CLIENTDATA, edit);
    el_set(edit->el, EL_PROMPT, prompt_of);
    el_set(edit->el, EL_EDITOR, "emacs");
    el_set(edit->el, EL_HIST, history, edit->history);
    /* By the wide function: the other one copies these texts and forgets the copies. */
    el_wset(edit->el, EL_ADDFN, L"skein-complete", L"Complete a word", word_complete);
    el_wset(edit->el, EL_ADDFN, L"skein-cancel", L"Clear the line", line_cancel);
    el_set(edit->el, EL_SETTY, "-d", "-isig", (char *)NULL);
    el_set(edit->el, EL_BIND, "^I", "skein-complete", (char *)NULL);
    el_set(edit->el, EL_BIND, "^C", "skein-cancel", (char *)NULL);
    el_set(edit->el, EL_BIND, "^R", "em-inc-search-prev", (char *)NULL);
    *out = edit;
    return SKEIN_OK;
}

void line_edit_free(struct line_edit **edit)
{
    HistEvent event;
    if (*edit == NULL)
        return;
    if ((*edit)->el != NULL)
        el_end((*edit)->el);
    if ((*edit)->history != NULL && (*edit)->file != NULL) {
        mode_t mask = umask(077);
        history((*edit)->history, &event, H_SAVE, (*edit)->file);
        umask(mask);
    }
    if ((*edit)->history != NULL)
        history_end((*edit)->history);
    free((*edit)->file);
    free((*edit)->line);
    free(*edit);
    *edit = NULL;
}

const char *line_edit_get(struct line_edit *edit, const char *prompt, bool *cancelled)
{
    int n = 0;
    HistEvent event;
    edit->prompt = prompt;
    edit->cancelled = *cancelled = false;
    /* libedit itself takes the terminal after it has shown the prompt: a Ctrl-C in between would end
     * nothing and show nothing. */
    el_set(edit->el, EL_PREP_TERM, 1);
    const char *line = el_gets(edit->el, &n);
    free(edit->line);
    edit->line = NULL;
    if (!edit->cancelled && (line == NULL || n <= 0)) /* of an empty line, Ctrl-C leaves nothing */
        return NULL;
    *cancelled = edit->cancelled;
    edit->line = strdup(edit->cancelled ? "" : line);
    if (edit->line == NULL)
        return NULL;
    edit->line[strcspn(edit->line, "\n")] = '\0';
    if (edit->line[strspn(edit->line, " \t")] != '\0')
        history(edit->history, &event, H_ENTER, edit->line);
    return edit->line;
}
