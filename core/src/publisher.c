/* SPDX-License-Identifier: Apache-2.0
 *
 * A publisher: a writer entry in the ring, held by a lock for life, and the verbs claim, commit and abort on it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "claim.h"
#include "clock.h"
#include "copy.h"
#include "fault.h"
#include "peers.h"
#include "points.h"
#include "publisher.h"
#include "ticker.h"
#include "wait.h"

#define FILE_CHECK_NS INT64_C(500000000) /* how often a busy publisher asks whether its file still has a name */
#define SHORTEST_SLICE_NS INT64_C(500000)
#define AHEAD 8 /* messages */
#define LONGEST_SLICE_NS INT64_C(10000000) /* how late a waiting publisher notices a reader's death */

struct slipring_publisher {
    struct slr_claimer claimer;
    struct slr_segment *s;
    struct slr_writer *self;
    uint64_t since_seq;
    uint64_t refused_size; /* of the last claim that found no room */
    struct slr_ticker ticker;
    int64_t next_file_check_ns, slice_ns;
    _Atomic uint64_t interrupted;
    /* The block stored behind a body: type, then sender. Rebuilt when one of them changes. */
    uint8_t type_size, sender_size;
    uint8_t meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER];
    uint8_t own_sender_size;
    uint8_t own_sender[SLIPRING_MAX_SENDER];
    bool meta_is_own; /* its sender is our own */
};

static void own_entry(struct slr_segment *s, uint32_t entry, const char *sender, size_t sender_size) {
    struct slr_writer *w = &s->writer[entry];
    size_t shown = sender_size < sizeof w->name ? sender_size : sizeof w->name;
    memset(w->name, 0, sizeof w->name);
    memcpy(w->name, sender, shown);
    w->name_size = (uint32_t)shown;
    slr_poke(&w->pid, (uint32_t)getpid());
    slr_poke(&w->published_before, slr_peek(&w->published));
    slr_poke(&w->bytes_before, slr_peek(&w->bytes));
    slr_publish(&w->state, slr_kind_next(slr_observe(&w->state), SLR_KIND_WRITER));
}

/* Free entries first: the dead's cost a sweep. */
static bool lock_entry(struct slr_segment *s, uint32_t *out) {
    for (int dead = 0; dead <= 1; dead++)
        for (uint32_t e = 0; e < s->writer_count; e++) {
            if (slr_kind_is(slr_observe(&s->writer[e].state), SLR_KIND_FREE) == dead) continue;
            if (!slr_lock_try(s->ring_fd, slr_segment_writer_offset(e))) continue;
            *out = e;
            return true;
        }
    return false;
}

static int attach(slipring_publisher *pub, const char *topic, const char *sender) {
    struct slr_segment *s = pub->s;
    uint32_t entry;
    slr_sweep_writers(s);
    slr_sweep_readers(s);
    slr_sweep_cursors(s);
    if (!lock_entry(s, &entry)) {
        if (s->writers == SLR_ONE)
            return slr_fault(SLIPRING_BUSY, "writers", "topic '%s' has writers=\"one\" and a live publisher", topic);
        return slr_fault(SLIPRING_TOO_MANY_WRITERS, "max_writers", "topic '%s' has its max_writers=%u live publishers",
                         topic, s->writer_count);
    }
    SLR_POINT("attach.locked");
    slr_claimer_start(&pub->claimer, s, entry);
    own_entry(s, entry, sender, pub->own_sender_size);
    SLR_POINT("attach.owned");
    pub->self = &s->writer[entry];
    pub->since_seq = slr_observe(&s->ring->tail);
    return SLIPRING_OK;
}

static int check_sender(size_t sender_size) {
    if (sender_size <= SLIPRING_MAX_SENDER) return SLIPRING_OK;
    return slr_fault(SLIPRING_BAD_ARGUMENT, "sender", "sender has %zu bytes, at most %d", sender_size, SLIPRING_MAX_SENDER);
}

