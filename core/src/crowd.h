/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping on any number of futex words at once.
 */
#ifndef SLR_CROWD_H
#define SLR_CROWD_H

#include <stddef.h>
#include <stdint.h>

struct slr_word { /* struct futex_waitv, which older kernel headers lack */
    uint64_t value, address;
    uint32_t flags, reserved;
};
#define SLR_WORD_32 2u /* 32 bits wide, shared between processes */

/* Until one of the words changes or the time comes: 0, ETIMEDOUT, EINTR or another error. */
int slr_sleep_on(struct slr_word *words, size_t count, int64_t until_ns);

#endif
