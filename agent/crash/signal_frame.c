/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames of handlers; see signal_frame.h. Any thread.
 */
#include "signal_frame.h"

#include <signal.h>
#include <string.h>

#if defined(__x86_64__)
#include <ucontext.h>

/* struct rt_sigframe of arch/x86, from the ucontext on, whose mask of signals is 8 bytes there. */
#define GREGS_AT    ((size_t)40)
#define FPREGS_AT   (GREGS_AT + NGREG * sizeof(greg_t))
#define INFO_AT     ((size_t)304)
#define ADDRESS_AT  16 /* in siginfo */
#define FRAME_BYTES (INFO_AT + ADDRESS_AT + sizeof(uint64_t))

_Static_assert(offsetof(ucontext_t, uc_mcontext.gregs) == GREGS_AT, "the kernel's layout");
_Static_assert(offsetof(ucontext_t, uc_mcontext.fpregs) == FPREGS_AT, "the kernel's layout");
_Static_assert(offsetof(siginfo_t, si_addr) == ADDRESS_AT, "the kernel's layout");

#define TRAP_PAGE_FAULT 14u
#define TRAPS           32u
#define CODE_SEGMENT_64 0x33u

static uint64_t word_at(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static uint64_t register_at(const uint8_t *frame, int number)
{
    return word_at(frame + GREGS_AT + (size_t)number * sizeof(greg_t));
}

static bool is_fault(int32_t signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
           signal == SIGTRAP;
}

/* What the kernel never writes otherwise: a fault's number, the segment of 64-bit code, a place for
 * the floating-point registers close above, and, of a page fault, its address twice. */
static bool frame_get(const uint8_t *bytes, uint64_t address, struct signal_frame *out)
{
    int32_t info[3];
    memcpy(info, bytes + INFO_AT, sizeof info);
    uint64_t trap = register_at(bytes, REG_TRAPNO), at = word_at(bytes + INFO_AT + ADDRESS_AT);
    uint64_t floating = word_at(bytes + FPREGS_AT);
    if (!is_fault(info[0]) || info[2] <= 0 || info[2] > SI_KERNEL || word_at(bytes + 8) != 0 ||
        (register_at(bytes, REG_CSGSFS) & 0xffff) != CODE_SEGMENT_64 || trap >= TRAPS ||
        floating <= address || floating - address > 4096 || floating % 16 != 0)
        return false;
    bool page = trap == TRAP_PAGE_FAULT && info[2] != SI_KERNEL;
    if (page && at != register_at(bytes, REG_CR2))
        return false;
    *out = (struct signal_frame){.signal = info[0],
                                 .code = info[2],
                                 .address = at,
                                 .pc = register_at(bytes, REG_RIP),
                                 .sp = register_at(bytes, REG_RSP),
                                 .error = register_at(bytes, REG_ERR),
                                 .has_error = page};
    return true;
}

bool signal_frame_next(const uint8_t *stack, size_t n, uint64_t address, size_t *at,
                       struct signal_frame *out)
{
    size_t i = *at + (size_t)(-(address + *at) & 7);
    for (; i <= n && n - i >= FRAME_BYTES; i += 8)
        if (frame_get(stack + i, address + i, out)) {
            *at = i + 8;
            return true;
        }
    *at = n;
    return false;
}

#else

bool signal_frame_next(const uint8_t *stack, size_t n, uint64_t address, size_t *at,
                       struct signal_frame *out)
{
    (void)stack, (void)address, (void)out;
    *at = n;
    return false;
}

#endif
