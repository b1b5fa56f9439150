/* SPDX-License-Identifier: Apache-2.0
 *
 *     worker ROLE, what life_begin wants, options of the role
 */
#include <string.h>

#include "storm.h"

struct record record(const struct worker *me, enum kind kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return (struct record){(uint64_t)kind | (uint64_t)me->life.topic_number << 8, (uint64_t)now_ns(), a, b, c, d};
}

void write_down(struct worker *me, enum kind kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    struct record written = record(me, kind, a, b, c, d);
    append(&me->life, &written, sizeof written);
}

uint64_t next_identity(struct worker *me, uint64_t step) { return me->life.incarnation << 32 | (me->counter += step); }

int main(int count, char **arguments) {
    static struct worker me;
    static const struct {
        const char *name;
        int (*run)(struct worker *me, char **options, int count);
    } roles[] = {{"publisher", publish},       {"reader", read_topic},         {"cells_writer", write_cells},
                 {"cells_reader", read_cells}, {"frame_writer", write_frames}, {"frame_reader", read_frames}};
    if (count < 2 + LIFE_ARGUMENTS) return 2;
    life_begin(&me.life, arguments + 2);
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].name, arguments[1]) == 0)
            return roles[i].run(&me, arguments + 2 + LIFE_ARGUMENTS, count - 2 - LIFE_ARGUMENTS);
    return 2;
}
