/* SPDX-License-Identifier: Apache-2.0
 *
 * What DWARF says of an address: the function, what was inlined into it there, files and lines.
 * Units and functions are listed once, as the tables of addresses that some compilers write are
 * absent or partial in the files of others.
 *
 *   unit (by ranges) -> function (by ranges) -> inlined functions, walked down to the address
 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "symbol_demangle.h"
#include "symbol_dw_int.h"
#include "symbol_wire.h"

#define STEPS_MAX  (UINT64_C(64) << 20) /* entries looked at, of a file */
#define DEPTH_MAX  64
#define RANGE_BACK 16
#define CHAIN_MAX  (SYMBOL_LINES_MAX - 1) /* one line more says what is left out */

/* ---- units ---- */

static bool module_step(struct symbol_module *module)
{
    if (module->steps == 0)
        return false;
    module->steps--;
    return true;
}

static void unit_ranges_add(struct symbol_module *module, Dwarf_Die *die, size_t unit)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t at = 0;
    while (module_step(module) && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
        if (low >= high)
            continue;
        if (!array_grow(module->ranges, module->range_count + 1, &module->range_cap))
            return;
        module->ranges[module->range_count++] = (struct unit_range){low, high, unit};
    }
}

static int ranges_compare(const void *a, const void *b)
{
    const struct unit_range *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

static void units_list(struct symbol_module *module)
{
    module->units_listed = true;
    module->steps = STEPS_MAX;
    module->dwarf = dwfl_module_getdwarf(module->mod, &module->bias);
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;
    uint8_t type;
    while (module->dwarf != NULL && module_step(module) &&
           dwarf_get_units(module->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
        if (type != DW_UT_compile)
            continue;
        if (!array_grow(module->units, module->unit_count + 1, &module->unit_cap))
            break;
        module->units[module->unit_count] = (struct module_unit){.die = dwarf_dieoffset(&die)};
        unit_ranges_add(module, &die, module->unit_count++);
    }
    if (module->range_count > 0)
        qsort(module->ranges, module->range_count, sizeof *module->ranges, ranges_compare);
}

static struct module_unit *unit_find(struct symbol_module *module, uint64_t address)
{
    size_t i = 0;
    array_find(i, 0, module->range_count, module->ranges[i].low <= address);
    for (size_t back = 0; back < RANGE_BACK && i > 0; back++)
        if (address < module->ranges[--i].high)
            return &module->units[module->ranges[i].unit];
    return NULL;
}

/* ---- functions of a unit ---- */

static bool function_add(struct symbol_module *module, struct module_unit *unit, Dwarf_Die *die)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t at = 0;
    while (module_step(module) && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
        if (low >= high)
            continue;
        if (!array_grow(unit->functions, unit->function_count + 1, &unit->function_cap))
            return false;
        unit->functions[unit->function_count++] =
            (struct unit_function){low, high, dwarf_dieoffset(die)};
    }
    return true;
}

/* Whether functions may stand below: Rust's do in namespaces. */
static bool is_scope(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type ||
           tag == DW_TAG_class_type || tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type;
}

static void functions_list(struct symbol_module *module, struct module_unit *unit,
                           Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;
    if (depth > DEPTH_MAX || dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram && !function_add(module, unit, &die))
            return;
        /* Nested functions, as of Ada and OpenMP, stand in functions. */
        if (tag == DW_TAG_subprogram || is_scope(tag))
            functions_list(module, unit, &die, depth + 1);
    } while (module_step(module) && dwarf_siblingof(&die, &die) == 0);
}

static int functions_compare(const void *a, const void *b)
{
    const struct unit_function *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

static bool function_find(struct symbol_module *module, struct module_unit *unit, uint64_t address,
                          Dwarf_Die *die)
{
    Dwarf_Die top;
    if (!unit->listed) {
        unit->listed = true;
        if (dwarf_offdie(module->dwarf, unit->die, &top) != NULL)
            functions_list(module, unit, &top, 0);
        if (unit->function_count > 0)
            qsort(unit->functions, unit->function_count, sizeof *unit->functions,
                  functions_compare);
    }
    size_t i = 0;
    array_find(i, 0, unit->function_count, unit->functions[i].low <= address);
    for (size_t back = 0; back < RANGE_BACK && i > 0; back++)
        if (address < unit->functions[--i].high)
            return dwarf_offdie(module->dwarf, unit->functions[i].die, die) != NULL;
    return false;
}

/* ---- what is inlined at an address ---- */

struct inline_chain {
    Dwarf_Die dies[CHAIN_MAX]; /* outermost first */
    size_t count, left_out;
};

/* Walks down from the last of the chain. */
static void inline_walk(struct symbol_module *module, Dwarf_Die *parent, uint64_t address,
                        struct inline_chain *chain, unsigned depth)
{
    Dwarf_Die die;
    if (depth > 4 * DEPTH_MAX || dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block)
            continue;
        if (dwarf_haspc(&die, address) != 1)
            continue;
        if (tag == DW_TAG_inlined_subroutine) {
            if (chain->count == CHAIN_MAX) {
                /* The innermost one is worth more than the one before it. */
                chain->count--;
                chain->left_out++;
            }
            chain->dies[chain->count++] = die;
        }
        Dwarf_Die next = die;
        inline_walk(module, &next, address, chain, depth + 1);
        return;
    } while (module_step(module) && dwarf_siblingof(&die, &die) == 0);
}

