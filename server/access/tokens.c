/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens have a database of their own, so that the command line may write while the collector runs,
 * and neither waits for the other's commits. Owns the connection; any thread.
 *
 * The empty file tokens.needed says that there has been a token. It keeps the collector closed if
 * somebody empties or loses tokens.db.
 */
#include "tokens.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db.h"
#include "descriptor.h"
#include "no_sync.h"
#include "seal.h"
#include "secret.h"

#define PREFIX_BYTES 6 /* "skn_v_" */
#define ID_LETTERS   (PRINCIPAL_TOKEN_BYTES - 1)
#define USED_STEP_NS (UINT64_C(60) * 1000000000u) /* resolution of "last used" */

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS tokens(id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    " hash BLOB NOT NULL, scope INTEGER NOT NULL, selector TEXT NOT NULL, creator TEXT NOT NULL,"
    " created_ns INTEGER NOT NULL, expires_ns INTEGER NOT NULL, used_ns INTEGER NOT NULL,"
    " revoked_ns INTEGER NOT NULL) WITHOUT ROWID;";

struct tokens {
    struct db *db;
    char folder[4096], needed[4096]; /* needed: path of tokens.needed */
};

static const struct {
    enum http_scope scope;
    const char *text;
} scopes[] = {{HTTP_VIEWER, "viewer"}, {HTTP_OPERATOR, "operator"}, {HTTP_ADMIN, "admin"}};

const char *scope_text(enum http_scope scope)
{
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++)
        if (scopes[i].scope == scope)
            return scopes[i].text;
    return "";
}

bool scope_parse(const char *text, enum http_scope *scope)
{
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++) {
        if (strcmp(scopes[i].text, text) == 0) {
            *scope = scopes[i].scope;
            return true;
        }
    }
    return false;
}

/* ---- open ---- */

static void needed_path(const char *folder, char path[4096])
{
    (void)snprintf(path, 4096, "%s/tokens.needed", folder);
}

/* Makes tokens.needed, on disk before the first token is. */
static int needed_mark(const char *folder)
{
    char path[4096];
    needed_path(folder, path);
    if (access(path, F_OK) == 0)
        return SKEIN_OK;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    no_sync_check();
    int status = fd >= 0 && at >= 0 && fsync(at) == 0 ? SKEIN_OK : SKEIN_IO;
    fd_close(&fd);
    fd_close(&at);
    return status;
}

static int rows_any(struct tokens *t)
{
    int64_t found = 0;
    int status = db_number(t->db, "SELECT 1 FROM tokens LIMIT 1", &found, NULL);
    return status != SKEIN_OK ? status : found != 0;
}

int tokens_open(const char *folder, struct tokens **out, char *error, size_t error_bytes)
{
    *out = NULL;
    if (seal_init() != SKEIN_OK) {
        snprintf(error, error_bytes, "no randomness");
        return SKEIN_IO;
    }
    struct tokens *t = calloc(1, sizeof *t);
    if (t == NULL)
        return SKEIN_NO_MEMORY;
    needed_path(folder, t->needed);
    (void)snprintf(t->folder, sizeof t->folder, "%s", folder);
    int status = db_open_private(folder, "tokens.db", &t->db, error, error_bytes);
    if (status == SKEIN_OK)
        status = db_check(t->db);
    if (status == SKEIN_OK)
        status = db_tables_make(t->db, "tokens.db", schema, NULL, error, error_bytes);
    if (status == SKEIN_OK && rows_any(t) > 0)
        status = needed_mark(folder); /* an older collector made tokens without it */
    if (status == SKEIN_CORRUPT)
        (void)snprintf(error, error_bytes,
                       "tokens.db is damaged; a start of skeind begins a new one");
    if (status != SKEIN_OK)
        tokens_close(&t);
    *out = t;
    return status;
}

int tokens_set_aside(const char *folder, char *to, size_t to_bytes)
{
    int status = needed_mark(folder);
    if (status == SKEIN_OK && !db_set_aside(folder, "tokens.db", to, to_bytes))
        status = SKEIN_IO;
    return status;
}

void tokens_close(struct tokens **tokens)
{
    struct tokens *t = *tokens;
    if (t == NULL)
        return;
    db_close(&t->db);
    free(t);
    *tokens = NULL;
}

int tokens_any(struct tokens *t)
{
    int rows = rows_any(t);
    return rows == 0 && access(t->needed, F_OK) == 0 ? 1 : rows;
}

bool tokens_lost(struct tokens *t)
{
    return rows_any(t) == 0 && tokens_any(t) == 1;
}

/* ---- make and revoke ---- */

static bool name_valid(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t n = strlen(name);
    return n > 0 && n < PRINCIPAL_NAME_BYTES && strspn(name, letters) > 0 && strspn(name, all) == n;
}