int slipring_publisher_open(const char *bus, const char *topic, const char *sender, size_t sender_size,
                            const slipring_settings *settings, slipring_publisher **out) {
    int code = check_sender(sender_size);
    if (code) return code;
    slipring_publisher *pub = calloc(1, sizeof *pub);
    if (!pub) return slr_fault_errno("cannot open a publisher");
    code = slr_segment_open_or_create(bus, topic, settings, &pub->s);
    if (code) {
        free(pub);
        return code;
    }
    pub->sender_size = pub->own_sender_size = (uint8_t)sender_size;
    memcpy(pub->own_sender, sender, sender_size);
    memcpy(pub->meta, sender, sender_size);
    pub->meta_is_own = true;
    pub->slice_ns = SHORTEST_SLICE_NS;
    code = attach(pub, topic, sender);
    if (code) {
        slr_segment_close(pub->s);
        free(pub);
        return code;
    }
    *out = pub;
    return SLIPRING_OK;
}

static void wake_readers(slipring_publisher *pub) {
    /* Between publishing a message and looking for sleepers; partner: the sleeper announces itself, then looks for a
     * message. Without it both may miss the other and the wake-up is lost. */
    slr_fence_full();
    SLR_POINT("send.before_wake");
    slr_wake_sleepers(&pub->s->readers->wake);
}

void slipring_publisher_close(slipring_publisher *pub) {
    struct slr_segment *s = pub->s;
    if (s->fork_generation == slr_fork_generation()) {
        slr_abandon_claims(s, pub->claimer.entry);
        SLR_POINT("detach.abandoned");
        wake_readers(pub); /* what stood behind an aborted claim is readable now */
        slr_publish(&pub->self->state, slr_kind_next(slr_observe(&pub->self->state), SLR_KIND_FREE));
        SLR_POINT("detach.freed");
    }
    slr_segment_close(s); /* releases the lock */
    free(pub);
}

struct texts {
    const char *type, *sender; /* sender NULL: our own */
    size_t type_size, sender_size;
};

static void use_texts(slipring_publisher *pub, const struct texts *t) {
    bool own = !t->sender;
    if (own && pub->meta_is_own && t->type_size == pub->type_size &&
        (t->type_size == 0 || memcmp(pub->meta, t->type, t->type_size) == 0))
        return;
    size_t sender_size = own ? pub->own_sender_size : t->sender_size;
    memcpy(pub->meta, t->type, t->type_size);
    memcpy(pub->meta + t->type_size, own ? (const char *)pub->own_sender : t->sender, sender_size);
    pub->type_size = (uint8_t)t->type_size;
    pub->sender_size = (uint8_t)sender_size;
    pub->meta_is_own = own;
}

static size_t meta_size(const slipring_publisher *pub) { return (size_t)pub->type_size + pub->sender_size; }

static int check_type(size_t type_size) {
    if (type_size <= SLIPRING_MAX_TYPE) return SLIPRING_OK;
    return slr_fault(SLIPRING_BAD_ARGUMENT, "type", "type has %zu bytes, at most %d", type_size, SLIPRING_MAX_TYPE);
}

struct slr_segment *slr_publisher_segment(slipring_publisher *pub) { return pub->s; }

int slr_publisher_usable(slipring_publisher *pub) {
    if (slr_peek(&pub->interrupted)) return slr_fault(SLIPRING_CLOSED, "", "the publisher is closed");
    return slr_segment_check(pub->s);
}

static int begin(slipring_publisher *pub, const struct texts *texts) {
    int code = slr_publisher_usable(pub);
    if (!code) code = check_type(texts->type_size);
    if (!code) use_texts(pub, texts);
    return code;
}

static int check_size(const slipring_publisher *pub, size_t size, uint64_t *reserved) {
    *reserved = slr_reserved(size, meta_size(pub));
    if (size <= UINT32_MAX && *reserved <= pub->s->capacity) return SLIPRING_OK;
    return slr_fault(SLIPRING_TOO_LARGE, "capacity",
                     "a body of %zu bytes needs %llu, more than the topic's capacity of %llu: create it with a larger "
                     "capacity=",
                     size, (unsigned long long)*reserved, (unsigned long long)pub->s->capacity);
}

