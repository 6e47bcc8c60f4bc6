/* SPDX-License-Identifier: Apache-2.0
 *
 * See cli_subject.h.
 */
#include "cli_subject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_capture.h"
#include "cli_download.h"
#include "cli_id.h"
#include "cli_out.h"
#include "json.h"

/* A process that hangs writes no event: its partitions hold what is open. */
static bool has_partitions(const cJSON *capture)
{
    const cJSON *target;
    cJSON_ArrayForEach(target, json_at(capture, "targets")) {
        if (json_u64_at(target, "bytes") > 0)
            return true;
    }
    return false;
}

static int capture_fetch(struct trace_subject *s, struct cli_collector collector, const char *text)
{
    struct api api;
    char id[CLI_ID_BYTES];
    uint64_t bytes;
    int status = api_init(&api, collector);
    if (status == CLI_OK)
        status = capture_id_find(&api, text, id);
    if (status == CLI_OK)
        status = capture_get(&api, id, &s->capture);
    if (status != CLI_OK)
        return status;
    if (!has_partitions(s->capture)) {
        say_error("capture %s has no data%s", id,
                  capture_running(s->capture) ? " yet; it still runs" : "");
        return CLI_FAILED;
    }
    const char *folder = getenv("TMPDIR");
    snprintf(s->folder, sizeof s->folder, "%.40s/skein.XXXXXX",
             folder != NULL && *folder && strlen(folder) <= 40 ? folder : "/tmp");
    if (mkdtemp(s->folder) == NULL) {
        say_error("%s: %s", s->folder, strerror(errno));
        s->folder[0] = 0;
        return CLI_FAILED;
    }
    snprintf(s->fetched, sizeof s->fetched, "%s/trace.skein", s->folder);
    s->file = s->fetched;
    return download_run(&api, &(struct download){.capture = id, .format = "skein", .file = s->file},
                        &bytes);
}

int trace_subject_find(struct trace_subject *s, struct cli_collector collector, const char *text)
{
    bool is_file = access(text, F_OK) == 0 || !id_begins(text, CLI_ID_BYTES - 1);
    *s = (struct trace_subject){.file = text};
    return is_file ? CLI_OK : capture_fetch(s, collector, text);
}

void trace_subject_fini(struct trace_subject *s)
{
    if (s->folder[0]) {
        unlink(s->fetched);
        rmdir(s->folder);
    }
    cJSON_Delete(s->capture);
}
