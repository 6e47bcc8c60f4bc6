/* SPDX-License-Identifier: Apache-2.0
 *
 * Identity and run counter of the agent, in the file "agent.json" of the state folder:
 * {"agent":"0123456789abcdef","epoch":7}; in "privacy.key", 32 hexadecimal digits. Main thread.
 */
#include "agent_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "descriptor.h"
#include "durable.h"
#include "ids.h"
#include "json.h"
#include "log.h"

#define STATE_FILE     "agent.json"
#define STATE_FILE_MAX 4096
#define PRIVACY_FILE   "privacy.key"

static int agent_id_parse(const char *text, uint64_t *agent)
{
    bool is_id = text != NULL && agent_parse(text, agent) == SKEIN_OK && *agent != 0;
    return is_id ? SKEIN_OK : SKEIN_INVALID;
}

static int state_parse(const struct buf *file, struct agent_state *state, char *error,
                       size_t error_bytes)
{
    cJSON *root = json_parse((const char *)file->data, file->len, error, error_bytes);
    if (root == NULL)
        return SKEIN_CORRUPT;
    struct json_reader r = {.error = ""};
    const char *agent = json_str(&r, root, "", "agent", JSON_REQUIRED, NULL, 16);
    state->epoch = json_u64(&r, root, "", "epoch", JSON_REQUIRED, 0, 0, UINT32_MAX - 1);
    int status = SKEIN_OK;
    if (r.error[0] != '\0') {
        snprintf(error, error_bytes, "%s", r.error);
        status = SKEIN_CORRUPT;
    } else if (agent_id_parse(agent, &state->agent) != SKEIN_OK) {
        snprintf(error, error_bytes, "agent: must be 16 hex digits");
        status = SKEIN_CORRUPT;
    }
    cJSON_Delete(root);
    return status;
}

static int identity_new(struct agent_state *state)
{
    state->epoch = 0;
    do {
        if (getrandom(&state->agent, sizeof state->agent, 0) != (ssize_t)sizeof state->agent)
            return SKEIN_IO;
    } while (state->agent == 0);
    return SKEIN_OK;
}

static int state_load(struct agent_state *state, char *error, size_t error_bytes)
{
    struct buf file = {0};
    char why[160] = "";
    int status = durable_read(state->folder, STATE_FILE, STATE_FILE_MAX, &file);
    if (status == SKEIN_NOT_FOUND)
        status = identity_new(state);
    else if (status == SKEIN_OK)
        status = state_parse(&file, state, why, sizeof why);
    buf_fini(&file);
    if (status != SKEIN_OK)
        snprintf(error, error_bytes, "the file " STATE_FILE " in the state folder: %s%s",
                 why[0] != '\0' ? why : skein_status_text(status),
                 status == SKEIN_CORRUPT ? "; move it away to start as a new agent" : "");
    return status;
}

static int state_text(const struct agent_state *state, char *text, size_t bytes)
{
    return snprintf(text, bytes, "{\"agent\":\"%016" PRIx64 "\",\"epoch\":%" PRIu64 "}\n",
                    state->agent, state->epoch);
}

static int state_store(const struct agent_state *state)
{
    char text[128];
    int n = state_text(state, text, sizeof text);
    struct durable_part part = {text, (size_t)n};
    return durable_write(state->folder, STATE_FILE, &part, 1);
}

/* Returns when the second is over, so that the next start has another one. */
static uint64_t epoch_of_this_second(void)
{
    uint64_t now_ns = clock_realtime_ns(), ns = now_ns % 1000000000u;
    struct timespec rest = {0, (long)(1000000000u - ns - (ns == 0))};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
    }
    return now_ns / 1000000000u;
}

/* A full disk takes no new file, but the old one's bytes can be written over. If there is no old
 * one either, the epoch is the second in which this start began: no other start has it. An agent
 * that watches and keeps little is better than none, and it counts what its spool cannot take. */
