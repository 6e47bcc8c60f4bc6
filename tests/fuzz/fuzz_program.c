/* SPDX-License-Identifier: Apache-2.0
 *
 * What the preload tracer reads of the program that it is loaded into: its ELF notes, its
 * environment, and numbers in that. The bytes are all three.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "preload_program.h"
#include "program_labels.h"

/* Judged by another rule: of all "NAME=" that a line may begin with, the one of its value. */
static void environment_check(char *text)
{
    char later[] = "SKEIN_SERVICE=another";
    char *const lines[] = {text, later, NULL};
    struct environment e = {0};
    environment_read(lines, &e);
    if (e.service == strchr(later, '=') + 1)
        e.service = NULL;
    const struct {
        const char *begin, *value;
    } all[] = {{"SKEIN_SERVICE=", e.service},
               {"SKEIN_LABELS=", e.labels},
               {"SKEIN_SOCKET=", e.socket},
               {"SKEIN_CHECK=", e.check},
               {"SKEIN_IO_THRESHOLD_US=", e.io_threshold_us},
               {"SKEIN_ATTACH_MS=", e.attach_ms},
               {"SKEIN_SERVICE_PID=", e.service_pid},
               {"SYSTEMD_EXEC_PID=", e.systemd_pid}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t n = strlen(all[i].begin);
        if (all[i].value != (strncmp(text, all[i].begin, n) == 0 ? text + n : NULL))
            abort();
    }
}

/* Only whole pairs, and a count where something was left out. */
static void labels_check(const char *text)
{
    char out[LABELS_BYTES];
    labels_fit("a=b", text, out);
    if (strncmp(out, "a=b", 3) != 0 || strlen(out) >= sizeof out)
        abort();
    bool cut = strstr(out, "labels_cut=") != NULL;
    if (!cut && *text != '\0' && strlen(out) > strlen(text) + 4)
        abort();
    for (char *rest = out, *pair; (pair = strsep(&rest, ",")) != NULL;)
        if (strchr(pair, '=') == NULL || *pair == '=')
            abort();
}

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
    environment_check(text);
    labels_check(text);
    uint64_t number = number_of_text(text, 60000, 60001);
    if (number > 60001 || (number <= 60000 && strspn(text, "0123456789") != strlen(text)))
        abort();
    free(notes);
    free(text);
    return 0;
}
