/* SPDX-License-Identifier: Apache-2.0
 *
 * What the preload tracer reads of the program that it is loaded into: its ELF notes, and numbers
 * of its environment. The bytes are both.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "preload_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    uint8_t *notes = malloc(n > 0 ? n : 1); /* of exactly its size: a byte behind it is noticed */
    char *text = malloc(n + 1);
    if (!notes || !text)
        abort();
    memcpy(notes, bytes, n);
    memcpy(text, bytes, n);
    text[n] = '\0';
    if (notes_say_go(notes, n) && n < 16)
        abort();
    uint64_t number = number_of_text(text, 60000, 60001);
    if (number > 60001 || (number <= 60000 && strspn(text, "0123456789") != strlen(text)))
        abort();
    free(notes);
    free(text);
    return 0;
}
