/* SPDX-License-Identifier: Apache-2.0
 * Texts of tracefs and /proc: where fields lie. No record is then read beyond its end. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "sched_layout.h"
#include "sched_page.h"
#include "sched_threads.h"
#include "skein/status.h"

static void check(bool good)
{
    if (!good)
        abort();
}

/* Records of each length, in memory of just that length. */
static void records_read(const struct sched_layout *layout, enum sched_event_kind kind)
{
    struct sched_event event;
    for (size_t n = 0; n < 96; n++) {
        uint8_t *record = malloc(n + 1);
        if (record == NULL)
            return;
        memset(record, 0xff, n);
        if (n > 1) {
            record[0] = (uint8_t)layout->shapes[kind].id;
            record[1] = (uint8_t)(layout->shapes[kind].id >> 8);
        }
        uint8_t *exact = realloc(record, n == 0 ? 1 : n);
        record = exact != NULL ? exact : record;
        if (sched_layout_decode(layout, record, n, &event))
            check(event.kind == kind && memchr(event.comm, 0, sizeof event.comm) != NULL);
        free(record);
    }
}

static void texts_read(const char *text, uint64_t ahead_ns)
{
    struct sched_thread thread;
    struct sched_totals sums;
    if (sched_stat_parse(text, ahead_ns, &thread) == SKEIN_OK)
        check(memchr(thread.comm, 0, sizeof thread.comm) != NULL);
    (void)sched_totals_parse(text, text, &sums);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct sched_layout layout = {0};
    struct page_shape shape = {0};
    char *text = malloc(n + 1);
    if (text == NULL)
        return 0;
    if (n > 0)
        memcpy(text, bytes, n);
    text[n] = '\0';
    texts_read(text, n);
    if (page_shape_parse(text, n, &shape) == SKEIN_OK)
        check(shape.commit_offset + shape.commit_bytes <= shape.data_offset &&
              shape.data_offset < shape.bytes);
    if (sched_layout_add(&layout, text, n) == SKEIN_OK)
        for (unsigned kind = SCHED_EVENT_SWITCH; kind <= SCHED_EVENT_NEW; kind++)
            if (layout.shapes[kind].known)
                records_read(&layout, (enum sched_event_kind)kind);
    free(text);
    return 0;
}
