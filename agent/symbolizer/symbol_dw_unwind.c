/* SPDX-License-Identifier: Apache-2.0
 *
 * Copied stacks; see symbol_dw_unwind.h. libdwfl asks by callbacks for the one thread that there
 * is, its registers and its memory.
 */
#include "symbol_dw_unwind.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descriptor.h"
#include "partition.h"
#include "symbol_dw_int.h"

#define THREAD     1  /* the number of the one thread */
#define BEGIN_NEAR 64 /* bytes from a program's entry: its function, still */
#define HLT        0xf4
#define STACK_NEAR (UINT64_C(16) << 20) /* behind the copy: the stack, still */

struct symbol_process {
    Dwfl *dwfl;
    unsigned added;
    bool ready;
    /* of the walk under way */
    const struct symbol_unwind *unwind;
    uint64_t pcs[SYMBOL_FRAMES_MAX];
    uint32_t count;
    bool more; /* frames than asked for */
    /* of the last frame's unwinding: the copy ended; other memory was asked for */
    bool ran_out, lacked;
};

static int elf_find(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base,
                    char **file_name, Elf **elf)
{
    (void)mod, (void)user, (void)name, (void)base, (void)file_name, (void)elf;
    return -1;
}

static int debug_find(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base,
                      const char *file, const char *link, GElf_Word crc, char **found)
{
    (void)mod, (void)user, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)found;
    return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = elf_find, .find_debuginfo = debug_find};

int symbol_process_new(struct symbol_process **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->dwfl = dwfl_begin(&callbacks);
    if ((*out)->dwfl != NULL)
        return SKEIN_OK;
    symbol_process_free(out);
    return SKEIN_NO_MEMORY;
}

void symbol_process_free(struct symbol_process **process_p)
{
    struct symbol_process *process = *process_p;
    *process_p = NULL;
    if (process == NULL)
        return;
    if (process->dwfl != NULL)
        dwfl_end(process->dwfl);
    free(process);
}

int symbol_process_add(struct symbol_process *process, int fd, uint64_t bias)
{
    char name[32];
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    snprintf(name, sizeof name, "m%u", process->added);
    if (copy >= 0 && dwfl_report_elf(process->dwfl, name, name, copy, bias, true) != NULL) {
        process->added++;
        return SKEIN_OK;
    }
    fd_close(&copy);
    return SKEIN_CORRUPT;
}

/* ---- what libdwfl asks ---- */

static pid_t thread_next(Dwfl *dwfl, void *context, void **thread)
{
    (void)dwfl;
    if (*thread != NULL)
        return 0;
    *thread = context;
    return THREAD;
}

static bool thread_get(Dwfl *dwfl, pid_t tid, void *context, void **thread)
{
    (void)dwfl, (void)tid;
    *thread = context;
    return true;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *context)
{
    (void)dwfl;
    struct symbol_process *process = context;
    const struct symbol_unwind *unwind = process->unwind;
    uint64_t at = address - unwind->address;
    if (address < unwind->address || at > unwind->stack_bytes ||
        sizeof *result > unwind->stack_bytes - at) {
        bool behind = address >= unwind->address && at - unwind->stack_bytes < STACK_NEAR;
        process->ran_out |= behind;
        process->lacked |= !behind;
        return false;
    }
    memcpy(result, unwind->stack + at, sizeof *result);
    return true;
}

static bool registers_set(Dwfl_Thread *thread, void *context)
{
    const struct symbol_process *process = context;
#ifdef __x86_64__
    return dwfl_thread_state_registers(thread, 0, SYMBOL_REGISTERS, process->unwind->registers);
#else
    (void)thread, (void)process;
    return false;
#endif
}

static const Dwfl_Thread_Callbacks thread_callbacks = {.next_thread = thread_next,
                                                       .get_thread = thread_get,
                                                       .memory_read = memory_read,
                                                       .set_initial_registers = registers_set};

