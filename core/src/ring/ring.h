/* SPDX-License-Identifier: Apache-2.0
 *
 * Words, laps and sizes of the ring. claim.c, reclaim.c, sweep.c and read.c describe the algorithm.
 */
#ifndef SLR_RING_RING_H
#define SLR_RING_RING_H

#include "base/defects.h"
#include "topic/segment.h"

#define SLR_WRITER_MASK 0x3fffu

static inline uint64_t slr_lap(const struct slr_segment *s, uint64_t seq) { return (seq >> s->slot_shift) + 1; }
static inline uint64_t slr_word(enum slr_state state, uint32_t writer, uint64_t lap) {
    return (uint64_t)state | (uint64_t)writer << 2 | lap << 16;
}
static inline enum slr_state slr_word_state(uint64_t word) { return (enum slr_state)(word & 3); }
static inline uint32_t slr_word_writer(uint64_t word) { return (uint32_t)(word >> 2) & SLR_WRITER_MASK; }
static inline uint64_t slr_word_lap(uint64_t word) { return word >> 16; }

static inline struct slr_slot *slr_slot_of(const struct slr_segment *s, uint64_t seq) {
    return &s->slot[seq & s->slot_mask];
}
/* Return where the payload of seq begins: valid while slot seq-1 is not reused, that is while seq >= freed. Acquire: a load of
 * tail that then checks the validity must come after this one. */
static inline uint64_t slr_start_of(const struct slr_segment *s, uint64_t seq) {
    return slr_load_acquire(&slr_slot_of(s, seq - 1)->end);
}

static inline uint64_t slr_round8(uint64_t size) { return (size + 7) & ~UINT64_C(7); }
/* Return the payload that a message occupies. Never zero: so payload positions never repeat. */
static inline uint64_t slr_message_bytes(uint64_t body, uint64_t meta) {
    uint64_t size = slr_round8(body) + slr_round8(meta);
    return size ? size : 8;
}

static inline uint64_t slr_lengths(uint64_t body, uint64_t type, uint64_t sender) {
    return SLR_DEFECT(lengths_in_other_places) ? body | type << 40 | sender << 32 : body | type << 32 | sender << 40;
}
static inline uint32_t slr_lengths_body(uint64_t lengths) { return (uint32_t)lengths; }
static inline uint8_t slr_lengths_type(uint64_t lengths) {
    return (uint8_t)(lengths >> (SLR_DEFECT(lengths_in_other_places) ? 40 : 32));
}
static inline uint8_t slr_lengths_sender(uint64_t lengths) {
    return (uint8_t)(lengths >> (SLR_DEFECT(lengths_in_other_places) ? 32 : 40));
}

static inline bool slr_kind_is(uint64_t state, enum slr_kind kind) { return (state & SLR_KIND_MASK) == kind; }
static inline uint64_t slr_kind_incarnation(uint64_t state) { return state / SLR_INCARNATION; }
/* Return the state of an entry after a change of its kind. */
static inline uint64_t slr_kind_next(uint64_t state, enum slr_kind kind) {
    return ((state & ~SLR_KIND_MASK) + SLR_INCARNATION) | (uint64_t)kind;
}

static inline bool slr_room(const struct slr_segment *s, uint64_t seq, uint64_t start, uint64_t size, uint64_t freed,
                            uint64_t freed_start) {
    /* One slot stays unused: slot freed-1 contains the start of freed and must not be claimed. */
    return seq - freed < s->slot_count - 1 && start + size - freed_start <= s->capacity;
}

/* Reclaim --------------------------------------------------------------------------------------------------- */

struct slr_need {
    uint64_t seq;   /* about to be claimed */
    uint64_t start; /* of its payload */
    uint64_t size;
};

/* Make room for need: OK (try again), FULL (a live participant blocks it) or CORRUPT. */
int slr_reclaim(const struct slr_segment *s, uint32_t self, const struct slr_need *need);
/* Return whether readers have passed that many slots and bytes at this moment; changes nothing. */
bool slr_readers_passed(const struct slr_segment *s, uint64_t slots, uint64_t bytes);

/* Sweep ----------------------------------------------------------------------------------------------------- */

/* Mark the open claims of writer entry as abandoned. Only for the holder of its lock. */
void slr_abandon_claims(const struct slr_segment *s, uint32_t entry);
/* Settle the claims and free the entries of dead processes; return the number of entries. The ring must be mapped writable. */
uint32_t slr_sweep_writers(const struct slr_segment *s);
uint32_t slr_sweep_readers(const struct slr_segment *s);
/* Free the entry if its owner is dead; true if it is dead. state: of the entry, read before. */
bool slr_sweep_reader(const struct slr_segment *s, uint32_t entry, uint64_t state);
bool slr_expire_cursor(const struct slr_segment *s, uint32_t entry, uint64_t state); /* true if it has expired */
void slr_sweep_cursors(const struct slr_segment *s);

#endif