/* ---- putting ---- */

static void function_name_put(Dwarf_Die *die, const char *otherwise, struct buf *out)
{
    Dwarf_Attribute attribute;
    const char *name = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) != NULL ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute) != NULL)
        name = dwarf_formstring(&attribute);
    if (name == NULL) {
        /* What cannot be called from other files has no linkage name there, but a symbol. */
        name = dwarf_diename(die);
        if (name == NULL || (otherwise != NULL && strstr(otherwise, name) != NULL))
            name = otherwise;
    }
    if (name != NULL)
        symbol_demangle_put(out, name);
    else
        symbol_text_put(out, "??");
}

static void call_place_put(Dwarf_Die *unit, Dwarf_Die *inlined, struct buf *out)
{
    Dwarf_Files *files;
    Dwarf_Attribute attribute;
    Dwarf_Word file = 0, line = 0;
    size_t count;
    const char *path = NULL;
    if (dwarf_getsrcfiles(unit, &files, &count) == 0 &&
        dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) == 0)
        path = dwarf_filesrc(files, file, NULL, NULL);
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) != 0)
        line = 0;
    symbol_text_put(out, path);
    buf_put_uleb(out, line <= UINT32_MAX ? line : 0);
}

static void line_place_put(Dwarf_Die *unit, uint64_t address, struct buf *out)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    int number = 0;
    const char *path = line != NULL ? dwarf_linesrc(line, NULL, NULL) : NULL;
    if (path == NULL || dwarf_lineno(line, &number) != 0 || number < 0)
        number = 0;
    symbol_text_put(out, path);
    buf_put_uleb(out, (uint64_t)number);
}

/* Stands for those between the innermost function and the next that is told. */
static void left_out_put(Dwarf_Die *unit, struct inline_chain *chain, struct buf *out)
{
    char text[64];
    snprintf(text, sizeof text, "(%zu inlined functions left out)", chain->left_out);
    symbol_text_put(out, text);
    call_place_put(unit, &chain->dies[chain->count - 1], out);
}

static void chain_put(Dwarf_Die *unit, struct inline_chain *chain, uint64_t address,
                      const char *otherwise, struct buf *out)
{
    buf_put_uleb(out, chain->count + (chain->left_out > 0));
    for (size_t i = chain->count; i > 0; i--) {
        Dwarf_Die *die = &chain->dies[i - 1];
        function_name_put(die, i == 1 ? otherwise : NULL, out);
        if (i < chain->count) {
            call_place_put(unit, &chain->dies[i], out);
            continue;
        }
        line_place_put(unit, address, out);
        if (chain->left_out > 0)
            left_out_put(unit, chain, out);
    }
}

bool module_lines_put(struct symbol_module *module, uint64_t address, const char *otherwise,
                      struct buf *out)
{
    if (!module->units_listed)
        units_list(module);
    module->steps = STEPS_MAX;
    uint64_t place = address - module->bias;
    struct module_unit *unit = unit_find(module, place);
    Dwarf_Die top;
    if (unit == NULL || dwarf_offdie(module->dwarf, unit->die, &top) == NULL)
        return false;
    struct inline_chain chain = {.count = 0};
    if (function_find(module, unit, place, &chain.dies[0])) {
        chain.count = 1;
        Dwarf_Die function = chain.dies[0];
        inline_walk(module, &function, place, &chain, 0);
        chain_put(&top, &chain, place, otherwise, out);
        return true;
    }
    if (otherwise == NULL)
        return false;
    buf_put_uleb(out, 1);
    symbol_demangle_put(out, otherwise);
    line_place_put(&top, place, out);
    return true;
}
