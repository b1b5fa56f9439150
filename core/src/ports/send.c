/* SPDX-License-Identifier: Apache-2.0
 *
 * Sending: the way of a message from the caller's memory into the ring. Every send takes these steps in this order:
 *
 *   admit    the publisher can be used, type, sender and size are allowed, the topic's file still exists
 *   claim    the next sequence and its memory (ring/claim.h); if the ring is full, wait for room (publisher.c) and try again
 *   write    the body, then type and sender behind it (base/copy.h)
 *   commit   the slot becomes READY, the message is readable (ring/claim.h)
 *   wake     sleeping readers (wait/futex.h); if this process dies before, the kernel wakes them (wait/death_wake.h)
 *
 * slipring_publisher_send takes one message this way, try_send_many runs of messages of one size. A loan is a send in two
 * calls, claim and commit: between them the caller writes the body in place. send_precommit calls the caller back between
 * write and commit.
 */
#include <string.h>

#include "base/copy.h"
#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"
#include "ports/publisher.h"

#define RUN 32         /* most messages claimed at once: messages of other publishers wait behind them */
#define AHEAD 8        /* messages: how far ahead of the claim memory is prefetched */
#define FILE_CHECK_NS INT64_C(500000000) /* how often a busy publisher checks that its file still has a name */

/* Admit ----------------------------------------------------------------------------------------------------- */

struct message_meta {
    const char *type, *sender; /* sender NULL: the publisher's own */
    size_t type_size, sender_size;
};

/* The publisher is usable, and type and sender are those that the next message carries. */
static inline int admit(slipring_publisher *pub, const struct message_meta *m) {
    int code = slr_publisher_usable(pub);
    if (code) return code;
    if (m->type_size > SLIPRING_MAX_TYPE)
        return slr_error(SLIPRING_BAD_ARGUMENT, "type", "type has %zu bytes; at most %d are allowed", m->type_size, SLIPRING_MAX_TYPE);
    bool own = !m->sender;
    if (own && pub->meta_is_own && m->type_size == pub->type_size &&
        (m->type_size == 0 || memcmp(pub->meta, m->type, m->type_size) == 0))
        return SLIPRING_OK;
    size_t sender_size = own ? pub->own_sender_size : m->sender_size;
    memcpy(pub->meta, m->type, m->type_size);
    memcpy(pub->meta + m->type_size, own ? (const char *)pub->own_sender : m->sender, sender_size);
    memset(pub->meta + m->type_size + sender_size, 0, 8);
    pub->type_size = (uint8_t)m->type_size;
    pub->sender_size = (uint8_t)sender_size;
    pub->meta_is_own = own;
    return SLIPRING_OK;
}

static inline size_t meta_size(const slipring_publisher *pub) { return (size_t)pub->type_size + pub->sender_size; }

static inline int check_size(const slipring_publisher *pub, size_t size, uint64_t *reserved) {
    *reserved = slr_message_bytes(size, meta_size(pub));
    if (size <= UINT32_MAX && *reserved <= pub->s->capacity + (SLR_DEFECT(one_word_too_large_accepted) ? 8u : 0u))
        return SLIPRING_OK;
    if (size > UINT32_MAX)
        return slr_error(SLIPRING_TOO_LARGE, "body",
                         "a body of %zu bytes is too large: a message has at most %u bytes at any capacity; send it in "
                         "parts, or use frames",
                         size, UINT32_MAX);
    return slr_error(SLIPRING_TOO_LARGE, "capacity",
                     "a body of %zu bytes needs %llu bytes, but the topic has capacity=%llu: create it with a larger "
                     "capacity=",
                     size, (unsigned long long)*reserved, (unsigned long long)pub->s->capacity);
}

/* At most every FILE_CHECK_NS; the time was read for the message anyway. */
static inline int check_file(slipring_publisher *pub, int64_t now) {
    if (now < pub->next_file_check_ns && pub->next_file_check_ns - now <= FILE_CHECK_NS) return SLIPRING_OK;
    int code = slr_segment_check_file(pub->s);
    /* On failure the next send checks again and fails, too. */
    if (!code || SLR_DEFECT(refused_publisher_may_send)) pub->next_file_check_ns = now + FILE_CHECK_NS;
    return code;
}

/* Claim ----------------------------------------------------------------------------------------------------- */

static inline int claim_space(slipring_publisher *pub, uint64_t reserved, bool visible, struct slr_claimed *out) {
    int code = slr_claim(&pub->claimer, reserved, visible, out);
    if (code == SLIPRING_FULL) pub->refused_size = reserved;
    return code;
}

static inline uint8_t *body_address(const struct slr_segment *s, uint64_t start) {
    return s->payload + (start & s->payload_mask & ~UINT64_C(7)); /* aligned, whatever the contents are */
}

