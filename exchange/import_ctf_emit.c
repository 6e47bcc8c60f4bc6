/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of CTF as records: on the thread that their context names, else on their CPU.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "checksum.h"
#include "import_ctf_int.h"

#define CPU_THREADS SKEIN_STAND_IN /* incarnation of threads that are CPUs */

/* By the clock's offset, the time of day. What is said to be of no clock is of the last one. */
ctf_wide ctf_wide_ns(const struct ctf_import *i, const struct ctf_stream *s, uint64_t clock)
{
    const struct tsdl_clock *of =
        &i->t.clocks[(s->clock_of != 0 ? s->clock_of : i->t.clock_count) - 1];
    ctf_wide ticks = (ctf_wide)clock + (ctf_wide)of->offset;
    return ticks * 1000000000 / of->frequency + (ctf_wide)of->offset_s * 1000000000;
}

uint64_t ctf_ns(const struct ctf_import *i, const struct ctf_stream *s, uint64_t clock)
{
    ctf_wide ns = ctf_wide_ns(i, s, clock) + i->moved_ns;
    return ns < 0 ? 0 : ns > (ctf_wide)IMPORT_TIME_MAX ? IMPORT_TIME_MAX : (uint64_t)ns;
}

/* ---- processes ---- */

static struct import_out *process_out(struct ctf_import *i, uint64_t pid, const char *name)
{
    uint32_t at = import_map_get(&i->process_places, pid);
    if (at != IMPORT_MAP_NONE)
        return i->processes[at].out;
    if (i->process_count == CTF_PROCESSES_MAX) {
        import_why(i->told, "there are more than %u processes", CTF_PROCESSES_MAX);
        i->told->left_out++;
        return NULL;
    }
    const char *host = tsdl_text(&i->t, i->t.hostname), *program = tsdl_text(&i->t, i->t.procname);
    const struct import_process process = {.seed = i->seed,
                                           .number = pid,
                                           .pid = pid != CTF_NO_PID ? (uint32_t)pid : i->to->pid,
                                           .ahead_ns = i->ahead_ns,
                                           .host = i->to->host[0] != '\0' ? i->to->host : host,
                                           .service = name[0] != '\0'      ? name
                                                      : program[0] != '\0' ? program
                                                                           : i->to->service};
    struct ctf_process made = {.pid = pid};
    if (!array_grow(i->processes, i->process_count + 1, &i->process_cap) ||
        import_out_new(i->to, &process, i->told, &made.out) != SKEIN_OK) {
        i->status = SKEIN_NO_MEMORY;
        return NULL;
    }
    i->processes[i->process_count] = made;
    if (!import_map_set(&i->process_places, pid, (uint32_t)i->process_count))
        i->status = SKEIN_NO_MEMORY;
    i->process_count++;
    i->ctf->processes++;
    return made.out;
}

/* ---- who, and what ---- */

struct who {
    uint64_t pid, tid;
    char name[64];
    bool has_tid;
};

static bool is_any(const char *name, const char *const *of)
{
    for (; *of != NULL; of++)
        if (strcmp(name, *of) == 0)
            return true;
    return false;
}

/* Values of contexts that say who it was are not shown as arguments again. */
static bool who_note(const struct ctf_values *v, const struct ctf_value *value, struct who *who)
{
    static const char *const pids[] = {"vpid", "pid", NULL};
    static const char *const tids[] = {"vtid", "tid", NULL};
    static const char *const names[] = {"procname", "comm", NULL};
    bool number = value->kind == TSDL_INTEGER;
    if (number && is_any(value->name, pids)) {
        who->pid = value->number;
    } else if (number && is_any(value->name, tids)) {
        who->tid = value->number;
        who->has_tid = true;
    } else if (value->kind == TSDL_STRING && is_any(value->name, names)) {
        snprintf(who->name, sizeof who->name, "%.*s",
                 (int)(value->n < sizeof who->name ? value->n : sizeof who->name),
                 (const char *)v->texts.data + value->text);
    } else {
        return false;
    }
    return true;
}

/* The fields that are shown, in order: the payload's, then those of contexts, then the CPU. */
struct shown {
    const struct ctf_value *values[CTF_FIELDS_MAX + 1];
    size_t count;
};

