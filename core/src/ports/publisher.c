/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing a publisher, and waiting for room. A publisher has a writer entry in the ring; it holds the lock of the
 * entry from open to close.
 */
#include "ports/publisher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/copy.h"
#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"
#include "topic/peers.h"
#include "wait/futex.h"

#define LONGEST_SLICE_NS INT64_C(10000000) /* a waiting publisher notices the death of a reader within this time */

static void own_entry(struct slr_segment *s, uint32_t entry, const char *sender, size_t sender_size) {
    struct slr_writer *w = &s->writer[entry];
    uint8_t name[sizeof w->name] = {0};
    size_t shown = sender_size < sizeof name ? sender_size : sizeof name;
    memcpy(name, sender, shown);
    slr_copy_in(w->name, name, sizeof name); /* an inspector may be reading it */
    slr_store_relaxed(&w->name_size, (uint32_t)shown);
    slr_store_relaxed(&w->pid, (uint32_t)getpid());
    slr_store_relaxed(&w->published_before, slr_load_relaxed(&w->published));
    slr_store_relaxed(&w->bytes_before, slr_load_relaxed(&w->bytes));
    slr_store_release(&w->state, slr_kind_next(slr_load_acquire(&w->state), SLR_KIND_WRITER));
}

/* Lock a free entry, or the entry of a dead process, which costs a sweep. BUSY, without an error text: there is none. */
static int lock_entry(struct slr_segment *s, uint32_t *out) {
    for (int dead = 0; dead <= 1; dead++)
        for (uint32_t e = 0; e < s->writer_count; e++) {
            if (slr_kind_is(slr_load_acquire(&s->writer[e].state), SLR_KIND_FREE) == dead) continue;
            if (slr_lock_try(s->ring_fd, slr_segment_writer_offset(e))) {
                *out = e;
                return SLIPRING_OK;
            }
            if (!slr_lock_refused()) return slr_error_errno("cannot lock an entry of the writer table");
        }
    return SLIPRING_BUSY;
}

static int attach(slipring_publisher *pub, const char *topic, const char *sender) {
    struct slr_segment *s = pub->s;
    uint32_t entry = 0;
    slr_sweep_writers(s);
    slr_sweep_readers(s);
    slr_sweep_cursors(s);
    int code = lock_entry(s, &entry);
    if (code == SLIPRING_BUSY && s->writers == SLR_ONE && SLR_DEFECT(second_exclusive_publisher_let_in)) code = SLIPRING_OK;
    if (code == SLIPRING_BUSY) {
        if (s->writers == SLR_ONE)
            return slr_error(SLIPRING_BUSY, "writers", "topic '%s' has writers=\"one\" and already has a live publisher", topic);
        return slr_error(SLIPRING_TOO_MANY_WRITERS, "max_writers", "topic '%s' already has max_writers=%u live publishers",
                         topic, s->writer_count);
    }
    if (code) return code;
    SLR_CRASH_POINT("attach.locked");
    slr_claimer_start(&pub->claimer, s, entry);
    own_entry(s, entry, sender, pub->own_sender_size);
    SLR_CRASH_POINT("attach.owned");
    pub->self = &s->writer[entry];
    pub->since_seq = slr_load_acquire(&s->ring->tail);
    return SLIPRING_OK;
}

int slr_sender_check(size_t sender_size) {
    if (sender_size <= SLIPRING_MAX_SENDER) return SLIPRING_OK;
    return slr_error(SLIPRING_BAD_ARGUMENT, "sender", "sender has %zu bytes; at most %d are allowed", sender_size, SLIPRING_MAX_SENDER);
}

int slipring_publisher_open(const char *bus, const char *topic, const char *sender, size_t sender_size,
                            const slipring_settings *settings, slipring_publisher **out) {
    int code = slr_sender_check(sender_size);
    if (code) return code;
    slipring_publisher *pub = calloc(1, sizeof *pub);
    if (!pub) return slr_error_errno("cannot open a publisher");
    code = slr_segment_open_or_create(bus, topic, settings, &pub->s);
    if (code) {
        free(pub);
        return code;
    }
    pub->sender_size = pub->own_sender_size = (uint8_t)sender_size;
    memcpy(pub->own_sender, sender, sender_size);
    memcpy(pub->meta, sender, sender_size);
    pub->meta_is_own = true;
    pub->slice_ns = SLR_SHORTEST_SPACE_SLICE_NS;
    code = attach(pub, topic, sender);
    if (code) {
        slr_segment_close(pub->s);
        free(pub);
        return code;
    }
    *out = pub;
    return SLIPRING_OK;
}

