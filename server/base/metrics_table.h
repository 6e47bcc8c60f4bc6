/* SPDX-License-Identifier: Apache-2.0
 *
 * Every counter, gauge and histogram of the collector: one row makes the field (metrics.h), the
 * Prometheus lines and their help.
 */
#ifndef METRICS_TABLE_H
#define METRICS_TABLE_H

#include "agent_counters.h"
#include "loss.h"

/* kind, name (skein_ is put before it), help */
#define METRICS_LIST(X)                                                                            \
    X(counter, ingest_partitions_total, "Partitions stored")                                       \
    X(counter, ingest_bytes_total, "Bytes of stored partitions")                                   \
    X(counter, ingest_duplicates_total, "Partitions received again and not stored twice")          \
    X(counter, ingest_rejected_total, "Partitions refused: do not decode, or have another's key")  \
    X(counter, ingest_retries_total, "Partitions that agents were told to send again")             \
    X(counter, ingest_unexpected_total,                                                            \
      "Partitions stored outside the capture that they name, which does not have their process")   \
    X(counter, ingest_malformed_total, "Messages on the data port that are no frame")              \
    X(gauge, ingest_assembling_bytes, "Bytes of partitions of which chunks are missing")           \
    X(counter, ingest_abandoned_total,                                                             \
      "Partitions dropped because their missing chunks never came")                                \
    X(counter, ingest_displaced_total,                                                             \
      "Partitions begun and dropped because another agent's share needed the room")                \
    X(counter, store_commits_total, "Group commits (one fdatasync each)")                          \
    X(counter, store_errors_total, "Failed writes and syncs")                                      \
    X(gauge, store_bytes, "Bytes of all segments")                                                 \
    X(gauge, store_segments, "Segments on disk")                                                   \
    X(gauge, catalog_bytes, "Bytes of what is known of captures: the used pages of state.db")      \
    X(gauge, store_free_bytes, "Bytes free on the disk of the segments")                           \
    X(gauge, store_full, "1 while partitions are refused because the disk is short")               \
    X(counter, retention_expired_total, "Captures deleted because their time to be kept was over") \
    X(counter, retention_quota_total, "Captures deleted by a quota")                               \
    X(counter, retention_failed_total, "Deletions of captures that failed and are tried again")    \
    X(gauge, retention_over, "1 while a quota is exceeded and nothing more may be deleted")        \
    X(counter, store_torn_bytes_total, "Bytes cut off torn segment tails at start")                \
    X(counter, store_damaged_total, "Damaged places found in segments and skipped")                \
    X(counter, store_refused_total, "Stored partitions found damaged when asked for; not served")  \
    X(counter, index_rebuilds_total, "Times that a damaged index was made anew while running")     \
    X(gauge, state_damaged, "1 where state.db is damaged, lost or restored from a backup")         \
    X(gauge, state_backup_seconds, "When state.db was backed up last; 0: not yet")                 \
    X(counter, store_doubles_total, "Records of a partition that another record holds already")    \
    X(counter, store_compacted_total, "Live partitions moved out of sparse segments")              \
    X(gauge, agents_online, "Agents heard from within their lease")                                \
    X(gauge, agents_known, "Agents ever seen")                                                     \
    X(gauge, processes_live, "Processes that are traced now")                                      \
    X(counter, clock_steps_total, "Times that the collector's clock was set")                      \
    X(counter, control_messages_total, "Well-formed messages on the control port")                 \
    X(counter, control_malformed_total, "Messages on the control port that are no frame or body")  \
    X(counter, control_unsent_total, "Answers and commands dropped because no room was left")      \
    X(counter, agents_cloned_total, "Times that two agents were found to have one identity")       \
    X(counter, agents_refused_total, "Agents turned away because the table of agents is full")     \
    X(counter, agent_connections_refused_total,                                                    \
      "Connections to the agents' ports closed at once: too few descriptors are left")             \
    X(counter, seal_opens_total, "Sessions that agents asked for")                                 \
    X(counter, seal_refused_total, "Agents refused: not enrolled, revoked, or a wrong token")      \
    X(counter, seal_dropped_total,                                                                 \
      "Handshakes dropped: malformed, for another key, or more than fit in a second")              \
    X(counter, seal_replayed_total, "Sealed messages dropped because they were seen before")       \
    X(counter, seal_broken_total, "Sealed messages dropped because they do not verify")            \
    X(counter, seal_denied_total, "Messages dropped because they name another agent")              \
    X(counter, seal_plain_total, "Plain messages dropped because they had to be sealed")           \
    X(gauge, seal_sessions, "Sealed sessions now")                                                 \
    X(counter, commands_sent_total, "Commands sent to agents, repeats included")                   \
    X(counter, catalog_errors_total, "Failed writes of captures, rules and agents")                \
    X(counter, audit_errors_total, "Failed writes of audit entries, tried again")                  \
    X(counter, audit_lost_total, "Audit entries for which there was no room")                      \
    X(counter, lost_implausible_total,                                                             \
      "Reports of more losses than a program can have written events, which are in no sum")        \
    X(counter, captures_refused_total,                                                             \
      "Reports of captures that agents began beyond agents.captures_per_hour")                     \
    X(counter, captures_total, "Captures begun")                                                   \
    X(counter, capture_targets_total, "Targets of all captures begun")                             \
    X(counter, capture_work_total, "Targets looked at to save captures and their listings")        \
    X(counter, captures_deleted_total, "Captures deleted on request")                              \
    X(gauge, captures_running, "Captures not in a final state")                                    \
    X(counter, rules_fired_total, "Rule firings that began a capture")                             \
    X(counter, rules_suppressed_total, "Rule firings held back by a limit")                        \
    X(counter, rules_history_dropped_total, "Rows of rules' histories that could not be kept")     \
    X(counter, notices_delivered_total, "Notices of rules that a receiver has taken")              \
    X(counter, notices_failed_total, "Deliveries of notices that failed and are tried again")      \
    X(counter, notices_dropped_total,                                                              \
      "Notices given up: too old, too many, or nobody to take them")                               \
    X(gauge, analysis_queue, "Captures that wait to be summed up, beside those that a walk finds") \
    X(counter, analysis_done_total, "Captures summed up")                                          \
    X(counter, analysis_refused_total, "Captures that cannot be summed up")                        \
    X(counter, analysis_failed_total, "Failures to sum up or keep, tried again")                   \
    X(counter, analysis_dropped_total, "Captures whose reports went for analysis.max_bytes")       \
    X(counter, analysis_rebuilds_total, "Times that a damaged analysis.db was begun anew")         \
    X(counter, events_total, "Events published to watchers")                                       \
    X(gauge, event_watchers, "Watchers of server-sent events now")                                 \
    X(counter, http_unauthorized_total, "Requests without a valid token, answered 401")            \
    X(counter, http_forbidden_total, "Requests beyond what their token may, answered 403")         \
    X(counter, http_bad_tokens_total, "Requests with a token that is unknown, expired or revoked") \
    X(counter, http_locked_out_total, "Requests of addresses that sent too many wrong tokens")     \
    X(counter, http_ambiguous_total, "Requests that others might read differently, answered 400")  \
    X(gauge, http_sessions, "Sessions of browsers that have not ended")                            \
    X(counter, http_bytes_total, "Bytes of HTTP bodies sent")                                      \
    X(gauge, http_certificate_expires_seconds,                                                     \
      "When the certificate of HTTPS ends; 0: plain HTTP")                                         \
    X(counter, http_slow_clients_total, "Connections cut because a request or answer stood still") \
    X(counter, http_crowded_out_total, "Connections cut because there were as many as may be")     \
    X(counter, http_cut_answers_total, "Streamed answers that broke off because a read failed")

