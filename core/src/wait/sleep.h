/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping on any number of futex words at once.
 */
#ifndef SLR_WAIT_SLEEP_H
#define SLR_WAIT_SLEEP_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slr_futex_word { /* struct futex_waitv, which older kernel headers lack */
    uint64_t value, address;
    uint32_t flags, reserved;
};
#define SLR_FUTEX_32 2u /* 32 bits wide, shared between processes */

#define SLR_MAX_FUTEX_WORDS 128u /* in one call to the kernel */

static inline struct slr_futex_word slr_futex_word_of(const void *word, uint32_t value) {
    return (struct slr_futex_word){.value = value, .address = (uint64_t)(uintptr_t)word, .flags = SLR_FUTEX_32};
}

/* Sleep until one of the words changes or until the deadline: 0, ETIMEDOUT, EINTR or another error. count is at most
 * SLR_MAX_FUTEX_WORDS. *woken is the last word that was woken, or `count` if none was. */
int slr_sleep_on(struct slr_futex_word *words, size_t count, int64_t until_ns, size_t *woken);

/* Calls of every thread before and after it sleeps on a group of words; `woken` as above, within the group. */
struct slr_sleep_hooks {
    void (*before)(void *context, size_t group);
    void (*after)(void *context, size_t group, size_t woken);
    void *context;
};

/* Sleep on any number of words in groups of `each`, at most SLR_MAX_FUTEX_WORDS - 1. The calling thread sleeps on the first
 * group. As slr_sleep_on, or SLR_NO_THREAD: a thread could not be created. hooks NULL: no calls. */
#define SLR_NO_THREAD EAGAIN /* an errno, as the others, for a caller that reports it */
int slr_sleep_in_groups(struct slr_futex_word *words, size_t count, size_t each, int64_t until_ns, const struct slr_sleep_hooks *hooks);
/* Return whether the kernel can sleep on more than one word. Linux before 5.16 cannot; that is known after the first attempt. */
bool slr_sleeps_on_many(void);

/* Slices: a sleeper wakes up by itself at the end of a slice and checks again. Each slice is twice as long as the last. So an
 * event without a wake-up is noticed after at most the time already waited, and an idle wait costs less and less. */
#define SLR_SHORTEST_SLICE_NS INT64_C(5000000)
/* For cases without a wake-up: a kernel without futex_waitv, a publisher that cannot wake readers. */
#define SLR_LONGEST_BOUNDED_SLICE_NS INT64_C(1000000000)
#define SLR_LONGEST_SLICE_NS (INT64_MAX / 4) /* practically unlimited; added to a clock, it does not overflow */

/* slice: the slice of the current wait; 0: the wait begins */
static inline int64_t slr_slice(int64_t slice, bool bounded) {
    if (slice == 0) return SLR_SHORTEST_SLICE_NS;
    return bounded && slice > SLR_LONGEST_BOUNDED_SLICE_NS ? SLR_LONGEST_BOUNDED_SLICE_NS : slice;
}

/* The slice after one that ended without a wake-up. */
static inline int64_t slr_slice_after(int64_t slice) {
    return slice < SLR_LONGEST_SLICE_NS / 2 ? slice * 2 : SLR_LONGEST_SLICE_NS;
}

#endif