void slipring_publisher_close(slipring_publisher *pub) {
    struct slr_segment *s = pub->s;
    if (s->fork_generation == slr_fork_generation()) {
        slr_readers_death_wake_set(pub);
        slr_abandon_claims(s, pub->claimer.entry);
        SLR_CRASH_POINT("detach.abandoned");
        slr_wake_readers(pub); /* messages behind an aborted claim are readable now */
        slr_store_release(&pub->self->state, slr_kind_next(slr_load_acquire(&pub->self->state), SLR_KIND_FREE));
        SLR_CRASH_POINT("detach.freed");
    }
    slr_segment_close(s); /* releases the lock */
    free(pub);
}

struct slr_segment *slr_publisher_segment(slipring_publisher *pub) { return pub->s; }

int slipring_publisher_subscribers(slipring_publisher *pub) {
    const struct slr_segment *s = pub->s;
    int code = slr_segment_check_file(s);
    if (code) return code;
    int live = 0;
    for (uint32_t e = 0; e < s->reader_count; e++)
        if (!slr_kind_is(slr_load_acquire(&s->reader[e].state), SLR_KIND_FREE) && !slr_reader_dead(s, e)) live++;
    return live;
}

uint32_t slipring_publisher_max_subscribers(const slipring_publisher *pub) { return pub->s->reader_count; }

bool slipring_publisher_reliable(const slipring_publisher *pub) { return pub->s->delivery == SLR_RELIABLE; }

void slipring_publisher_interrupt(slipring_publisher *pub) {
    slr_store_seq_cst(&pub->interrupted, 1);
    if (pub->s->fork_generation == slr_fork_generation()) slr_wake_all(&pub->s->readers->space);
}

uint32_t slipring_publisher_entry(const slipring_publisher *pub, uint64_t *since_seq) {
    *since_seq = pub->since_seq;
    return pub->claimer.entry;
}

int slipring_publisher_schema(const slipring_publisher *pub, void *buffer, size_t room, size_t *size) {
    return slr_segment_schema(pub->s, buffer, room, size);
}

/* Return whether the refused claim would succeed now. */
static bool room_appeared(slipring_publisher *pub) {
    const struct slr_segment *s = pub->s;
    uint64_t tail = slr_load_acquire(&s->ring->tail);
    struct slr_need need = {.seq = tail, .start = slr_start_of(s, tail), .size = pub->refused_size};
    return slr_reclaim(s, pub->claimer.entry, &need) != SLIPRING_FULL;
}

static int sleep_for_space(slipring_publisher *pub, int64_t until) {
    _Atomic uint32_t *space = &pub->s->readers->space;
    uint32_t value = slr_sleep_announce(space);
    if (slr_load_relaxed(&pub->interrupted)) return slr_error(SLIPRING_CLOSED, "", "the publisher was closed");
    if (room_appeared(pub)) return SLIPRING_OK;
    return slr_sleep(space, value, until) == EINTR ? SLIPRING_INTERRUPTED : SLIPRING_OK;
}

/* Return whether a stride is free. Claiming each message as soon as a reader frees it would move its cache line to and fro. */
static bool stride_is_free(const slipring_publisher *pub) {
    const struct slr_segment *s = pub->s;
    uint64_t bytes = s->capacity / 16;
    return slr_readers_passed(s, s->slot_count / 16, bytes > pub->refused_size ? bytes : pub->refused_size);
}

/* Spin until a stride is free. If there is room then, return; otherwise sleep. Readers wake publishers after they have freed a
 * stride. The slices of the sleep cover deaths of readers and the wake-ups that readers skip to stay fast. */
int slipring_publisher_wait_space(slipring_publisher *pub, int64_t deadline_ns) {
    int64_t begun = slr_clock_monotonic_ns();
    do
        for (int i = 0; i < 64; i++) slr_pause();
    while (!stride_is_free(pub) && slr_clock_monotonic_ns() - begun < SLR_SPIN_NS);
    if (room_appeared(pub)) {
        pub->slice_ns = SLR_SHORTEST_SPACE_SLICE_NS;
        return SLIPRING_OK;
    }
    int64_t until = slr_clock_monotonic_ns() + pub->slice_ns;
    if (begun >= deadline_ns) return SLIPRING_TIMEOUT;
    if (pub->slice_ns < LONGEST_SLICE_NS) pub->slice_ns *= 2;
    int code = slr_segment_check_file(pub->s);
    if (code) return code;
    return sleep_for_space(pub, until < deadline_ns ? until : deadline_ns);
}