/* Prefetch the memory of a later message, which is still in the caches of readers: fetching it takes as long as writing several
 * messages. step: distance of two messages. */
static inline void prefetch_ahead(const slipring_publisher *pub, const struct slr_claimed *claim, uint64_t step) {
    slr_prefetch_write(slr_slot_of(pub->s, claim->seq + AHEAD));
    slr_prefetch_write(body_address(pub->s, claim->start + AHEAD * step));
}

/* Write and commit ------------------------------------------------------------------------------------------ */

static inline size_t meta_word_count(const slipring_publisher *pub) { return slr_round8(meta_size(pub)) / 8; }

/* Write type and sender, in `words` words, behind the body at `payload`. */
static inline void write_meta(const slipring_publisher *pub, size_t words, uint8_t *payload, size_t size) {
    _Atomic uint64_t *to = (_Atomic uint64_t *)(void *)(payload + slr_round8(size));
    for (size_t i = 0; i < words; i++) slr_store_relaxed(to + i, pub->meta_words[i]);
}

static inline void commit(slipring_publisher *pub, uint64_t seq, uint64_t end, size_t size, uint64_t lengths, int64_t now) {
    const struct slr_segment *ring = pub->s;
    slr_commit(&pub->claimer, ring, slr_slot_of(ring, seq), slr_ready_word(&pub->claimer, ring, seq), seq, end, lengths, now);
    slr_count(&pub->self->published, 1);
    slr_count(&pub->self->bytes, size);
}

/* One message ----------------------------------------------------------------------------------------------- */

static inline int send_one(slipring_publisher *pub, const void *body, size_t size, uint64_t reserved, int64_t now,
                           uint64_t *seq) {
    struct slr_claimed claim;
    if (!slr_claim_quickly(&pub->claimer, reserved, 1, &claim)) {
        int code = claim_space(pub, reserved, false, &claim);
        if (code) return code;
    }
    SLR_CRASH_POINT("send.claimed");
    prefetch_ahead(pub, &claim, 64);
    slr_readers_death_wake_set(pub);
    uint8_t *payload = body_address(pub->s, claim.start);
    if (!SLR_DEFECT(body_written_after_commit)) slr_copy_in(payload, body, size);
    write_meta(pub, meta_word_count(pub), payload, size);
    SLR_CRASH_POINT("send.filled");
    if (SLR_DEFECT(send_does_more)) slr_defect_do_more();
    uint64_t lengths = slr_lengths(size, pub->type_size, pub->sender_size);
    commit(pub, claim.seq, claim.start + reserved, size, lengths, now);
    if (SLR_DEFECT(body_written_after_commit)) slr_copy_in(payload, body, size);
    *seq = claim.seq;
    return SLIPRING_OK;
}

/* time_ns 0: now */
static inline int try_send(slipring_publisher *pub, const void *body, size_t size, const struct message_meta *meta,
                           int64_t time_ns, uint64_t *seq) {
    uint64_t reserved = 0;
    /* A waiting reader has the cache line of the slot. Fetch it during the preparations. */
    slr_prefetch_write(slr_slot_of(pub->s, slr_load_relaxed(&pub->s->ring->tail)));
    int64_t now = slr_tsc_clock_now_ns(&pub->clock);
    int code = admit(pub, meta);
    if (!code) code = check_size(pub, size, &reserved);
    if (!code) code = check_file(pub, now);
    if (!code && SLR_DEFECT(readers_woken_before_message)) slr_readers_death_wake_set(pub), slr_wake_readers(pub);
    if (!code) code = send_one(pub, body, size, reserved, time_ns ? time_ns : now, seq);
    if (!code && !SLR_DEFECT(readers_woken_before_message)) slr_wake_readers(pub);
    return code;
}

/* After FULL: wait for room and try again until the deadline. Out of line, so that the usual case stays short. */
static SLR_NOINLINE int send_when_room(slipring_publisher *pub, const void *body, size_t size, const struct message_meta *meta,
                                       int64_t time_ns, int64_t deadline_ns, uint64_t *seq) {
    for (;;) {
        int code = slipring_publisher_wait_space(pub, deadline_ns);
        if (code && code != SLIPRING_TIMEOUT) return code;
        bool last = code == SLIPRING_TIMEOUT;
        code = try_send(pub, body, size, meta, time_ns, seq);
        if (code != SLIPRING_FULL || last) return code;
    }
}

static inline int send_until(slipring_publisher *pub, const void *body, size_t size, const struct message_meta *meta,
                             int64_t time_ns, int64_t deadline_ns, uint64_t *seq) {
    int code = try_send(pub, body, size, meta, time_ns, seq);
    if (code != SLIPRING_FULL || deadline_ns == SLIPRING_NOW) return code;
    return send_when_room(pub, body, size, meta, time_ns, deadline_ns, seq);
}

