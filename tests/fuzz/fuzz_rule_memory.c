/* SPDX-License-Identifier: Apache-2.0
 * rules-state.json as an agent finds it after a crash, or as somebody has edited it. */
#include <stdlib.h>

#include "fuzz_target.h"
#include "rules_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static struct rule_memory memories[RULE_MEMORIES];
    char error[256] = "";
    int status = rule_memories_read((const char *)bytes, n, memories, error, sizeof error);
    if (status != SKEIN_OK && (error[0] == '\0' || memories[0].key != 0))
        abort();
    return 0;
}
