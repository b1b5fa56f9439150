/* SPDX-License-Identifier: Apache-2.0
 *
 * A publisher's life: a writer entry in the ring, held by a lock from open to close.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy.h"
#include "defects.h"
#include "fault.h"
#include "peers.h"
#include "points.h"
#include "publisher.h"
#include "wait.h"

static void own_entry(struct slr_segment *s, uint32_t entry, const char *sender, size_t sender_size) {
    struct slr_writer *w = &s->writer[entry];
    uint8_t name[sizeof w->name] = {0};
    size_t shown = sender_size < sizeof name ? sender_size : sizeof name;
    memcpy(name, sender, shown);
    slr_copy_in(w->name, name, sizeof name); /* lookers may be reading it */
    slr_poke(&w->name_size, (uint32_t)shown);
    slr_poke(&w->pid, (uint32_t)getpid());
    slr_poke(&w->published_before, slr_peek(&w->published));
    slr_poke(&w->bytes_before, slr_peek(&w->bytes));
    slr_publish(&w->state, slr_kind_next(slr_observe(&w->state), SLR_KIND_WRITER));
}

/* Free entries first: the dead's cost a sweep. BUSY, without words: there is none. */
static int lock_entry(struct slr_segment *s, uint32_t *out) {
    for (int dead = 0; dead <= 1; dead++)
        for (uint32_t e = 0; e < s->writer_count; e++) {
            if (slr_kind_is(slr_observe(&s->writer[e].state), SLR_KIND_FREE) == dead) continue;
            if (slr_lock_try(s->ring_fd, slr_segment_writer_offset(e))) {
                *out = e;
                return SLIPRING_OK;
            }
            if (!slr_lock_refused()) return slr_fault_errno("cannot lock an entry of the writer table");
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
            return slr_fault(SLIPRING_BUSY, "writers", "topic '%s' has writers=\"one\" and a live publisher", topic);
        return slr_fault(SLIPRING_TOO_MANY_WRITERS, "max_writers", "topic '%s' has its max_writers=%u live publishers",
                         topic, s->writer_count);
    }
    if (code) return code;
    SLR_POINT("attach.locked");
    slr_claimer_start(&pub->claimer, s, entry);
    own_entry(s, entry, sender, pub->own_sender_size);
    SLR_POINT("attach.owned");
    pub->self = &s->writer[entry];
    pub->since_seq = slr_observe(&s->ring->tail);
    return SLIPRING_OK;
}

int slr_sender_check(size_t sender_size) {
    if (sender_size <= SLIPRING_MAX_SENDER) return SLIPRING_OK;
    return slr_fault(SLIPRING_BAD_ARGUMENT, "sender", "sender has %zu bytes, at most %d", sender_size, SLIPRING_MAX_SENDER);
}

int slipring_publisher_open(const char *bus, const char *topic, const char *sender, size_t sender_size,
                            const slipring_settings *settings, slipring_publisher **out) {
    int code = slr_sender_check(sender_size);
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
        slr_will_wake_readers(pub);
        slr_abandon_claims(s, pub->claimer.entry);
        SLR_POINT("detach.abandoned");
        slr_wake_readers(pub); /* what stood behind an aborted claim is readable now */
        slr_publish(&pub->self->state, slr_kind_next(slr_observe(&pub->self->state), SLR_KIND_FREE));
        SLR_POINT("detach.freed");
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
        if (!slr_kind_is(slr_observe(&s->reader[e].state), SLR_KIND_FREE) && !slr_reader_dead(s, e)) live++;
    return live;
}

uint32_t slipring_publisher_max_subscribers(const slipring_publisher *pub) { return pub->s->reader_count; }

bool slipring_publisher_reliable(const slipring_publisher *pub) { return pub->s->delivery == SLR_RELIABLE; }

void slipring_publisher_interrupt(slipring_publisher *pub) {
    slr_agree_store(&pub->interrupted, 1);
    if (pub->s->fork_generation == slr_fork_generation()) slr_wake_all(&pub->s->readers->space);
}

uint32_t slipring_publisher_entry(const slipring_publisher *pub, uint64_t *since_seq) {
    *since_seq = pub->since_seq;
    return pub->claimer.entry;
}
