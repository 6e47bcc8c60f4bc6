/* SPDX-License-Identifier: Apache-2.0
 *
 * The handlers of the HTTP API, by the file that they are in: a row of api_routes.c for each. For
 * those files alone.
 */
#ifndef API_HANDLERS_H
#define API_HANDLERS_H

#include "api.h"

/* api_health.c */
void api_healthz(void *context, struct http_exchange *x);
void api_readyz(void *context, struct http_exchange *x);
void api_metrics(void *context, struct http_exchange *x);
/* api_agents.c */
void api_agents_list(void *context, struct http_exchange *x);
void api_agents_get(void *context, struct http_exchange *x);
void api_processes_list(void *context, struct http_exchange *x);
/* api_loss.c */
void api_processes_get(void *context, struct http_exchange *x);
void api_loss(void *context, struct http_exchange *x);
/* api_enroll.c */
void api_agents_revoke(void *context, struct http_exchange *x);
void api_agents_delete(void *context, struct http_exchange *x);
void api_join_tokens_list(void *context, struct http_exchange *x);
void api_join_tokens_post(void *context, struct http_exchange *x);
void api_join_tokens_delete(void *context, struct http_exchange *x);
/* api_captures.c */
void api_captures_post(void *context, struct http_exchange *x);
void api_captures_list(void *context, struct http_exchange *x);
void api_captures_get(void *context, struct http_exchange *x);
void api_captures_patch(void *context, struct http_exchange *x); /* api_captures_post.c, as post */
void api_captures_stop(void *context, struct http_exchange *x);
void api_captures_delete(void *context, struct http_exchange *x);
void api_captures_trace(void *context, struct http_exchange *x);
/* api_audit.c */
void api_audit_list(void *context, struct http_exchange *x);
/* api_events.c */
void api_events(void *context, struct http_exchange *x);
/* api_manifest.c */
void api_captures_manifest(void *context, struct http_exchange *x);
/* api_diff.c */
void api_captures_diff(void *context, struct http_exchange *x);
/* api_overview.c */
void api_captures_overview(void *context, struct http_exchange *x);
/* api_report.c */
void api_captures_report(void *context, struct http_exchange *x);
/* api_sql.c */
void api_captures_sql(void *context, struct http_exchange *x);
/* api_openapi.c */
void api_openapi(void *context, struct http_exchange *x);
/* api_partitions.c */
void api_partitions_list(void *context, struct http_exchange *x);
void api_partitions_get(void *context, struct http_exchange *x);
void api_partitions_footer(void *context, struct http_exchange *x);
/* api_matches.c */
void api_selectors_match(void *context, struct http_exchange *x);
/* api_named.c */
void api_named_list(void *context, struct http_exchange *x);
void api_named_get(void *context, struct http_exchange *x);
void api_named_put(void *context, struct http_exchange *x);
void api_named_patch(void *context, struct http_exchange *x);
void api_named_delete(void *context, struct http_exchange *x);
void api_named_matches(void *context, struct http_exchange *x);
/* api_rules.c */
void api_rules_history(void *context, struct http_exchange *x);
/* api_series.c */
void api_series(void *context, struct http_exchange *x);
/* api_session.c */
void api_whoami(void *context, struct http_exchange *x);
void api_session_post(void *context, struct http_exchange *x);
void api_session_delete(void *context, struct http_exchange *x);
void api_login_codes_post(void *context, struct http_exchange *x);
/* api_storage.c */
void api_storage(void *context, struct http_exchange *x);
/* triggers.c */
void api_triggers_post(void *context, struct http_exchange *x);
/* api_tokens.c */
void api_tokens_list(void *context, struct http_exchange *x);
void api_tokens_post(void *context, struct http_exchange *x);
void api_tokens_delete(void *context, struct http_exchange *x);
/* api_rules_test.c */
void api_rules_test(void *context, struct http_exchange *x);
void api_rules_test_named(void *context, struct http_exchange *x);

#endif
