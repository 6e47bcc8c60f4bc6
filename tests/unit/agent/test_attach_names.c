/* SPDX-License-Identifier: Apache-2.0
 *
 * What processes are called: whose they are is the kernel's word and not theirs, and names of services
 * that are bound to users are for these alone.
 */
#include "attach_names.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"
#include "process_labels.h"
#include "support.h"

#define NOBODY  65534
#define STRANGE 987654321u /* no user of any host */

static struct attach_names *names;
static struct process *p;

static int start(char *error, size_t count, const char *const *bounds)
{
    char *items[8] = {NULL};
    for (size_t i = 0; i < count; i++)
        items[i] = strdup(bounds[i]);
    int status = attach_names_new(items, count, &names, error, 256);
    for (size_t i = 0; i < count; i++)
        free(items[i]);
    return status;
}

static void setup(void)
{
    ck_assert_int_eq(process_new(&p), SKEIN_OK);
}

static void teardown(void)
{
    attach_names_free(&names);
    process_unref(&p);
}

#define START(...)                                                                                 \
    do {                                                                                           \
        static const char *const given[] = {__VA_ARGS__};                                          \
        char why[256] = "";                                                                        \
        int got = start(why, sizeof given / sizeof *given, given);                                 \
        ck_assert_msg(got == SKEIN_OK, "%s", why);                                                 \
    } while (0)

static bool matches(const char *text)
{
    struct selector *selector;
    char error[160];
    ck_assert_int_eq(selector_new(text, &selector, error, sizeof error), SKEIN_OK);
    const struct process_labels labels = {.process = p->uid.bytes,
                                          .pid = p->pid,
                                          .service = p->service,
                                          .host = "h",
                                          .exe = p->exe,
                                          .own = p->labels};
    bool matched = process_labels_match(selector, &labels);
    selector_free(&selector);
    return matched;
}

START_TEST(user_is_a_label_that_selectors_know)
{
    ck_assert_int_eq(start(NULL, 0, NULL), SKEIN_OK);
    attach_names_set(names, p, "shop", "zone=a", 0);
    ck_assert_str_eq(p->service, "shop");
    ck_assert_str_eq(p->labels, "uid=0,user=root,zone=a");
    ck_assert(matches("service=shop,uid=0") && matches("user=root,zone in (a,b)"));
    ck_assert(!matches("uid=1") && !matches("service=shop,user!=root"));
    attach_names_set(names, p, "shop", "", STRANGE);
    ck_assert_str_eq(p->labels, "uid=987654321");
    ck_assert(matches("uid=987654321,!user"));
    /* 64 more users are asked about, and the first again */
    for (uint32_t uid = STRANGE; uid < STRANGE + 130; uid++)
        attach_names_set(names, p, "shop", "", uid);
    attach_names_set(names, p, "shop", "", 0);
    ck_assert_str_eq(p->labels, "uid=0,user=root");
}
END_TEST

START_TEST(process_does_not_say_whose_it_is)
{
    static const char *const claims[] = {"uid=0",      "user=root,uid=0", "uid=0,uid=0,user=root",
                                         "uid=,user=", ",,uid=0,",        "=x,uid=0"};
    ck_assert_int_eq(start(NULL, 0, NULL), SKEIN_OK);
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        attach_names_set(names, p, "shop", claims[i], STRANGE);
        ck_assert_str_eq(p->labels, "uid=987654321");
        ck_assert(!matches("uid=0") && !matches("user=root") && matches("uid=987654321"));
    }
    attach_names_set(names, p, "shop", "uid2=0,uide=1,us=2,users=3", STRANGE);
    ck_assert_str_eq(p->labels, "uid=987654321,uid2=0,uide=1,us=2,users=3");
}
END_TEST

