/* SPDX-License-Identifier: Apache-2.0
 * See ask_client.h. */
#include "ask_client.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

int ask_send(uint16_t port, const char *capture, const char *sql)
{
    char body[2048], text[4096];
    int fd = tcp_connect(port);
    ck_assert_int_ge(fd, 0);
    int bytes = snprintf(body, sizeof body, "{\"query\":\"%s\"}", sql);
    int n = snprintf(text, sizeof text,
                     "POST /api/v1/captures/%s/sql HTTP/1.1\r\nHost: localhost\r\n"
                     "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                     capture, bytes, body);
    ck_assert_int_eq(write(fd, text, (size_t)n), n);
    return fd;
}

/* Its parent and its state; 0: there is no such process. */
static pid_t parent_of(pid_t pid, char *state)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    const char *behind = strrchr(text, ')');
    if (behind == NULL || strlen(behind) < 5) /* ") S 1" */
        return 0;
    *state = behind[2];
    return (pid_t)strtol(behind + 3, NULL, 10);
}

unsigned children_of(pid_t parent, pid_t *child)
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    unsigned count = 0;
    char state = 0;
    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || parent_of(pid, &state) != parent || state == 'Z')
            continue;
        count++;
        if (child != NULL)
            *child = pid;
    }
    closedir(dir);
    return count;
}

int is_process_over(pid_t pid)
{
    char state = 0;
    return parent_of(pid, &state) == 0 || state == 'Z' || state == 'X';
}
