/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the traces that golden reports are of, always the same: make_incident_trace FILE [WELL].
 * A server whose workers wait for a mutex while its holder syncs a file, hostile names, a lost part of
 * the record, and a second process beside it; with WELL, the same server while nothing is wrong.
 */
#include <stdlib.h>
#include <string.h>

#include "incident_make.h"
#include "support.h"

#define MS INCIDENT_MS
#define S  INCIDENT_S

#define SERVER  100u
#define WORKERS 4u
#define HOLDER  (SERVER + 1)

static const struct partition_event_type hostile = {
    .name = "<img src=x onerror=alert(1)>\x1b[31m\xe2\x80\xaegnp.exe",
    .klass = SKEIN_CLASS_SPAN,
    .group = SKEIN_GROUP_APP,
    .nargs = 1,
    .args = {{SKEIN_T_I64, "<b>key</b>", ""}}};

static void serve(struct incident *in, size_t process, uint32_t tid, uint64_t from, uint64_t to)
{
    for (uint64_t at = from; at + 30 * MS < to; at += 30 * MS) {
        uint64_t took = incident_about(in, 6 * MS);
        incident_call(in, process, tid, &incident_epoll, at, 20 * MS, 5, 1, 0);
        incident_call(in, process, tid, &incident_read, at + 20 * MS + MS / 2, MS / 4, 7, 128, 0);
        incident_call(in, process, tid, &incident_request, at + 20 * MS, took, tid, 0, 0);
    }
}

static void stand_still(struct incident *in, size_t process)
{
    uint64_t at = 2 * S, held = 900 * MS;
    incident_call(in, process, HOLDER, &incident_fsync, at, held, 9, 0, 0);
    for (uint32_t i = 2; i <= WORKERS; i++)
        incident_call(in, process, SERVER + i, &incident_mutex, at + i * 3 * MS, held - i * 2 * MS,
                      0x7f10, 0, HOLDER);
    for (uint32_t i = 1; i <= WORKERS; i++)
        serve(in, process, SERVER + i, at + held + 5 * MS, 4 * S);
}

static void queue_tell(struct incident *in, size_t process, uint64_t at, uint64_t length)
{
    incident_add(in, process,
                 &(struct incident_event){.type = &incident_queue,
                                          .thread = "shop",
                                          .tid = SERVER,
                                          .from_ns = at,
                                          .args = {{.u64 = length}}});
}

static const char *path;
static bool well;

START_TEST(a_trace_is_written)
{
    struct incident *in = incident_new(11);
    size_t shop = incident_process(in, "shop", SERVER, 3600 * S);
    size_t other = incident_process(in, "ledger", 200, 60 * S);
    for (uint32_t i = 0; i <= WORKERS; i++)
        serve(in, shop, SERVER + i, 0, well || i == 0 ? 4 * S : 2 * S);
    if (!well)
        stand_still(in, shop);
    for (uint64_t at = 0; at < 4 * S; at += 250 * MS)
        queue_tell(in, shop, at, 3 + at / (500 * MS) % 3);
    serve(in, other, 200, 0, 4 * S);
    if (!well) {
        incident_call(in, other, 200, &hostile, S, 2 * MS, 1, 0, 0);
        incident_lose(in, other, 2 * S, 3 * S);
    }
    const struct buf *bytes = incident_finish(in, S);
    file_write(path, bytes->data, bytes->len);
    incident_free(&in);
}
END_TEST

/* What makes incidents asserts by libcheck, which wants a suite around it. */
int main(int argc, char **argv)
{
    Suite *suite = suite_create("make");
    TCase *tests = tcase_create("make");
    well = argc == 3 && strcmp(argv[2], "WELL") == 0;
    if (argc < 2 || argc > 3 || (argc == 3 && !well))
        return 2;
    path = argv[1];
    tcase_add_test(tests, a_trace_is_written);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed;
}
