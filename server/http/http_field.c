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
    if (host[0] == '[' && host[n++] != ']')
        return 0;
    const char *rest = host + n;
    if (*rest == ':')
        rest += 1 + strspn(rest + 1, "0123456789");
    return *rest == '\0' || *rest == '/' ? n : 0;
}

bool http_is_origin(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
    size_t scheme = strncmp(text, "http://", 7) == 0    ? 7
                    : strncmp(text, "https://", 8) == 0 ? 8
                                                        : 0;
    if (scheme == 0)
        return false;
    const char *host = text + scheme;
    size_t n = http_host_bytes(host);
    size_t named = host[0] == '[' ? 1 + strspn(host + 1, "0123456789abcdefABCDEF:.") + 1
                                  : strspn(host, letters);
    const char *port = host + n;
    return n > (host[0] == '[' ? 2 : 0) && named == n && strchr(port, '/') == NULL &&
           (*port == '\0' || port[1] != '\0') && strlen(port) <= 6;
}

bool http_host_loopback(const char *host, size_t n)
{
    return http_host_in("localhost,127.0.0.1,[::1]", host, n);
}

/* ---- Origin ---- */

bool http_origin_get(const char *text, struct http_origin *out)
{
    static const char plain[] = "http://", secure[] = "https://";
    out->https = strncasecmp(text, secure, sizeof secure - 1) == 0;
    if (!out->https && strncasecmp(text, plain, sizeof plain - 1) != 0)
        return false;
    out->authority = text + (out->https ? sizeof secure : sizeof plain) - 1;
    return http_host_bytes(out->authority) > 0 && strchr(out->authority, '/') == NULL;
}

/* The digits behind the name, without zeros before them; `otherwise` where there are none. */
static const char *port_of(const char *authority, size_t name, const char *otherwise)
{
    const char *port = authority + name + (authority[name] == ':');
    if (*port == '\0')
        return otherwise;
    return port + strspn(port, "0");
}

bool http_origin_is(const struct http_origin *origin, const char *host)
{
    const char *common = origin->https ? "443" : "80";
    size_t n = http_host_bytes(origin->authority);
    return n > 0 && n == http_host_bytes(host) && strchr(host, '/') == NULL &&
           strncasecmp(origin->authority, host, n) == 0 &&
           strcmp(port_of(origin->authority, n, common), port_of(host, n, common)) == 0;
}

/* ---- Cookie ---- */

/* Whether it is of cookie-octets (RFC 6265) alone. A value in quotes, which is one too, is none
 * that this server has given. */
static bool cookie_valid(const char *value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (value[i] <= ' ' || value[i] >= 0x7f || strchr("\",;\\", value[i]) != NULL)
            return false;
    return true;
}

static void cookie_take(struct http_cookie *cookie, const char *value, size_t n)
{
    bool other = cookie->value != NULL && (cookie->n != n || memcmp(cookie->value, value, n) != 0);
    if (other || !cookie_valid(value, n))
        *cookie = (struct http_cookie){.doubtful = true};
    else
        *cookie = (struct http_cookie){.value = value, .n = n};
}

void http_cookie_look(struct http_cookie *cookie, const char *field, const char *name)
{
    size_t head = strlen(name);
    for (; *field != '\0' && !cookie->doubtful; field += strcspn(field, ";")) {
        field += strspn(field, " \t;");
        size_t pair = strcspn(field, ";");
        while (pair > 0 && (field[pair - 1] == ' ' || field[pair - 1] == '\t'))
            pair--;
        if (pair > head && memcmp(field, name, head) == 0 && field[head] == '=')
            cookie_take(cookie, field + head + 1, pair - head - 1);
    }
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

/* A weight "0.123" in thousandths; 0 where it is none. */
static unsigned weight_read(const char *p)
{
    unsigned value = 0, digit = 1000;
    if (*p != '0' && *p != '1')
        return 0;
    value = (unsigned)(*p++ - '0') * digit;
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9' && digit > 1; p++)
            value += (unsigned)(*p - '0') * (digit /= 10);
    return value > 1000 ? 1000 : value;
}

/* The weight among the n bytes of parameters, ";a=b;q=0.5"; 1000 where there is none. */
static unsigned item_weight(const char *p, size_t n)
{
    const char *end = p + n;
    while (p < end) {
        p += strspn(p, "; \t");
        if (p < end && (*p == 'q' || *p == 'Q') && p[1] == '=')
            return weight_read(p + 2);
        while (p < end && *p != ';')
            p++;
    }
    return 1000;
}

/* How exactly the n bytes mean `name`: 3 by name, 2 as "text/" and a star, 1 as any; 0: not. */
static int item_meant(const char *item, size_t n, const char *name)
{
    const char *slash = strchr(name, '/');
    size_t kind = slash != NULL ? (size_t)(slash - name) + 1 : 0;
    if (n == strlen(name) && strncasecmp(item, name, n) == 0)
        return 3;
    if (kind > 0 && n == kind + 1 && item[kind] == '*' && strncasecmp(item, name, kind) == 0)
        return 2;
    return (n == 1 && item[0] == '*') || (n == 3 && strncmp(item, "*/*", n) == 0);
}

unsigned http_weight(const char *list, const char *name, unsigned otherwise)
{
    int best = 0;
    unsigned weight = otherwise;
    while (list != NULL && *list != '\0') {
        list += strspn(list, ", \t");
        size_t length = strcspn(list, ","), n = strcspn(list, ",; \t");
        int meant = item_meant(list, n, name);
        if (meant > best) {
            best = meant;
            weight = item_weight(list + n, length - n);
        }
        list += length;
    }
    return weight;
}

bool http_takes_gzip(const char *accept_encoding)
{
    unsigned gzip = http_weight(accept_encoding, "gzip", 0);
    return gzip > 0 && gzip >= http_weight(accept_encoding, "identity", 0);
}

/* One tag of a list and what is behind it, up to the next; *tag begins with its quote. False: there is
 * none, or what is there is no tag. */
static bool etag_next(const char **list, bool *weak, const char **tag, size_t *n)
{
    const char *at = *list + strspn(*list, " \t,");
    *weak = strncmp(at, "W/", 2) == 0;
    at += *weak ? 2 : 0;
    if (*at != '"')
        return false;
    const char *end = strchr(at + 1, '"');
    if (end == NULL)
        return false;
    *tag = at;
    *n = (size_t)(end - at) + 1;
    at = end + 1;
    at += strspn(at, " \t");
    *list = at;
    return *at == '\0' || *at == ',';
}

static bool etag_find(const char *list, const char *etag, bool strongly)
{
    bool weak;
    const char *tag;
    size_t n, length = strlen(etag);
    if (list == NULL)
        return false;
    size_t blank = strspn(list, " \t");
    if (list[blank] == '*')
        return list[blank + 1 + strspn(list + blank + 1, " \t")] == '\0';
    while (etag_next(&list, &weak, &tag, &n))
        if (n == length && memcmp(tag, etag, n) == 0 && !(weak && strongly))
            return true;
    return false;
}

bool http_etag_in(const char *list, const char *etag)
{
    return etag_find(list, etag, false);
}

bool http_etag_in_strongly(const char *list, const char *etag)
{
    return etag_find(list, etag, true);
}
