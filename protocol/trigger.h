/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a capture was begun: asked for, by the condition of a rule, or by a policy. No state.
 */
#ifndef TRIGGER_H
#define TRIGGER_H

enum trigger_type {
    TRIGGER_REQUEST,
    TRIGGER_HEALTH,
    TRIGGER_APPLICATION,
    TRIGGER_CRASH,
    TRIGGER_LATENCY,
    TRIGGER_LOG,
    TRIGGER_COUNTER,
    TRIGGER_CPU,
    TRIGGER_MEMORY,
    TRIGGER_PRESSURE,
    TRIGGER_POLICY,
    TRIGGER_TYPES /* how many there are */
};
const char *trigger_text(enum trigger_type type);
enum trigger_type trigger_find(const char *text); /* TRIGGER_TYPES: none of them */

#endif
