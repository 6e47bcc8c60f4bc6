/* SPDX-License-Identifier: Apache-2.0
 * Terms of a search: any bytes are terms, or refused with a sentence; asking them of a type and thread
 * reads nothing but these. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "search_terms.h"

static void require(bool fine)
{
    if (!fine)
        abort();
}

static void terms_ask(struct search_terms *terms)
{
    static const struct skein_event_type type = {.name = "query",
                                                 .text = "",
                                                 .file = "",
                                                 .arg_count = 2,
                                                 .args = {{1, "rows", ""}, {6, "sql", ""}}};
    static const struct skein_process process = {
        .host = "web-1", .service = "shop", .labels = "", .exe = ""};
    static const struct skein_thread thread = {.name = "worker", .tid = 7};
    (void)search_terms_type(terms, &type);
    (void)search_terms_process(terms, &process);
    (void)search_terms_thread(terms, &thread);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct search_terms *terms;
    struct skein_trace *trace;
    char error[SKEIN_TRACE_ERROR_BYTES];
    if (skein_trace_new(&trace) != SKEIN_OK)
        return 0;
    char *exact = malloc(n > 0 ? n : 1);
    require(exact != NULL);
    if (n > 0)
        memcpy(exact, bytes, n);
    int status = search_terms_new(exact, n, trace, &terms, error);
    require((status == SKEIN_OK) == (terms != NULL));
    require(status != SKEIN_INVALID || error[0] != '\0');
    if (status == SKEIN_OK)
        terms_ask(terms);
    search_terms_free(&terms);
    skein_trace_free(&trace);
    free(exact);
    return 0;
}
