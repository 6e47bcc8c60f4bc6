/* SPDX-License-Identifier: Apache-2.0
 *
 * See import_perf_line.h. Names of programs may hold spaces, digits and colons, so a head is found by
 * its time: the first "seconds.fraction:" that has a thread's number in front. A locale may print the
 * fraction behind a comma.
 */
#include "import_perf_line.h"

#include <string.h>

#include "import_out.h"

#define NUMBER_MAX (UINT64_MAX / 10 - 1)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct perf_span span_of(const char *from, const char *to)
{
    return (struct perf_span){from, (size_t)(to - from)};
}

static struct perf_span trimmed(struct perf_span s)
{
    while (s.n > 0 && (s.text[0] == ' ' || s.text[0] == '\t')) {
        s.text++;
        s.n--;
    }
    while (s.n > 0 && strchr(" \t\r", s.text[s.n - 1]) != NULL && s.text[s.n - 1] != '\0')
        s.n--;
    return s;
}

/* All of it is a number. */
static bool number_read(struct perf_span s, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_digit(s.text[i]) || value > NUMBER_MAX)
            return false;
        value = value * 10 + (uint64_t)(s.text[i] - '0');
    }
    *out = value;
    return s.n > 0;
}

static bool number32_read(struct perf_span s, uint32_t *out)
{
    uint64_t value;
    if (!number_read(s, &value) || value > UINT32_MAX)
        return false;
    *out = (uint32_t)value;
    return true;
}

/* Whether b is in s, and where first. */
static bool find(struct perf_span s, const char *b, size_t *at)
{
    size_t m = strlen(b);
    for (size_t i = 0; m <= s.n && i <= s.n - m; i++)
        if (memcmp(s.text + i, b, m) == 0) {
            *at = i;
            return true;
        }
    return false;
}

/* The last word, taken from s. */
static struct perf_span last_word(struct perf_span *s)
{
    *s = trimmed(*s);
    size_t from = s->n;
    while (from > 0 && s->text[from - 1] != ' ' && s->text[from - 1] != '\t')
        from--;
    const struct perf_span word = {s->text + from, s->n - from};
    s->n = from;
    *s = trimmed(*s);
    return word;
}

static struct perf_span first_word(struct perf_span *s)
{
    *s = trimmed(*s);
    size_t n = 0;
    while (n < s->n && s->text[n] != ' ' && s->text[n] != '\t')
        n++;
    const struct perf_span word = {s->text, n};
    s->text += n;
    s->n -= n;
    *s = trimmed(*s);
    return word;
}

/* ---- heads ---- */

/* "14174.596386:" */
static bool time_read(struct perf_span word, uint64_t *ns)
{
    uint64_t seconds, fraction;
    if (word.n < 4 || word.text[word.n - 1] != ':' || !is_digit(word.text[0]))
        return false;
    size_t point = 0;
    while (point < word.n && is_digit(word.text[point]))
        point++;
    if (point == word.n || (word.text[point] != '.' && word.text[point] != ','))
        return false;
    size_t digits = word.n - point - 2;
    if (digits == 0 || digits > 9 || !number_read((struct perf_span){word.text, point}, &seconds) ||
        !number_read((struct perf_span){word.text + point + 1, digits}, &fraction))
        return false;
    for (; digits < 9; digits++)
        fraction *= 10;
    *ns = seconds < IMPORT_TIME_MAX / 1000000000u ? seconds * 1000000000u + fraction
                                                  : IMPORT_TIME_BEYOND;
    return true;
}

/* Letters of -F +misc, which stand in front of the time: "K", "U", "ME". */
static bool is_misc(struct perf_span word)
{
    bool letters = word.n > 0 && word.n <= 4;
    for (size_t i = 0; letters && i < word.n; i++)
        letters = word.text[i] != '\0' && strchr("KUHGgMESFC/", word.text[i]) != NULL;
    return letters;
}

