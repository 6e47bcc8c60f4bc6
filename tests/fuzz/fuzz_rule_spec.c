/* SPDX-License-Identifier: Apache-2.0
 * Rules as a collector of any version, or none at all, pushes them to an agent. */
#include <stdlib.h>

#include "fuzz_target.h"
#include "json.h"
#include "rule_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char error[256] = "";
    cJSON *json = json_parse((const char *)bytes, n, error, sizeof error);
    struct rule_spec *spec = NULL;
    error[0] = '\0';
    int status = json == NULL ? SKEIN_INVALID : rule_spec_new(json, &spec, error, sizeof error);
    if (json != NULL &&
        ((status == SKEIN_OK) != (spec != NULL) || (status == SKEIN_INVALID && error[0] == '\0')))
        abort();
    if (spec != NULL)
        (void)rule_spec_matches(spec, "a text that is matched");
    rule_spec_free(&spec);
    cJSON_Delete(json);
    return 0;
}