int slipring_publisher_check(slipring_publisher *pub, size_t size, const char *type, size_t type_size) {
    uint64_t reserved;
    struct texts texts = {.type = type, .type_size = type_size};
    int code = begin(pub, &texts);
    return code ? code : check_size(pub, size, &reserved);
}

static uint8_t *place(const slipring_publisher *pub, uint64_t start) {
    return pub->s->payload + (start & pub->s->payload_mask & ~UINT64_C(7)); /* aligned, whatever we were told */
}

static int try_claim(slipring_publisher *pub, uint64_t reserved, bool visible, struct slr_claimed *out) {
    int code = slr_claim(&pub->claimer, reserved, visible, out);
    if (code == SLIPRING_FULL) pub->refused_size = reserved;
    return code;
}

static void write_meta(const slipring_publisher *pub, uint64_t start, size_t size) {
    if (meta_size(pub)) slr_copy_in(place(pub, start) + slr_round8(size), pub->meta, meta_size(pub));
}

static inline void finish(slipring_publisher *pub, uint64_t seq, uint64_t end, size_t size, uint64_t lengths, int64_t now) {
    slr_commit(&pub->claimer, seq, end, lengths, now);
    slr_count(&pub->self->published, 1);
    slr_count(&pub->self->bytes, size);
}

/* Now and then; the time is at hand anyway. */
static int check_file(slipring_publisher *pub, int64_t now) {
    if (now < pub->next_file_check_ns && pub->next_file_check_ns - now <= FILE_CHECK_NS) return SLIPRING_OK;
    pub->next_file_check_ns = now + FILE_CHECK_NS;
    return slr_segment_check_file(pub->s);
}

static inline int send_one(slipring_publisher *pub, const void *body, size_t size, uint64_t reserved, int64_t now,
                    uint64_t *seq) {
    struct slr_claimed claim;
    if (!slr_claim_quickly(&pub->claimer, reserved, &claim)) {
        int code = try_claim(pub, reserved, false, &claim);
        if (code) return code;
    }
    SLR_POINT("send.claimed");
    /* What comes next is still with the readers; it takes as long to get as a message takes to write. */
    slr_fetch_to_write(slr_slot_of(pub->s, claim.seq + AHEAD));
    slr_fetch_to_write(place(pub, claim.start + AHEAD * 64));
    slr_copy_in(place(pub, claim.start), body, size);
    write_meta(pub, claim.start, size);
    SLR_POINT("send.filled");
    finish(pub, claim.seq, claim.start + reserved, size, slr_lengths(size, pub->type_size, pub->sender_size), now);
    *seq = claim.seq;
    return SLIPRING_OK;
}

/* time_ns 0: now */
static int try_send(slipring_publisher *pub, const void *body, size_t size, const struct texts *texts, int64_t time_ns,
                    uint64_t *seq) {
    uint64_t reserved = 0;
    int64_t now = slr_ticker_now_ns(&pub->ticker);
    int code = begin(pub, texts);
    if (!code) code = check_size(pub, size, &reserved);
    if (!code) code = check_file(pub, now);
    if (!code) code = send_one(pub, body, size, reserved, time_ns ? time_ns : now, seq);
    if (!code) wake_readers(pub);
    return code;
}

static int send_until(slipring_publisher *pub, const void *body, size_t size, const struct texts *texts, int64_t time_ns,
                      int64_t deadline_ns, uint64_t *seq) {
    for (;;) {
        int code = try_send(pub, body, size, texts, time_ns, seq);
        if (code != SLIPRING_FULL || deadline_ns == SLIPRING_NOW) return code;
        code = slipring_publisher_wait_space(pub, deadline_ns);
        if (code == SLIPRING_TIMEOUT) return try_send(pub, body, size, texts, time_ns, seq);
        if (code) return code;
    }
}

