/* SPDX-License-Identifier: Apache-2.0
 * A symbolizer for tests, and the names it gives as text. */
#ifndef SYMBOL_FIXTURE_H
#define SYMBOL_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "support.h"
#include "symbolizer.h"

static inline uint64_t deadline_in_ms(uint64_t ms)
{
    return clock_monotonic_ns() + ms * 1000000u;
}

static inline uint64_t deadline_far(void)
{
    return deadline_in_ms(support_deadline_ms());
}

static inline struct symbolizer *symbolizer_make(struct symbolizer_settings settings)
{
    struct symbolizer *s;
    if (settings.program == NULL)
        settings.program = SKEIN_SYMBOLIZER;
    if (settings.hang_ms == 0)
        settings.hang_ms = support_deadline_ms();
    ck_assert_int_eq(symbolizer_new(&settings, &s), SKEIN_OK);
    return s;
}

/* This process, as the symbolizer is asked of it. */
struct self {
    struct process_maps maps;
    struct partition_mapping *mappings;
    struct symbolizer_process process;
};

static inline void process_read(struct symbolizer *s, pid_t pid, struct self *self)
{
    ck_assert_int_eq(symbolizer_maps(s, pid, deadline_far(), &self->maps), SKEIN_OK);
    self->mappings = calloc(self->maps.count, sizeof *self->mappings);
    for (size_t i = 0; i < self->maps.count; i++)
        self->mappings[i] = self->maps.items[i].mapping;
    self->process = (struct symbolizer_process){
        .pid = pid, .mappings = self->mappings, .mapping_count = self->maps.count};
}

static inline void self_read(struct symbolizer *s, struct self *self)
{
    process_read(s, getpid(), self);
}

static inline void self_free(struct self *self)
{
    free(self->mappings);
    process_maps_free(&self->maps);
}

/* "address function file:line; function file:line\n" of each, files without folders. */
static inline void names_print(void *context, const struct partition_symbol *symbol)
{
    struct buf *text = context;
    buf_printf(text, "%lx", (unsigned long)symbol->address);
    for (uint32_t i = 0; i < symbol->line_count; i++) {
        const char *slash = strrchr(symbol->lines[i].file, '/');
        buf_printf(text, "%s %s %s:%u", i > 0 ? ";" : "", symbol->lines[i].function,
                   slash != NULL ? slash + 1 : symbol->lines[i].file, symbol->lines[i].line);
    }
    buf_printf(text, "\n");
}

/* The text, to be freed; "" where there are no names. */
static inline char *names_of(struct symbolizer *s, const struct symbolizer_process *process,
                             const uint64_t *addresses, size_t count, int expect)
{
    struct buf text = {0};
    int status = symbolizer_names(s, process, addresses, count, deadline_far(), names_print, &text);
    ck_assert_msg(status == expect, "%s", skein_status_text(status));
    buf_put_u8(&text, 0);
    return (char *)text.data;
}

#endif
