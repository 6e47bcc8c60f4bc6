/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens the files whose code a process runs, and proves that they are those: by build id, or by
 * device and inode. Reads of them only what build ids are in. The symbolizer's thread; a file system
 * that does not answer holds it up, and nobody else.
 */
#ifndef SYMBOL_FILE_H
#define SYMBOL_FILE_H

#include "build_id.h"
#include "process_maps.h"

/* What tells a file's bytes apart from those of any other, without reading them. A build id does
 * not: whoever writes a file writes it, too. */
struct symbol_identity {
    uint64_t device, inode, bytes, changed_ns, modified_ns;
};

struct symbol_file {
    int fd, debug_fd; /* debug_fd: -1, none */
    struct symbol_identity identity, debug;
    uint8_t build_id[BUILD_ID_MAX], build_id_bytes;
};

/* Where the files of a process are looked for. */
struct symbol_place {
    pid_t pid;     /* 0: the process is gone */
    int root;      /* its root folder, or this host's; -1: none may be looked at */
    bool has_maps; /* maps are of the process as it is now */
    struct process_maps maps;
};

/* start_clock_ticks: of the process that is meant (0: whichever has the number now). Never fails:
 * what cannot be had is not there. */
void symbol_place_open(pid_t pid, uint64_t start_clock_ticks, struct symbol_place *place);
void symbol_place_close(struct symbol_place *place);

/* SKEIN_OK; SKEIN_NOT_FOUND, SKEIN_DENIED; SKEIN_REFUSED: what is found is another file. The caller
 * closes it. */
int symbol_file_open(const struct symbol_place *place, const struct partition_mapping *mapping,
                     struct symbol_file *file);
/* The same by looks at inodes alone: what the file that stands there now is, and whether that is the
 * mapping's, if it is one of this identity and build id. False: it cannot be said without opening. */
bool symbol_file_look(const struct symbol_place *place, const struct partition_mapping *mapping,
                      struct symbol_identity *identity);
bool symbol_file_matches(const struct symbol_place *place, const struct partition_mapping *mapping,
                         const struct symbol_file *file);
/* The file that symbol_file_open would take for its debug file, if that has the build id. All 0:
 * none. */
void symbol_debug_look(const struct symbol_place *place, const uint8_t *id, uint8_t bytes,
                       struct symbol_identity *identity);
/* What JIT compilers of the process have written for perf. */
int symbol_file_open_jit(const struct symbol_place *place, struct symbol_file *file);
/* The kernel's code in each process, if the mapping is as large as ours. */
int symbol_file_open_vdso(const struct partition_mapping *mapping, struct symbol_file *file);
void symbol_file_close(struct symbol_file *file);

/* Opens a regular file without an effect on it that is none: not a device, not a pipe. root -1: this
 * process's. The descriptor; -1 with errno. */
int symbol_path_open(int root, const char *path, uint64_t resolve);
/* Fills in identity and build id of fd. SKEIN_OK, SKEIN_INVALID (no ELF file), SKEIN_IO. */
int symbol_file_know(struct symbol_file *file);
/* The debug file of a build id below root, or -1. */
int symbol_debug_open(int root, const char *folder, const uint8_t *id, uint8_t bytes,
                      struct symbol_identity *identity);

#endif
