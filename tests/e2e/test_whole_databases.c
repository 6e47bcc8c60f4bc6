/* SPDX-License-Identifier: Apache-2.0
 *
 * The collector's databases are damaged, between two runs and within one: the index is made anew by
 * itself, the audit log is set aside, and of the state it is said what is wrong and restored by one
 * command. The bytes are changed by this test, in the files. One thread.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "whole.h"

static struct whole w;
static struct load load;

static void set_up(void)
{
    whole_shop(&w, &load, NULL);
}

static void tear_down(void)
{
    load_free(&load);
    whole_fini(&w);
}

static void capture(char id[ID_TEXT_BYTES])
{
    load_wait_events(&load, 100);
    struct capture_id capture =
        whole_capture(&w, "{\"selector\":\"service=shop\",\"pre_ms\":1000}");
    id_text(capture.bytes, id);
    cJSON_Delete(whole_capture_final(&w, id));
}

enum harm { GARBAGE, PAGE, ZEROS, CUT, EMPTY };

static void harm(const char *name, enum harm how)
{
    char path[512];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/collector/%s", w.folder, name);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_msg(fd >= 0 && fstat(fd, &st) == 0, "%s", path);
    if (how == EMPTY || how == CUT) {
        ck_assert_int_eq(ftruncate(fd, how == EMPTY ? 0 : st.st_size / 2 + 100), 0);
    } else {
        size_t from = how == GARBAGE ? 0 : 4096, to = how == PAGE ? 8192 : (size_t)st.st_size;
        char *bytes = malloc((size_t)st.st_size + 1);
        memset(bytes, how == ZEROS ? 0 : 0xa5, (size_t)st.st_size + 1);
        ck_assert_uint_gt(to, from);
        ck_assert_int_eq(pwrite(fd, bytes, to - from, (off_t)from), (ssize_t)(to - from));
        free(bytes);
    }
    close(fd);
}

/* How many files of the collector's folder begin so. */
static unsigned files(const char *folder, const char *prefix)
{
    char *path = whole_path(&w, folder);
    DIR *dir = opendir(path);
    unsigned n = 0;
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    if (dir != NULL)
        closedir(dir);
    free(path);
    return n;
}

static bool metric_is(const char *line)
{
    struct buf text = {0};
    ck_assert_int_eq(whole_http(&w, "GET", "/metrics", NULL, &text), 200);
    buf_put_u8(&text, 0);
    bool is = strstr((const char *)text.data, line) != NULL;
    buf_fini(&text);
    return is;
}

static bool log_has(const char *words)
{
    char *path = whole_path(&w, "collector.log");
    char *text = file_read(path, NULL);
    bool has = text != NULL && strstr(text, words) != NULL;
    free(text);
    free(path);
    return has;
}

/* ---- the index ---- */

static bool lists_again(void *context)
{
    const char *id = context;
    char url[160];
    struct buf body = {0};
    (void)snprintf(url, sizeof url, "/api/v1/partitions?capture=%s", id);
    int status = whole_http(&w, "GET", url, NULL, &body);
    buf_put_u8(&body, 0);
    bool lists = status == 200 && strstr((const char *)body.data, "\"partition\"") != NULL;
    buf_fini(&body);
    return lists;
}

static bool is_made_anew(void *context)
{
    return lists_again(context) && metric_is("skein_index_rebuilds_total 1\n");
}

static bool is_ready(void *context)
{
    (void)context;
    return whole_http(&w, "GET", "/readyz", NULL, NULL) == 200;
}

/* What is written looks at pages again. */
static void try_captures(void)
{
    char body[] = "{\"selector\":\"service=shop\",\"pre_ms\":1000}";
    for (int i = 0; i < 3; i++)
        (void)whole_http(&w, "POST", "/api/v1/captures", body, NULL);
}

START_TEST(a_damaged_index_is_made_anew_while_the_collector_runs)
{
    char id[ID_TEXT_BYTES];
    capture(id);
    ck_assert_int_eq(whole_stop(&w.collector), 0); /* its pages are in the file now */
    whole_collector_start(&w);
    harm("index.db", (enum harm)_i);
    try_captures();
    /* One page may be one that is in memory and nobody reads again. */
    ck_assert(wait_until((enum harm)_i == PAGE ? lists_again : is_made_anew, id, 0));
    ck_assert((enum harm)_i == PAGE || log_has("index.db has been made anew"));
    cJSON *json = whole_get(&w, "/api/v1/captures/%s", id);
    ck_assert_str_eq(whole_str(json, "status"), "complete");
    cJSON_Delete(json);
    ck_assert(wait_until(is_ready, NULL, 0)); /* what came meanwhile is offered again */
    whole_wait_live(&w, "service%3Dshop", 1);
    whole_serves(&w, "service=shop");
}
END_TEST

