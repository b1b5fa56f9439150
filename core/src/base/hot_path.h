/* SPDX-License-Identifier: Apache-2.0
 *
 * What hot paths need less often stays out of them: out of line, so that the usual case needs few registers and no stack, and,
 * where it is seldom needed, out of the way of the instructions that are fetched.
 */
#ifndef SLR_BASE_HOT_PATH_H
#define SLR_BASE_HOT_PATH_H

#define SLR_NOINLINE __attribute__((noinline))
/* The other way round: a step of the hot paths themselves, however many they are; else it depends on the linker's mood. */
#define SLR_ALWAYS_INLINE inline __attribute__((always_inline))
#define SLR_COLD __attribute__((noinline, cold))

#endif
