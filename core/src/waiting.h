/* SPDX-License-Identifier: Apache-2.0
 *
 * A wait as waiting.c and sleep.c see it.
 */
#ifndef SLR_WAITING_H
#define SLR_WAITING_H

#include "crowd.h"
#include "subscriber.h"

/* Topics that one thread sleeps on so that deaths wake it: three words each, beside our bell and that of a crowd. */
#define SLR_MOST_COVERED ((SLR_MOST_WORDS - 2) / 3)

struct slr_waiting {
    slipring_subscriber *const *subs;
    size_t count;
    _Atomic uint32_t *bell;
    uint32_t seen_rings;
    size_t each;               /* topics that one thread sleeps on */
    bool covered;              /* a publisher's death wakes us */
    bool must_poll;            /* behind a claim, or no permission to announce oneself */
    _Atomic uint32_t bereaved; /* a publisher's death woke us */
};

/* sleep.c: 0, ETIMEDOUT, EINTR or another error. */
int slr_sleep_slice(struct slr_waiting *w, int64_t slice, int64_t deadline);

#endif
