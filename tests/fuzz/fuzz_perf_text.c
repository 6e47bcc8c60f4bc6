/* SPDX-License-Identifier: Apache-2.0
 * Texts of /proc and /sys that samples are read by: every parser sees every text. */
#include <stdlib.h>
#include <string.h>

#include "cpu_list.h"
#include "fuzz_target.h"
#include "kernel_names.h"
#include "thread_cpu.h"

static void kernel_text_feed(const char *text, size_t n)
{
    const uint64_t asked[] = {0x10, 0xffffffff81000100, UINT64_MAX};
    struct kernel_table table = {.count = 0};
    kernel_table_feed(&table, text, n / 2);
    kernel_table_feed(&table, text + n / 2, n - n / 2);
    (void)kernel_table_end(&table);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        bool sure;
        const struct kernel_function *function = kernel_table_find(&table, asked[i], true, &sure);
        if (function == NULL && sure)
            abort();
        if (function == NULL)
            continue;
        if (function->start > asked[i] || asked[i] - function->start >= KERNEL_REACH_MAX ||
            function->text >= table.texts.len || function->owner >= table.texts.len ||
            memchr(table.texts.data + function->text, '\0', table.texts.len - function->text) ==
                NULL)
            abort();
    }
    kernel_table_fini(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1);
    struct cpu_list list;
    struct thread_cpu cpu;
    if (text == NULL)
        return 0;
    if (n > 0)
        memcpy(text, bytes, n);
    text[n] = '\0';
    if (cpu_list_parse(text, &list) == SKEIN_OK) {
        unsigned count = 0;
        for (unsigned i = 0; i < CPU_LIST_MAX; i++)
            count += cpu_list_has(&list, i);
        if (count != list.count)
            abort();
    }
    (void)thread_cpu_parse(text, "1 2 3", 100, &cpu);
    (void)thread_cpu_parse("1 (a) S 1 1 1 1 1 1 1 1 1 1 5 6", text, 100, &cpu);
    kernel_text_feed(text, n);
    free(text);
    return 0;
}
