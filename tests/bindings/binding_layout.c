/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the fields of libskein's structs lie, for the bindings that declare them once more.
 */
#include <stddef.h>
#include <stdio.h>

#include "skein/skein.h"

#define AT(type, field) printf("\"%s\":%zu,", #field, offsetof(struct type, field))

int main(void)
{
    printf("{\"site\":{");
    AT(skein_site, id);
    AT(skein_site, name);
    AT(skein_site, text);
    AT(skein_site, file);
    AT(skein_site, line);
    AT(skein_site, klass);
    AT(skein_site, group);
    AT(skein_site, nargs);
    AT(skein_site, args);
    printf("\"sizeof\":%zu},\"arg\":{", sizeof(struct skein_site));
    AT(skein_arg_desc, type);
    AT(skein_arg_desc, name);
    AT(skein_arg_desc, unit);
    printf("\"sizeof\":%zu},\"options\":{", sizeof(struct skein_arg_desc));
    AT(skein_options, size);
    AT(skein_options, service);
    AT(skein_options, labels);
    AT(skein_options, agent_socket);
    AT(skein_options, mode);
    AT(skein_options, ring_bytes);
    printf("\"sizeof\":%zu}}\n", sizeof(struct skein_options));
    return 0;
}
