/* SPDX-License-Identifier: Apache-2.0
 *
 * See state_backup.h. A backup's name is its time, so names sort by age: the newest are kept, and
 * the newest is restored.
 */
#include "state_backup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "db.h"
#include "descriptor.h"
#include "log.h"
#include "metrics.h"
#include "no_sync.h"
#include "own_thread.h"

#define S            UINT64_C(1000000000)
#define LOOK_NS      (2 * S)
#define AGAIN_NS     (600 * S) /* the pause after a backup that failed */
#define NAME_MAX_LEN 64
#define PATH_BYTES   4352
#define FILES_MAX    1024

struct state_backup {
    char folder[4096];
    uint64_t every_ns, keep, not_before_ns; /* monotonic */
    struct catalog *catalog;
    bool kept_damaged;
    bool seen; /* state.db was sound when first looked at, and was the file that is open */
    dev_t device;
    ino_t inode;
    struct own_thread thread;
};

/* ---- names ---- */

struct names {
    char name[FILES_MAX][NAME_MAX_LEN];
    size_t count;
};

static int newest_first(const void *a, const void *b)
{
    return strcmp(b, a);
}

static void backup_list(const char *folder, struct names *names)
{
    char path[PATH_BYTES];
    names->count = 0;
    (void)snprintf(path, sizeof path, "%s/backup", folder);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        size_t n = strlen(e->d_name);
        if (strncmp(e->d_name, "state-", 6) == 0 && n < NAME_MAX_LEN && n > 9 &&
            strcmp(e->d_name + n - 3, ".db") == 0 && names->count < FILES_MAX)
            memcpy(names->name[names->count++], e->d_name, n + 1);
    }
    if (dir != NULL)
        closedir(dir);
    qsort(names->name, names->count, NAME_MAX_LEN, newest_first);
}

bool state_backup_newest(const char *folder, char *path, size_t path_bytes)
{
    struct names *names = malloc(sizeof *names);
    bool any = false;
    if (names != NULL) {
        backup_list(folder, names);
        any = names->count > 0;
        if (any)
            (void)snprintf(path, path_bytes, "%s/backup/%s", folder, names->name[0]);
    }
    free(names);
    return any;
}

/* The time in the name "state-20261122T093000Z.db": its digits, of the wall clock, for people. */
static uint64_t time_of(const char *name)
{
    char text[32];
    uint64_t ns = 0;
    if (strlen(name) != 25)
        return 0;
    (void)snprintf(text, sizeof text, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", name + 6, name + 10,
                   name + 12, name + 15, name + 17, name + 19);
    return clock_parse(text, &ns) == SKEIN_OK ? ns : 0;
}

static void name_now(char out[NAME_MAX_LEN])
{
    char t[CLOCK_TEXT_BYTES];
    clock_text(clock_realtime_ns(), t);
    (void)snprintf(out, NAME_MAX_LEN, "state-%.4s%.2s%.2sT%.2s%.2s%.2sZ.db", t, t + 5, t + 8,
                   t + 11, t + 14, t + 17);
}

/* ---- making ---- */

static void backup_prune(const struct state_backup *b, const struct names *names)
{
    char path[PATH_BYTES];
    for (size_t i = b->keep; i < names->count; i++) {
        (void)snprintf(path, sizeof path, "%s/backup/%s", b->folder, names->name[i]);
        (void)unlink(path);
    }
}

static int backup_make(struct state_backup *b)
{
    char from[PATH_BYTES], temp[PATH_BYTES], to[PATH_BYTES], name[NAME_MAX_LEN];
    name_now(name);
    (void)snprintf(from, sizeof from, "%s/state.db", b->folder);
    (void)snprintf(temp, sizeof temp, "%s/backup", b->folder);
    (void)mkdir(temp, 0700);
    (void)snprintf(temp, sizeof temp, "%s/backup/new", b->folder);
    (void)snprintf(to, sizeof to, "%s/backup/%s", b->folder, name);
    int status = db_copy(from, temp);
    if (status == SKEIN_OK && rename(temp, to) != 0)
        status = SKEIN_IO;
    return status;
}

static void back_up(struct state_backup *b)
{
    struct names *names = malloc(sizeof *names);
    uint64_t now_ns = clock_realtime_ns(), last_ns = 0;
    if (names == NULL)
        return;
    backup_list(b->folder, names);
    if (names->count > 0)
        last_ns = time_of(names->name[0]);
    bool due = last_ns == 0 || last_ns > now_ns || now_ns - last_ns >= b->every_ns;
    int status = due ? backup_make(b) : SKEIN_OK;
    if (status == SKEIN_OK && due) {
        last_ns = now_ns;
        backup_list(b->folder, names);
        backup_prune(b, names);
        log_info("state", "backed up", NULL);
    } else if (status != SKEIN_OK) {
        b->not_before_ns = clock_monotonic_ns() + AGAIN_NS;
        if (status == SKEIN_CORRUPT)
            catalog_note_damage(b->catalog);
        log_error("state", "state.db cannot be backed up", "error", skein_status_text(status),
                  NULL);
    }
    metrics_set(state_backup_seconds, last_ns / S);
    free(names);
}

/* ---- loss ---- */

static void lost_path(const char *folder, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%s/state.db.lost", folder);
}

