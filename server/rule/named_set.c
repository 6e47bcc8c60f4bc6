/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of things with names; see named_set.h. A replacement is a new thing that inherits from
 * the old one, and takes its place once it is saved.
 */
#include "named_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "log.h"

/* ---- the list ---- */

static struct named_item **item_place(struct named_item **list, const char *name)
{
    while (*list != NULL && strcmp((*list)->name, name) < 0)
        list = &(*list)->next;
    return list;
}

struct named_item *named_set_find(const struct named_set *set, const char *name)
{
    control_assert_locked(set->control);
    struct named_item *list = set->list, *item = *item_place(&list, name);
    return item != NULL && strcmp(item->name, name) == 0 ? item : NULL;
}

void named_set_insert(struct named_set *set, struct named_item *item)
{
    control_assert_locked(set->control);
    struct named_item **at = item_place(&set->list, item->name);
    item->next = *at;
    *at = item;
}

static struct named_item *item_remove(struct named_set *set, const char *name) CONTROL_LOCKED
{
    struct named_item **at = item_place(&set->list, name), *item = *at;
    *at = item->next;
    return item;
}

/* How much it is as text, with a comma, without what agents are not told. */
static size_t text_bytes(const cJSON *json)
{
    struct buf text = {0};
    json_print(json, &text);
    size_t n = text.status == SKEIN_OK ? text.len + 1 : PUSHED_SET_BYTES_MAX;
    const cJSON *notify = cJSON_GetObjectItemCaseSensitive(json, "notify");
    buf_fini(&text);
    if (notify == NULL || n >= PUSHED_SET_BYTES_MAX)
        return n;
    json_print(notify, &text);
    n -= text.len < n ? text.len : 0;
    buf_fini(&text);
    return n;
}

struct named_item *named_item_make(const struct named_kind *kind, const char *name, cJSON *json)
{
    struct named_item *item = json != NULL ? kind->make(json) : NULL;
    if (item == NULL) {
        cJSON_Delete(json);
        return NULL;
    }
    snprintf(item->name, sizeof item->name, "%s", name);
    item->json = json;
    item->pushed_bytes = text_bytes(json);
    item->selector = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "selector"));
    return item;
}

uint64_t named_number(const cJSON *object, const char *key)
{
    struct json_reader reader = {{0}};
    return object == NULL ? 0 : json_u64(&reader, object, "", key, JSON_OPTIONAL, 0, 0, UINT64_MAX);
}

void named_item_free(const struct named_kind *kind, struct named_item *item)
{
    if (item == NULL)
        return;
    cJSON_Delete(item->json);
    kind->free(item);
}

void named_set_publish(struct named_set *set, const char *name, const char *change)
{
    control_assert_locked(set->control);
    char type[32];
    cJSON *data = cJSON_CreateObject();
    snprintf(type, sizeof type, "%s.changed", set->kind->noun);
    cJSON_AddStringToObject(data, "change", change);
    struct event_note note = {.type = type, .about = set->kind->noun, .name = name, .data = data};
    events_publish(set->events, &note);
}

/* ---- load and save ---- */

void named_set_init(struct named_set *set, const struct named_kind *kind, void *context,
                    struct fleet *fleet, struct catalog *catalog, struct events *events)
{
    uint64_t generation = catalog_generation(catalog, fleet_set_text(kind->set));
    *set = (struct named_set){.kind = kind,
                              .context = context,
                              .control = fleet_control(fleet),
                              .catalog = catalog,
                              .events = events,
                              .pushed = {.fleet = fleet,
                                         .set = kind->set,
                                         .generation = generation,
                                         .since = generation,
                                         .list = kind->list,
                                         .context = context}};
    pthread_mutex_init(&set->changing, NULL);
}

/* Nobody else has the set any more. */
void named_set_fini(struct named_set *set) CONTROL_ALONE
{
    while (set->list != NULL) {
        struct named_item *item = set->list;
        set->list = item->next;
        named_item_free(set->kind, item);
    }
    pthread_mutex_destroy(&set->changing);
}

struct named_item *named_set_load(struct named_set *set, const char *name, const char *json)
{
    control_assert_locked(set->control);
    char error[256] = "out of memory";
    cJSON *stored = json_parse(json, strlen(json), error, sizeof error);
    cJSON *checked = stored != NULL ? set->kind->check(name, stored, error, sizeof error) : NULL;
    struct named_item *item = checked != NULL ? named_item_make(set->kind, name, checked) : NULL;
    cJSON_Delete(stored);
    if (item != NULL)
        named_set_insert(set, item);
    else
        log_error(set->kind->folder, "a stored one is unusable and left out", set->kind->noun, name,
                  "error", error, NULL);
    return item;
}

