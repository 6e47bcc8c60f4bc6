/* SPDX-License-Identifier: Apache-2.0
 *
 * See expected.h. A process has few captures at a time, hence a chain for each.
 */
#include "expected.h"

#include <stdlib.h>
#include <string.h>

#include "skein/status.h"

struct expectation {
    struct expectation *next;
    struct capture_id capture;
};

void expected_init(struct expected *e)
{
    memset(e, 0, sizeof *e);
    pthread_mutex_init(&e->mutex, NULL);
}

void expected_fini(struct expected *e)
{
    size_t at = 0;
    for (struct expectation *x; (x = idmap_next(&e->by_process, &at)) != NULL;)
        for (struct expectation *next; x != NULL; x = next) {
            next = x->next;
            free(x);
        }
    idmap_fini(&e->by_process);
    pthread_mutex_destroy(&e->mutex);
}

int expected_add(struct expected *e, const struct process_uid *process,
                 const struct capture_id *capture)
{
    struct expectation *x = malloc(sizeof *x);
    if (x == NULL)
        return SKEIN_NO_MEMORY;
    pthread_mutex_lock(&e->mutex);
    *x = (struct expectation){idmap_get(&e->by_process, process->bytes), *capture};
    int status = idmap_put(&e->by_process, process->bytes, x);
    pthread_mutex_unlock(&e->mutex);
    if (status != SKEIN_OK)
        free(x);
    return status;
}

void expected_remove(struct expected *e, const struct process_uid *process,
                     const struct capture_id *capture)
{
    pthread_mutex_lock(&e->mutex);
    struct expectation *x = idmap_get(&e->by_process, process->bytes), *gone = NULL;
    if (x != NULL && x->next == NULL && capture_id_equal(&x->capture, capture))
        gone = idmap_remove(&e->by_process, process->bytes);
    for (; gone == NULL && x != NULL && x->next != NULL; x = x->next) {
        gone = x->next;
        if (capture_id_equal(&x->capture, capture))
            *x = *gone; /* the head stays in the map: putting another one may need memory */
        else if (capture_id_equal(&gone->capture, capture))
            x->next = gone->next;
        else
            gone = NULL;
    }
    pthread_mutex_unlock(&e->mutex);
    free(gone);
}

bool expected_has(struct expected *e, const struct process_uid *process,
                  const struct capture_id *capture)
{
    pthread_mutex_lock(&e->mutex);
    const struct expectation *x = idmap_get(&e->by_process, process->bytes);
    while (x != NULL && !capture_id_equal(&x->capture, capture))
        x = x->next;
    pthread_mutex_unlock(&e->mutex);
    return x != NULL;
}