/* ---- the audit log ---- */

START_TEST(a_damaged_audit_log_is_set_aside)
{
    char id[ID_TEXT_BYTES];
    capture(id);
    ck_assert_int_eq(whole_stop(&w.collector), 0);
    harm("audit.db", (enum harm)_i);
    whole_collector_start(&w);
    ck_assert_uint_ge(files("collector", "audit.db.damaged-"), 1);
    ck_assert(log_has("audit.db is damaged"));
    whole_wait_live(&w, "service%3Dshop", 1);
    whole_serves(&w, "service=shop");
}
END_TEST

/* ---- the state ---- */

static bool has_backup(void *context)
{
    (void)context;
    return files("collector/backup", "state-") > 0;
}

static int restore(void)
{
    char *config = whole_path(&w, "collector.json");
    const char *argv[] = {WHOLE_SKEIND, "--config", config, "--restore-state", NULL};
    int status = spawn_wait(spawn(argv, &(struct spawn_options){.env = NULL}), 0);
    free(config);
    return status;
}

static bool says_damaged(void *context)
{
    struct buf body = {0};
    (void)context;
    int status = whole_http(&w, "GET", "/readyz", NULL, &body);
    buf_put_u8(&body, 0);
    bool says = status == 503 && strstr((const char *)body.data, "--restore-state") != NULL;
    buf_fini(&body);
    return says;
}

/* A backup that has the capture, and a collector that has ended. */
static void make_backup(void)
{
    ck_assert(wait_until(has_backup, NULL, 0));
    ck_assert_int_eq(whole_stop(&w.collector), 0);
    char *backups = whole_path(&w, "collector/backup");
    char command[600];
    (void)snprintf(command, sizeof command, "%s.first", backups);
    ck_assert_int_eq(rename(backups, command), 0);
    free(backups);
    whole_collector_start(&w);
    ck_assert(wait_until(has_backup, NULL, 0));
    ck_assert_int_eq(whole_stop(&w.collector), 0);
}

START_TEST(a_damaged_state_is_said_and_restored_by_one_command)
{
    char id[ID_TEXT_BYTES];
    capture(id);
    make_backup();
    harm("state.db", (enum harm)_i);
    char *config = whole_path(&w, "collector.json");
    const char *argv[] = {WHOLE_SKEIND, "--config", config, NULL};
    char *log_path = whole_path(&w, "collector.log");
    w.collector = spawn(argv, &(struct spawn_options){.out_file = log_path});
    /* It serves and says so, or does not start and says so. */
    int status = 0;
    for (bool over = false; !over;) {
        over = says_damaged(NULL) || log_has("state.db is damaged and cannot be used");
        ck_assert_msg(over || kill(w.collector, 0) == 0, "it ended without a word");
    }
    if (log_has("state.db is damaged and cannot be used")) {
        status = spawn_wait(w.collector, 0);
        ck_assert_int_ne(status, 0);
        w.collector = 0;
    } else {
        ck_assert(wait_until(has_backup, NULL, 0));
        whole_kill(&w.collector);
    }
    ck_assert_int_eq(restore(), 0);
    ck_assert_uint_ge(files("collector", "state.db.damaged-"), 1);
    whole_collector_start(&w);
    ck_assert_int_eq(whole_http(&w, "GET", "/readyz", NULL, NULL), 200);
    cJSON *json = whole_get(&w, "/api/v1/captures/%s", id);
    ck_assert_str_eq(whole_str(json, "status"), "complete");
    cJSON_Delete(json);
    free(config);
    free(log_path);
}
END_TEST

/* So that the next one is due. */
static void make_backups_old(void)
{
    char *folder = whole_path(&w, "collector/backup"), from[600], to[600];
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        (void)snprintf(from, sizeof from, "%s/%s", folder, e->d_name);
        (void)snprintf(to, sizeof to, "%s/state-20200101T000000Z.db", folder);
        ck_assert(e->d_name[0] == '.' || rename(from, to) == 0);
    }
    if (dir != NULL)
        closedir(dir);
    free(folder);
}

START_TEST(an_emptied_state_is_said)
{
    char id[ID_TEXT_BYTES];
    capture(id);
    make_backup();
    make_backups_old();
    harm("state.db", EMPTY);
    whole_collector_start(&w);
    ck_assert(log_has("state.db was empty or gone although partitions are stored"));
    ck_assert(metric_is("skein_state_damaged 1\n"));
    ck_assert(says_damaged(NULL));
    ck_assert_int_eq(whole_stop(&w.collector), 0);
    whole_collector_start(&w); /* it is not new any more, and still lost */
    ck_assert(metric_is("skein_state_damaged 1\n"));
    ck_assert_int_eq(whole_stop(&w.collector), 0);
    ck_assert_uint_eq(files("collector/backup", "state-"), 1); /* none of the empty one */
    ck_assert_int_eq(restore(), 0);
    whole_collector_start(&w);
    cJSON_Delete(whole_get(&w, "/api/v1/captures/%s", id));
    ck_assert(metric_is("skein_state_damaged 0\n"));
    ck_assert_int_eq(whole_http(&w, "GET", "/readyz", NULL, NULL), 200);
}
END_TEST

