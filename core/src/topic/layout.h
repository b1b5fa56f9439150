/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of a topic: two files. docs/spec/memory-layout.md is the normative description.
 *
 *   <topic>.ring      header page | writer table | slots | passed | abandoned | payload | schema
 *   <topic>.readers   header page | reader table | cursor table
 *
 * A topic whose messages announce frames has a third file: topic/frames_layout.h.
 *
 * SLR_LAYOUT below pins every field with a literal offset and size. Static asserts compare it with the structures, a test
 * compares it with the document, and its hash is stored in each file. So two builds with different layouts refuse to share a
 * topic. The algorithms contain no offsets.
 */
#ifndef SLR_TOPIC_LAYOUT_H
#define SLR_TOPIC_LAYOUT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SLR_RING_MAGIC 0x31474e5250494c53ull    /* "SLIPRNG1" */
#define SLR_READERS_MAGIC 0x3152445250494c53ull /* "SLIPRDR1" */
#define SLR_LAYOUT_VERSION 4u
#define SLR_PAGE 4096u

/* The word of a slot: state (2 bits), writer entry (14 bits), lap (48 bits). The lap does not wrap around within the life of a
 * machine, so a compare-and-swap on a word has no ABA problem. */
enum slr_state { SLR_FREE = 0, SLR_CLAIMED = 1, SLR_READY = 2, SLR_GONE = 3 };

enum slr_delivery { SLR_LOSSY = 0, SLR_RELIABLE = 1 };
enum slr_writers { SLR_MANY = 0, SLR_ONE = 1 };
enum slr_content { SLR_MESSAGES = 0, SLR_FRAMES = 1 };

/* The state of a table entry is {incarnation, kind}; kind 0 is a free entry. */
enum slr_kind { SLR_KIND_FREE = 0, SLR_KIND_LOSSY = 1, SLR_KIND_RELIABLE = 2, SLR_KIND_CURSOR = 3, SLR_KIND_WRITER = 4 };
#define SLR_KIND_MASK 0xffull
#define SLR_INCARNATION 0x100ull

#define SLR_NO_HOLD UINT64_MAX
#define SLR_NAME_SIZE 64     /* a cursor's name, zero padded */

#define SLR_SLOT_SIZE 32u
#define SLR_WRITER_SIZE 128u
#define SLR_READER_SIZE 128u
#define SLR_CURSOR_SIZE 128u

struct slr_ring_header {
    /* Written once by the creator, before the file has a name. */
    uint64_t magic;
    uint32_t version;
    uint32_t page_size;
    uint64_t layout_hash;
    uint64_t generation;
    uint64_t file_size;
    uint64_t slot_count;
    uint64_t capacity;
    uint64_t writers_offset;
    uint64_t slots_offset;
    uint64_t passed_offset;
    uint64_t abandoned_offset;
    uint64_t payload_offset;
    uint32_t writer_count;
    uint32_t reader_count;
    uint32_t cursor_count;
    uint32_t delivery;
    uint32_t writers;
    uint32_t creator_pid;
    int64_t created_ns;
    uint8_t boot_id[16];
    uint32_t content;
    uint32_t schema_size; /* bytes of the schema behind the payload; 0: none */
    uint64_t schema_hash; /* FNV-1a of these bytes */
    /* Written by the process that removes the topic. */
    alignas(64) _Atomic uint64_t removed;
    /* Written by publishers; each on a cache line of its own. */
    alignas(64) _Atomic uint64_t tail;   /* next sequence to be claimed */
    alignas(64) _Atomic uint64_t oldest; /* lowest sequence that may still be read without a hold */
    alignas(64) _Atomic uint64_t freed;  /* lowest sequence whose memory is not yet free for reuse */
};

