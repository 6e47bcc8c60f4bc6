/* SPDX-License-Identifier: Apache-2.0
 * Rules of strangers. */
#include "fuzz_full_form.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    full_form_check(bytes, n, rule_check);
    return 0;
}
