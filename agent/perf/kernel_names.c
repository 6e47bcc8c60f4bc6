/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads /proc/kallsyms; see kernel_names.h.
 */
#include "kernel_names.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "array.h"

void kernel_names_begin(struct kernel_reading *reading, struct kernel_name *names, size_t count)
{
    *reading = (struct kernel_reading){.names = names, .count = count};
    for (size_t i = 0; i < count; i++) {
        names[i].start = 0;
        names[i].text[0] = '\0';
    }
}

static bool hex_get(const char **at, uint64_t *value)
{
    const char *p = *at;
    *value = 0;
    for (; p < *at + 16; p++) {
        unsigned digit = *p >= '0' && *p <= '9'   ? (unsigned)(*p - '0')
                         : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a') + 10
                                                  : 16;
        if (digit == 16)
            break;
        *value = *value << 4 | digit;
    }
    bool some = p > *at;
    *at = p;
    return some;
}

/* "ffffffff81000000 T _text\t[module]": the function's name alone goes to the first address that is
 * not below it; those behind take it over at the end. */
static void line_take(struct kernel_reading *reading, const char *line)
{
    uint64_t start;
    size_t i;
    const char *at = line;
    if (!hex_get(&at, &start) || at[0] != ' ' || at[1] == '\0' || at[2] != ' ')
        return;
    reading->lines++;
    reading->hidden += start == 0;
    if (strchr("tTwW", at[1]) == NULL || start == 0)
        return;
    array_find(i, 0, reading->count, reading->names[i].address < start);
    if (i == reading->count || reading->names[i].start >= start)
        return; /* of several names for one place the first is taken */
    struct kernel_name *name = &reading->names[i];
    size_t n = strcspn(at + 3, " \t");
    if (n >= sizeof name->text)
        n = sizeof name->text - 1;
    name->start = start;
    memcpy(name->text, at + 3, n);
    name->text[n] = '\0';
}

void kernel_names_feed(struct kernel_reading *reading, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n') {
            reading->line[reading->line_bytes] = '\0';
            line_take(reading, reading->line);
            reading->line_bytes = 0;
        } else if (reading->line_bytes + 1 < sizeof reading->line) {
            reading->line[reading->line_bytes++] = bytes[i];
        }
    }
}

size_t kernel_names_end(struct kernel_reading *reading)
{
    size_t known = 0;
    struct kernel_name *names = reading->names;
    for (size_t i = 0; i < reading->count; i++) {
        if (i > 0 && names[i - 1].start > names[i].start) {
            names[i].start = names[i - 1].start;
            memcpy(names[i].text, names[i - 1].text, sizeof names[i].text);
        }
    }
    for (size_t i = 0; i < reading->count; i++) {
        if (names[i].start == 0 || names[i].address - names[i].start >= KERNEL_REACH_MAX) {
            names[i].start = 0;
            names[i].text[0] = '\0';
        }
        known += names[i].start != 0;
    }
    return known;
}

int64_t kernel_names_read(const char *path, struct kernel_name *names, size_t count)
{
    struct kernel_reading reading;
    char bytes[16384];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    kernel_names_begin(&reading, names, count);
    if (fd < 0)
        return SKEIN_IO;
    ssize_t n;
    while ((n = read(fd, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0)
            kernel_names_feed(&reading, bytes, (size_t)n);
    }
    close(fd);
    if (n < 0)
        return SKEIN_IO;
    size_t known = kernel_names_end(&reading);
    return reading.lines > 0 && reading.hidden == reading.lines ? SKEIN_REFUSED : (int64_t)known;
}
