/* SPDX-License-Identifier: Apache-2.0
 *
 * How many messages lie between two places of which the first is no longer readable.
 */
#ifndef SLR_RING_LOSS_H
#define SLR_RING_LOSS_H

#include "topic/segment.h"

struct slr_loss {
    uint64_t oldest;   /* where reading can go on */
    uint64_t messages; /* that were between `from` and there */
    uint64_t abandoned; /* sequences below oldest */
};

#define SLR_UNKNOWN UINT64_MAX

/* oldest and the number of abandoned sequences below it, as of one moment; false: contents are damaged. */
bool slr_loss_oldest(const struct slr_segment *s, uint64_t *oldest, uint64_t *abandoned);
/* How many sequences of [from, oldest) were abandoned; below: how many below oldest were. False: oldest has moved on. */
bool slr_loss_abandoned(const struct slr_segment *s, uint64_t from, uint64_t oldest, uint64_t below, uint64_t *count);
/* abandoned: the sequences below `from` that were, as far as the caller knows. False: contents are damaged, or `from` is
 * not below oldest. */
bool slr_loss_from(const struct slr_segment *s, uint64_t from, uint64_t abandoned, struct slr_loss *out);

#endif