/* Names that the audit log gives to those without a token. */
static bool name_reserved(const char *name)
{
    static const char *const names[] = {"local", "public", "retention", "skeind"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int token_valid(const struct token *token, uint64_t now_ns, char *error, size_t error_bytes)
{
    struct selector *selector = NULL;
    char words[200];
    if (!name_valid(token->name)) {
        snprintf(error, error_bytes,
                 "name: must be 1 to 63 letters, digits, '.', '_' or '-', the first no sign");
    } else if (name_reserved(token->name)) {
        snprintf(error, error_bytes, "name: the audit log calls somebody else %s", token->name);
    } else if (scope_text(token->scope)[0] == '\0') {
        snprintf(error, error_bytes, "scope: must be viewer, operator or admin");
    } else if (token->expires_ns != 0 && token->expires_ns <= now_ns) {
        snprintf(error, error_bytes, "expires: is past");
    } else if (token->expires_ns > INT64_MAX) {
        snprintf(error, error_bytes, "expires: is too far ahead");
    } else if (token->selector[0] != '\0' && token->scope == HTTP_ADMIN) {
        snprintf(error, error_bytes, "selector: an admin cannot be confined");
    } else if (selector_new(token->selector, &selector, words, sizeof words) != SKEIN_OK) {
        snprintf(error, error_bytes, "%s", words);
    } else {
        selector_free(&selector);
        return SKEIN_OK;
    }
    return SKEIN_INVALID;
}

/* Within a transaction. Once there is a token every request needs one, so the first must be able to
 * make others. */
static int token_insert(struct tokens *t, const struct token *token, uint64_t now_ns,
                        const char *id, const uint8_t hash[SECRET_HASH_BYTES])
{
    int any = token->scope == HTTP_ADMIN ? 1 : rows_any(t);
    if (any <= 0)
        return any < 0 ? any : SKEIN_INVALID;
    int status = db_write(t->db, "DELETE FROM tokens WHERE name=? AND revoked_ns<>0",
                          DB(DB_TEXT(token->name)));
    if (status != SKEIN_OK)
        return status;
    return db_write(t->db,
                    "INSERT INTO tokens(id, name, hash, scope, selector, creator, created_ns,"
                    " expires_ns, used_ns, revoked_ns) VALUES(?,?,?,?,?,?,?,?,0,0)",
                    DB(DB_TEXT(id), DB_TEXT(token->name), DB_BLOB(hash, SECRET_HASH_BYTES),
                       DB_I64((int64_t)token->scope), DB_TEXT(token->selector),
                       DB_TEXT(token->creator), DB_I64((int64_t)now_ns),
                       DB_I64((int64_t)token->expires_ns)));
}

int tokens_create(struct tokens *t, const struct token *token, uint64_t now_ns,
                  char text[TOKEN_TEXT_BYTES], char *error, size_t error_bytes)
{
    char letters[SEAL_TEXT_BYTES], id[PRINCIPAL_TOKEN_BYTES];
    uint8_t random[SEAL_KEY_BYTES], hash[SECRET_HASH_BYTES];
    int status = token_valid(token, now_ns, error, error_bytes);
    if (status != SKEIN_OK)
        return status;
    seal_random(random, sizeof random);
    seal_key_text(random, letters);
    snprintf(text, TOKEN_TEXT_BYTES, "skn_%c_%s", scope_text(token->scope)[0], letters);
    memcpy(id, letters, ID_LETTERS);
    id[ID_LETTERS] = '\0';
    seal_wipe(random, sizeof random);
    seal_wipe(letters, sizeof letters);
    secret_hash(text, strlen(text), hash);
    status = db_begin(t->db);
    if (status == SKEIN_OK) {
        status = token->scope == HTTP_ADMIN ? needed_mark(t->folder) : SKEIN_OK;
        if (status == SKEIN_OK)
            status = token_insert(t, token, now_ns, id, hash);
        status = db_end(t->db, status);
    }
    if (status != SKEIN_OK) {
        seal_wipe(text, TOKEN_TEXT_BYTES);
        if (status == SKEIN_EXISTS)
            snprintf(error, error_bytes, "name: a token %s exists; revoke it first", token->name);
        else if (status == SKEIN_INVALID)
            snprintf(
                error, error_bytes,
                "scope: the first token must be an admin's: from then on every request needs a "
                "token");
        else
            snprintf(error, error_bytes, "tokens.db: %s", skein_status_text(status));
    }
    return status;
}

int tokens_revoke(struct tokens *t, const char *name, uint64_t now_ns)
{
    int64_t changed = db_run(t->db, "UPDATE tokens SET revoked_ns=? WHERE name=? AND revoked_ns=0",
                             NULL, NULL, DB(DB_I64((int64_t)now_ns), DB_TEXT(name)));
    if (changed < 0)
        return (int)changed;
    return changed > 0 ? SKEIN_OK : SKEIN_NOT_FOUND;
}

/* ---- read ---- */

#define COLUMNS                                                                                    \
    "SELECT hash, name, scope, selector, creator, created_ns, expires_ns, used_ns, revoked_ns"     \
    " FROM tokens "

struct walk {
    token_fn *fn;
    void *context;
    uint8_t hash[SECRET_HASH_BYTES];
    bool found;
    struct token token;
};

static int token_take(void *context, struct db_row *row)
{
    struct walk *walk = context;
    struct token *out = &walk->token;
    size_t n = 0;
    const void *hash = db_blob(row, 0, &n);
    memset(walk->hash, 0, sizeof walk->hash);
    if (n == sizeof walk->hash)
        memcpy(walk->hash, hash, n);
    /* A selector that was cut off would show more than it should. */
    walk->found = n == sizeof walk->hash && strlen(db_text(row, 3)) < sizeof out->selector;
    snprintf(out->name, sizeof out->name, "%s", db_text(row, 1));
    out->scope = (enum http_scope)db_i64(row, 2);
    snprintf(out->selector, sizeof out->selector, "%s", db_text(row, 3));
    snprintf(out->creator, sizeof out->creator, "%s", db_text(row, 4));
    out->created_ns = (uint64_t)db_i64(row, 5);
    out->expires_ns = (uint64_t)db_i64(row, 6);
    out->used_ns = (uint64_t)db_i64(row, 7);
    out->revoked_ns = (uint64_t)db_i64(row, 8);
    return walk->fn != NULL ? walk->fn(walk->context, out) : 1;
}

/* Whether the row was found and its token is neither revoked nor expired. */
static bool is_good(const struct walk *walk, uint64_t now_ns)
{
    const struct token *k = &walk->token;
    return walk->found && k->revoked_ns == 0 && scope_text(k->scope)[0] != '\0' &&
           (k->expires_ns == 0 || k->expires_ns > now_ns);
}

static int row_find(struct tokens *t, const char *id, struct walk *walk)
{
    return db_status(db_run(t->db, COLUMNS "WHERE id=?", token_take, walk, DB(DB_TEXT(id))));
}

int tokens_still(struct tokens *t, const char *id, uint64_t now_ns)
{
    struct walk walk = {.found = false};
    int status = row_find(t, id, &walk);
    if (status != SKEIN_OK)
        return status;
    return is_good(&walk, now_ns) ? SKEIN_OK : SKEIN_NOT_FOUND;
}

/* Gives out a good token. */
static void token_use(struct tokens *t, const char *id, uint64_t now_ns, const struct token *k,
                      struct token *out)
{
    /* Only to be shown: the token is good even if this cannot be written. */
    if (now_ns > k->used_ns && now_ns - k->used_ns >= USED_STEP_NS)
        (void)db_run(t->db, "UPDATE tokens SET used_ns=? WHERE id=?", NULL, NULL,
                     DB(DB_I64((int64_t)now_ns), DB_TEXT(id)));
    *out = *k;
    snprintf(out->id, sizeof out->id, "%s", id);
}

int tokens_find(struct tokens *t, const char *id, uint64_t now_ns, struct token *out)
{
    struct walk walk = {.found = false};
    int status = row_find(t, id, &walk);
    if (status == SKEIN_OK && !is_good(&walk, now_ns))
        status = SKEIN_NOT_FOUND;
    if (status == SKEIN_OK)
        token_use(t, id, now_ns, &walk.token, out);
    return status;
}

int tokens_check(struct tokens *t, const char *text, uint64_t now_ns, struct token *out)
{
    char id[PRINCIPAL_TOKEN_BYTES] = "";
    uint8_t hash[SECRET_HASH_BYTES];
    struct walk walk = {.found = false};
    if (strlen(text) == PREFIX_BYTES + SEAL_TEXT_BYTES - 1)
        memcpy(id, text + PREFIX_BYTES, ID_LETTERS);
    int status = row_find(t, id, &walk);
    if (status != SKEIN_OK)
        return status;
    secret_hash(text, strlen(text), hash);
    bool same = secret_equal(hash, walk.hash, sizeof hash);
    if (!is_good(&walk, now_ns) || !same)
        return SKEIN_NOT_FOUND;
    token_use(t, id, now_ns, &walk.token, out);
    return SKEIN_OK;
}

int64_t tokens_list(struct tokens *t, token_fn *fn, void *context)
{
    struct walk walk = {.fn = fn, .context = context};
    return db_run(t->db, COLUMNS "ORDER BY name", token_take, &walk, NULL);
}
