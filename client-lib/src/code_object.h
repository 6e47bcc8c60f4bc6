/* SPDX-License-Identifier: Apache-2.0
 *
 * Which file of code an address of this process belongs to. Lock-free and signal-safe: no lock, no
 * allocation, no system call. What is asked for must be loaded, and stay so until the answer has
 * been used: addresses that the calling thread's own stack returns to are. Included by
 * client-lib's files only.
 */
#ifndef CODE_OBJECT_H
#define CODE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_BUILD_ID_MAX 32

struct code_object {
    uint64_t start, end; /* all of it, or one segment, if there are gaps */
    uint64_t bias;       /* what its own addresses begin at */
    const void *headers; /* of its segments */
    size_t header_count;
    uint64_t readable_from, readable_to; /* the segment that holds `index` */
    const uint8_t *index;                /* .eh_frame_hdr; NULL: none, or not readable */
    uint64_t stamp;                      /* of its build id and place; 0: it has no build id */
    const uint8_t *build_id;             /* in the object */
    uint8_t build_id_bytes;
    const char *path; /* as the dynamic linker has it; "": the program itself */
};

/* A piece of the object as /proc/PID/maps has it. */
struct code_mapping {
    uint64_t start, end, offset;
};

/* _dl_find_object (glibc 2.35), or NULL: then no object is found. Once, before the first question;
 * who asks earlier is told of none. */
struct dl_find_object;
typedef int code_object_finder(void *address, struct dl_find_object *out);
void code_object_prepare(code_object_finder *finder);

/* Whether the address lies in what is loaded as long as the process lives: the program, or the C
 * library. Of no other may be asked for an address that is a guess: its object may be just going. */
bool code_object_stays(uint64_t address);

/* False: the address is in no object, or in one that is not understood. */
bool code_object_find(uint64_t address, struct code_object *out);

/* The segment of the object that the address lies in. False: in none. */
bool code_object_mapping(const struct code_object *object, uint64_t address,
                         struct code_mapping *out);

#endif
