/* SPDX-License-Identifier: Apache-2.0
 * Kinds of evidence by name, and who asks for which. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence_kinds.h"
#include "support.h"

#define BIT(kind) EVIDENCE_BIT(EVIDENCE_##kind)

typedef void wish_read_fn(struct json_reader *r, const cJSON *object, const char *path,
                          bool threads, struct evidence_wish *wish);

/* `error`: what it begins with; "": none. */
static struct evidence_wish wish_of(wish_read_fn *read, const char *text, bool threads,
                                    const char *error)
{
    char why[128];
    struct json_reader r = {.error = ""};
    struct evidence_wish wish;
    cJSON *json = json_parse(text, strlen(text), why, sizeof why);
    ck_assert_ptr_nonnull(json);
    read(&r, json, "capture", threads, &wish);
    ck_assert_msg(strncmp(r.error, error, error[0] != '\0' ? strlen(error) : 1) == 0, "%s: %s",
                  text, r.error);
    cJSON_Delete(json);
    return wish;
}

static struct evidence_wish wanted(const char *text)
{
    return wish_of(evidence_wish_get, text, false, "");
}

START_TEST(who_says_nothing_gets_all_but_threads_and_go)
{
    struct evidence_wish wish = wanted("{}");
    for (unsigned i = 0; i < EVIDENCE_KIND_COUNT; i++)
        ck_assert_int_eq(evidence_wish_has(&wish, evidence_kind_name(i)),
                         i != EVIDENCE_THREADS && i != EVIDENCE_GO);
    ck_assert(evidence_wish_has(&wish, "of a later agent"));
    ck_assert_uint_eq(wish.kinds, 0);
    wish = wish_of(evidence_wish_get, "{}", true, "");
    ck_assert(evidence_wish_has(&wish, "threads") && evidence_wish_has(&wish, "vitals"));
    ck_assert(evidence_wish_has(&wish, "go"));
    wish = wanted("{\"evidence\":[\"samples\"],\"threads\":true}");
    ck_assert(!evidence_wish_has(&wish, "go"));
    wish = wanted("{\"evidence\":[\"go\"]}");
    ck_assert(evidence_wish_has(&wish, "go") && !evidence_wish_has(&wish, "threads"));
    struct json_reader r = {.error = ""};
    evidence_wish_told(&r, NULL, "", true, &wish);
    ck_assert(r.error[0] == '\0' && !wish.only && wish.kinds == BIT(THREADS));
    wish = wish_of(evidence_wish_get, "{\"threads\":false}", true, "");
    ck_assert(!evidence_wish_has(&wish, "threads") && evidence_wish_has(&wish, "vitals"));
}
END_TEST

START_TEST(a_list_is_those_alone)
{
    struct evidence_wish wish = wanted("{\"evidence\":[\"samples\",\"files\",\"files\"]}");
    ck_assert(wish.only);
    ck_assert_uint_eq(wish.kinds, BIT(SAMPLES) | BIT(FILES));
    ck_assert(evidence_wish_has(&wish, "samples") && !evidence_wish_has(&wish, "sched"));
    ck_assert(!evidence_wish_has(&wish, "threads") && !evidence_wish_has(&wish, "other"));
    /* What holds by default is another list's, not this one's. */
    wish = wish_of(evidence_wish_get, "{\"evidence\":[]}", true, "");
    ck_assert(wish.only && wish.kinds == 0);
    ck_assert_uint_eq(wanted("{\"evidence\":[\"threads\"]}").kinds, BIT(THREADS));
    ck_assert_uint_eq(wanted("{\"evidence\":[],\"threads\":true}").kinds, BIT(THREADS));
    ck_assert_uint_eq(wanted("{\"evidence\":[\"crash\"],\"threads\":false}").kinds, BIT(CRASH));
}
END_TEST

START_TEST(what_is_no_kind_is_refused_but_of_a_newer_peer)
{
    static const char *const wrong[] = {"[\"thread\"]", "[\"\"]", "[\"app\"]", "[\"Samples\"]"};
    char text[64];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        (void)snprintf(text, sizeof text, "{\"evidence\":%s}", wrong[i]);
        (void)wish_of(evidence_wish_get, text, false, "capture.evidence: must list some of");
        struct evidence_wish wish = wish_of(evidence_wish_told, text, false, "");
        ck_assert(wish.only && wish.kinds == 0);
    }
    (void)wish_of(evidence_wish_told, "{\"evidence\":[1]}", false, "capture.evidence: ");
    (void)wish_of(evidence_wish_told, "{\"evidence\":\"samples\"}", false, "capture.evidence: ");
    (void)wish_of(evidence_wish_told, "{\"threads\":1}", false, "capture.threads: ");
    (void)wish_of(evidence_wish_get, "{\"evidence\":[\"threads\"],\"threads\":false}", false,
                  "capture.threads: is false");
}
END_TEST

START_TEST(what_is_told_is_what_was_asked_for)
{
    static const struct {
        struct evidence_wish wish;
        const char *text;
    } rows[] = {
        {{false, 0}, "{}"},
        {{false, BIT(THREADS)}, "{\"threads\":true}"},
        {{true, 0}, "{\"evidence\":[]}"},
        {{true, BIT(SCHED) | BIT(VITALS)}, "{\"evidence\":[\"sched\",\"vitals\"]}"},
        {{true, BIT(THREADS)}, "{\"threads\":true,\"evidence\":[\"threads\"]}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cJSON *json = cJSON_CreateObject();
        evidence_wish_add(&rows[i].wish, json);
        char *text = cJSON_PrintUnformatted(json);
        ck_assert_str_eq(text, rows[i].text);
        struct evidence_wish back = wanted(text);
        ck_assert_int_eq(back.only, rows[i].wish.only);
        ck_assert_uint_eq(back.kinds, rows[i].wish.kinds);
        free(text);
        cJSON_Delete(json);
    }
}
END_TEST

START_TEST(a_list_as_people_type_it)
{
    static const char *const wrong[] = {"", ",", "samples,", ",samples", "samples,none", "all"};
    uint32_t kinds = 99;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!evidence_kinds_parse(wrong[i], &kinds), "%s", wrong[i]);
    ck_assert_uint_eq(kinds, 99);
    ck_assert(evidence_kinds_parse("none", &kinds));
    ck_assert_uint_eq(kinds, 0);
    ck_assert(evidence_kinds_parse("vitals,threads", &kinds));
    ck_assert_uint_eq(kinds, BIT(THREADS) | BIT(VITALS));
    struct buf text = {0};
    evidence_kinds_put(&text, kinds);
    buf_printf(&text, " ");
    evidence_kinds_put(&text, 0);
    buf_put_u8(&text, 0);
    ck_assert_str_eq((const char *)text.data, "threads,vitals none");
    buf_fini(&text);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("evidence_kinds", who_says_nothing_gets_all_but_threads_and_go,
                              a_list_is_those_alone, what_is_no_kind_is_refused_but_of_a_newer_peer,
                              what_is_told_is_what_was_asked_for, a_list_as_people_type_it, NULL));
}
