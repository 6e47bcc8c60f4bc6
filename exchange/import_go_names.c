/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of Go's events, and what records are called that are made of them (docs/import.md).
 */
#include <ctype.h>
#include <string.h>

#include "checksum.h"
#include "import_go_int.h"

#define WAITS_MAX 256 /* reasons that have a type of their own; Go has some 40 */

/* The types of those whose names have no place among IMPORT_TYPES_MAX. */
#define OTHER_REGIONS "(other regions)"
#define OTHER_TASKS   "(other tasks)"

/* Number, name, arguments behind the time (-1: lies in no thread's batch). */
#define KINDS(X)                                                                                   \
    X(GO_PROCS_CHANGE, "ProcsChange", 2)                                                           \
    X(GO_PROC_START, "ProcStart", 2)                                                               \
    X(GO_PROC_STOP, "ProcStop", 0)                                                                 \
    X(GO_PROC_STEAL, "ProcSteal", 3)                                                               \
    X(GO_PROC_STATUS, "ProcStatus", 2)                                                             \
    X(GO_CREATE, "GoCreate", 3)                                                                    \
    X(GO_CREATE_SYSCALL, "GoCreateSyscall", 1)                                                     \
    X(GO_START, "GoStart", 2)                                                                      \
    X(GO_DESTROY, "GoDestroy", 0)                                                                  \
    X(GO_DESTROY_SYSCALL, "GoDestroySyscall", 0)                                                   \
    X(GO_STOP, "GoStop", 2)                                                                        \
    X(GO_BLOCK, "GoBlock", 2)                                                                      \
    X(GO_UNBLOCK, "GoUnblock", 3)                                                                  \
    X(GO_SYSCALL_BEGIN, "GoSyscallBegin", 2)                                                       \
    X(GO_SYSCALL_END, "GoSyscallEnd", 0)                                                           \
    X(GO_SYSCALL_END_BLOCKED, "GoSyscallEndBlocked", 0)                                            \
    X(GO_STATUS, "GoStatus", 3)                                                                    \
    X(GO_STW_BEGIN, "STWBegin", 2)                                                                 \
    X(GO_STW_END, "STWEnd", 0)                                                                     \
    X(GO_GC_ACTIVE, "GCActive", 1)                                                                 \
    X(GO_GC_BEGIN, "GCBegin", 2)                                                                   \
    X(GO_GC_END, "GCEnd", 1)                                                                       \
    X(GO_SWEEP_ACTIVE, "GCSweepActive", 1)                                                         \
    X(GO_SWEEP_BEGIN, "GCSweepBegin", 1)                                                           \
    X(GO_SWEEP_END, "GCSweepEnd", 2)                                                               \
    X(GO_ASSIST_ACTIVE, "GCMarkAssistActive", 1)                                                   \
    X(GO_ASSIST_BEGIN, "GCMarkAssistBegin", 1)                                                     \
    X(GO_ASSIST_END, "GCMarkAssistEnd", 0)                                                         \
    X(GO_HEAP_ALLOC, "HeapAlloc", 1)                                                               \
    X(GO_HEAP_GOAL, "HeapGoal", 1)                                                                 \
    X(GO_LABEL, "GoLabel", 1)                                                                      \
    X(GO_TASK_BEGIN, "UserTaskBegin", 4)                                                           \
    X(GO_TASK_END, "UserTaskEnd", 2)                                                               \
    X(GO_REGION_BEGIN, "UserRegionBegin", 3)                                                       \
    X(GO_REGION_END, "UserRegionEnd", 3)                                                           \
    X(GO_LOG, "UserLog", 4)                                                                        \
    X(GO_SWITCH, "GoSwitch", 2)                                                                    \
    X(GO_SWITCH_DESTROY, "GoSwitchDestroy", 2)                                                     \
    X(GO_CREATE_BLOCKED, "GoCreateBlocked", 3)                                                     \
    X(GO_STATUS_STACK, "GoStatusStack", 4)                                                         \
    X(GO_CPU_SAMPLE, "CPUSample", -1)                                                              \
    X(GO_EXPERIMENT_FROM + 0, "Span", 3)                                                           \
    X(GO_EXPERIMENT_FROM + 1, "SpanAlloc", 3)                                                      \
    X(GO_EXPERIMENT_FROM + 2, "SpanFree", 1)                                                       \
    X(GO_EXPERIMENT_FROM + 3, "HeapObject", 2)                                                     \
    X(GO_EXPERIMENT_FROM + 4, "HeapObjectAlloc", 2)                                                \
    X(GO_EXPERIMENT_FROM + 5, "HeapObjectFree", 1)                                                 \
    X(GO_EXPERIMENT_FROM + 6, "GoroutineStack", 2)                                                 \
    X(GO_EXPERIMENT_FROM + 7, "GoroutineStackAlloc", 2)                                            \
    X(GO_EXPERIMENT_FROM + 8, "GoroutineStackFree", 1)

