/* SPDX-License-Identifier: Apache-2.0 */
#include "ring_setup.h"

#include "ports/publisher.h"

#define TOPIC "t"
#define CAPACITY 4096

struct ring_state ring;

/* All but a few words of the payload, in a claim that never becomes a message. */
static void fill_payload(slipring_publisher *pub, uint64_t used) {
    slipring_claim claim;
    MUST_OK(slipring_publisher_claim(pub, CAPACITY - used, "", 0, SLIPRING_NOW, &claim));
    MUST_OK(slipring_publisher_abort(pub, &claim));
}

void ring_open_reader(void) {
    slipring_subscriber_settings how = {.start = SLIPRING_START_OLDEST, .lossy = -1};
    slipring_counts counts;
    MUST_OK(slipring_subscriber_open(schedules_bus, TOPIC, &how, &ring.sub));
    slipring_subscriber_counts(ring.sub, &counts);
    ring.begun_at = counts.position;
}

void ring_setup(struct ring_how how) {
    slipring_settings settings = {.capacity = CAPACITY, .slots = RING_SLOTS, .delivery = how.delivery, .writers = how.one,
                                  .max_writers = how.one ? 0 : 3, .max_readers = 2, .max_cursors = 1};
    int before = how.edge == SLOTS_EDGE ? RING_SLOTS - 1 : how.edge == PAYLOAD_EDGE ? 2 : 0;
    ring.how = how;
    for (int w = 0; w < (how.one ? 1 : 2); w++) {
        schedules_owner(w);
        MUST_OK(slipring_publisher_open(schedules_bus, TOPIC, "", 0, &settings, &ring.pub[w]));
    }
    const struct slr_segment *s = ring.pub[0]->s;
    memory_alias(s->payload + s->capacity, s->payload, s->capacity);
    for (int i = 0; i < before; i++) MUST_OK(ring_send(ring.pub[0], RING_SETUP, (uint64_t)i + 1, SLIPRING_NOW));
    if (how.edge == PAYLOAD_EDGE) fill_payload(ring.pub[0], (uint64_t)before * RING_BODY);
    ring.sent_before = (uint64_t)before;
    schedules_owner(2);
    if (!how.joins) ring_open_reader();
    schedules_owner(SCHEDULES_NOBODY);
    MUST_OK(slipring_inspector_open(schedules_bus, TOPIC, &ring.inspector));
}

/* Judging ----------------------------------------------------------------------------------------------------- */

static void drain_rest(void) {
    while (ring_read_one()) continue;
}

static void account(void) {
    for (int seq = 0; seq < 64; seq++)
        MUST(!ring.got[seq] || !ring.stamp_of[seq] || ring.got[seq] == ring.stamp_of[seq], "message %d is another than was sent",
             seq);
    slipring_topic_info info;
    slipring_counts counts = ring_counts();
    MUST_OK(slipring_inspector_topic(ring.inspector, &info));
    MUST(info.unsettled == 0, "%d claims are open", (int)info.unsettled);
    uint64_t before = 0; /* messages the reader was not there for */
    for (uint64_t seq = 0; ring.how.joins && seq < ring.begun_at; seq++) before += ring.stamp_of[seq & 63] != 0;
    if (!schedules_any_crash())
        MUST(info.published == ring.sent_before + ring.sent, "%d messages are published, %d were sent", (int)info.published,
             (int)(ring.sent_before + ring.sent));
    MUST(counts.received == ring.received, "the reader counts %d received, %d were", (int)counts.received, (int)ring.received);
    if (!(schedules_any_crash() && ring.how.joins))
        MUST(counts.received + counts.lost + counts.filtered + before == info.published,
             "received %d + lost %d, but %d are published", (int)counts.received, (int)counts.lost, (int)info.published);
    MUST(ring.how.delivery == SLIPRING_LOSSY || counts.lost == 0, "a reliable reader lost %d", (int)counts.lost);
    schedules_outcome(counts.lost);
    schedules_outcome(ring.refused);
}

/* A surviving or a new publisher sends more messages than the ring holds. A live reader receives each. */
static void go_on(bool reader_lives) {
    slipring_publisher *pub = NULL;
    uint64_t seq;
    for (int w = 0; w < 2; w++)
        if (ring.pub[w] && !schedules_crashed(w)) pub = ring.pub[w];
    if (!pub) MUST_OK(slipring_publisher_open(schedules_bus, TOPIC, "", 0, NULL, &pub));
    for (int i = 0; i < RING_SLOTS + 4; i++) {
        uint64_t body[2] = {(uint64_t)RING_SETUP << 32 | (uint64_t)(1000 + i), 0};
        body[1] = ring_second_word(body[0]);
        MUST_OK(slipring_publisher_send(pub, body, RING_BODY, "", 0, SLIPRING_NOW, &seq));
        ring.stamp_of[seq & 63] = body[0];
        if (reader_lives) MUST(ring_read_one(), "message %d does not arrive after a death", (int)seq);
    }
}

void ring_judge(void) {
    uint32_t swept;
    bool reader_lives = !schedules_crashed(2) && ring.sub;
    if (schedules_any_crash()) MUST_OK(slipring_topic_sweep(schedules_bus, TOPIC, &swept));
    MUST_OK(slipring_inspector_verify(ring.inspector));
    if (reader_lives) {
        drain_rest();
        account();
    }
    if (schedules_any_crash()) {
        go_on(reader_lives);
        MUST_OK(slipring_inspector_verify(ring.inspector));
    }
}
