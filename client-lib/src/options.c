/* SPDX-License-Identifier: Apache-2.0
 *
 * skein_start(): the program's options, and the environment's word where they are silent. Not
 * signal-safe.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stack_walk.h"
#include "start.h"
#include "writer_int.h"

#ifdef DLFO_STRUCT_HAS_EH_DBASE
#pragma weak _dl_find_object /* glibc before 2.35 has none */
#define FINDER _dl_find_object
#else
#define FINDER NULL
#endif

/* Who starts a setuid program chooses no agent for it. */
static const char *text_or(const char *value, const char *variable, const char *fallback)
{
    if (value == NULL)
        value = secure_getenv(variable);
    return value != NULL && *value ? value : fallback;
}

int start_when_old(const struct skein_options *options, unsigned young_ms)
{
    struct skein_options o = {0};
    if (secure_getenv("SKEIN_CHECK") != NULL)
        return SKEIN_REFUSED;
    if (options != NULL && options->size)
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    const struct stack_settings stacks = {.finder = FINDER};
    stack_walk_prepare(&stacks);
    const struct start_settings settings = {
        .service = text_or(o.service, "SKEIN_SERVICE", program_invocation_short_name),
        .labels = text_or(o.labels, "SKEIN_LABELS", ""),
        .socket_path = text_or(o.agent_socket, "SKEIN_SOCKET", START_SOCKET),
        .ring_bytes = o.ring_bytes,
        .mode = o.mode,
        .young_ms = young_ms,
        .is_service = young_ms == 0};
    return start_recording(&settings);
}

int skein_start(const struct skein_options *options)
{
    return start_when_old(options, 0);
}
