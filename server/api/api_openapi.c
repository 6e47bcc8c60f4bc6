/* SPDX-License-Identifier: Apache-2.0
 *
 * /openapi.json: openapi.json of this folder, as it was built. No state; any thread.
 */
#include <string.h>

#include "api.h"
#include "api_handlers.h"

__asm__(".section .rodata\n"
        ".global api_openapi_begin, api_openapi_end\n"
        "api_openapi_begin: .incbin \"" OPENAPI_JSON "\"\n"
        "api_openapi_end: .byte 0\n"
        ".previous\n");
extern const char api_openapi_begin[], api_openapi_end[];

void api_openapi(void *context, struct http_exchange *x)
{
    static const char *const known[] = {NULL};
    (void)context;
    if (http_query_known(x, known))
        http_reply(x, 200, "application/json", api_openapi_begin, strlen(api_openapi_begin));
}
