/* SPDX-License-Identifier: Apache-2.0
 * The lies of analyst_liar, by what it is told of its memory. */
#ifndef ANALYST_LIAR_H
#define ANALYST_LIAR_H

enum liar {
    LIAR_EXITS = 1,
    LIAR_ABORTS,
    LIAR_HANGS,
    LIAR_BABBLES,
    LIAR_ANSWERS_MORE,
    LIAR_ASKS_BEHIND,
    LIAR_ASKS_OTHER,
    LIAR_ASKS_NOTHING,
    LIAR_ENDS_BADLY,
    LIAR_HEAD_ALONE,
    LIAR_READS_NOT,
    LIAR_CONFINED_NOT,
    LIAR_SPINS
};

#endif