void state_backup_note_loss(const char *folder)
{
    char path[PATH_BYTES];
    lost_path(folder, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    fd_close(&fd);
}

bool state_backup_is_lost(const char *folder)
{
    char path[PATH_BYTES];
    lost_path(folder, path);
    return access(path, F_OK) == 0;
}

/* ---- damage ---- */

/* Whether folder/state.db is there, is the file that was opened, and is SQLite's. SQLite itself may
 * serve from memory for long after somebody has changed the file. */
static bool file_is_sound(struct state_backup *b)
{
    static const char magic[16] = "SQLite format 3";
    char path[PATH_BYTES], head[sizeof magic] = "";
    struct stat st = {0};
    (void)snprintf(path, sizeof path, "%s/state.db", b->folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool sound = fd >= 0 && fstat(fd, &st) == 0 &&
                 pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
                 memcmp(head, magic, sizeof head) == 0;
    fd_close(&fd);
    if (!sound || b->seen)
        return sound && st.st_dev == b->device && st.st_ino == b->inode;
    b->seen = true;
    b->device = st.st_dev;
    b->inode = st.st_ino;
    return true;
}

static int file_copy(const char *from, const char *to)
{
    int in = open(from, O_RDONLY | O_CLOEXEC), out = -1;
    ssize_t n = -1;
    if (in >= 0)
        out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (out >= 0) {
        do
            n = copy_file_range(in, NULL, out, NULL, 1 << 24, 0);
        while (n > 0);
    }
    no_sync_check();
    if (out >= 0 && (n < 0 || fsync(out) != 0 || close(out) != 0))
        n = -1;
    fd_close(&in);
    return n == 0 ? SKEIN_OK : SKEIN_IO;
}

/* Copies the damaged file once, with its log, as it was when the damage was found. */
static void damaged_keep(struct state_backup *b)
{
    char from[PATH_BYTES], to[PATH_BYTES], newest[PATH_BYTES] = "none";
    (void)state_backup_newest(b->folder, newest, sizeof newest);
    (void)snprintf(from, sizeof from, "%s/state.db", b->folder);
    (void)snprintf(to, sizeof to, "%s/state.db.damaged", b->folder);
    int status = access(to, F_OK) == 0 ? SKEIN_OK : file_copy(from, to);
    (void)snprintf(from, sizeof from, "%s/state.db-wal", b->folder);
    (void)snprintf(to, sizeof to, "%s/state.db.damaged-wal", b->folder);
    if (access(to, F_OK) != 0)
        (void)file_copy(from, to);
    b->kept_damaged = true;
    metrics_set(state_damaged, 1);
    log_error("state", "state.db is damaged: stop the collector and run skeind --restore-state",
              "copy", status == SKEIN_OK ? "state.db.damaged" : "could not be made", "backup",
              newest, NULL);
}

static void *backup_run(void *context)
{
    struct state_backup *b = context;
    do {
        if (!file_is_sound(b) && b->seen && !catalog_is_damaged(b->catalog))
            catalog_note_damage(b->catalog);
        if (catalog_is_damaged(b->catalog) && !b->kept_damaged)
            damaged_keep(b);
        if (b->keep > 0 && !catalog_is_damaged(b->catalog) && !state_backup_is_lost(b->folder) &&
            clock_monotonic_ns() >= b->not_before_ns)
            back_up(b);
    } while (own_thread_rest(&b->thread, clock_monotonic_ns() + LOOK_NS));
    return NULL;
}

int state_backup_start(const char *folder, uint64_t every_ms, uint64_t keep,
                       struct catalog *catalog, struct state_backup **out)
{
    struct state_backup *b = calloc(1, sizeof *b);
    *out = NULL;
    if (b == NULL)
        return SKEIN_NO_MEMORY;
    (void)snprintf(b->folder, sizeof b->folder, "%s", folder);
    b->every_ns = every_ms * 1000000u;
    b->keep = keep;
    b->catalog = catalog;
    own_thread_init(&b->thread);
    *out = b;
    int status = own_thread_start(&b->thread, backup_run, b);
    if (status != SKEIN_OK)
        state_backup_stop(out);
    return status;
}

void state_backup_stop(struct state_backup **backup)
{
    struct state_backup *b = *backup;
    if (b == NULL)
        return;
    *backup = NULL;
    own_thread_end(&b->thread);
    free(b);
}

/* ---- restoring ---- */

int state_backup_restore(const char *folder, char *words, size_t words_bytes)
{
    char from[PATH_BYTES], temp[PATH_BYTES], to[PATH_BYTES];
    struct stat owner;
    struct names *names = malloc(sizeof *names);
    int status = names != NULL ? SKEIN_NOT_FOUND : SKEIN_NO_MEMORY;
    (void)snprintf(words, words_bytes, "there is no sound backup in %s/backup", folder);
    if (names != NULL)
        backup_list(folder, names);
    (void)snprintf(temp, sizeof temp, "%s/state.db.new", folder);
    for (size_t i = 0; names != NULL && status != SKEIN_OK && i < names->count; i++) {
        (void)snprintf(from, sizeof from, "%s/backup/%s", folder, names->name[i]);
        status = db_copy(from, temp);
    }
    free(names);
    if (status != SKEIN_OK)
        return status;
    (void)snprintf(to, sizeof to, "%s/state.db", folder);
    if (geteuid() == 0 && stat(folder, &owner) == 0 && chown(temp, owner.st_uid, owner.st_gid) != 0)
        status = SKEIN_IO;
    if (status == SKEIN_OK &&
        (!db_set_aside(folder, "state.db", words, words_bytes) || rename(temp, to) != 0))
        status = SKEIN_IO;
    lost_path(folder, temp);
    if (status == SKEIN_OK && unlink(temp) != 0 && errno != ENOENT)
        status = SKEIN_IO;
    (void)snprintf(words, words_bytes, "%s",
                   status == SKEIN_OK ? from : "a file cannot be renamed");
    return status;
}
