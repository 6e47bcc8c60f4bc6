/* SPDX-License-Identifier: Apache-2.0
 *
 * A command on its way through the agent; command.h has what it says. The uplink's thread makes it,
 * and may hold it until its times can be placed. Whoever takes it over answers and frees it.
 */
#ifndef AGENT_COMMAND_H
#define AGENT_COMMAND_H

#include "command.h"
#include "uplink_clock.h"

struct agent_command {
    struct command says;
    uint64_t frame_id;    /* of the message, echoed by its answer (P-4) */
    struct clock_map map; /* for its times, by the uplink */
    cJSON *json;          /* that `says` points into */
};

/* Takes the JSON over; NULL is SKEIN_INVALID. SKEIN_OK and *out to free; SKEIN_INVALID with a
 * sentence in error, and in `refuse` (64 bytes) the command's text if it can be answered, else "";
 * SKEIN_NO_MEMORY. */
int agent_command_new(cJSON *json, struct agent_command **out, char refuse[64], char *error,
                      size_t error_bytes);
void agent_command_free(struct agent_command **command);

#endif