int slipring_publisher_send(slipring_publisher *pub, const void *body, size_t size, const char *type, size_t type_size,
                            int64_t deadline_ns, uint64_t *seq) {
    uint64_t ignored;
    struct texts texts = {.type = type, .type_size = type_size};
    return send_until(pub, body, size, &texts, 0, deadline_ns, seq ? seq : &ignored);
}

int slipring_publisher_send_as(slipring_publisher *pub, const void *body, size_t size, const char *type, size_t type_size,
                               const char *sender, size_t sender_size, int64_t time_ns, int64_t deadline_ns, uint64_t *seq) {
    uint64_t ignored;
    struct texts texts = {.type = type, .type_size = type_size, .sender = sender, .sender_size = sender_size};
    int code = check_sender(sender_size);
    return code ? code : send_until(pub, body, size, &texts, time_ns, deadline_ns, seq ? seq : &ignored);
}

int slipring_publisher_send_noted(slipring_publisher *pub, const void *body, size_t size, const char *type,
                                  size_t type_size, const char *sender, size_t sender_size, int64_t time_ns,
                                  slipring_note note, void *context, uint64_t *seq) {
    struct texts texts = {.type = type, .type_size = type_size, .sender = sender, .sender_size = sender_size};
    struct slr_claimed claim;
    uint64_t reserved = 0;
    int64_t now = slr_ticker_now_ns(&pub->ticker);
    int code = check_sender(sender_size);
    if (!code) code = begin(pub, &texts);
    if (!code) code = check_size(pub, size, &reserved);
    if (!code) code = check_file(pub, now);
    if (!code) code = try_claim(pub, reserved, true, &claim); /* visible: it may be aborted */
    if (code) return code;
    slr_copy_in(place(pub, claim.start), body, size);
    write_meta(pub, claim.start, size);
    SLR_POINT("send_noted.before_note");
    code = note(context, claim.seq);
    SLR_POINT("send_noted.after_note");
    if (code)
        slr_abort(&pub->claimer, claim.seq);
    else
        finish(pub, claim.seq, claim.start + reserved, size, slr_lengths(size, pub->type_size, pub->sender_size),
               time_ns ? time_ns : now);
    wake_readers(pub);
    *seq = claim.seq;
    return code;
}

int slipring_publisher_try_send_many(slipring_publisher *pub, const slipring_body *bodies, size_t count,
                                     const char *type, size_t type_size, size_t *sent, uint64_t *last_seq) {
    uint64_t reserved = 0;
    int64_t now = slr_ticker_now_ns(&pub->ticker);
    struct texts texts = {.type = type, .type_size = type_size};
    int code = begin(pub, &texts);
    if (!code) code = check_file(pub, now);
    size_t done = 0;
    for (; !code && done < count; done++) {
        code = check_size(pub, bodies[done].size, &reserved);
        if (!code) code = send_one(pub, bodies[done].data, bodies[done].size, reserved, now, last_seq);
        if (code) break;
    }
    *sent = done;
    if (done) wake_readers(pub);
    return code;
}

static int try_loan(slipring_publisher *pub, size_t size, const char *type, size_t type_size, slipring_claim *out) {
    struct slr_claimed claim;
    uint64_t reserved = 0;
    struct texts texts = {.type = type, .type_size = type_size};
    int code = begin(pub, &texts);
    if (!code) code = check_size(pub, size, &reserved);
    if (!code) code = check_file(pub, slr_ticker_now_ns(&pub->ticker));
    if (!code) code = try_claim(pub, reserved, true, &claim);
    if (code) return code;
    /* The lengths go into the slot now: the type in use may have changed by the time of the commit. */
    slr_poke(&slr_slot_of(pub->s, claim.seq)->lengths, slr_lengths(size, pub->type_size, pub->sender_size));
    write_meta(pub, claim.start, size);
    *out = (slipring_claim){
        .seq = claim.seq, .body = place(pub, claim.start), .size = size, .reserved_start = claim.start};
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
    finish(pub, claim->seq, end, claim->size, lengths, slr_ticker_now_ns(&pub->ticker));
    wake_readers(pub);
    return SLIPRING_OK;
}

