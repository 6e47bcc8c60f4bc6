/* SPDX-License-Identifier: Apache-2.0
 *
 * A service to be killed: ring_subject SOCKET PROGRESS. Two threads trace until the end; the number
 * of the last "step" whose record is committed stands in the file PROGRESS, which the test maps
 * too.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include "skein/skein.h"

static void *make_noise(void *context)
{
    for (uint64_t i = 0;; i++) {
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
        pthread_create(&thread, NULL, make_noise, NULL) != 0)
        return 4;
    for (uint64_t i = 1;; i++) {
        SKEIN_INSTANT("step", (u64, "n", i));
        __atomic_store_n(progress, i, __ATOMIC_RELEASE);
    }
}
