/* SPDX-License-Identifier: Apache-2.0
 *
 * What watchers (events.h) and the audit log hear of captures. Under the control lock.
 */
#include <stdio.h>

#include "capture_int.h"

/* Each target's labels on a line, for watchers that may see some processes only. */
static void put_labels(const struct capture *c, struct buf *lines)
{
    char process[ID_TEXT_BYTES];
    for (size_t i = 0; i < c->target_count; i++) {
        const struct capture_target *t = c->targets[i];
        id_text(t->process.bytes, process);
        event_labels(lines, t->service, t->host, t->pid, process, t->labels);
    }
    buf_put_u8(lines, 0);
}

void capture_publish(struct capture_engine *e, const struct capture *c, const char *type,
                     const char *why)
{
    char id[ID_TEXT_BYTES];
    struct buf labels = {0};
    cJSON *listing = e->settings.events != NULL ? capture_json(c, NULL, false) : NULL;
    cJSON *data = cJSON_CreateObject();
    static const char *const told[] = {"kind", "status", "trigger", "target_counts", "verdict"};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        cJSON *member = cJSON_DetachItemFromObjectCaseSensitive(listing, told[i]);
        if (member != NULL)
            cJSON_AddItemToObject(data, told[i], member);
    }
    cJSON_Delete(listing);
    if (why != NULL)
        cJSON_AddStringToObject(data, "why", why);
    id_text(c->id.bytes, id);
    put_labels(c, &labels);
    struct event_note note = {.type = type,
                              .about = "capture",
                              .name = id,
                              .labels =
                                  labels.status == SKEIN_OK ? (const char *)labels.data : NULL,
                              .data = data};
    events_publish(e->settings.events, &note);
    buf_fini(&labels);
}

void capture_audit_created(struct capture_engine *e, const struct capture *c)
{
    char id[ID_TEXT_BYTES], actor[96], agent[AGENT_TEXT_BYTES];
    if (c->rule[0] != '\0') {
        snprintf(actor, sizeof actor, "%s:%s", c->kind == CAPTURE_SAMPLE ? "policy" : "rule",
                 c->rule);
    } else if (c->own && c->target_count > 0) {
        agent_text(c->targets[0]->agent, agent);
        snprintf(actor, sizeof actor, "agent:%s", agent);
    } else {
        return;
    }
    id_text(c->id.bytes, id);
    struct audit_entry entry = {.actor = actor,
                                .action = "capture.create",
                                .object = id,
                                .result = "ok",
                                .detail = c->selector};
    audit_add(e->settings.audit, &entry);
}
