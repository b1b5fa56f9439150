/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping and waking through a futex word in shared memory: {count of wake-ups, waking, somebody sleeps}. A model of it is
 * checked by spin: core/models/wake.pml.
 */
#ifndef SLR_WAIT_FUTEX_H
#define SLR_WAIT_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomics.h"
#include "base/hot_path.h"

/* The futex words: bit 0 somebody sleeps, bit 1 somebody is waking them, the rest counts wake-ups. */
#define SLR_WAKE_SLEEPING 1u
#define SLR_WAKE_WAKING 2u
#define SLR_WAKE_COUNT 4u

#define SLR_SPIN_NS 20000 /* about half of what a sleep and a wake cost */

/* Announces a sleeper; the value to sleep on. */
uint32_t slr_sleep_announce(_Atomic uint32_t *word);
/* Until the word changes or the time comes: 0 (woken, perhaps for nothing), ETIMEDOUT or EINTR. */
int slr_sleep(_Atomic uint32_t *word, uint32_t value, int64_t deadline_ns);
SLR_NOINLINE void slr_wake_all(_Atomic uint32_t *word);

/* One system call for each time somebody fell asleep; none when nobody did. The waker clears the flag, so a sleeper
 * that was killed costs one call, once; a waker killed before its call has left its mark, and the next one calls. */
static inline void slr_wake_sleepers(_Atomic uint32_t *word) {
    if (slr_load_relaxed(word) & (SLR_WAKE_SLEEPING | SLR_WAKE_WAKING)) slr_wake_all(word);
}

#endif
