/* SPDX-License-Identifier: Apache-2.0
 * See api_clock_errors.h. */
#include "api_clock_errors.h"

#include <stdlib.h>

#include "capture_has.h"
#include "idmap.h"
#include "json.h"

/* Notes the greatest bound of a process, of all captures that have it; 0: one of them has none. */
static int error_note(void *context, const struct process_uid *process, uint64_t error_ns)
{
    struct idmap *errors = context;
    uint64_t *known = idmap_get(errors, process->bytes);
    if (known != NULL) {
        *known = *known == 0 || error_ns == 0 ? 0 : *known > error_ns ? *known : error_ns;
        return SKEIN_OK;
    }
    known = malloc(sizeof *known);
    if (known == NULL || idmap_put(errors, process->bytes, known) != SKEIN_OK) {
        free(known);
        return SKEIN_NO_MEMORY;
    }
    *known = error_ns;
    return SKEIN_OK;
}

int api_clock_errors(struct api_services *api, const struct capture_id *captures, size_t count,
                     struct idmap *errors)
{
    return capture_clock_errors(api->captures, captures, count, error_note, errors);
}

void api_clock_errors_fini(struct idmap *errors)
{
    size_t at = 0;
    for (void *error; (error = idmap_next(errors, &at)) != NULL;)
        free(error);
    idmap_fini(errors);
}

void api_clock_error_add(cJSON *to, const struct idmap *errors, const struct process_uid *process)
{
    const uint64_t *error_ns = idmap_get(errors, process->bytes);
    if (error_ns != NULL && *error_ns != 0)
        json_add_u64(to, "clock_error_ns", *error_ns);
}
