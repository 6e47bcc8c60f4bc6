/* SPDX-License-Identifier: Apache-2.0
 *
 * See import_perf_script.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_lives.h"
#include "import_many.h"
#include "import_map.h"
#include "import_perf_line.h"
#include "import_perf_script.h"
#include "import_stream.h"

#define FRAMES_MAX       1024u
#define TEXT_MAX         1024u /* of a name */
#define TEXTS_BYTES      ((size_t)1 << 20)
#define TIDS_MAX         4000000u
#define SCHED_STATE_GONE UINT64_C(0x30) /* the kernel's, of prev_state: X or Z */
#define WINDOW           100000u        /* events: perf prints them nearly in order */

struct script {
    const struct import_to *to;
    struct import_told *told;
    struct perf_script_told *script;
    struct import_stream stream;
    struct import_many *many;
    uint64_t samples_hz;
    bool second, any_waking, too_long;
    bool any_sched;          /* a record of the scheduler was taken */
    struct import_map pids;  /* by tid: the first pass's first one, the second pass's last one */
    struct import_map named; /* of a process: whether it is called by its main thread */
    struct import_lives lives;
    uint64_t line, last_ns;
    /* the event whose frames come */
    bool pending, cut;
    char line_kept[PERF_SCRIPT_LINE_MAX];
    struct perf_head head;
    struct import_frame frames[FRAMES_MAX];
    uint32_t frame_count;
    struct buf texts; /* of its frames, with NULs; never grows */
    int status;
};

static const char *text_keep(struct script *s, struct perf_span text)
{
    size_t n = text.n < TEXT_MAX ? text.n : TEXT_MAX;
    if (n + 1 > TEXTS_BYTES - s->texts.len)
        return NULL;
    char *at = (char *)s->texts.data + s->texts.len;
    for (size_t i = 0; i < n; i++)
        at[i] = text.text[i] != '\0' ? text.text[i] : ' ';
    at[n] = '\0';
    s->texts.len += n + 1;
    return at;
}

static void line_left(struct script *s, const char *what)
{
    s->told->left_out++;
    if (s->script->lines_left++ == 0)
        s->script->first_left = s->line;
    import_why(s->told, "line %" PRIu64 ": %s", s->line, what);
}

/* ---- who ---- */

/* The pid of a thread: that which the file says last, or will say, else the tid itself; where it says none,
 * each thread is taken for itself. */
static uint32_t pid_of(const struct script *s, uint32_t tid)
{
    uint32_t pid = s->script->no_pids ? IMPORT_MAP_NONE : import_map_get(&s->pids, tid);
    return pid != IMPORT_MAP_NONE ? pid : tid;
}

/* A process and a thread of it, by the lives of its pid. Where the file names no process, all threads are
 * of one, and it is these that live. */
struct who {
    uint64_t process, thread;
    uint32_t life;
};

static struct who who_of(const struct script *s, uint32_t tid)
{
    uint32_t pid = pid_of(s, tid), life = import_lives_now(&s->lives, pid);
    const uint64_t key = (uint64_t)life << 32 | pid;
    if (s->script->no_pids)
        return (struct who){.process = 0, .thread = key, .life = life};
    return (struct who){.process = key, .thread = tid};
}

/* A process is called like its main thread, or like the first one, if that has no line. */
static void process_note(struct script *s, uint64_t process, bool is_main, const char *name)
{
    uint32_t had = import_map_get(&s->named, process);
    bool fresh = had == IMPORT_MAP_NONE;
    import_many_process(s->many, process, (uint32_t)process, fresh || is_main ? name : "", "");
    if ((fresh || (is_main && had == 0)) && name[0] != '\0' && s->named.count < TIDS_MAX &&
        !import_map_set(&s->named, process, is_main))
        s->status = SKEIN_NO_MEMORY;
}

static void thread_note(struct script *s, uint32_t tid, struct perf_span comm)
{
    char name[TEXT_MAX + 1];
    const struct who who = who_of(s, tid);
    size_t n = comm.n < TEXT_MAX ? comm.n : TEXT_MAX;
    memcpy(name, comm.text, n);
    name[n] = '\0';
    import_many_thread(s->many, who.process, who.thread, tid < PERF_TID_GONE ? tid : 0, who.life,
                       name);
    if (!s->script->no_pids)
        process_note(s, who.process, (uint32_t)who.process == tid, tid < PERF_TID_GONE ? name : "");
}