/* What is in front of the time: comm, tid or pid/tid, and [cpu]. */
static bool who_read(struct perf_span before, struct perf_head *head)
{
    size_t slash;
    uint64_t cpu;
    struct perf_span left = before, word = last_word(&left);
    if (is_misc(word))
        word = last_word(&left);
    if (word.n > 2 && word.text[0] == '[' && word.text[word.n - 1] == ']' &&
        number_read((struct perf_span){word.text + 1, word.n - 2}, &cpu) && cpu < 65536) {
        head->has_cpu = true;
        head->cpu = (uint32_t)cpu;
        word = last_word(&left);
    }
    if (perf_is(word, "-1") || perf_is(word, "-1/-1")) { /* nobody's any more */
        head->comm = left;
        return head->has_tid = true;
    }
    if (find(word, "/", &slash)) {
        head->has_pid = number32_read((struct perf_span){word.text, slash}, &head->pid);
        word = span_of(word.text + slash + 1, word.text + word.n);
        head->is_gone = head->has_pid && perf_is(word, "-1");
    }
    if (head->is_gone) {
        head->comm = left;
        head->tid = PERF_TID_GONE | head->pid;
        return head->has_tid = true;
    }
    head->has_tid = number32_read(word, &head->tid);
    head->comm = left;
    return head->has_tid;
}

/* What is behind the time: period and event, each if it is printed. */
static void what_read(struct perf_span after, struct perf_head *head)
{
    struct perf_span left = after, word = first_word(&left);
    uint64_t period;
    if (left.n > 0 && number_read(word, &period)) {
        struct perf_span behind = left, event = first_word(&behind);
        if (event.n > 1 && event.text[event.n - 1] == ':') {
            head->has_period = true;
            head->period = period;
            word = event;
            left = behind;
        }
    }
    bool record = word.n > 12 && memcmp(word.text, "PERF_RECORD_", 12) == 0;
    if (!record && word.n > 1 && word.text[word.n - 1] == ':') {
        head->event = (struct perf_span){word.text, word.n - 1};
        head->rest = left;
    } else {
        head->rest = trimmed(after);
    }
}

bool perf_head_read(struct perf_span line, struct perf_head *head)
{
    const char *end = line.text + line.n;
    struct perf_span left = line;
    while (left.n > 0) {
        const struct perf_span word = first_word(&left);
        *head = (struct perf_head){.event = {"", 0}};
        if (!time_read(word, &head->time_ns) || !who_read(span_of(line.text, word.text), head))
            continue;
        what_read(span_of(word.text + word.n, end), head);
        return true;
    }
    return false;
}

/* The thread of such a head cannot be read. */
static bool has_time(struct perf_span line)
{
    uint64_t ns;
    struct perf_span left = line;
    while (left.n > 0)
        if (time_read(first_word(&left), &ns))
            return true;
    return false;
}

/* ---- frames ---- */

static bool hex_read(struct perf_span word, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < word.n; i++) {
        char c = word.text[i];
        unsigned digit = is_digit(c)            ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;
        if (digit == 16 || i == 16)
            return false;
        value = value << 4 | digit;
    }
    *out = value;
    return word.n > 0;
}

/* Where the file begins, which the last bracket ends: "f(int) (/tmp/a b (deleted))". It is the bracket that
 * fits, or the last one behind a blank, if none does. 0: there is no file. */
static size_t file_find(struct perf_span s)
{
    size_t depth = 0, last = 0;
    bool fits = true; /* the brackets do, so far */
    if (s.n < 2 || s.text[s.n - 1] != ')')
        return 0;
    for (size_t at = s.n; at > 0; at--) {
        char c = s.text[at - 1];
        bool behind_blank = at == 1 || s.text[at - 2] == ' ' || s.text[at - 2] == '\t';
        depth += c == ')';
        if (c != '(')
            continue;
        last = last == 0 && behind_blank ? at : last;
        if (fits && depth > 0 && --depth == 0 && behind_blank)
            return at;
        fits = fits && depth > 0;
        if (!fits && last > 0)
            return last;
    }
    return last;
}

/* "0x12" behind the last plus: an offset in the function. */
static void offset_drop(struct perf_span *s)
{
    uint64_t offset;
    size_t plus = s->n;
    while (plus > 0 && s->text[plus - 1] != '+')
        plus--;
    if (plus > 1 && s->n - plus > 2 && memcmp(s->text + plus, "0x", 2) == 0 &&
        hex_read(span_of(s->text + plus + 2, s->text + s->n), &offset))
        s->n = plus - 1;
}

