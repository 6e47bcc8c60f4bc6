/* SPDX-License-Identifier: Apache-2.0
 * `skeind token`: tokens from the command line, also while the collector runs. For skeind_main.c.
 */
#ifndef SKEIND_TOKEN_H
#define SKEIND_TOKEN_H

/* argv[0] is "token". Returns the exit status. */
int skeind_token(int argc, char **argv);

#endif
