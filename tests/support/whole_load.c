/* SPDX-License-Identifier: Apache-2.0
 *
 * A traced program that can be checked afterwards: every thread emits the events 0, 1, 2 … with its
 * own number in them, and says after each in a file that the test maps too how many are committed.
 *
 *   whole_load PAGE_FILE SERVICE THREADS BURST PAUSE_US SNAPSHOT_MS
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "skein/skein.h"

enum { THREADS_MAX = 8 };

/* As struct load_page of whole.h, which is the test's. */
struct page {
    _Atomic uint32_t attached, stop;
    _Atomic uint64_t committed[THREADS_MAX];
};

static struct page *page;
static unsigned burst, pause_us;

static void *write_events(void *context)
{
    unsigned thread = (unsigned)(uintptr_t)context;
    for (uint64_t n = 0; !page->stop; n++) {
        SKEIN_INSTANT("tick", (u64, "thread", thread), (u64, "n", n));
        page->committed[thread] = n + 1;
        if (pause_us > 0 && n % burst == burst - 1) {
            struct timespec t = {0, (long)pause_us * 1000};
            nanosleep(&t, NULL);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX];
    if (argc != 7)
        return 2;
    int fd = open(argv[1], O_RDWR | O_CLOEXEC);
    unsigned count = (unsigned)strtoul(argv[3], NULL, 10),
             snapshot_ms = (unsigned)strtoul(argv[6], NULL, 10);
    burst = (unsigned)strtoul(argv[4], NULL, 10);
    pause_us = (unsigned)strtoul(argv[5], NULL, 10);
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED || count == 0 || count > THREADS_MAX || burst == 0)
        return 1;
    struct skein_options options = {.size = sizeof options, .service = argv[2]};
    if (skein_start(&options) != SKEIN_OK || skein_wait_attached(60000) != SKEIN_OK)
        return 1;
    page->attached = 1;
    for (unsigned i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, write_events, (void *)(uintptr_t)i) != 0)
            return 1;
    }
    while (!page->stop) {
        poll(NULL, 0, snapshot_ms > 0 ? (int)snapshot_ms : 50);
        if (snapshot_ms > 0)
            (void)skein_snapshot("the load asks");
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
