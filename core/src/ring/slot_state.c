/* SPDX-License-Identifier: Apache-2.0
 *
 * A slot that stays CLAIMED blocks readers, to keep the order of messages, unless its owner is dead: then readers pass it.
 * Only writers may mark it GONE; readers map the ring read-only.
 */
#include "ring/slot_state.h"

#include "base/defects.h"
#include "topic/peers.h"

#define CLAIM_SPINS 32 /* usually enough for the claim of a live writer to end */

enum slr_finding slr_slot_read_claim(const struct slr_segment *s, uint64_t seq, uint64_t word) {
    for (int i = 0; i < CLAIM_SPINS; i++) {
        if (slr_load_relaxed(&slr_slot_of(s, seq)->word) != word) return slr_slot_read_word(s, seq, &word);
        slr_pause();
    }
    /* tail does not count it yet: no message is behind it, so it need not be passed. */
    if (!slr_counted(s, seq)) return SLR_NOTHING;
    if (!SLR_DEFECT(live_claim_passed_over) && !slr_writer_dead(s, slr_word_writer(word))) return SLR_OPEN_CLAIM;
    /* The owner is dead. If it committed before, the word is READY. */
    uint64_t again;
    enum slr_finding finding = slr_slot_read_word(s, seq, &again);
    return finding == SLR_OPEN_CLAIM ? SLR_ABANDONED : finding;
}
