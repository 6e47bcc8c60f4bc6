/* SPDX-License-Identifier: Apache-2.0
 *
 * Flame graphs of a page, of folded stacks: as SVG with the root above, and a table of where the time
 * itself was spent. Pure; hostile input expected.
 */
#include "array.h"
#include "page_int.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH      1000
#define ROW        16
#define LETTER     6.1
#define DEPTH_MOST 60u
#define TABLE_ROWS 15u
#define NARROWEST  1.0 /* of the width; what is narrower cannot be seen */

struct line { /* of the folded text */
    const char *stack;
    size_t n;
    uint64_t value;
};

struct node { /* a frame with all that was called from it */
    const char *name;
    size_t n;
    unsigned depth;
    double from, value;
};

struct self {
    const char *name;
    size_t n;
    double value;
};

struct flame {
    struct line *lines;
    size_t line_count, line_cap;
    struct node *nodes;
    size_t node_count, node_cap;
    struct self *selves;
    size_t self_count;
    double total;
    uint64_t unread; /* lines that are none */
    unsigned depth;
};

static void flame_fini(struct flame *f)
{
    free(f->lines);
    free(f->nodes);
    free(f->selves);
}

/* ---- reading ---- */

static bool line_parse(const char *text, size_t n, struct line *line)
{
    size_t at = n;
    uint64_t value = 0;
    while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
        at--;
    for (size_t i = at; i < n; i++)
        value = value > (UINT64_MAX - 9) / 10 ? UINT64_MAX / 100
                                              : value * 10 + (uint64_t)(text[i] - '0');
    *line = (struct line){text, at > 0 ? at - 1 : 0, value};
    return at < n && at > 1 && text[at - 1] == ' ' && value > 0;
}

/* Frames are what is compared: their end comes before every letter. */
static unsigned rank_of(char c)
{
    return c == ';' ? 0 : 1u + (uint8_t)c;
}

static int line_order(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    size_t n = x->n < y->n ? x->n : y->n;
    for (size_t i = 0; i < n; i++)
        if (x->stack[i] != y->stack[i])
            return rank_of(x->stack[i]) < rank_of(y->stack[i]) ? -1 : 1;
    return (x->n > y->n) - (x->n < y->n);
}

static int lines_read(struct flame *f, const char *text, size_t bytes)
{
    while (bytes > 0) {
        const char *end = memchr(text, '\n', bytes);
        size_t n = end != NULL ? (size_t)(end - text) : bytes;
        struct line line;
        if (!array_grow(f->lines, f->line_count + 1, &f->line_cap))
            return SKEIN_NO_MEMORY;
        if (line_parse(text, n, &line))
            f->lines[f->line_count++] = line;
        else
            f->unread += n > 0;
        n += end != NULL;
        text += n;
        bytes -= n;
    }
    if (f->line_count > 0)
        qsort(f->lines, f->line_count, sizeof *f->lines, line_order);
    return SKEIN_OK;
}

/* ---- frames ---- */

static size_t frame_end(const struct line *line, size_t at)
{
    const char *end = memchr(line->stack + at, ';', line->n - at);
    return end != NULL ? (size_t)(end - line->stack) : line->n;
}

/* Adds a line to the frames that are open: it shares those that stand at the same depth under the
 * same names. Deeper ones than DEPTH_MOST belong to the last. */
static int line_add(struct flame *f, const struct line *line, size_t open[DEPTH_MOST + 1],
                    unsigned *depth)
{
    unsigned level = 0;
    bool shared = true;
    double value = (double)line->value;
    for (size_t at = 0; at <= line->n && level < DEPTH_MOST; level++) {
        size_t end = frame_end(line, at);
        const struct node *old = level < *depth ? &f->nodes[open[level]] : NULL;
        shared = shared && old != NULL && old->n == end - at &&
                 memcmp(old->name, line->stack + at, old->n) == 0;
        if (!shared) {
            if (!array_grow(f->nodes, f->node_count + 1, &f->node_cap))
                return SKEIN_NO_MEMORY;
            open[level] = f->node_count;
            f->nodes[f->node_count++] =
                (struct node){line->stack + at, end - at, level + 1, f->total, 0};
        }
        f->nodes[open[level]].value += value;
        at = end + 1;
    }
    *depth = level;
    f->depth = level > f->depth ? level : f->depth;
    f->total += value;
    return SKEIN_OK;
}

static int nodes_make(struct flame *f)
{
    size_t open[DEPTH_MOST + 1];
    unsigned depth = 0;
    int status = SKEIN_OK;
    for (size_t i = 0; i < f->line_count && status == SKEIN_OK; i++)
        status = line_add(f, &f->lines[i], open, &depth);
    return status;
}

