/* SPDX-License-Identifier: Apache-2.0
 * The map of ids against an array that does the same slowly. */
#include <string.h>

#include "idmap.h"
#include "support.h"

#define IDS 2000

static void id_of(unsigned n, uint8_t id[16])
{
    memset(id, 0, 16);
    memcpy(id, &n, sizeof n);
}

START_TEST(map_agrees_with_an_array_through_puts_and_removals)
{
    static char values[IDS];
    static void *model[IDS];
    struct idmap map = {0};
    uint8_t id[16];
    unsigned random = 12345;
    size_t present = 0;
    for (unsigned step = 0; step < 20000; step++) {
        random = random * 1664525u + 1013904223u;
        unsigned n = (random >> 8) % IDS;
        id_of(n, id);
        ck_assert_ptr_eq(idmap_get(&map, id), model[n]);
        if (random >> 31) {
            ck_assert_int_eq(idmap_put(&map, id, &values[n]), 0);
            present += model[n] == NULL;
            model[n] = &values[n];
        } else {
            ck_assert_ptr_eq(idmap_remove(&map, id), model[n]);
            present -= model[n] != NULL;
            model[n] = NULL;
        }
        ck_assert_uint_eq(map.count, present);
    }
    size_t at = 0, walked = 0;
    for (char *v; (v = idmap_next(&map, &at)) != NULL; walked++)
        ck_assert_ptr_eq(model[v - values], v);
    ck_assert_uint_eq(walked, present);
    for (unsigned n = 0; n < IDS; n++) {
        id_of(n, id);
        ck_assert_ptr_eq(idmap_get(&map, id), model[n]);
    }
    idmap_fini(&map);
    ck_assert_ptr_null(idmap_get(&map, id));
}
END_TEST

int main(void)
{
    return suite_run(suite_of("idmap", map_agrees_with_an_array_through_puts_and_removals, NULL));
}
