/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of an ELF file's symbol tables (.symtab, .dynsym, .gnu_debugdata, also of its debug
 * file), sorted once: libdwfl looks through all of them for each address.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "symbol_dw_int.h"

#define SYMBOL_BACK 16 /* symbols in front that are looked at: small ones may lie in large ones */

/* Exported names before weak and local ones, plain ones before those with underscores. */
static uint32_t symbol_rank(const GElf_Sym *symbol, const char *name)
{
    uint32_t bind = GELF_ST_BIND(symbol->st_info) == STB_GLOBAL ? 0
                    : GELF_ST_BIND(symbol->st_info) == STB_WEAK ? 1
                                                                : 2;
    size_t marks = strspn(name, "_"), n = strnlen(name, 1u << 16);
    return bind << 24 | (uint32_t)(marks < 63 ? marks : 63) << 17 | (uint32_t)n;
}

static bool is_function(const GElf_Sym *symbol, const char *name, GElf_Word section)
{
    int type = GELF_ST_TYPE(symbol->st_info);
    return name != NULL && name[0] != '\0' && section != SHN_UNDEF && section != SHN_ABS &&
           (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

static int symbols_compare(const void *a, const void *b)
{
    const struct module_symbol *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* One symbol for each start: the best, with the greatest end. One without a size goes on to the
 * next. */
static void symbols_settle(struct symbol_module *module)
{
    size_t kept = 0;
    for (size_t i = 0; i < module->symbol_count; i++) {
        struct module_symbol *symbol = &module->symbols[i];
        if (kept > 0 && module->symbols[kept - 1].start == symbol->start) {
            if (symbol->end > module->symbols[kept - 1].end)
                module->symbols[kept - 1].end = symbol->end;
            continue;
        }
        module->symbols[kept++] = *symbol;
    }
    module->symbol_count = kept;
    for (size_t i = 0; i + 1 < kept; i++)
        if (module->symbols[i].end == module->symbols[i].start)
            module->symbols[i].end = module->symbols[i + 1].start;
}

static void symbols_list(struct symbol_module *module)
{
    module->symbols_listed = true;
    int count = dwfl_module_getsymtab(module->mod);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        GElf_Word section;
        const char *name =
            dwfl_module_getsym_info(module->mod, i, &symbol, &address, &section, NULL, NULL);
        if (name == NULL || !is_function(&symbol, name, section))
            continue;
        if (!array_grow(module->symbols, module->symbol_count + 1, &module->symbol_cap))
            break;
        uint64_t end = symbol.st_size <= UINT64_MAX - address ? address + symbol.st_size : address;
        module->symbols[module->symbol_count++] =
            (struct module_symbol){address, end, name, symbol_rank(&symbol, name)};
    }
    if (module->symbol_count > 0)
        qsort(module->symbols, module->symbol_count, sizeof *module->symbols, symbols_compare);
    symbols_settle(module);
}

const struct module_symbol *module_symbol_at(struct symbol_module *module, uint64_t address)
{
    if (!module->symbols_listed)
        symbols_list(module);
    size_t i = 0;
    array_find(i, 0, module->symbol_count, module->symbols[i].start <= address);
    for (size_t back = 0; back < SYMBOL_BACK && i > 0; back++) {
        const struct module_symbol *symbol = &module->symbols[--i];
        if (address < symbol->end)
            return symbol;
    }
    return NULL;
}
