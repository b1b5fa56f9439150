/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges: the messages between two sequences, read any number of times. For programs that plan first and read later, in another
 * process and possibly twice, as a Spark job does. A range has no entry in any table, holds nothing back, and stores nothing
 * in shared memory. A cursor keeps the messages that must not disappear in the meantime.
 *
 * Every sequence of a range is passed on once: as a message, or in a hole. A hole contains the number of its sequences that were
 * messages and are lost. Abandoned sequences, which never became messages, are in holes, too, and are not counted as lost.
 *
 * A range uses a reader by copy without an entry (read.c). That reader counts a loss whenever it is lapped, which is always
 * between two messages. So the growth of its count belongs to the hole between them.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "ports/subscriber.h"
#include "ring/loss.h"
#include "ring/slot_state.h"

#define FEW 16 /* messages shown one by one before the next run is tried */

struct slipring_range {
    slipring_subscriber reader;
    bool begun;
    uint64_t expected;   /* the next sequence to pass on */
    uint64_t lost_known; /* part of reader.lost in holes passed on so far */
    uint64_t until;
    uint64_t last; /* message shown */
    size_t shown;  /* in one call of drain */
    const slipring_range_sink *sink;
    void *context;
};

int slipring_range_open(const char *bus, const char *topic, slipring_range **out) {
    slipring_range *range = calloc(1, sizeof *range);
    if (!range) return slr_error_errno("cannot read topic '%s'", topic);
    range->reader.entry = range->reader.cursor = -1;
    int code = slr_segment_open(bus, topic, SLR_INSPECT, &range->reader.s);
    if (code)
        free(range);
    else
        *out = range;
    return code;
}

void slipring_range_close(slipring_range *range) {
    slr_segment_close(range->reader.s);
    free(range);
}

static uint64_t oldest_of(const struct slr_segment *s) {
    uint64_t oldest = slr_load_acquire(&s->ring->oldest), tail = slr_load_acquire(&s->ring->tail);
    return tail - oldest > s->slot_count ? tail - s->slot_count : oldest; /* damaged contents, or the two loads happened at different moments */
}

uint64_t slipring_range_generation(const slipring_range *range) { return range->reader.s->generation; }

bool slipring_range_reliable(const slipring_range *range) { return range->reader.s->delivery == SLR_RELIABLE; }

int slipring_range_schema(const slipring_range *range, void *buffer, size_t room, size_t *size) {
    return slr_segment_schema(range->reader.s, buffer, room, size);
}

int slipring_range_oldest(slipring_range *range, uint64_t *seq) {
    *seq = oldest_of(range->reader.s);
    return slr_segment_check_file(range->reader.s);
}

int slipring_range_settled(slipring_range *range, uint64_t start, uint64_t rows, uint64_t bytes, uint64_t *end) {
    const struct slr_segment *s = range->reader.s;
    uint64_t oldest = oldest_of(s), seq = start < oldest ? oldest : start, size = 0;
    int code = slr_segment_check_file(s);
    if (code) return code;
    if (rows > s->slot_count) rows = s->slot_count;
    for (uint64_t count = 0; count < rows; count++, seq++) {
        uint64_t word;
        enum slr_finding finding = slr_slot_read(s, seq, &word);
        if (finding == SLR_DAMAGED) return slr_error_damaged("a slot is in an unknown state");
        if (finding == SLR_NOTHING || finding == SLR_OPEN_CLAIM) break;
        if (finding == SLR_FOUND) size += slr_lengths_body(slr_load_relaxed(&slr_slot_of(s, seq)->lengths));
        if (count && size > bytes) break;
    }
    *end = seq;
    return SLIPRING_OK;
}

