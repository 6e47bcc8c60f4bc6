/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the reading of a daemon's configuration from its table of parameters: defaults, the JSON
 * file, the environment, options, the checks. Entered by one thread at a time for one struct. Never
 * prints; every failure is a sentence with the file and the path of the key. config_print.c prints
 * the table.
 *
 * The file is the operator's, not a stranger's: it is bounded, but errors explain themselves.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"
#include "text_whole.h"

enum { FILE_MAX = 1 << 20, PATH_MAX_BYTES = 256 };

/* One load: where failures go. */
struct load {
    const struct config_param *params;
    char *config;
    const char *file;
    char *error;
    size_t error_bytes;
};

/* ---- failures ---- */

__attribute__((format(printf, 3, 4))) static int config_fail(struct load *l, int status,
                                                             const char *format, ...)
{
    int n = snprintf(l->error, l->error_bytes, "%s: ", l->file != NULL ? l->file : "defaults");
    if (n < 0 || (size_t)n >= l->error_bytes)
        return status;
    va_list args;
    va_start(args, format);
    vsnprintf(l->error + n, l->error_bytes - (size_t)n, format, args);
    va_end(args);
    return status;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Edits (insert, delete, replace) from a to b. Paths have at most PATH_MAX_BYTES. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[PATH_MAX_BYTES + 1];
    size_t n = strnlen(b, PATH_MAX_BYTES);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            size_t above = row[j + 1];
            row[j + 1] = min3(above + 1, row[j] + 1, diagonal + (a[i] != b[j]));
            diagonal = above;
        }
    }
    return row[n];
}

/* The parameter with the nearest path, or whose last part is what was written; NULL: none is
 * near. */
static const struct config_param *param_find_near(const struct config_param *params,
                                                  const char *path)
{
    const struct config_param *best = NULL;
    size_t best_distance = strlen(path) / 3 + 1;
    const char *leaf = strrchr(path, '.');
    leaf = leaf != NULL ? leaf + 1 : path;
    for (const struct config_param *p = params; p->type != CONFIG_TYPE_NONE; p++) {
        const char *own = strrchr(p->path, '.');
        size_t distance = edit_distance(path, p->path);
        if (distance > 1 && strcmp(own != NULL ? own + 1 : p->path, leaf) == 0)
            distance = 1; /* the right key in the wrong object */
        if (distance < best_distance || (distance == best_distance && best == NULL)) {
            best = p;
            best_distance = distance;
        }
    }
    return best;
}

static int unknown_fail(struct load *l, const char *path)
{
    const struct config_param *near = param_find_near(l->params, path);
    if (near != NULL)
        return config_fail(l, SKEIN_INVALID, "%s: unknown key; did you mean %s?", path, near->path);
    return config_fail(l, SKEIN_INVALID, "%s: unknown key; --help lists all", path);
}

/* ---- values ---- */

static const struct config_param *param_find(const struct config_param *params, const char *path)
{
    for (const struct config_param *p = params; p->type != CONFIG_TYPE_NONE; p++)
        if (strcmp(p->path, path) == 0)
            return p;
    return NULL;
}

/* Whether a parameter lies below `path`, so that it must be an object. */
static bool is_section(const struct config_param *params, const char *path)
{
    size_t n = strlen(path);
    for (const struct config_param *p = params; p->type != CONFIG_TYPE_NONE; p++)
        if (strncmp(p->path, path, n) == 0 && p->path[n] == '.')
            return true;
    return false;
}

static void strs_free(struct config_strs *strs)
{
    for (size_t i = 0; i < strs->count; i++)
        free(strs->items[i]);
    free(strs->items);
    strs->items = NULL;
    strs->count = 0;
}

static int text_set(struct load *l, const struct config_param *p, const char *text)
{
    char **field = (char **)(void *)(l->config + p->offset);
    char *copy = strdup(text);
    if (copy == NULL)
        return config_fail(l, SKEIN_NO_MEMORY, "%s: out of memory", p->path);
    free(*field);
    *field = copy;
    return SKEIN_OK;
}

