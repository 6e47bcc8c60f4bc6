/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the check of a rule for one process; see rule_program.h. Any thread; looks at $PATH.
 */
#include "rule_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_place.h"

char *rule_program_allowed(const char *program, const struct config_strs *allow)
{
    char *path = check_program_path(program);
    for (size_t i = 0; path != NULL && i < allow->count; i++) {
        char *allowed = check_program_path(allow->items[i]);
        bool same = allowed != NULL && strcmp(allowed, path) == 0;
        free(allowed);
        if (same)
            return path;
    }
    free(path);
    return NULL;
}

struct check_spec *rule_spec_check(const struct rule_spec *spec, uint32_t pid,
                                   const struct config_strs *allow)
{
    struct check_spec *check = calloc(1, sizeof *check);
    if (check == NULL)
        return NULL;
    char number[16];
    snprintf(number, sizeof number, "%u", pid);
    check->kind = spec->kind;
    check->pid = pid;
    check->timeout_ms = spec->timeout_ms;
    check->http_status = spec->http_status;
    size_t count = 0;
    while (spec->argv != NULL && spec->argv[count] != NULL)
        count++;
    check->argv = calloc(count + 1, sizeof *check->argv);
    bool copied = check->argv != NULL;
    for (size_t i = 0; i < count && copied; i++)
        copied = (check->argv[i] = check_text_fill(spec->argv[i], "{pid}", number)) != NULL;
    if (spec->target != NULL && copied)
        copied = (check->target = check_text_fill(spec->target, "{pid}", number)) != NULL;
    if (spec->expect != NULL && copied)
        copied = (check->expect = strdup(spec->expect)) != NULL;
    if (!copied)
        check_spec_free(&check);
    else if (spec->kind == CHECK_EXEC)
        check->program = rule_program_allowed(check->argv[0], allow);
    return check;
}