struct slr_writer {
    _Atomic uint64_t state; /* {incarnation, kind}: free, or SLR_KIND_WRITER */
    _Atomic uint64_t announced; /* the size and count of the owner's newest claim (slr_announced); stable until tail passes that claim */
    _Atomic uint64_t published; /* by all owners of the entry, so that the total of the topic is a sum */
    _Atomic uint64_t bytes;
    _Atomic uint64_t published_before; /* by owners before this one */
    _Atomic uint64_t bytes_before;
    _Atomic uint32_t pid; /* for inspection only */
    _Atomic uint32_t name_size;
    uint8_t name[64]; /* the name of the sender, truncated; for inspection only */
    uint8_t unused[8];
};

struct slr_slot {
    _Atomic uint64_t word;    /* {state, writer, lap} */
    _Atomic uint64_t end;     /* payload position after this message; only grows, never repeats */
    _Atomic int64_t time_ns;  /* real-time clock of the sender at the send, or at the commit of a loan, in ns since the epoch */
    _Atomic uint64_t lengths; /* body (32 bits), type (8), sender (8), zero (16) */
};

struct slr_readers_header {
    uint64_t magic;
    uint32_t version;
    uint32_t page_size;
    uint64_t layout_hash;
    uint64_t generation;
    uint64_t file_size;
    uint64_t readers_offset;
    uint64_t cursors_offset;
    uint32_t reader_count;
    uint32_t cursor_count;
    alignas(64) _Atomic uint32_t wake;        /* futex of readers waiting for a message */
    _Atomic uint32_t death_wake;                  /* always 0: on it the kernel wakes one reader for a dead publisher (death_wake.h) */
    _Atomic uint32_t cannot_wake;                    /* not 0: a publisher cannot wake readers */
    alignas(64) _Atomic uint32_t space;       /* futex of publishers waiting for space */
    alignas(64) _Atomic uint32_t high_reader; /* entries from this one on were never used */
    _Atomic uint32_t high_cursor;
};

struct slr_reader {
    _Atomic uint64_t state;    /* {incarnation, kind} */
    _Atomic uint64_t hold;     /* memory at and above this sequence is not reused; SLR_NO_HOLD: none */
    _Atomic uint64_t position; /* next sequence to be read */
    _Atomic uint64_t received;
    _Atomic uint64_t lost;
    _Atomic uint64_t filtered;
    _Atomic uint32_t pid;
    uint32_t unused0;
    _Atomic int64_t since_ns;
    /* Frames; on a cache line of their own. */
    _Atomic uint64_t held; /* a bit for each buffer of the pool that the owner holds */
    _Atomic uint64_t pool; /* the generation of that pool; 0: none */
    uint8_t unused[48];
};

struct slr_cursor {
    _Atomic uint64_t state;      /* {incarnation, kind}: free or cursor */
    _Atomic uint64_t position;   /* committed: a reliable topic keeps messages from here on */
    _Atomic int64_t touched_ns;  /* last commit, attach or detach */
    _Atomic int64_t expires_ns;  /* lifetime without a subscriber after that; 0: unlimited */
    _Atomic int64_t created_ns;
    uint64_t unused0;
    uint8_t name[SLR_NAME_SIZE];
    uint8_t unused[16];
};

