/* SPDX-License-Identifier: Apache-2.0
 *
 * What is read of signals: the kernel's events, by texts of its own form; lines of its log; and the
 * frames that it puts on stacks, which are its own here.
 */
#include "signal_record.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include "fault_line.h"
#include "signal_frame.h"
#include "signal_text.h"
#include "support.h"

static char *folder;

static void setup(void)
{
    folder = temp_dir_new();
}

static void teardown(void)
{
    temp_dir_free(&folder);
}

/* ---- events ---- */

static void event_write(const char *event, const char *id, const char *format)
{
    char path[512];
    const char *const parts[] = {"", "/events", "/events/signal", "/events/oom"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(path, sizeof path, "%s%s", folder, parts[i]);
        mkdir(path, 0700);
    }
    snprintf(path, sizeof path, "%s/events/%s", folder, event);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/events/%s/id", folder, event);
    file_write_text(path, id);
    snprintf(path, sizeof path, "%s/events/%s/format", folder, event);
    file_write_text(path, format);
}

#define COMMON                                                                                     \
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                         \
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static void tracefs_write(void)
{
    event_write("signal/signal_deliver", "260\n",
                "name: signal_deliver\nID: 260\nformat:\n" COMMON
                "\tfield:int sig;\toffset:8;\tsize:4;\tsigned:1;\n"
                "\tfield:int errno;\toffset:12;\tsize:4;\tsigned:1;\n"
                "\tfield:int code;\toffset:16;\tsize:4;\tsigned:1;\n");
    event_write("signal/signal_generate", "261\n",
                "name: signal_generate\nID: 261\nformat:\n" COMMON
                "\tfield:int sig;\toffset:8;\tsize:4;\tsigned:1;\n"
                "\tfield:int code;\toffset:16;\tsize:4;\tsigned:1;\n"
                "\tfield:char comm[16];\toffset:20;\tsize:16;\tsigned:0;\n"
                "\tfield:pid_t pid;\toffset:36;\tsize:4;\tsigned:1;\n");
}

static struct signal_layout layout_read(void)
{
    struct signal_layout layout;
    ck_assert_int_eq(signal_layout_read(folder, &layout), SKEIN_OK);
    return layout;
}

START_TEST(what_the_kernel_has_is_watched)
{
    struct perf_watch watches[PERF_WATCHES_MAX];
    struct signal_layout layout;
    ck_assert_int_eq(signal_layout_read(folder, &layout), SKEIN_NOT_FOUND);
    tracefs_write();
    layout = layout_read();
    ck_assert_uint_eq(signal_layout_watches(&layout, watches), 3);
    ck_assert_uint_eq(watches[0].id, 260);
    ck_assert_uint_eq(watches[1].id, 261);
    ck_assert_uint_eq(watches[2].id, 261);
    ck_assert(watches[0].user && watches[1].user && !watches[2].user);
    event_write("oom/mark_victim", "99\n",
                COMMON "\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n");
    layout = layout_read();
    ck_assert_uint_eq(signal_layout_watches(&layout, watches), PERF_WATCHES_MAX);
    ck_assert_uint_eq(watches[2].id, 99);
    ck_assert_ptr_null(watches[2].filter);
    /* One whose fields are others is as if it were not there. */
    event_write("signal/signal_deliver", "260\n", COMMON);
    ck_assert_int_eq(signal_layout_read(folder, &layout), SKEIN_NOT_FOUND);
}
END_TEST

/* 40 bytes of one event, with numbers that tell where they are from. */
static void raw_fill(uint8_t raw[40], uint16_t id)
{
    for (uint8_t i = 0; i < 40; i++)
        raw[i] = i % 4 == 0 ? i : 0; /* little-endian words: 0, 4, 8 … */
    memcpy(raw, &id, sizeof id);
}

START_TEST(fields_are_read_where_the_text_says)
{
    struct signal_record record;
    uint8_t raw[40];
    tracefs_write();
    struct signal_layout layout = layout_read();
    raw_fill(raw, 261);
    ck_assert(signal_record_get(&layout, raw, sizeof raw, &record));
    ck_assert_int_eq(record.kind, SIGNAL_SENT);
    ck_assert_int_eq(record.signal, 8);
    ck_assert_int_eq(record.code, 16);
    ck_assert_uint_eq(record.target, 36);
    ck_assert_uint_eq(record.current, 4);
    for (size_t n = 0; n < sizeof raw; n++)
        ck_assert(!signal_record_get(&layout, raw, n, &record));
    raw_fill(raw, 260);
    ck_assert(signal_record_get(&layout, raw, 20, &record)); /* its last field ends there */
    ck_assert_int_eq(record.kind, SIGNAL_ENDS);
    ck_assert_int_eq(record.code, 16);
    ck_assert(!signal_record_get(&layout, raw, 19, &record));
    raw_fill(raw, 0); /* the id of what is not there */
    ck_assert(!signal_record_get(&layout, raw, sizeof raw, &record));
}
END_TEST

