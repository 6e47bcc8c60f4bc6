/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of header fields, which anybody may send: Host, Origin, Authorization, Cookie, Range,
 * If-None-Match, Accept and Accept-Encoding. Pure functions.
 */
#ifndef HTTP_FIELD_H
#define HTTP_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes of `host` are the name, with its brackets. It is "name", "name:port" or
 * "[v6]:port", maybe with a /path behind it; 0: it is none of these. */
size_t http_host_bytes(const char *host);
/* Whether `host` (n bytes) is one of the names with commas; case does not count. */
bool http_host_in(const char *names, const char *host, size_t n);

/* Whether it is "http://NAME[:PORT]" or "https://…" and no more: no path, no user, no slash at the end. */
bool http_is_origin(const char *text);
/* Where a page is from: "https://name:port", as browsers send it in Origin. `authority` points into
 * the text, and is all that is behind the scheme. False: it is nothing of the kind ("null"). */
struct http_origin {
    const char *authority;
    bool https;
};
bool http_origin_get(const char *text, struct http_origin *out);
/* Whether that is the place that `host` (a Host field) names; the scheme's own port may be left out
 * on either side, case does not count. */
bool http_origin_is(const struct http_origin *origin, const char *host);
/* Whether `host` (n bytes) is a name that browsers take for their own machine. */
bool http_host_loopback(const char *host, size_t n);

/* The cookie `name` (RFC 6265), looked for in one Cookie field after another: proxies of HTTP/2 split
 * it. Begin with zeros. value: n bytes, as they stand in the field; NULL: it was not there, or it is
 * doubtful, there twice with different values or of bytes that no cookie may have. */
struct http_cookie {
    const char *value;
    size_t n;
    bool doubtful;
};
void http_cookie_look(struct http_cookie *cookie, const char *field, const char *name);

/* The text behind "Bearer "; NULL where there is none. */
const char *http_bearer(const char *authorization);

/* One byte range of a body of `size` bytes. */
enum http_range_result { HTTP_RANGE_WHOLE, HTTP_RANGE_PART, HTTP_RANGE_OUTSIDE };
/* WHOLE too for what RFC 9110 says to ignore: other units, several ranges, bad syntax. */
enum http_range_result http_range_get(const char *header, uint64_t size, uint64_t *from,
                                      uint64_t *length);

/* The weight, 0 to 1000, that a list such as "text/html;q=0.9, gzip" gives `name`, by its most
 * exact item; `otherwise` where no item means it, or there is no list (NULL). 0: it is refused. */
unsigned http_weight(const char *list, const char *name, unsigned otherwise);
/* Whether Accept-Encoding (NULL: absent) would rather have gzip than the bytes as they are. */
bool http_takes_gzip(const char *accept_encoding);

/* Whether a list of entity tags ("*", or tags with commas, W/ ignored) names etag. */
bool http_etag_in(const char *list, const char *etag);
/* The same as If-Match asks: a tag with W/ names nothing (RFC 9110, 8.8.3.2). */
bool http_etag_in_strongly(const char *list, const char *etag);

#endif
