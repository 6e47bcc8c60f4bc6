/* SPDX-License-Identifier: Apache-2.0
 *
 * See enroll.h. Owns folder/keys (current.key, previous.key) and folder/enroll.db. Several
 * processes may have both open; each change is one statement or one transaction. Never stores a
 * token, only its hash. Any thread; keys are cached under a mutex and read again when their files
 * have changed.
 */
#include "enroll.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db.h"
#include "errno_status.h"
#include "log.h"
#include "no_sync.h"

#define TOKEN_HEAD "skj_"

struct stamp { /* what changes when a file is replaced */
    ino_t inode;
    struct timespec time;
};

struct enroll {
    struct db *db;
    char *folder;
    bool is_new;
    pthread_mutex_t mutex; /* guards what follows */
    struct seal_pair keys[ENROLL_KEYS];
    size_t key_count;
    struct stamp stamps[ENROLL_KEYS];
};

static const char *const names[ENROLL_KEYS] = {"current.key", "previous.key"};

static bool key_path(const char *folder, const char *name, char out[4096])
{
    return snprintf(out, 4096, "%s/keys/%s", folder, name) < 4096;
}

/* ---- keys ---- */

static bool stamps_read(const char *folder, struct stamp stamps[ENROLL_KEYS])
{
    char path[4096];
    memset(stamps, 0, ENROLL_KEYS * sizeof *stamps);
    for (int i = 0; i < ENROLL_KEYS; i++) {
        struct stat st;
        if (!key_path(folder, names[i], path))
            return false;
        if (stat(path, &st) == 0) {
            stamps[i].inode = st.st_ino;
            stamps[i].time = st.st_ctim;
        }
    }
    return true;
}

/* Reads the keys. If their files cannot be read, the keys stay as they were. */
static int keys_load(struct enroll *e, char *error, size_t error_bytes)
{
    struct seal_pair fresh[ENROLL_KEYS];
    struct stamp stamps[ENROLL_KEYS];
    char path[4096];
    size_t count = 0;
    int status = stamps_read(e->folder, stamps) ? SKEIN_OK : SKEIN_IO;
    for (int i = 0; status == SKEIN_OK && i < ENROLL_KEYS; i++) {
        if (!key_path(e->folder, names[i], path))
            status = SKEIN_IO;
        else if ((status = seal_file_read(path, &fresh[count], error, error_bytes)) == SKEIN_OK)
            count++;
        else if (status == SKEIN_NOT_FOUND)
            status = SKEIN_OK;
    }
    if (status == SKEIN_OK) {
        memcpy(e->keys, fresh, count * sizeof fresh[0]);
        e->key_count = count;
        memcpy(e->stamps, stamps, sizeof stamps);
    }
    seal_wipe(fresh, sizeof fresh);
    return status;
}

size_t enroll_keys(struct enroll *e, struct seal_pair keys[ENROLL_KEYS])
{
    struct stamp now[ENROLL_KEYS];
    char error[512] = "";
    pthread_mutex_lock(&e->mutex);
    if (stamps_read(e->folder, now) && memcmp(now, e->stamps, sizeof now) != 0) {
        if (keys_load(e, error, sizeof error) != SKEIN_OK)
            log_error("enroll", "the collector's keys cannot be read; the old ones stay", "error",
                      error, NULL);
        else
            log_info("enroll", "the collector's keys have changed", NULL);
        memcpy(e->stamps, now, sizeof now);
    }
    size_t count = e->key_count;
    memcpy(keys, e->keys, sizeof e->keys);
    pthread_mutex_unlock(&e->mutex);
    return count;
}

