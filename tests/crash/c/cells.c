/* SPDX-License-Identifier: Apache-2.0
 *
 * The ends of cells, as crash/structures.py has them in Python: an element is a body of one size. */
#include <sched.h>
#include <string.h>

#include "slipring.h"
#include "storm.h"

#define ELEMENT 96u

static const uint8_t *element_at(const slipring_cells_shape *shape, uint32_t cell) {
    return (const uint8_t *)shape->cells + cell * shape->stride;
}

int write_cells(struct storm *me, char **options, int count) {
    struct actor *actor = &me->actor;
    slipring_cells_writer *writer;
    slipring_cells_shape shape;
    (void)options;
    if (count) return 2;
    if (slipring_cells_writer_open(actor->bus, actor->topic, &writer)) actor_fail("open");
    slipring_cells_writer_shape(writer, &shape);
    while (!stopping(actor)) {
        uint32_t cell;
        uint64_t seq, counter = me->counter++;
        if (slipring_cells_writer_begin(writer, &cell)) actor_fail("begin");
        uint8_t *place = (uint8_t *)shape.cells + cell * shape.stride;
        body_make(actor->incarnation | POISON, counter, place, ELEMENT);
        if (throw_dice(actor, 10) == 0) continue; /* never put: the next one fills the same cell */
        body_make(actor->incarnation, counter, place, ELEMENT);
        if (slipring_cells_writer_commit(writer, &seq)) actor_fail("commit");
        write_down(me, SENT, counter, seq, 1, 0);
        beat(actor);
    }
    slipring_cells_writer_close(writer);
    return 0;
}

static struct record row(const slipring_cells_shape *shape, const slipring_element *element) {
    uint64_t counter, who = element_check(element_at(shape, element->cell), ELEMENT, &counter);
    sched_yield();
    uint64_t counter_again, who_again = element_check(element_at(shape, element->cell), ELEMENT, &counter_again);
    return (struct record){GOT, element->seq, who == who_again && counter == counter_again ? who : CHANGED, counter, UNKNOWN};
}

static size_t take(struct storm *me, slipring_cells_reader *reader, const slipring_cells_shape *shape, struct record *rows) {
    const slipring_element *elements;
    slipring_element newest;
    size_t count = 0;
    if (throw_dice(&me->actor, 2)) {
        if (slipring_cells_reader_take(reader, &elements, &count)) actor_fail("take");
        for (size_t i = 0; i < count; i++) rows[i] = row(shape, &elements[i]);
        return count;
    }
    int code = slipring_cells_reader_take_newest(reader, &newest);
    if (code == SLIPRING_EMPTY) return 0;
    if (code) actor_fail("take newest");
    rows[0] = row(shape, &newest);
    return 1;
}

int read_cells(struct storm *me, char **options, int count) {
    struct actor *actor = &me->actor;
    slipring_cells_reader *reader;
    slipring_cells_shape shape;
    static struct record rows[64];
    (void)options;
    if (count) return 2;
    if (slipring_cells_reader_open(actor->bus, actor->topic, &reader)) actor_fail("open");
    slipring_cells_reader_shape(reader, &shape);
    for (;;) {
        int code = slipring_cells_reader_wait(reader, slipring_deadline(POLL_S), 0);
        if (code != SLIPRING_OK && code != SLIPRING_TIMEOUT && code != SLIPRING_INTERRUPTED) actor_fail("wait");
        size_t got = take(me, reader, &shape, rows);
        if (!got && reached_end(actor, 0)) break;
        if (!got) continue;
        append(actor, rows, got * sizeof *rows);
        beat(actor);
    }
    slipring_cells_reader_close(reader);
    return 0;
}
