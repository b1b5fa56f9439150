/* SPDX-License-Identifier: Apache-2.0
 *
 * Death wake: the kernel wakes a sleeper if this thread dies before it has done so itself.
 *
 * Every thread has registered a list of robust mutexes with the kernel (set_robust_list(2); the C library does it). The head
 * of the list has a word for the mutex that the thread is releasing at the moment, list_op_pending. A thread may die after it
 * has released a mutex and before it has woken a waiter. So at the death of a thread, by whatever cause, the kernel wakes one
 * sleeper on that word if the futex word names no owner. The word `death_wake` of a topic is a mutex that never has an owner.
 * Setting and clearing a death wake is one store each to memory of this thread.
 *
 * The kernel wakes one of several sleepers. That one wakes the others. It set the same death wake before it fell asleep, so its
 * own death in between is covered, too.
 */
#ifndef SLR_WAIT_DEATH_WAKE_H
#define SLR_WAIT_DEATH_WAKE_H

#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomics.h"
#include "base/hot_path.h"

/* musl does not load a library at run time that needs static TLS. */
#ifdef __GLIBC__
#define SLR_DEATH_WAKE_TLS __attribute__((tls_model("initial-exec")))
#else
#define SLR_DEATH_WAKE_TLS
#endif

extern _Thread_local struct robust_list_head *slr_death_wake_list SLR_DEATH_WAKE_TLS; /* NULL: not known yet */
SLR_COLD struct robust_list_head *slr_death_wake_find(void); /* once for each thread */
void slr_death_wake_forget(void); /* in a forked child: the kernel has no list of it yet */

/* Set the death wake until it is cleared or replaced. the word must stay mapped until then. */
static inline void slr_death_wake_set(const _Atomic uint32_t *word) {
    struct robust_list_head *head = slr_death_wake_list;
    if (__builtin_expect(!head, 0)) head = slr_death_wake_find();
    uintptr_t entry = (uintptr_t)word - (uintptr_t)head->futex_offset;
    *(struct robust_list *volatile *)&head->list_op_pending = (struct robust_list *)entry;
    slr_fence_compiler(); /* before the store that makes a wake-up necessary. Partner: the kernel, in this thread */
}

static inline void slr_death_wake_clear(void) {
    slr_fence_compiler(); /* after the wake-up */
    *(struct robust_list *volatile *)&slr_death_wake_list->list_op_pending = NULL;
}

#endif
