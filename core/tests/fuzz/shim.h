/* SPDX-License-Identifier: Apache-2.0
 *
 * The core's atomics, with a call before each access to shared memory: there a fuzz target may change the image, as a
 * hostile process could between any two accesses. Given to the build as SLR_ATOMICS_SHIM.
 */
#undef SLR_ATOMICS_SHIM
#undef SLR_ATOMICS_H
#include "atomics.h"

void fuzz_before_access(void);

#undef slr_peek
#undef slr_observe
#undef slr_agree_load
#define slr_peek(p) (fuzz_before_access(), atomic_load_explicit((p), memory_order_relaxed))
#define slr_observe(p) (fuzz_before_access(), atomic_load_explicit((p), memory_order_acquire))
#define slr_agree_load(p) (fuzz_before_access(), atomic_load_explicit((p), memory_order_seq_cst))
/* A macro is not expanded inside itself: these are the functions, called after the hook. */
#define slr_swap_if(p, expected, desired) (fuzz_before_access(), slr_swap_if((p), (expected), (desired)))
#define slr_agree_swap_if(p, expected, desired) (fuzz_before_access(), slr_agree_swap_if((p), (expected), (desired)))
#define slr_swap_if32(p, expected, desired) (fuzz_before_access(), slr_swap_if32((p), (expected), (desired)))
