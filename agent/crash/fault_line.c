/* SPDX-License-Identifier: Apache-2.0
 *
 * Faults in the kernel's log; see fault_line.h. Any thread but the loop's.
 */
#include "fault_line.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "digits.h"

#define RECORD_BYTES 8192 /* the kernel's longest */
#define RECORDS_MAX  65536

/* ---- parsing ---- */

struct fault_text {
    const char *at, *end;
};

static bool text_take(struct fault_text *t, const char *word)
{
    size_t n = strlen(word);
    if (n > (size_t)(t->end - t->at) || memcmp(t->at, word, n) != 0)
        return false;
    t->at += n;
    return true;
}

static bool number_take(struct fault_text *t, unsigned base, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;
    const char *first = t->at;
    for (unsigned digit; t->at < t->end && (digit = (unsigned)digit_hex(*t->at)) < base; t->at++) {
        if (value > (most - digit) / base)
            return false;
        value = value * base + digit;
    }
    *out = value;
    return t->at > first;
}

/* "NAME[TID" in front of `found`, which is the bracket that closes. */
static bool who_take(const char *from, const char *found, struct fault_line *line)
{
    const char *bracket = memrchr(from, '[', (size_t)(found - from));
    uint64_t tid;
    if (bracket == NULL)
        return false;
    struct fault_text number = {bracket + 1, found};
    size_t n = (size_t)(bracket - from);
    if (!number_take(&number, 10, UINT32_MAX, &tid) || number.at != found)
        return false;
    line->tid = (uint32_t)tid;
    if (n >= sizeof line->name)
        n = sizeof line->name - 1;
    memcpy(line->name, from, n);
    line->name[n] = '\0';
    return true;
}

static bool numbers_take(struct fault_text t, struct fault_line *line)
{
    return number_take(&t, 16, UINT64_MAX, &line->address) && text_take(&t, " ip ") &&
           number_take(&t, 16, UINT64_MAX, &line->ip) && text_take(&t, " sp ") &&
           number_take(&t, 16, UINT64_MAX, &line->sp) && text_take(&t, " error ") &&
           number_take(&t, 16, UINT64_MAX, &line->error);
}

/* The first one that reads is the kernel's: a thread's name, in front of it, has no room for
 * another; a file's name, behind it, has. */
bool fault_line_parse(const char *record, size_t n, struct fault_line *out)
{
    static const char word[] = "]: segfault at ";
    const char *newline = memchr(record, '\n', n); /* behind it are a device's variables */
    const char *end = newline != NULL ? newline : record + n;
    const char *text = memchr(record, ';', (size_t)(end - record));
    if (text == NULL)
        return false;
    text++;
    for (const char *at = text; at < end; at++) {
        struct fault_line line = {.tid = 0};
        at = memmem(at, (size_t)(end - at), word, sizeof word - 1);
        if (at == NULL)
            return false;
        if (who_take(text, at, &line) &&
            numbers_take((struct fault_text){at + sizeof word - 1, end}, &line)) {
            *out = line;
            return true;
        }
    }
    return false;
}

const char *fault_access(const struct fault_line *line)
{
    if ((line->error & 0x10) != 0)
        return "execute";
    return (line->error & 0x2) != 0 ? "write" : "read";
}

/* ---- reading ---- */

int fault_line_find(const char *path, uint32_t tid, uint64_t ip, uint64_t sp,
                    struct fault_line *out)
{
    char record[RECORD_BYTES];
    struct fault_line line;
    int status = SKEIN_NOT_FOUND;
    int fd = open(path != NULL ? path : "/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return SKEIN_DENIED; /* ENOENT, too: whoever hides devices does so */
    for (int i = 0; i < RECORDS_MAX; i++) {
        ssize_t n = read(fd, record, sizeof record);
        if (n < 0 && (errno == EPIPE || errno == EINTR)) /* overwritten: it goes on behind that */
            continue;
        if (n < 0 && errno == EPERM)
            status = SKEIN_DENIED;
        if (n <= 0)
            break;
        if (!fault_line_parse(record, (size_t)n, &line) || line.tid != tid || line.ip != ip ||
            line.sp != sp)
            continue;
        *out = line;
        status = SKEIN_OK;
    }
    close(fd);
    return status;
}