static int texts_set(struct load *l, const struct config_param *p, const cJSON *list)
{
    struct config_strs strs = {NULL, 0};
    size_t n = (size_t)cJSON_GetArraySize(list);
    strs.items = calloc(n + 1, sizeof *strs.items);
    if (strs.items == NULL)
        return config_fail(l, SKEIN_NO_MEMORY, "%s: out of memory", p->path);
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        if (!cJSON_IsString(item)) {
            size_t at = strs.count;
            strs_free(&strs);
            return config_fail(l, SKEIN_INVALID, "%s[%zu]: must be text", p->path, at);
        }
        strs.items[strs.count] = strdup(item->valuestring);
        if (strs.items[strs.count++] == NULL) {
            strs_free(&strs);
            return config_fail(l, SKEIN_NO_MEMORY, "%s: out of memory", p->path);
        }
    }
    struct config_strs *field = (struct config_strs *)(void *)(l->config + p->offset);
    strs_free(field);
    *field = strs;
    return SKEIN_OK;
}

const char *config_leaf(const struct config_param *p)
{
    const char *dot = strrchr(p->path, '.');
    if (p->type == CONFIG_TYPE_MAP)
        return "bytes"; /* the operator chooses the keys, so they name no unit */
    return dot != NULL ? dot + 1 : p->path;
}

/* Reads a number; `path` is where the item stands in the file. */
static int number_read(struct load *l, const struct config_param *p, const char *path,
                       const cJSON *item, uint64_t *number)
{
    /* The reader of numbers looks them up in an object by name, which also says their unit. */
    const char *name = config_leaf(p);
    char key[PATH_MAX_BYTES];
    snprintf(key, sizeof key, "%s", name);
    cJSON holder = {.type = cJSON_Object};
    cJSON copy = *item;
    copy.string = key;
    copy.next = copy.prev = NULL;
    holder.child = &copy;
    struct json_reader r = {""};
    uint64_t v = json_u64(&r, &holder, "", name, JSON_REQUIRED, 0, p->min, p->max);
    if (r.error[0])
        return config_fail(l, SKEIN_INVALID, "%s%s", path, r.error + strlen(name));
    *number = v;
    return SKEIN_OK;
}

static void map_free(struct config_map *map)
{
    for (size_t i = 0; i < map->count; i++)
        free(map->items[i].name);
    free(map->items);
    map->items = NULL;
    map->count = 0;
}

static int map_set(struct load *l, const struct config_param *p, const cJSON *object)
{
    struct config_map *map = (struct config_map *)(void *)(l->config + p->offset);
    map_free(map);
    map->items = calloc((size_t)cJSON_GetArraySize(object) + 1, sizeof *map->items);
    if (map->items == NULL)
        return config_fail(l, SKEIN_NO_MEMORY, "%s: out of memory", p->path);
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        struct config_entry *entry = &map->items[map->count];
        char path[PATH_MAX_BYTES];
        snprintf(path, sizeof path, "%s.%s", p->path, item->string);
        int status = number_read(l, p, path, item, &entry->number);
        if (status != SKEIN_OK)
            return status;
        entry->name = strdup(item->string);
        if (entry->name == NULL)
            return config_fail(l, SKEIN_NO_MEMORY, "%s: out of memory", p->path);
        map->count++;
    }
    return SKEIN_OK;
}

