/* SPDX-License-Identifier: Apache-2.0
 *
 * Trace files: partitions in a row, optionally closed by a table of their offsets. `cat a b` is a
 * trace file too. Reads any seekable file or memory in the memory of one partition.
 */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include "buf.h"
#include "partition.h"
#include "partition_fault.h"
#include "skein/trace.h"

/* The order of partitions in a trace: by process, when they begin, epoch and sequence. Sequences
 * alone are not in time's order where a later capture was cut from an earlier stretch. */
int partition_trace_order(const struct partition_key *a, uint64_t a_from_ns,
                          const struct partition_key *b, uint64_t b_from_ns);

/* One partition's place. */
struct trace_entry {
    uint64_t offset, bytes;
    /* first and last record by the collector's clock; by the host's, as in the footer, if its
     * offset cannot be read; the window's bounds if it has no record */
    uint64_t from_ns, to_ns;
    /* all that its records and losses tell of lies in between, but for what was carried into it and
     * what was in progress at its end; 0 and UINT64_MAX: unknown */
    uint64_t told_from_ns, told_to_ns;
    struct partition_footer footer;
};

struct trace_file;

/* Opens a file and lists its partitions, through the closing table where it has one and by walking
 * lengths where not. A torn tail is no failure: see trace_file_torn. SKEIN_OK; SKEIN_IO;
 * SKEIN_CORRUPT / SKEIN_VERSION with a sentence in error where not even one partition can be read;
 * SKEIN_NO_MEMORY. */
int trace_file_open(const char *path, struct trace_file **out, char *error, size_t error_bytes);
/* The same of what a source gives. The name is copied; the context must outlive the file. */
int trace_file_open_source(const struct skein_trace_source *source, struct trace_file **out,
                           char *error, size_t error_bytes);
/* The same; but a file opens too in which there is no whole partition, for trace_file_fault. */
int trace_file_inspect(const char *path, struct trace_file **out, char *error, size_t error_bytes);
void trace_file_free(struct trace_file **file);
size_t trace_file_count(const struct trace_file *file);
const struct trace_entry *trace_file_entry(const struct trace_file *file, size_t i);

/* Its times become later by so much. */
void trace_file_entry_move(struct trace_file *file, size_t i, int64_t ns);

/* Bytes at the end, or in the middle, that belong to no whole partition; 0 in a sound file. */
uint64_t trace_file_torn(const struct trace_file *file);
const char *trace_file_name(const struct trace_file *file);

/* What is wrong with the file, but for what lies inside its whole partitions (partition_fault_find):
 * a stretch that belongs to none of them, or a table that tells of others than there are. 0 in a
 * sound file. */
struct trace_fault {
    uint64_t offset, bytes;     /* of the stretch; of a table 0 bytes */
    struct partition_fault why; /* its byte is of the file */
};
size_t trace_file_faults(const struct trace_file *file);
/* The status of it, below 0, also for SKEIN_IO and SKEIN_NO_MEMORY: then why.text may be empty. */
int trace_file_fault(struct trace_file *file, size_t i, struct trace_fault *fault);

/* Whether it ends in the table of all its partitions: so does a whole download. */
bool trace_file_closed(const struct trace_file *file);

/* Reads partition i into *bytes (cleared first). SKEIN_OK, SKEIN_IO, SKEIN_CORRUPT,
 * SKEIN_NO_MEMORY. */
int trace_file_read(struct trace_file *file, size_t i, struct buf *bytes);

/* The closing table for partitions of these lengths, in file order, appended to out. */
int trace_table_put(const uint64_t *lengths, size_t count, struct buf *out);

/* Length of the whole partition or table at the head of bytes. SKEIN_OK; SKEIN_TRUNCATED (fewer
 * than the fixed head); SKEIN_CORRUPT; SKEIN_VERSION. *is_table tells which. */
#define TRACE_HEAD_BYTES 32
int trace_head_get(const uint8_t *bytes, size_t n, uint64_t *length, bool *is_table);

/* partition_fault_find with its sentence in error. SKEIN_OK or a status. */
int partition_check(const uint8_t *bytes, size_t n, char *error, size_t error_bytes);

#endif