static int self_by_name(const void *a, const void *b)
{
    const struct self *x = a, *y = b;
    size_t n = x->n < y->n ? x->n : y->n;
    int order = memcmp(x->name, y->name, n);
    return order != 0 ? order : (x->n > y->n) - (x->n < y->n);
}

static int self_by_value(const void *a, const void *b)
{
    const struct self *x = a, *y = b;
    return x->value != y->value ? (x->value < y->value ? 1 : -1) : self_by_name(a, b);
}

/* Sums by the innermost frame, the largest first. */
static int selves_make(struct flame *f)
{
    size_t last = 0;
    f->selves = calloc(f->line_count + 1, sizeof *f->selves);
    if (f->selves == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < f->line_count; i++) {
        const struct line *line = &f->lines[i];
        size_t at = line->n;
        while (at > 0 && line->stack[at - 1] != ';')
            at--;
        f->selves[i] = (struct self){line->stack + at, line->n - at, (double)line->value};
    }
    qsort(f->selves, f->line_count, sizeof *f->selves, self_by_name);
    for (size_t i = 1; i < f->line_count; i++) {
        if (self_by_name(&f->selves[last], &f->selves[i]) == 0)
            f->selves[last].value += f->selves[i].value;
        else
            f->selves[++last] = f->selves[i];
    }
    f->self_count = f->line_count > 0 ? last + 1 : 0;
    qsort(f->selves, f->self_count, sizeof *f->selves, self_by_value);
    return SKEIN_OK;
}

/* ---- drawing ---- */

struct kind { /* of values */
    const char *id, *heading, *words, *unit;
    double ns_each; /* 0: values are no times */
};

static void value_put(struct buf *b, const struct kind *kind, double value)
{
    double ns = value * kind->ns_each;
    if (kind->ns_each > 0)
        page_duration(b, ns < 1e19 ? (uint64_t)ns : UINT64_MAX);
    else
        page_count(b, value < 1e19 ? (uint64_t)value : UINT64_MAX);
    page_raw(b, kind->unit);
}

struct drawn {
    double value;
    size_t bytes; /* about */
};

static int drawn_order(const void *a, const void *b)
{
    const struct drawn *x = a, *y = b;
    return (x->value < y->value) - (x->value > y->value);
}

/* The least value of frames that are drawn: wide enough to be seen, and of the largest as many as
 * there is room for. */
static int least_drawn(const struct flame *f, double *least)
{
    struct drawn *all = malloc((f->node_count + 1) * sizeof *all);
    size_t bytes = 0, i = 0;
    if (all == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t k = 0; k < f->node_count; k++) {
        size_t n = f->nodes[k].n < PAGE_NAME ? f->nodes[k].n : PAGE_NAME;
        double letters = f->nodes[k].value / f->total * WIDTH / LETTER;
        all[k] = (struct drawn){f->nodes[k].value, 130 + n + (letters > 4 ? 50 + n : 0)};
    }
    qsort(all, f->node_count, sizeof *all, drawn_order);
    while (i < f->node_count && bytes + all[i].bytes < PAGE_FLAME_BYTES * 9 / 10)
        bytes += all[i++].bytes;
    *least = f->total * NARROWEST / WIDTH;
    /* Equal ones are all drawn, or none. */
    if (i < f->node_count && all[i].value >= *least)
        *least = all[i].value * (1 + 1e-9);
    free(all);
    return SKEIN_OK;
}

static void frame_put(struct buf *b, const struct flame *f, const struct kind *kind,
                      const struct node *node)
{
    double x = node->from / f->total * WIDTH, width = node->value / f->total * WIDTH;
    page_raw(b, "<g class=\"f\"><title>");
    page_text(b, node->name, node->n, PAGE_NAME);
    page_raw(b, "\n");
    page_share(b, node->value / f->total);
    page_raw(b, " \u00b7 ");
    value_put(b, kind, node->value);
    buf_printf(b, "</title><rect class=\"h%u\"", page_hue(node->name, node->n));
    page_xy(b, "x", x);
    page_xy(b, "width", width > 0.6 ? width - 0.3 : 0.3);
    buf_printf(b, " y=\"%u\" height=\"%d\"/>", node->depth * ROW, ROW - 1);
    if (width > 4 * LETTER) {
        page_raw(b, "<text");
        page_xy(b, "x", x + 3);
        buf_printf(b, " y=\"%.0f\">", node->depth * ROW + 11.5);
        page_fit(b, node->name, node->n, (size_t)((width - 5) / LETTER));
        page_raw(b, "</text>");
    }
    page_raw(b, "</g>\n");
}