void named_set_mark(struct named_set *set, struct named_item *item)
{
    control_assert_locked(set->control);
    saving_mark(&item->save);
    control_mark_dirty(set->control);
}

static void item_save(struct named_set *set, struct named_item *item) CONTROL_LOCKED
{
    struct buf text = {0};
    json_print(item->json, &text);
    buf_put_u8(&text, 0);
    catalog_refuse(set->catalog, text.status);
    set->kind->save(set->context, item, (const char *)text.data);
    buf_fini(&text);
}

/* With what the thing that it replaces has counted by now: that may be saved with it. */
static void put_save(struct named_set *set) CONTROL_LOCKED
{
    const struct named_item *old = named_set_find(set, set->put->name);
    if (old != NULL)
        set->kind->inherit(set->put, old);
    item_save(set, set->put);
}

/* The change comes last: it replaces what is saved of the thing as it was. */
void named_set_save(struct named_set *set)
{
    control_assert_locked(set->control);
    for (struct named_item *item = set->list; item != NULL; item = item->next)
        if (saving_take(&item->save))
            item_save(set, item);
    if (set->put != NULL)
        put_save(set);
    else if (set->deleted != NULL)
        set->kind->drop(set->catalog, set->deleted);
    else
        return;
    catalog_put_generation(set->catalog, fleet_set_text(set->kind->set),
                           set->pushed.generation + 1);
}

void named_set_saved(struct named_set *set, bool ok)
{
    control_assert_locked(set->control);
    for (struct named_item *item = set->list; item != NULL; item = item->next)
        saving_end(&item->save, ok);
}

/* Saves the change with its generation; the set is still as it was. */
static int named_set_commit(struct named_set *set, struct named_item *put,
                            const char *deleted) CONTROL_LOCKED
{
    set->put = put;
    set->deleted = deleted;
    control_mark_dirty(set->control);
    int status = control_save(set->control);
    set->put = NULL;
    set->deleted = NULL;
    if (status == SKEIN_OK)
        set->pushed.generation++;
    return status;
}

/* ---- put, get, delete ---- */

static bool is_pushed(const struct named_set *set, const struct named_item *item)
{
    return set->kind->is_pushed == NULL || set->kind->is_pushed(item);
}

static const char *pushed_selector(const struct named_set *set, const struct named_item *item)
{
    return item != NULL && is_pushed(set, item) ? item->selector : NULL;
}

/* `before` and `item`: as it was and is; NULL: it was not, or is no more. */
static void named_set_tell(struct named_set *set, const char *name, const struct named_item *before,
                           const struct named_item *item, const char *change) CONTROL_LOCKED
{
    if (set->kind->changed != NULL)
        set->kind->changed(set->context, name, item);
    pushed_set_changed(&set->pushed, name, pushed_selector(set, before), pushed_selector(set, item),
                       item == NULL);
    named_set_publish(set, name, change);
}

/* Puts it in the place of the old one, which is given back; NULL: there was none. */
static struct named_item *replace(struct named_set *set, struct named_item *fresh) CONTROL_LOCKED
{
    struct named_item *old = named_set_find(set, fresh->name);
    if (old != NULL) {
        set->kind->inherit(fresh, old);
        item_remove(set, old->name);
    }
    named_set_insert(set, fresh);
    return old;
}

/* Of a set whose things are written otherwise than they are kept: it is written, which is as slow as
 * it has things. */
static int fits_written(struct named_set *set, struct named_item *fresh) CONTROL_LOCKED
{
    struct named_item *old = replace(set, fresh);
    cJSON *list = set->kind->list(set->context, NULL, PUSHED_WHOLE, NULL);
    struct buf text = {0};
    json_print(list, &text);
    cJSON_Delete(list);
    int status = text.len > PUSHED_SET_BYTES_MAX ? SKEIN_TOO_LARGE : text.status;
    buf_fini(&text);
    item_remove(set, fresh->name);
    if (old != NULL)
        named_set_insert(set, old);
    return status;
}

