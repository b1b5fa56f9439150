/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes of functions on hot paths. A rare case goes into a function of its own, out of line, so that the usual case
 * needs few registers and no stack. Code for very rare cases is also placed away from the instructions of the usual case.
 */
#ifndef SLR_BASE_HOT_PATH_H
#define SLR_BASE_HOT_PATH_H

#define SLR_NOINLINE __attribute__((noinline))
/* For a step of the hot paths themselves: inlined at every call, whatever the compiler and linker would choose. */
#define SLR_ALWAYS_INLINE inline __attribute__((always_inline))
#define SLR_COLD __attribute__((noinline, cold))

#endif
