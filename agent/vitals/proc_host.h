/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of /proc about the host's devices and load: pure functions, each from a text to numbers.
 * The texts are taken to be hostile. Any thread.
 */
#ifndef PROC_HOST_H
#define PROC_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

#define PROC_DEVICE_BYTES 32

/* /proc/diskstats, a line: since the device came. A sector has 512 bytes. */
struct proc_disk {
    char name[PROC_DEVICE_BYTES];
    uint64_t reads, read_sectors, read_ms, writes, write_sectors, write_ms;
    uint64_t in_flight, busy_ms, weighted_ms;
};
/* The next from *at on, which moves behind it; false: there is none. A line that is malformed, or
 * whose name does not fit, is left out. */
bool proc_disk_next(const char **at, struct proc_disk *disk);
/* Whether `name` is a partition of the disk `of`: sda1 of sda, nvme0n1p2 of nvme0n1. */
bool proc_disk_is_part(const char *name, const char *of);

/* /proc/net/dev, a line: since the interface came. */
struct proc_interface {
    char name[PROC_DEVICE_BYTES];
    uint64_t rx_bytes, rx_packets, rx_errors, rx_drops, tx_bytes, tx_packets, tx_errors, tx_drops;
};
bool proc_interface_next(const char **at, struct proc_interface *interface);

/* /proc/loadavg: the load of the last minute. SKEIN_OK, SKEIN_CORRUPT. */
int proc_parse_load(const char *text, double *load);

/* /proc/PID/schedstat or of a thread: nanoseconds that it was ready and did not run. SKEIN_OK,
 * SKEIN_CORRUPT. */
int proc_parse_schedstat(const char *text, uint64_t *run_ns, uint64_t *delay_ns);

#endif
