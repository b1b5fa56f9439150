/* SPDX-License-Identifier: Apache-2.0
 *
 * Pure arithmetic: from the settings of a topic to the sizes and offsets of its files.
 */
#ifndef SLR_TOPIC_GEOMETRY_H
#define SLR_TOPIC_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "slipring.h"

#define SLR_MIN_CAPACITY 4096u
#define SLR_MAX_CAPACITY (UINT64_C(1) << 40)
#define SLR_MIN_SLOTS 16u
#define SLR_MAX_SLOTS (UINT64_C(1) << 28)
#define SLR_MAX_WRITERS 4096u
#define SLR_MAX_READERS 65536u
#define SLR_MAX_CURSORS 4096u

struct slr_geometry {
    uint64_t capacity, slot_count;
    uint32_t writer_count, reader_count, cursor_count, schema_size;
    uint64_t writers_offset, slots_offset, passed_offset, abandoned_offset, payload_offset, schema_offset, ring_size;
    uint64_t readers_offset, cursors_offset, readers_size;
};

/* Compute the offsets from the five counts and the size of the schema; false if one is out of range. */
bool slr_geometry_compute(struct slr_geometry *geometry);
/* Apply defaults and rounding. */
int slr_geometry_choose(const slipring_settings *settings, struct slr_geometry *out);
/* Compare the settings with an existing topic: OK, or EXISTS with both values. */
int slr_geometry_match(const slipring_settings *settings, const struct slr_geometry *found, int delivery, int writers,
                       const char *topic);

#endif
