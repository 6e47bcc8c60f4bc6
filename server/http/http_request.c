/* SPDX-License-Identifier: Apache-2.0
 *
 * Request ids, addresses and the access log of the HTTP server. No state; any thread.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "checksum.h"
#include "http_int.h"
#include "ids.h"
#include "log.h"

void http_request_id_make(const char *given, char out[HTTP_REQUEST_ID_BYTES])
{
    static const char allowed[] =
        "0123456789-._ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    size_t n = given != NULL ? strspn(given, allowed) : 0;
    if (n > 0 && n < HTTP_REQUEST_ID_BYTES && given[n] == '\0') {
        memcpy(out, given, n + 1);
    } else {
        struct capture_id fresh = capture_id_new(); /* sorts by time, and is random */
        id_text(fresh.bytes, out);
    }
}

void http_address_text(const struct sockaddr *address, char out[HTTP_ADDRESS_BYTES])
{
    const char *text = NULL;
    if (address != NULL && address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        text = inet_ntop(AF_INET, &v4.sin_addr, out, HTTP_ADDRESS_BYTES);
    } else if (address != NULL && address->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof v6);
        /* A client by IPv4 of a socket for both: else all of them were one /64 to the lockout. */
        text = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)
                   ? inet_ntop(AF_INET, v6.sin6_addr.s6_addr + 12, out, HTTP_ADDRESS_BYTES)
                   : inet_ntop(AF_INET6, &v6.sin6_addr, out, HTTP_ADDRESS_BYTES);
    }
    if (text == NULL)
        snprintf(out, HTTP_ADDRESS_BYTES, "unknown");
}

struct http_whence http_whence_of(const struct sockaddr *address)
{
    uint8_t bytes[16] = {0};
    size_t around = 8; /* of IPv6, a network of 64 bits is one customer's */
    if (address != NULL && address->sa_family == AF_INET) {
        memcpy(bytes + 12, (const uint8_t *)address + offsetof(struct sockaddr_in, sin_addr), 4);
        around = 16;
    } else if (address != NULL && address->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof v6);
        memcpy(bytes, &v6.sin6_addr, sizeof bytes);
        bool mapped = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
        if (mapped)
            memset(bytes, 0, 12);
        around = mapped || IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) ? 16 : 8;
    }
    struct http_whence whence = {.address = checksum64(bytes, sizeof bytes)};
    static const uint8_t here[12];
    bool local = memcmp(bytes, here, sizeof here) == 0 &&
                 (bytes[12] == 127 || memcmp(bytes + 12, "\0\0\0\1", 4) == 0);
    whence.around = local ? 0 : checksum64(bytes, around);
    return whence;
}

void http_access_log(const struct http_access *a)
{
    bool read = strcmp(a->method, "GET") == 0 || strcmp(a->method, "HEAD") == 0;
    enum log_level level = LOG_LEVEL_INFO;
    if (a->status == 401 || a->status == 403 || a->status == 429 || a->status >= 500)
        level = LOG_LEVEL_WARN;
    else if (read && a->status < 400)
        level = LOG_LEVEL_DEBUG;
    log_write(level, "http", "request", "method", a->method, "path", a->path, "status",
              log_fmt("%u", a->status), "principal", a->principal, "address", a->address, NULL);
}