static void graph_put(struct buf *b, const struct flame *f, const struct kind *kind, double least)
{
    struct node all = {"all", 3, 0, 0, f->total};
    size_t begin = b->len;
    uint64_t narrow = 0;
    unsigned depth = 0;
    for (size_t i = 0; i < f->node_count; i++)
        if (f->nodes[i].value >= least && f->nodes[i].depth > depth)
            depth = f->nodes[i].depth;
    buf_printf(
        b,
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n<svg class=\"flame\" "
        "role=\"img\" aria-labelledby=\"%s-t %s-d\" viewBox=\"0 0 %d %u\">\n<title id=\"%s-t\">%s</title>"
        "<desc id=\"%s-d\">Frames of stacks, callers above; as wide as their share. The table below "
        "has the largest.</desc>\n",
        kind->heading, kind->id, kind->id, WIDTH, (depth + 1) * ROW, kind->id, kind->heading,
        kind->id);
    frame_put(b, f, kind, &all);
    for (size_t i = 0; i < f->node_count; i++) {
        if (f->nodes[i].value >= least && b->len - begin < PAGE_FLAME_BYTES)
            frame_put(b, f, kind, &f->nodes[i]);
        else
            narrow++;
    }
    page_raw(b, "</svg>\n</div>\n<p class=\"says\" role=\"status\"></p>\n");
    page_left_out(b, narrow, "Frames that are too narrow to be drawn");
    page_left_out(b, f->unread, "Lines of the stacks that could not be read");
    if (f->depth == DEPTH_MOST)
        page_raw(b,
                 "<p class=\"left\">What lies deeper than 60 frames is drawn as part of the frame "
                 "that called it.</p>\n");
}

static void selves_put(struct buf *b, const struct flame *f, const struct kind *kind)
{
    size_t rows = f->self_count < TABLE_ROWS ? f->self_count : TABLE_ROWS;
    double rest = f->total;
    page_raw(b,
             "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Innermost frames\">\n"
             "<table><caption>Innermost frames, the largest first</caption>\n<thead><tr>"
             "<th scope=\"col\">Frame</th><th scope=\"col\" class=\"n\">Share</th>"
             "<th scope=\"col\" class=\"n\">Value</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < rows; i++) {
        const struct self *self = &f->selves[i];
        page_raw(b, "<tr><th scope=\"row\"><bdi>");
        page_text(b, self->name, self->n, PAGE_NAME);
        page_raw(b, "</bdi></th><td class=\"n\">");
        page_share(b, self->value / f->total);
        page_raw(b, "</td><td class=\"n\">");
        value_put(b, kind, self->value);
        page_raw(b, "</td></tr>\n");
        rest -= self->value;
    }
    page_raw(b, "</tbody></table>\n</div>\n");
    if (f->self_count > rows) {
        page_raw(b, "<p class=\"left\">");
        page_count(b, f->self_count - rows);
        page_raw(b, " more frames have the other ");
        page_share(b, rest > 0 ? rest / f->total : 0);
        page_raw(b, ".</p>\n");
    }
}

static int flame_put(struct buf *b, const char *text, size_t bytes, const struct kind *kind)
{
    struct flame f = {0};
    double least;
    int status = lines_read(&f, text, bytes);
    if (status == SKEIN_OK)
        status = nodes_make(&f);
    if (status == SKEIN_OK)
        status = selves_make(&f);
    if (status == SKEIN_OK)
        status = least_drawn(&f, &least);
    if (status == SKEIN_OK && f.total > 0) {
        buf_printf(b, "<section id=\"%s\">\n<h2>%s</h2>\n<p>%s ", kind->id, kind->heading,
                   kind->words);
        value_put(b, kind, f.total);
        page_raw(b, " in all. A click on a frame, or the arrow keys and Enter, makes it wide; the "
                    "first one brings all back.</p>\n");
        graph_put(b, &f, kind, least);
        selves_put(b, &f, kind);
        page_raw(b, "</section>\n");
    }
    flame_fini(&f);
    return status;
}

void page_flames(struct buf *b, const struct page *page)
{
    const struct kind cpu = {"cpu", "Where the CPU was spent",
                             "Samples of what ran, by stack; callers stand above what they called.",
                             page->cpu_ns_each > 0 ? "" : " samples", (double)page->cpu_ns_each};
    const struct kind waits = {
        "waits", "Where threads waited",
        "Waits with a stack, by how long they took; callers stand above what "
        "they called. Threads wait beside each other, so this can be more than "
        "the window.",
        "", 1000};
    int status = page->cpu != NULL ? flame_put(b, page->cpu, page->cpu_bytes, &cpu) : SKEIN_OK;
    if (status == SKEIN_OK && page->waits != NULL)
        status = flame_put(b, page->waits, page->waits_bytes, &waits);
    if (status != SKEIN_OK)
        b->status = status;
}