int slipring_publisher_send(slipring_publisher *pub, const void *body, size_t size, const char *type, size_t type_size,
                            int64_t deadline_ns, uint64_t *seq) {
    uint64_t ignored;
    struct message_meta meta = {.type = type, .type_size = type_size};
    return send_until(pub, body, size, &meta, 0, deadline_ns, seq ? seq : &ignored);
}

int slipring_publisher_send_as(slipring_publisher *pub, const void *body, size_t size, const char *type, size_t type_size,
                               const char *sender, size_t sender_size, int64_t time_ns, int64_t deadline_ns, uint64_t *seq) {
    uint64_t ignored;
    struct message_meta meta = {.type = type, .type_size = type_size, .sender = sender, .sender_size = sender_size};
    int code = slr_sender_check(sender_size);
    return code ? code : send_until(pub, body, size, &meta, time_ns, deadline_ns, seq ? seq : &ignored);
}

int slipring_publisher_send_precommit(slipring_publisher *pub, const void *body, size_t size, const char *type,
                                      size_t type_size, const char *sender, size_t sender_size, int64_t time_ns,
                                      slipring_precommit callback, void *context, uint64_t *seq) {
    struct message_meta meta = {.type = type, .type_size = type_size, .sender = sender, .sender_size = sender_size};
    struct slr_claimed claim;
    uint64_t reserved = 0;
    int64_t now = slr_tsc_clock_now_ns(&pub->clock);
    int code = slr_sender_check(sender_size);
    if (!code) code = admit(pub, &meta);
    if (!code) code = check_size(pub, size, &reserved);
    if (!code) code = check_file(pub, now);
    if (!code) code = claim_space(pub, reserved, true, &claim); /* visible, because it may be aborted */
    if (code) return code;
    slr_copy_in(body_address(pub->s, claim.start), body, size);
    write_meta(pub, meta_word_count(pub), body_address(pub->s, claim.start), size);
    SLR_CRASH_POINT("send_precommit.before_callback");
    code = callback(context, claim.seq);
    SLR_CRASH_POINT("send_precommit.after_callback");
    slr_readers_death_wake_set(pub);
    if (code)
        slr_abort(&pub->claimer, claim.seq);
    else
        commit(pub, claim.seq, claim.start + reserved, size, slr_lengths(size, pub->type_size, pub->sender_size),
               time_ns ? time_ns : now);
    slr_wake_readers(pub);
    *seq = claim.seq;
    return code;
}

int slipring_publisher_check(slipring_publisher *pub, size_t size, const char *type, size_t type_size) {
    uint64_t reserved;
    struct message_meta meta = {.type = type, .type_size = type_size};
    int code = admit(pub, &meta);
    return code ? code : check_size(pub, size, &reserved);
}

/* Many messages --------------------------------------------------------------------------------------------- */

static inline bool takes_as_much(const slipring_publisher *pub, size_t size, uint64_t reserved) {
    return size <= UINT32_MAX && slr_message_bytes(size, meta_size(pub)) == reserved;
}

/* Return how many of these need as much room as the first one, at most RUN. */
static inline size_t run_of(const slipring_publisher *pub, const slipring_body *bodies, size_t count, uint64_t reserved) {
    size_t run = 1, size = bodies[0].size;
    if (count > RUN) count = RUN;
    while (run < count && (bodies[run].size == size || takes_as_much(pub, bodies[run].size, reserved))) run++;
    return run;
}

/* Write and commit messages that were claimed at once and have consecutive slots. Their common values are local copies: the
 * compiler would otherwise read them again after every shared access. */
static struct slr_claimed write_and_commit_run(slipring_publisher *pub, struct slr_claimed claim, const slipring_body *bodies,
                                               size_t run, uint64_t reserved, int64_t now) {
    const struct slr_segment s = *pub->s;
    struct slr_claimer claimer = pub->claimer;
    struct slr_writer *const self = pub->self;
    const size_t meta_words = meta_word_count(pub), ahead = RUN * reserved;
    const uint64_t meta_lengths = slr_lengths(0, pub->type_size, pub->sender_size);
    const uint64_t ready = slr_ready_word(&claimer, &s, claim.seq);
    uint64_t published = slr_load_relaxed(&self->published), bytes = slr_load_relaxed(&self->bytes);
    struct slr_slot *slot = slr_slot_of(&s, claim.seq);
    uint8_t *payload = body_address(&s, claim.start); /* contiguous, because the payload is mapped twice in a row */
    for (const slipring_body *body = bodies; body < bodies + run; body++, slot++, payload += reserved) {
        slr_prefetch_write(payload + ahead); /* for the next run */
        slr_prefetch_write(slot + RUN);
        slr_copy_in(payload, body->data, body->size);
        write_meta(pub, meta_words, payload, body->size);
        SLR_CRASH_POINT("send.filled");
        claim.start += reserved;
        slr_commit(&claimer, &s, slot, ready, claim.seq++, claim.start, meta_lengths | body->size, now);
        slr_store_relaxed(&self->published, ++published);
        slr_store_relaxed(&self->bytes, bytes += body->size);
    }
    pub->claimer = claimer;
    return claim; /* the claim that follows the run */
}

