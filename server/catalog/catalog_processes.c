/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalog's table of processes. Any thread, see catalog.h.
 */
#include "catalog_processes.h"

#include "catalog_int.h"

void catalog_put_process(struct catalog *c, const struct catalog_process *p)
{
    catalog_write(c,
                  "INSERT OR REPLACE INTO processes(process, agent, pid, start_ns,"
                  " attached_ns, ended_ns, host, service, labels, exe)"
                  " VALUES(?,?,?,?,?,?,?,?,?,?)",
                  DB(DB_ID(p->process.bytes), DB_I64(I(p->agent)), DB_I64(I(p->pid)),
                     DB_I64(I(p->start_ns)), DB_I64(I(p->attached_ns)), DB_I64(I(p->ended_ns)),
                     DB_TEXT(p->host), DB_TEXT(p->service), DB_TEXT(p->labels), DB_TEXT(p->exe)));
}

void catalog_delete_process(struct catalog *c, const struct process_uid *process)
{
    catalog_write(c, "DELETE FROM processes WHERE process=?", DB(DB_ID(process->bytes)));
}

void catalog_delete_processes_of(struct catalog *c, uint64_t agent)
{
    catalog_write(c, "DELETE FROM processes WHERE agent=?", DB(DB_I64(I(agent))));
}

struct process_walk {
    catalog_process_fn *fn;
    void *context;
};

static int process_take(void *context, struct db_row *row)
{
    struct process_walk *walk = context;
    struct catalog_process p = {.agent = (uint64_t)db_i64(row, 1),
                                .pid = (uint32_t)db_i64(row, 2),
                                .start_ns = (uint64_t)db_i64(row, 3),
                                .attached_ns = (uint64_t)db_i64(row, 4),
                                .ended_ns = (uint64_t)db_i64(row, 5),
                                .host = db_text(row, 6),
                                .service = db_text(row, 7),
                                .labels = db_text(row, 8),
                                .exe = db_text(row, 9)};
    return id_parse(db_text(row, 0), p.process.bytes) == SKEIN_OK ? walk->fn(walk->context, &p) : 0;
}

int64_t catalog_processes(struct catalog *c, catalog_process_fn *fn, void *context)
{
    struct process_walk walk = {fn, context};
    return db_run(c->read,
                  "SELECT process, agent, pid, start_ns, attached_ns, ended_ns, host, service,"
                  " labels, exe FROM processes",
                  process_take, &walk, NULL);
}