START_TEST(causes_are_in_words)
{
    char name[SIGNAL_NAME_BYTES];
    signal_name_put(SIGSEGV, name);
    ck_assert_str_eq(name, "SIGSEGV");
    signal_name_put(SIGRTMIN + 5, name);
    ck_assert_str_eq(name, "signal 39");
    ck_assert_str_eq(signal_cause(SIGSEGV, SEGV_ACCERR), "access not allowed");
    ck_assert_str_eq(signal_cause(SIGBUS, BUS_ADRERR), "no memory behind the address");
    ck_assert_str_eq(signal_cause(SIGUSR1, SI_USER), "sent by kill");
    ck_assert_str_eq(signal_cause(SIGUSR1, 77), "");
}
END_TEST

/* ---- lines of the kernel's log ---- */

static bool parses(const char *text, struct fault_line *line)
{
    return fault_line_parse(text, strlen(text), line);
}

#define LINE                                                                                       \
    "4,1873,69548438291,-;worker[22606]: segfault at 1f ip 000055dd1e2da6a1 sp 00007fffea6c69f0 "  \
    "error 6 in t[16a1,55dd1e2da000+1000] likely on CPU 0 (core 0, socket 0)\n DEVICE=+x\n"

START_TEST(a_line_on_a_fault_is_read)
{
    struct fault_line line;
    ck_assert(parses(LINE, &line));
    ck_assert_str_eq(line.name, "worker");
    ck_assert_uint_eq(line.tid, 22606);
    ck_assert_uint_eq(line.address, 0x1f);
    ck_assert_uint_eq(line.ip, 0x55dd1e2da6a1);
    ck_assert_uint_eq(line.sp, 0x7fffea6c69f0);
    ck_assert_str_eq(fault_access(&line), "write");
    ck_assert(parses("6,1,2,-;a[1]: segfault at ffffffffffffffff ip 0 sp 0 error 4", &line));
    ck_assert_uint_eq(line.address, UINT64_MAX);
    ck_assert_str_eq(fault_access(&line), "read");
    ck_assert(parses("6,1,2,-;a[1]: segfault at 0 ip 0 sp 0 error 14 in b", &line));
    ck_assert_str_eq(fault_access(&line), "execute");
    /* Every beginning of it, up to its last number. */
    size_t whole = (size_t)(strstr(LINE, " in t[") - LINE);
    for (size_t n = 0; n < whole; n++)
        ck_assert(!fault_line_parse(LINE, n, &line));
    ck_assert(fault_line_parse(LINE, whole, &line));
}
END_TEST

START_TEST(names_do_not_make_a_line_another_one)
{
    struct fault_line line;
    ck_assert(parses("4,1,2,-;]: segfault at [7]: segfault at 5 ip 6 sp 7 error 4", &line));
    ck_assert_uint_eq(line.tid, 7);
    ck_assert_uint_eq(line.address, 5);
    ck_assert(parses("4,1,2,-;a[7]: segfault at 5 ip 6 sp 7 error 4 in x[9]: segfault at 1 ip 2 "
                     "sp 3 error 4[0+1]",
                     &line));
    ck_assert_uint_eq(line.tid, 7);
    ck_assert(!parses("4,1,2,-;a[4294967296]: segfault at 5 ip 6 sp 7 error 4", &line));
    ck_assert(!parses("4,1,2,-;a[1]: segfault at 10000000000000000 ip 6 sp 7 error 4", &line));
    ck_assert(!parses("4,1,2,-;a[]: segfault at 5 ip 6 sp 7 error 4", &line));
    ck_assert(!parses("a[1]: segfault at 5 ip 6 sp 7 error 4", &line)); /* no head */
    ck_assert(!parses("4,1,2,-;traps: a[1] general protection fault ip:6 sp:7 error:0", &line));
}
END_TEST

