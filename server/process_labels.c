/* SPDX-License-Identifier: Apache-2.0
 * How selectors look up a process's labels. No state; any thread. */
#include "process_labels.h"

#include <stdio.h>
#include <string.h>

#include "ids.h"

struct lookup {
    const struct process_labels *labels;
    char value[1024];
};

static const char *get(void *context, const char *key)
{
    struct lookup *lookup = context;
    const struct process_labels *l = lookup->labels;
    if (strcmp(key, "service") == 0)
        return l->service;
    if (strcmp(key, "host") == 0)
        return l->host;
    if (strcmp(key, "exe") == 0) {
        const char *slash = strrchr(l->exe, '/');
        return slash != NULL ? slash + 1 : l->exe;
    }
    if (strcmp(key, "pid") == 0) {
        snprintf(lookup->value, sizeof lookup->value, "%u", l->pid);
        return lookup->value;
    }
    if (strcmp(key, "process") == 0) {
        id_text(l->process, lookup->value);
        return lookup->value;
    }
    return labels_get(l->own, key, lookup->value, sizeof lookup->value) ? lookup->value : NULL;
}

bool process_labels_match(const struct selector *selector, const struct process_labels *labels)
{
    struct lookup lookup = {.labels = labels};
    return selector == NULL || selector_match(selector, get, &lookup);
}