/* Whether both names are one file: a rotation that was killed leaves that. */
static bool is_same_file(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static int enroll_rotate(const char *folder, const struct seal_pair *pair, char *error,
                         size_t error_bytes)
{
    char current[4096], previous[4096], next[4096];
    if (!key_path(folder, names[0], current) || !key_path(folder, names[1], previous) ||
        !key_path(folder, "next.key", next))
        return SKEIN_IO;
    if (access(current, F_OK) != 0) {
        snprintf(error, error_bytes, "%s: there is no key yet", current);
        return SKEIN_NOT_FOUND;
    }
    if (access(previous, F_OK) == 0 && !is_same_file(current, previous)) {
        snprintf(error, error_bytes,
                 "%s: is still there from the rotation before, and agents may know no newer key: "
                 "retire it first (--retire), when all have had their session",
                 previous);
        return SKEIN_EXISTS;
    }
    unlink(next); /* a rotation that was killed may have left it */
    int status = seal_file_write(next, pair, error, error_bytes);
    if (status != SKEIN_OK)
        return status;
    /* First the previous name gets the current key, then the current one is replaced. So a reader
     * at any moment finds the key that agents have pinned. */
    unlink(previous);
    if (link(current, previous) == 0 && rename(next, current) == 0)
        return SKEIN_OK;
    snprintf(error, error_bytes, "%s: %s", current, strerror(errno));
    return SKEIN_IO;
}

static int keys_change(const char *folder, enum enroll_key_change change,
                       const struct seal_pair *pair, char *error, size_t error_bytes)
{
    char path[4096];
    if (change == ENROLL_ROTATE)
        return enroll_rotate(folder, pair, error, error_bytes);
    if (!key_path(folder, names[change == ENROLL_MAKE ? 0 : 1], path))
        return SKEIN_IO;
    if (change == ENROLL_MAKE)
        return seal_file_write(path, pair, error, error_bytes);
    if (unlink(path) == 0)
        return SKEIN_OK;
    int status = status_of_errno(errno);
    snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
    return status;
}

/* Gives what root makes to the collector's user, the owner of the folder. `keys` is the open folder
 * of the keys. Never follows a link, nor gives away a file that has another name elsewhere. */
static bool keys_give(const char *folder, int keys)
{
    struct stat owner, st;
    if (geteuid() != 0)
        return true;
    if (stat(folder, &owner) != 0 || fchown(keys, owner.st_uid, owner.st_gid) != 0)
        return false;
    bool ok = true;
    for (int i = 0; i < ENROLL_KEYS; i++) {
        int fd = openat(keys, names[i], O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0)
            continue;
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1)
            ok &= fchown(fd, owner.st_uid, owner.st_gid) == 0;
        close(fd);
    }
    return ok;
}

int enroll_change_keys(const char *folder, enum enroll_key_change change, char *error,
                       size_t error_bytes)
{
    char path[4096];
    struct seal_pair pair;
    int status = seal_init();
    if (status != SKEIN_OK || !key_path(folder, "", path)) {
        snprintf(error, error_bytes, "no randomness, or too long a path");
        return SKEIN_IO;
    }
    /* One at a time: two rotations at once could lose the key that agents have pinned from both
     * places. */
    bool there = mkdir(path, 0700) == 0 || errno == EEXIST;
    path[strlen(path) - 1] = '\0'; /* its slash would follow a link */
    int lock = there ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (lock < 0 || flock(lock, LOCK_EX) != 0) {
        snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
        if (lock >= 0)
            close(lock);
        return SKEIN_IO;
    }
    seal_pair_make(&pair);
    no_sync_check(); /* seal_file_write syncs */
    status = keys_change(folder, change, &pair, error, error_bytes);
    seal_wipe(&pair, sizeof pair);
    if (!keys_give(folder, lock) && status == SKEIN_OK) {
        snprintf(error, error_bytes, "%s: cannot be given to the owner of %s: %s", path, folder,
                 strerror(errno));
        status = SKEIN_IO;
    }
    close(lock);
    return status;
}

/* ---- agents ---- */

