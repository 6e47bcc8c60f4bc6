/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds when a ring's last record was, or its last loss. It looks as rules do (`look` in cutter.h),
 * so it changes and keeps nothing. It begins with the last moments, where most rings end.
 */
#include "cutter.h"
#include "ring_loss.h"

#define FIRST_NS   UINT64_C(20000000)
#define WIDER      50   /* each look reaches so much further back: 20 ms, 1 s, 50 s, ... */
#define CLOCKS_NS  1000 /* two cuts may place one tick so far apart */
#define LOOK_BYTES (UINT64_C(16) << 20)

static void later(uint64_t *last_ns, uint64_t ns)
{
    *last_ns = ns > *last_ns ? ns : *last_ns;
}

static void loss_note(void *context, const struct process_loss_run *run)
{
    later(context, run->to_ns);
}

/* Looks at what lies behind from_ns. Records that were overwritten, or that the look could not
 * take, are not later than the end of their gap. */
static int cut_look(struct host_page_owner *host, struct process *p, uint64_t from_ns,
                    uint64_t *last_ns)
{
    const struct cut_request request = {.process = p,
                                        .from_ns = from_ns,
                                        .to_ns = UINT64_MAX / 2,
                                        .max_bytes = LOOK_BYTES,
                                        .look = true};
    struct cut_result cut;
    uint64_t until = 0;
    int status = partition_cut(host, &request, &cut);
    if (status == SKEIN_OK && cut.events > 0)
        later(last_ns, cut.to_ns);
    for (size_t i = 0; i < cut.gap_count; i++)
        later(last_ns, cut.gaps[i].to_ns);
    cut_result_fini(&cut);
    if (status != SKEIN_OK && status != SKEIN_NOT_FOUND)
        return status;
    return process_losses_take(p, host, from_ns, UINT64_MAX / 2, true, &until, loss_note, last_ns);
}

int cut_last(struct host_page_owner *host, struct process *p, uint64_t end_ns, uint64_t *last_ns)
{
    uint64_t found_ns = 0, from_ns;
    int status = SKEIN_OK;
    for (uint64_t back_ns = FIRST_NS; status == SKEIN_OK && found_ns == 0; back_ns *= WIDER) {
        from_ns = end_ns > p->start_ns + back_ns ? end_ns - back_ns : p->start_ns;
        status = cut_look(host, p, from_ns, &found_ns);
        if (from_ns == p->start_ns)
            break;
    }
    if (status == SKEIN_OK && found_ns == 0)
        return SKEIN_NOT_FOUND;
    *last_ns = found_ns + CLOCKS_NS;
    return status;
}
