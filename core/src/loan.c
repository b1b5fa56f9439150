/* SPDX-License-Identifier: Apache-2.0
 *
 * Loans: memory of the ring to be filled in place, then committed or aborted.
 */
#include "publishing.h"

static int try_loan(slipring_publisher *pub, size_t size, const char *type, size_t type_size, slipring_claim *out) {
    struct slr_claimed claim;
    uint64_t reserved = 0;
    struct slr_texts texts = {.type = type, .type_size = type_size};
    int code = slr_publish_begin(pub, &texts);
    if (!code) code = slr_size_check(pub, size, &reserved);
    if (!code) code = slr_publisher_check_file(pub, slr_ticker_now_ns(&pub->ticker));
    if (code) return code;
    /* Among many writers every claim is seen by others. */
    if (pub->s->writers == SLR_ONE || !slr_claim_quickly(&pub->claimer, reserved, 1, &claim)) {
        code = slr_publish_claim(pub, reserved, true, &claim);
        if (code) return code;
    }
    slr_fetch_ahead(pub, &claim, reserved);
    /* The lengths go into the slot now: the type in use may have changed by the time of the commit. */
    slr_poke(&slr_slot_of(pub->s, claim.seq)->lengths, slr_lengths(size, pub->type_size, pub->sender_size));
    slr_meta_write(pub, slr_meta_word_count(pub), slr_body_place(pub->s, claim.start), size);
    *out = (slipring_claim){
        .seq = claim.seq, .body = slr_body_place(pub->s, claim.start), .size = size, .reserved_start = claim.start};
    return SLIPRING_OK;
}

int slipring_publisher_claim(slipring_publisher *pub, size_t size, const char *type, size_t type_size,
                             int64_t deadline_ns, slipring_claim *out) {
    for (;;) {
        int code = try_loan(pub, size, type, type_size, out);
        if (code != SLIPRING_FULL || deadline_ns == SLIPRING_NOW) return code;
        code = slipring_publisher_wait_space(pub, deadline_ns);
        if (code == SLIPRING_TIMEOUT) return try_loan(pub, size, type, type_size, out);
        if (code) return code;
    }
}

/* The claim is ours until now: its slot's lengths are as try_loan stored them. */
int slipring_publisher_commit(slipring_publisher *pub, const slipring_claim *claim) {
    int code = slr_segment_check(pub->s);
    if (code) return code;
    uint64_t lengths = slr_peek(&slr_slot_of(pub->s, claim->seq)->lengths);
    uint64_t meta = slr_lengths_type(lengths) + (uint64_t)slr_lengths_sender(lengths);
    uint64_t end = claim->reserved_start + slr_reserved(claim->size, meta);
    slr_will_wake_readers(pub);
    slr_publish_finish(pub, claim->seq, end, claim->size, lengths, slr_ticker_now_ns(&pub->ticker));
    slr_wake_readers(pub);
    return SLIPRING_OK;
}

int slipring_publisher_abort(slipring_publisher *pub, const slipring_claim *claim) {
    int code = slr_segment_check(pub->s);
    if (code) return code;
    slr_will_wake_readers(pub);
    slr_abort(&pub->claimer, claim->seq);
    slr_wake_readers(pub);
    return SLIPRING_OK;
}
