/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies as a collector of any version, or none at all, pushes them to an agent: what is accepted
 * can be sampled by.
 */
#include <stdlib.h>

#include "fuzz_target.h"
#include "json.h"
#include "policy_spec.h"

static void require(int condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const uint64_t now_ns = UINT64_C(1700000000123456789);
    char error[256] = "";
    cJSON *json = json_parse((const char *)bytes, n, error, sizeof error);
    struct policy_spec *spec = NULL;
    error[0] = '\0';
    int status = json == NULL ? SKEIN_INVALID : policy_spec_new(json, &spec, error, sizeof error);
    require(json == NULL || ((status == SKEIN_OK) == (spec != NULL) &&
                             (status != SKEIN_INVALID || error[0] != '\0')));
    if (spec != NULL) {
        struct process_uid process = {{bytes[0]}};
        uint32_t slot = sampling_slot_of(&spec->plan, &process);
        require(slot < sampling_slots(&spec->plan));
        uint64_t begin_ns = sampling_next_ns(&spec->plan, slot, now_ns);
        require(begin_ns >= now_ns && sampling_slot_at(&spec->plan, begin_ns) == slot);
    }
    policy_spec_free(&spec);
    cJSON_Delete(json);
    return 0;
}
