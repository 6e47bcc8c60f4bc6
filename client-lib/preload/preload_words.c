/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns nothing: each function reads what its caller points to, and the process page. Any thread,
 * also in signal handlers. Never calls libc for a text.
 */
#include "preload_words.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>

#include "attach_client.h"
#include "privacy.h"
#include "session.h"
#include "sys_raw.h"

#define POLL_LOOK_MAX 64 /* descriptors among which the one that is ready is looked for */

/* ---- privacy ---- */

/* With no page: nothing is written then, so that it does not matter what. */
static uint32_t privacy_now(const struct skein_view **view)
{
    *view = session_view();
    return *view != NULL ? skein_load32(&(*view)->privacy) : PRIVACY_LEAVE_OUT;
}

static const char *text_private(const char *text, char room[WORDS_BYTES])
{
    const struct skein_view *view;
    uint32_t privacy = privacy_now(&view);
    if (text == NULL || privacy == PRIVACY_OFF)
        return text;
    room[0] = '\0';
    size_t bytes = strnlen(text, SKEIN_STR_MAX);
    if (privacy == PRIVACY_HASH && bytes)
        privacy_hash(view->privacy_key, text, bytes, room);
    return room;
}

/* ---- what has been read ---- */

/* Whether a call with this result has read its path. Other errors may come before that: of flags,
 * and of a filter on system calls. */
static bool has_read_path(int64_t result)
{
    switch (-result) {
    case ENOENT:
    case ENOTDIR:
    case EEXIST:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EROFS:
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case ESTALE:
    case EINTR:
    case ETIMEDOUT:
    case EBUSY:
    case ETXTBSY:
    case ENOTEMPTY:
        return true;
    default:
        return result >= 0;
    }
}

/* The same of a connection's address. */
static bool has_read_address(int64_t result)
{
    switch (-result) {
    case EINPROGRESS:
    case ECONNREFUSED:
    case ETIMEDOUT:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ECONNRESET:
    case ECONNABORTED:
    case EADDRNOTAVAIL:
    case EADDRINUSE:
    case EISCONN:
    case EALREADY:
    case EINTR:
    case EAGAIN:
    case ENOENT:
    case EPROTOTYPE:
        return true;
    default:
        return result == 0;
    }
}

void words_of_path(struct wait *wait, struct words *words)
{
    bool read = has_read_path(wait->result);
    wait->more[0].str = read ? text_private(wait->more[0].str, words->text[0]) : NULL;
}

void words_of_paths(struct wait *wait, struct words *words)
{
    words_of_path(wait, words);
    bool read = wait->result >= 0;
    wait->more[1].str = read ? text_private(wait->more[1].str, words->text[1]) : NULL;
}

void words_of_host(struct wait *wait, struct words *words)
{
    wait->more[0].str = text_private(wait->more[0].str, words->text[0]);
}

/* ---- addresses ---- */

/* Grows to the right; what does not fit is left out. */
struct line {
    char *at, *end; /* the last byte is the NUL's */
};

static void line_put(struct line *line, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes && line->at < line->end; i++)
        *line->at++ = text[i];
    *line->at = '\0';
}

static void number_put(struct line *line, unsigned number, unsigned base)
{
    static const char digits[] = "0123456789abcdef";
    char text[12];
    size_t at = sizeof text;
    do {
        text[--at] = digits[number % base];
        number /= base;
    } while (number > 0);
    line_put(line, text + at, sizeof text - at);
}

static void ipv4_put(struct line *line, const uint8_t bytes[4])
{
    for (int i = 0; i < 4; i++) {
        if (i > 0)
            line_put(line, ".", 1);
        number_put(line, bytes[i], 10);
    }
}

/* The longest run of two zero groups or more, the first of several: RFC 5952. */
static void zeros_find(const uint16_t groups[8], int *from, int *count)
{
    *from = -1;
    *count = 1;
    for (int i = 0; i < 8; i++) {
        int n = 0;
        while (i + n < 8 && groups[i + n] == 0)
            n++;
        if (n > *count) {
            *from = i;
            *count = n;
        }
    }
}

