/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping on any number of futex words at once.
 */
#ifndef SLR_CROWD_H
#define SLR_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slr_word { /* struct futex_waitv, which older kernel headers lack */
    uint64_t value, address;
    uint32_t flags, reserved;
};
#define SLR_WORD_32 2u /* 32 bits wide, shared between processes */

#define SLR_MOST_WORDS 128u /* in one call to the kernel */

static inline struct slr_word slr_word_of(const void *word, uint32_t value) {
    return (struct slr_word){.value = value, .address = (uint64_t)(uintptr_t)word, .flags = SLR_WORD_32};
}

/* Until one of the words, SLR_MOST_WORDS at most, changes or the time comes: 0, ETIMEDOUT, EINTR or another error. *woken:
 * the last of the words at which somebody woke us; `count` if at none. */
int slr_sleep_on(struct slr_word *words, size_t count, int64_t until_ns, size_t *woken);

/* What every thread that sleeps on a group of words does before and after; `woken` as above, within the group. */
struct slr_around {
    void (*before)(void *context, size_t group);
    void (*after)(void *context, size_t group, size_t woken);
    void *context;
};

/* The same on any number of words, in groups of `each`, SLR_MOST_WORDS - 1 at most; the calling thread sleeps on the first of
 * them. EAGAIN: a thread was needed and not to be had. around NULL: nothing. */
int slr_sleep_in_groups(struct slr_word *words, size_t count, size_t each, int64_t until_ns, const struct slr_around *around);
/* Whether the kernel can sleep on more than one, as far as we know: Linux before 5.16 cannot. */
bool slr_sleeps_on_many(void);

#endif
