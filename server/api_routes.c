/* SPDX-License-Identifier: Apache-2.0
 *
 * Every path of the API. A new endpoint is a row here, a handler in the resource's file and a row
 * in docs/api.md.
 */
#include "api.h"

#define V1 "/api/v1"

const struct http_route api_routes[] = {{"GET", "/healthz", api_healthz},
                                        {"GET", "/readyz", api_readyz},
                                        {"GET", "/metrics", api_metrics},
                                        {"GET", V1 "/agents", api_agents_list},
                                        {"GET", V1 "/agents/{}", api_agents_get},
                                        {"GET", V1 "/processes", api_processes_list},
                                        {"POST", V1 "/captures", api_captures_post},
                                        {"GET", V1 "/captures", api_captures_list},
                                        {"GET", V1 "/captures/{}", api_captures_get},
                                        {"DELETE", V1 "/captures/{}", api_captures_delete},
                                        {"POST", V1 "/captures/{}:stop", api_captures_stop},
                                        {"GET", V1 "/captures/{}/trace", api_captures_trace},
                                        {"GET", V1 "/partitions", api_partitions_list},
                                        {"GET", V1 "/partitions/{}", api_partitions_get},
                                        {"GET", V1 "/partitions/{}/footer", api_partitions_footer},
                                        {"GET", V1 "/events", api_events},
                                        {"GET", V1 "/rules", api_rules_list},
                                        {"GET", V1 "/rules/{}", api_rules_get},
                                        {"PUT", V1 "/rules/{}", api_rules_put},
                                        {"DELETE", V1 "/rules/{}", api_rules_delete},
                                        {NULL, NULL, NULL}};
