/* SPDX-License-Identifier: Apache-2.0
 *
 * Sending: a body is copied into the ring and committed, at once or when there is room.
 */
#include "defects.h"
#include "points.h"
#include "publishing.h"

#define RUN 32 /* messages claimed at once, at most: what others send meanwhile stands behind them */

int slipring_publisher_check(slipring_publisher *pub, size_t size, const char *type, size_t type_size) {
    uint64_t reserved;
    struct slr_texts texts = {.type = type, .type_size = type_size};
    int code = slr_publish_begin(pub, &texts);
    return code ? code : slr_size_check(pub, size, &reserved);
}

/* Writes a claimed message and makes it readable. */
static inline void fill(slipring_publisher *pub, const struct slr_claimed *claim, const void *body, size_t size,
                        uint64_t reserved, int64_t now) {
    uint8_t *place = slr_body_place(pub->s, claim->start);
    if (!SLR_DEFECT(body_written_after_commit)) slr_copy_in(place, body, size);
    slr_meta_write(pub, slr_meta_word_count(pub), place, size);
    SLR_POINT("send.filled");
    if (SLR_DEFECT(send_does_more)) slr_defect_do_more();
    uint64_t lengths = slr_lengths(size, pub->type_size, pub->sender_size);
    slr_publish_finish(pub, claim->seq, claim->start + reserved, size, lengths, now);
    if (SLR_DEFECT(body_written_after_commit)) slr_copy_in(place, body, size);
}

/* The same for those claimed at once whose slots are in a row, with what they share in variables of our own: the compiler
 * would read it again after every shared access. */
static struct slr_claimed fill_run(slipring_publisher *pub, struct slr_claimed claim, const slipring_body *bodies, size_t run,
                                   uint64_t reserved, int64_t now) {
    const struct slr_segment s = *pub->s;
    struct slr_claimer claimer = pub->claimer;
    struct slr_writer *const self = pub->self;
    const size_t meta_words = slr_meta_word_count(pub), ahead = RUN * reserved;
    const uint64_t names = slr_lengths(0, pub->type_size, pub->sender_size), ready = slr_ready_word(&claimer, &s, claim.seq);
    uint64_t published = slr_peek(&self->published), bytes = slr_peek(&self->bytes);
    struct slr_slot *slot = slr_slot_of(&s, claim.seq);
    uint8_t *place = slr_body_place(&s, claim.start); /* mapped twice in a row: so all of them are */
    for (const slipring_body *body = bodies; body < bodies + run; body++, slot++, place += reserved) {
        slr_fetch_to_write(place + ahead); /* of the next run, if there is one */
        slr_fetch_to_write(slot + RUN);
        slr_copy_in(place, body->data, body->size);
        slr_meta_write(pub, meta_words, place, body->size);
        SLR_POINT("send.filled");
        claim.start += reserved;
        slr_commit_slot(&claimer, &s, slot, ready, claim.seq++, claim.start, names | body->size, now);
        slr_poke(&self->published, ++published);
        slr_poke(&self->bytes, bytes += body->size);
    }
    pub->claimer = claimer;
    return claim; /* what follows them */
}

static inline int send_one(slipring_publisher *pub, const void *body, size_t size, uint64_t reserved, int64_t now,
                           uint64_t *seq) {
    struct slr_claimed claim;
    if (!slr_claim_quickly(&pub->claimer, reserved, 1, &claim)) {
        int code = slr_publish_claim(pub, reserved, false, &claim);
        if (code) return code;
    }
    SLR_POINT("send.claimed");
    slr_fetch_ahead(pub, &claim, 64);
    slr_will_wake_readers(pub);
    fill(pub, &claim, body, size, reserved, now);
    *seq = claim.seq;
    return SLIPRING_OK;
}

static inline bool takes_as_much(const slipring_publisher *pub, size_t size, uint64_t reserved) {
    return size <= UINT32_MAX && slr_reserved(size, slr_meta_size(pub)) == reserved;
}

/* How many of these take as much room as the first, RUN at most. */
static inline size_t run_of(const slipring_publisher *pub, const slipring_body *bodies, size_t count, uint64_t reserved) {
    size_t run = 1, size = bodies[0].size;
    if (count > RUN) count = RUN;
    while (run < count && (bodies[run].size == size || takes_as_much(pub, bodies[run].size, reserved))) run++;
    return run;
}

/* As many as can be claimed at once: how many, 0 if only one by one. */
static inline size_t send_run(slipring_publisher *pub, const slipring_body *bodies, size_t count, uint64_t reserved,
                              int64_t now, uint64_t *last_seq) {
    struct slr_claimed claim;
    size_t run = run_of(pub, bodies, count, reserved);
    while (run > 1 && (run * reserved > pub->s->capacity || !slr_claim_quickly(&pub->claimer, reserved, run, &claim))) run /= 2;
    if (run == 1) return 0;
    SLR_POINT("send_many.claimed");
    slr_will_wake_readers(pub);
    for (size_t done = 0, part; done < run; done += part) {
        part = (size_t)slr_until_wrap(pub->s, claim.seq, run - done);
        claim = fill_run(pub, claim, bodies + done, part, reserved, now);
    }
    *last_seq = claim.seq - 1;
    return run;
}

/* time_ns 0: now */
static inline int try_send(slipring_publisher *pub, const void *body, size_t size, const struct slr_texts *texts,
                           int64_t time_ns, uint64_t *seq) {
    uint64_t reserved = 0;
    /* A reader that waits for it has the line of our slot. It comes while we make ready. */
    slr_fetch_to_write(slr_slot_of(pub->s, slr_peek(&pub->s->ring->tail)));
    int64_t now = slr_ticker_now_ns(&pub->ticker);
    int code = slr_publish_begin(pub, texts);
    if (!code) code = slr_size_check(pub, size, &reserved);
    if (!code) code = slr_publisher_check_file(pub, now);
    if (!code && SLR_DEFECT(readers_woken_before_message)) slr_will_wake_readers(pub), slr_wake_readers(pub);
    if (!code) code = send_one(pub, body, size, reserved, time_ns ? time_ns : now, seq);
    if (!code && !SLR_DEFECT(readers_woken_before_message)) slr_wake_readers(pub);
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
    slr_copy_in(slr_body_place(pub->s, claim.start), body, size);
    slr_meta_write(pub, slr_meta_word_count(pub), slr_body_place(pub->s, claim.start), size);
    SLR_POINT("send_noted.before_note");
    code = note(context, claim.seq);
    SLR_POINT("send_noted.after_note");
    slr_will_wake_readers(pub);
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
    uint64_t reserved = 0, ignored;
    int64_t now = slr_ticker_now_ns(&pub->ticker);
    struct slr_texts texts = {.type = type, .type_size = type_size};
    int code = slr_publish_begin(pub, &texts);
    if (!code) code = slr_publisher_check_file(pub, now);
    size_t done = 0;
    if (!last_seq) last_seq = &ignored;
    while (!code && done < count) {
        const slipring_body *next = bodies + done;
        code = slr_size_check(pub, next->size, &reserved);
        if (code) break;
        size_t run = send_run(pub, next, count - done, reserved, now, last_seq);
        if (!run) {
            code = send_one(pub, next->data, next->size, reserved, now, last_seq);
            run = !code;
        }
        done += run;
    }
    *sent = done;
    if (done) slr_wake_readers(pub);
    return code;
}
