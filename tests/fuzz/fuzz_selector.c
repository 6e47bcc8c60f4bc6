/* SPDX-License-Identifier: Apache-2.0
 * Selectors and labels as people and machines send them: parse, match, look up. The first line is
 * the selector, the rest labels. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "selector.h"

struct lookup {
    const char *labels;
    char value[32];
};

static const char *get(void *context, const char *key)
{
    struct lookup *l = context;
    return labels_get(l->labels, key, l->value, sizeof l->value) ? l->value : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1);
    if (!text)
        return 0;
    if (n > 0)
        memcpy(text, bytes, n);
    text[n] = '\0';
    char *rest = strchr(text, '\n');
    if (rest)
        *rest++ = '\0';
    struct lookup l = {.labels = rest ? rest : ""};
    struct selector *selector;
    char error[40] = "";
    int status = selector_new(text, &selector, error, sizeof error);
    if ((status == SKEIN_OK) != (selector != NULL) || (status == SKEIN_OK) != !error[0])
        abort();
    if (selector)
        selector_match(selector, get, &l);
    selector_free(&selector);
    if (rest != NULL) {
        labels_clean(rest);
        if (!labels_valid(rest))
            abort();
    }
    labels_valid(l.labels);
    free(text);
    return 0;
}
