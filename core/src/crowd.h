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

/* Until one of the words changes or the time comes: 0, ETIMEDOUT, EINTR or another error. *woken: the last of the words at
 * which somebody woke us; `count` if at none, or if there are more than the kernel takes at once. */
int slr_sleep_on(struct slr_word *words, size_t count, int64_t until_ns, size_t *woken);
/* Whether the kernel can sleep on more than one, as far as we know: Linux before 5.16 cannot. */
bool slr_sleeps_on_many(void);

#endif