/* X(structure, field, offset, size) */
#define SLR_LAYOUT(X)                     \
    X(ring_header, magic, 0, 8)           \
    X(ring_header, version, 8, 4)         \
    X(ring_header, page_size, 12, 4)      \
    X(ring_header, layout_hash, 16, 8)    \
    X(ring_header, generation, 24, 8)     \
    X(ring_header, file_size, 32, 8)      \
    X(ring_header, slot_count, 40, 8)     \
    X(ring_header, capacity, 48, 8)       \
    X(ring_header, writers_offset, 56, 8) \
    X(ring_header, slots_offset, 64, 8)   \
    X(ring_header, passed_offset, 72, 8)  \
    X(ring_header, abandoned_offset, 80, 8) \
    X(ring_header, payload_offset, 88, 8) \
    X(ring_header, writer_count, 96, 4)   \
    X(ring_header, reader_count, 100, 4)  \
    X(ring_header, cursor_count, 104, 4)  \
    X(ring_header, delivery, 108, 4)      \
    X(ring_header, writers, 112, 4)       \
    X(ring_header, creator_pid, 116, 4)   \
    X(ring_header, created_ns, 120, 8)    \
    X(ring_header, boot_id, 128, 16)      \
    X(ring_header, content, 144, 4)       \
    X(ring_header, schema_size, 148, 4)   \
    X(ring_header, schema_hash, 152, 8)   \
    X(ring_header, removed, 192, 8)       \
    X(ring_header, tail, 256, 8)          \
    X(ring_header, oldest, 320, 8)        \
    X(ring_header, freed, 384, 8)         \
    X(writer, state, 0, 8)                \
    X(writer, announced, 8, 8)                 \
    X(writer, published, 16, 8)           \
    X(writer, bytes, 24, 8)               \
    X(writer, published_before, 32, 8)    \
    X(writer, bytes_before, 40, 8)        \
    X(writer, pid, 48, 4)                 \
    X(writer, name_size, 52, 4)           \
    X(writer, name, 56, 64)               \
    X(slot, word, 0, 8)                   \
    X(slot, end, 8, 8)                    \
    X(slot, time_ns, 16, 8)               \
    X(slot, lengths, 24, 8)               \
    X(readers_header, magic, 0, 8)        \
    X(readers_header, version, 8, 4)      \
    X(readers_header, page_size, 12, 4)   \
    X(readers_header, layout_hash, 16, 8) \
    X(readers_header, generation, 24, 8)  \
    X(readers_header, file_size, 32, 8)   \
    X(readers_header, readers_offset, 40, 8) \
    X(readers_header, cursors_offset, 48, 8) \
    X(readers_header, reader_count, 56, 4) \
    X(readers_header, cursor_count, 60, 4) \
    X(readers_header, wake, 64, 4)        \
    X(readers_header, death_wake, 68, 4)      \
    X(readers_header, cannot_wake, 72, 4)        \
    X(readers_header, space, 128, 4)      \
    X(readers_header, high_reader, 192, 4) \
    X(readers_header, high_cursor, 196, 4) \
    X(reader, state, 0, 8)                \
    X(reader, hold, 8, 8)                 \
    X(reader, position, 16, 8)            \
    X(reader, received, 24, 8)            \
    X(reader, lost, 32, 8)                \
    X(reader, filtered, 40, 8)            \
    X(reader, pid, 48, 4)                 \
    X(reader, since_ns, 56, 8)            \
    X(reader, held, 64, 8)                \
    X(reader, pool, 72, 8)                \
    X(cursor, state, 0, 8)                \
    X(cursor, position, 8, 8)             \
    X(cursor, touched_ns, 16, 8)          \
    X(cursor, expires_ns, 24, 8)          \
    X(cursor, created_ns, 32, 8)          \
    X(cursor, name, 48, 64)

#define SLR_ASSERT_FIELD(type, field, offset, size)                                       \
    _Static_assert(offsetof(struct slr_##type, field) == (offset), #type "." #field);     \
    _Static_assert(sizeof(((struct slr_##type *)0)->field) == (size), #type "." #field);
SLR_LAYOUT(SLR_ASSERT_FIELD)
_Static_assert(sizeof(struct slr_slot) == SLR_SLOT_SIZE, "slot");
_Static_assert(sizeof(struct slr_writer) == SLR_WRITER_SIZE, "writer");
_Static_assert(sizeof(struct slr_reader) == SLR_READER_SIZE, "reader");
_Static_assert(sizeof(struct slr_cursor) == SLR_CURSOR_SIZE, "cursor");
_Static_assert(sizeof(struct slr_ring_header) <= SLR_PAGE, "ring header fits its page");
_Static_assert(sizeof(struct slr_readers_header) <= SLR_PAGE, "readers header fits its page");

/* FNV-1a over "structure.field:offset:size;" of every row, in order. */
uint64_t slr_layout_hash(void);

#endif
