/* SPDX-License-Identifier: Apache-2.0
 *
 * From settings to sizes. Capacity and slots are rounded up to powers of two, so a mask finds the place of a sequence. Sizes and
 * offsets follow from five counts and the size of the schema, so a header can be checked by computing them again (segment.c).
 */
#include "topic/geometry.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/defects.h"
#include "base/error.h"
#include "topic/layout.h"

static uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

static uint64_t power_of_two(uint64_t value, uint64_t least) {
    uint64_t power = least;
    while (power < value) power <<= 1;
    return power;
}

static bool is_power(uint64_t value, uint64_t least, uint64_t most) {
    return value >= least && value <= most && (value & (value - 1)) == 0;
}

static bool in_limits(uint32_t value, uint32_t most) { return value >= 1 && value <= most; }

bool slr_geometry_compute(struct slr_geometry *g) {
    if (!is_power(g->capacity, SLR_MIN_CAPACITY, SLR_MAX_CAPACITY) ||
        !is_power(g->slot_count, SLR_MIN_SLOTS, SLR_MAX_SLOTS) || !in_limits(g->writer_count, SLR_MAX_WRITERS) ||
        !in_limits(g->reader_count, SLR_MAX_READERS) || !in_limits(g->cursor_count, SLR_MAX_CURSORS) ||
        g->schema_size > SLIPRING_MAX_SCHEMA)
        return false;
    g->writers_offset = SLR_PAGE;
    g->slots_offset = round_up(g->writers_offset + (uint64_t)g->writer_count * SLR_WRITER_SIZE, SLR_PAGE);
    g->passed_offset = g->slots_offset + g->slot_count * SLR_SLOT_SIZE;
    g->abandoned_offset = g->passed_offset + g->slot_count * sizeof(uint64_t);
    g->payload_offset = round_up(g->abandoned_offset + g->slot_count * sizeof(uint64_t), SLR_PAGE);
    g->schema_offset = g->payload_offset + g->capacity;
    g->ring_size = g->schema_offset + round_up(g->schema_size, SLR_PAGE);
    g->readers_offset = SLR_PAGE;
    g->cursors_offset = g->readers_offset + (uint64_t)g->reader_count * SLR_READER_SIZE;
    g->readers_size = round_up(g->cursors_offset + (uint64_t)g->cursor_count * SLR_CURSOR_SIZE, SLR_PAGE);
    return true;
}

static int out_of_range(const char *argument, uint64_t value, uint64_t most) {
    return slr_error(SLIPRING_BAD_ARGUMENT, argument, "%s=%" PRIu64 " is out of range: at most %" PRIu64, argument,
                     value, most);
}

int slr_geometry_choose(const slipring_settings *s, struct slr_geometry *out) {
    uint64_t capacity = s->capacity ? s->capacity : UINT64_C(16) << 20;
    if (capacity > SLR_MAX_CAPACITY) return out_of_range("capacity", capacity, SLR_MAX_CAPACITY);
    if (s->slots > SLR_MAX_SLOTS) return out_of_range("slots", s->slots, SLR_MAX_SLOTS);
    if (s->max_writers > SLR_MAX_WRITERS) return out_of_range("max_writers", s->max_writers, SLR_MAX_WRITERS);
    if (s->max_readers > SLR_MAX_READERS) return out_of_range("max_readers", s->max_readers, SLR_MAX_READERS);
    if (s->max_cursors > SLR_MAX_CURSORS) return out_of_range("max_cursors", s->max_cursors, SLR_MAX_CURSORS);
    if (s->schema_size > SLIPRING_MAX_SCHEMA) return out_of_range("schema_size", s->schema_size, SLIPRING_MAX_SCHEMA);
    if (s->schema_size && !s->schema)
        return slr_error(SLIPRING_BAD_ARGUMENT, "schema", "schema=NULL has schema_size=%zu: give the bytes, or size 0", s->schema_size);
    if (s->schema_size && s->content == SLIPRING_FRAMES)
        return slr_error(SLIPRING_BAD_ARGUMENT, "schema", "a topic of frames has no schema: its streams have shapes and types");
    out->schema_size = (uint32_t)s->schema_size;
    out->capacity = power_of_two(capacity, SLR_MIN_CAPACITY);
    uint64_t slots = s->slots;
    if (!slots) {
        slots = out->capacity / 256;
        if (slots < 64) slots = 64;
        if (slots > (1u << 20)) slots = 1u << 20;
    }
    out->slot_count = power_of_two(slots, SLR_MIN_SLOTS);
    out->writer_count = s->max_writers ? s->max_writers : 64;
    out->reader_count = s->max_readers ? s->max_readers : 64;
    out->cursor_count = s->max_cursors ? s->max_cursors : 16;
    if (s->writers == SLIPRING_WRITERS_ONE) out->writer_count = 1;
    slr_geometry_compute(out);
    return SLIPRING_OK;
}

static int differs(const char *topic, const char *argument, uint64_t found, uint64_t asked) {
    char there[32], here[32];
    snprintf(there, sizeof there, "%" PRIu64, found);
    snprintf(here, sizeof here, "%" PRIu64, asked);
    return slr_error_exists(argument, there, here,
                            "topic '%s' exists with %s=%s, asked for %s: omit %s to use the existing value, or remove "
                            "the topic first",
                            topic, argument, there, here, argument);
}

static int differs_word(const char *topic, const char *argument, const char *found, const char *asked) {
    return slr_error_exists(argument, found, asked,
                            "topic '%s' exists with %s=\"%s\", asked for \"%s\": omit %s to use the existing value, or "
                            "remove the topic first",
                            topic, argument, found, asked, argument);
}

int slr_geometry_match(const slipring_settings *s, const struct slr_geometry *found, int delivery, int writers,
                       const char *topic) {
    if (s->delivery >= 0 && s->delivery != delivery)
        return differs_word(topic, "delivery", delivery ? "reliable" : "lossy", s->delivery ? "reliable" : "lossy");
    if (s->writers >= 0 && s->writers != writers)
        return differs_word(topic, "writers", writers ? "one" : "many", s->writers ? "one" : "many");
    if (s->capacity > SLR_MAX_CAPACITY) return out_of_range("capacity", s->capacity, SLR_MAX_CAPACITY);
    if (s->slots > SLR_MAX_SLOTS) return out_of_range("slots", s->slots, SLR_MAX_SLOTS);
    if (s->capacity && power_of_two(s->capacity, SLR_MIN_CAPACITY) != found->capacity &&
        !SLR_DEFECT(other_capacity_accepted))
        return differs(topic, "capacity", found->capacity, s->capacity);
    if (s->slots && power_of_two(s->slots, SLR_MIN_SLOTS) != found->slot_count)
        return differs(topic, "slots", found->slot_count, s->slots);
    if (s->max_writers && writers == SLIPRING_WRITERS_MANY && s->max_writers != found->writer_count)
        return differs(topic, "max_writers", found->writer_count, s->max_writers);
    if (s->max_readers && s->max_readers != found->reader_count)
        return differs(topic, "max_readers", found->reader_count, s->max_readers);
    if (s->max_cursors && s->max_cursors != found->cursor_count)
        return differs(topic, "max_cursors", found->cursor_count, s->max_cursors);
    return SLIPRING_OK;
}
