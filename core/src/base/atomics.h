/* SPDX-License-Identifier: Apache-2.0
 *
 * The only file that spells memory orders. Each call site names the partner of the access and the error that it prevents.
 */
#ifndef SLR_BASE_ATOMICS_H
#define SLR_BASE_ATOMICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef SLR_ATOMICS_SHIM /* test builds that record or schedule every access define these names in another file */
#include SLR_ATOMICS_SHIM
#else

/* For a value that may be outdated, or that a fence next to the access orders. */
#define slr_load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define slr_store_relaxed(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)

/* Publication: a reader that loads the value with slr_load_acquire sees all stores before the slr_store_release. */
#define slr_load_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define slr_store_release(p, v) atomic_store_explicit((p), (v), memory_order_release)

/* Store, then load (Dekker): if two sides each store and then load, at least one of them sees the store of the other. */
#define slr_store_seq_cst(p, v) atomic_store_explicit((p), (v), memory_order_seq_cst)

#define slr_load_seq_cst(p) atomic_load_explicit((p), memory_order_seq_cst)

/* Orders accesses for the compiler only. Partner: the kernel, when this thread dies. */
static inline void slr_fence_compiler(void) { atomic_signal_fence(memory_order_seq_cst); }
static inline void slr_fence_seq_cst(void) { atomic_thread_fence(memory_order_seq_cst); }
/* Before a write to memory that readers may be copying: they must see the reservation first. */
static inline void slr_fence_release(void) { atomic_thread_fence(memory_order_release); }
/* After a copy without a hold, before the check that it was not overwritten. */
static inline void slr_fence_acquire(void) { atomic_thread_fence(memory_order_acquire); }

static inline bool slr_cas(_Atomic uint64_t *p, uint64_t expected, uint64_t desired) {
    return atomic_compare_exchange_strong_explicit(p, &expected, desired, memory_order_acq_rel, memory_order_acquire);
}

static inline bool slr_cas_seq_cst(_Atomic uint64_t *p, uint64_t expected, uint64_t desired) {
    return atomic_compare_exchange_strong_explicit(p, &expected, desired, memory_order_seq_cst, memory_order_acquire);
}

/* Return the previous value. One instruction; setting bits would be a loop. */
static inline uint64_t slr_fetch_add(_Atomic uint64_t *p, uint64_t by) {
    return atomic_fetch_add_explicit(p, by, memory_order_acq_rel);
}

static inline bool slr_cas32(_Atomic uint32_t *p, uint32_t expected, uint32_t desired) {
    return atomic_compare_exchange_strong_explicit(p, &expected, desired, memory_order_seq_cst, memory_order_relaxed);
}

static inline uint32_t slr_fetch_or32(_Atomic uint32_t *p, uint32_t bits) {
    return atomic_fetch_or_explicit(p, bits, memory_order_seq_cst);
}

static inline void slr_fetch_add32(_Atomic uint32_t *p, uint32_t by) { atomic_fetch_add_explicit(p, by, memory_order_seq_cst); }

/* For a counter with one writer, which needs no read-modify-write. */
static inline void slr_count(_Atomic uint64_t *counter, uint64_t by) {
    slr_store_relaxed(counter, slr_load_relaxed(counter) + by);
}

/* Fetch memory that will be written soon from the cache of another processor. A hint without effect on results. */
static inline void slr_prefetch_write(const void *address) {
#if defined(__x86_64__)
    __asm__ volatile("prefetchw (%0)" : : "r"(address)); /* the builtin fetches the line for reading */
#else
    __builtin_prefetch(address, 1);
#endif
}

static inline void slr_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
#endif
