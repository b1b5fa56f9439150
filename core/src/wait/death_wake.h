/* SPDX-License-Identifier: Apache-2.0
 *
 * A will: whom the kernel is to wake if this thread dies before it has come to wake them itself.
 *
 * Every thread has told the kernel of a list of robust mutexes (set_robust_list(2); the C library does). Its head has a
 * word for the mutex being released at this moment, list_op_pending: a thread may die after it has let go of one and
 * before it has woken who waits for it, so at its death, by whatever cause, the kernel wakes one sleeper there, if the
 * futex word names no owner. A mutex that never has an owner, the word `orphan` of a topic, makes that a wake-up by the
 * dead. Making a will is a store to memory of our own, and so is revoking it.
 *
 * Of many sleepers the kernel wakes one, who wakes the others; it has made the same will before it fell asleep, so its
 * death on the way is covered, too.
 */
#ifndef SLR_WAIT_DEATH_WAKE_H
#define SLR_WAIT_DEATH_WAKE_H

#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomics.h"
#include "base/hot_path.h"

/* musl refuses to load libraries later that want their place fixed. */
#ifdef __GLIBC__
#define SLR_DEATH_WAKE_TLS __attribute__((tls_model("initial-exec")))
#else
#define SLR_DEATH_WAKE_TLS
#endif

extern _Thread_local struct robust_list_head *slr_death_wake_list SLR_DEATH_WAKE_TLS; /* NULL: not asked yet */
SLR_COLD struct robust_list_head *slr_death_wake_find(void); /* once in a thread's life */
void slr_death_wake_forget(void); /* in a forked child, of which the kernel knows no list until somebody tells it */

/* Until it is revoked or another one is made; orphan must stay mapped as long. */
static inline void slr_death_wake_set(const _Atomic uint32_t *orphan) {
    struct robust_list_head *head = slr_death_wake_list;
    if (__builtin_expect(!head, 0)) head = slr_death_wake_find();
    uintptr_t entry = (uintptr_t)orphan - (uintptr_t)head->futex_offset;
    *(struct robust_list *volatile *)&head->list_op_pending = (struct robust_list *)entry;
    slr_fence_compiler(); /* before what we may die after. Partner: the kernel, in this very thread */
}

static inline void slr_death_wake_clear(void) {
    slr_fence_compiler(); /* after the wake-up */
    *(struct robust_list *volatile *)&slr_death_wake_list->list_op_pending = NULL;
}

#endif
