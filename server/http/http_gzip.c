/* SPDX-License-Identifier: Apache-2.0
 *
 * Which answers go out as gzip, and the bytes of them: JSON that is long enough to be worth it, whole in
 * memory, to who asks for it. Owns nothing; any thread.
 *
 * What has an entity tag goes as it is: the tag is of these bytes, and changes are made against it. So do
 * streams and traces, which are made while they are sent. Secrets (new tokens) are far shorter than the
 * bound, so that no length tells anything of them.
 */
#include "http_field.h"
#include "http_int.h"
#include "pack_zlib.h"

#include <string.h>

#define GZIP_FROM (4u << 10)
/* Takes half a second of a thread, and as much memory again. */
#define GZIP_UP_TO (32u << 20)

bool http_gzip_is_worth(const char *type, size_t n)
{
    static const char json[] = "application/json";
    return n > GZIP_FROM && n <= GZIP_UP_TO && type != NULL &&
           (strncmp(type, json, sizeof json - 1) == 0 || strcmp(type, PROBLEM_TYPE) == 0);
}

bool http_gzip(const char *accept_encoding, const void *body, size_t n, struct buf *out)
{
    return http_takes_gzip(accept_encoding) && gzip_pack(out, body, n) == SKEIN_OK && out->len < n;
}
