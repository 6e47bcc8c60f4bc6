/* SPDX-License-Identifier: Apache-2.0
 *
 * What a process is called: by what it says of itself, and by whose it is, which the kernel says. Owns
 * who may take the names of services that are bound to users. Loop thread; never blocks on a service of
 * names: users are those of /etc/passwd, but at the start.
 */
#ifndef ATTACH_NAMES_H
#define ATTACH_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct attach_names;
struct process;

/* bounds: "SERVICE=USER[,USER...]", users by name or number. SKEIN_OK; SKEIN_INVALID with a sentence in
 * error: of such a text, or a user that there is not; SKEIN_NO_MEMORY. */
int attach_names_new(char *const *bounds, size_t count, struct attach_names **out, char *error,
                     size_t error_bytes);
void attach_names_free(struct attach_names **names);

/* Sets p->service and p->labels, which begin with `uid` and, where /etc/passwd has it, `user`: a
 * process cannot claim these. Labels that have no room are counted by one more, `labels_cut`, and the log
 * says so. Of a service that is bound to others the name becomes
 * "SERVICE.uid-NUMBER", and the log says so. */
void attach_names_set(struct attach_names *names, struct process *p, const char *service,
                      const char *labels, uint32_t uid);

#endif