/* Counters with a label: name, how many values it has, help. metrics.c says what the values are. */
#define METRICS_FAMILY_LIST(X)                                                                     \
    X(captures_ended_total, METRICS_CAPTURES, "Captures that ended, by how they did at first")     \
    X(lost_events_total, LOSS_REASONS, "Events found missing in captures, by place and reason")    \
    X(agent_counters_total, AGENT_COUNTERS, "What agents count of themselves, by counter")         \
    X(http_requests_total, METRICS_HTTP_CODES, "HTTP requests answered, by status code")           \
    X(http_logins_total, METRICS_LOGINS,                                                           \
      "Sessions begun by browsers, by what they logged in with")                                   \
    X(http_logins_refused_total, METRICS_LOGIN_REFUSALS, "Logins refused, by reason")

#define METRICS_CAPTURES   4 /* enum capture_status */
#define METRICS_HTTP_CODES 600

enum metrics_login { METRICS_LOGIN_TOKEN, METRICS_LOGIN_CODE, METRICS_LOGINS };
enum metrics_login_refusal {
    METRICS_REFUSED_TOKEN,      /* unknown, expired, revoked */
    METRICS_REFUSED_CODE,       /* unknown, used, too old */
    METRICS_REFUSED_TOO_MANY,   /* wrong ones came from its address */
    METRICS_REFUSED_ORIGIN,     /* a page of another place asked */
    METRICS_REFUSED_NOT_SECURE, /* everybody on the way could take the session */
    METRICS_REFUSED_REQUEST,    /* no login: another body or type */
    METRICS_LOGIN_REFUSALS
};

/* How long something took: name (seconds), help. */
#define METRICS_HISTOGRAM_LIST(X)                                                                  \
    X(ingest_ack_seconds, "From a partition's last byte received to its acknowledgement")          \
    X(store_sync_seconds, "One sync of a segment to disk")                                         \
    X(analysis_seconds, "One capture summed up, its report and its summary")                       \
    X(capture_durable_seconds,                                                                     \
      "From the trigger of a capture that ended complete to its last partition durable")

#endif
