/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_rules_print FILE: loads a library, and for each of its own addresses on standard input
 * (hexadecimal) prints the rule that is followed there. For stack_rules.py.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>

#include "stack_rules.h"

int main(int count, char **arguments)
{
    void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    struct link_map *map;
    if (library == NULL || dlinfo(library, RTLD_DI_LINKMAP, &map)) {
        fprintf(stderr, "stack_rules_print: %s\n", dlerror());
        return 1;
    }
    code_object_prepare(_dl_find_object);
    struct code_object object = {0};
    uint64_t address;
    /* NOLINTNEXTLINE(cert-err34-c): what stack_rules.py writes */
    while (scanf("%" SCNx64, &address) == 1) {
        struct stack_rule rule = {0};
        if (code_object_find(map->l_addr + address, &object))
            rule = stack_rule_read(&object, map->l_addr + address);
        printf("%" PRIx64 " %u %d %u %d\n", address, rule.cfa, rule.cfa_offset, rule.rbp,
               rule.rbp_offset);
    }
    return 0;
}
