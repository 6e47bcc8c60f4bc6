/* SPDX-License-Identifier: Apache-2.0
 *
 * A service to be killed: ring_subject SOCKET PROGRESS. Two threads trace until the end; the number
 * of the last "step" whose record is committed stands in the file PROGRESS, which the test maps
 * too. The threads keep within LEAD of each other: one that is not scheduled may otherwise lose
 * even its newest full chunk to the other's laps of the ring, which is what circular means.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "skein/skein.h"

#define LEAD 1000

static uint64_t noise;

static void wait_for(const uint64_t *other, uint64_t i)
{
    while (i > __atomic_load_n(other, __ATOMIC_RELAXED) + LEAD)
        sched_yield();
}

static void *make_noise(void *context)
{
    for (uint64_t i = 0;; i++) {
        wait_for(context, i);
        __atomic_store_n(&noise, i, __ATOMIC_RELAXED);
        SKEIN_REGION("noise", (u64, "i", i), (str, "text", "some bytes of text"));
        SKEIN_COUNTER("depth", (int64_t)i);
    }
    return context;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int fd = open(argv[2], O_RDWR | O_CLOEXEC);
    uint64_t *progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || progress == MAP_FAILED)
        return 3;
    const struct skein_options options = {
        .size = sizeof(options), .service = "subject", .agent_socket = argv[1]};
    pthread_t thread;
    if (skein_start(&options) != SKEIN_OK || skein_wait_attached(60000) != SKEIN_OK ||
        pthread_create(&thread, NULL, make_noise, progress) != 0)
        return 4;
    for (uint64_t i = 1;; i++) {
        wait_for(&noise, i);
        SKEIN_INSTANT("step", (u64, "n", i));
        __atomic_store_n(progress, i, __ATOMIC_RELEASE);
    }
}
