/* SPDX-License-Identifier: Apache-2.0
 * For fuzz targets of bodies on control: what a get takes is put, and that is taken again and put
 * as the same bytes. */
#ifndef FUZZ_AGAIN_H
#define FUZZ_AGAIN_H

#include <stdlib.h>
#include <string.h>

#include "control_body.h"

#define FUZZ_NOTHING(value) (void)(value)

#define FUZZ_AGAIN_END(type, json, end)                                                            \
    do {                                                                                           \
        struct type first, second;                                                                 \
        struct buf once = {0}, twice = {0};                                                        \
        char why[256] = "";                                                                        \
        if (type##_get(json, &first, why, sizeof why) != SKEIN_OK) {                               \
            if (why[0] == '\0')                                                                    \
                abort();                                                                           \
            break;                                                                                 \
        }                                                                                          \
        type##_put(&first, &once);                                                                 \
        cJSON *read = control_body_parse(once.data, once.len, why, sizeof why);                    \
        if (read == NULL || type##_get(read, &second, why, sizeof why) != SKEIN_OK)                \
            abort();                                                                               \
        type##_put(&second, &twice);                                                               \
        if (once.len != twice.len || memcmp(once.data, twice.data, once.len) != 0)                 \
            abort();                                                                               \
        end(&first);                                                                               \
        end(&second);                                                                              \
        buf_fini(&once);                                                                           \
        buf_fini(&twice);                                                                          \
        cJSON_Delete(read);                                                                        \
    } while (0)

#define FUZZ_AGAIN(type, json)       FUZZ_AGAIN_END(type, json, FUZZ_NOTHING)
#define FUZZ_AGAIN_OWNER(type, json) FUZZ_AGAIN_END(type, json, type##_fini)

#endif
