/* SPDX-License-Identifier: Apache-2.0
 *
 * See search_terms.h. Owns copies of the lines. Terms of a process, thread or type are answered once
 * for each of these, by the cursor's filters; those of a row for each row.
 */
#include "search_terms.h"
#include "row_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TERMS_MAX   64
#define EXACT_MAX   (UINT64_C(1) << 53)
#define EXACT_POWER 22

enum field {
    FIELD_NAME,
    FIELD_THREAD,
    FIELD_HOST,
    FIELD_SERVICE,
    FIELD_KIND,
    FIELD_PROCESS,
    FIELD_TID,
    FIELD_GROUP,
    FIELD_DEPTH,
    FIELD_DUR,
    FIELD_ARG
};

enum sign { SIGN_HAS, SIGN_IS, SIGN_MORE, SIGN_LESS, SIGN_MORE_IS, SIGN_LESS_IS };

struct term {
    enum field field;
    enum sign sign;
    bool is_not, has_number, is_time;
    bool is_exact, below_0; /* of FIELD_ARG: a whole number, `exact` without its sign */
    const char *arg, *text; /* arg: of FIELD_ARG */
    double number;
    uint64_t exact;
};

struct search_terms {
    const struct skein_trace *trace;
    char *lines;
    struct term terms[TERMS_MAX];
    size_t count;
};

/* ---- reading ---- */

static bool field_get(const char *text, struct term *term)
{
    static const char *const names[] = {"name",    "thread", "host",  "service", "kind",
                                        "process", "tid",    "group", "depth",   "dur"};
    if (strncmp(text, "arg/", 4) == 0 && text[4] != '\0') {
        term->field = FIELD_ARG;
        term->arg = text + 4;
        return true;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], text) == 0) {
            term->field = (enum field)i;
            return true;
        }
    return false;
}

static bool sign_get(const char *text, enum sign *sign)
{
    static const char *const signs[] = {":", "=", ">", "<", ">=", "<="};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strcmp(signs[i], text) == 0) {
            *sign = (enum sign)i;
            return true;
        }
    return false;
}

/* Digits with a point at most; *scale: how many are behind it. False: there are none, or so many that
 * the number is not exact in a double. */
static bool digits_get(const char **at, uint64_t *digits, int *scale)
{
    const char *from = *at;
    bool point = false;
    *digits = 0;
    *scale = 0;
    for (; (**at >= '0' && **at <= '9') || (**at == '.' && !point); (*at)++) {
        point = point || **at == '.';
        if (**at == '.')
            continue;
        *digits = *digits * 10 + (uint64_t)(**at - '0');
        *scale += point;
        if (*digits > EXACT_MAX)
            return false;
    }
    return *at > from + point;
}

/* Behind an e; it is 0 where there is none. */
static bool exponent_get(const char **at, int *exponent)
{
    int value = 0, digits = 0;
    *exponent = 0;
    if (**at != 'e' && **at != 'E')
        return true;
    bool negative = *++*at == '-';
    *at += **at == '-' || **at == '+';
    for (; **at >= '0' && **at <= '9' && digits < 3; (*at)++, digits++)
        value = value * 10 + (**at - '0');
    *exponent = negative ? -value : value;
    return digits > 0;
}

/* "12.5", "-3e-7" or "5000000/ns". Whole numbers to 2^53 and powers of ten to 10^22 are exact, so one
 * division or multiplication is rounded right; what needs more is refused. */
static bool number_get(const char *text, struct term *term)
{
    bool negative = *text == '-';
    uint64_t digits;
    int scale, exponent;
    double power = 1;
    text += *text == '-' || *text == '+';
    if (!digits_get(&text, &digits, &scale) || !exponent_get(&text, &exponent))
        return false;
    exponent -= scale;
    term->is_time = strcmp(text, "/ns") == 0;
    if ((*text != '\0' && !term->is_time) || exponent < -EXACT_POWER || exponent > EXACT_POWER)
        return false;
    for (int i = exponent < 0 ? -exponent : exponent; i > 0; i--)
        power *= 10;
    term->number = exponent < 0 ? (double)digits / power : (double)digits * power;
    term->number = negative ? -term->number : term->number;
    return true;
}

static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : UINT32_MAX;
}

/* "-12", "18446744073709551615" or "0x7f00": all of its 64 bits, which a double would round. */
static bool exact_get(const char *text, struct term *term)
{
    bool negative = *text == '-';
    unsigned base = 10;
    uint64_t value = 0;
    text += negative;
    if (text[0] == '0' && text[1] == 'x') {
        base = 16;
        text += 2;
    }
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        unsigned digit = digit_of(*text);
        if (digit >= base || value > (UINT64_MAX - digit) / base)
            return false;
        value = value * base + digit;
    }
    term->is_exact = true;
    term->exact = value;
    term->below_0 = negative && value > 0;
    term->number = negative ? -(double)value : (double)value;
    return true;
}