START_TEST(labels_that_have_no_room_are_left_out_whole_and_counted)
{
    char many[sizeof p->labels], value[sizeof p->labels];
    ck_assert_int_eq(start(NULL, 0, NULL), SKEIN_OK);
    for (size_t n = 400; n < sizeof many - 1; n++) {
        memset(value, 'v', n);
        value[n - 3] = '\0';
        snprintf(many, sizeof many, "a=%.*s", (int)n - 3, value);
        attach_names_set(names, p, "shop", many, STRANGE);
        bool whole = strlen("uid=987654321,") + strlen(many) < sizeof p->labels;
        if (whole)
            ck_assert_uint_eq(strlen(p->labels), 14 + strlen(many));
        else
            ck_assert_str_eq(p->labels, "uid=987654321,labels_cut=1");
        ck_assert(matches("uid=987654321") && matches("a") == whole);
        ck_assert(matches("labels_cut=1") == !whole);
    }
}
END_TEST

/* One that has no room keeps no later one away, and what the tracer left out is added. */
START_TEST(labels_left_out_are_summed_up)
{
    char many[sizeof p->labels], value[sizeof p->labels];
    ck_assert_int_eq(start(NULL, 0, NULL), SKEIN_OK);
    memset(value, 'v', 470);
    value[470] = '\0';
    snprintf(many, sizeof many, "zone=a,long=%.470s,other=%.1s,labels_cut=7", value, value);
    attach_names_set(names, p, "shop", many, STRANGE);
    ck_assert(matches("zone=a,other,!long,labels_cut=8"));
    attach_names_set(names, p, "shop", "zone=a,labels_cut=7", STRANGE);
    ck_assert_str_eq(p->labels, "uid=987654321,zone=a,labels_cut=7");
}
END_TEST

START_TEST(bound_service_is_for_its_users_alone)
{
    START("payments=0,nobody", "shop=4711");
    struct passwd *nobody = getpwnam("nobody");
    ck_assert_ptr_nonnull(nobody);
    attach_names_set(names, p, "payments", "", 0);
    ck_assert_str_eq(p->service, "payments");
    attach_names_set(names, p, "payments", "", nobody->pw_uid);
    ck_assert_str_eq(p->service, "payments");
    attach_names_set(names, p, "payments", "", STRANGE);
    ck_assert_str_eq(p->service, "payments.uid-987654321");
    ck_assert(!matches("service=payments") && matches("service=payments.uid-987654321"));
    attach_names_set(names, p, "shop", "service=payments", 0); /* root is bound as others are */
    ck_assert_str_eq(p->service, "shop.uid-0");
    ck_assert(!matches("service=payments"));
    attach_names_set(names, p, "payments2", "", STRANGE);
    ck_assert_str_eq(p->service, "payments2");
    attach_names_set(names, p, "other", "", STRANGE);
    ck_assert_str_eq(p->service, "other");
    char longest[sizeof p->service];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    attach_names_set(names, p, longest, "", STRANGE);
    ck_assert_str_eq(p->service, longest);
}
END_TEST

START_TEST(wrong_bounds_are_refused)
{
    static const char *const wrong[] = {"payments",
                                        "payments=",
                                        "=root",
                                        "",
                                        "payments=root,",
                                        "payments=,root",
                                        "payments=no-such-user-here",
                                        "payments=-1",
                                        "payments=99999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char error[256] = "";
        ck_assert_msg(start(error, 1, &wrong[i]) == SKEIN_INVALID, "%s", wrong[i]);
        ck_assert_ptr_nonnull(strstr(error, "processes.service_users"));
        ck_assert_ptr_null(names);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attach_names");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, user_is_a_label_that_selectors_know);
    tcase_add_test(all, process_does_not_say_whose_it_is);
    tcase_add_test(all, labels_that_have_no_room_are_left_out_whole_and_counted);
    tcase_add_test(all, labels_left_out_are_summed_up);
    tcase_add_test(all, bound_service_is_for_its_users_alone);
    tcase_add_test(all, wrong_bounds_are_refused);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
