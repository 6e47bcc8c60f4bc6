/* SPDX-License-Identifier: Apache-2.0
 *
 * A library whose constructor waits for a thread: the dynamic linker's lock is held meanwhile, and
 * the thread makes its first wrapped calls.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *work(void *unused)
{
    usleep(10);
    (void)!pread(-1, NULL, 0, 0);
    return unused;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) == 0)
        pthread_join(thread, NULL);
    printf("the plugin's thread has ended\n");
    fflush(stdout);
}
