/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens an ELF file for names; see symbol_dw_names.h. libdwfl stands between the file, its debug
 * file and their addresses. It never looks for files itself: all come as descriptors.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "descriptor.h"
#include "symbol_demangle.h"
#include "symbol_dw_int.h"

static int elf_find(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base,
                    char **file_name, Elf **elf)
{
    (void)mod, (void)user, (void)name, (void)base, (void)file_name, (void)elf;
    return -1;
}

/* The second time it is for what dwz has moved elsewhere: there is none. */
static int debug_find(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base,
                      const char *file, const char *link, GElf_Word crc, char **found)
{
    (void)mod, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)found;
    struct symbol_module *module = *user;
    int fd = module != NULL ? module->debug_fd : -1;
    if (fd >= 0)
        module->debug_fd = -1;
    return fd;
}

static const Dwfl_Callbacks callbacks = {.find_elf = elf_find, .find_debuginfo = debug_find};

static bool is_loadable(int fd)
{
    Elf64_Ehdr head;
    return pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
           memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_DATA] == ELFDATA2LSB &&
           (head.e_type == ET_EXEC || head.e_type == ET_DYN);
}

/* What is asked for is code, and one page of a file may be mapped by two segments, as lld lays them
 * out: executable ones come first. */
static int segments_list(struct symbol_module *module, bool executable)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(module->mod, &bias);
    size_t count;
    if (elf == NULL || elf_getphdrnum(elf, &count) != 0)
        return SKEIN_CORRUPT;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr head;
        if (gelf_getphdr(elf, (int)i, &head) == NULL)
            return SKEIN_CORRUPT;
        if (head.p_type != PT_LOAD || head.p_filesz == 0 || executable != !!(head.p_flags & PF_X))
            continue;
        if (!array_grow(module->segments, module->segment_count + 1, &module->segment_cap))
            return SKEIN_NO_MEMORY;
        /* The kernel maps whole pages. */
        uint64_t before = head.p_offset % 4096;
        if (before > head.p_vaddr)
            continue;
        module->segments[module->segment_count++] = (struct module_segment){
            head.p_offset - before, head.p_filesz + before, head.p_vaddr - before + bias};
    }
    return SKEIN_OK;
}

static int module_report(struct symbol_module *module)
{
    if (!is_loadable(module->fd))
        return SKEIN_INVALID;
    module->dwfl = dwfl_begin(&callbacks);
    if (module->dwfl == NULL)
        return SKEIN_NO_MEMORY;
    int copy = fcntl(module->fd, F_DUPFD_CLOEXEC, 0);
    module->mod =
        copy >= 0 ? dwfl_report_elf(module->dwfl, "module", "module", copy, 0, true) : NULL;
    if (module->mod == NULL) {
        fd_close(&copy);
        return SKEIN_CORRUPT;
    }
    void **user;
    if (dwfl_report_end(module->dwfl, NULL, NULL) != 0 ||
        dwfl_module_info(module->mod, &user, NULL, NULL, NULL, NULL, NULL, NULL) == NULL)
        return SKEIN_CORRUPT;
    *user = module;
    int status = segments_list(module, true);
    if (status == SKEIN_OK)
        status = segments_list(module, false);
    return status == SKEIN_OK && module->segment_count == 0 ? SKEIN_CORRUPT : status;
}

int symbol_module_open(int fd, int debug_fd, struct symbol_module **out)
{
    *out = NULL;
    struct symbol_module *module = calloc(1, sizeof *module);
    if (module == NULL) {
        close(fd);
        fd_close(&debug_fd);
        return SKEIN_NO_MEMORY;
    }
    module->fd = fd;
    module->debug_fd = debug_fd;
    int status = module_report(module);
    if (status != SKEIN_OK) {
        symbol_module_free(&module);
        return status;
    }
    *out = module;
    return SKEIN_OK;
}

void symbol_module_free(struct symbol_module **module_p)
{
    struct symbol_module *module = *module_p;
    *module_p = NULL;
    if (module == NULL)
        return;
    if (module->dwfl != NULL)
        dwfl_end(module->dwfl);
    close(module->fd);
    fd_close(&module->debug_fd);
    for (size_t i = 0; i < module->unit_count; i++)
        free(module->units[i].functions);
    free(module->units);
    free(module->ranges);
    free(module->symbols);
    free(module->segments);
    free(module);
}

int symbol_module_fd(const struct symbol_module *module)
{
    return module->fd;
}

bool symbol_module_address(const struct symbol_module *module, uint64_t offset, uint64_t *address)
{
    for (size_t i = 0; i < module->segment_count; i++) {
        const struct module_segment *segment = &module->segments[i];
        /* Behind its last byte the page goes on. */
        uint64_t room = segment->bytes + (4096 - segment->bytes % 4096) % 4096;
        if (offset < segment->offset || offset - segment->offset >= room)
            continue;
        *address = segment->address + (offset - segment->offset);
        return true;
    }
    return false;
}

void symbol_module_put(struct symbol_module *module, uint64_t offset, struct buf *out)
{
    uint64_t address;
    if (!symbol_module_address(module, offset, &address)) {
        buf_put_uleb(out, 0);
        return;
    }
    const struct module_symbol *symbol = module_symbol_at(module, address);
    if (module_lines_put(module, address, symbol != NULL ? symbol->name : NULL, out))
        return;
    buf_put_uleb(out, symbol != NULL);
    if (symbol == NULL)
        return;
    symbol_demangle_put(out, symbol->name);
    symbol_text_put(out, NULL);
    buf_put_uleb(out, 0);
}