static int value_set(struct load *l, const struct config_param *p, const cJSON *item)
{
    switch (p->type) {
    case CONFIG_TYPE_STR:
        if (!cJSON_IsString(item))
            return config_fail(l, SKEIN_INVALID, "%s: must be text", p->path);
        return text_set(l, p, item->valuestring);
    case CONFIG_TYPE_U64:
        return number_read(l, p, p->path, item, (uint64_t *)(void *)(l->config + p->offset));
    case CONFIG_TYPE_BOOL:
        if (!cJSON_IsBool(item))
            return config_fail(l, SKEIN_INVALID, "%s: must be true or false", p->path);
        *(bool *)(l->config + p->offset) = cJSON_IsTrue(item);
        return SKEIN_OK;
    case CONFIG_TYPE_STRS:
        if (!cJSON_IsArray(item))
            return config_fail(l, SKEIN_INVALID, "%s: must be a list of texts", p->path);
        return texts_set(l, p, item);
    case CONFIG_TYPE_MAP:
        if (!cJSON_IsObject(item))
            return config_fail(l, SKEIN_INVALID, "%s: must be an object of names and sizes",
                               p->path);
        return map_set(l, p, item);
    case CONFIG_TYPE_NONE:
        break;
    }
    return SKEIN_OK;
}

static int default_set(struct load *l, const struct config_param *p)
{
    if (p->type == CONFIG_TYPE_STR)
        return text_set(l, p, p->otherwise != NULL ? p->otherwise : "");
    if (p->type == CONFIG_TYPE_U64)
        *(uint64_t *)(void *)(l->config + p->offset) = p->number;
    else if (p->type == CONFIG_TYPE_BOOL)
        *(bool *)(l->config + p->offset) = p->number != 0;
    return SKEIN_OK;
}

/* ---- the file ---- */

/* Recurses into sections only, hence as deep as the table's paths. */
static int object_read(struct load *l, const cJSON *object, const char *prefix)
{
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        char path[PATH_MAX_BYTES];
        int n = snprintf(path, sizeof path, "%s%s%s", prefix, prefix[0] ? "." : "", item->string);
        if (n < 0 || (size_t)n >= sizeof path)
            return config_fail(l, SKEIN_INVALID, "%.40s...: unknown key", item->string);
        if (strcmp(path, "$schema") == 0)
            continue; /* only the editor needs it */
        const struct config_param *param =
            strchr(item->string, '.') != NULL ? NULL : param_find(l->params, path);
        int status;
        if (param != NULL)
            status = value_set(l, param, item);
        else if (strchr(item->string, '.') != NULL || !is_section(l->params, path))
            status = unknown_fail(l, path);
        else if (!cJSON_IsObject(item))
            status = config_fail(l, SKEIN_INVALID, "%s: must be an object", path);
        else
            status = object_read(l, item, path);
        if (status != SKEIN_OK)
            return status;
    }
    return SKEIN_OK;
}

static int bytes_read(struct load *l, int fd, struct buf *text)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        return config_fail(l, SKEIN_IO, "is a folder");
    int status = text_whole_read(fd, FILE_MAX, text);
    if (status == SKEIN_NO_MEMORY)
        return config_fail(l, SKEIN_NO_MEMORY, "out of memory");
    if (status == SKEIN_TOO_LARGE)
        return config_fail(l, SKEIN_INVALID, "larger than %d bytes", FILE_MAX);
    if (status != SKEIN_OK)
        return config_fail(l, SKEIN_IO, "%s", strerror(errno));
    text->len--; /* the NUL */
    return SKEIN_OK;
}

static int text_read(struct load *l, const struct buf *text)
{
    char reason[160];
    cJSON *root = json_parse((const char *)text->data, text->len, reason, sizeof reason);
    if (root == NULL)
        return config_fail(l, SKEIN_INVALID, "%s", reason);
    int status = cJSON_IsObject(root) ? object_read(l, root, "")
                                      : config_fail(l, SKEIN_INVALID, "must be a JSON object");
    cJSON_Delete(root);
    return status;
}

