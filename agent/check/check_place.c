/* SPDX-License-Identifier: Apache-2.0
 *
 * Namespaces of services; see check_place.h. A process that has gone, or whose number another one
 * has by now, gives a result that nobody takes: its rule hears of its end at the same time.
 */
#include "check_place.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptor.h"
#include "digits.h"

#define MARK "{ip}"

char *check_text_fill(const char *text, const char *mark, const char *value)
{
    struct buf out = {0};
    size_t n = strlen(mark);
    while (*text != '\0') {
        if (strncmp(text, mark, n) == 0) {
            buf_printf(&out, "%s", value);
            text += n;
        } else {
            buf_put_u8(&out, (uint8_t)*text++);
        }
    }
    buf_put_u8(&out, 0);
    if (out.status == SKEIN_OK)
        return (char *)out.data;
    buf_fini(&out);
    return NULL;
}

static bool place_refuse(const struct check_spec *spec, struct check_result *result,
                         const char *why)
{
    char name[128];
    check_name(spec, name, sizeof name);
    result->not_run = true;
    snprintf(result->reason, sizeof result->reason, "check %.80s is not run: %s", name, why);
    return false;
}

/* ---- {ip} ---- */

bool check_ipv4_read(FILE *file, char out[INET6_ADDRSTRLEN])
{
    char line[256], address[INET6_ADDRSTRLEN] = "";
    bool found = false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        const char *leaf = strstr(line, "|-- ");
        if (leaf != NULL)
            (void)sscanf(leaf + 4, "%45s", address);
        found = strstr(line, "/32 host LOCAL") != NULL && address[0] != '\0' &&
                strncmp(address, "127.", 4) != 0;
    }
    if (found)
        snprintf(out, INET6_ADDRSTRLEN, "%s", address);
    return found;
}

/* Whether the third word of the text is 0: the scope of an address that all can reach. */
static bool is_global(const char *text)
{
    for (int words = 0; words < 2; words++) {
        text += strspn(text, " ");
        text += strcspn(text, " ");
    }
    char *end;
    unsigned long scope = strtoul(text, &end, 16);
    return end != text && scope == 0;
}

bool check_ipv6_read(FILE *file, char out[INET6_ADDRSTRLEN])
{
    char line[256];
    bool found = false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        struct in6_addr address;
        found = strspn(line, "0123456789abcdef") == 32 && is_global(line + 32) &&
                digits_bytes(line, address.s6_addr, sizeof address) &&
                inet_ntop(AF_INET6, &address, out, INET6_ADDRSTRLEN) != NULL;
    }
    return found;
}

static bool address_find(uint32_t pid, const char *table,
                         bool read(FILE *file, char out[INET6_ADDRSTRLEN]),
                         char out[INET6_ADDRSTRLEN])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/net/%s", pid, table);
    FILE *file = fopen(path, "re");
    bool found = file != NULL && read(file, out);
    if (file != NULL)
        fclose(file);
    return found;
}

static bool place_fill(char **text, const char *value)
{
    char *filled = check_text_fill(*text, MARK, value);
    if (filled == NULL)
        return false;
    free(*text);
    *text = filled;
    return true;
}

bool check_place_fill(struct check_spec *spec, struct check_result *result)
{
    char address[INET6_ADDRSTRLEN], bracketed[INET6_ADDRSTRLEN + 2];
    bool wanted = spec->target != NULL && strstr(spec->target, MARK) != NULL;
    for (char **arg = spec->argv; *arg != NULL && !wanted; arg++)
        wanted = strstr(*arg, MARK) != NULL;
    if (!wanted)
        return true;
    spec->from_here = true;
    if (!address_find(spec->pid, "fib_trie", check_ipv4_read, address) &&
        !address_find(spec->pid, "if_inet6", check_ipv6_read, address))
        return place_refuse(spec, result,
                            "{ip}: the service's network has no address but loopback");
    snprintf(bracketed, sizeof bracketed, strchr(address, ':') != NULL ? "[%s]" : "%s", address);
    bool filled = spec->target == NULL || place_fill(&spec->target, bracketed);
    for (char **arg = spec->argv; *arg != NULL && filled; arg++)
        filled = place_fill(arg, address);
    return filled ? true : place_refuse(spec, result, "the agent is out of memory");
}

/* ---- namespaces ---- */

/* Whether the service has another namespace of this kind than the calling thread. */
static bool is_elsewhere(uint32_t pid, const char *kind)
{
    char path[64];
    struct stat there, here;
    snprintf(path, sizeof path, "/proc/%u/ns/%s", pid, kind);
    if (pid == 0 || stat(path, &there) != 0)
        return false;
    snprintf(path, sizeof path, "/proc/thread-self/ns/%s", kind);
    return stat(path, &here) == 0 && (there.st_ino != here.st_ino || there.st_dev != here.st_dev);
}

bool check_place_enter(const struct check_spec *spec, int *back, struct check_result *result)
{
    char path[64];
    *back = -1;
    if (spec->from_here || !is_elsewhere(spec->pid, "net"))
        return true;
    snprintf(path, sizeof path, "/proc/%u/ns/net", spec->pid);
    int there = open(path, O_RDONLY | O_CLOEXEC);
    *back = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    bool entered = there >= 0 && *back >= 0 && setns(there, CLONE_NEWNET) == 0;
    fd_close(&there);
    if (entered)
        return true;
    fd_close(back);
    return place_refuse(
        spec, result,
        "the service has a network of its own, which this agent may not enter; give the "
        "agent CAP_SYS_ADMIN, or write {ip} for the address");
}

void check_place_leave(int *back)
{
    if (*back < 0)
        return;
    (void)setns(*back, CLONE_NEWNET); /* one's own; should it fail, the run's thread ends now */
    close(*back);
    *back = -1;
}

int check_place_socket(const struct check_spec *spec, struct check_result *result)
{
    char path[64];
    if (!is_elsewhere(spec->pid, "mnt"))
        return open(spec->target, O_PATH | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%u/root", spec->pid);
    int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) {
        (void)place_refuse(spec, result,
                           "the service has a file system of its own, which this agent may "
                           "not look at; give the agent CAP_SYS_PTRACE");
        return -1;
    }
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    int fd = (int)syscall(SYS_openat2, root, spec->target, &how, sizeof how);
    int failed = errno;
    close(root);
    errno = failed;
    return fd;
}
