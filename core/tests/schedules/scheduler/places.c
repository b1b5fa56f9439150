/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include "schedules.h"

#define MOST_STORES 6000
#define MOST_UNDONE 60000
#define BUCKETS 2048

static struct {
    struct place place[MOST_PLACES];
    struct store store[MOST_STORES];
    int16_t bucket[BUCKETS];
    int places, stores;
    struct heat { /* over all runs: who loads and who stores, a bit each */
        uintptr_t address;
        uint8_t readers, writers;
    } heat[BUCKETS];
    uintptr_t alias, original;
    uint64_t alias_size;
    bool in_run; /* or judging it */
    struct undone { /* what the judge overwrote */
        volatile void *p;
        unsigned size;
        uint64_t value;
    } undone[MOST_UNDONE];
    int undone_count;
} *m;

void places_init(void) { m = kernel_memory(sizeof *m); }

void places_alias(const void *place, const void *original, uint64_t size) {
    m->alias = (uintptr_t)place;
    m->original = (uintptr_t)original;
    m->alias_size = size;
}

struct place *places_at(int place) { return &m->place[place]; }
struct store *places_store(const struct place *place, int which) { return &m->store[place->store[which]]; }

uint64_t places_raw(const volatile void *p, unsigned size) {
    return size == 8 ? *(const volatile uint64_t *)p : *(const volatile uint32_t *)p;
}

void places_set_raw(volatile void *p, unsigned size, uint64_t value) {
    if (m->in_run && !schedules_running() && !schedules_private(p)) {
        if (m->undone_count == MOST_UNDONE) schedules_broken("the judge writes too much");
        m->undone[m->undone_count++] = (struct undone){.p = p, .size = size, .value = places_raw(p, size)};
    }
    if (size == 8)
        *(volatile uint64_t *)p = value;
    else
        *(volatile uint32_t *)p = (uint32_t)value;
}

struct store *places_append(struct place *place, uint64_t value) {
    if (m->stores == MOST_STORES || place->count == MOST_STORES_OF_ONE) schedules_broken("a run has too many stores");
    struct store *s = &m->store[m->stores];
    place->store[place->count++] = (uint16_t)m->stores++;
    s->value = value;
    s->view.count = 0;
    return s;
}

static unsigned hash(uintptr_t address) { return (unsigned)((address >> 2) * 0x9e3779b1u >> 7) % BUCKETS; }

static unsigned heat_of(uintptr_t address) {
    unsigned h = hash(address);
    while (m->heat[h].address && m->heat[h].address != address) h = (h + 1) % BUCKETS;
    m->heat[h].address = address;
    return h;
}

int places_find(const volatile void *p, unsigned size) {
    uintptr_t address = (uintptr_t)p;
    if (address - m->alias < m->alias_size) address = address - m->alias + m->original;
    unsigned h = hash(address);
    for (; m->bucket[h] >= 0; h = (h + 1) % BUCKETS)
        if (m->place[m->bucket[h]].address == address) {
            if (m->place[m->bucket[h]].size != size) schedules_broken("one place is accessed with two sizes");
            return m->bucket[h];
        }
    if (m->places == MOST_PLACES) schedules_broken("a run has too many places");
    m->bucket[h] = (int16_t)m->places;
    struct place *place = &m->place[m->places];
    place->address = address;
    place->size = size;
    place->heat = heat_of(address);
    place->count = 0;
    places_append(place, places_raw(p, size));
    return m->places++;
}

bool places_hot(int place, bool stores) {
    struct heat *heat = &m->heat[m->place[place].heat];
    uint8_t me = (uint8_t)(1u << schedules_self());
    uint8_t *bits = stores ? &heat->writers : &heat->readers;
    bool known = *bits & me;
    *bits |= me;
    uint8_t users = heat->readers | heat->writers;
    bool hot = heat->writers && (users & (users - 1)); /* stored by somebody, used by two */
    if (hot && !known) schedules_heat_grew();
    return hot;
}

void places_begin(void) {
    memset(m->bucket, 0xff, sizeof m->bucket);
    m->places = m->stores = 0;
    m->in_run = true;
    m->undone_count = 0;
}

void places_end(void) {
    m->in_run = false;
    while (m->undone_count) {
        const struct undone *u = &m->undone[--m->undone_count];
        places_set_raw(u->p, u->size, u->value);
    }
    for (int i = 0; i < m->places; i++)
        places_set_raw((volatile void *)m->place[i].address, m->place[i].size, places_store(&m->place[i], 0)->value);
    m->places = m->stores = 0;
}