static void ipv6_put(struct line *line, const uint8_t bytes[16], uint32_t scope)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    uint16_t groups[8];
    int from, count;
    if (memcmp(bytes, mapped, sizeof mapped) == 0) {
        line_put(line, "::ffff:", 7);
        ipv4_put(line, bytes + 12);
        return;
    }
    for (int i = 0; i < 8; i++)
        groups[i] = (uint16_t)(bytes[2 * i] << 8 | bytes[2 * i + 1]);
    zeros_find(groups, &from, &count);
    for (int i = 0; i < 8; i++) {
        if (i == from) {
            line_put(line, "::", 2);
            i += count - 1;
            continue;
        }
        if (i > 0 && i != from + count)
            line_put(line, ":", 1);
        number_put(line, groups[i], 16);
    }
    if (scope) {
        line_put(line, "%", 1);
        number_put(line, scope, 10);
    }
}

/* An abstract one begins with a NUL, and may hold others: "@" stands for each. */
static void unix_put(struct line *line, const char *path, size_t bytes)
{
    bool abstract = bytes > 0 && path[0] == '\0';
    for (size_t i = 0; i < bytes && (abstract || path[i] != '\0'); i++)
        line_put(line, path[i] != '\0' ? &path[i] : "@", 1);
}

/* Host, or path, without a port. False: it has no port. */
static bool host_put(struct line *line, const struct sockaddr_storage *from, socklen_t bytes,
                     uint16_t *port)
{
    const struct sockaddr_in *v4 = (const void *)from;
    const struct sockaddr_in6 *v6 = (const void *)from;
    const struct sockaddr_un *un = (const void *)from;
    const size_t head = offsetof(struct sockaddr_un, sun_path);
    if (from->ss_family == AF_INET && bytes >= sizeof *v4) {
        ipv4_put(line, (const uint8_t *)&v4->sin_addr);
        *port = ntohs(v4->sin_port);
        return true;
    }
    if (from->ss_family == AF_INET6 && bytes >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
        uint32_t scope = bytes >= sizeof *v6 ? v6->sin6_scope_id : 0;
        ipv6_put(line, v6->sin6_addr.s6_addr, scope);
        *port = ntohs(v6->sin6_port);
        return true;
    }
    if (from->ss_family == AF_UNIX && bytes > head)
        unix_put(line, un->sun_path, (bytes < sizeof *un ? bytes : sizeof *un) - head);
    return false;
}

/* Without a host: "unix", or "family 16". */
static void family_put(struct line *line, sa_family_t family)
{
    if (family == AF_UNIX) {
        line_put(line, "unix", 4);
    } else if (family != AF_UNSPEC) {
        line_put(line, "family ", 7);
        number_put(line, family, 10);
    }
}

void words_of_address(const struct sockaddr *address, socklen_t bytes, char out[WORDS_BYTES])
{
    struct sockaddr_storage from = {.ss_family = AF_UNSPEC};
    char host[WORDS_BYTES] = "", hidden[WORDS_BYTES] = "";
    struct line line = {host, host + sizeof host - 1}, whole = {out, out + WORDS_BYTES - 1};
    uint16_t port = 0;
    out[0] = '\0';
    if (bytes >= sizeof from.ss_family)
        memcpy(&from, address, bytes < sizeof from ? bytes : sizeof from);
    bool has_port = host_put(&line, &from, bytes, &port);
    if (host[0] == '\0') {
        family_put(&whole, from.ss_family);
        return;
    }
    const char *shown = text_private(host, hidden);
    bool bracketed = has_port && from.ss_family == AF_INET6 && shown == host;
    if (shown[0] == '\0') /* left out, with its port */
        return;
    line_put(&whole, "[", bracketed);
    line_put(&whole, shown, strnlen(shown, WORDS_BYTES));
    line_put(&whole, "]", bracketed);
    if (has_port) {
        line_put(&whole, ":", 1);
        number_put(&whole, port, 10);
    }
}