int slipring_range_at_time(slipring_range *range, int64_t time_ns, uint64_t *seq) {
    const struct slr_segment *s = range->reader.s;
    uint64_t word;
    enum slr_finding finding;
    int code = slr_segment_check_file(s);
    if (code) return code;
    uint64_t at = oldest_of(s);
    /* Check one by one: the times of several publishers are not ordered, so no binary search is possible. */
    for (uint64_t count = 0; count < s->slot_count; count++, at++) {
        finding = slr_slot_read(s, at, &word);
        if (finding == SLR_NOTHING || (finding == SLR_FOUND && slr_load_relaxed(&slr_slot_of(s, at)->time_ns) >= time_ns)) break;
    }
    *seq = at;
    return SLIPRING_OK;
}

int slipring_range_begin(slipring_range *range, uint64_t from) {
    slipring_subscriber *reader = &range->reader;
    int code = slr_segment_check_file(reader->s);
    /* A reader that continues where it ended knows its count of abandoned sequences (loss.c): do not start it again. */
    if (code || (range->begun && from == range->expected)) return code;
    reader->lost = range->lost_known = 0;
    range->expected = from;
    range->begun = true;
    return slr_start_at(reader, SLIPRING_START_SEQ, from);
}

/* Pass on the hole before seq, if there is one. False: the sink has stopped. */
static bool show_hole(slipring_range *range, uint64_t seq, uint64_t lost) {
    if (seq == range->expected) return true;
    uint64_t span = seq - range->expected;
    if (!range->sink->hole(range->context, range->expected, span, lost < span ? lost : span)) return false;
    range->expected = seq;
    range->lost_known = range->reader.lost;
    return true;
}

static bool show(void *context, const slipring_message *message) {
    slipring_range *range = context;
    if (message->seq >= range->until || !show_hole(range, message->seq, range->reader.lost - range->lost_known)) return false;
    if (!range->sink->message(range->context, message)) return false;
    range->shown++;
    range->last = message->seq;
    range->expected = message->seq + 1;
    return true;
}

/* Return how many messages were lost between until and the position of a reader that was lapped: the next range counts them. */
static uint64_t lost_beyond(const slipring_range *range) {
    const slipring_subscriber *reader = &range->reader;
    uint64_t abandoned = 0, beyond = reader->position - range->until;
    if (reader->lost == range->lost_known) return 0;
    if (reader->abandoned != SLR_UNKNOWN)
        slr_loss_abandoned(reader->s, range->until, reader->position, reader->abandoned, &abandoned);
    return beyond - (abandoned < beyond ? abandoned : beyond);
}

static void show_end(slipring_range *range) {
    uint64_t lost = range->reader.lost - range->lost_known, beyond = lost_beyond(range);
    if (beyond > lost) beyond = lost;
    if (show_hole(range, range->until, lost - beyond)) range->lost_known -= beyond;
}

int slipring_range_read(slipring_range *range, uint64_t until, const slipring_range_sink *sink, void *context,
                        uint64_t *reached) {
    slipring_subscriber *reader = &range->reader;
    int code = SLIPRING_OK;
    range->until = until;
    range->sink = sink;
    range->context = context;
    while (!code && range->expected < until) {
        size_t taken;
        if (reader->position >= until) {
            show_end(range);
            break;
        }
        size_t run = sink->run && reader->position == range->expected ? sink->run(context, reader, until - reader->position) : 0;
        range->expected += run;
        if (run) continue;
        uint64_t left = until - reader->position;
        range->shown = 0;
        code = slipring_subscriber_drain(reader, (size_t)(sink->run && left > FEW ? FEW : left), show, range, &taken);
        bool refused = !code && taken == 0 && reader->position < until;
        if (range->shown > taken) { /* the last one was overwritten while it was copied */
            sink->drop(context);
            range->expected = range->last;
        }
        if (refused) break;
        /* Empty at the end: the last sequences were abandoned. */
        if (code == SLIPRING_LAPPED || (code == SLIPRING_EMPTY && reader->position >= until)) code = SLIPRING_OK;
    }
    if (code == SLIPRING_EMPTY)
        code = slr_error(SLIPRING_BAD_ARGUMENT, "end", "end=%" PRIu64 " is beyond the end of the settled sequences, %" PRIu64, until,
                         reader->position);
    *reached = range->expected;
    return code;
}
