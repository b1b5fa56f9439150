/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping and waking through a futex word in shared memory: {number of wake-ups, waking, a process sleeps}. The model
 * core/models/wake.pml is checked by Spin.
 */
#ifndef SLR_WAIT_FUTEX_H
#define SLR_WAIT_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomics.h"
#include "base/hot_path.h"

/* A futex word: bit 0 a process sleeps, bit 1 a process is waking the sleepers, the other bits count wake-ups. */
#define SLR_WAKE_SLEEPING 1u
#define SLR_WAKE_WAKING 2u
#define SLR_WAKE_COUNT 4u

#define SLR_SPIN_NS 20000 /* about half the cost of a sleep and a wake-up */

/* Announce a sleeper; return the value to sleep on. */
uint32_t slr_sleep_announce(_Atomic uint32_t *word);
/* Sleep until the word changes or until the deadline: 0 (woken, possibly without cause), ETIMEDOUT or EINTR. */
int slr_sleep(_Atomic uint32_t *word, uint32_t value, int64_t deadline_ns);
SLR_NOINLINE void slr_wake_all(_Atomic uint32_t *word);

/* Wake all sleepers: one system call if a process has fallen asleep, none otherwise. The waker clears the flag, so a killed
 * sleeper costs one call once. A waker killed before its call leaves its mark, and the next waker makes the call. */
static inline void slr_wake_sleepers(_Atomic uint32_t *word) {
    if (slr_load_relaxed(word) & (SLR_WAKE_SLEEPING | SLR_WAKE_WAKING)) slr_wake_all(word);
}

#endif
