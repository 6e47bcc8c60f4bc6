/* SPDX-License-Identifier: Apache-2.0
 *
 * /openapi.json: openapi.json of this folder, as it was built, and as gzip that was made then: it is for
 * everybody, so answering it must cost nothing. No state; any thread.
 */
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "http_field.h"

__asm__(".section .rodata\n"
        ".global api_openapi_begin, api_openapi_end, api_openapi_gzip_begin, api_openapi_gzip_end\n"
        "api_openapi_begin: .incbin \"" OPENAPI_JSON "\"\n"
        "api_openapi_end: .byte 0\n"
        "api_openapi_gzip_begin: .incbin \"" OPENAPI_GZIP "\"\n"
        "api_openapi_gzip_end: .byte 0\n"
        ".previous\n");
extern const char api_openapi_begin[], api_openapi_end[];
extern const char api_openapi_gzip_begin[], api_openapi_gzip_end[];

void api_openapi(void *context, struct http_exchange *x)
{
    (void)context;
    const char *begin = api_openapi_begin, *end = api_openapi_end;
    http_add_header(x, "Vary", "Accept-Encoding");
    if (http_takes_gzip(http_header(x, "Accept-Encoding")) &&
        http_add_header(x, "Content-Encoding", "gzip")) {
        begin = api_openapi_gzip_begin;
        end = api_openapi_gzip_end;
    }
    http_reply_static(x, 200, "application/json", begin, (size_t)(end - begin));
}
