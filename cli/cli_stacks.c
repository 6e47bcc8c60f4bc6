/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the texts of the kept stacks and, of the partition at hand, which number each id has. One
 * thread.
 */
#include "cli_stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cli_out.h"
#include "intern_table.h"
#include "trace_stack.h"

#define BELOW_INDENT 8

struct kept_stacks {
    bool lines;
    struct intern_table texts; /* the JSON, a NUL, the lines, a NUL */
    struct partition_key key;  /* of the partition at hand: a reader may lie where another lay */
    uint32_t *numbers;         /* by id; 0: not asked for yet */
    size_t cap;
};

struct kept_stacks *kept_stacks_new(bool lines)
{
    struct kept_stacks *kept = calloc(1, sizeof *kept);
    if (kept != NULL)
        kept->lines = lines;
    return kept;
}

void kept_stacks_free(struct kept_stacks **kept)
{
    struct kept_stacks *k = *kept;
    *kept = NULL;
    if (k == NULL)
        return;
    intern_table_fini(&k->texts);
    free(k->numbers);
    free(k);
}

static int64_t stack_make(struct kept_stacks *kept, struct partition_reader *reader, uint32_t id)
{
    struct buf text = {0};
    bool fresh;
    int64_t number = SKEIN_NO_MEMORY;
    buf_put_u8(&text, '{');
    trace_stack_json(&text, reader, id);
    buf_put(&text, "}", 2);
    trace_stack_text(&text, reader, id, BELOW_INDENT);
    buf_put_u8(&text, 0);
    if (text.status == SKEIN_OK)
        number = intern_table_put(&kept->texts, text.data, text.len, &fresh);
    buf_fini(&text);
    return number < 0 ? number : number + 1;
}

int64_t kept_stacks_put(struct kept_stacks *kept, struct partition_reader *reader, uint32_t id)
{
    if (id == 0)
        return 0;
    size_t known = partition_reader_stack_count(reader) + 1, had = kept->cap;
    const struct partition_key *key = &partition_reader_info(reader)->key;
    if (!array_grow(kept->numbers, known, &kept->cap))
        return SKEIN_NO_MEMORY;
    if (!partition_key_equal(&kept->key, key))
        had = 0;
    memset(kept->numbers + had, 0, (kept->cap - had) * sizeof *kept->numbers);
    kept->key = *key;
    if (kept->numbers[id] != 0)
        return kept->numbers[id];
    int64_t number = stack_make(kept, reader, id);
    if (number > 0)
        kept->numbers[id] = (uint32_t)number;
    return number;
}

static const char *stack_at(const struct kept_stacks *kept, uint32_t number)
{
    return (const char *)intern_table_bytes(&kept->texts, number - 1);
}

void row_members_add(cJSON *row, const char *text)
{
    cJSON *members = cJSON_Parse(text), *member;
    while (members != NULL && (member = members->child) != NULL) {
        char name[16];
        snprintf(name, sizeof name, "%s", member->string);
        cJSON_DetachItemViaPointer(members, member);
        cJSON_AddItemToObject(row, name, member);
    }
    cJSON_Delete(members);
}

void kept_stacks_add(const struct kept_stacks *kept, uint32_t number, cJSON *row)
{
    if (number == 0)
        return;
    row_members_add(row, stack_at(kept, number));
    kept_stacks_below(kept, number, row);
}

void kept_stacks_below(const struct kept_stacks *kept, uint32_t number, cJSON *row)
{
    if (number == 0 || !kept->lines)
        return;
    const char *json = stack_at(kept, number);
    cJSON_AddStringToObject(row, TABLE_BELOW, json + strlen(json) + 1);
}
