/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of core/src/atomics.h for a core whose every shared access is a step of schedules.h. The orders are those
 * spelled there, unless one of them is weakened on purpose (SLR_DEFECT) to see that the search finds it.
 */
#ifndef SCHEDULES_SHIM_H
#define SCHEDULES_SHIM_H

#include "defects.h"
#include "memory.h"

/* The type of what p points to, without _Atomic and const. */
#define SLR_TYPE(p) __typeof__((void)0, *(p))
#define SLR_LOAD(p, order) ((SLR_TYPE(p))memory_load((const volatile void *)(p), sizeof *(p), (order)))
#define SLR_STORE(p, v, order) memory_store((volatile void *)(p), sizeof *(p), (uint64_t)(v), (order))

#define slr_peek(p) SLR_LOAD(p, RELAXED)
#define slr_poke(p, v) SLR_STORE(p, v, RELAXED)
#define slr_observe(p) SLR_LOAD(p, SLR_DEFECT(observe_relaxed) ? RELAXED : ACQUIRE)
#define slr_publish(p, v) SLR_STORE(p, v, SLR_DEFECT(publish_relaxed) ? RELAXED : RELEASE)
#define slr_agree_store(p, v) SLR_STORE(p, v, SEQ_CST)
#define slr_agree_load(p) SLR_LOAD(p, SLR_DEFECT(agree_weak) ? ACQUIRE : SEQ_CST)

static inline void slr_fence_compiler(void) {}
static inline void slr_fence_full(void) {
    if (!SLR_DEFECT(no_fence_full)) memory_fence(SLR_DEFECT(fence_full_acq_rel) ? ACQ_REL : SEQ_CST);
}
static inline void slr_fence_before_overwrite(void) {
    if (!SLR_DEFECT(no_fence_before_overwrite)) memory_fence(RELEASE);
}
static inline void slr_fence_after_copy(void) {
    if (!SLR_DEFECT(no_fence_after_copy)) memory_fence(ACQUIRE);
}

static inline bool slr_swap_if(_Atomic uint64_t *p, uint64_t expected, uint64_t desired) {
    enum order order = SLR_DEFECT(swap_relaxed) ? RELAXED : ACQ_REL;
    return memory_swap_if(p, 8, expected, desired, order, order == RELAXED ? RELAXED : ACQUIRE);
}
static inline bool slr_agree_swap_if(_Atomic uint64_t *p, uint64_t expected, uint64_t desired) {
    return memory_swap_if(p, 8, expected, desired, SLR_DEFECT(agree_weak) ? ACQ_REL : SEQ_CST, ACQUIRE);
}
static inline bool slr_swap_if32(_Atomic uint32_t *p, uint32_t expected, uint32_t desired) {
    return memory_swap_if(p, 4, expected, desired, SEQ_CST, RELAXED);
}
static inline uint64_t slr_add(_Atomic uint64_t *p, uint64_t by) {
    return memory_change(p, 8, CHANGE_ADD, by, SLR_DEFECT(take_relaxed) ? RELAXED : ACQ_REL);
}
static inline uint32_t slr_set_bits32(_Atomic uint32_t *p, uint32_t bits) {
    return (uint32_t)memory_change(p, 4, CHANGE_OR, bits, SEQ_CST);
}
static inline void slr_add32(_Atomic uint32_t *p, uint32_t by) { memory_change(p, 4, CHANGE_ADD, by, SEQ_CST); }

static inline void slr_count(_Atomic uint64_t *counter, uint64_t by) { slr_poke(counter, slr_peek(counter) + by); }
static inline void slr_fetch_to_write(const void *address) { (void)address; }
static inline void slr_pause(void) {} /* the access before and after it are steps; between them is nothing to see */

#endif