START_TEST(only_the_line_of_that_fault_counts)
{
    struct fault_line line;
    char *path = path_join(folder, "kmsg");
    ck_assert_int_eq(fault_line_find(path, 7, 6, 5, &line), SKEIN_DENIED); /* it is not there */
    file_write_text(path, "4,1,2,-;a[7]: segfault at 1 ip 6 sp 5 error 4");
    ck_assert_int_eq(fault_line_find(path, 7, 6, 5, &line), SKEIN_OK);
    ck_assert_uint_eq(line.address, 1);
    ck_assert_int_eq(fault_line_find(path, 8, 6, 5, &line), SKEIN_NOT_FOUND);
    ck_assert_int_eq(fault_line_find(path, 7, 5, 5, &line), SKEIN_NOT_FOUND);
    ck_assert_int_eq(fault_line_find(path, 7, 6, 6, &line), SKEIN_NOT_FOUND);
    free(path);
}
END_TEST

/* ---- frames of handlers ---- */

#if defined(__x86_64__)
static sigjmp_buf out_of_fault;
static uint8_t copy[4096];
static uint64_t copy_address;
static struct {
    uint64_t address, pc, sp;
    int code;
} told; /* by the kernel, to the handler */

static void on_fault(int signal, siginfo_t *info, void *context)
{
    const ucontext_t *here = context;
    (void)signal;
    told.address = (uintptr_t)info->si_addr;
    told.code = info->si_code;
    told.pc = (uint64_t)here->uc_mcontext.gregs[REG_RIP];
    told.sp = (uint64_t)here->uc_mcontext.gregs[REG_RSP];
    /* The frame begins with the return address, a word below; the rest of the page is ours. */
    copy_address = (uintptr_t)context - 72;
    memcpy(copy, (const uint8_t *)context - 72, sizeof copy);
    siglongjmp(out_of_fault, 1);
}

__attribute__((noinline)) static void fault_at(uintptr_t address)
{
    volatile uint8_t room[16384]; /* so that the copy stays on the stack */
    volatile int *volatile place = (volatile int *)address;
    room[0] = room[16383] = 1;
    *place = room[0];
}

START_TEST(the_frame_of_a_handler_has_the_fault)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sigaction before;
    struct signal_frame frame;
    size_t at = 0;
    ck_assert_int_eq(sigaction(SIGSEGV, &action, &before), 0);
    if (sigsetjmp(out_of_fault, 1) == 0)
        fault_at(0x18);
    sigaction(SIGSEGV, &before, NULL);
    ck_assert_uint_eq(told.address, 0x18);
    ck_assert(signal_frame_next(copy, sizeof copy, copy_address, &at, &frame));
    ck_assert_int_eq(frame.signal, SIGSEGV);
    ck_assert_int_eq(frame.code, told.code);
    ck_assert_uint_eq(frame.address, told.address);
    ck_assert_uint_eq(frame.pc, told.pc);
    ck_assert_uint_eq(frame.sp, told.sp);
    ck_assert(frame.has_error && (frame.error & 2) != 0); /* a write */
    ck_assert_uint_gt(at, 0);
    ck_assert(!signal_frame_next(copy, sizeof copy, copy_address, &at, &frame));
    /* Its address stands there twice: one that differs, and it is none. */
    uint64_t odd = 0x19;
    at = 0;
    memcpy(copy + 72 + 304 + 16, &odd, sizeof odd);
    ck_assert(!signal_frame_next(copy, sizeof copy, copy_address, &at, &frame));
    /* A stack that ends before the frame does. */
    for (size_t n = 0; n < 72 + 304 + 24; n++) {
        at = 0;
        ck_assert(!signal_frame_next(copy, n, copy_address, &at, &frame));
    }
}
END_TEST
#else
START_TEST(the_frame_of_a_handler_has_the_fault)
{
    struct signal_frame frame;
    size_t at = 0;
    ck_assert(!signal_frame_next((const uint8_t *)"", 0, 0, &at, &frame));
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("signal_record");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, what_the_kernel_has_is_watched);
    tcase_add_test(tests, fields_are_read_where_the_text_says);
    tcase_add_test(tests, causes_are_in_words);
    tcase_add_test(tests, a_line_on_a_fault_is_read);
    tcase_add_test(tests, names_do_not_make_a_line_another_one);
    tcase_add_test(tests, only_the_line_of_that_fault_counts);
    tcase_add_test(tests, the_frame_of_a_handler_has_the_fault);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