static int agent_take(void *context, struct db_row *row)
{
    struct enroll_agent *a = context;
    size_t n;
    a->agent = (uint64_t)db_i64(row, 0);
    const void *key = db_blob(row, 1, &n);
    if (n == sizeof a->key.bytes)
        memcpy(a->key.bytes, key, n);
    a->enrolled_ns = (uint64_t)db_i64(row, 2);
    a->revoked_ns = (uint64_t)db_i64(row, 3);
    return 1;
}

#define AGENT_COLUMNS "SELECT id,key,enrolled,revoked FROM agent"

static int64_t agent_find(struct enroll *e, uint64_t agent, struct enroll_agent *out)
{
    memset(out, 0, sizeof *out);
    return db_run(e->db, AGENT_COLUMNS " WHERE id=?", agent_take, out, DB(DB_I64((int64_t)agent)));
}

static int enroll_refuse(char *reason, size_t reason_bytes, const char *words)
{
    snprintf(reason, reason_bytes, "%s", words);
    return SKEIN_REFUSED;
}

static void token_id(const uint8_t hash[32], char out[ENROLL_ID_BYTES])
{
    for (int i = 0; i < 8; i++)
        snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

static int64_t token_use(struct enroll *e, const char *token, uint64_t now_ns,
                         char id[ENROLL_ID_BYTES])
{
    uint8_t hash[32];
    seal_hash(token, strlen(token), hash);
    token_id(hash, id);
    return db_run(e->db,
                  "UPDATE token SET uses_left=uses_left-1 WHERE hash=? AND uses_left>0 AND "
                  "expires>?",
                  NULL, NULL, DB(DB_BLOB(hash, sizeof hash), DB_I64((int64_t)now_ns)));
}

static int enroll_join(struct enroll *e, uint64_t agent, const struct seal_public *key,
                       const char *token, uint64_t now_ns, char by[ENROLL_ID_BYTES], char *reason,
                       size_t reason_bytes)
{
    char id[ENROLL_ID_BYTES];
    int status = db_begin(e->db);
    if (status != SKEIN_OK)
        return status;
    int64_t used = token_use(e, token, now_ns, id);
    int64_t put = used == 1
                      ? db_run(e->db, "INSERT INTO agent(id,key,enrolled,revoked) VALUES(?,?,?,0)",
                               NULL, NULL,
                               DB(DB_I64((int64_t)agent), DB_BLOB(key->bytes, sizeof key->bytes),
                                  DB_I64((int64_t)now_ns)))
                      : used;
    status = db_end(e->db, used == 0 ? SKEIN_REFUSED : db_status(put));
    if (used == 0)
        return enroll_refuse(reason, reason_bytes,
                             "the join token is unknown, expired, revoked or used up");
    if (status == SKEIN_OK)
        memcpy(by, id, sizeof id);
    return status;
}

int enroll_admit(struct enroll *e, uint64_t agent, const struct seal_public *key, const char *token,
                 uint64_t now_ns, char by[ENROLL_ID_BYTES], char *reason, size_t reason_bytes)
{
    struct enroll_agent known;
    by[0] = '\0';
    int64_t found = agent_find(e, agent, &known);
    if (found < 0)
        return (int)found;
    if (found > 0 && known.revoked_ns != 0)
        return enroll_refuse(reason, reason_bytes, "this agent is revoked");
    if (found > 0 && seal_public_equal(&known.key, key))
        return SKEIN_OK;
    if (found > 0)
        return enroll_refuse(reason, reason_bytes,
                             "this agent is enrolled with another key; forget it, then join anew");
    if (agent == 0 || token[0] == '\0')
        return enroll_refuse(reason, reason_bytes,
                             "this agent is not enrolled and sent no join token");
    return enroll_join(e, agent, key, token, now_ns, by, reason, reason_bytes);
}

bool enroll_is_good(struct enroll *e, uint64_t agent)
{
    struct enroll_agent known;
    return agent_find(e, agent, &known) > 0 && known.revoked_ns == 0;
}

int enroll_agent_find(struct enroll *e, uint64_t agent, struct enroll_agent *out)
{
    int64_t found = agent_find(e, agent, out);
    return found < 0 ? (int)found : found == 0 ? SKEIN_NOT_FOUND : SKEIN_OK;
}

struct list_agents {
    enroll_agent_fn *fn;
    void *context;
};

static int agent_list(void *context, struct db_row *row)
{
    struct list_agents *l = context;
    struct enroll_agent agent = {0};
    agent_take(&agent, row);
    return l->fn(l->context, &agent);
}

int64_t enroll_agents(struct enroll *e, enroll_agent_fn *fn, void *context)
{
    struct list_agents l = {fn, context};
    return db_run(e->db, AGENT_COLUMNS " ORDER BY enrolled,id", agent_list, &l, NULL);
}

static int one_row(int64_t changed)
{
    return changed < 0 ? (int)changed : changed == 0 ? SKEIN_NOT_FOUND : SKEIN_OK;
}

/* The change and its count, in one transaction: who sees the count sees the change. */
static int agent_change(struct enroll *e, const char *sql, const struct db_bind *binds)
{
    int status = db_begin(e->db);
    if (status != SKEIN_OK)
        return status;
    status = one_row(db_run(e->db, sql, NULL, NULL, binds));
    if (status == SKEIN_OK)
        status = one_row(db_run(e->db, "UPDATE changes SET n=n+1", NULL, NULL, NULL));
    return db_end(e->db, status);
}

int enroll_revoke(struct enroll *e, uint64_t agent, uint64_t now_ns)
{
    return agent_change(e, "UPDATE agent SET revoked=? WHERE id=?",
                        DB(DB_I64((int64_t)now_ns), DB_I64((int64_t)agent)));
}

int enroll_forget(struct enroll *e, uint64_t agent)
{
    return agent_change(e, "DELETE FROM agent WHERE id=?", DB(DB_I64((int64_t)agent)));
}

int64_t enroll_changes(struct enroll *e)
{
    int64_t n = 0;
    int status = db_number(e->db, "SELECT n FROM changes", &n, NULL);
    return status < 0 ? status : n;
}

/* ---- join tokens ---- */

static int64_t forgotten_before(uint64_t now_ns)
{
    return now_ns > ENROLL_KEEP_NS ? (int64_t)(now_ns - ENROLL_KEEP_NS) : 0;
}

int enroll_token_create(struct enroll *e, uint64_t now_ns, uint64_t expires_ns, uint64_t uses,
                        char id[ENROLL_ID_BYTES], char text[ENROLL_TOKEN_BYTES])
{
    uint8_t secret[SEAL_KEY_BYTES], hash[32];
    char letters[SEAL_TEXT_BYTES];
    seal_random(secret, sizeof secret);
    seal_key_text(secret, letters);
    snprintf(text, ENROLL_TOKEN_BYTES, TOKEN_HEAD "%s", letters);
    seal_hash(text, strlen(text), hash);
    token_id(hash, id);
    seal_wipe(secret, sizeof secret);
    seal_wipe(letters, sizeof letters);
    /* Nothing depends on these being gone: listings skip them. */
    (void)db_write(e->db, "DELETE FROM token WHERE expires<=?",
                   DB(DB_I64(forgotten_before(now_ns))));
    return one_row(db_run(e->db,
                          "INSERT INTO token(hash,id,created,expires,uses_left) "
                          "VALUES(?,?,?,?,?)",
                          NULL, NULL,
                          DB(DB_BLOB(hash, sizeof hash), DB_TEXT(id), DB_I64((int64_t)now_ns),
                             DB_I64((int64_t)expires_ns), DB_I64((int64_t)uses))));
}

struct list_tokens {
    uint64_t now_ns;
    enroll_token_fn *fn;
    void *context;
};

static int token_list(void *context, struct db_row *row)
{
    struct list_tokens *l = context;
    struct enroll_token token = {db_text(row, 0), (uint64_t)db_i64(row, 1),
                                 (uint64_t)db_i64(row, 2), (uint64_t)db_i64(row, 3), "active"};
    if (token.uses_left == 0)
        token.state = "used";
    else if (token.expires_ns <= l->now_ns)
        token.state = "expired";
    return l->fn(l->context, &token);
}

int64_t enroll_tokens(struct enroll *e, uint64_t now_ns, enroll_token_fn *fn, void *context)
{
    struct list_tokens l = {now_ns, fn, context};
    return db_run(e->db,
                  "SELECT id,created,expires,uses_left FROM token WHERE expires>? ORDER BY id",
                  token_list, &l, DB(DB_I64(forgotten_before(now_ns))));
}

int enroll_token_revoke(struct enroll *e, const char *id)
{
    return one_row(db_run(e->db, "DELETE FROM token WHERE id=?", NULL, NULL, DB(DB_TEXT(id))));
}

/* ---- life ---- */

static int database_open(struct enroll *e, char *error, size_t error_bytes)
{
    static const char *const schema =
        "CREATE TABLE IF NOT EXISTS agent(id INTEGER PRIMARY KEY, key BLOB NOT NULL, enrolled "
        "INTEGER NOT NULL, revoked INTEGER NOT NULL);"
        "CREATE TABLE IF NOT EXISTS token(hash BLOB PRIMARY KEY, id TEXT UNIQUE NOT NULL, created "
        "INTEGER NOT NULL, expires INTEGER NOT NULL, uses_left INTEGER NOT NULL);"
        "CREATE TABLE IF NOT EXISTS changes(one INTEGER PRIMARY KEY CHECK(one=1), n INTEGER NOT "
        "NULL);"
        "INSERT OR IGNORE INTO changes VALUES(1,0);";
    int64_t tables = 1;
    int status = db_open_private(e->folder, "enroll.db", &e->db, error, error_bytes);
    if (status == SKEIN_OK)
        (void)db_number(e->db, "SELECT count(*) FROM sqlite_master", &tables, NULL);
    e->is_new = tables == 0;
    if (status == SKEIN_OK && (status = db_exec(e->db, schema)) != SKEIN_OK)
        snprintf(error, error_bytes, "%s/enroll.db: %s", e->folder, db_error(e->db));
    if (status == SKEIN_OK)
        status = db_check(e->db); /* now, not when an agent comes and reads the damaged page */
    if (status == SKEIN_CORRUPT)
        snprintf(error, error_bytes,
                 "%s/enroll.db is damaged: put a backup's in its place, or remove it: then every "
                 "agent needs a join token again",
                 e->folder);
    return status;
}

int enroll_open(const char *folder, struct enroll **out, char *error, size_t error_bytes)
{
    *out = NULL;
    struct enroll *e = calloc(1, sizeof *e);
    if (e == NULL)
        return SKEIN_NO_MEMORY;
    pthread_mutex_init(&e->mutex, NULL);
    e->folder = strdup(folder);
    int status = e->folder == NULL ? SKEIN_NO_MEMORY : seal_init();
    if (status == SKEIN_OK)
        status = database_open(e, error, error_bytes);
    if (status == SKEIN_OK)
        status = keys_load(e, error, error_bytes);
    if (status != SKEIN_OK)
        enroll_close(&e);
    *out = e;
    return status;
}

bool enroll_is_new(const struct enroll *e)
{
    return e->is_new;
}

void enroll_close(struct enroll **enroll)
{
    struct enroll *e = *enroll;
    if (e == NULL)
        return;
    *enroll = NULL;
    db_close(&e->db);
    seal_wipe(e->keys, sizeof e->keys);
    pthread_mutex_destroy(&e->mutex);
    free(e->folder);
    free(e);
}