/* Loop test: how a page of it, or all, is harmed. */
START_TEST(a_damaged_index_is_made_anew_at_the_start_and_said)
{
    char id[ID_TEXT_BYTES];
    capture(id);
    ck_assert_int_eq(whole_stop(&w.collector), 0);
    harm("index.db", (enum harm)_i);
    whole_collector_start(&w);
    ck_assert(log_has("index.db is damaged: it is made anew from the segments"));
    ck_assert(wait_until(lists_again, id, 0));
}
END_TEST

START_TEST(emptied_records_of_who_did_and_may_do_what_are_said)
{
    char id[ID_TEXT_BYTES];
    capture(id);
    ck_assert(!log_has("audit.db was empty or gone"));
    ck_assert(!log_has("enroll.db was empty or gone"));
    ck_assert_int_eq(whole_stop(&w.collector), 0);
    harm("audit.db", EMPTY);
    harm("enroll.db", EMPTY);
    whole_collector_start(&w);
    ck_assert(log_has("audit.db was empty or gone although partitions are stored"));
    ck_assert(log_has("enroll.db was empty or gone although partitions are stored"));
}
END_TEST

START_TEST(a_state_that_is_lost_under_a_collector_is_said)
{
    char id[ID_TEXT_BYTES], *path = whole_path(&w, "collector/state.db");
    capture(id);
    make_backup();
    whole_collector_start(&w);
    ck_assert_int_eq(whole_http(&w, "GET", "/readyz", NULL, NULL), 200);
    if ((enum harm)_i == CUT)
        ck_assert_int_eq(unlink(path), 0);
    else
        harm("state.db", (enum harm)_i);
    ck_assert(wait_until(says_damaged, NULL, 0));
    whole_kill(&w.collector);
    ck_assert_int_eq(restore(), 0);
    whole_collector_start(&w);
    cJSON_Delete(whole_get(&w, "/api/v1/captures/%s", id));
    free(path);
}
END_TEST

/* ---- an agent's state, copied with its host ---- */

static bool both_know(void *context)
{
    const struct whole *far = context;
    cJSON *agents = whole_get(&w, "/api/v1/agents");
    char *text = cJSON_PrintUnformatted(agents), *path = whole_path(far, "agent.log");
    char *log = file_read(path, NULL);
    bool know = strstr(text, "\"cloned\":true") != NULL && log != NULL &&
                strstr(log, "another agent has this one's identity") != NULL;
    cJSON_free(text);
    cJSON_Delete(agents);
    free(path);
    free(log);
    return know;
}

START_TEST(a_copied_state_folder_is_told_at_both_ends)
{
    struct whole far;
    size_t n;
    whole_join(&far, &w, 0);
    char *from = whole_path(&w, "agent/agent.json"), *folder = whole_path(&far, "agent"),
         *to = whole_path(&far, "agent/agent.json"), *text = file_read(from, &n);
    ck_assert(mkdir(folder, 0700) == 0 && text != NULL);
    file_write(to, text, n);
    whole_agent_start(&far);
    ck_assert_msg(wait_until(both_know, &far, 0), "nobody notices");
    ck_assert(log_has("two agents have one identity"));
    whole_fini(&far);
    free(from);
    free(folder);
    free(to);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_databases");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_set_timeout(c, 280);
    tcase_add_loop_test(c, a_damaged_index_is_made_anew_while_the_collector_runs, GARBAGE, EMPTY);
    tcase_add_loop_test(c, a_damaged_audit_log_is_set_aside, GARBAGE, ZEROS + 1);
    tcase_add_loop_test(c, a_damaged_state_is_said_and_restored_by_one_command, GARBAGE, EMPTY);
    tcase_add_test(c, an_emptied_state_is_said);
    tcase_add_test(c, emptied_records_of_who_did_and_may_do_what_are_said);
    tcase_add_loop_test(c, a_damaged_index_is_made_anew_at_the_start_and_said, GARBAGE, ZEROS + 1);
    tcase_add_loop_test(c, a_state_that_is_lost_under_a_collector_is_said, CUT, EMPTY + 1);
    tcase_add_loop_test(c, a_state_that_is_lost_under_a_collector_is_said, GARBAGE, PAGE);
    tcase_add_test(c, a_copied_state_folder_is_told_at_both_ends);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