static void comm_copy(char out[SCHED_COMM_BYTES], struct perf_span comm)
{
    size_t n = comm.n < SCHED_COMM_BYTES - 1 ? comm.n : SCHED_COMM_BYTES - 1;
    memcpy(out, comm.text, n);
    out[n] = '\0';
}

static uint32_t task_of(struct script *s, uint32_t tid, struct perf_span comm)
{
    if (tid == 0)
        return 0;
    if (comm.n > 0)
        thread_note(s, tid, comm);
    const struct who who = who_of(s, tid);
    return import_many_task(s->many, who.process, who.thread);
}

/* A thread that runs another program from this line on. */
static void task_exec(struct script *s, const struct perf_head *head, uint32_t before)
{
    char comm[SCHED_COMM_BYTES];
    uint32_t after = task_of(s, head->tid, head->comm);
    comm_copy(comm, head->comm);
    s->status = import_many_exec(s->many, head->cpu, head->time_ns, before, after, comm);
}

/* The processes that begin with this line. */
static void lives_begin(struct script *s, const struct perf_head *head)
{
    for (;;) {
        const struct who who = who_of(s, head->tid); /* as it was */
        const struct import_life *life = import_lives_next(&s->lives, s->line);
        if (life == NULL)
            return;
        bool runs = life->exec && life->pid == head->tid && head->has_cpu && s->any_sched;
        uint32_t before = runs ? import_many_task(s->many, who.process, who.thread) : 0;
        if (before != 0 && s->status == SKEIN_OK)
            task_exec(s, head, before);
    }
}

/* ---- the scheduler ---- */

/* Whether the event was one of the scheduler's. */
static bool sched_take(struct script *s)
{
    struct perf_switch change;
    struct perf_waking waking;
    const struct perf_head *h = &s->head;
    bool is_new = perf_is(h->event, "sched:sched_wakeup_new");
    bool wakes = is_new || perf_is(h->event, "sched:sched_waking") ||
                 (perf_is(h->event, "sched:sched_wakeup") && !s->any_waking);
    bool switches = perf_is(h->event, "sched:sched_switch");
    struct sched_event event = {.time_ns = h->time_ns, .cpu = h->cpu};
    if (!wakes && !switches)
        return perf_is(h->event, "sched:sched_wakeup");
    if (!h->has_cpu) {
        line_left(s, "a scheduler's event without its CPU; have perf script print it: -F +cpu");
        return true;
    }
    if (switches && perf_switch_read(h->rest, &change)) {
        event.kind = SCHED_EVENT_SWITCH;
        event.tid = task_of(s, change.prev, change.prev_comm);
        event.next = task_of(s, change.next, change.next_comm);
        event.state = change.state;
        comm_copy(event.comm, change.prev_comm);
        comm_copy(event.next_comm, change.next_comm);
        s->script->switches++;
    } else if (wakes && perf_waking_read(h->rest, &waking)) {
        event.kind = is_new ? SCHED_EVENT_WAKING_NEW : SCHED_EVENT_WAKING;
        event.current = task_of(s, h->tid, h->comm);
        event.tid = task_of(s, waking.tid, waking.comm);
        event.target_cpu = waking.cpu;
        comm_copy(event.comm, waking.comm);
        s->any_waking |= perf_is(h->event, "sched:sched_waking");
    } else {
        line_left(s, "what this event of the scheduler prints is not understood");
        return true;
    }
    s->any_sched = true;
    s->status = import_many_sched(s->many, &event);
    return true;
}

/* ---- events ---- */

static void entry_put(struct script *s, struct import_entry *entry)
{
    const struct perf_head *h = &s->head;
    const struct who who = who_of(s, h->tid);
    entry->process = who.process;
    entry->thread = who.thread;
    entry->time_ns = h->time_ns;
    entry->category = "thread";
    entry->evidence = true;
    entry->stack = import_many_stack(s->many, s->frames, s->frame_count, s->cut);
    s->status = import_many_add(s->many, entry);
}

static uint64_t weight_of(const struct script *s, bool clock)
{
    if (clock && s->head.has_period)
        return s->head.period;
    return s->samples_hz > 0 ? 1000000000u / s->samples_hz : 0;
}

/* The CPU, where it is printed, and one more. */
static void values_set(const struct script *s, const struct import_value values[2],
                       struct import_entry *entry)
{
    entry->values = values + !s->head.has_cpu;
    entry->count = 1u + s->head.has_cpu;
}