bool perf_frame_read(struct perf_span line, struct perf_frame *frame)
{
    struct perf_span left = trimmed(line);
    *frame = (struct perf_frame){.function = {"", 0}, .file = {"", 0}};
    if (left.n == 0)
        return false;
    struct perf_span behind = left, word = first_word(&behind);
    if (word.n > 2 && word.text[0] == '0' && word.text[1] == 'x')
        word = span_of(word.text + 2, word.text + word.n);
    frame->has_pc = hex_read(word, &frame->pc);
    if (frame->has_pc)
        left = behind;
    size_t file = file_find(left);
    if (file > 0) {
        frame->file = (struct perf_span){left.text + file, left.n - file - 1};
        left.n = file - 1;
        left = trimmed(left);
    }
    frame->inlined = perf_is(frame->file, "inlined");
    if (frame->inlined || perf_is(frame->file, "[unknown]"))
        frame->file.n = 0;
    offset_drop(&left);
    frame->function = perf_is(left, "[unknown]") ? (struct perf_span){"", 0} : left;
    return frame->has_pc || file > 0 || frame->function.n > 0;
}

bool perf_frame_is(struct perf_span line, const struct perf_frame *frame)
{
    size_t blanks = 0;
    while (blanks < line.n && line.text[blanks] == ' ')
        blanks++;
    bool tab = blanks < line.n && line.text[blanks] == '\t';
    if (!tab && has_time(line))
        return false;
    struct perf_span left = line;
    size_t address = first_word(&left).n;
    if (!frame->has_pc) /* a name alone: of perf script -F sym */
        return tab || blanks >= 8;
    /* Short words of letters, as "add", are numbers, too. */
    return tab || blanks >= 8 || address >= 5 || (line.n > 0 && line.text[line.n - 1] == ')');
}

bool perf_place_read(struct perf_span line, struct perf_span *file, uint32_t *number)
{
    uint64_t address;
    struct perf_span s = trimmed(line);
    size_t colon = s.n, open = s.n;
    while (colon > 0 && s.text[colon - 1] != ':')
        colon--;
    while (open > 0 && s.text[open - 1] != '[')
        open--;
    *file = (struct perf_span){"", 0};
    *number = 0;
    if (open > 1 && s.text[s.n - 1] == ']' &&
        hex_read(span_of(s.text + open, s.text + s.n - 1), &address))
        return true;
    if (colon < 2 || !number32_read(span_of(s.text + colon, s.text + s.n), number))
        return false;
    *file = (struct perf_span){s.text, colon - 1};
    if (perf_is(*file, "??"))
        *number = 0;
    return true;
}

/* ---- events ---- */

bool perf_event_is_tracepoint(struct perf_span event)
{
    size_t colon;
    if (!find(event, ":", &colon))
        return false;
    for (size_t i = colon + 1; i < event.n; i++)
        if (strchr("ukhIGHpPSDWeb", event.text[i]) == NULL)
            return true;
    return false;
}

bool perf_event_samples(struct perf_span event, bool *clock)
{
    size_t at;
    struct perf_span name = event;
    if (perf_event_is_tracepoint(event))
        return false;
    if (find(event, ":", &at))
        name.n = at;
    *clock = perf_is(name, "cpu-clock") || perf_is(name, "task-clock");
    return *clock || event.n == 0 || find(name, "cycles", &at);
}

/* The kernel's bits of what ps shows as a letter, as sched_timeline has them. */
static uint64_t state_bits(struct perf_span word)
{
    static const char letters[] = "SDTtXZPI";
    const char *at = word.n > 0 && word.text[0] != '\0' ? strchr(letters, word.text[0]) : NULL;
    if (word.n == 0 || word.text[0] == 'R')
        return 0;
    return at != NULL ? UINT64_C(1) << (at - letters) : UINT64_C(1) << 40; /* a state, not known */
}

/* What is between two words of s; false: they are not there, in this order. */
static bool between(struct perf_span s, const char *before, const char *behind,
                    struct perf_span *out)
{
    size_t from, to;
    if (!find(s, before, &from))
        return false;
    struct perf_span left = span_of(s.text + from + strlen(before), s.text + s.n);
    if (behind == NULL) {
        *out = first_word(&left);
        return true;
    }
    if (!find(left, behind, &to))
        return false;
    *out = (struct perf_span){left.text, to};
    return true;
}

/* "name:12 [120] S": the name, the number, and what is behind the bracket. */
static bool short_read(struct perf_span s, struct perf_span *comm, uint32_t *tid,
                       struct perf_span *behind)
{
    size_t open = s.n, close;
    while (open > 1 && !(s.text[open - 1] == '[' && s.text[open - 2] == ' '))
        open--;
    struct perf_span name = {s.text, open > 2 ? open - 2 : 0};
    size_t colon = name.n;
    while (colon > 0 && name.text[colon - 1] != ':')
        colon--;
    const struct perf_span left = span_of(s.text + open, s.text + s.n);
    if (colon < 1 || !number32_read(span_of(name.text + colon, name.text + name.n), tid) ||
        !find(left, "]", &close))
        return false;
    *comm = (struct perf_span){name.text, colon - 1};
    *behind = trimmed(span_of(left.text + close + 1, left.text + left.n));
    return true;
}

