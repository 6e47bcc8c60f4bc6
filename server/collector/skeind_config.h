/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of skeind and its commands. For skeind_*.c alone.
 */
#ifndef SKEIND_CONFIG_H
#define SKEIND_CONFIG_H

#include "collector.h"

#define SKEIND_CONFIG "/etc/skein/collector.json"

/* config_load with skeind's environment and places; SKEIND_CONFIG if no file is given and it
 * is there. SKEIN_OK; else a sentence in error, and *config is zero. */
int skeind_config_load(const struct config_sources *given, struct collector_config *config,
                       char *error, size_t error_bytes);

/* Whether skeind would start: folders, ports, certificate, keys. A port in use is fine: skeind may
 * have it. Makes nothing. SKEIN_OK; else a sentence in error. */
int skeind_config_check(const struct collector_config *config, char *error, size_t error_bytes);

#endif