int slipring_publisher_abort(slipring_publisher *pub, const slipring_claim *claim) {
    int code = slr_segment_check(pub->s);
    if (code) return code;
    slr_abort(&pub->claimer, claim->seq);
    wake_readers(pub);
    return SLIPRING_OK;
}

/* Whether the refused claim would succeed now. */
static bool room_appeared(slipring_publisher *pub) {
    const struct slr_segment *s = pub->s;
    uint64_t tail = slr_observe(&s->ring->tail);
    struct slr_need need = {.seq = tail, .start = slr_start_of(s, tail), .size = pub->refused_size};
    return slr_reclaim(s, pub->claimer.entry, &need) != SLIPRING_FULL;
}

static int sleep_for_space(slipring_publisher *pub, int64_t until) {
    _Atomic uint32_t *space = &pub->s->readers->space;
    uint32_t value = slr_sleep_announce(space);
    if (slr_peek(&pub->interrupted)) return slr_fault(SLIPRING_CLOSED, "", "the publisher was closed");
    if (room_appeared(pub)) return SLIPRING_OK;
    return slr_sleep(space, value, until) == EINTR ? SLIPRING_INTERRUPTED : SLIPRING_OK;
}

/* A stride: taking room message by message as a reader makes it would pass its line to and fro for each. */
static bool worth_going_on(const slipring_publisher *pub) {
    const struct slr_segment *s = pub->s;
    uint64_t bytes = s->capacity / 16;
    return slr_readers_passed(s, s->slot_count / 16, bytes > pub->refused_size ? bytes : pub->refused_size);
}

/* Spins until a stride is free, then takes whatever there is, else sleeps. Readers wake us when they have made room
 * worth waking for. Their deaths, and the odd wake-up they skip to stay fast, are covered by sleeping in slices. */
int slipring_publisher_wait_space(slipring_publisher *pub, int64_t deadline_ns) {
    int64_t begun = slr_clock_monotonic_ns();
    do
        for (int i = 0; i < 64; i++) slr_pause();
    while (!worth_going_on(pub) && slr_clock_monotonic_ns() - begun < SLR_SPIN_NS);
    if (room_appeared(pub)) {
        pub->slice_ns = SHORTEST_SLICE_NS;
        return SLIPRING_OK;
    }
    int64_t until = slr_clock_monotonic_ns() + pub->slice_ns;
    if (begun >= deadline_ns) return SLIPRING_TIMEOUT;
    if (pub->slice_ns < LONGEST_SLICE_NS) pub->slice_ns *= 2;
    int code = slr_segment_check_file(pub->s);
    if (code) return code;
    return sleep_for_space(pub, until < deadline_ns ? until : deadline_ns);
}

int slipring_publisher_subscribers(slipring_publisher *pub) {
    const struct slr_segment *s = pub->s;
    int code = slr_segment_check_file(s);
    if (code) return code;
    int live = 0;
    for (uint32_t e = 0; e < s->reader_count; e++)
        if (!slr_kind_is(slr_observe(&s->reader[e].state), SLR_KIND_FREE) && !slr_reader_dead(s, e)) live++;
    return live;
}

bool slipring_publisher_reliable(const slipring_publisher *pub) { return pub->s->delivery == SLR_RELIABLE; }

void slipring_publisher_interrupt(slipring_publisher *pub) {
    slr_agree_store(&pub->interrupted, 1);
    if (pub->s->fork_generation == slr_fork_generation()) slr_wake_all(&pub->s->readers->space);
}

uint32_t slipring_publisher_entry(const slipring_publisher *pub, uint64_t *since_seq) {
    *since_seq = pub->since_seq;
    return pub->claimer.entry;
}
