/* SPDX-License-Identifier: Apache-2.0
 *
 * What events.h's watchers and the audit log hear of captures. Under the control lock.
 */
#include <stdio.h>

#include "capture_int.h"
#include "capture_target.h"

void capture_publish(struct capture_engine *e, const struct capture *c, const char *type,
                     const char *why)
{
    control_assert_locked(e->control);
    char id[ID_TEXT_BYTES];
    struct buf processes = {0};
    cJSON *listing = e->settings.events != NULL ? capture_json(c, NULL, false) : NULL;
    cJSON *data = cJSON_CreateObject();
    static const char *const told[] = {"incident",      "kind",    "status", "trigger",
                                       "target_counts", "verdict", NULL};
    json_members_copy(data, listing, told);
    cJSON_Delete(listing);
    if (why != NULL)
        cJSON_AddStringToObject(data, "why", why);
    id_text(c->id.bytes, id);
    for (size_t i = 0; i < c->target_count; i++) {
        struct process_labels labels = capture_target_labels(c->targets[i]);
        process_labels_put(&processes, &labels);
    }
    struct event_note note = {
        .type = type, .about = "capture", .name = id, .processes = &processes, .data = data};
    events_publish(e->settings.events, &note);
    buf_fini(&processes);
}

void capture_audit_created(struct capture_engine *e, const struct capture *c)
{
    control_assert_locked(e->control);
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
