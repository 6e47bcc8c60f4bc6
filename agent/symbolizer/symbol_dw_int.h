/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of an ELF file's names, shared by symbol_dw_names.c, symbol_dw_elf.c and
 * symbol_dw_lines.c alone.
 */
#ifndef SYMBOL_DW_INT_H
#define SYMBOL_DW_INT_H

#include <elfutils/libdwfl.h>

#include "symbol_dw_names.h"

struct module_segment {
    uint64_t offset, bytes, address;
};
struct module_symbol {
    uint64_t start, end;
    const char *name;
    uint32_t rank; /* of equal ones the least is taken */
};
struct unit_function {
    uint64_t low, high;
    Dwarf_Off die;
};
struct module_unit {
    Dwarf_Off die;
    struct unit_function *functions; /* by address; once asked for */
    size_t function_count, function_cap;
    bool listed;
};
struct unit_range {
    uint64_t low, high;
    size_t unit;
};

struct symbol_module {
    int fd, debug_fd; /* debug_fd: until libdwfl asks for it */
    Dwfl *dwfl;
    Dwfl_Module *mod;
    struct module_segment *segments;
    size_t segment_count, segment_cap;
    struct module_symbol *symbols;
    size_t symbol_count, symbol_cap;
    bool symbols_listed;
    Dwarf *dwarf; /* NULL: none, once units_listed */
    Dwarf_Addr bias;
    struct module_unit *units;
    size_t unit_count, unit_cap;
    struct unit_range *ranges;
    size_t range_count, range_cap;
    bool units_listed;
    uint64_t steps; /* entries of DWARF that may still be looked at: circles end */
};

/* symbol_dw_elf.c: NULL: no symbol holds the address. */
const struct module_symbol *module_symbol_at(struct symbol_module *module, uint64_t address);

/* symbol_dw_lines.c: puts the lines of an address; `otherwise` is the name where DWARF has a line but
 * no function. False: nothing is known, and nothing was put. */
bool module_lines_put(struct symbol_module *module, uint64_t address, const char *otherwise,
                      struct buf *out);

#endif
