/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of CPUs; see cpu_list.h. Bounded by the text's end.
 */
#include "cpu_list.h"

#include "proc_text.h"

static bool cpu_number_get(const char **at, unsigned *cpu)
{
    uint64_t value;
    if (!text_number(at, &value) || value >= CPU_LIST_MAX)
        return false;
    *cpu = (unsigned)value;
    return true;
}

static void cpu_add(struct cpu_list *list, unsigned cpu)
{
    if (!cpu_list_has(list, cpu))
        list->count++;
    list->bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

int cpu_list_parse(const char *text, struct cpu_list *out)
{
    struct cpu_list list = {.count = 0};
    const char *at = text;
    while (*at != '\0' && *at != '\n') {
        unsigned first, last;
        if (!cpu_number_get(&at, &first))
            return SKEIN_CORRUPT;
        last = first;
        if (*at == '-') {
            at++;
            if (!cpu_number_get(&at, &last) || last < first)
                return SKEIN_CORRUPT;
        }
        for (unsigned cpu = first; cpu <= last; cpu++)
            cpu_add(&list, cpu);
        if (*at == ',' && at[1] != '\0' && at[1] != '\n')
            at++;
        else if (*at != '\0' && *at != '\n')
            return SKEIN_CORRUPT;
    }
    *out = list;
    return SKEIN_OK;
}
