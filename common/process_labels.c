/* SPDX-License-Identifier: Apache-2.0
 * How selectors look up a process's labels. No state; any thread. */
#include "process_labels.h"

#include <stdio.h>
#include <string.h>

#include "ids.h"

#define UID_BYTES sizeof(struct process_uid)

struct lookup {
    const struct process_labels *labels;
    char value[1024];
};

static const char *label_get(void *context, const char *key)
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
    return selector == NULL || selector_match(selector, label_get, &lookup);
}

/* ---- lists: the process's id and pid, then four texts, each with its NUL ---- */

static void text_put(struct buf *list, const char *text)
{
    buf_put(list, text, strlen(text) + 1);
}

void process_labels_put(struct buf *list, const struct process_labels *labels)
{
    buf_put(list, labels->process, UID_BYTES);
    buf_put_u32(list, labels->pid);
    text_put(list, labels->service);
    text_put(list, labels->host);
    text_put(list, labels->exe);
    text_put(list, labels->own);
}

static const char *text_take(const struct buf *list, size_t *at)
{
    const char *text = (const char *)list->data + *at;
    *at += strlen(text) + 1;
    return text;
}

bool process_labels_match_any(const struct selector *selector, const struct buf *list)
{
    bool matched = false;
    for (size_t at = 0; !matched && at < list->len;) {
        struct process_labels labels = {.process = list->data + at};
        struct cursor pid;
        cursor_init(&pid, labels.process + UID_BYTES, sizeof labels.pid);
        labels.pid = cursor_u32(&pid);
        at += UID_BYTES + sizeof labels.pid;
        labels.service = text_take(list, &at);
        labels.host = text_take(list, &at);
        labels.exe = text_take(list, &at);
        labels.own = text_take(list, &at);
        matched = process_labels_match(selector, &labels);
    }
    return matched;
}
