// SPDX-License-Identifier: Apache-2.0
// Atomic access to shared words, and what the parts of this program know of a topic.
#ifndef FOREIGN_SHARED_H
#define FOREIGN_SHARED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "layout.h"

static inline uint64_t get(const void *at) { return __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE); }
static inline uint64_t peek(const void *at) { return __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED); }
static inline uint32_t get32(const void *at) { return __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE); }
static inline void put(void *at, uint64_t value) { __atomic_store_n((uint64_t *)at, value, __ATOMIC_RELEASE); }
static inline void poke(void *at, uint64_t value) { __atomic_store_n((uint64_t *)at, value, __ATOMIC_RELAXED); }
static inline bool swap(void *at, uint64_t from, uint64_t to)
{
    return __atomic_compare_exchange_n((uint64_t *)at, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
static inline bool swap32(void *at, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n((uint32_t *)at, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
}
static inline void release_fence(void) { __atomic_thread_fence(__ATOMIC_RELEASE); }
static inline void acquire_fence(void) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }
static inline void full_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// How the program ends when it cannot go on: exit codes that the tests know by name.
enum { EXIT_USAGE = 2, EXIT_CORRUPT = 3, EXIT_BUSY = 4, EXIT_GONE = 5, EXIT_FULL = 6, EXIT_ABSENT = 7 };
_Noreturn void fail(int code, const char *why, ...) __attribute__((format(printf, 2, 3)));

// A place where the test may let the program die: `PEER_DIE_AT=claim.word:3` is SIGKILL at the third visit.
void step(const char *name);

#define ENDLESS 1000000 // attempts after which a loop that depends on shared words gives up as damaged

struct topic {
    uint8_t *ring, *readers;     // mappings; the ring read-only for a subscriber
    int ring_lock, readers_lock; // descriptors for locks: never mapped
    uint64_t slot_count, capacity;
    uint64_t writers_at, slots_at, passed_at, abandoned_at, payload_at, readers_at, cursors_at;
    uint32_t writer_count, reader_count, cursor_count;
    uint32_t schema_size; // 0: none
    uint64_t schema_at, schema_hash;
    bool reliable, one_writer;
    int own_writer; // our entry, or -1: nobody is dead to itself
};

// The places of shared words. An index is always cut to the private geometry.
static inline uint8_t *slot_of(const struct topic *t, uint64_t seq)
{
    return t->ring + t->slots_at + (seq & (t->slot_count - 1)) * SLOT_SIZE;
}
static inline uint8_t *passed_of(const struct topic *t, uint64_t seq)
{
    return t->ring + t->passed_at + (seq & (t->slot_count - 1)) * WORD_SIZE;
}
static inline uint8_t *abandoned_of(const struct topic *t, uint64_t index)
{
    return t->ring + t->abandoned_at + (index & (t->slot_count - 1)) * WORD_SIZE;
}
static inline uint8_t *writer_of(const struct topic *t, uint32_t e) { return t->ring + t->writers_at + (uint64_t)e * WRITER_SIZE; }
static inline uint8_t *reader_of(const struct topic *t, uint32_t e) { return t->readers + t->readers_at + (uint64_t)e * READER_SIZE; }
static inline uint8_t *cursor_of(const struct topic *t, uint32_t e) { return t->readers + t->cursors_at + (uint64_t)e * CURSOR_SIZE; }
static inline uint64_t lap_of(const struct topic *t, uint64_t seq) { return seq / t->slot_count + 1; }
// Of 8 bytes, inside the ring even if `end` is damaged.
static inline uint8_t *payload_of(const struct topic *t, uint64_t position)
{
    return t->ring + t->payload_at + (position & (t->capacity - 1) & ~UINT64_C(7));
}
static inline uint32_t lower(uint32_t a, uint32_t b) { return a < b ? a : b; }

// topic.c: opening, sections 4 and 6
void topic_open(struct topic *t, const char *directory, const char *name, bool to_publish);
void topic_check_there(const struct topic *t, bool thoroughly);
bool lock_byte(int descriptor, uint64_t byte);
bool is_locked(int descriptor, uint64_t byte); // true also if the question fails
int64_t wall_clock_ns(void);
int64_t monotonic_ns(void);

// schema.c: the schema, section 6, and records of numbers
struct field_place {
    char name[256], type[32];
    uint32_t offset;
};
uint8_t *topic_schema(const struct topic *t); // with a zero behind it; compared with its hash
uint32_t fields_of(const char *schema, struct field_place *fields, uint32_t most, uint32_t *size);
void print_record(const struct field_place *fields, uint32_t count, const uint8_t *body);

// futex.c: section 11
void wake(uint8_t *word);
uint32_t announce_sleep(uint8_t *word);
void sleep_on(uint8_t *word, uint32_t announced, int64_t slice_ns);
void death_wake_set(const struct topic *t); // 11.1
void death_wake_clear(void);
void sleep_for_message(const struct topic *t, uint32_t announced, const uint8_t *slot, uint32_t slot_seen, int64_t slice_ns);

// sweep.c: sections 7.4 and 12
bool writer_is_dead(const struct topic *t, uint32_t entry);
bool abandon(const struct topic *t, uint64_t seq, uint64_t seen);
bool free_if_dead_reader(const struct topic *t, uint32_t entry, uint64_t seen);
bool free_if_expired_cursor(const struct topic *t, uint32_t entry, uint64_t seen);
bool help(const struct topic *t, uint64_t i, uint64_t word);
void sweep(const struct topic *t, bool may_write_ring);

// reclaim.c: section 8
bool reclaim(const struct topic *t, uint64_t i, uint64_t start, uint64_t size);

// publish.c: section 7
struct publisher {
    struct topic *topic;
    uint32_t entry;
    const char *sender;
    uint64_t tail, end, freed, freed_start; // with one writer: kept privately
};
void publisher_attach(struct publisher *p, struct topic *t, const char *sender);
uint64_t publisher_send(struct publisher *p, const char *type, const void *body, uint32_t size, int64_t wait_ns);
void publisher_detach(struct publisher *p);

// subscribe.c: sections 9 and 10
struct subscriber {
    struct topic *topic;
    int entry; // -1: none was free
    bool reliable;
    uint64_t position, received, lost;
    uint64_t abandoned; // below the position, if known
    bool abandoned_known;
    uint64_t unwoken_messages, unwoken_bytes; // read since `space` was woken last
    uint64_t *copy;                           // of the newest message: `capacity` bytes
};
struct message {
    uint64_t seq;
    int64_t time_ns;
    const uint8_t *body, *type, *sender;
    uint32_t body_size, type_size, sender_size;
};
void subscriber_attach(struct subscriber *s, struct topic *t, bool reliable, bool from_oldest);
bool subscriber_receive(struct subscriber *s, struct message *m, int64_t wait_ns);
void subscriber_detach(struct subscriber *s);
#endif