static bool term_is_whole(const struct term *term)
{
    bool text = term->field <= FIELD_KIND, ordered = term->sign > SIGN_IS;
    if (text)
        return !ordered;
    if (term->field == FIELD_ARG)
        return term->has_number || !ordered;
    return term->has_number && term->sign != SIGN_HAS;
}

static bool line_get(char *line, struct term *term)
{
    char *sign = strchr(line, '\t');
    char *value = sign != NULL ? strchr(sign + 1, '\t') : NULL;
    if (value == NULL)
        return false;
    *sign++ = *value++ = '\0';
    *term = (struct term){.is_not = line[0] == '!', .text = value};
    if (!field_get(line + term->is_not, term) || !sign_get(sign, &term->sign))
        return false;
    term->has_number = number_get(value, term);
    if (term->field == FIELD_ARG && exact_get(value, term))
        term->has_number = true;
    return term_is_whole(term);
}

static int lines_get(struct search_terms *terms, char error[SKEIN_TRACE_ERROR_BYTES])
{
    char *next, *line = terms->lines;
    for (unsigned number = 1; *line != '\0'; line = next, number++) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        else
            next = line + strlen(line);
        if (*line == '\0')
            continue;
        if (terms->count == TERMS_MAX || !line_get(line, &terms->terms[terms->count++])) {
            snprintf(error, SKEIN_TRACE_ERROR_BYTES, "term %u of the search cannot be read",
                     number);
            return SKEIN_INVALID;
        }
    }
    return SKEIN_OK;
}

int search_terms_new(const char *lines, size_t n, const struct skein_trace *trace,
                     struct search_terms **out, char error[SKEIN_TRACE_ERROR_BYTES])
{
    struct search_terms *terms = calloc(1, sizeof *terms);
    error[0] = '\0';
    *out = terms;
    if (terms == NULL)
        return SKEIN_NO_MEMORY;
    terms->trace = trace;
    terms->lines = malloc(n + 1);
    int status = terms->lines == NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
    if (status == SKEIN_OK) {
        memcpy(terms->lines, lines, n);
        terms->lines[n] = '\0';
        status = lines_get(terms, error);
    }
    if (status != SKEIN_OK)
        search_terms_free(out);
    return status;
}

void search_terms_free(struct search_terms **terms)
{
    if (*terms != NULL)
        free((*terms)->lines);
    free(*terms);
    *terms = NULL;
}

/* ---- comparing ---- */

static bool text_holds(const struct term *term, const char *have, size_t n)
{
    size_t want = strlen(term->text);
    if (term->sign == SIGN_IS)
        return n == want && strncasecmp(have, term->text, n) == 0;
    for (size_t at = 0; at + want <= n; at++)
        if (strncasecmp(have + at, term->text, want) == 0)
            return true;
    return false;
}

static bool number_holds(const struct term *term, double have)
{
    switch (term->sign) {
    case SIGN_MORE:
        return have > term->number;
    case SIGN_LESS:
        return have < term->number;
    case SIGN_MORE_IS:
        return have >= term->number;
    case SIGN_LESS_IS:
        return have <= term->number;
    default:
        return have == term->number;
    }
}

/* The same of a whole number, which is `below_0` and so far from it. */
static bool exact_holds(const struct term *term, bool below_0, uint64_t have)
{
    int order = (have > term->exact) - (have < term->exact);
    if (below_0 != term->below_0)
        order = below_0 ? -1 : 1;
    else if (below_0)
        order = -order;
    switch (term->sign) {
    case SIGN_MORE:
        return order > 0;
    case SIGN_LESS:
        return order < 0;
    case SIGN_MORE_IS:
        return order >= 0;
    case SIGN_LESS_IS:
        return order <= 0;
    default:
        return order == 0;
    }
}

static bool text_term(const struct term *term, const char *have)
{
    return text_holds(term, have, strlen(have)) != term->is_not;
}

static bool number_term(const struct term *term, double have)
{
    return number_holds(term, have) != term->is_not;
}

bool search_terms_process(void *context, const struct skein_process *process)
{
    const struct search_terms *terms = context;
    bool holds = true;
    for (size_t i = 0; i < terms->count && holds; i++) {
        const struct term *term = &terms->terms[i];
        uint32_t number = 0;
        if (term->field == FIELD_HOST)
            holds = text_term(term, process->host);
        else if (term->field == FIELD_SERVICE)
            holds = text_term(term, process->service);
        if (term->field != FIELD_PROCESS)
            continue;
        while (number < skein_trace_process_count(terms->trace) &&
               skein_trace_process(terms->trace, number) != process)
            number++;
        holds = number_term(term, number);
    }
    return holds;
}

