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
    struct kernel_name names[3] = {
        {.address = 0x10}, {.address = 0xffffffff81000100}, {.address = UINT64_MAX}};
    struct kernel_reading reading;
    kernel_names_begin(&reading, names, 3);
    kernel_names_feed(&reading, text, n / 2);
    kernel_names_feed(&reading, text + n / 2, n - n / 2);
    (void)kernel_names_end(&reading);
    for (size_t i = 0; i < 3; i++) {
        if (names[i].start > names[i].address ||
            names[i].address - names[i].start >= KERNEL_REACH_MAX) {
            if (names[i].start != 0)
                abort();
        }
        if (memchr(names[i].text, '\0', sizeof names[i].text) == NULL)
            abort();
    }
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
