/* SPDX-License-Identifier: Apache-2.0
 *
 * Every path of the API and the scope that it needs. A new endpoint is a row here, a handler in the
 * resource's file, an operation in openapi.json and a row in docs/api.md.
 */
#include "api.h"
#include "api_handlers.h"

#define V1 "/api/v1"

const struct http_route api_routes[] = {
    {"GET", "/healthz", api_healthz, HTTP_PUBLIC},
    {"GET", "/readyz", api_readyz, HTTP_PUBLIC},
    {"GET", "/metrics", api_metrics, HTTP_VIEWER},
    {"GET", V1 "/openapi.json", api_openapi, HTTP_PUBLIC},
    {"GET", V1 "/agents", api_agents_list, HTTP_VIEWER},
    {"GET", V1 "/agents/{}", api_agents_get, HTTP_VIEWER},
    {"DELETE", V1 "/agents/{}", api_agents_delete, HTTP_ADMIN},
    {"POST", V1 "/agents/{}:revoke", api_agents_revoke, HTTP_ADMIN},
    {"GET", V1 "/processes", api_processes_list, HTTP_VIEWER},
    {"GET", V1 "/processes/{}", api_processes_get, HTTP_VIEWER},
    {"GET", V1 "/loss", api_loss, HTTP_VIEWER},
    {"POST", V1 "/captures", api_captures_post, HTTP_OPERATOR},
    {"GET", V1 "/captures", api_captures_list, HTTP_VIEWER},
    {"PATCH", V1 "/captures", api_captures_patch_all, HTTP_OPERATOR},
    {"DELETE", V1 "/captures", api_captures_delete_all, HTTP_OPERATOR},
    {"GET", V1 "/captures/trace", api_captures_trace, HTTP_VIEWER},
    {"GET", V1 "/captures/manifest", api_captures_manifest, HTTP_VIEWER},
    {"GET", V1 "/captures/{}", api_captures_get, HTTP_VIEWER},
    {"PATCH", V1 "/captures/{}", api_captures_patch, HTTP_OPERATOR},
    {"DELETE", V1 "/captures/{}", api_captures_delete, HTTP_OPERATOR},
    {"POST", V1 "/captures/{}:stop", api_captures_stop, HTTP_OPERATOR},
    {"GET", V1 "/captures/{}/trace", api_captures_trace, HTTP_VIEWER},
    {"GET", V1 "/captures/{}/manifest", api_captures_manifest, HTTP_VIEWER},
    {"GET", V1 "/partitions", api_partitions_list, HTTP_VIEWER},
    {"GET", V1 "/partitions/{}", api_partitions_get, HTTP_VIEWER},
    {"GET", V1 "/partitions/{}/footer", api_partitions_footer, HTTP_VIEWER},
    {"GET", V1 "/events", api_events, HTTP_VIEWER},
    {"GET", V1 "/audit", api_audit_list, HTTP_ADMIN},
    {"GET", V1 "/storage", api_storage, HTTP_VIEWER},
    {"GET", V1 "/rules", api_rules_list, HTTP_VIEWER},
    {"GET", V1 "/rules/{}", api_rules_get, HTTP_VIEWER},
    {"PUT", V1 "/rules/{}", api_rules_put, HTTP_ADMIN},
    {"PATCH", V1 "/rules/{}", api_rules_patch, HTTP_ADMIN},
    {"DELETE", V1 "/rules/{}", api_rules_delete, HTTP_ADMIN},
    {"POST", V1 "/rules/{}:test", api_rules_test_named, HTTP_OPERATOR},
    {"POST", V1 "/rules:test", api_rules_test, HTTP_OPERATOR},
    {"GET", V1 "/rules/{}/history", api_rules_history, HTTP_VIEWER},
    {"GET", V1 "/rules/{}/matches", api_rules_matches, HTTP_VIEWER},
    {"GET", V1 "/policies", api_policies_list, HTTP_VIEWER},
    {"GET", V1 "/policies/{}", api_policies_get, HTTP_VIEWER},
    {"PUT", V1 "/policies/{}", api_policies_put, HTTP_ADMIN},
    {"PATCH", V1 "/policies/{}", api_policies_patch, HTTP_ADMIN},
    {"DELETE", V1 "/policies/{}", api_policies_delete, HTTP_ADMIN},
    {"GET", V1 "/policies/{}/matches", api_policies_matches, HTTP_VIEWER},
    {"POST", V1 "/triggers/{}", api_triggers_post, HTTP_OPERATOR},
    {"POST", V1 "/selectors:match", api_selectors_match, HTTP_VIEWER},
    {"GET", V1 "/tokens", api_tokens_list, HTTP_ADMIN},
    {"POST", V1 "/tokens", api_tokens_post, HTTP_ADMIN},
    {"DELETE", V1 "/tokens/{}", api_tokens_delete, HTTP_ADMIN},
    {"GET", V1 "/join-tokens", api_join_tokens_list, HTTP_ADMIN},
    {"POST", V1 "/join-tokens", api_join_tokens_post, HTTP_ADMIN},
    {"DELETE", V1 "/join-tokens/{}", api_join_tokens_delete, HTTP_ADMIN},
    {NULL, NULL, NULL, 0}};
