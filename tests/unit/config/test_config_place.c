/* SPDX-License-Identifier: Apache-2.0
 * Where things are kept that no configuration places, and looks at what settings name. */
#include "config_place.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_check.h"
#include "skein/status.h"
#include "support.h"

#define NOBODY 65534

static void forget_environment(void)
{
    unsetenv("STATE_DIRECTORY");
    unsetenv("RUNTIME_DIRECTORY");
    unsetenv("XDG_STATE_HOME");
    unsetenv("XDG_RUNTIME_DIR");
    setenv("HOME", "/home/somebody", 1);
}

START_TEST(an_ordinary_user_has_folders_of_its_own)
{
    char out[CONFIG_PLACE_BYTES];
    forget_environment();
    if (geteuid() == 0) {
        ck_assert(!config_place_state("agent", out));
        ck_assert(!config_place_socket("agent.sock", out));
        ck_assert_int_eq(seteuid(NOBODY), 0);
    }
    ck_assert(config_place_state("agent", out));
    ck_assert_str_eq(out, "/home/somebody/.local/state/skein/agent");
    ck_assert(config_place_socket("agent.sock", out));
    ck_assert_str_eq(out, "/home/somebody/.local/state/skein/agent.sock");
    setenv("XDG_STATE_HOME", "/state", 1);
    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    ck_assert(config_place_state("collector", out));
    ck_assert_str_eq(out, "/state/skein/collector");
    ck_assert(config_place_socket("agent.sock", out));
    ck_assert_str_eq(out, "/run/user/7/skein/agent.sock");
    setenv("XDG_STATE_HOME", "relative", 1);
    unsetenv("HOME");
    ck_assert(!config_place_state("collector", out));
    if (getuid() == 0) { /* for the search for leaks, which looks at the process from outside */
        ck_assert_int_eq(seteuid(0), 0);
        ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1), 0);
    }
}
END_TEST

START_TEST(a_unit_has_the_folders_that_systemd_gives_it)
{
    char out[CONFIG_PLACE_BYTES];
    forget_environment();
    setenv("STATE_DIRECTORY", "/var/lib/skein-agent:/var/lib/other", 1);
    setenv("RUNTIME_DIRECTORY", "/run/skein", 1);
    ck_assert(config_place_state("agent", out));
    ck_assert_str_eq(out, "/var/lib/skein-agent");
    ck_assert(config_place_socket("agent.sock", out));
    ck_assert_str_eq(out, "/run/skein/agent.sock");
    setenv("STATE_DIRECTORY", "/var/lib/builder", 1); /* of the unit that runs a test of ours */
    setenv("RUNTIME_DIRECTORY", "/run/builder", 1);
    bool root = geteuid() == 0;
    ck_assert(config_place_state("agent", out) == !root);
    ck_assert(config_place_socket("agent.sock", out) == !root);
}
END_TEST

START_TEST(folders_are_made_with_those_above)
{
    char *folder = temp_dir_new(), *deep = path_join(folder, "a/b/c"), error[256] = "";
    char *file = path_join(folder, "file"), *below = path_join(file, "x");
    struct stat st;
    ck_assert_int_eq(config_check_folder("dir", deep, error, sizeof error), SKEIN_OK);
    ck_assert_int_ne(stat(deep, &st), 0); /* the look has left nothing */
    ck_assert_int_eq(folder_make(deep, 0750), 0);
    ck_assert_int_eq(folder_make(deep, 0750), 0);
    ck_assert(stat(deep, &st) == 0 && (st.st_mode & 0777) == 0750);
    file_write_text(file, "");
    ck_assert_int_eq(folder_make(below, 0750), -1);
    ck_assert_int_eq(config_check_folder("dir", below, error, sizeof error), SKEIN_INVALID);
    ck_assert_int_eq(config_check_folder("dir", file, error, sizeof error), SKEIN_INVALID);
    ck_assert_int_eq(config_check_folder("dir", "/proc/nothing", error, sizeof error),
                     SKEIN_INVALID);
    ck_assert_msg(strncmp(error, "dir /proc/nothing: ", 19) == 0, "%s", error);
    ck_assert_int_eq(config_check_readable("key", file, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(config_check_readable("key", below, error, sizeof error), SKEIN_INVALID);
    ck_assert_int_eq(config_check_readable("key", folder, error, sizeof error), SKEIN_INVALID);
    free(below);
    free(file);
    free(deep);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(addresses_are_of_this_host)
{
    static const char *const good[] = {"127.0.0.1:0", "tcp://127.0.0.1:0", "*:0",
                                       "[::1]:0",     "tcp://lo:0",        "localhost:0"};
    static const char *const bad[] = {"198.51.100.7:0", "tcp://198.51.100.7:0", ":80", "nowhere"};
    char error[256];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int status = config_check_listen("listen", good[i], error, sizeof error);
        bool no_ipv6 = status != SKEIN_OK && strstr(error, "family not supported") != NULL;
        ck_assert_msg(status == SKEIN_OK || no_ipv6, "%s", error);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(config_check_listen("listen", bad[i], error, sizeof error) == SKEIN_INVALID,
                      "%s", bad[i]);
    ck_assert(config_is_address("tcp://h:65535", "tcp://"));
    ck_assert(!config_is_address("tcp://h:65536", "tcp://"));
    ck_assert(!config_is_address("tcp://:1", "tcp://"));
    ck_assert(!config_is_address("h:1x", ""));
}
END_TEST

START_TEST(two_listeners_need_two_ports)
{
    static const struct {
        const char *a, *b;
        int status;
    } pairs[] = {{"tcp://127.0.0.1:7460", "tcp://127.0.0.1:7461", SKEIN_OK},
                 {"tcp://127.0.0.1:7460", "tcp://127.0.0.1:7460", SKEIN_INVALID},
                 {"127.0.0.1:7460", "tcp://127.0.0.1:7460", SKEIN_INVALID},
                 {"*:7460", "tcp://127.0.0.1:7460", SKEIN_INVALID},
                 {"127.0.0.1:7460", "tcp://0.0.0.0:7460", SKEIN_INVALID},
                 {"127.0.0.1:7460", "tcp://127.0.0.2:7460", SKEIN_OK},
                 {"127.0.0.1:0", "tcp://127.0.0.1:0", SKEIN_OK}};
    char error[256];
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        ck_assert_int_eq(
            config_check_apart("listen.http", pairs[i].a, pairs[i].b, error, sizeof error),
            pairs[i].status);
    ck_assert_ptr_nonnull(strstr(error, "listen.http"));
}
END_TEST

int main(void)
{
    return suite_run(suite_of("config_place", an_ordinary_user_has_folders_of_its_own,
                              a_unit_has_the_folders_that_systemd_gives_it,
                              folders_are_made_with_those_above, addresses_are_of_this_host,
                              two_listeners_need_two_ports, NULL));
}
