/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers requests of the agent (symbol_wire.h): which files are loaded, names in them, stacks.
 * skein-symbolizer only. One owner.
 */
#ifndef SYMBOL_SERVE_H
#define SYMBOL_SERVE_H

#include "symbol_wire.h"

struct symbol_server;

int symbol_server_new(struct symbol_server **out); /* SKEIN_OK, SKEIN_NO_MEMORY */
void symbol_server_free(struct symbol_server **server);

/* Puts the whole reply, head and body, to any request. Takes the descriptors, SYMBOL_FDS_MAX at
 * most. */
void symbol_server_answer(struct symbol_server *server, uint8_t kind, const uint8_t *body,
                          size_t bytes, const int *fds, size_t fd_count, struct buf *reply);

#endif