static void sample_put(struct script *s, bool clock)
{
    const struct import_value values[2] = {
        {.name = "cpu", .type = SKEIN_T_U64, .bits = s->head.cpu},
        {.name = "weight", .unit = "ns", .type = SKEIN_T_U64, .bits = weight_of(s, clock)}};
    struct import_entry entry = {.what = IMPORT_INSTANT, .name = "cpu.sample"};
    values_set(s, values, &entry);
    s->script->samples++;
    entry_put(s, &entry);
}

static void other_put(struct script *s, bool tracepoint)
{
    char name[TEXT_MAX + 1];
    const struct perf_head *h = &s->head;
    const struct import_value values[2] = {{.name = "cpu", .type = SKEIN_T_U64, .bits = h->cpu},
                                           {.name = tracepoint ? "text" : "period",
                                            .type = tracepoint ? SKEIN_T_STR : SKEIN_T_U64,
                                            .bits = h->period,
                                            .text = h->rest.text,
                                            .n = h->rest.n}};
    struct import_entry entry = {.what = IMPORT_INSTANT, .name = name};
    values_set(s, values, &entry);
    snprintf(name, sizeof name, "%.*s", (int)(h->event.n < TEXT_MAX ? h->event.n : TEXT_MAX),
             h->event.text);
    s->script->tracepoints += tracepoint;
    entry_put(s, &entry);
}

static void lost_put(struct script *s)
{
    uint64_t records = 0;
    const struct perf_head *h = &s->head;
    for (size_t i = 0; i < h->rest.n; i++) /* the last number of the line */
        if (h->rest.text[i] >= '0' && h->rest.text[i] <= '9' && records < UINT64_MAX / 10 - 10)
            records = records * 10 + (uint64_t)(h->rest.text[i] - '0');
        else
            records = 0;
    const struct import_value value = {.name = "records", .type = SKEIN_T_U64, .bits = records};
    const struct who who = who_of(s, h->tid);
    const struct import_entry entry = {.what = IMPORT_LOSS,
                                       .process = who.process,
                                       .thread = who.thread,
                                       .time_ns = h->time_ns,
                                       .name = "",
                                       .reason = PARTITION_LOSS_RING_FULL,
                                       .values = &value,
                                       .count = 1};
    s->status = import_many_add(s->many, &entry);
}

static bool begins_with(struct perf_span span, const char *word)
{
    size_t n = strlen(word);
    return span.n >= n && memcmp(span.text, word, n) == 0;
}

/* The event whose frames have come. */
static void event_put(struct script *s)
{
    bool clock = false;
    struct perf_task task;
    const struct perf_head *h = &s->head;
    if (!s->pending)
        return;
    s->pending = false;
    if (h->tid != 0 || h->comm.n > 0)
        thread_note(s, h->tid, h->comm);
    if (begins_with(h->rest, "PERF_RECORD_LOST"))
        lost_put(s);
    else if (begins_with(h->rest, "PERF_RECORD_"))
        s->told->not_read += !perf_task_read(h, &task); /* these are of the lives */
    else if (perf_event_samples(h->event, &clock))
        sample_put(s, clock);
    else if (!sched_take(s) || s->frame_count > 0)
        other_put(s, perf_event_is_tracepoint(h->event));
}

/* ---- lines ---- */

static void frame_add(struct script *s, const struct perf_frame *frame)
{
    const char *function = text_keep(s, frame->function), *file = text_keep(s, frame->file);
    if (s->frame_count == FRAMES_MAX || function == NULL || file == NULL) {
        s->cut = true;
        return;
    }
    s->frames[s->frame_count++] = (struct import_frame){.has_pc = frame->has_pc,
                                                        .inlined = frame->inlined,
                                                        .pc = frame->pc,
                                                        .function = function,
                                                        .file = file};
}

static void head_take(struct script *s, struct perf_span line)
{
    struct perf_head head;
    struct perf_frame frame;
    event_put(s);
    memcpy(s->line_kept, line.text, line.n); /* as long as its frames come */
    line.text = s->line_kept;
    (void)perf_head_read(line, &head);
    if (head.has_pid && import_map_get(&s->pids, head.tid) != IMPORT_MAP_NONE)
        (void)import_map_set(&s->pids, head.tid,
                             head.pid < UINT32_MAX ? head.pid : 0); /* is there */
    lives_begin(s, &head);
    s->head = head;
    s->pending = true;
    s->cut = false;
    s->frame_count = 0;
    s->texts.len = 0;
    bool inline_frame = !perf_event_is_tracepoint(head.event) && head.rest.n > 0 &&
                        !begins_with(head.rest, "PERF_RECORD_");
    if (inline_frame && perf_frame_read(head.rest, &frame))
        frame_add(s, &frame);
}

