/* SPDX-License-Identifier: Apache-2.0
 * The audit log: what is added is listed, survives a restart, keeps its bounds, and a flood of
 * refusals neither fills the disk nor pushes out what people have done. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audit.h"
#include "clock.h"
#include "skein/status.h"
#include "support.h"

struct listing {
    size_t count;
    uint64_t first, last;
    char text[8192];
};

static int take(void *context, const struct audit_row *row)
{
    struct listing *l = context;
    size_t n = strlen(l->text);
    l->first = l->count == 0 ? row->id : l->first;
    l->last = row->id;
    l->count++;
    snprintf(l->text + n, sizeof l->text - n, "%s %s %s %s;", row->entry.actor, row->entry.action,
             row->entry.object, row->entry.result);
    return 0;
}

static struct audit *open_in(const char *folder, uint64_t max_rows)
{
    struct audit *a;
    char error[256] = "";
    struct audit_settings settings = {folder, 0, max_rows};
    int status = audit_open(&settings, &a, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
    return a;
}

static void add(struct audit *a, const char *actor, const char *action, const char *object)
{
    struct audit_entry entry = {
        .actor = actor, .action = action, .object = object, .result = "ok", .detail = NULL};
    audit_add(a, &entry);
}

static struct listing list(struct audit *a, struct audit_query q)
{
    struct listing l = {0};
    q.to_ns = q.to_ns == 0 ? UINT64_MAX : q.to_ns;
    q.before = q.before == 0 ? UINT64_MAX : q.before;
    q.limit = q.limit == 0 ? 1000000 : q.limit;
    ck_assert_int_ge(audit_list(a, &q, take, &l), 0);
    return l;
}

START_TEST(what_was_added_is_listed_newest_first_and_filtered)
{
    char *folder = temp_dir_new();
    struct audit *a = open_in(folder, 1000);
    uint64_t began = clock_realtime_ns();
    add(a, "ada", "capture.create", "c1");
    add(a, "bob", "rule.put", "r1");
    add(a, "ada", "rule.delete", "r1");
    struct listing l = list(a, (struct audit_query){0});
    ck_assert_str_eq(l.text, "ada rule.delete r1 ok;bob rule.put r1 ok;ada capture.create c1 ok;");
    l = list(a, (struct audit_query){.action = "rule.*", .limit = 1});
    ck_assert_str_eq(l.text, "ada rule.delete r1 ok;");
    l = list(a, (struct audit_query){.action = "rule.*", .before = l.last});
    ck_assert_str_eq(l.text, "bob rule.put r1 ok;");
    ck_assert_uint_eq(list(a, (struct audit_query){.action = "rule"}).count, 0);
    ck_assert_uint_eq(list(a, (struct audit_query){.actor = "ada"}).count, 2);
    ck_assert_uint_eq(list(a, (struct audit_query){.object = "r1"}).count, 2);
    ck_assert_uint_eq(list(a, (struct audit_query){.from_ns = began}).count, 3);
    ck_assert_uint_eq(list(a, (struct audit_query){.to_ns = began - 1}).count, 0);
    audit_close(&a);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(entries_survive_a_restart_and_long_ones_are_cut)
{
    char *folder = temp_dir_new(), *path = path_join(folder, "audit.db"), words[4000];
    struct stat st;
    struct audit *a = open_in(folder, 1000);
    memset(words, 'w', sizeof words);
    words[sizeof words - 1] = '\0';
    add(a, "ada", "capture.delete", words);
    audit_close(&a); /* at once: what is queued is written */
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    a = open_in(folder, 1000);
    struct listing l = list(a, (struct audit_query){0});
    ck_assert_uint_eq(l.count, 1);
    ck_assert_uint_eq(strlen(l.text), strlen("ada capture.delete  ok;") + AUDIT_OBJECT_BYTES - 1);
    audit_close(&a);
    free(path);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(oldest_go_first_and_ids_are_never_used_again)
{
    char *folder = temp_dir_new(), name[16];
    struct audit *a = open_in(folder, 1000);
    for (unsigned i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "%u", i);
        add(a, "ada", "rule.put", name);
        if (i % 500 == 0) /* not faster than it is written, or it would not all fit */
            (void)list(a, (struct audit_query){.limit = 1});
    }
    audit_close(&a);
    a = open_in(folder, 1000); /* looked at when it opens */
    add(a, "ada", "rule.put", "last");
    struct listing l = list(a, (struct audit_query){.limit = 2});
    ck_assert_str_eq(l.text, "ada rule.put last ok;ada rule.put 2999 ok;");
    ck_assert_uint_eq(l.first, 3001);
    l = list(a, (struct audit_query){0});
    ck_assert_uint_le(l.count, 1001);
    ck_assert_uint_ge(l.count, 1000);
    audit_close(&a);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(downloads_without_end_leave_changes_listed)
{
    char *folder = temp_dir_new();
    struct audit *a = open_in(folder, 1000);
    add(a, "ada", "rule.put", "r1");
    for (unsigned i = 0; i < 3000; i++) {
        add(a, "eve", "partition.download", "p");
        if (i % 500 == 0) /* not faster than it is written, or it would not all fit */
            (void)list(a, (struct audit_query){.limit = 1});
    }
    audit_close(&a);
    a = open_in(folder, 1000);
    add(a, "ada", "policy.put", "p1"); /* the first one after the start is a moment to look */
    ck_assert_uint_eq(list(a, (struct audit_query){.action = "rule.*"}).count, 1);
    ck_assert_uint_eq(list(a, (struct audit_query){.action = "partition.download"}).count, 200);
    audit_close(&a);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(flood_of_refusals_is_bounded_and_counted)
{
    char *folder = temp_dir_new();
    struct audit *a = open_in(folder, 1000);
    struct audit_entry entry = {.action = "auth.refused", .object = "/", .result = "unauthorized"};
    add(a, "ada", "rule.put", "r1");
    for (unsigned i = 0; i < 50000; i++)
        audit_add_refusal(a, &entry);
    struct listing l = list(a, (struct audit_query){.action = "auth.refused"});
    ck_assert_uint_ge(l.count, 60);
    ck_assert_uint_lt(l.count, 1000); /* one more for each second that this takes */
    ck_assert_uint_eq(list(a, (struct audit_query){.action = "rule.*"}).count, 1);
    audit_close(&a);
    temp_dir_free(&folder);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("audit", what_was_added_is_listed_newest_first_and_filtered,
                              entries_survive_a_restart_and_long_ones_are_cut,
                              oldest_go_first_and_ids_are_never_used_again,
                              downloads_without_end_leave_changes_listed,
                              flood_of_refusals_is_bounded_and_counted, NULL));
}
