/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of skeind: what the table cannot say of them, and whether it would start with them.
 * Main thread.
 */
#include "skeind_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config_check.h"
#include "config_place.h"
#include "enroll.h"
#include "http_field.h"
#include "http_tls.h"
#include "log.h"

int skeind_config_load(const struct config_sources *given, struct collector_config *config,
                       char *error, size_t error_bytes)
{
    enum log_level level;
    memset(config, 0, sizeof *config);
    char folder[CONFIG_PLACE_BYTES];
    const struct config_default defaults[] = {
        {"data_dir", config_place_state("collector", folder) ? folder : NULL}, {NULL, NULL}};
    struct config_sources sources = *given;
    sources.daemon = "skeind";
    sources.defaults = defaults;
    if (sources.file == NULL && access(SKEIND_CONFIG, F_OK) == 0)
        sources.file = SKEIND_CONFIG;
    int status = config_load(collector_params, config, &sources, error, error_bytes);
    if (status != SKEIN_OK)
        return status;
    bool json = strcmp(config->log_form, "json") == 0;
    if (log_level_parse(config->log_level, &level) != SKEIN_OK) {
        snprintf(error, error_bytes, "log.level: must be debug, info, warn or error");
    } else if (!json && strcmp(config->log_form, "text") != 0) {
        snprintf(error, error_bytes, "log.form: must be text or json");
    } else if (!config_is_address(config->data_address, "tcp://")) {
        snprintf(error, error_bytes, "listen.data: must be tcp://HOST:PORT");
    } else if (!config_is_address(config->control_address, "tcp://")) {
        snprintf(error, error_bytes, "listen.control: must be tcp://HOST:PORT");
    } else if (!config_is_address(config->http_address, "")) {
        snprintf(error, error_bytes, "listen.http: must be HOST:PORT, [HOST]:PORT or *:PORT");
    } else if (strcmp(config->http_metrics_public, "auto") != 0 &&
               strcmp(config->http_metrics_public, "yes") != 0 &&
               strcmp(config->http_metrics_public, "no") != 0) {
        snprintf(error, error_bytes, "http.metrics_public: must be auto, yes or no");
    } else if (config->http_public_url[0] != '\0' && !http_is_origin(config->http_public_url)) {
        snprintf(error, error_bytes,
                 "http.public_url: must be http://NAME[:PORT] or https://NAME[:PORT], without a "
                 "path or a slash at its end");
    } else if ((config->http_tls_certificate[0] == '\0') != (config->http_tls_key[0] == '\0')) {
        snprintf(error, error_bytes, "%s: is missing beside http.tls_%s",
                 config->http_tls_key[0] == '\0' ? "http.tls_key" : "http.tls_certificate",
                 config->http_tls_key[0] == '\0' ? "certificate" : "key");
    } else if (config->lease_ms < 2 * config->heartbeat_ms) {
        snprintf(error, error_bytes,
                 "agents.lease_ms: must be at least twice agents.heartbeat_ms, or one late "
                 "heartbeat shows an agent offline");
    } else if (config->min_free_bytes > 0 && config->min_free_bytes < 2 * config->segment_bytes) {
        snprintf(error, error_bytes,
                 "store.min_free_bytes: must be 0 or at least twice store.segment_bytes, or a full "
                 "disk has no room to compact segments");
    } else if (config->retention_max_bytes > 0 &&
               config->retention_max_bytes < 16 * config->segment_bytes) {
        snprintf(error, error_bytes,
                 "retention.max_bytes: must be 0 or at least 16 times store.segment_bytes: room is "
                 "given back in segments");
    } else {
        return SKEIN_OK;
    }
    config_free(collector_params, config);
    return SKEIN_INVALID;
}

/* ---- whether it would start ---- */

/* A key, where there is one. */
static bool has_key(const struct collector_config *g)
{
    struct enroll *enroll = NULL;
    struct seal_pair keys[ENROLL_KEYS];
    char error[256];
    if (access(g->folder, F_OK) != 0 ||
        enroll_open(g->folder, &enroll, error, sizeof error) != SKEIN_OK)
        return false;
    bool found = enroll_keys(enroll, keys) > 0;
    seal_wipe(keys, sizeof keys);
    enroll_close(&enroll);
    return found;
}

int skeind_config_check(const struct collector_config *g, char *error, size_t error_bytes)
{
    struct http_tls *tls = NULL;
    int status = config_check_folder("data_dir", g->folder, error, error_bytes);
    if (status == SKEIN_OK)
        status = config_check_listen("listen.data", g->data_address, error, error_bytes);
    if (status == SKEIN_OK)
        status = config_check_listen("listen.control", g->control_address, error, error_bytes);
    if (status == SKEIN_OK)
        status = config_check_listen("listen.http", g->http_address, error, error_bytes);
    if (status == SKEIN_OK)
        status = config_check_apart("listen.control", g->control_address, g->data_address, error,
                                    error_bytes);
    if (status == SKEIN_OK)
        status =
            config_check_apart("listen.http", g->http_address, g->data_address, error, error_bytes);
    if (status == SKEIN_OK)
        status = config_check_apart("listen.http", g->http_address, g->control_address, error,
                                    error_bytes);
    if (status == SKEIN_OK)
        status = collector_http_allowed(g, error, error_bytes);
    if (status == SKEIN_OK && g->http_tls_certificate[0] != '\0')
        status = http_tls_new(g->http_tls_certificate, g->http_tls_key, &tls, error, error_bytes);
    http_tls_free(&tls);
    if (status == SKEIN_OK && collector_needs_key(g) && !has_key(g))
        status = collector_key_missing(g, error, error_bytes);
    return status;
}
