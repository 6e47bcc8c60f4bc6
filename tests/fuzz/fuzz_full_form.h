/* SPDX-License-Identifier: Apache-2.0
 * JSON of strangers that is answered in its full form. Included by fuzz targets. */
#ifndef FUZZ_FULL_FORM_H
#define FUZZ_FULL_FORM_H

#include <stdlib.h>

#include "fuzz_target.h"
#include "json.h"

typedef cJSON *full_form_fn(const char *name, const cJSON *json, char *error, size_t error_bytes);

/* What is accepted is accepted again in its full form, unchanged; what is not has a reason. */
static inline void full_form_check(const uint8_t *bytes, size_t n, full_form_fn *check)
{
    char error[256] = "";
    cJSON *json = json_parse((const char *)bytes, n, error, sizeof error);
    if (json == NULL)
        return;
    cJSON *first = check("fuzz", json, error, sizeof error);
    if (first == NULL && error[0] == '\0')
        abort();
    if (first != NULL) {
        cJSON *second = check("fuzz", first, error, sizeof error);
        if (second == NULL || !cJSON_Compare(first, second, true))
            abort();
        cJSON_Delete(second);
    }
    cJSON_Delete(first);
    cJSON_Delete(json);
}

#endif
