/* SPDX-License-Identifier: Apache-2.0
 *
 * The core's atomics (core/src/base/atomics.h) for the build of the crash states: every store and every read-modify-write is
 * a numbered step. Loads change nothing and are none.
 */
#include "steps.h"

#define slr_load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define slr_load_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define slr_load_seq_cst(p) atomic_load_explicit((p), memory_order_seq_cst)

#define SLR_STEPPED(store) (step_before(), (store), step_after())
#define slr_store_relaxed(p, v) SLR_STEPPED(atomic_store_explicit((p), (v), memory_order_relaxed))
#define slr_store_release(p, v) SLR_STEPPED(atomic_store_explicit((p), (v), memory_order_release))
#define slr_store_seq_cst(p, v) SLR_STEPPED(atomic_store_explicit((p), (v), memory_order_seq_cst))

static inline void slr_fence_compiler(void) { atomic_signal_fence(memory_order_seq_cst); }
static inline void slr_fence_seq_cst(void) { atomic_thread_fence(memory_order_seq_cst); }
static inline void slr_fence_release(void) { atomic_thread_fence(memory_order_release); }
static inline void slr_fence_acquire(void) { atomic_thread_fence(memory_order_acquire); }

static inline bool slr_cas_seq_cst(_Atomic uint64_t *p, uint64_t expected, uint64_t desired) {
    step_before();
    bool swapped = atomic_compare_exchange_strong(p, &expected, desired);
    step_after();
    return swapped;
}

static inline bool slr_cas(_Atomic uint64_t *p, uint64_t expected, uint64_t desired) {
    return slr_cas_seq_cst(p, expected, desired);
}

static inline uint64_t slr_fetch_add(_Atomic uint64_t *p, uint64_t by) {
    step_before();
    uint64_t before = atomic_fetch_add(p, by);
    step_after();
    return before;
}

static inline bool slr_cas32(_Atomic uint32_t *p, uint32_t expected, uint32_t desired) {
    step_before();
    bool swapped = atomic_compare_exchange_strong(p, &expected, desired);
    step_after();
    return swapped;
}

static inline uint32_t slr_fetch_or32(_Atomic uint32_t *p, uint32_t bits) {
    step_before();
    uint32_t before = atomic_fetch_or(p, bits);
    step_after();
    return before;
}

static inline void slr_fetch_add32(_Atomic uint32_t *p, uint32_t by) {
    step_before();
    atomic_fetch_add(p, by);
    step_after();
}

static inline void slr_count(_Atomic uint64_t *counter, uint64_t by) { slr_store_relaxed(counter, slr_load_relaxed(counter) + by); }
static inline void slr_prefetch_write(const void *address) { (void)address; }
static inline void slr_pause(void) {}