static int state_store_without_room(struct agent_state *state)
{
    char text[128];
    int n = state_text(state, text, sizeof text);
    int fd = openat(state->folder, STATE_FILE, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool kept = fd >= 0 && pwrite(fd, text, (size_t)n, 0) == n && ftruncate(fd, n) == 0 &&
                fdatasync(fd) == 0;
    fd_close(&fd);
    if (!kept)
        state->epoch = epoch_of_this_second();
    log_error("agent", "the disk of the state folder takes no new file", "kept",
              kept ? "its number, in the old file" : "nothing", NULL);
    return SKEIN_OK;
}

static int state_lock(struct agent_state *state, const char *folder, char *error,
                      size_t error_bytes)
{
    state->lock = openat(state->folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (state->lock < 0) {
        snprintf(error, error_bytes, "%s/lock: %s", folder, strerror(errno));
        return SKEIN_IO;
    }
    if (flock(state->lock, LOCK_EX | LOCK_NB) != 0) {
        snprintf(error, error_bytes, "another agent is running with the state folder %s", folder);
        return SKEIN_BUSY;
    }
    return SKEIN_OK;
}

/* ---- the key of hashes ---- */

static bool digits_read(const struct buf *file, uint64_t key[2])
{
    char text[33] = "";
    size_t len = file->len;
    if (len == sizeof text && file->data[len - 1] == '\n')
        len--;
    if (len != sizeof text - 1)
        return false;
    memcpy(text, file->data, len);
    if (strspn(text, "0123456789abcdef") != len)
        return false;
    key[1] = strtoull(text + 16, NULL, 16);
    text[16] = '\0';
    key[0] = strtoull(text, NULL, 16);
    return true;
}

/* On a disk that takes no file the key is that of this run. */
static int privacy_key_new(struct agent_state *state)
{
    uint64_t *key = state->privacy_key;
    if (getrandom(key, sizeof state->privacy_key, 0) != (ssize_t)sizeof state->privacy_key)
        return SKEIN_IO;
    char text[40];
    int n = snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64 "\n", key[0], key[1]);
    struct durable_part part = {text, (size_t)n};
    if (durable_write(state->folder, PRIVACY_FILE, &part, 1) != SKEIN_OK)
        log_error("agent", "the key of hashes could not be kept: it is another after a restart",
                  "file", PRIVACY_FILE, NULL);
    return SKEIN_OK;
}

static int privacy_key_load(struct agent_state *state, char *error, size_t error_bytes)
{
    struct buf file = {0};
    int status = durable_read(state->folder, PRIVACY_FILE, STATE_FILE_MAX, &file);
    if (status == SKEIN_NOT_FOUND)
        status = privacy_key_new(state);
    else if (status == SKEIN_OK && !digits_read(&file, state->privacy_key))
        status = SKEIN_CORRUPT;
    buf_fini(&file);
    if (status != SKEIN_OK)
        snprintf(error, error_bytes, "the file " PRIVACY_FILE " in the state folder: %s",
                 status == SKEIN_CORRUPT ? "must be 32 hexadecimal digits, lower case"
                                         : skein_status_text(status));
    return status;
}

int agent_state_open(const char *folder, struct agent_state *state, char *error, size_t error_bytes)
{
    *state = (struct agent_state){.folder = -1, .lock = -1};
    int status = durable_folder(folder, &state->folder);
    if (status != SKEIN_OK) {
        snprintf(error, error_bytes, "state folder %s: %s", folder, skein_status_text(status));
        return status;
    }
    status = state_lock(state, folder, error, error_bytes);
    if (status == SKEIN_OK)
        status = state_load(state, error, error_bytes);
    if (status == SKEIN_OK)
        status = privacy_key_load(state, error, error_bytes);
    if (status == SKEIN_OK) {
        state->epoch++;
        status = state_store(state);
        if (status != SKEIN_OK)
            status = state_store_without_room(state);
    }
    if (status != SKEIN_OK)
        agent_state_close(state);
    return status;
}

void agent_state_close(struct agent_state *state)
{
    fd_close(&state->lock);
    fd_close(&state->folder);
}
