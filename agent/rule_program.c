/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the check of a rule for one process; see rule_program.h. Any thread; looks at $PATH.
 */
#include "rule_program.h"

#include <stdlib.h>
#include <string.h>

/* A copy with every "{pid}" replaced; NULL when out of memory. */
static char *with_pid(const char *text, uint32_t pid)
{
    struct buf out = {0};
    for (const char *pos = text; *pos != '\0';) {
        if (strncmp(pos, "{pid}", 5) == 0) {
            buf_printf(&out, "%u", pid);
            pos += 5;
        } else {
            buf_put_u8(&out, (uint8_t)*pos++);
        }
    }
    buf_put_u8(&out, 0);
    if (out.status == SKEIN_OK)
        return (char *)out.data;
    buf_fini(&out);
    return NULL;
}

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
    check->kind = spec->kind;
    check->timeout_ms = spec->timeout_ms;
    check->http_status = spec->http_status;
    size_t count = 0;
    while (spec->argv != NULL && spec->argv[count] != NULL)
        count++;
    check->argv = calloc(count + 1, sizeof *check->argv);
    bool copied = check->argv != NULL;
    for (size_t i = 0; i < count && copied; i++)
        copied = (check->argv[i] = with_pid(spec->argv[i], pid)) != NULL;
    if (spec->target != NULL && copied)
        copied = (check->target = with_pid(spec->target, pid)) != NULL;
    if (spec->expect != NULL && copied)
        copied = (check->expect = strdup(spec->expect)) != NULL;
    if (!copied)
        check_spec_free(&check);
    else if (spec->kind == CHECK_EXEC)
        check->program = rule_program_allowed(check->argv[0], allow);
    return check;
}
