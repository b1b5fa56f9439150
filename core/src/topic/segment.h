/* SPDX-License-Identifier: Apache-2.0
 *
 * The two files of a topic, mapped into this process, with a private copy of their geometry.
 */
#ifndef SLR_TOPIC_SEGMENT_H
#define SLR_TOPIC_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomics.h"
#include "base/hot_path.h"
#include "slipring.h"
#include "topic/layout.h"
#include "topic/peers.h"

enum slr_access { SLR_PUBLISH, SLR_SUBSCRIBE, SLR_INSPECT };

struct slr_segment {
    /* Checked once against the size of the mapping; afterwards only these copies are used. */
    uint64_t generation, slot_count, slot_mask, capacity, payload_mask;
    uint32_t slot_shift, writer_count, reader_count, cursor_count, schema_size;
    uint64_t schema_offset, schema_hash;
    int delivery, writers, content;
    bool ring_writable, readers_writable, prefault;

    struct slr_ring_header *ring;
    struct slr_writer *writer;
    struct slr_slot *slot;
    _Atomic uint64_t *passed;    /* by the boundary: see reclaim.c */
    _Atomic uint64_t *abandoned; /* the latest abandoned sequences, in order */
    uint8_t *payload; /* mapped twice in a row: any message is contiguous */
    struct slr_readers_header *readers;
    struct slr_reader *reader;
    struct slr_cursor *cursor;

    /* For locks and fstat, never mapped: a mapping in a forked child would keep the open file description, and with it the
     * locks of the parent. -1 in a forked child. */
    int ring_fd, readers_fd;
    size_t ring_span, readers_span;
    uint64_t fork_generation;
    struct slr_fork_handle fork_handle;
};

int slr_segment_open(const char *bus, const char *topic, enum slr_access access, struct slr_segment **out);
/* The same, but create a missing topic. Settings that are not NULL must match an existing topic. */
int slr_segment_open_or_create(const char *bus, const char *topic, const slipring_settings *settings,
                               struct slr_segment **out);
void slr_segment_close(struct slr_segment *segment);

/* Mark the topic as removed and wake its sleeping users. */
void slr_segment_mark_removed(struct slr_segment *segment);
/* SLIPRING_OK, FORKED or TOPIC_GONE (removed through the bus: cheap, no system call). */
int slr_segment_check(const struct slr_segment *segment);
/* The same, and check that the files still have a name. */
SLR_NOINLINE int slr_segment_check_file(const struct slr_segment *segment);

static inline uint64_t slr_segment_writer_offset(uint32_t entry) {
    return SLR_PAGE + (uint64_t)entry * SLR_WRITER_SIZE;
}
static inline uint64_t slr_segment_reader_offset(uint32_t entry) {
    return SLR_PAGE + (uint64_t)entry * SLR_READER_SIZE;
}
/* schema.c. The schema follows the mapped part of <topic>.ring and is read from the file. *size is its size, 0 without one; it is
 * copied if it fits into room. */
int slr_segment_schema(const struct slr_segment *segment, void *buffer, size_t room, size_t *size);
/* Compare it with the schema of the settings: OK, or SCHEMA_MISMATCH. Settings without a schema accept any. */
int slr_segment_match_schema(const struct slr_segment *segment, const slipring_settings *settings, const char *topic);
/* Write a schema into a new file; *hash is for its header. */
int slr_schema_write(int fd, const slipring_settings *settings, uint64_t offset, uint64_t *hash);

uint64_t slr_segment_cursor_offset(const struct slr_segment *segment, uint32_t entry);

#endif
