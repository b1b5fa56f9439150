/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping on any number of futex words at once.
 */
#ifndef SLR_WAIT_SLEEP_H
#define SLR_WAIT_SLEEP_H

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

/* Until one of the words, SLR_MAX_FUTEX_WORDS at most, changes or the time comes: 0, ETIMEDOUT, EINTR or another error. *woken:
 * the last of the words at which somebody woke us; `count` if at none. */
int slr_sleep_on(struct slr_futex_word *words, size_t count, int64_t until_ns, size_t *woken);

/* What every thread that sleeps on a group of words does before and after; `woken` as above, within the group. */
struct slr_sleep_hooks {
    void (*before)(void *context, size_t group);
    void (*after)(void *context, size_t group, size_t woken);
    void *context;
};

/* The same on any number of words, in groups of `each`, SLR_MAX_FUTEX_WORDS - 1 at most; the calling thread sleeps on the first of
 * them. EAGAIN: a thread was needed and not to be had. hooks NULL: nothing. */
int slr_sleep_in_groups(struct slr_futex_word *words, size_t count, size_t each, int64_t until_ns, const struct slr_sleep_hooks *hooks);
/* Whether the kernel can sleep on more than one, as far as we know: Linux before 5.16 cannot. */
bool slr_sleeps_on_many(void);

/* Slices: how long a sleeper sleeps before it checks again by itself. Each slice is twice as long as the last. So a cause
 * that wakes nobody is noticed after as long again as the wait has lasted, and an idle wait costs ever less. */
#define SLR_SHORTEST_SLICE_NS INT64_C(5000000)
/* Where a death, or a publisher, may wake nobody: a kernel without futex_waitv, a publisher without futexes. */
#define SLR_LONGEST_BOUNDED_SLICE_NS INT64_C(1000000000)
#define SLR_LONGEST_SLICE_NS (INT64_MAX / 4) /* for ever; added to a clock, it does not overflow */

/* slice: of a wait under way, 0 if it begins */
static inline int64_t slr_slice(int64_t slice, bool bounded) {
    if (slice == 0) return SLR_SHORTEST_SLICE_NS;
    return bounded && slice > SLR_LONGEST_BOUNDED_SLICE_NS ? SLR_LONGEST_BOUNDED_SLICE_NS : slice;
}

/* The one after a slice that was slept to its end. */
static inline int64_t slr_slice_after(int64_t slice) {
    return slice < SLR_LONGEST_SLICE_NS / 2 ? slice * 2 : SLR_LONGEST_SLICE_NS;
}

#endif
