/* SPDX-License-Identifier: Apache-2.0
 * Who was attached to the run before, as an agent finds it after a crash or a bad disk. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "roster_file.h"

static const char *const boot = "2f6c1d5e-9b0a-4a57-8d5d-0c3f1e7a9b42";

static bool clean(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

static void entry_check(const struct roster_entry *e)
{
    if (e->start_ns == 0 || e->recorded_ns == 0 || e->reason != LOSS_RELEASED ||
        e->expected != (e->ended_ns == 0) || e->process != NULL || !clean(e->service) ||
        !clean(e->labels) || !clean(e->exe))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct loop *loop;
    struct roster *roster;
    uint64_t linger_ms = 0;
    if (loop_new(&loop) != SKEIN_OK)
        return 0;
    if (roster_new(loop, &linger_ms, 1000, &roster) == SKEIN_OK) {
        size_t running = roster_file_read(bytes, n, 7, boot, roster), expected = 0, all = 0;
        struct roster_entry *e;
        TAILQ_FOREACH(e, roster_entries(roster), link) {
            entry_check(e);
            expected += e->expected;
            all++;
        }
        if (expected > running || all > n / (4 + 8)) /* a pid and a start each */
            abort();
        roster_free(&roster);
    }
    loop_free(&loop);
    return 0;
}
