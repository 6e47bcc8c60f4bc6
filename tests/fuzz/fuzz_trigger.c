/* SPDX-License-Identifier: Apache-2.0
 * Bodies of triggers by strangers: read or refused with words, and texts that are never NULL. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "json.h"
#include "triggers.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char error[256] = "";
    struct trigger_body body;
    cJSON *json = json_parse((const char *)bytes, n, error, sizeof error);
    if (json == NULL)
        return 0;
    error[0] = '\0';
    int status = trigger_parse(json, &body, error, sizeof error);
    if ((status == SKEIN_OK) != (error[0] == '\0'))
        abort();
    if (body.trigger.group == NULL || body.trigger.selector == NULL || body.trigger.reason == NULL)
        abort();
    cJSON_Delete(json);
    return 0;
}
