// SPDX-License-Identifier: Apache-2.0
// The numbers of docs/spec/memory-layout.md, typed in by hand: sections 2 and 3. Nothing here comes from the core.
#ifndef FOREIGN_LAYOUT_H
#define FOREIGN_LAYOUT_H
#include <stdint.h>

#define RING_MAGIC UINT64_C(0x31474e5250494c53)
#define READERS_MAGIC UINT64_C(0x3152445250494c53)
#define LAYOUT_HASH UINT64_C(0xcac9ff5e7b6ff6a7)
#define LAYOUT_VERSION 4u
#define HEADER_PAGE 4096u

enum { WRITER_SIZE = 128, SLOT_SIZE = 32, READER_SIZE = 128, CURSOR_SIZE = 128, WORD_SIZE = 8 };
enum { FREE, CLAIMED, READY, GONE };                                                       // of a slot
enum { KIND_FREE, KIND_LOSSY, KIND_RELIABLE, KIND_CURSOR, KIND_WRITER };                   // of a table entry
enum { DELIVERY_LOSSY, DELIVERY_RELIABLE };
enum { WRITERS_MANY, WRITERS_ONE };
enum { CONTENT_MESSAGES, CONTENT_FRAMES };
#define NO_HOLD UINT64_MAX

#define MIN_CAPACITY UINT64_C(4096)
#define MAX_CAPACITY UINT64_C(0x10000000000)
#define MIN_SLOTS UINT64_C(16)
#define MAX_SLOTS UINT64_C(0x10000000)
enum { MAX_WRITERS = 4096, MAX_READERS = 65536, MAX_CURSORS = 4096, MAX_TYPE = 255, MAX_SENDER = 255, MAX_SCHEMA = 1048576 };

enum { // both headers
    H_MAGIC = 0,
    H_VERSION = 8,
    H_PAGE_SIZE = 12,
    H_LAYOUT_HASH = 16,
    H_GENERATION = 24,
    H_FILE_SIZE = 32,
};
enum { // ring_header
    RH_SLOT_COUNT = 40,
    RH_CAPACITY = 48,
    RH_WRITERS_OFFSET = 56,
    RH_SLOTS_OFFSET = 64,
    RH_PASSED_OFFSET = 72,
    RH_ABANDONED_OFFSET = 80,
    RH_PAYLOAD_OFFSET = 88,
    RH_WRITER_COUNT = 96,
    RH_READER_COUNT = 100,
    RH_CURSOR_COUNT = 104,
    RH_DELIVERY = 108,
    RH_WRITERS = 112,
    RH_BOOT_ID = 128,
    RH_CONTENT = 144,
    RH_SCHEMA_SIZE = 148,
    RH_SCHEMA_HASH = 152,
    RH_REMOVED = 192,
    RH_TAIL = 256,
    RH_OLDEST = 320,
    RH_FREED = 384,
};
enum { // readers_header
    DH_READERS_OFFSET = 40,
    DH_CURSORS_OFFSET = 48,
    DH_READER_COUNT = 56,
    DH_CURSOR_COUNT = 60,
    DH_WAKE = 64,
    DH_ORPHAN = 68,
    DH_CANNOT_WAKE = 72,
    DH_SPACE = 128,
    DH_HIGH_READER = 192,
    DH_HIGH_CURSOR = 196,
};
enum { // writer
    W_STATE = 0,
    W_ANNOUNCED = 8,
    W_PUBLISHED = 16,
    W_BYTES = 24,
    W_PUBLISHED_BEFORE = 32,
    W_BYTES_BEFORE = 40,
    W_PID = 48,
    W_NAME_SIZE = 52,
    W_NAME = 56,
    W_NAME_BYTES = 64,
};
enum { S_WORD = 0, S_END = 8, S_TIME_NS = 16, S_LENGTHS = 24 }; // slot
enum {                                                          // reader
    R_STATE = 0,
    R_HOLD = 8,
    R_POSITION = 16,
    R_RECEIVED = 24,
    R_LOST = 32,
    R_FILTERED = 40,
    R_PID = 48,
    R_SINCE_NS = 56,
    R_HELD = 64,
    R_POOL = 72,
};
enum { C_STATE = 0, C_POSITION = 8, C_TOUCHED_NS = 16, C_EXPIRES_NS = 24 }; // cursor

enum { SLEEPING = 1, WAKING = 2, COUNT_ONE = 4 }; // parts of a futex word, section 3.4

// Section 3.1: the word of a slot.
static inline uint64_t slot_word(unsigned state, uint32_t writer, uint64_t lap)
{
    return state | (uint64_t)writer << 2 | lap << 16;
}
static inline unsigned word_state(uint64_t word) { return word & 3; }
static inline uint32_t word_writer(uint64_t word) { return word >> 2 & 0x3fff; }
static inline uint64_t word_lap(uint64_t word) { return word >> 16; }

// Section 3.3: the state of a table entry; every change of the kind is the next incarnation.
static inline unsigned entry_kind(uint64_t state) { return state & 0xff; }
static inline uint64_t entry_next(uint64_t state, unsigned kind) { return ((state >> 8) + 1) << 8 | kind; }

static inline uint64_t round_up(uint64_t x, uint64_t unit) { return (x + unit - 1) / unit * unit; }
#endif
