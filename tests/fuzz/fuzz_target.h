/* SPDX-License-Identifier: Apache-2.0
 * The one function of a fuzz target; called by libFuzzer, or by fuzz_replay.c. */
#ifndef FUZZ_TARGET_H
#define FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

#endif
