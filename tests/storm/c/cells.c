/* SPDX-License-Identifier: Apache-2.0
 *
 * The ends of cells, as crash/storms/structures.py has them in Python: an element is a body of one size. */
#include <sched.h>
#include <string.h>

#include "slipring.h"
#include "storm.h"

#define ELEMENT 96u

static const uint8_t *element_at(const slipring_cells_shape *shape, uint32_t cell) {
    return (const uint8_t *)shape->cells + cell * shape->stride;
}

int write_cells(struct worker *me, char **options, int count) {
    struct life *life = &me->life;
    slipring_cells_writer *writer;
    slipring_cells_shape shape;
    (void)options;
    if (count) return 2;
    if (slipring_cells_writer_open(life->bus, life->topic, &writer)) life_fail("open");
    slipring_cells_writer_shape(writer, &shape);
    while (!stopping(life)) {
        uint32_t cell;
        uint64_t seq, who = next_identity(me, 1);
        if (slipring_cells_writer_begin(writer, &cell)) life_fail("begin");
        uint8_t *place = (uint8_t *)shape.cells + cell * shape.stride;
        body_make(who | POISON, place, ELEMENT);
        if (throw_dice(life, 10) == 0) continue; /* never put: the next one fills the same cell */
        body_make(who, place, ELEMENT);
        if (slipring_cells_writer_commit(writer, &seq)) life_fail("commit");
        write_down(me, SENT, seq, who, 1, 1);
        beat(life);
    }
    slipring_cells_writer_close(writer);
    return 0;
}

static struct record row(const struct worker *me, const slipring_cells_shape *shape, const slipring_element *element) {
    const uint8_t *body = element_at(shape, element->cell);
    uint64_t sent_ns, who = element_check(body, ELEMENT, &sent_ns);
    if (!who) return record(me, CORRUPT, element->seq, 0, TORN, 0);
    sched_yield();
    if (element_check(body, ELEMENT, &sent_ns) != who) return record(me, CORRUPT, element->seq, who, CHANGED, 0);
    return record(me, RECEIVED, element->seq, who, sent_ns, ELEMENT);
}

static size_t take(struct worker *me, slipring_cells_reader *reader, const slipring_cells_shape *shape, struct record *rows) {
    const slipring_element *elements;
    slipring_element newest;
    size_t count = 0;
    if (throw_dice(&me->life, 2)) {
        if (slipring_cells_reader_take(reader, &elements, &count)) life_fail("take");
        for (size_t i = 0; i < count; i++) rows[i] = row(me, shape, &elements[i]);
        return count;
    }
    int code = slipring_cells_reader_take_newest(reader, &newest);
    if (code == SLIPRING_EMPTY) return 0;
    if (code) life_fail("take newest");
    rows[0] = row(me, shape, &newest);
    return 1;
}

int read_cells(struct worker *me, char **options, int count) {
    struct life *life = &me->life;
    slipring_cells_reader *reader;
    slipring_cells_shape shape;
    static struct record rows[64];
    (void)options;
    if (count) return 2;
    if (slipring_cells_reader_open(life->bus, life->topic, &reader)) life_fail("open");
    slipring_cells_reader_shape(reader, &shape);
    for (;;) {
        int code = slipring_cells_reader_wait(reader, slipring_deadline(POLL_S), 0);
        if (code != SLIPRING_OK && code != SLIPRING_TIMEOUT && code != SLIPRING_INTERRUPTED) life_fail("wait");
        size_t got = take(me, reader, &shape, rows);
        if (!got && reached_end(life, 0)) break;
        if (!got) continue;
        append(life, rows, got * sizeof *rows);
        beat(life);
    }
    slipring_cells_reader_close(reader);
    return 0;
}
