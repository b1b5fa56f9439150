/* SPDX-License-Identifier: Apache-2.0
 *
 * How many messages lie between a lost position and `oldest`. Not every sequence was a message: some were abandoned. Reclaimers
 * record them in two arrays of `slots` entries (reclaim.c). When oldest becomes b,
 *
 *   passed[b % slots] is b + n: n sequences below b were abandoned. b is added so that a value never repeats in its field;
 *   abandoned[j % slots] is the j-th abandoned sequence, for j < n.
 *
 * A reader counts the abandoned sequences below its position. The difference to n is the number of those that it skipped now. A
 * reader that started behind an open claim does not know its count. It reads the latest entries abandoned[n-1], abandoned[n-2] …
 * down to its position; from then on it knows the count.
 */
#include "ring/loss.h"

#include "base/defects.h"

#define ATTEMPTS 1000 /* each fails only if a stride was reclaimed in the meantime */

bool slr_loss_oldest(const struct slr_segment *s, uint64_t *oldest, uint64_t *abandoned) {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        *oldest = slr_load_acquire(&s->ring->oldest);
        *abandoned = slr_load_acquire(&s->passed[*oldest & s->slot_mask]) - *oldest;
        if (slr_load_acquire(&s->ring->oldest) == *oldest) return true;
    }
    return false;
}

/* If more sequences than slots were abandoned, the rest counts as messages. */
bool slr_loss_abandoned(const struct slr_segment *s, uint64_t from, uint64_t oldest, uint64_t below, uint64_t *count) {
    for (*count = 0; *count < below && *count < s->slot_count; ++*count) {
        uint64_t seq = slr_load_acquire(&s->abandoned[(below - 1 - *count) & s->slot_mask]);
        /* Recorded for a boundary beyond oldest, by a reclaimer that is ahead or that did not move oldest there. */
        if (seq >= oldest) return slr_load_acquire(&s->ring->oldest) == oldest;
        if (seq < from) break;
    }
    return true;
}

bool slr_loss_from(const struct slr_segment *s, uint64_t from, uint64_t abandoned, struct slr_loss *out) {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint64_t between;
        if (!slr_loss_oldest(s, &out->oldest, &out->abandoned)) return false;
        uint64_t skipped = out->oldest - from;
        if ((int64_t)skipped <= 0) return false;
        if (abandoned != SLR_UNKNOWN)
            between = out->abandoned - abandoned;
        else if (!slr_loss_abandoned(s, from, out->oldest, out->abandoned, &between))
            continue;
        out->messages = SLR_DEFECT(abandoned_count_as_lost) ? skipped : skipped - between;
        return between <= skipped;
    }
    return false;
}
