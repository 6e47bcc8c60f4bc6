/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of many processes, in whatever order their file has them, on their way into import_out:
 *
 *   events ─▶ window, by time ─▶ begins and ends paired ─▶ import_out of each process
 *   scheduler's records ─▶ window ─▶ what threads did (sched_timeline) ─┘
 *
 * The window holds IMPORT_WINDOW_EVENTS or _BYTES; an event that comes later than that many others is
 * raised to the time that was reached, and counted (told->fixed_up). Processes and threads are keys of
 * the file's; they may be named at any time, and what leaves the window first takes the name known
 * by then. Errors are sticky and come out of import_many_finish. One owner, one thread.
 */
#ifndef IMPORT_MANY_H
#define IMPORT_MANY_H

#include "import_out.h"
#include "sched_event.h"

#define IMPORT_WINDOW_EVENTS   2000000u
#define IMPORT_WINDOW_BYTES    ((size_t)512 << 20)
#define IMPORT_PROCESSES_MAX   65536u
#define IMPORT_ALL_THREADS_MAX 1000000u
#define IMPORT_DEPTH_MAX       1024u               /* begins open at a time on a thread */
#define IMPORT_OPEN_BYTES      ((size_t)128 << 20) /* of all begins that are open */
#define IMPORT_VALUES_MAX      64u /* of an event; of more than six, the sixth is a text of the rest */

struct import_many;

enum import_what {
    IMPORT_BEGIN, /* paired with the next END of its thread, or of its `pair` */
    IMPORT_END,   /* its values are put behind those of its begin */
    IMPORT_SPAN,  /* began dur_ns before time_ns */
    IMPORT_INSTANT,
    IMPORT_COUNTER,
    IMPORT_LOG,
    IMPORT_LOSS /* dur_ns before time_ns; value 0: records, 0 where nobody knows; `reason` */
};

struct import_value {
    const char *name, *unit; /* unit NULL: "" */
    uint8_t type;            /* enum skein_type, but no sequence */
    uint64_t bits;
    const char *text; /* of STR */
    size_t n;
};

struct import_entry {
    enum import_what what;
    uint64_t process, thread; /* keys */
    uint64_t pair;            /* not 0: of BEGIN and END that may lie across others; evidence */
    uint64_t time_ns, dur_ns;
    const char *name, *category; /* category: a group's name, else the type's text; NULL: "" */
    bool evidence;
    uint8_t reason; /* of LOSS */
    uint32_t stack; /* of import_many_stack */
    const struct import_value *values;
    unsigned count;
};

struct import_frame {
    bool has_pc;  /* else it has no address, and is shown without one */
    bool inlined; /* into the next frame, if that has the same address */
    uint64_t pc;
    const char *function, *file;
    uint32_t line;
};

/* SKEIN_OK, SKEIN_NO_MEMORY, or what the source returns: it is read once for the processes' ids. */
int import_many_new(const struct import_to *to, const struct skein_trace_source *source,
                    struct import_told *told, struct import_many **out);
void import_many_free(struct import_many **many);

/* Of files whose events stand nearly in order: a smaller window. */
void import_many_window(struct import_many *m, size_t events);

/* From now on the time of day is so far ahead of the file's clock, which it is not before; for what has
 * left the window, it does not hold. */
void import_many_ahead(struct import_many *m, int64_t ahead_ns);

/* Names it; "" names nothing. A process is of the file's own service and pid where nobody names it. */
void import_many_process(struct import_many *m, uint64_t process, uint32_t pid, const char *name,
                         const char *host);
bool import_many_process_is_named(const struct import_many *m, uint64_t process);
/* The host of processes that name none. */
void import_many_host(struct import_many *m, const char *host);
/* incarnation: tells threads of one tid apart. */
void import_many_thread(struct import_many *m, uint64_t process, uint64_t thread, uint32_t tid,
                        uint64_t incarnation, const char *name);
bool import_many_is_named(const struct import_many *m, uint64_t process, uint64_t thread);

/* A number from 1; 0: it is empty, or there are too many. Innermost first. */
uint32_t import_many_stack(struct import_many *m, const struct import_frame *frames, uint32_t count,
                           bool cut);

/* SKEIN_OK, or what has failed. */
int import_many_add(struct import_many *m, const struct import_entry *entry);

/* A record of the scheduler; threads are (process, thread) keys of its own file. `current`, `tid` and
 * `next` of the event are numbers of import_many_task. */
uint32_t import_many_task(struct import_many *m, uint64_t process, uint64_t thread);
int import_many_sched(struct import_many *m, const struct sched_event *event);

/* The task `before` runs another program from `time_ns` on, and is the task `after`, called comm. */
int import_many_exec(struct import_many *m, uint32_t cpu, uint64_t time_ns, uint32_t before,
                     uint32_t after, const char *comm);

/* All that is left; what has begun and not ended is given as open. */
int import_many_finish(struct import_many *m);

/* Processes that have records, and ends whose begin is not there. */
uint64_t import_many_processes(const struct import_many *m);

#endif
