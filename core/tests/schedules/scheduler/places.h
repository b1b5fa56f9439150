/* SPDX-License-Identifier: Apache-2.0
 *
 * The places of shared memory that a run touched, each with all its stores. Memory itself always holds the newest of each;
 * after a run everything is put back.
 */
#ifndef SCHEDULES_PLACES_H
#define SCHEDULES_PLACES_H

#include <stdbool.h>

#include "view.h"

#define MOST_STORES_OF_ONE 400

struct store {
    uint64_t value;
    struct view view; /* what an acquiring load of it takes over */
};

struct place {
    uintptr_t address;
    unsigned size, heat;
    uint16_t count;
    uint16_t store[MOST_STORES_OF_ONE]; /* [0]: what was there when the run began */
};

void places_init(void);
void places_alias(const void *place, const void *original, uint64_t size);
void places_begin(void);
void places_end(void);
int places_find(const volatile void *p, unsigned size); /* its number, in the order of being touched */
struct place *places_at(int place);
struct store *places_store(const struct place *place, int which);
struct store *places_append(struct place *place, uint64_t value);

/* Whether it matters when the current thread loads or stores there: others store, or load what it stores. What nobody shares
 * needs no decision. */
bool places_hot(int place, bool stores);

uint64_t places_raw(const volatile void *p, unsigned size);
void places_set_raw(volatile void *p, unsigned size, uint64_t value);

#endif
