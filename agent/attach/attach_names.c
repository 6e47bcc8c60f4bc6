/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of processes; see attach_names.h.
 */
#include "attach_names.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "attach_int.h"
#include "clock.h"
#include "log.h"
#include "log_limit.h"
#include "selector.h"

#define USERS_FILE   "/etc/passwd"
#define USERS_KNOWN  64 /* that are remembered */
#define LINES_MAX    10 /* of the log, a minute */
#define RECORD_BYTES 4096
#define PREFIX_BYTES 96 /* uid=N,user=NAME, */
#define USER_BYTES   64
#define LABELS_MAX   1000000 /* more are nobody's */

/* One user who may call its processes so. */
struct owner {
    char service[128];
    uint32_t uid;
};

struct user {
    bool known; /* the slot is taken */
    uint32_t uid;
    char name[USER_BYTES]; /* "": the file has none */
};

struct attach_names {
    struct owner *owners;
    size_t owner_count, owner_cap;
    struct user users[USERS_KNOWN]; /* by uid % USERS_KNOWN */
    struct timespec users_as_of;    /* the file's time, when they were read */
    struct log_limit lines;
};

/* ---- services that are bound ---- */

static bool user_find(const char *text, uint32_t *uid)
{
    struct passwd user, *found = NULL;
    char record[RECORD_BYTES], *end;
    unsigned long number = strtoul(text, &end, 10);
    if (*text >= '0' && *text <= '9' && *end == '\0' && number < UINT32_MAX) {
        *uid = (uint32_t)number;
        return true;
    }
    if (getpwnam_r(text, &user, record, sizeof record, &found) != 0 || found == NULL)
        return false;
    *uid = user.pw_uid;
    return true;
}

static int owner_add(struct attach_names *names, const char *service, size_t service_bytes,
                     const char *user, char *error, size_t error_bytes)
{
    struct owner owner = {.uid = 0};
    if (service_bytes == 0 || service_bytes >= sizeof owner.service || *user == '\0' ||
        !user_find(user, &owner.uid)) {
        snprintf(error, error_bytes, "processes.service_users: %.*s=%s: %s", (int)service_bytes,
                 service, user,
                 *user == '\0' || service_bytes == 0 ? "must be SERVICE=USER" : "no such user");
        return SKEIN_INVALID;
    }
    if (!array_grow(names->owners, names->owner_count + 1, &names->owner_cap))
        return SKEIN_NO_MEMORY;
    memcpy(owner.service, service, service_bytes);
    names->owners[names->owner_count++] = owner;
    return SKEIN_OK;
}

static int bound_add(struct attach_names *names, const char *bound, char *error, size_t error_bytes)
{
    size_t service_bytes = strcspn(bound, "=");
    const char *at = bound + service_bytes;
    int status;
    do {
        char user[USER_BYTES];
        at += *at != '\0';
        size_t n = strcspn(at, ",");
        snprintf(user, sizeof user, "%.*s", n < sizeof user ? (int)n : 0, at);
        status = owner_add(names, bound, service_bytes, user, error, error_bytes);
        at += n;
    } while (status == SKEIN_OK && *at == ',');
    return status;
}

int attach_names_new(char *const *bounds, size_t count, struct attach_names **out, char *error,
                     size_t error_bytes)
{
    struct attach_names *names = calloc(1, sizeof *names);
    int status = names != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    for (size_t i = 0; i < count && status == SKEIN_OK; i++)
        status = bound_add(names, bounds[i], error, error_bytes);
    if (status == SKEIN_OK)
        names->lines.most = LINES_MAX;
    if (status == SKEIN_NO_MEMORY)
        snprintf(error, error_bytes, "out of memory");
    if (status != SKEIN_OK)
        attach_names_free(&names);
    *out = names;
    return status;
}

void attach_names_free(struct attach_names **names)
{
    if (*names == NULL)
        return;
    free((*names)->owners);
    free(*names);
    *names = NULL;
}

static bool may_be_called(const struct attach_names *names, const char *service, uint32_t uid)
{
    bool bound = false;
    for (size_t i = 0; i < names->owner_count; i++) {
        if (strcmp(names->owners[i].service, service) != 0)
            continue;
        if (names->owners[i].uid == uid)
            return true;
        bound = true;
    }
    return !bound;
}

