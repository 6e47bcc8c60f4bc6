/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps what a collector answered, one line of JSON each, for tests/contract, which holds it
 * against the OpenAPI document after the tests. Any thread; never fails a test.
 */
#ifndef CONTRACT_H
#define CONTRACT_H

#include "http_client.h"

void contract_record(const char *method, const char *path, const struct http_response *response);

#endif
