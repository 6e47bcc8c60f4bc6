/* SPDX-License-Identifier: Apache-2.0
 *
 * A library with nothing in it. Whatever is preloaded costs a program at least what this one does.
 */
extern const char overhead_nothing;
const char overhead_nothing = 0;
