/* SPDX-License-Identifier: Apache-2.0
 *
 * The core's atomics, with a call before each access to shared memory: there a fuzz target may change the image, as a
 * hostile process could between any two accesses. Given to the build as SLR_ATOMICS_SHIM.
 */
#undef SLR_ATOMICS_SHIM
#undef SLR_BASE_ATOMICS_H
#include "base/atomics.h"

void fuzz_before_access(void);

#undef slr_load_relaxed
#undef slr_load_acquire
#undef slr_load_seq_cst
#define slr_load_relaxed(p) (fuzz_before_access(), atomic_load_explicit((p), memory_order_relaxed))
#define slr_load_acquire(p) (fuzz_before_access(), atomic_load_explicit((p), memory_order_acquire))
#define slr_load_seq_cst(p) (fuzz_before_access(), atomic_load_explicit((p), memory_order_seq_cst))
/* A macro is not expanded inside itself: these are the functions, called after the hook. */
#define slr_cas(p, expected, desired) (fuzz_before_access(), slr_cas((p), (expected), (desired)))
#define slr_cas_seq_cst(p, expected, desired) (fuzz_before_access(), slr_cas_seq_cst((p), (expected), (desired)))
#define slr_cas32(p, expected, desired) (fuzz_before_access(), slr_cas32((p), (expected), (desired)))
