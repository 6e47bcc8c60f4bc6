/* SPDX-License-Identifier: Apache-2.0
 * Times and ids as people and programs write them: what is read has one text, and is read from that
 * again. */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "fuzz_target.h"
#include "ids.h"

static void check(bool good)
{
    if (!good)
        abort();
}

static void read_time(const char *text)
{
    uint64_t ns = 5, again = 0;
    char written[CLOCK_TEXT_BYTES];
    if (clock_parse(text, &ns) != SKEIN_OK) {
        check(ns == 5);
        return;
    }
    clock_text(ns, written);
    check(clock_parse(written, &again) == SKEIN_OK && again == ns - ns % 1000000);
}

static void read_ids(const char *text)
{
    uint8_t id[16], again[16];
    char written[ID_TEXT_BYTES], key_written[PARTITION_KEY_TEXT_BYTES];
    struct partition_key key;
    if (id_parse(text, id) == SKEIN_OK) {
        id_text(id, written);
        check(id_parse(written, again) == SKEIN_OK && memcmp(id, again, sizeof id) == 0);
    }
    if (partition_key_parse(text, &key) == SKEIN_OK) {
        partition_key_text(&key, key_written);
        check(strlen(key_written) == strlen(text));
        check(strcmp(key_written + 32, text + 32) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1);
    if (text == NULL)
        return 0;
    if (n > 0)
        memcpy(text, bytes, n);
    text[n] = '\0';
    read_time(text);
    read_ids(text);
    free(text);
    return 0;
}
