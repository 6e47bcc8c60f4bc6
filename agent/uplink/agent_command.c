/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns commands between their frame and their answer; see agent_command.h.
 */
#include "agent_command.h"

#include <stdio.h>
#include <stdlib.h>

int agent_command_new(cJSON *json, struct agent_command **out, char refuse[64], char *error,
                      size_t error_bytes)
{
    struct agent_command *command = json != NULL ? calloc(1, sizeof *command) : NULL;
    int status = json == NULL ? SKEIN_INVALID : SKEIN_NO_MEMORY;
    refuse[0] = '\0';
    *out = NULL;
    if (command == NULL) {
        cJSON_Delete(json);
        return status;
    }
    command->json = json;
    status = command_get(json, &command->says, error, error_bytes);
    if (status == SKEIN_OK)
        *out = command;
    else if (command->says.command != NULL)
        snprintf(refuse, 64, "%s", command->says.command);
    if (status != SKEIN_OK)
        agent_command_free(&command);
    return status;
}

void agent_command_free(struct agent_command **command_p)
{
    struct agent_command *command = *command_p;
    *command_p = NULL;
    if (command == NULL)
        return;
    command_fini(&command->says);
    cJSON_Delete(command->json);
    free(command);
}
