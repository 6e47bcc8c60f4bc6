/* SPDX-License-Identifier: Apache-2.0
 * Whose processes are whose, also after restarts. */
#include "claims.h"

#include <stdio.h>

#include "catalog_now.h"
#include "support.h"

static char *folder;
static struct catalog *catalog;
static struct claims *claims;

static void begin(void)
{
    char error[512];
    ck_assert_int_eq(catalog_open(folder, &catalog, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(claims_new(catalog, &claims), SKEIN_OK);
}

static void end(void)
{
    claims_free(&claims);
    catalog_close(&catalog);
}

static void save(void)
{
    ck_assert_int_eq(catalog_begin(catalog), SKEIN_OK);
    claims_save(claims);
    ck_assert_int_eq(catalog_end(catalog, true), SKEIN_OK);
    claims_saved(claims);
}

static int take(uint64_t agent, const char *boot, uint32_t pid, uint64_t by)
{
    struct process_uid process = process_uid_make(agent, boot, pid, 5);
    return claims_take(claims, &process, by);
}

static bool is_kept(uint64_t agent, const char *boot)
{
    struct process_uid process = process_uid_make(agent, boot, 99, 5);
    return claims_are_kept(claims, &process);
}

START_TEST(first_to_name_a_process_has_its_host_also_after_a_restart)
{
    folder = temp_dir_new();
    begin();
    ck_assert(!claims_dirty(claims));
    ck_assert_int_eq(take(1, "a", 10, 1), SKEIN_OK);
    ck_assert_int_eq(take(1, "a", 11, 2), SKEIN_DENIED);
    ck_assert_int_eq(take(1, "b", 10, 1), SKEIN_OK);
    ck_assert_int_eq(take(2, "a", 10, 2), SKEIN_OK);
    ck_assert(claims_dirty(claims));
    ck_assert(!is_kept(1, "a") && !is_kept(2, "a"));
    save();
    ck_assert(!claims_dirty(claims));
    ck_assert(is_kept(1, "a") && is_kept(1, "b") && is_kept(2, "a") && !is_kept(2, "b"));
    end();
    begin();
    ck_assert(is_kept(1, "a") && !is_kept(2, "b"));
    ck_assert_int_eq(take(1, "a", 12, 2), SKEIN_DENIED);
    ck_assert_int_eq(take(1, "b", 12, 2), SKEIN_DENIED);
    ck_assert_int_eq(take(2, "a", 12, 1), SKEIN_DENIED);
    ck_assert_int_eq(take(1, "a", 12, 1), SKEIN_OK);
    ck_assert(!claims_dirty(claims));
    end();
    temp_dir_free(&folder);
}
END_TEST

START_TEST(claim_that_came_while_others_were_saved_waits_for_the_next_time)
{
    folder = temp_dir_new();
    begin();
    ck_assert_int_eq(take(1, "a", 10, 1), SKEIN_OK);
    ck_assert_int_eq(catalog_begin(catalog), SKEIN_OK);
    claims_save(claims);
    ck_assert_int_eq(take(2, "a", 10, 2), SKEIN_OK);
    ck_assert_int_eq(catalog_end(catalog, true), SKEIN_OK);
    claims_saved(claims);
    ck_assert(claims_dirty(claims));
    ck_assert(is_kept(1, "a") && !is_kept(2, "a"));
    save();
    end();
    begin();
    ck_assert_int_eq(take(2, "a", 10, 3), SKEIN_DENIED);
    end();
    temp_dir_free(&folder);
}
END_TEST

START_TEST(agent_that_names_ever_new_hosts_loses_its_own_oldest)
{
    char boot[24];
    folder = temp_dir_new();
    begin();
    ck_assert_int_eq(take(9, "other", 1, 2), SKEIN_OK);
    for (unsigned i = 0; i <= CLAIMS_PER_AGENT; i++) {
        snprintf(boot, sizeof boot, "%u", i);
        ck_assert_int_eq(take(1, boot, 1, 1), SKEIN_OK);
    }
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(take(1, "1", 1, 2), SKEIN_DENIED);
        ck_assert_int_eq(take(9, "other", 1, 1), SKEIN_DENIED);
        if (i == 0) {
            save();
            end();
            begin();
        }
    }
    ck_assert_int_eq(take(1, "0", 1, 2), SKEIN_OK);
    end();
    temp_dir_free(&folder);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("claims", first_to_name_a_process_has_its_host_also_after_a_restart,
                              claim_that_came_while_others_were_saved_waits_for_the_next_time,
                              agent_that_names_ever_new_hosts_loses_its_own_oldest, NULL));
}