static int config_file_read(struct load *l)
{
    int fd = open(l->file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return config_fail(l, SKEIN_IO, "%s", strerror(errno));
    struct buf text;
    buf_init(&text);
    int status = bytes_read(l, fd, &text);
    if (status == SKEIN_OK)
        status = text_read(l, &text);
    buf_fini(&text);
    close(fd);
    return status;
}

/* ---- the environment, and options ---- */

void config_variable(const char *daemon, const struct config_param *param,
                     char out[CONFIG_VARIABLE_BYTES])
{
    snprintf(out, CONFIG_VARIABLE_BYTES, "%s_%s", daemon, param->path);
    for (char *c = out; *c; c++)
        *c = *c == '-' || *c == '.' ? '_' : (char)toupper((unsigned char)*c);
}

static cJSON *list_of_text(const char *text)
{
    cJSON *list = cJSON_CreateArray();
    while (*text) {
        size_t n = strcspn(text, ",");
        char *item = strndup(text, n);
        if (item != NULL && n > 0)
            cJSON_AddItemToArray(list, cJSON_CreateString(item));
        free(item);
        text += n + (text[n] == ',');
    }
    return list;
}

/* What the text would be in a file, for example a number without quotes. */
static cJSON *value_of_text(const struct config_param *p, const char *text)
{
    char why[160];
    size_t n = strlen(text);
    if (p->type == CONFIG_TYPE_BOOL && (!strcmp(text, "true") || !strcmp(text, "false")))
        return cJSON_CreateBool(text[0] == 't');
    if (p->type == CONFIG_TYPE_U64 && n > 0 && n < 16 && strspn(text, "0123456789") == n)
        return cJSON_CreateNumber(strtod(text, NULL));
    if (p->type == CONFIG_TYPE_MAP || (p->type == CONFIG_TYPE_STRS && text[0] == '['))
        return json_parse(text, n, why, sizeof why);
    if (p->type == CONFIG_TYPE_STRS)
        return list_of_text(text);
    return cJSON_CreateString(text);
}

static int set_from_text(struct load *l, const struct config_param *p, const char *source,
                         const char *text)
{
    l->file = source;
    cJSON *item = value_of_text(p, text);
    if (item == NULL)
        return config_fail(l, SKEIN_INVALID, "%s: must be JSON, as in the file", p->path);
    int status = value_set(l, p, item);
    cJSON_Delete(item);
    return status;
}

/* Refuses a variable with a slip of one or two letters. Other programs' variables may begin
 * alike. */
static int param_refuse_near(struct load *l, const char *daemon, const char *variable)
{
    char name[CONFIG_VARIABLE_BYTES], near[CONFIG_VARIABLE_BYTES] = "";
    for (const struct config_param *p = l->params; p->type != CONFIG_TYPE_NONE; p++) {
        config_variable(daemon, p, name);
        size_t distance = edit_distance(name, variable);
        if (distance == 0)
            return SKEIN_OK;
        if (distance <= 2)
            memcpy(near, name, sizeof near);
    }
    l->file = variable;
    return near[0] ? config_fail(l, SKEIN_INVALID, "is no setting; did you mean %s?", near)
                   : SKEIN_OK;
}

static int config_environment_read(struct load *l, const char *daemon)
{
    char name[CONFIG_VARIABLE_BYTES];
    const struct config_param prefix = {.path = ""};
    int status = SKEIN_OK;
    for (const struct config_param *p = l->params; p->type != CONFIG_TYPE_NONE; p++) {
        config_variable(daemon, p, name);
        const char *text = getenv(name);
        if (text != NULL && status == SKEIN_OK)
            status = set_from_text(l, p, name, text);
    }
    config_variable(daemon, &prefix, name);
    for (char **variable = environ; status == SKEIN_OK && *variable != NULL; variable++) {
        char own[CONFIG_VARIABLE_BYTES];
        snprintf(own, sizeof own, "%.*s", (int)strcspn(*variable, "="), *variable);
        if (strncmp(own, name, strlen(name)) == 0)
            status = param_refuse_near(l, daemon, own);
    }
    l->file = NULL; /* it named a variable of here */
    return status;
}

static int set_read(struct load *l, const char *set)
{
    char path[PATH_MAX_BYTES];
    size_t n = strcspn(set, "=");
    l->file = "--set";
    if (!set[n] || n >= sizeof path)
        return config_fail(l, SKEIN_INVALID, "%s: must be KEY=VALUE", set);
    snprintf(path, sizeof path, "%.*s", (int)n, set);
    const struct config_param *p = param_find(l->params, path);
    return p != NULL ? set_from_text(l, p, "--set", set + n + 1) : unknown_fail(l, path);
}

static int defaults_set(struct load *l, const struct config_default *defaults)
{
    int status = SKEIN_OK;
    for (const struct config_param *p = l->params; p->type != CONFIG_TYPE_NONE; p++)
        if (status == SKEIN_OK)
            status = default_set(l, p);
    for (; status == SKEIN_OK && defaults != NULL && defaults->path != NULL; defaults++)
        if (defaults->value != NULL)
            status = text_set(l, param_find(l->params, defaults->path), defaults->value);
    return status;
}

int config_load(const struct config_param *params, void *config,
                const struct config_sources *sources, char *error, size_t error_bytes)
{
    struct load l = {params, config, NULL, error, error_bytes};
    if (error_bytes > 0)
        error[0] = '\0';
    int status = defaults_set(&l, sources->defaults);
    l.file = sources->file;
    if (status == SKEIN_OK && l.file != NULL)
        status = config_file_read(&l);
    if (status == SKEIN_OK && sources->daemon != NULL)
        status = config_environment_read(&l, sources->daemon);
    for (size_t i = 0; i < sources->set_count && status == SKEIN_OK; i++)
        status = set_read(&l, sources->sets[i]);
    if (status != SKEIN_OK)
        config_free(params, config);
    return status;
}

void config_free(const struct config_param *params, void *config)
{
    for (const struct config_param *p = params; p->type != CONFIG_TYPE_NONE; p++) {
        char *field = (char *)config + p->offset;
        switch (p->type) {
        case CONFIG_TYPE_STR:
            free(*(char **)(void *)field);
            *(char **)(void *)field = NULL;
            break;
        case CONFIG_TYPE_STRS:
            strs_free((struct config_strs *)(void *)field);
            break;
        case CONFIG_TYPE_MAP:
            map_free((struct config_map *)(void *)field);
            break;
        case CONFIG_TYPE_U64:
            *(uint64_t *)(void *)field = 0;
            break;
        case CONFIG_TYPE_BOOL:
            *(bool *)field = false;
            break;
        case CONFIG_TYPE_NONE:
            break;
        }
    }
}

static bool strs_differ(const struct config_strs *a, const struct config_strs *b)
{
    bool differ = a->count != b->count;
    for (size_t i = 0; i < a->count && !differ; i++)
        differ = strcmp(a->items[i], b->items[i]) != 0;
    return differ;
}

static bool maps_differ(const struct config_map *a, const struct config_map *b)
{
    bool differ = a->count != b->count;
    for (size_t i = 0; i < a->count && !differ; i++)
        differ = strcmp(a->items[i].name, b->items[i].name) != 0 ||
                 a->items[i].number != b->items[i].number;
    return differ;
}

bool config_differs(const struct config_param *param, const void *a, const void *b)
{
    const void *x = (const char *)a + param->offset, *y = (const char *)b + param->offset;
    switch (param->type) {
    case CONFIG_TYPE_STR:
        return strcmp(*(char *const *)x, *(char *const *)y) != 0;
    case CONFIG_TYPE_U64:
        return memcmp(x, y, sizeof(uint64_t)) != 0;
    case CONFIG_TYPE_BOOL:
        return memcmp(x, y, sizeof(bool)) != 0;
    case CONFIG_TYPE_STRS:
        return strs_differ(x, y);
    case CONFIG_TYPE_MAP:
        return maps_differ(x, y);
    case CONFIG_TYPE_NONE:
        break;
    }
    return false;
}