static uint8_t arg_type(const struct ctf_value *value)
{
    if (value->label != TSDL_NONE || value->kind == TSDL_STRING)
        return SKEIN_T_STR;
    if (value->kind == TSDL_FLOAT)
        return SKEIN_T_F64;
    return value->is_signed ? SKEIN_T_I64 : SKEIN_T_U64;
}

static uint64_t arg_put(struct ctf_import *i, struct import_out *out, const struct ctf_value *value)
{
    if (arg_type(value) != SKEIN_T_STR)
        return value->number;
    if (value->label != TSDL_NONE) {
        const char *label = tsdl_text(&i->t, value->label);
        return import_text(out, label, strlen(label));
    }
    return import_text(out, (const char *)i->values.texts.data + value->text, value->n);
}

/* Up to six are arguments; of more, the sixth is a text of all behind the fifth. */
static unsigned args_put(struct ctf_import *i, struct import_out *out, const struct shown *shown,
                         struct partition_event_type *type, uint64_t values[SKEIN_ARGS_MAX])
{
    size_t plain = shown->count <= SKEIN_ARGS_MAX ? shown->count : CTF_PLAIN_ARGS;
    for (size_t k = 0; k < plain; k++) {
        const struct ctf_value *value = shown->values[k];
        type->args[k] =
            (struct partition_arg){.type = arg_type(value), .name = value->name, .unit = ""};
        values[k] = arg_put(i, out, value);
    }
    if (plain == shown->count)
        return (unsigned)plain;
    buf_clear(&i->more);
    for (size_t k = plain; k < shown->count; k++) {
        buf_printf(&i->more, "%s%s=", k > plain ? ", " : "", shown->values[k]->name);
        ctf_value_put(&i->more, &i->t, &i->values, shown->values[k]);
    }
    type->args[plain] = (struct partition_arg){.type = SKEIN_T_STR, .name = "more", .unit = ""};
    values[plain] = import_text(out, (const char *)i->more.data, i->more.len);
    if (i->more.status != SKEIN_OK)
        i->status = SKEIN_NO_MEMORY;
    return (unsigned)plain + 1;
}

/* ---- pairs ---- */

/* How much of the name is in front of "_entry" or "_exit"; 0: neither. */
static size_t pair_of(const char *name, bool *begin)
{
    static const char *const begins[] = {"_entry", "_begin", "_start", NULL};
    static const char *const ends[] = {"_exit", "_end", "_stop", NULL};
    size_t n = strlen(name);
    for (unsigned k = 0; begins[k] != NULL; k++) {
        const char *word[2] = {begins[k], ends[k]};
        for (unsigned side = 0; side < 2; side++) {
            size_t m = strlen(word[side]);
            if (n > m && strcmp(name + n - m, word[side]) == 0) {
                *begin = side == 0;
                return n - m;
            }
        }
    }
    return 0;
}

/* Since when the region lasts that this event ends; 0: it ends none. */
static uint64_t pair_note(struct ctf_import *i, const struct who *who, const char *name, size_t n,
                          bool begin, uint64_t ns)
{
    struct ctf_open open = {.pid = who->pid,
                            .tid = who->has_tid ? who->tid : UINT64_MAX,
                            .since_ns = ns,
                            .name = checksum64(name, n)};
    if (begin) {
        if (i->open_count == CTF_OPENS_MAX)
            memmove(i->opens, i->opens + 1, --i->open_count * sizeof *i->opens);
        if (!array_grow(i->opens, i->open_count + 1, &i->open_cap))
            i->status = SKEIN_NO_MEMORY;
        else
            i->opens[i->open_count++] = open;
        return 0;
    }
    for (size_t k = i->open_count; k-- > 0;) {
        const struct ctf_open found = i->opens[k];
        if (found.pid != open.pid || found.tid != open.tid || found.name != open.name)
            continue;
        memmove(i->opens + k, i->opens + k + 1, (--i->open_count - k) * sizeof *i->opens);
        return found.since_ns;
    }
    return 0;
}

/* ---- one event ---- */

