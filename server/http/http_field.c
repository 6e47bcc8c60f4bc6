/* SPDX-License-Identifier: Apache-2.0
 *
 * Header fields of strangers, read. No state; any thread.
 */
#include "http_field.h"

#include <string.h>
#include <strings.h>

bool http_host_in(const char *names, const char *host, size_t n)
{
    while (*names != '\0') {
        size_t length = strcspn(names, ",");
        if (length == n && n > 0 && strncasecmp(names, host, n) == 0)
            return true;
        names += length;
        names += *names == ',';
    }
    return false;
}

size_t http_host_bytes(const char *host)
{
    size_t n = strcspn(host, host[0] == '[' ? "]" : ":/");
    n += host[0] == '[' && host[n] == ']';
    const char *rest = host + n;
    if (*rest == ':')
        rest += 1 + strspn(rest + 1, "0123456789");
    return *rest == '\0' || *rest == '/' ? n : 0;
}

const char *http_bearer(const char *authorization)
{
    if (authorization == NULL || strncasecmp(authorization, "Bearer ", 7) != 0)
        return NULL;
    return authorization + 7 + strspn(authorization + 7, " ");
}

/* Digits to a number; false on none or beyond 64 bits. */
static bool number_take(const char **p, uint64_t *out)
{
    const char *s = *p;
    uint64_t v = 0;
    while (*s >= '0' && *s <= '9') {
        uint64_t digit = (uint64_t)(*s - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
        s++;
    }
    if (s == *p)
        return false;
    *p = s;
    *out = v;
    return true;
}

enum http_range_result http_range_get(const char *header, uint64_t size, uint64_t *from,
                                      uint64_t *length)
{
    *from = 0;
    *length = size;
    if (header == NULL || strncmp(header, "bytes=", 6) != 0)
        return HTTP_RANGE_WHOLE;
    const char *p = header + 6;
    uint64_t first = 0, last = 0;
    if (*p == '-') { /* the last n bytes */
        p++;
        if (!number_take(&p, &last) || *p != '\0')
            return HTTP_RANGE_WHOLE;
        if (last == 0 || size == 0)
            return HTTP_RANGE_OUTSIDE;
        *length = last < size ? last : size;
        *from = size - *length;
        return HTTP_RANGE_PART;
    }
    if (!number_take(&p, &first) || *p++ != '-')
        return HTTP_RANGE_WHOLE;
    last = UINT64_MAX;
    if (*p != '\0' && (!number_take(&p, &last) || *p != '\0' || last < first))
        return HTTP_RANGE_WHOLE;
    if (first >= size)
        return HTTP_RANGE_OUTSIDE;
    *from = first;
    *length = (last < size ? last : size - 1) - first + 1;
    return HTTP_RANGE_PART;
}

bool http_etag_in(const char *list, const char *etag)
{
    if (list == NULL)
        return false;
    size_t n = strlen(etag);
    while (*list != '\0') {
        list += strspn(list, " \t,");
        if (*list == '*')
            return true;
        if (strncmp(list, "W/", 2) == 0)
            list += 2;
        if (strncmp(list, etag, n) == 0 && (list[n] == '\0' || strchr(" \t,", list[n]) != NULL))
            return true;
        list += strcspn(list, ",");
    }
    return false;
}