int symbol_process_ready(struct symbol_process *process)
{
    if (dwfl_report_end(process->dwfl, NULL, NULL) != 0 ||
        !dwfl_attach_state(process->dwfl, NULL, THREAD, &thread_callbacks, process))
        return SKEIN_CORRUPT;
    process->ready = true;
    return SKEIN_OK;
}

/* A frame that a signal interrupted is where it was, not where it returns to: one more, as readers
 * look one byte before it. */
static int frame_take(Dwfl_Frame *frame, void *context)
{
    struct symbol_process *process = context;
    Dwarf_Addr pc;
    bool exact;
    process->ran_out = process->lacked = false; /* where the walk went on all the same */
    if (!dwfl_frame_pc(frame, &pc, &exact))
        return DWARF_CB_ABORT;
    if (process->count == process->unwind->most) {
        process->more = true;
        return DWARF_CB_ABORT;
    }
    process->pcs[process->count] = exact && process->count > 0 ? pc + 1 : pc;
    process->count++;
    return DWARF_CB_OK;
}

#ifdef __x86_64__
/* The byte of a file that lies at one of its addresses; -1: none does. */
static int file_byte(Elf *elf, GElf_Addr address)
{
    size_t count;
    if (elf_getphdrnum(elf, &count) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr head;
        if (gelf_getphdr(elf, (int)i, &head) == NULL || head.p_type != PT_LOAD ||
            address < head.p_vaddr || address - head.p_vaddr >= head.p_filesz ||
            head.p_offset > INT64_MAX - (address - head.p_vaddr))
            continue;
        const Elf_Data *data = elf_getdata_rawchunk(
            elf, (int64_t)(head.p_offset + (address - head.p_vaddr)), 1, ELF_T_BYTE);
        return data != NULL && data->d_size == 1 ? *(const uint8_t *)data->d_buf : -1;
    }
    return -1;
}

/* Whether the last frame is that of the program's entry, which nobody has called: the call there has
 * no way back, and a halt behind it. Where no table says so, whatever rbp holds there is no frame. */
static bool is_at_begin(const struct symbol_process *process)
{
    GElf_Addr bias;
    GElf_Ehdr head;
    uint64_t pc = process->pcs[process->count - 1];
    Dwfl_Module *module = process->count > 1 ? dwfl_addrmodule(process->dwfl, pc - 1) : NULL;
    Elf *elf = module != NULL ? dwfl_module_getelf(module, &bias) : NULL;
    return elf != NULL && gelf_getehdr(elf, &head) != NULL && head.e_entry != 0 &&
           pc - bias > head.e_entry && pc - bias - head.e_entry < BEGIN_NEAR &&
           file_byte(elf, pc - bias) == HLT;
}
#else
static bool is_at_begin(const struct symbol_process *process)
{
    (void)process;
    return false;
}
#endif

static uint8_t walk_end(const struct symbol_process *process, int result)
{
    if (!process->more && is_at_begin(process))
        return PARTITION_STACK_WHOLE;
    /* libdwfl takes a return address that it cannot read for the end. */
    if (process->more || process->ran_out)
        return PARTITION_STACK_CUT;
    return result == 0 && !process->lacked ? PARTITION_STACK_WHOLE : PARTITION_STACK_BROKEN;
}

void symbol_process_walk(struct symbol_process *process, const struct symbol_unwind *unwind,
                         struct buf *out)
{
    process->unwind = unwind;
    process->count = 0;
    process->more = process->ran_out = process->lacked = false;
    int result =
        process->ready ? dwfl_getthread_frames(process->dwfl, THREAD, frame_take, process) : -1;
    if (process->count == 0)
        process->pcs[process->count++] = unwind->registers[SYMBOL_REGISTERS - 1];
    process->unwind = NULL;
    buf_put_u8(out, walk_end(process, result) | PARTITION_STACK_EXACT);
    buf_put_uleb(out, process->count);
    for (uint32_t i = 0; i < process->count; i++)
        buf_put_u64(out, process->pcs[i]);
}
