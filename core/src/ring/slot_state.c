/* SPDX-License-Identifier: Apache-2.0
 *
 * A slot that stays CLAIMED holds readers up, to keep the order, unless its owner is dead: then it is passed over. Only
 * writers may mark it GONE; readers map the ring read-only.
 */
#include "ring/slot_state.h"

#include "base/defects.h"
#include "topic/peers.h"

#define CLAIM_SPINS 32 /* a live writer's claim is over by then, mostly */

enum slr_slot_state slr_slot_read_claim(const struct slr_segment *s, uint64_t seq, uint64_t word) {
    for (int i = 0; i < CLAIM_SPINS; i++) {
        if (slr_load_relaxed(&slr_slot_of(s, seq)->word) != word) return slr_slot_read_word(s, seq, &word);
        slr_pause();
    }
    /* Not yet counted in tail: nothing can stand behind it, so there is no need to pass it. */
    if (!slr_counted(s, seq)) return SLR_NOTHING;
    if (!SLR_DEFECT(live_claim_passed_over) && !slr_writer_dead(s, slr_word_writer(word))) return SLR_OPEN_CLAIM;
    /* Dead now; had it committed before, the word would say so. */
    uint64_t again;
    enum slr_slot_state state = slr_slot_read_word(s, seq, &again);
    return state == SLR_OPEN_CLAIM ? SLR_ABANDONED : state;
}