struct kind {
    const char *name;
    int args;
};

static const struct kind kinds[GO_EVENT_KINDS] = {
#define X(number, kind_name, count) [number] = {kind_name, count},
    KINDS(X)
#undef X
};

const char *go_kind_name(unsigned kind)
{
    return kind < GO_EVENT_KINDS ? kinds[kind].name : NULL;
}

int go_kind_args(unsigned kind)
{
    return kind < GO_EVENT_KINDS && kinds[kind].name != NULL ? kinds[kind].args : -1;
}

/* ---- types ---- */

#define TYPE(type_name, of_class, of_group, words, count, ...)                                     \
    {                                                                                              \
        .name = type_name, .text = words, .file = "", .klass = of_class, .group = of_group,        \
        .nargs = count, .args = {                                                                  \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define NUMBER(arg) PARTITION_ARG(SKEIN_T_U64, arg, "")
#define PLACE(arg)  PARTITION_ARG(SKEIN_T_I64, arg, "") /* -1: none */
#define BYTES(arg)  PARTITION_ARG(SKEIN_T_U64, arg, "bytes")
#define TEXT(arg)   PARTITION_ARG(SKEIN_T_STR, arg, "")

const struct partition_event_type go_types[GO_TYPES] = {
    [GO_TYPE_RUNNING] = TYPE("go.running", SKEIN_CLASS_SPAN, SKEIN_GROUP_THREAD,
                             "goroutine had a processor", 3, PLACE("m"), PLACE("p"), TEXT("cut")),
    [GO_TYPE_RUNNABLE] =
        TYPE("go.runnable", SKEIN_CLASS_SPAN, SKEIN_GROUP_THREAD,
             "goroutine waited for a processor", 3, TEXT("why"), NUMBER("by"), TEXT("cut")),
    [GO_TYPE_SYSCALL] =
        TYPE("go.syscall", SKEIN_CLASS_SPAN, SKEIN_GROUP_THREAD,
             "goroutine was in a system call, or in C", 3, PLACE("m"), PLACE("p"), TEXT("cut")),
    [GO_TYPE_CREATE] = TYPE("go.create", SKEIN_CLASS_INSTANT, SKEIN_GROUP_THREAD,
                            "made a goroutine", 2, NUMBER("goroutine"), TEXT("function")),
    [GO_TYPE_UNBLOCK] = TYPE("go.unblock", SKEIN_CLASS_INSTANT, SKEIN_GROUP_THREAD,
                             "let a goroutine go on", 1, NUMBER("goroutine")),
    [GO_TYPE_LABEL] = TYPE("go.label", SKEIN_CLASS_INSTANT, SKEIN_GROUP_THREAD,
                           "is called so from now on", 1, TEXT("label")),
    [GO_TYPE_GC] =
        TYPE("go.gc", SKEIN_CLASS_SPAN, SKEIN_GROUP_THREAD, "the heap was marked", 1, TEXT("cut")),
    [GO_TYPE_STW] = TYPE("go.stw", SKEIN_CLASS_SPAN, SKEIN_GROUP_THREAD, "all were stopped", 2,
                         TEXT("kind"), TEXT("cut")),
    [GO_TYPE_ASSIST] = TYPE("go.gc.assist", SKEIN_CLASS_SPAN, SKEIN_GROUP_THREAD,
                            "had to help to mark", 1, TEXT("cut")),
    [GO_TYPE_SWEEP] = TYPE("go.gc.sweep", SKEIN_CLASS_SPAN, SKEIN_GROUP_THREAD, "memory was swept",
                           4, BYTES("swept"), BYTES("reclaimed"), PLACE("p"), TEXT("cut")),
    [GO_TYPE_HEAP_ALLOC] = TYPE("go.heap.alloc", SKEIN_CLASS_COUNTER, SKEIN_GROUP_THREAD,
                                "heap that lives", 1, BYTES("value")),
    [GO_TYPE_HEAP_GOAL] = TYPE("go.heap.goal", SKEIN_CLASS_COUNTER, SKEIN_GROUP_THREAD,
                               "heap at which it is marked next", 1, BYTES("value")),
    [GO_TYPE_PROCS] = TYPE("go.maxprocs", SKEIN_CLASS_COUNTER, SKEIN_GROUP_THREAD,
                           "processors (GOMAXPROCS)", 1, NUMBER("value")),
    [GO_TYPE_SAMPLE] =
        TYPE("cpu.sample", SKEIN_CLASS_INSTANT, SKEIN_GROUP_THREAD, "was running", 3,
             {.type = SKEIN_T_U64, .name = "weight", .unit = "ns"}, PLACE("m"), PLACE("p")),
    [GO_TYPE_LOG] = TYPE("go.log", SKEIN_CLASS_LOG, SKEIN_GROUP_LOG, "", 4, NUMBER("level"),
                         TEXT("text"), TEXT("category"), NUMBER("task")),
};

static uint32_t named_type(struct go_import *i, const char *name, bool task, bool other);

int go_types_make(struct go_import *i)
{
    for (unsigned k = 0; k < GO_TYPES; k++) {
        i->types[k] = import_type(i->out, &go_types[k], k != GO_TYPE_LOG);
        if (i->types[k] == SKEIN_NONE)
            return SKEIN_NO_MEMORY;
    }
    i->other_wait = go_wait_type(i, "other");
    (void)named_type(i, OTHER_TASKS, true, true); /* while there is room */
    (void)named_type(i, OTHER_REGIONS, false, true);
    return i->other_wait == SKEIN_NONE ? SKEIN_NO_MEMORY : SKEIN_OK;
}

static uint8_t wait_group(const char *reason)
{
    if (strcmp(reason, "sleep") == 0)
        return SKEIN_GROUP_SLEEP;
    if (strcmp(reason, "network") == 0)
        return SKEIN_GROUP_NET;
    if (strncmp(reason, "sync", 4) == 0)
        return SKEIN_GROUP_LOCK;
    return SKEIN_GROUP_THREAD;
}

/* "chan receive" is go.wait.chan_receive: names have no spaces. */
uint32_t go_wait_type(struct go_import *i, const char *reason)
{
    char name[64] = "go.wait.";
    size_t n = strlen(name), length = strlen(reason);
    uint64_t key = checksum64(reason, length);
    uint32_t type = import_map_get(&i->waits, key);
    if (type != IMPORT_MAP_NONE)
        return type;
    if (i->waits.count >= WAITS_MAX)
        return i->other_wait;
    for (size_t k = 0; k < length && n < sizeof name - 1; k++) {
        unsigned char c = (unsigned char)reason[k];
        bool good = isalnum(c) && c < 128;
        if (good || name[n - 1] != '_')
            name[n++] = good ? (char)tolower(c) : '_';
    }
    while (n > 0 && (name[n - 1] == '_' || name[n - 1] == '.'))
        n--;
    name[n] = '\0';
    const struct partition_event_type made = {.name = name,
                                              .text = "goroutine was blocked",
                                              .file = "",
                                              .klass = SKEIN_CLASS_SPAN,
                                              .group = wait_group(reason),
                                              .nargs = 3,
                                              .args = {TEXT("reason"), NUMBER("by"), TEXT("cut")}};
    type = import_type(i->out, &made, true);
    if (type != SKEIN_NONE && !import_map_set(&i->waits, key, type))
        i->status = SKEIN_NO_MEMORY;
    return type;
}

static uint32_t named_type(struct go_import *i, const char *name, bool task, bool other)
{
    struct partition_event_type made = {
        .name = name,
        .text = task ? "task" : "region",
        .file = "",
        .klass = SKEIN_CLASS_SPAN,
        .group = SKEIN_GROUP_APP,
        .nargs = (uint8_t)(task ? 4 : 2),
        .args = {NUMBER("task"), TEXT("cut"), NUMBER("parent"), NUMBER("ended_by")}};
    if (other)
        made.args[made.nargs++] = (struct partition_arg)TEXT("name");
    return import_type(i->out, &made, false);
}

uint32_t go_named_type(struct go_import *i, const char *name, bool task)
{
    uint32_t type = named_type(i, name[0] != '\0' ? name : task ? "task" : "region", task, false);
    if (type == SKEIN_NONE)
        type = named_type(i, task ? OTHER_TASKS : OTHER_REGIONS, task, true);
    return type;
}