static void record_put(struct ctf_import *i, struct ctf_stream *s, const struct who *who,
                       const struct shown *shown)
{
    char region[TSDL_TEXT_MAX + 1], cpu[32];
    uint64_t values[SKEIN_ARGS_MAX], dur_ns = 0;
    bool begin = false;
    struct import_out *out = process_out(i, who->pid, who->name);
    const char *name = tsdl_text(&i->t, s->event->name);
    struct partition_event_type type = {.name = name[0] != '\0' ? name : "event",
                                        .text = "",
                                        .file = "",
                                        .klass = SKEIN_CLASS_INSTANT,
                                        .group = SKEIN_GROUP_APP};
    if (out == NULL)
        return;
    size_t pair = i->pairs ? pair_of(name, &begin) : 0;
    uint64_t since = pair > 0 ? pair_note(i, who, name, pair, begin, s->time_ns) : 0;
    if (since > 0) {
        snprintf(region, sizeof region, "%.*s", (int)pair, name);
        type.name = region;
        type.klass = SKEIN_CLASS_SPAN;
        dur_ns = s->time_ns >= since ? s->time_ns - since : 0;
    }
    type.nargs = (uint8_t)args_put(i, out, shown, &type, values);
    snprintf(cpu, sizeof cpu, "CPU %" PRIu64, s->cpu);
    uint32_t thread = who->has_tid ? import_thread(out, (uint32_t)who->tid, 0, who->name, true)
                                   : import_thread(out, (uint32_t)s->cpu, CPU_THREADS, cpu, true);
    uint32_t number = import_type(out, &type, false);
    if (number == SKEIN_NONE) {
        i->told->left_out++;
        import_why(i->told, "there are more than %u kinds of events", IMPORT_TYPES_MAX);
        return;
    }
    import_event(out, number, thread, s->time_ns, dur_ns, values, 0);
}

static int outs_flush(struct ctf_import *i, bool all)
{
    int status = SKEIN_OK;
    for (size_t k = 0; k < i->process_count && status == SKEIN_OK; k++)
        if (all || import_out_full(i->processes[k].out))
            status = import_out_flush(i->processes[k].out);
    return status;
}

int ctf_event_emit(struct ctf_import *i, struct ctf_stream *s)
{
    struct shown shown = {.count = 0};
    struct who who = {.pid = i->t.has_vpid ? i->t.vpid : CTF_NO_PID};
    struct ctf_values *v = &i->values;
    struct ctf_value cpu = {.name = "cpu_id", .kind = TSDL_INTEGER, .label = TSDL_NONE};
    v->count = 0;
    buf_clear(&v->texts);
    s->bits.at = s->event_at; /* its head again: what is behind may name what is in it */
    bool good = ctf_struct_read(&i->t, &s->bits, s->description->header, v);
    size_t contexts = v->count;
    good = good && ctf_struct_read(&i->t, &s->bits, s->description->event_context, v) &&
           ctf_struct_read(&i->t, &s->bits, s->event->context, v);
    size_t fields = v->count;
    good = good && ctf_struct_read(&i->t, &s->bits, s->event->fields, v);
    if (!good || s->bits.at == s->event_at)
        return ctf_packet_leave(i, s, good ? "takes no room" : s->bits.why);
    for (size_t k = fields; k < v->count; k++)
        shown.values[shown.count++] = &v->items[k];
    for (size_t k = contexts; k < fields; k++)
        if (!who_note(v, &v->items[k], &who))
            shown.values[shown.count++] = &v->items[k];
    cpu.number = s->cpu;
    if (s->has_cpu && who.has_tid)
        shown.values[shown.count++] = &cpu;
    ctf_wide ns = ctf_wide_ns(i, s, s->clock) + i->moved_ns;
    if (ns < 0 || ns > (ctf_wide)IMPORT_TIME_MAX)
        import_clamped(i->told);
    i->last_ns = s->time_ns > i->last_ns ? s->time_ns : i->last_ns;
    record_put(i, s, &who, &shown);
    if (i->status != SKEIN_OK)
        return i->status;
    uint64_t pending = ++i->pending;
    if (pending >= IMPORT_RECORDS_MAX)
        i->pending = 0;
    return outs_flush(i, pending >= IMPORT_RECORDS_MAX);
}

void ctf_loss_emit(struct ctf_import *i, uint8_t reason, uint64_t events, uint64_t from_ns,
                   uint64_t to_ns)
{
    if (i->probes)
        return;
    struct import_out *out = process_out(i, i->t.has_vpid ? i->t.vpid : CTF_NO_PID, "");
    if (out != NULL)
        import_loss(out, reason, events, from_ns, to_ns > from_ns ? to_ns : from_ns);
}
