/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces a damaged index.db while it is in use: makes index.new from the store, and puts it in
 * place while its connections stand still. Holds nothing; runs on ingest's thread alone.
 *
 *   damage is met ─▶ broken ─▶ index.rebuild ─▶ index.new ─▶ index.db, and index.rebuild goes
 *   any thread       memory    ingest's thread, within a second; or index_close
 *
 * If the process is killed before index.rebuild is there, the next one opens the damaged file, and
 * meets the damage again where it is asked for.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "index_int.h"
#include "log.h"
#include "metrics.h"

#define PATH_BYTES 4096

static bool name(const struct index *index, const char *file, char out[PATH_BYTES])
{
    int n = snprintf(out, PATH_BYTES, "%s/%s", index->folder, file);
    return n > 0 && n < PATH_BYTES;
}

/* Makes the new file. Meanwhile the damaged one answers what it can. */
static int new_file_make(struct index *index, const char *path)
{
    char error[512] = "";
    struct index fresh = {.store = index->store, .folder = index->folder};
    index_files_remove(path);
    int status = index_connect(&fresh, path, error, sizeof error);
    index_disconnect(&fresh); /* which also moves its log into the file */
    if (status != SKEIN_OK) {
        log_error("index", "cannot be made anew", "error",
                  error[0] != '\0' ? error : skein_status_text(status), NULL);
        index_files_remove(path);
    }
    return status;
}

static int file_put_in_place(struct index *index, const char *fresh, const char *path)
{
    db_hold(index->write);
    db_hold(index->read);
    db_shut(index->write);
    db_shut(index->read);
    db_hold(index->brief); /* last, and not for long: the control lock may wait for it */
    db_shut(index->brief);
    index_files_remove(path);
    int status = rename(fresh, path) == 0 ? SKEIN_OK : SKEIN_IO;
    if (status == SKEIN_OK)
        status = db_reopen(index->write, path, false);
    if (status == SKEIN_OK)
        status = index_configure(index->write);
    if (status == SKEIN_OK)
        status = db_reopen(index->read, path, false);
    if (status == SKEIN_OK)
        status = index_configure(index->read);
    if (status == SKEIN_OK)
        status = db_reopen(index->brief, path, false);
    db_release(index->brief);
    db_release(index->read);
    db_release(index->write);
    return status;
}

void index_broken_mark(const struct index *index)
{
    char marker[PATH_BYTES];
    int fd = name(index, "index.rebuild", marker)
                 ? open(marker, O_WRONLY | O_CREAT | O_CLOEXEC, 0640)
                 : -1;
    if (fd >= 0)
        close(fd);
}

int index_heal(struct index *index)
{
    char path[PATH_BYTES], fresh[PATH_BYTES], marker[PATH_BYTES];
    if (!atomic_load(&index->broken))
        return SKEIN_OK;
    if (!name(index, "index.db", path) || !name(index, "index.new", fresh) ||
        !name(index, "index.rebuild", marker))
        return SKEIN_IO;
    index_broken_mark(index); /* the process may end before the new file is in place */
    log_error("index", "index.db is damaged: it is made anew from the segments", NULL);
    int status = new_file_make(index, fresh);
    if (status == SKEIN_OK)
        status = file_put_in_place(index, fresh, path);
    if (status != SKEIN_OK)
        return status;
    atomic_store(&index->broken, false);
    metrics_add(index_rebuilds_total, 1);
    (void)unlink(marker);
    log_warn("index", "index.db has been made anew", NULL);
    return SKEIN_OK;
}
