/* SPDX-License-Identifier: Apache-2.0
 * The hot path behind skein.h's macros; not for reading. */
#ifndef SKEIN_INLINE_H
#define SKEIN_INLINE_H
#endif
