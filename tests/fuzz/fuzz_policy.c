/* SPDX-License-Identifier: Apache-2.0
 * Sampling policies of strangers: what is accepted is accepted again in its full form, unchanged.
 */
#include <stdlib.h>

#include "fuzz_target.h"
#include "json.h"
#include "policies.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char error[256] = "";
    cJSON *json = json_parse((const char *)bytes, n, error, sizeof error);
    if (json == NULL)
        return 0;
    cJSON *first = policy_check("fuzz", json, error, sizeof error);
    if (first == NULL && error[0] == '\0')
        abort();
    if (first != NULL) {
        cJSON *second = policy_check("fuzz", first, error, sizeof error);
        if (second == NULL || !cJSON_Compare(first, second, true))
            abort();
        cJSON_Delete(second);
    }
    cJSON_Delete(first);
    cJSON_Delete(json);
    return 0;
}