/* The same without a port: what a name was found to be. */
static void address_found(int family, const void *address, char out[WORDS_BYTES])
{
    char host[WORDS_BYTES] = "";
    struct line line = {host, host + sizeof host - 1}, whole = {out, out + WORDS_BYTES - 1};
    char hidden[WORDS_BYTES] = "";
    out[0] = '\0';
    if (family == AF_INET)
        ipv4_put(&line, address);
    else if (family == AF_INET6)
        ipv6_put(&line, address, 0);
    const char *shown = text_private(host, hidden);
    line_put(&whole, shown, strnlen(shown, WORDS_BYTES));
}

void words_of_connect(struct wait *wait, struct words *words)
{
    const struct sockaddr *address = (const void *)(uintptr_t)wait->more[0].u64;
    wait->more[0].str = words->text[0];
    words->text[0][0] = '\0';
    if (has_read_address(wait->result))
        words_of_address(address, (socklen_t)wait->more[1].u64, words->text[0]);
}

void words_of_accept(struct wait *wait, struct words *words)
{
    struct sockaddr_storage from = {.ss_family = AF_UNSPEC};
    socklen_t bytes = sizeof from;
    const struct sockaddr *told = (const void *)(uintptr_t)wait->more[0].u64;
    const socklen_t told_bytes = (socklen_t)wait->more[1].u64;
    wait->more[0].str = words->text[0];
    words->text[0][0] = '\0';
    if (wait->result < 0)
        return;
    if (told_bytes)
        words_of_address(told, told_bytes, words->text[0]);
    else if (!attach_client_is_barred() &&
             RAW3(SYS_getpeername, wait->result, RAW_POINTER(&from), RAW_POINTER(&bytes)) == 0)
        words_of_address((const struct sockaddr *)&from, bytes, words->text[0]);
}

/* ---- names ---- */

void words_of_addrinfo(struct wait *wait, struct words *words)
{
    struct addrinfo *const *found = (struct addrinfo *const *)(uintptr_t)wait->more[1].u64;
    words_of_host(wait, words);
    wait->more[1].str = NULL;
    const struct addrinfo *first = wait->result == 0 ? *found : NULL;
    if (first == NULL || first->ai_addr == NULL)
        return;
    const struct sockaddr_in *v4 = (const void *)first->ai_addr;
    const struct sockaddr_in6 *v6 = (const void *)first->ai_addr;
    const void *address =
        first->ai_family == AF_INET ? (const void *)&v4->sin_addr : (const void *)&v6->sin6_addr;
    address_found(first->ai_family, address, words->text[1]);
    wait->more[1].str = words->text[1];
}

void words_of_hostent(struct wait *wait, struct words *words)
{
    const struct hostent *found = (const struct hostent *)(uintptr_t)wait->more[1].u64;
    words_of_host(wait, words);
    wait->more[1].str = NULL;
    if (wait->result != 0 || found == NULL || found->h_addr_list[0] == NULL)
        return;
    address_found(found->h_addrtype, found->h_addr_list[0], words->text[1]);
    wait->more[1].str = words->text[1];
}

/* ---- descriptors ---- */

void words_of_poll(struct wait *wait, struct words *words)
{
    const struct pollfd *fds = (const struct pollfd *)(uintptr_t)wait->more[0].u64;
    uint32_t count = (uint32_t)wait->op.detail; /* as the kernel takes it */
    (void)words;
    wait->more[0].i64 = -1;
    if (wait->result < 0 || count == 0)
        return;
    if (count == 1)
        wait->more[0].i64 = fds[0].fd;
    for (uint32_t i = 0; wait->result > 0 && i < count && i < POLL_LOOK_MAX; i++) {
        if (fds[i].revents == 0)
            continue;
        wait->more[0].i64 = fds[i].fd;
        return;
    }
}
