/* SPDX-License-Identifier: Apache-2.0
 *
 * Which processes there are outlives this collector: a capture that begins after a restart speaks
 * also of those whose agent has not come back, or was started anew. Rows are written with whatever
 * is saved next, within a second. Under the control lock.
 */
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "catalog_processes.h"
#include "clock.h"
#include "fleet_int.h"

void fleet_process_changed(struct fleet *f, struct fleet_process *p)
{
    control_assert_locked(f->control);
    saving_mark(&p->row_save);
    saving_mark(&f->rows_save);
}

/* Out of memory, the row stays, and is forgotten by a later run. */
void fleet_process_forgotten(struct fleet *f, const struct fleet_process *p)
{
    control_assert_locked(f->control);
    if (!array_grow(f->forgotten, f->forgotten_count + 1, &f->forgotten_cap))
        return;
    f->forgotten[f->forgotten_count++] = p->uid;
    saving_mark(&f->rows_save);
}

static void kept_save(struct fleet *f, const struct fleet_process *p)
{
    struct catalog_process row = {.process = p->uid,
                                  .agent = p->agent,
                                  .pid = p->pid,
                                  .start_ns = p->start_ns,
                                  .attached_ns = p->attached_ns,
                                  .ended_ns = p->perhaps_ns != 0 ? p->perhaps_ns : p->ended_ns,
                                  .host = p->host,
                                  .service = p->service,
                                  .labels = p->labels,
                                  .exe = p->exe};
    catalog_put_process(f->catalog, &row);
}

void fleet_save_processes(struct fleet *f)
{
    control_assert_locked(f->control);
    size_t at = 0;
    if (!saving_take(&f->rows_save))
        return;
    f->forgotten_taken = f->forgotten_count;
    for (size_t i = 0; i < f->forgotten_count; i++)
        catalog_delete_process(f->catalog, &f->forgotten[i]);
    for (struct fleet_process *p; (p = fleet_process_next(f, &at)) != NULL;)
        if (saving_take(&p->row_save))
            kept_save(f, p);
}

void fleet_saved_processes(struct fleet *f, bool ok)
{
    control_assert_locked(f->control);
    size_t at = 0;
    if (f->rows_save == SAVE_NOTHING)
        return;
    for (struct fleet_process *p; (p = fleet_process_next(f, &at)) != NULL;)
        saving_end(&p->row_save, ok);
    saving_end(&f->rows_save, ok);
    if (ok && f->forgotten_taken > 0) {
        f->forgotten_count -= f->forgotten_taken;
        memmove(f->forgotten, f->forgotten + f->forgotten_taken,
                f->forgotten_count * sizeof *f->forgotten);
    }
    f->forgotten_taken = 0;
}

static int kept_load(void *context, const struct catalog_process *row)
{
    struct fleet *f = context;
    control_assert_locked(f->control);
    struct fleet_agent *agent = fleet_agent_find(f, row->agent);
    struct fleet_process *p = agent != NULL ? fleet_process_add(f, agent, &row->process) : NULL;
    if (p == NULL)
        return 0;
    p->pid = row->pid;
    p->live = row->ended_ns == 0;
    p->start_ns = row->start_ns;
    p->attached_ns = row->attached_ns;
    p->ended_ns = row->ended_ns;
    p->gone_ns = p->live ? 0 : clock_monotonic_ns();
    p->listed_ns = clock_monotonic_ns();
    snprintf(p->host, sizeof p->host, "%s", row->host);
    snprintf(p->service, sizeof p->service, "%s", row->service);
    snprintf(p->labels, sizeof p->labels, "%s", row->labels);
    snprintf(p->exe, sizeof p->exe, "%s", row->exe);
    agent->processes_live += p->live;
    return 0;
}

int fleet_load_processes(struct fleet *f)
{
    control_assert_locked(f->control);
    int64_t rows = f->catalog != NULL ? catalog_processes(f->catalog, kept_load, f) : 0;
    return rows < 0 ? (int)rows : SKEIN_OK;
}
