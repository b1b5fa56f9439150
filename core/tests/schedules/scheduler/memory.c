/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include "places.h"
#include "schedules.h"

#define MOST_LOCKS 64

struct reader {
    struct view now, acquired, released; /* its view; what an acquire fence would add; that of its last release fence */
    int last_load, last_read;            /* if its last access was a load: place and store; else place -1 */
};

static struct {
    struct reader thread[SCHEDULES_MOST_THREADS];
    struct view lock[MOST_LOCKS], common;
    uint64_t let_go[MOST_LOCKS]; /* how often */
} *m;

void memory_init(void) {
    m = kernel_memory(sizeof *m);
    places_init();
}

void memory_alias(const void *place, const void *original, uint64_t size) { places_alias(place, original, size); }

void memory_begin(int threads) {
    places_begin();
    m->common.count = 0;
    for (int t = 0; t < threads; t++) {
        struct reader *r = &m->thread[t];
        r->now.count = r->acquired.count = r->released.count = 0;
        r->last_load = -1;
    }
    for (int l = 0; l < MOST_LOCKS; l++) {
        m->lock[l].count = 0;
        m->let_go[l] = 0;
    }
}

void memory_end(void) { places_end(); }

static struct reader *me(void) { return &m->thread[schedules_self()]; }
static bool acquires(enum order order) { return order == ACQUIRE || order == ACQ_REL || order == SEQ_CST; }
static bool releases(enum order order) { return order == RELEASE || order == ACQ_REL || order == SEQ_CST; }

static uint64_t read_store(int place, int which, enum order order) {
    const struct store *s = places_store(places_at(place), which);
    struct reader *t = me();
    schedules_did(places_at(place)->address << 12 | (uint64_t)which);
    view_see(&t->now, place, (uint16_t)which);
    view_join(&t->acquired, &s->view);
    if (acquires(order)) view_join(&t->now, &s->view);
    return s->value;
}

static void write_store(int place, uint64_t value, enum order order, const struct view *handed_on) {
    struct place *l = places_at(place);
    struct reader *t = me();
    uint16_t which = l->count;
    struct store *s = places_append(l, value);
    schedules_did(l->address << 12 | 0x800 | which);
    t->last_load = -1;
    view_see(&t->now, place, which);
    view_copy(&s->view, releases(order) ? &t->now : &t->released);
    view_see(&s->view, place, which);
    if (handed_on) view_join(&s->view, handed_on);
    if (order == SEQ_CST) view_see(&m->common, place, which);
    places_set_raw((volatile void *)l->address, l->size, value);
}

/* The same load again, without a store in between. A switch before the first load is as good as one here. */
static bool same_again(int place) {
    return me()->last_load == place && me()->last_read == places_at(place)->count - 1;
}

/* How many stores before the newest the current thread may still read. */
static int reach_back(int place, enum order order) {
    uint16_t oldest = view_seen(&me()->now, place);
    if (order == SEQ_CST && oldest < view_seen(&m->common, place)) oldest = view_seen(&m->common, place);
    int back = places_at(place)->count - 1 - oldest;
    return back < MEMORY_STALEST ? back : MEMORY_STALEST;
}

uint64_t memory_load(const volatile void *p, unsigned size, enum order order) {
    if (!schedules_shared(p)) return places_raw(p, size);
    int place = places_find(p, size);
    bool hot = places_hot(place, false);
    schedules_point(hot && !same_again(place));
    int back = reach_back(place, order), newest = places_at(place)->count - 1;
    me()->last_read = newest - schedules_stale(back);
    me()->last_load = place;
    return read_store(place, me()->last_read, order);
}

void memory_store(volatile void *p, unsigned size, uint64_t value, enum order order) {
    if (!schedules_shared(p)) {
        places_set_raw(p, size, value);
        return;
    }
    int place = places_find(p, size);
    schedules_point(places_hot(place, true));
    write_store(place, value, order, NULL);
}

static uint64_t read_newest_and_write(int place, uint64_t value, enum order order) {
    int newest = places_at(place)->count - 1;
    const struct view *view = &places_store(places_at(place), newest)->view;
    uint64_t old = read_store(place, newest, order);
    write_store(place, value, order, view);
    return old;
}

/* A swap that succeeds reads the newest store; one that fails any other that is not what was expected. */
bool memory_swap_if(volatile void *p, unsigned size, uint64_t expected, uint64_t desired, enum order order,
                    enum order failure) {
    if (!schedules_shared(p)) {
        bool same = places_raw(p, size) == expected;
        if (same) places_set_raw(p, size, desired);
        return same;
    }
    int place = places_find(p, size);
    schedules_point(places_hot(place, true));
    int newest = places_at(place)->count - 1, older[MEMORY_STALEST + 1], count = 0;
    for (int back = 1; back <= reach_back(place, failure); back++)
        if (places_store(places_at(place), newest - back)->value != expected) older[++count] = newest - back;
    older[0] = newest;
    int which = older[schedules_stale(count)];
    if (which == newest && places_store(places_at(place), newest)->value == expected) {
        read_newest_and_write(place, desired, order);
        return true;
    }
    me()->last_load = -1;
    read_store(place, which, failure);
    return false;
}

uint64_t memory_change(volatile void *p, unsigned size, enum change how, uint64_t by, enum order order) {
    uint64_t mask = size == 8 ? UINT64_MAX : UINT32_MAX;
    int place = -1;
    if (schedules_shared(p)) {
        place = places_find(p, size);
        schedules_point(places_hot(place, true));
    }
    uint64_t old = places_raw(p, size), value = (how == CHANGE_ADD ? old + by : old | by) & mask;
    if (place >= 0) return read_newest_and_write(place, value, order);
    places_set_raw(p, size, value);
    return old;
}

void memory_fence(enum order order) {
    if (!schedules_running()) return;
    if (order == SEQ_CST) schedules_point(true);
    struct reader *t = me();
    t->last_load = -1;
    if (acquires(order)) view_join(&t->now, &t->acquired);
    if (order == SEQ_CST) {
        view_join(&t->now, &m->common);
        view_copy(&m->common, &t->now);
    }
    if (releases(order)) view_copy(&t->released, &t->now);
    schedules_did(UINT64_C(0xfe9ce) + order);
}

static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Views follow from what everybody read and stored; in which order fences were passed, only from the common one. */
uint64_t memory_common_hash(void) {
    uint64_t sum = 0;
    for (int i = 0; i < m->common.count; i++)
        if (m->common.seen[i]) sum += mix(places_at(i)->address << 12 | m->common.seen[i]);
    return sum;
}

uint64_t memory_newest(const volatile void *p, unsigned size) { return places_raw(p, size); }

void memory_lock_released(int lock) {
    view_join(&m->lock[lock], &me()->now);
    m->let_go[lock]++;
}

void memory_lock_seen(int lock) {
    view_join(&me()->now, &m->lock[lock]);
    schedules_did(m->let_go[lock]);
}
