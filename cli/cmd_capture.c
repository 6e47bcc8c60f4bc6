/* SPDX-License-Identifier: Apache-2.0
 *
 * skein capture: one capture, shown, stopped or deleted. One thread.
 */
#include <stdio.h>

#include "cli_capture.h"
#include "cli_out.h"

struct options {
    const char *collector;
    bool json, stop, remove, wait;
};

static const struct cli_option options[] = {
    CLI_OPTION(CLI_FLAG, 0, "stop", NULL, struct options, stop,
               "take what is there now, do not wait for the post window"),
    CLI_OPTION(CLI_FLAG, 0, "delete", NULL, struct options, remove,
               "delete the capture and its stored data"),
    CLI_OPTION(CLI_FLAG, 'w', "wait", NULL, struct options, wait, "wait until it is final"),
    CLI_OUTPUT(struct options),
    CLI_COLLECTOR(struct options),
    CLI_OPTIONS_END};

static int stop(const struct api *api, const char *id, cJSON **capture)
{
    struct buf path = {0};
    capture_path(&path, id, ":stop");
    int status = api_call(api, "POST", api_text(&path), NULL, capture);
    buf_fini(&path);
    return status;
}

static int delete (const struct api *api, const char *id)
{
    struct buf path = {0};
    capture_path(&path, id, "");
    int status = api_call(api, "DELETE", api_text(&path), NULL, NULL);
    buf_fini(&path);
    if (status != CLI_OK)
        return status;
    printf("capture %s and its stored data are deleted\n", id);
    return out_close();
}

static int run(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    const char *id = arguments[0];
    struct api api;
    cJSON *capture = NULL;
    (void)count;
    if (o->stop && o->remove) {
        say_error("capture: --stop and --delete exclude each other");
        return CLI_USAGE;
    }
    if (!capture_id_valid(id))
        return CLI_USAGE;
    if (api_init(&api, o->collector) != CLI_OK)
        return CLI_FAILED;
    if (o->remove)
        return delete (&api, id);
    int status = o->stop ? stop(&api, id, &capture) : capture_get(&api, id, &capture);
    if (status == CLI_OK && o->wait && capture_running(capture)) {
        uint64_t until_ns = capture_until_ns(capture);
        cJSON_Delete(capture);
        status = capture_wait(&api, id, until_ns, &capture);
    }
    if (status == CLI_OK)
        status = o->json ? json_show(capture) : capture_show(capture);
    cJSON_Delete(capture);
    return status;
}

const struct cli_command cmd_capture = {
    .name = "capture",
    .arguments = "ID",
    .summary = "Show, wait for, stop or delete one capture",
    .examples = "  skein capture 0193a5c0e1f27d3b8c4e5f60718293a4\n"
                "  skein capture --wait 0193a5c0e1f27d3b8c4e5f60718293a4\n"
                "  skein capture --stop 0193a5c0e1f27d3b8c4e5f60718293a4\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
