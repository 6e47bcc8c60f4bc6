/* SPDX-License-Identifier: Apache-2.0
 * A configuration is read as its table says; a wrong file names key and expectation. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "support.h"

struct sample {
    char *socket, *empty;
    uint64_t spool_bytes, any;
    bool json;
    struct config_strs hosts;
    struct config_map shares;
};

static const struct config_param params[] = {
    CONFIG_STR(struct sample, socket, "socket", "/run/x.sock", "Unix socket of the agent"),
    CONFIG_STR(struct sample, empty, "empty", NULL, "A text without a default"),
    CONFIG_U64(struct sample, spool_bytes, "spool.max_bytes", 1024, 16, 4096, "Largest spool"),
    CONFIG_U64(struct sample, any, "spool.deep.any", 0, 0, UINT64_MAX, "Any number | at all"),
    CONFIG_BOOL(struct sample, json, "log.json", true, "JSON lines"),
    CONFIG_STRS(struct sample, hosts, "hosts", "Names"),
    CONFIG_MAP(struct sample, shares, "shares", 1, UINT64_MAX, "Numbers of names"),
    {0}};

/* Loads text as a file; the file's name is cut from the error. */
static int load(const char *text, struct sample *s, char *error, size_t error_bytes)
{
    char *folder = temp_dir_new(), *file = path_join(folder, "c.json");
    char full[512] = "";
    file_write_text(file, text);
    memset(s, 0, sizeof *s);
    int status = config_load(params, s, &(struct config_sources){.file = file}, full, sizeof full);
    if (full[0]) {
        ck_assert_msg(strncmp(full, file, strlen(file)) == 0, "%s", full);
        snprintf(error, error_bytes, "%s", full + strlen(file) + 2);
    }
    free(file);
    temp_dir_free(&folder);
    return status;
}

START_TEST(without_a_file_there_are_defaults)
{
    struct sample s = {0};
    char error[64];
    ck_assert_int_eq(
        config_load(params, &s, &(struct config_sources){.file = NULL}, error, sizeof error),
        SKEIN_OK);
    ck_assert_str_eq(error, "");
    ck_assert_str_eq(s.socket, "/run/x.sock");
    ck_assert_str_eq(s.empty, "");
    ck_assert_uint_eq(s.spool_bytes, 1024);
    ck_assert(s.json);
    ck_assert_uint_eq(s.hosts.count, 0);
    config_free(params, &s);
    ck_assert_ptr_null(s.socket);
}
END_TEST