/* "# hostname : web-1", of perf script --header. */
static void comment_take(struct script *s, struct perf_span line)
{
    struct perf_span name = line;
    static const char hostname[] = "# hostname : ";
    if (!begins_with(line, hostname))
        return;
    name.text += sizeof hostname - 1;
    name.n -= sizeof hostname - 1;
    s->texts.len = 0;
    const char *text = text_keep(s, name);
    import_many_host(s->many, text != NULL ? text : "");
}

/* The place of the frame above. */
static void place_take(struct script *s, struct perf_span file, uint32_t number)
{
    struct import_frame *frame = &s->frames[s->frame_count - 1];
    const char *kept = number > 0 ? text_keep(s, file) : NULL;
    if (kept == NULL)
        return;
    frame->file = kept;
    frame->line = number;
}

/* What stands below a head: a frame, or the place of the frame above. All frames of a stack have an
 * address, or none has: a line without one among others is something else. */
static void below_take(struct script *s, struct perf_span line)
{
    struct perf_frame frame;
    struct perf_span file;
    uint32_t number;
    const struct import_frame *above = s->frame_count > 0 ? &s->frames[s->frame_count - 1] : NULL;
    if (!s->pending)
        line_left(s,
                  "is neither an event with a thread and a time, nor a frame of one; perf script "
                  "-F +tid,+time prints them");
    else if (perf_frame_read(line, &frame) && perf_frame_is(line, &frame) &&
             (above == NULL || above->has_pc == frame.has_pc))
        frame_add(s, &frame);
    else if (above != NULL && (line.text[0] == ' ' || line.text[0] == '\t') &&
             perf_place_read(line, &file, &number))
        place_take(s, file, number);
    else
        line_left(s, "is no frame");
}

static struct import_comm comm_of(struct perf_span span)
{
    return (struct import_comm){span.text, span.n};
}

/* What a head says of who lives. */
static void head_note(struct script *s, const struct perf_head *head)
{
    struct perf_task task;
    struct perf_switch change;
    struct perf_waking waking;
    struct import_lives *lives = &s->lives;
    uint32_t pid = head->has_pid ? head->pid : head->tid;
    s->last_ns = head->time_ns > s->last_ns ? head->time_ns : s->last_ns;
    s->script->no_pids &= !head->has_pid;
    if (head->has_pid && s->pids.count < TIDS_MAX &&
        import_map_get(&s->pids, head->tid) == IMPORT_MAP_NONE &&
        !import_map_set(&s->pids, head->tid, head->pid < UINT32_MAX ? head->pid : 0))
        s->status = SKEIN_NO_MEMORY;
    if (perf_task_read(head, &task)) {
        if (task.kind == PERF_TASK_EXEC)
            import_lives_exec(lives, s->line, task.pid, comm_of(task.comm));
        else if (task.pid == task.tid && task.kind == PERF_TASK_RENAMED)
            import_lives_renamed(lives, task.pid, comm_of(task.comm));
        else if (task.pid == task.tid)
            import_lives_born(lives, s->line, task.pid);
        return;
    }
    import_lives_seen(lives, s->line, pid, head->tid, comm_of(head->comm));
    if (perf_is(head->event, "sched:sched_wakeup_new") && perf_waking_read(head->rest, &waking))
        import_lives_born(lives, s->line, waking.tid);
    else if (perf_is(head->event, "sched:sched_switch") && perf_switch_read(head->rest, &change) &&
             (change.state & SCHED_STATE_GONE) != 0)
        import_lives_ended(lives, change.prev);
    if (lives->no_memory)
        s->status = SKEIN_NO_MEMORY;
}

static void line_take(struct script *s, struct perf_span line)
{
    struct perf_head head;
    s->script->lines += s->second;
    if (line.n > 0 && line.text[line.n - 1] == '\r')
        line.n--;
    if (line.n == 0) {
        if (s->second)
            event_put(s);
        s->pending = false;
        return;
    }
    if (line.text[0] == '#') {
        if (!s->second)
            comment_take(s, line);
        return;
    }
    bool is_head = line.text[0] != '\t' && perf_head_read(line, &head);
    if (is_head && !s->second)
        head_note(s, &head);
    else if (is_head)
        head_take(s, line);
    else if (s->second)
        below_take(s, line);
}

