/* SPDX-License-Identifier: Apache-2.0
 *
 * Stored partitions in the order of a trace; see stored_walk.h. No state of its own; any thread.
 */
#include "stored_walk.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "partition_reader.h"
#include "trace_file.h"

/* ---- which ---- */

int stored_list_add(struct stored_list *list, const struct partition_row *row)
{
    if (!array_grow(list->pieces, list->count + 1, &list->cap))
        return SKEIN_NO_MEMORY;
    list->pieces[list->count++] = (struct stored_piece){.key = row->record.key,
                                                        .place = row->place,
                                                        .from_ns = row->from_ns,
                                                        .to_ns = row->to_ns,
                                                        .spans_from_ns = row->spans_from_ns,
                                                        .spans_to_ns = row->spans_to_ns,
                                                        .events = row->events,
                                                        .lost = row->lost,
                                                        .clock_offset_ns = row->clock_offset_ns};
    return SKEIN_OK;
}

static int row_take(void *context, const struct partition_row *row)
{
    struct stored_list *list = context;
    const struct stored_process process = {row->pid, row->host, row->service, row->exe};
    if (list->most != 0 && list->count == list->most) {
        list->more = true;
        return 1;
    }
    list->status = stored_list_add(list, row);
    if (list->status == SKEIN_OK && list->processes != NULL)
        list->status = stored_process_note(list->processes, &row->record.key.process, &process);
    return list->status != SKEIN_OK;
}

static int piece_order(const void *left, const void *right)
{
    const struct stored_piece *a = left, *b = right;
    return partition_trace_order(&a->key, a->from_ns, &b->key, b->from_ns);
}

int stored_list_query(struct stored_list *list, struct index *index,
                      const struct partition_query *query)
{
    int64_t rows = index_query(index, query, row_take, list);
    if (rows < 0)
        return (int)rows;
    if (list->count > 0) /* else the list is NULL, which qsort does not take */
        qsort(list->pieces, list->count, sizeof *list->pieces, piece_order);
    return list->status;
}

void stored_list_fini(struct stored_list *list)
{
    free(list->pieces);
    *list = (struct stored_list){0};
}

int stored_process_note(struct idmap *processes, const struct process_uid *uid,
                        const struct stored_process *process)
{
    if (idmap_get(processes, uid->bytes) != NULL)
        return SKEIN_OK;
    size_t host = strlen(process->host) + 1, service = strlen(process->service) + 1;
    size_t exe = strlen(process->exe) + 1;
    struct stored_process *copy = malloc(sizeof *copy + host + service + exe);
    if (copy == NULL || idmap_put(processes, uid->bytes, copy) != SKEIN_OK) {
        free(copy);
        return SKEIN_NO_MEMORY;
    }
    char *texts = (char *)(copy + 1);
    *copy = (struct stored_process){process->pid, memcpy(texts, process->host, host),
                                    memcpy(texts + host, process->service, service),
                                    memcpy(texts + host + service, process->exe, exe)};
    return SKEIN_OK;
}

void stored_processes_fini(struct idmap *processes)
{
    size_t at = 0;
    for (void *process; (process = idmap_next(processes, &at)) != NULL;)
        free(process);
    idmap_fini(processes);
}

/* ---- in memory ---- */

/* All that F-4 lets be packed, and half as much again for lists of it. A partition of few bytes can
 * ask for a GiB of those. */
#define STORED_READER_BYTES (UINT64_C(384) << 20)

static void before_free(struct stored_pair *pair)
{
    partition_reader_free(&pair->before);
    free(pair->before_bytes);
    pair->before_bytes = NULL;
}

int stored_pair_room(struct stored_pair *pair, uint64_t bytes, uint8_t **room)
{
    if (pair->reader != NULL && partition_reader_info(pair->reader)->evidence) {
        partition_reader_free(&pair->reader); /* F-50: the cut before it stays the one before */
        free(pair->bytes);
    } else {
        before_free(pair);
        pair->before = pair->reader;
        pair->before_bytes = pair->bytes;
    }
    pair->reader = NULL;
    pair->bytes = NULL;
    if (bytes > PARTITION_BYTES_MAX)
        return SKEIN_CORRUPT;
    *room = pair->bytes = malloc((size_t)bytes);
    return *room != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

int stored_pair_open(struct stored_pair *pair, const struct partition_key *key, uint64_t bytes)
{
    struct partition_fault fault;
    const struct partition_info *before =
        pair->before != NULL ? partition_reader_info(pair->before) : NULL;
    bool same = before != NULL && process_uid_equal(&before->key.process, &key->process);
    int status = partition_reader_make_within(pair->bytes, (size_t)bytes, STORED_READER_BYTES,
                                              &pair->reader, &fault);
    if (status == SKEIN_OK && same)
        partition_reader_continue(pair->reader, pair->before);
    return status;
}

void stored_pair_fini(struct stored_pair *pair)
{
    before_free(pair);
    partition_reader_free(&pair->reader);
    free(pair->bytes);
    *pair = (struct stored_pair){0};
}