bool search_terms_thread(void *context, const struct skein_thread *thread)
{
    const struct search_terms *terms = context;
    bool holds = true;
    for (size_t i = 0; i < terms->count && holds; i++) {
        const struct term *term = &terms->terms[i];
        if (term->field == FIELD_THREAD)
            holds = text_term(term, thread->name);
        else if (term->field == FIELD_TID)
            holds = number_term(term, thread->tid);
    }
    return holds;
}

static bool arg_is_there(const struct skein_event_type *type, const char *name)
{
    for (unsigned i = 0; i < type->arg_count; i++)
        if (strcasecmp(type->args[i].name, name) == 0)
            return true;
    return false;
}

bool search_terms_type(void *context, const struct skein_event_type *type)
{
    const struct search_terms *terms = context;
    bool holds = true;
    for (size_t i = 0; i < terms->count && holds; i++) {
        const struct term *term = &terms->terms[i];
        if (term->field == FIELD_NAME)
            holds = text_term(term, type->name);
        else if (term->field == FIELD_GROUP)
            holds = number_term(term, type->group);
        else if (term->field == FIELD_ARG)
            holds = term->is_not || arg_is_there(type, term->arg);
    }
    return holds;
}

static bool has_field(const struct search_terms *terms, enum field a, enum field b, enum field c)
{
    for (size_t i = 0; i < terms->count; i++) {
        enum field field = terms->terms[i].field;
        if (field == a || field == b || field == c)
            return true;
    }
    return false;
}

bool search_terms_need_type(const struct search_terms *terms)
{
    return has_field(terms, FIELD_NAME, FIELD_GROUP, FIELD_ARG);
}

bool search_terms_need_thread(const struct search_terms *terms)
{
    return has_field(terms, FIELD_THREAD, FIELD_TID, FIELD_TID);
}

bool search_terms_need_args(const struct search_terms *terms)
{
    return has_field(terms, FIELD_ARG, FIELD_ARG, FIELD_ARG);
}

/* ---- rows ---- */

static double unit_ns(const char *unit)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].unit, unit) == 0)
            return units[i].ns;
    return 1;
}

static bool arg_holds(const struct term *term, const struct skein_arg_type *type,
                      const struct skein_arg *arg)
{
    double scale = term->is_time ? unit_ns(type->unit) : 1;
    switch (type->type) {
    case SKEIN_T_U64:
    case SKEIN_T_BOOL:
    case SKEIN_T_PTR:
        if (term->is_exact)
            return exact_holds(term, false, arg->u64);
        return term->has_number && number_holds(term, (double)arg->u64 * scale);
    case SKEIN_T_I64:
        if (term->is_exact)
            return exact_holds(term, arg->i64 < 0,
                               arg->i64 < 0 ? 0 - (uint64_t)arg->i64 : (uint64_t)arg->i64);
        return term->has_number && number_holds(term, (double)arg->i64 * scale);
    case SKEIN_T_F64:
        return term->has_number && number_holds(term, arg->f64 * scale);
    case SKEIN_T_STR:
        return term->sign <= SIGN_IS && text_holds(term, arg->text, arg->len);
    default:
        return false;
    }
}

static bool arg_term(const struct search_terms *terms, const struct term *term,
                     const struct skein_batch *batch, uint32_t row)
{
    const struct skein_event_type *type = skein_trace_type(terms->trace, batch->type[row]);
    struct row_args args;
    bool holds = false;
    row_args_get(batch, row, type, &args);
    for (unsigned i = 0; i < args.count && !holds; i++)
        holds = strcasecmp(args.types[i].name, term->arg) == 0 &&
                arg_holds(term, &args.types[i], &args.values[i]);
    return holds != term->is_not;
}

static const char *kind_text(uint8_t kind)
{
    static const char *const names[] = {"",    "begin", "region", "instant", "counter",
                                        "log", "open",  "loss",   "end-only"};
    return kind < sizeof names / sizeof *names ? names[kind] : "";
}

bool search_terms_row(const struct search_terms *terms, const struct skein_batch *batch, uint32_t i)
{
    bool holds = batch->type[i] != SKEIN_NONE || !search_terms_need_type(terms);
    if (batch->thread[i] == SKEIN_NONE && search_terms_need_thread(terms))
        return false;
    for (size_t at = 0; at < terms->count && holds; at++) {
        const struct term *term = &terms->terms[at];
        if (term->field == FIELD_DUR)
            holds = number_term(term, (double)batch->dur_ns[i]);
        else if (term->field == FIELD_DEPTH)
            holds = number_term(term, batch->depth[i]);
        else if (term->field == FIELD_KIND)
            holds = text_term(term, kind_text(batch->kind[i]));
        else if (term->field == FIELD_ARG)
            holds = arg_term(terms, term, batch, i);
    }
    return holds;
}
