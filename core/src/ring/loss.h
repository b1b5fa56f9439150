/* SPDX-License-Identifier: Apache-2.0
 *
 * The number of messages between a sequence that is no longer readable and the oldest one that is.
 */
#ifndef SLR_RING_LOSS_H
#define SLR_RING_LOSS_H

#include "topic/segment.h"

struct slr_loss {
    uint64_t oldest;   /* where reading continues */
    uint64_t messages; /* between `from` and oldest */
    uint64_t abandoned; /* sequences below oldest */
};

#define SLR_UNKNOWN UINT64_MAX

/* Return oldest and the number of abandoned sequences below it at one moment; false: contents are damaged. */
bool slr_loss_oldest(const struct slr_segment *s, uint64_t *oldest, uint64_t *abandoned);
/* Return how many sequences of [from, oldest) were abandoned. below: abandoned sequences below oldest. False: oldest has moved. */
bool slr_loss_abandoned(const struct slr_segment *s, uint64_t from, uint64_t oldest, uint64_t below, uint64_t *count);
/* abandoned: the abandoned sequences below `from`, or SLR_UNKNOWN. False: contents are damaged, or `from` is not below oldest. */
bool slr_loss_from(const struct slr_segment *s, uint64_t from, uint64_t abandoned, struct slr_loss *out);

#endif
