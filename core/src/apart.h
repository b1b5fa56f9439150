/* SPDX-License-Identifier: Apache-2.0
 *
 * What hot paths need less often stays out of them: out of line, so that the usual case needs few registers and no stack, and,
 * where it is seldom needed, out of the way of the instructions that are fetched.
 */
#ifndef SLR_APART_H
#define SLR_APART_H

#define SLR_APART __attribute__((noinline))
#define SLR_SELDOM __attribute__((noinline, cold))

#endif
