/* SPDX-License-Identifier: Apache-2.0
 * Sampling policies of strangers. */
#include "fuzz_full_form.h"
#include "policies.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    full_form_check(bytes, n, policy_check);
    return 0;
}
