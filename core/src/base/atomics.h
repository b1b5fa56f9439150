/* SPDX-License-Identifier: Apache-2.0
 *
 * The only file that spells memory orders. Names say what an access is for; the call site says who its
 * partner is and what would break without it.
 */
#ifndef SLR_BASE_ATOMICS_H
#define SLR_BASE_ATOMICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef SLR_ATOMICS_SHIM /* a test build that watches or schedules every access has a file of its own with these names */
#include SLR_ATOMICS_SHIM
#else

/* A value whose age does not matter, or that a fence beside it orders. */
#define slr_load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define slr_store_relaxed(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)

/* Publication: everything before slr_store_release is seen by whoever reads the value with slr_load_acquire. */
#define slr_load_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define slr_store_release(p, v) atomic_store_explicit((p), (v), memory_order_release)

/* Store–load agreements (Dekker): of two sides that each write and then read, at least one sees the other. */
#define slr_store_seq_cst(p, v) atomic_store_explicit((p), (v), memory_order_seq_cst)

#define slr_load_seq_cst(p) atomic_load_explicit((p), memory_order_seq_cst)

/* Against the compiler only: for what the kernel does when this thread dies. */
static inline void slr_fence_compiler(void) { atomic_signal_fence(memory_order_seq_cst); }
static inline void slr_fence_seq_cst(void) { atomic_thread_fence(memory_order_seq_cst); }
/* Before writing memory that optimistic readers may be copying: they must see the reservation behind it. */
static inline void slr_fence_release(void) { atomic_thread_fence(memory_order_release); }
/* After an optimistic copy, before asking whether it was overwritten. */
static inline void slr_fence_acquire(void) { atomic_thread_fence(memory_order_acquire); }

static inline bool slr_cas(_Atomic uint64_t *p, uint64_t expected, uint64_t desired) {
    return atomic_compare_exchange_strong_explicit(p, &expected, desired, memory_order_acq_rel, memory_order_acquire);
}

static inline bool slr_cas_seq_cst(_Atomic uint64_t *p, uint64_t expected, uint64_t desired) {
    return atomic_compare_exchange_strong_explicit(p, &expected, desired, memory_order_seq_cst, memory_order_acquire);
}

/* What it was before. One instruction, where setting bits would be a loop. */
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

/* A counter with one writer: no read-modify-write needed. */
static inline void slr_count(_Atomic uint64_t *counter, uint64_t by) {
    slr_store_relaxed(counter, slr_load_relaxed(counter) + by);
}

/* Memory that will be written soon, and is still in another processor's cache. A hint: it changes nothing. */
static inline void slr_prefetch_write(const void *address) {
#if defined(__x86_64__)
    __asm__ volatile("prefetchw (%0)" : : "r"(address)); /* the builtin would fetch it to be read, here */
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