START_TEST(file_replaces_defaults)
{
    struct sample s;
    char error[256] = "";
    int status = load("{\"socket\":\"/a\",\"spool\":{\"max_bytes\":\"1KiB\",\"deep\":{\"any\":"
                      "\"18446744073709551615\"}},\"log\":{\"json\":false},\"hosts\":[\"a\",\"b\"],"
                      "\"shares\":{\"a.b\":7,\"c\":\"18446744073709551615\"}}",
                      &s, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
    ck_assert_str_eq(s.socket, "/a");
    ck_assert_uint_eq(s.spool_bytes, 1024);
    ck_assert(s.any == UINT64_MAX);
    ck_assert(!s.json);
    ck_assert_uint_eq(s.hosts.count, 2);
    ck_assert_str_eq(s.hosts.items[1], "b");
    ck_assert_uint_eq(s.shares.count, 2);
    ck_assert_str_eq(s.shares.items[0].name, "a.b");
    ck_assert_uint_eq(s.shares.items[0].number, 7);
    ck_assert(s.shares.items[1].number == UINT64_MAX);
    config_free(params, &s);
}
END_TEST

START_TEST(parameters_that_differ_are_told)
{
    static const char *const texts[] = {"{}",
                                        "{\"socket\":\"/b\"}",
                                        "{\"spool\":{\"max_bytes\":17}}",
                                        "{\"log\":{\"json\":false}}",
                                        "{\"hosts\":[\"a\"]}",
                                        "{\"hosts\":[\"b\"]}",
                                        "{\"shares\":{\"a\":1}}",
                                        "{\"shares\":{\"a\":2}}",
                                        "{\"shares\":{\"b\":2}}"};
    enum { COUNT = sizeof texts / sizeof *texts };
    struct sample s[COUNT];
    char error[256];
    for (unsigned i = 0; i < COUNT; i++)
        ck_assert_int_eq(load(texts[i], &s[i], error, sizeof error), SKEIN_OK);
    for (unsigned i = 0; i < COUNT; i++)
        for (unsigned j = 0; j < COUNT; j++) {
            unsigned differ = 0;
            for (const struct config_param *p = params; p->type != CONFIG_TYPE_NONE; p++)
                differ += config_differs(p, &s[i], &s[j]);
            ck_assert_int_eq(differ > 0, i != j);
        }
    for (unsigned i = 0; i < COUNT; i++)
        config_free(params, &s[i]);
}
END_TEST

START_TEST(environment_and_options_count_over_the_file)
{
    struct sample s = {0};
    char error[256] = "", *folder = temp_dir_new(), *file = path_join(folder, "c.json");
    file_write_text(file, "{\"$schema\":\"x\",\"socket\":\"/file\",\"empty\":\"file\","
                          "\"spool\":{\"max_bytes\":100},\"log\":{\"json\":true}}");
    const struct config_default defaults[] = {{"socket", "/place"}, {"empty", NULL}, {NULL, NULL}};
    struct config_sources sources = {
        .daemon = "skein-test", .file = file, .defaults = defaults, .set_count = 3};
    sources.sets[0] = "spool.max_bytes=3KiB";
    sources.sets[1] = "hosts=[\"a,b\"]";
    sources.sets[2] = "shares={\"a\":\"1MiB\"}";
    setenv("SKEIN_TEST_SOCKET", "/variable", 1);
    setenv("SKEIN_TEST_SPOOL_MAX_BYTES", "200", 1);
    setenv("SKEIN_TEST_LOG_JSON", "false", 1);
    setenv("SKEIN_TEST_HOSTS", "x,y", 1);
    setenv("SKEIN_TEST_SERVICE_PORT", "tcp://10.0.0.1:7462", 1); /* of somebody else */
    ck_assert_msg(config_load(params, &s, &sources, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_str_eq(s.socket, "/variable");
    ck_assert_str_eq(s.empty, "file");
    ck_assert_uint_eq(s.spool_bytes, 3072);
    ck_assert(!s.json);
    ck_assert_uint_eq(s.hosts.count, 1);
    ck_assert_str_eq(s.hosts.items[0], "a,b");
    ck_assert_uint_eq(s.shares.items[0].number, 1 << 20);
    config_free(params, &s);
    sources = (struct config_sources){.daemon = "skein-test", .defaults = defaults};
    unsetenv("SKEIN_TEST_SOCKET");
    ck_assert_int_eq(config_load(params, &s, &sources, error, sizeof error), SKEIN_OK);
    ck_assert_str_eq(s.socket, "/place");
    ck_assert_uint_eq(s.hosts.count, 2);
    ck_assert_str_eq(s.hosts.items[1], "y");
    config_free(params, &s);
    free(file);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(wrong_variables_and_options_are_named)
{
    static const struct {
        const char *variable, *value, *set, *error;
    } wrong[] = {{"SKEIN_TEST_SPOOL_MAX_BYTES", "7", NULL,
                  "SKEIN_TEST_SPOOL_MAX_BYTES: spool.max_bytes: must be a whole number"},
                 {"SKEIN_TEST_LOG_JSON", "yes", NULL,
                  "SKEIN_TEST_LOG_JSON: log.json: must be true or false"},
                 {"SKEIN_TEST_SHARES", "a=1", NULL,
                  "SKEIN_TEST_SHARES: shares: must be JSON, as in the file"},
                 {"SKEIN_TEST_SOKET", "/x", NULL,
                  "SKEIN_TEST_SOKET: is no setting; did you mean SKEIN_TEST_SOCKET?"},
                 {NULL, NULL, "socket", "--set: socket: must be KEY=VALUE"},
                 {NULL, NULL, "soket=/x", "--set: soket: unknown key; did you mean socket?"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct sample s = {0};
        char error[256] = "";
        struct config_sources sources = {.daemon = "skein-test"};
        if (wrong[i].variable)
            setenv(wrong[i].variable, wrong[i].value, 1);
        if (wrong[i].set)
            sources.sets[sources.set_count++] = wrong[i].set;
        ck_assert_int_eq(config_load(params, &s, &sources, error, sizeof error), SKEIN_INVALID);
        ck_assert_msg(strncmp(error, wrong[i].error, strlen(wrong[i].error)) == 0, "%s", error);
        if (wrong[i].variable)
            unsetenv(wrong[i].variable);
    }
}
END_TEST

START_TEST(variables_are_named_by_daemon_and_path)
{
    char name[CONFIG_VARIABLE_BYTES];
    config_variable("skein-agent", &params[2], name);
    ck_assert_str_eq(name, "SKEIN_AGENT_SPOOL_MAX_BYTES");
}
END_TEST

START_TEST(wrong_files_name_key_and_expectation)
{
    static const struct {
        const char *text, *error;
    } wrong[] = {
        {"", "line 1, column 1: no JSON at all"},
        {"[]", "must be a JSON object"},
        {"{\"socket\":1}", "socket: must be text"},
        {"{\"spool\":{\"max_bytes\":15}}",
         "spool.max_bytes: must be a whole number from 16 to 4096 (bytes), or text with a unit "
         "such as \"64MiB\""},
        {"{\"spool\":{\"max_bytes\":1.5}}",
         "spool.max_bytes: must be a whole number from 16 to 4096 (bytes), or text with a unit "
         "such as \"64MiB\""},
        {"{\"spool\":{\"max_bytes\":\"17\"}}",
         "spool.max_bytes: \"17\" has no unit: write the number alone for bytes, or \"17MiB\""},
        {"{\"spool\":{\"deep\":{\"any\":1e19}}}",
         "spool.deep.any: a number above 2^53 must be written as a string of digits"},
        {"{\"spool\":5}", "spool: must be an object"},
        {"{\"log\":{\"json\":1}}", "log.json: must be true or false"},
        {"{\"hosts\":\"a\"}", "hosts: must be a list of texts"},
        {"{\"hosts\":[\"a\",1]}", "hosts[1]: must be text"},
        {"{\"shares\":[]}", "shares: must be an object of names and sizes"},
        {"{\"shares\":{\"a\":0}}",
         "shares.a: must be a whole number from 1 to 18446744073709551615 (bytes), or text with "
         "a unit such as \"64MiB\""},
        {"{\"shares\":{\"a\":1,\"a\":2}}", "a: is given twice"},
        {"{\"sokcet\":\"x\"}", "sokcet: unknown key; did you mean socket?"},
        {"{\"max_bytes\":20}", "max_bytes: unknown key; did you mean spool.max_bytes?"},
        {"{\"spool.max_bytes\":20}", "spool.max_bytes: unknown key; did you mean spool.max_bytes?"},
        {"{\"utterly_else\":1}", "utterly_else: unknown key; --help lists all"},
        {"{\"socket\":\"a\",\"socket\":\"b\"}", "socket: is given twice"},
        {"{\"log\":{},\"log\":{}}", "log: is given twice"},
        {"{\n\"socket\": }", "line 2, column 11: not JSON"},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sample s;
        char error[256] = "";
        ck_assert_msg(load(wrong[i].text, &s, error, sizeof error) == SKEIN_INVALID, "%s",
                      wrong[i].text);
        ck_assert_str_eq(error, wrong[i].error);
        ck_assert(!s.socket && !s.empty && !s.hosts.items && !s.shares.items &&
                  s.spool_bytes == 0 && !s.json);
    }
}
END_TEST

START_TEST(missing_file_says_so)
{
    struct sample s = {0};
    char error[256];
    ck_assert_int_eq(config_load(params, &s, &(struct config_sources){.file = "/nowhere/c.json"},
                                 error, sizeof error),
                     SKEIN_IO);
    ck_assert_str_eq(error, "/nowhere/c.json: No such file or directory");
    ck_assert_int_eq(
        config_load(params, &s, &(struct config_sources){.file = "/tmp"}, error, sizeof error),
        SKEIN_IO);
    ck_assert_ptr_null(s.socket);
}
END_TEST

START_TEST(out_of_memory_is_reported_and_leaves_nothing)
{
    char *folder = temp_dir_new(), *file = path_join(folder, "c.json");
    unsigned failures = 0;
    file_write_text(file, "{\"socket\":\"/a\",\"hosts\":[\"a\",\"b\"],\"shares\":{\"a\":1}}");
    for (unsigned n = 1;; n++) {
        struct sample s = {0};
        char error[128];
        alloc_fail_at(n);
        int status =
            config_load(params, &s, &(struct config_sources){.file = file}, error, sizeof error);
        if (!alloc_fail_end()) {
            ck_assert_int_eq(status, SKEIN_OK);
            config_free(params, &s);
            break;
        }
        ck_assert_int_eq(status, SKEIN_NO_MEMORY);
        ck_assert_ptr_null(s.socket);
        failures++;
    }
    ck_assert_uint_gt(failures, 4);
    free(file);
    temp_dir_free(&folder);
}
END_TEST

static char *printed(void (*print)(const struct config_param *, FILE *))
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    print(params, out);
    fclose(out);
    return text;
}

START_TEST(help_and_markdown_have_a_row_for_each_parameter)
{
    char *help = printed(config_print_help), *markdown = printed(config_print_markdown);
    for (const struct config_param *p = params; p->type != CONFIG_TYPE_NONE; p++) {
        ck_assert_ptr_nonnull(strstr(help, p->path));
        ck_assert_ptr_nonnull(strstr(markdown, p->path));
    }
    ck_assert_ptr_nonnull(strstr(help, "size in bytes, or \"64MiB\", default 1024, 16 to 4096"));
    ck_assert_ptr_nonnull(strstr(markdown, "Any number \\| at all"));
    free(help);
    free(markdown);
}
END_TEST

START_TEST(schema_has_every_key_and_its_bounds)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    ck_assert_int_eq(config_print_schema(params, "Sample", out), SKEIN_OK);
    fclose(out);
    cJSON *root = cJSON_Parse(text);
    const cJSON *spool = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "properties"), "spool");
    const cJSON *bytes = cJSON_GetObjectItem(cJSON_GetObjectItem(spool, "properties"), "max_bytes");
    const cJSON *number = cJSON_GetArrayItem(cJSON_GetObjectItem(bytes, "anyOf"), 0);
    ck_assert_int_eq(cJSON_GetObjectItem(number, "minimum")->valueint, 16);
    ck_assert_int_eq(cJSON_GetObjectItem(number, "maximum")->valueint, 4096);
    ck_assert(cJSON_IsFalse(cJSON_GetObjectItem(spool, "additionalProperties")));
    const cJSON *shares = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "properties"), "shares");
    ck_assert(cJSON_IsObject(cJSON_GetObjectItem(shares, "additionalProperties")));
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(root, "properties")), 7);
    cJSON_Delete(root);
    free(text);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("config", without_a_file_there_are_defaults, file_replaces_defaults,
                 parameters_that_differ_are_told, environment_and_options_count_over_the_file,
                 wrong_variables_and_options_are_named, variables_are_named_by_daemon_and_path,
                 wrong_files_name_key_and_expectation, missing_file_says_so,
                 out_of_memory_is_reported_and_leaves_nothing,
                 help_and_markdown_have_a_row_for_each_parameter,
                 schema_has_every_key_and_its_bounds, NULL));
}
