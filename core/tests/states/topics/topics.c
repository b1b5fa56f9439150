/* SPDX-License-Identifier: Apache-2.0 */
#include "operations.h"

#define LOSSY SLIPRING_LOSSY
#define RELIABLE SLIPRING_RELIABLE
#define MANY SLIPRING_WRITERS_MANY
#define ONE SLIPRING_WRITERS_ONE
#define ON_ALL(name, before) \
    {"lossy, many writers, " name, LOSSY, MANY, before, 0}, {"lossy, one writer, " name, LOSSY, ONE, before, 0}, \
    {"reliable, many writers, " name, RELIABLE, MANY, before, 0}, {"reliable, one writer, " name, RELIABLE, ONE, before, 0}
#define WITH_DEAD(delivery, name, steps) \
    {name ", many writers, one dead after " #steps " steps", delivery, MANY, DEAD, steps}, \
    {name ", one writer, dead after " #steps " steps", delivery, ONE, DEAD, steps}

static const struct setup setups[] = {
    ON_ALL("empty", EMPTY), ON_ALL("slot wrap", SLOT_WRAP), ON_ALL("payload wrap", PAYLOAD_WRAP), ON_ALL("round", ROUND),
    ON_ALL("full", FULL), ON_ALL("held", HELD), ON_ALL("cursor", CURSOR), ON_ALL("round by bytes", HEAVY), ON_ALL("run across the wrap", LONG),
    {"lossy, many writers, full tables", LOSSY, MANY, CROWDED, 0},
    {"reliable, many writers, full tables", RELIABLE, MANY, CROWDED, 0},
    WITH_DEAD(LOSSY, "lossy", 2), WITH_DEAD(LOSSY, "lossy", 3),
    WITH_DEAD(RELIABLE, "reliable", 5), WITH_DEAD(RELIABLE, "reliable", 8),
};
static const char *const suffixes[] = {"ring", "readers", NULL};

static struct operation operations[64];
static struct subject subject = {
    .name = "topics", .suffixes = suffixes, .setups = setups, .setup_count = sizeof setups / sizeof setups[0],
    .operations = operations, .recoverers = topic_recoverers, .begin = topic_begin, .judge = topic_judge, .end = topic_end,
    .save = topic_save, .restore = topic_restore,
};

static void add(const struct operation *some, size_t count) {
    for (size_t i = 0; i < count; i++) operations[subject.operation_count++] = some[i];
}

const struct subject *subject_of_this_program(void) {
    add(publishing, publishing_count);
    add(reading_ops, reading_op_count);
    add(after_deaths, after_death_count);
    subject.recoverer_count = topic_recoverer_count;
    return &subject;
}
