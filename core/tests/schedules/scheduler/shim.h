/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of core/src/base/atomics.h for a core whose every shared access is a step of schedules.h. The orders are those
 * spelled there, unless one of them is weakened on purpose (SLR_DEFECT) to see that the search finds it.
 */
#ifndef SCHEDULES_SHIM_H
#define SCHEDULES_SHIM_H

#include "base/defects.h"
#include "memory.h"

/* The type of what p points to, without _Atomic and const. */
#define SLR_TYPE(p) __typeof__((void)0, *(p))
#define SLR_LOAD(p, order) ((SLR_TYPE(p))memory_load((const volatile void *)(p), sizeof *(p), (order)))
#define SLR_STORE(p, v, order) memory_store((volatile void *)(p), sizeof *(p), (uint64_t)(v), (order))

#define slr_load_relaxed(p) SLR_LOAD(p, RELAXED)
#define slr_store_relaxed(p, v) SLR_STORE(p, v, RELAXED)
#define slr_load_acquire(p) SLR_LOAD(p, SLR_DEFECT(observe_relaxed) ? RELAXED : ACQUIRE)
#define slr_store_release(p, v) SLR_STORE(p, v, SLR_DEFECT(publish_relaxed) ? RELAXED : RELEASE)
#define slr_store_seq_cst(p, v) SLR_STORE(p, v, SEQ_CST)
#define slr_load_seq_cst(p) SLR_LOAD(p, SLR_DEFECT(agree_weak) ? ACQUIRE : SEQ_CST)

static inline void slr_fence_compiler(void) {}
static inline void slr_fence_seq_cst(void) {
    if (!SLR_DEFECT(no_fence_full)) memory_fence(SLR_DEFECT(fence_full_acq_rel) ? ACQ_REL : SEQ_CST);
}
static inline void slr_fence_release(void) {
    if (!SLR_DEFECT(no_fence_before_overwrite)) memory_fence(RELEASE);
}
static inline void slr_fence_acquire(void) {
    if (!SLR_DEFECT(no_fence_after_copy)) memory_fence(ACQUIRE);
}

static inline bool slr_cas(_Atomic uint64_t *p, uint64_t expected, uint64_t desired) {
    enum order order = SLR_DEFECT(swap_relaxed) ? RELAXED : ACQ_REL;
    return memory_swap_if(p, 8, expected, desired, order, order == RELAXED ? RELAXED : ACQUIRE);
}
static inline bool slr_cas_seq_cst(_Atomic uint64_t *p, uint64_t expected, uint64_t desired) {
    return memory_swap_if(p, 8, expected, desired, SLR_DEFECT(agree_weak) ? ACQ_REL : SEQ_CST, ACQUIRE);
}
static inline bool slr_cas32(_Atomic uint32_t *p, uint32_t expected, uint32_t desired) {
    return memory_swap_if(p, 4, expected, desired, SEQ_CST, RELAXED);
}
static inline uint64_t slr_fetch_add(_Atomic uint64_t *p, uint64_t by) {
    return memory_change(p, 8, CHANGE_ADD, by, SLR_DEFECT(take_relaxed) ? RELAXED : ACQ_REL);
}
static inline uint32_t slr_fetch_or32(_Atomic uint32_t *p, uint32_t bits) {
    return (uint32_t)memory_change(p, 4, CHANGE_OR, bits, SEQ_CST);
}
static inline void slr_fetch_add32(_Atomic uint32_t *p, uint32_t by) { memory_change(p, 4, CHANGE_ADD, by, SEQ_CST); }

static inline void slr_count(_Atomic uint64_t *counter, uint64_t by) { slr_store_relaxed(counter, slr_load_relaxed(counter) + by); }
static inline void slr_prefetch_write(const void *address) { (void)address; }
static inline void slr_pause(void) {} /* the access before and after it are steps; between them is nothing to see */

#endif