static void service_set(struct attach_names *names, struct process *p, const char *service,
                        uint32_t uid)
{
    char name[sizeof p->service];
    attach_text_clean(name, sizeof name, service);
    if (may_be_called(names, name, uid)) {
        memcpy(p->service, name, sizeof name);
        return;
    }
    snprintf(p->service, sizeof p->service, "%.*s.uid-%" PRIu32, (int)sizeof p->service - 20, name,
             uid);
    if (log_limit_take(&names->lines, clock_monotonic_ns()))
        log_warn("attach",
                 "a process calls itself as a service of other users: it has another name",
                 "service", name, "pid", log_fmt("%" PRIu32, p->pid), "uid",
                 log_fmt("%" PRIu32, uid), "name", p->service, NULL);
}

/* ---- users ---- */

/* What the file says; a moment for each thousand lines. */
static void user_read(struct user *user)
{
    struct passwd entry, *found = NULL;
    char record[RECORD_BYTES];
    FILE *file = fopen(USERS_FILE, "re");
    user->name[0] = '\0';
    while (file != NULL && fgetpwent_r(file, &entry, record, sizeof record, &found) == 0)
        if (entry.pw_uid == user->uid) {
            snprintf(user->name, sizeof user->name, "%s", entry.pw_name);
            break;
        }
    if (file != NULL)
        fclose(file);
}

static const char *user_name(struct attach_names *names, uint32_t uid)
{
    struct user *user = &names->users[uid % USERS_KNOWN];
    struct stat about;
    if (stat(USERS_FILE, &about) == 0 &&
        memcmp(&about.st_mtim, &names->users_as_of, sizeof about.st_mtim) != 0) {
        memset(names->users, 0, sizeof names->users);
        names->users_as_of = about.st_mtim;
    }
    if (!user->known || user->uid != uid) {
        *user = (struct user){.known = true, .uid = uid};
        user_read(user);
    }
    return user->name;
}

/* ---- labels ---- */

#define CUT       "labels_cut"
#define CUT_BYTES (sizeof "," CUT "=" + 10)

static bool is_key(const char *key, size_t n, const char *name)
{
    return n == strlen(name) && memcmp(key, name, n) == 0;
}

/* Appends the pairs that it may claim, as far as they have room whole. Returns how many have none, those
 * included that its tracer had no room for and tells of; uid and user are the kernel's word. */
static uint64_t claims_put(char *labels, size_t bytes, const char *claims)
{
    const char *key, *value;
    size_t key_bytes, value_bytes, used = strlen(labels);
    uint64_t left_out = 0;
    while (labels_next(&claims, &key, &key_bytes, &value, &value_bytes)) {
        if (is_key(key, key_bytes, CUT))
            left_out += strtoul(value, NULL, 10) % LABELS_MAX;
        if (is_key(key, key_bytes, CUT) || is_key(key, key_bytes, "uid") ||
            is_key(key, key_bytes, "user"))
            continue;
        if (key_bytes + value_bytes + 2 >= bytes - used)
            left_out++;
        else
            used += (size_t)snprintf(labels + used, bytes - used, ",%.*s=%.*s", (int)key_bytes, key,
                                     (int)value_bytes, value);
    }
    return left_out;
}

static void labels_set(struct attach_names *names, struct process *p, const char *claims)
{
    const size_t own = strlen(p->labels);
    uint64_t left_out = claims_put(p->labels, sizeof p->labels, claims);
    if (left_out == 0)
        return;
    p->labels[own] = '\0'; /* once more, with room to say so */
    left_out = claims_put(p->labels, sizeof p->labels - CUT_BYTES, claims);
    snprintf(p->labels + strlen(p->labels), CUT_BYTES, "," CUT "=%" PRIu64, left_out);
    if (log_limit_take(&names->lines, clock_monotonic_ns()))
        log_warn("attach", "labels of a process have no room: they are left out", "service",
                 p->service, "pid", log_fmt("%" PRIu32, p->pid), "left_out",
                 log_fmt("%" PRIu64, left_out), "most", log_fmt("%zu bytes", sizeof p->labels - 1),
                 NULL);
}

void attach_names_set(struct attach_names *names, struct process *p, const char *service,
                      const char *labels, uint32_t uid)
{
    char claims[sizeof p->labels];
    const char *user = user_name(names, uid);
    service_set(names, p, service, uid);
    attach_text_clean(claims, sizeof claims, labels);
    labels_clean(claims); /* the collector refuses a report with others, and with it the host's */
    snprintf(p->labels, PREFIX_BYTES, "uid=%" PRIu32 "%s%s", uid, user[0] != '\0' ? ",user=" : "",
             user);
    labels_clean(p->labels);
    labels_set(names, p, claims);
}