/* Whether the set with it, in the place of the old one, fits a message. */
static int fits(struct named_set *set, struct named_item *fresh) CONTROL_LOCKED
{
    if (set->kind->is_pushed == NULL)
        return fits_written(set, fresh);
    size_t bytes = is_pushed(set, fresh) ? fresh->pushed_bytes : 0;
    for (const struct named_item *item = set->list; item != NULL; item = item->next)
        if (strcmp(item->name, fresh->name) != 0 && is_pushed(set, item))
            bytes += item->pushed_bytes;
    return bytes > PUSHED_SET_BYTES_MAX ? SKEIN_TOO_LARGE : SKEIN_OK;
}

/* Saves it and puts it in place. Takes fresh. */
static int item_put_locked(struct named_set *set, struct named_item *fresh,
                           bool *created) CONTROL_LOCKED
{
    fresh->generation = set->pushed.generation + 1;
    int status = fits(set, fresh);
    if (status == SKEIN_OK)
        status = named_set_commit(set, fresh, NULL);
    if (status != SKEIN_OK) {
        named_item_free(set->kind, fresh);
        return status;
    }
    struct named_item *old = replace(set, fresh); /* with what it has counted meanwhile */
    *created = old == NULL;
    if (old != NULL && set->kind->take != NULL)
        set->kind->take(fresh, old);
    if (old != NULL && old->save != SAVE_NOTHING)
        named_set_mark(set, fresh);
    named_set_tell(set, fresh->name, old, fresh, *created ? "created" : "replaced");
    named_item_free(set->kind, old);
    return SKEIN_OK;
}

static int item_change_locked(struct named_set *set, const char *name,
                              const struct named_change *change, bool *created, char *error,
                              size_t error_bytes) CONTROL_LOCKED
{
    const struct named_item *old = named_set_find(set, name);
    cJSON *wanted, *checked;
    int status = named_changed(change, old != NULL ? old->json : NULL, &wanted);
    if (status != SKEIN_OK)
        return status;
    checked = set->kind->check(name, wanted, error, error_bytes);
    cJSON_Delete(wanted);
    if (checked == NULL)
        return SKEIN_INVALID;
    struct named_item *fresh = named_item_make(set->kind, name, checked);
    return fresh != NULL ? item_put_locked(set, fresh, created) : SKEIN_NO_MEMORY;
}

int named_set_put(struct named_set *set, const char *name, const struct named_change *change,
                  bool *created, cJSON **out, char *error, size_t error_bytes)
{
    *out = NULL;
    pthread_mutex_lock(&set->changing);
    control_lock(set->control);
    int status = item_change_locked(set, name, change, created, error, error_bytes);
    if (status == SKEIN_OK)
        *out = set->kind->state(set->context, named_set_find(set, name));
    control_unlock(set->control);
    pthread_mutex_unlock(&set->changing);
    if (status == SKEIN_OK)
        log_info(set->kind->folder, *created ? "created" : "replaced", set->kind->noun, name, NULL);
    return status;
}

int named_set_get(struct named_set *set, const char *name, cJSON **out)
{
    control_lock(set->control);
    struct named_item *item = named_set_find(set, name);
    *out = item != NULL ? set->kind->state(set->context, item) : NULL;
    control_unlock(set->control);
    return item != NULL ? SKEIN_OK : SKEIN_NOT_FOUND;
}

cJSON *named_set_list(struct named_set *set)
{
    cJSON *all = cJSON_CreateArray();
    control_lock(set->control);
    for (struct named_item *item = set->list; item != NULL; item = item->next)
        cJSON_AddItemToArray(all, set->kind->state(set->context, item));
    control_unlock(set->control);
    return all;
}

int named_set_delete(struct named_set *set, const char *name, const struct named_if *when)
{
    pthread_mutex_lock(&set->changing);
    control_lock(set->control);
    const struct named_item *item = named_set_find(set, name);
    int status = item == NULL                      ? SKEIN_NOT_FOUND
                 : !named_allows(when, item->json) ? SKEIN_EXISTS
                                                   : named_set_commit(set, NULL, name);
    if (status == SKEIN_OK) {
        struct named_item *old = item_remove(set, name);
        named_set_tell(set, name, old, NULL, "deleted");
        named_item_free(set->kind, old);
    }
    control_unlock(set->control);
    pthread_mutex_unlock(&set->changing);
    if (status == SKEIN_OK)
        log_info(set->kind->folder, "deleted", set->kind->noun, name, NULL);
    return status;
}

int named_set_selector(struct named_set *set, const char *name, char **out)
{
    control_lock(set->control);
    const struct named_item *item = named_set_find(set, name);
    *out = item != NULL ? strdup(item->selector) : NULL;
    control_unlock(set->control);
    return item == NULL ? SKEIN_NOT_FOUND : *out == NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
}
