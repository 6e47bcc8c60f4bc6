/* SPDX-License-Identifier: Apache-2.0
 * See config_command.h. */
#include "config_command.h"

#include <getopt.h>
#include <stdio.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, FIRST_FLAG = 0x100 };

static const struct option common[] = {
    {"config", required_argument, NULL, 'c'},   {"set", required_argument, NULL, 'S'},
    {"print-markdown", no_argument, NULL, 'm'}, {"print-schema", no_argument, NULL, 's'},
    {"print-man", no_argument, NULL, 'p'},      {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'}};
enum { COMMON = sizeof common / sizeof common[0] };

static int set_add(const struct config_page *page, struct config_sources *sources)
{
    if (sources->set_count == CONFIG_SETS_MAX) {
        fprintf(stderr, "%s: --set is given more than %d times\n", page->name, CONFIG_SETS_MAX);
        return EXIT_USAGE;
    }
    sources->sets[sources->set_count++] = optarg;
    return CONFIG_COMMAND_GO_ON;
}

static int option_take(int option, const struct config_page *page, struct config_sources *sources)
{
    switch (option) {
    case 'c':
        sources->file = optarg;
        return CONFIG_COMMAND_GO_ON;
    case 'S':
        return set_add(page, sources);
    case 'm':
        config_print_markdown(page->params, stdout);
        return 0;
    case 's':
        return config_print_schema(page->params, page->name, stdout) < 0 ? EXIT_FAILED : 0;
    case 'p':
        config_page_man(page, stdout);
        return 0;
    case 'h':
        config_page_help(page, stdout);
        return 0;
    case 'V':
        printf("%s %s\n", page->name, SKEIN_VERSION_TEXT);
        return 0;
    default:
        fprintf(stderr, "Try '%s --help'.\n", page->name);
        return EXIT_USAGE;
    }
}

int config_command_read(int argc, char **argv, const struct config_page *page,
                        const struct config_flag *flags, struct config_sources *sources)
{
    struct option known[COMMON + CONFIG_FLAGS_MAX + 1] = {{NULL, 0, NULL, 0}};
    int count = 0, status = CONFIG_COMMAND_GO_ON, option;
    for (; count < COMMON; count++)
        known[count] = common[count];
    for (int i = 0; i < CONFIG_FLAGS_MAX && flags[i].name != NULL; i++)
        known[count++] = (struct option){flags[i].name, no_argument, NULL, FIRST_FLAG + i};
    while (status == CONFIG_COMMAND_GO_ON &&
           (option = getopt_long(argc, argv, "c:hV", known, NULL)) != -1) {
        if (option >= FIRST_FLAG)
            *flags[option - FIRST_FLAG].given = true;
        else
            status = option_take(option, page, sources);
    }
    if (status == CONFIG_COMMAND_GO_ON && optind < argc) {
        fprintf(stderr, "%s: unexpected argument: %s\nTry '%s --help'.\n", page->name, argv[optind],
                page->name);
        status = EXIT_USAGE;
    }
    return status;
}
