/* SPDX-License-Identifier: Apache-2.0
 *
 * Function calls for uftrace, which bench_read has recorded and reported: so many requests of four calls
 * each, as deep as those of the bench's own trace. Built with -pg. One thread.
 */
#include <stdint.h>
#include <stdlib.h>

static volatile uint64_t sum;

#define CALL __attribute__((noinline))
uint64_t state_set(uint64_t id);
uint64_t bytes_read(uint64_t fd);
uint64_t path_find(uint64_t number);
uint64_t request_take(uint64_t number);

CALL uint64_t state_set(uint64_t id)
{
    return id * UINT64_C(0x9e3779b97f4a7c15);
}

CALL uint64_t bytes_read(uint64_t fd)
{
    return state_set(fd) >> 7;
}

CALL uint64_t path_find(uint64_t number)
{
    return number % 500;
}

CALL uint64_t request_take(uint64_t number)
{
    return path_find(number) + bytes_read(number);
}

int main(int argc, char **argv)
{
    uint64_t requests = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    for (uint64_t i = 0; i < requests; i++)
        sum += request_take(i);
    return 0;
}
