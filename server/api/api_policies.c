/* SPDX-License-Identifier: Apache-2.0
 *
 * /policies. No state; any thread.
 */
#include "api.h"
#include "api_handlers.h"

static struct named_set *set_of(void *context)
{
    return policies_set(((struct api_services *)context)->policies);
}

void api_policies_list(void *context, struct http_exchange *x)
{
    api_named_list(x, set_of(context), NULL);
}

void api_policies_get(void *context, struct http_exchange *x)
{
    api_named_get(x, set_of(context), NULL);
}

void api_policies_put(void *context, struct http_exchange *x)
{
    api_named_change(x, set_of(context), false);
}

void api_policies_patch(void *context, struct http_exchange *x)
{
    api_named_change(x, set_of(context), true);
}

void api_policies_delete(void *context, struct http_exchange *x)
{
    api_named_delete(x, set_of(context));
}

void api_policies_matches(void *context, struct http_exchange *x)
{
    api_named_matches(context, x, set_of(context));
}
