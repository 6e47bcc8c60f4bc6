/* SPDX-License-Identifier: Apache-2.0
 * Versions of what has a name, and changes of it. */
#include "named.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

START_TEST(merge_patches_are_those_of_the_standard)
{
    static const char *const cases[][3] = {
        /* RFC 7396, appendix A: those whose original and patch are objects */
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cJSON *json = cJSON_Parse(cases[i][0]), *patch = cJSON_Parse(cases[i][1]);
        cJSON *patched = named_patched(json, patch);
        char *text = cJSON_PrintUnformatted(patched);
        ck_assert_str_eq(text, cases[i][2]);
        char *before = cJSON_PrintUnformatted(json);
        ck_assert_str_eq(before, cases[i][0]); /* what is there stays */
        cJSON_free(before);
        cJSON_free(text);
        cJSON_Delete(patched);
        cJSON_Delete(patch);
        cJSON_Delete(json);
    }
}
END_TEST

START_TEST(conditions_compare_the_content_without_its_state)
{
    char etag[NAMED_ETAG_BYTES], other[NAMED_ETAG_BYTES], list[80];
    cJSON *json = cJSON_Parse("{\"a\":1,\"state\":{\"fired\":3}}"),
          *same = cJSON_Parse("{\"a\":1}");
    cJSON *another = cJSON_Parse("{\"a\":2}");
    named_etag(json, etag);
    named_etag(same, other);
    ck_assert_str_eq(etag, other);
    named_etag(another, other);
    ck_assert_str_ne(etag, other);
    snprintf(list, sizeof list, "%s, %s", other, etag);
    const struct {
        struct named_if when;
        bool there, absent;
    } cases[] = {
        {{NULL, NULL}, true, true},  {{etag, NULL}, true, false}, {{other, NULL}, false, false},
        {{list, NULL}, true, false}, {{"*", NULL}, true, false},  {{NULL, "*"}, false, true},
        {{NULL, etag}, false, true}, {{NULL, other}, true, true}, {{"", NULL}, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_msg(named_allows(&cases[i].when, json) == cases[i].there, "%zu", i);
        ck_assert_msg(named_allows(&cases[i].when, NULL) == cases[i].absent, "%zu", i);
    }
    cJSON_Delete(another);
    cJSON_Delete(same);
    cJSON_Delete(json);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("named", merge_patches_are_those_of_the_standard,
                              conditions_compare_the_content_without_its_state, NULL));
}
