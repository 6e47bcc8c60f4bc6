/* SPDX-License-Identifier: Apache-2.0
 *
 * What a child process of bench_read takes. Included by read.c and read_child.c.
 */
#ifndef READ_CHILD_H
#define READ_CHILD_H

struct figure {
    double seconds; /* on the processor; 0: it could not be measured */
    double mib;     /* at most, of memory */
};

/* Runs `read` in a child, which has its memory for itself; with rounds, the quickest of them. */
struct figure read_child(void (*read)(const void *), const void *context);
struct figure read_child_best(void (*read)(const void *), const void *context, unsigned rounds);

/* For these: the program whose argv the context is; what it says is thrown away. */
void read_program(const void *argv);

#endif
