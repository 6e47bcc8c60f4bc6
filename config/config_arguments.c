/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the command line that both daemons share. Entered once, from main, before any thread. Writes
 * to the two streams that it is given alone; never ends the process.
 */
#include <string.h>
#include <unistd.h>

#include "config.h"

enum { EXIT_DONE = 0, EXIT_WRONG = 1, EXIT_USAGE = 2, ERROR_BYTES = 512 };

/* One call: what was asked for so far. */
struct request {
    const struct config_param *params;
    const char *program, *file;
    bool check;
};

static int print_help(const struct request *r, const char *otherwise, FILE *out)
{
    fprintf(out,
            "usage: %s [--config FILE] [--check-config] [--help] [--version]\n"
            "       %s --print-markdown | --print-schema\n\n"
            "  --config FILE    read FILE instead of %s\n"
            "  --check-config   say whether it is right, and do nothing else\n\n"
            "Keys of the file (a dot is an object in an object):\n",
            r->program, r->program, otherwise);
    config_print_help(r->params, out);
    return EXIT_DONE;
}

static int check_config(const struct request *r, void *config, FILE *out, FILE *err)
{
    char error[ERROR_BYTES];
    if (config_load(r->params, config, r->file, error, sizeof error) != SKEIN_OK) {
        fprintf(err, "%s: %s\n", r->program, error);
        return EXIT_WRONG;
    }
    config_free(r->params, config);
    fprintf(out, "%s: %s is right\n", r->program, r->file ? r->file : "the default configuration");
    return EXIT_DONE;
}

/* One argument that stands alone; CONFIG_RUN: go on with the next. */
static int take_flag(struct request *r, const char *flag, const char *otherwise, FILE *out,
                     FILE *err)
{
    if (strcmp(flag, "--check-config") == 0) {
        r->check = true;
        return CONFIG_RUN;
    }
    if (strcmp(flag, "--help") == 0 || strcmp(flag, "-h") == 0)
        return print_help(r, otherwise, out);
    if (strcmp(flag, "--version") == 0) {
        fprintf(out, "%s %s\n", r->program, SKEIN_VERSION_TEXT);
        return EXIT_DONE;
    }
    if (strcmp(flag, "--print-markdown") == 0) {
        config_print_markdown(r->params, out);
        return EXIT_DONE;
    }
    if (strcmp(flag, "--print-schema") == 0)
        return config_print_schema(r->params, r->program, out) == SKEIN_OK ? EXIT_DONE : EXIT_WRONG;
    fprintf(err, "%s: unknown argument %s; see --help\n", r->program, flag);
    return EXIT_USAGE;
}

int config_arguments(const struct config_param *params, void *config, const char *otherwise,
                     int argc, char **argv, const char **file, FILE *out, FILE *err)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    struct request r = {.params = params, .program = slash ? slash + 1 : argc > 0 ? argv[0] : "?"};
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--config=", 9) == 0) {
            r.file = argv[i] + 9;
        } else if (strcmp(argv[i], "--config") == 0 && i + 1 < argc) {
            r.file = argv[++i];
        } else if (strcmp(argv[i], "--config") == 0) {
            fprintf(err, "%s: --config needs a file\n", r.program);
            return EXIT_USAGE;
        } else {
            int status = take_flag(&r, argv[i], otherwise, out, err);
            if (status != CONFIG_RUN)
                return status;
        }
    }
    /* A file that is there but cannot be read is an error later; one that is absent is none. */
    if (!r.file && access(otherwise, F_OK) == 0)
        r.file = otherwise;
    if (r.check)
        return check_config(&r, config, out, err);
    *file = r.file;
    return CONFIG_RUN;
}
