/* SPDX-License-Identifier: Apache-2.0
 *
 * Sending: a body is copied into the ring and committed, at once or when there is room.
 */
#include "points.h"
#include "publishing.h"

#define AHEAD 8 /* messages */

int slipring_publisher_check(slipring_publisher *pub, size_t size, const char *type, size_t type_size) {
    uint64_t reserved;
    struct slr_texts texts = {.type = type, .type_size = type_size};
    int code = slr_publish_begin(pub, &texts);
    return code ? code : slr_size_check(pub, size, &reserved);
}

static inline int send_one(slipring_publisher *pub, const void *body, size_t size, uint64_t reserved, int64_t now,
                    uint64_t *seq) {
    struct slr_claimed claim;
    if (!slr_claim_quickly(&pub->claimer, reserved, &claim)) {
        int code = slr_publish_claim(pub, reserved, false, &claim);
        if (code) return code;
    }
    SLR_POINT("send.claimed");
    /* What comes next is still with the readers; it takes as long to get as a message takes to write. */
    slr_fetch_to_write(slr_slot_of(pub->s, claim.seq + AHEAD));
    slr_fetch_to_write(slr_body_place(pub, claim.start + AHEAD * 64));
    slr_copy_in(slr_body_place(pub, claim.start), body, size);
    slr_meta_write(pub, claim.start, size);
    SLR_POINT("send.filled");
    uint64_t lengths = slr_lengths(size, pub->type_size, pub->sender_size);
    slr_publish_finish(pub, claim.seq, claim.start + reserved, size, lengths, now);
    *seq = claim.seq;
    return SLIPRING_OK;
}

/* time_ns 0: now */
static inline int try_send(slipring_publisher *pub, const void *body, size_t size, const struct slr_texts *texts, int64_t time_ns,
                    uint64_t *seq) {
    uint64_t reserved = 0;
    int64_t now = slr_ticker_now_ns(&pub->ticker);
    int code = slr_publish_begin(pub, texts);
    if (!code) code = slr_size_check(pub, size, &reserved);
    if (!code) code = slr_publisher_check_file(pub, now);
    if (!code) code = send_one(pub, body, size, reserved, time_ns ? time_ns : now, seq);
    if (!code) slr_wake_readers(pub);
    return code;
}

/* There was no room. Apart from the usual case, which is to stay short. */
static __attribute__((noinline)) int send_later(slipring_publisher *pub, const void *body, size_t size,
                                                const struct slr_texts *texts, int64_t time_ns, int64_t deadline_ns,
                                                uint64_t *seq) {
    for (;;) {
        int code = slipring_publisher_wait_space(pub, deadline_ns);
        if (code && code != SLIPRING_TIMEOUT) return code;
        bool last = code == SLIPRING_TIMEOUT;
        code = try_send(pub, body, size, texts, time_ns, seq);
        if (code != SLIPRING_FULL || last) return code;
    }
}

static inline int send_until(slipring_publisher *pub, const void *body, size_t size, const struct slr_texts *texts,
                             int64_t time_ns, int64_t deadline_ns, uint64_t *seq) {
    int code = try_send(pub, body, size, texts, time_ns, seq);
    if (code != SLIPRING_FULL || deadline_ns == SLIPRING_NOW) return code;
    return send_later(pub, body, size, texts, time_ns, deadline_ns, seq);
}

int slipring_publisher_send(slipring_publisher *pub, const void *body, size_t size, const char *type, size_t type_size,
                            int64_t deadline_ns, uint64_t *seq) {
    uint64_t ignored;
    struct slr_texts texts = {.type = type, .type_size = type_size};
    return send_until(pub, body, size, &texts, 0, deadline_ns, seq ? seq : &ignored);
}

int slipring_publisher_send_as(slipring_publisher *pub, const void *body, size_t size, const char *type, size_t type_size,
                               const char *sender, size_t sender_size, int64_t time_ns, int64_t deadline_ns, uint64_t *seq) {
    uint64_t ignored;
    struct slr_texts texts = {.type = type, .type_size = type_size, .sender = sender, .sender_size = sender_size};
    int code = slr_sender_check(sender_size);
    return code ? code : send_until(pub, body, size, &texts, time_ns, deadline_ns, seq ? seq : &ignored);
}

int slipring_publisher_send_noted(slipring_publisher *pub, const void *body, size_t size, const char *type,
                                  size_t type_size, const char *sender, size_t sender_size, int64_t time_ns,
                                  slipring_note note, void *context, uint64_t *seq) {
    struct slr_texts texts = {.type = type, .type_size = type_size, .sender = sender, .sender_size = sender_size};
    struct slr_claimed claim;
    uint64_t reserved = 0;
    int64_t now = slr_ticker_now_ns(&pub->ticker);
    int code = slr_sender_check(sender_size);
    if (!code) code = slr_publish_begin(pub, &texts);
    if (!code) code = slr_size_check(pub, size, &reserved);
    if (!code) code = slr_publisher_check_file(pub, now);
    if (!code) code = slr_publish_claim(pub, reserved, true, &claim); /* visible: it may be aborted */
    if (code) return code;
    slr_copy_in(slr_body_place(pub, claim.start), body, size);
    slr_meta_write(pub, claim.start, size);
    SLR_POINT("send_noted.before_note");
    code = note(context, claim.seq);
    SLR_POINT("send_noted.after_note");
    if (code)
        slr_abort(&pub->claimer, claim.seq);
    else
        slr_publish_finish(pub, claim.seq, claim.start + reserved, size, slr_lengths(size, pub->type_size, pub->sender_size),
               time_ns ? time_ns : now);
    slr_wake_readers(pub);
    *seq = claim.seq;
    return code;
}

int slipring_publisher_try_send_many(slipring_publisher *pub, const slipring_body *bodies, size_t count,
                                     const char *type, size_t type_size, size_t *sent, uint64_t *last_seq) {
    uint64_t reserved = 0;
    int64_t now = slr_ticker_now_ns(&pub->ticker);
    struct slr_texts texts = {.type = type, .type_size = type_size};
    int code = slr_publish_begin(pub, &texts);
    if (!code) code = slr_publisher_check_file(pub, now);
    size_t done = 0;
    for (; !code && done < count; done++) {
        code = slr_size_check(pub, bodies[done].size, &reserved);
        if (!code) code = send_one(pub, bodies[done].data, bodies[done].size, reserved, now, last_seq);
        if (code) break;
    }
    *sent = done;
    if (done) slr_wake_readers(pub);
    return code;
}