bool perf_switch_read(struct perf_span text, struct perf_switch *out)
{
    size_t arrow;
    struct perf_span state, word;
    if (!find(text, " ==> ", &arrow))
        return false;
    struct perf_span left = {text.text, arrow};
    struct perf_span right = span_of(text.text + arrow + 5, text.text + text.n);
    if (between(left, "prev_comm=", " prev_pid=", &out->prev_comm)) {
        if (!between(left, " prev_pid=", NULL, &word) || !number32_read(word, &out->prev) ||
            !between(left, " prev_state=", NULL, &state) ||
            !between(right, "next_comm=", " next_pid=", &out->next_comm) ||
            !between(right, " next_pid=", NULL, &word) || !number32_read(word, &out->next))
            return false;
    } else if (!short_read(left, &out->prev_comm, &out->prev, &state) ||
               !short_read(right, &out->next_comm, &out->next, &word)) {
        return false;
    }
    out->state = state_bits(state);
    return true;
}

bool perf_waking_read(struct perf_span text, struct perf_waking *out)
{
    struct perf_span word, behind;
    if (between(text, "comm=", " pid=", &out->comm))
        return between(text, " pid=", NULL, &word) && number32_read(word, &out->tid) &&
               between(text, "target_cpu=", NULL, &word) && number32_read(word, &out->cpu);
    return short_read(text, &out->comm, &out->tid, &behind) &&
           between(behind, "CPU:", NULL, &word) && number32_read(word, &out->cpu);
}

/* ---- processes ---- */

static bool begins_with(struct perf_span span, const char *word, struct perf_span *left)
{
    size_t n = strlen(word);
    if (span.n < n || memcmp(span.text, word, n) != 0)
        return false;
    *left = span_of(span.text + n, span.text + span.n);
    return true;
}

/* "comm:12/34", and "(12:34):(…)". */
static bool pair_read(struct perf_span text, char separator, struct perf_task *task)
{
    size_t at = text.n;
    while (at > 0 && text.text[at - 1] != separator)
        at--;
    return at > 1 && number32_read((struct perf_span){text.text, at - 1}, &task->pid) &&
           number32_read(span_of(text.text + at, text.text + text.n), &task->tid);
}

static bool comm_record_read(struct perf_span text, struct perf_task *task)
{
    struct perf_span left = text;
    bool exec = begins_with(text, " exec", &left);
    task->kind = exec ? PERF_TASK_EXEC : PERF_TASK_RENAMED;
    if (!begins_with(left, ":", &left))
        return false;
    left = trimmed(left);
    size_t colon = left.n;
    while (colon > 0 && left.text[colon - 1] != ':')
        colon--;
    task->comm = (struct perf_span){left.text, colon > 0 ? colon - 1 : 0};
    return colon > 0 && pair_read(span_of(left.text + colon, left.text + left.n), '/', task);
}

/* The thread that a tracepoint names; of which process it is, is not told. */
static bool field_read(struct perf_span text, const char *name, struct perf_task *task)
{
    struct perf_span word;
    if (!between(text, name, NULL, &word) || !number32_read(word, &task->tid))
        return false;
    task->pid = task->tid;
    return true;
}

bool perf_task_read(const struct perf_head *head, struct perf_task *task)
{
    size_t close;
    struct perf_span left, rest = head->rest;
    *task = (struct perf_task){.kind = PERF_TASK_BORN, .comm = {"", 0}};
    if (begins_with(rest, "PERF_RECORD_COMM", &left))
        return comm_record_read(left, task);
    if (begins_with(rest, "PERF_RECORD_FORK(", &left))
        return find(left, ")", &close) &&
               pair_read((struct perf_span){left.text, close}, ':', task);
    if (perf_is(head->event, "sched:sched_process_fork"))
        return field_read(rest, " child_pid=", task);
    if (perf_is(head->event, "task:task_newtask"))
        return begins_with(rest, "pid=", &left) && field_read(rest, "pid=", task);
    if (perf_is(head->event, "sched:sched_process_exec")) {
        task->kind = PERF_TASK_EXEC;
        return field_read(rest, " pid=", task);
    }
    return false;
}