/* Send as many messages as can be claimed at once; return their number, 0 if only single messages can be claimed. */
static inline size_t send_run(slipring_publisher *pub, const slipring_body *bodies, size_t count, uint64_t reserved,
                              int64_t now, uint64_t *last_seq) {
    struct slr_claimed claim;
    size_t run = run_of(pub, bodies, count, reserved);
    while (run > 1 && (run * reserved > pub->s->capacity || !slr_claim_quickly(&pub->claimer, reserved, run, &claim))) run /= 2;
    if (run == 1) return 0;
    SLR_CRASH_POINT("send_many.claimed");
    slr_readers_death_wake_set(pub);
    for (size_t done = 0, part; done < run; done += part) {
        part = (size_t)slr_until_wrap(pub->s, claim.seq, run - done);
        claim = write_and_commit_run(pub, claim, bodies + done, part, reserved, now);
    }
    *last_seq = claim.seq - 1;
    return run;
}

int slipring_publisher_try_send_many(slipring_publisher *pub, const slipring_body *bodies, size_t count,
                                     const char *type, size_t type_size, size_t *sent, uint64_t *last_seq) {
    uint64_t reserved = 0, ignored;
    int64_t now = slr_tsc_clock_now_ns(&pub->clock);
    struct message_meta meta = {.type = type, .type_size = type_size};
    int code = admit(pub, &meta);
    if (!code) code = check_file(pub, now);
    size_t done = 0;
    if (!last_seq) last_seq = &ignored;
    while (!code && done < count) {
        const slipring_body *next = bodies + done;
        code = check_size(pub, next->size, &reserved);
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

/* Loans ----------------------------------------------------------------------------------------------------- */

static int try_loan(slipring_publisher *pub, size_t size, const char *type, size_t type_size, slipring_claim *out) {
    struct slr_claimed claim;
    uint64_t reserved = 0;
    struct message_meta meta = {.type = type, .type_size = type_size};
    int code = admit(pub, &meta);
    if (!code) code = check_size(pub, size, &reserved);
    if (!code) code = check_file(pub, slr_tsc_clock_now_ns(&pub->clock));
    if (code) return code;
    /* With many writers every claim is visible. */
    if (pub->s->writers == SLR_ONE || !slr_claim_quickly(&pub->claimer, reserved, 1, &claim)) {
        code = claim_space(pub, reserved, true, &claim);
        if (code) return code;
    }
    prefetch_ahead(pub, &claim, reserved);
    /* Store the lengths now: the current type may be another one at the commit. */
    slr_store_relaxed(&slr_slot_of(pub->s, claim.seq)->lengths, slr_lengths(size, pub->type_size, pub->sender_size));
    write_meta(pub, meta_word_count(pub), body_address(pub->s, claim.start), size);
    *out = (slipring_claim){
        .seq = claim.seq, .body = body_address(pub->s, claim.start), .size = size, .reserved_start = claim.start};
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

/* The claim still belongs to this publisher, so the slot has the lengths that try_loan stored. */
int slipring_publisher_commit(slipring_publisher *pub, const slipring_claim *claim) {
    int code = slr_segment_check(pub->s);
    if (code) return code;
    uint64_t lengths = slr_load_relaxed(&slr_slot_of(pub->s, claim->seq)->lengths);
    uint64_t meta = slr_lengths_type(lengths) + (uint64_t)slr_lengths_sender(lengths);
    uint64_t end = claim->reserved_start + slr_message_bytes(claim->size, meta);
    slr_readers_death_wake_set(pub);
    commit(pub, claim->seq, end, claim->size, lengths, slr_tsc_clock_now_ns(&pub->clock));
    slr_wake_readers(pub);
    return SLIPRING_OK;
}

int slipring_publisher_abort(slipring_publisher *pub, const slipring_claim *claim) {
    int code = slr_segment_check(pub->s);
    if (code) return code;
    slr_readers_death_wake_set(pub);
    slr_abort(&pub->claimer, claim->seq);
    slr_wake_readers(pub);
    return SLIPRING_OK;
}