/* What ends a line, or is a piece of one that is too long. */
static void piece_take(struct script *s, const uint8_t *bytes, size_t n, bool ends)
{
    bool fits = n <= PERF_SCRIPT_LINE_MAX && !s->too_long;
    s->line += !s->too_long; /* a line counts with its first piece */
    if (fits && ends)
        line_take(s, (struct perf_span){(const char *)bytes, n});
    else if (!s->too_long && s->second)
        line_left(s, "is longer than 64 KiB");
    s->too_long = !ends;
}

/* One line, or a piece of one; false: there is none. */
static bool line_next(struct script *s)
{
    size_t there, want = 4096;
    uint64_t left = import_stream_left(&s->stream);
    while (left > 0) {
        want = want < left ? want : (size_t)left;
        const uint8_t *bytes = import_stream_peek(&s->stream, want, &there);
        if (bytes == NULL)
            return false;
        const uint8_t *end = memchr(bytes, '\n', there);
        size_t n = end != NULL ? (size_t)(end - bytes) : there;
        if (end != NULL || there == left || there > PERF_SCRIPT_LINE_MAX) {
            piece_take(s, bytes, n, end != NULL || there == left);
            import_stream_skip(&s->stream, n + (end != NULL));
            return s->status == SKEIN_OK;
        }
        want = there + 4096;
    }
    return false;
}

/* ---- the whole ---- */

static int trace_pass(struct script *s, const struct skein_trace_source *source)
{
    uint64_t shown = 0;
    import_stream_init(&s->stream, source);
    s->line = 0;
    s->pending = s->too_long = false;
    while (s->status == SKEIN_OK && line_next(s))
        if (s->second && s->to->progress != NULL && s->stream.at - shown > 1u << 20) {
            shown = s->stream.at;
            s->to->progress(s->to->context, shown, source->bytes);
        }
    if (s->second && s->status == SKEIN_OK)
        event_put(s);
    if (s->status == SKEIN_OK)
        s->status = s->stream.status;
    import_stream_fini(&s->stream);
    return s->status;
}

static int magic_check(const struct skein_trace_source *source, struct import_told *told)
{
    char magic[8] = "";
    int status = source->bytes >= sizeof magic
                     ? source->read(source->context, 0, magic, sizeof magic)
                     : SKEIN_OK;
    if (status != SKEIN_OK ||
        (memcmp(magic, "PERFILE2", 8) != 0 && memcmp(magic, "2ELIFREP", 8) != 0))
        return status;
    import_why(told,
               "is perf.data itself: `skein import perf` reads the scheduler's records of it, and "
               "`perf script -i FILE -F +pid > TEXT` prints samples for this command");
    return SKEIN_UNSUPPORTED;
}

static int trace_passes(struct script *s, const struct skein_trace_source *source)
{
    if (trace_pass(s, source) != SKEIN_OK)
        return s->status;
    if (s->to->changed_ns > s->last_ns) {
        import_many_ahead(s->many, (int64_t)(s->to->changed_ns - s->last_ns));
        s->told->time_guessed = true;
    }
    s->second = true;
    import_lives_again(&s->lives);
    if (trace_pass(s, source) == SKEIN_OK)
        s->status = import_many_finish(s->many);
    if (s->status == SKEIN_OK && s->told->partitions == 0) {
        import_why(s->told, "no line is an event of perf script");
        s->status = SKEIN_NOT_FOUND;
    }
    return s->status;
}

int import_perf_script(const struct skein_trace_source *source, uint64_t samples_hz,
                       const struct import_to *to, struct import_told *told,
                       struct perf_script_told *script)
{
    *script = (struct perf_script_told){.no_pids = true};
    int status = magic_check(source, told);
    struct script *s = status == SKEIN_OK ? calloc(1, sizeof *s) : NULL;
    if (s == NULL)
        return status == SKEIN_OK ? SKEIN_NO_MEMORY : status;
    s->to = to;
    s->told = told;
    s->script = script;
    s->samples_hz = samples_hz;
    if (buf_reserve(&s->texts, TEXTS_BYTES) == NULL)
        s->status = SKEIN_NO_MEMORY;
    if (s->status == SKEIN_OK)
        s->status = import_many_new(to, source, told, &s->many);
    if (s->status == SKEIN_OK)
        import_many_window(s->many, WINDOW);
    if (s->status == SKEIN_OK)
        status = trace_passes(s, source);
    else
        status = s->status;
    script->processes = s->many != NULL ? import_many_processes(s->many) : 0;
    import_many_free(&s->many);
    import_map_fini(&s->pids);
    import_map_fini(&s->named);
    import_lives_fini(&s->lives);
    buf_fini(&s->texts);
    free(s);
    return status;
}
