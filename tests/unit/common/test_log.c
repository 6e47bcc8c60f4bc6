/* SPDX-License-Identifier: Apache-2.0
 * Lines reach standard error whole, one a call, in both forms, and values cannot forge others. */
#include "log.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skein/status.h"
#include "support.h"

/* Standard error goes to a file while it lives. */
struct capture {
    char *folder, *file;
    int saved;
};

static void capture_begin(struct capture *c)
{
    c->folder = temp_dir_new();
    c->file = path_join(c->folder, "err");
    int fd = open(c->file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    c->saved = dup(2);
    dup2(fd, 2);
    close(fd);
}

static char *capture_end(struct capture *c)
{
    dup2(c->saved, 2);
    close(c->saved);
    char *text = file_read(c->file, NULL);
    free(c->file);
    temp_dir_free(&c->folder);
    return text;
}

START_TEST(text_line_has_all_parts)
{
    struct capture c;
    capture_begin(&c);
    log_info("upload", "stored", "partition", "3f-1-7", "path", "/a b", "nothing", NULL, NULL);
    char *text = capture_end(&c);
    ck_assert_int_eq(text[24], ' ');
    /* The NULL value of "nothing" prints empty, quoted so that it is seen. */
    ck_assert_str_eq(text + 25,
                     "info  upload: stored partition=3f-1-7 path=\"/a b\" nothing=\"\"\n");
    free(text);
}
END_TEST

START_TEST(lines_of_a_request_have_its_id)
{
    struct capture c;
    capture_begin(&c);
    ck_assert_ptr_null(log_set_request("r-1"));
    log_info("http", "first", NULL);
    ck_assert_str_eq(log_set_request(NULL), "r-1");
    log_info("http", "second", NULL);
    log_configure(LOG_LEVEL_INFO, true);
    log_set_request("r-2");
    log_info("http", "third", "a", "b", NULL);
    log_set_request(NULL);
    log_configure(LOG_LEVEL_INFO, false);
    char *text = capture_end(&c);
    ck_assert_ptr_nonnull(strstr(text, "http: first request_id=r-1\n"));
    ck_assert_ptr_nonnull(strstr(text, "http: second\n"));
    ck_assert_ptr_nonnull(strstr(text, "\"a\":\"b\",\"request_id\":\"r-2\"}\n"));
    free(text);
}
END_TEST

START_TEST(json_line_is_json)
{
    struct capture c;
    capture_begin(&c);
    log_configure(LOG_LEVEL_DEBUG, true);
    log_debug("x", "he said \"hi\"\n", "k", "v\\", NULL);
    log_configure(LOG_LEVEL_INFO, false);
    char *text = capture_end(&c);
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    cJSON *line = cJSON_Parse(text);
    ck_assert_str_eq(cJSON_GetObjectItem(line, "message")->valuestring, "he said \"hi\"\n");
    ck_assert_str_eq(cJSON_GetObjectItem(line, "level")->valuestring, "debug");
    ck_assert_str_eq(cJSON_GetObjectItem(line, "k")->valuestring, "v\\");
    cJSON_Delete(line);
    free(text);
}
END_TEST

START_TEST(level_filters)
{
    struct capture c;
    capture_begin(&c);
    log_debug("x", "hidden", NULL);
    log_configure(LOG_LEVEL_ERROR, false);
    log_warn("x", "hidden", NULL);
    log_error("x", "shown", NULL);
    char *text = capture_end(&c);
    ck_assert_ptr_null(strstr(text, "hidden"));
    ck_assert_ptr_nonnull(strstr(text, "error x: shown\n"));
    free(text);
}
END_TEST

START_TEST(values_cannot_forge_lines)
{
    struct capture c;
    capture_begin(&c);
    log_info("x", "a\nb", "k", "v\n2026 error y: forged", "k\n2", "\x1b[31m", NULL);
    char *text = capture_end(&c);
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    ck_assert_ptr_null(strchr(text, '\x1b'));
    free(text);
}
END_TEST

START_TEST(errno_is_kept)
{
    struct capture c;
    capture_begin(&c);
    close(2);
    errno = ENOSPC;
    log_info("x", "to nowhere", NULL);
    ck_assert_int_eq(errno, ENOSPC);
    free(capture_end(&c));
}
END_TEST

START_TEST(fmt_gives_eight_values_and_marks_cuts)
{
    const char *values[8];
    char long_text[1000];
    for (int i = 0; i < 8; i++)
        values[i] = log_fmt("%d", i);
    ck_assert_str_eq(values[0], "0");
    ck_assert_str_eq(values[7], "7");
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    const char *cut = log_fmt("%s", long_text);
    ck_assert_str_eq(cut + strlen(cut) - 4, "x...");
}
END_TEST

static void *write_lines(void *context)
{
    for (int i = 0; i < 200; i++)
        log_info("thread", "line", "of", (const char *)context, NULL);
    return NULL;
}

START_TEST(lines_of_threads_do_not_mix)
{
    static char names[4][2] = {"a", "b", "c", "d"};
    struct capture c;
    pthread_t threads[4];
    capture_begin(&c);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_lines, names[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    char *text = capture_end(&c), *save = NULL;
    int lines = 0;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        ck_assert_uint_eq(strlen(line), strlen("2026-11-21T09:40:00.123Z info  thread: line of=a"));
        lines++;
    }
    ck_assert_int_eq(lines, 800);
    free(text);
}
END_TEST

START_TEST(levels_have_names)
{
    enum log_level level = LOG_LEVEL_DEBUG;
    ck_assert_int_eq(log_level_parse("warn", &level), SKEIN_OK);
    ck_assert_int_eq(level, LOG_LEVEL_WARN);
    ck_assert_int_eq(log_level_parse("loud", &level), SKEIN_INVALID);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("log", text_line_has_all_parts, json_line_is_json,
                              lines_of_a_request_have_its_id, level_filters,
                              values_cannot_forge_lines, errno_is_kept,
                              fmt_gives_eight_values_and_marks_cuts, lines_of_threads_do_not_mix,
                              levels_have_names, NULL));
}
