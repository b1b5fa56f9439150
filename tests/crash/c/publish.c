/* SPDX-License-Identifier: Apache-2.0
 *
 * Publishes as fast as it can: options are the largest body, then ways: send, send_many, loan. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "slipring.h"
#include "storm.h"

static uint8_t room[MOST_IN_A_BATCH][LARGEST];

static int64_t patience(slipring_publisher *pub) { return slipring_publisher_reliable(pub) ? SLIPRING_FOREVER : SLIPRING_NOW; }

/* FULL on a lossy topic: a reader holds a message a whole ring old. */
static bool again(struct storm *me, int code) {
    if (code == SLIPRING_INTERRUPTED) return true;
    if (code != SLIPRING_FULL) return false;
    sched_yield();
    return !stopping(&me->actor);
}

static int send_one(struct storm *me, slipring_publisher *pub) {
    uint64_t counter = me->counter++, seq;
    uint32_t size = body_size(me);
    const char *type = type_of(counter);
    int code;
    body_make(me->actor.incarnation, counter, room[0], size);
    do code = slipring_publisher_send(pub, room[0], size, type, strlen(type), patience(pub), &seq);
    while (again(me, code));
    if (code == SLIPRING_OK) write_down(me, SENT, counter, seq, 1, 0);
    return code;
}

/* Every second counter, because a batch has one type. */
static int send_many(struct storm *me, slipring_publisher *pub) {
    slipring_body bodies[MOST_IN_A_BATCH];
    size_t count = 1 + throw_dice(&me->actor, MOST_IN_A_BATCH - 2), done = 0;
    uint64_t first = me->counter, last = first + 2 * (count - 1);
    const char *type = type_of(first);
    for (size_t i = 0; i < count; i++) {
        bodies[i] = (slipring_body){room[i], body_size(me)};
        body_make(me->actor.incarnation, first + 2 * i, room[i], (uint32_t)bodies[i].size);
    }
    me->counter = last + 1;
    while (done < count) {
        size_t sent = 0;
        uint64_t seq = 0;
        int code = slipring_publisher_try_send_many(pub, bodies + done, count - done, type, strlen(type), &sent, &seq);
        done += sent;
        if (sent) write_down(me, SENT, first + 2 * (done - 1), seq, sent, 0);
        if (code == SLIPRING_FULL && slipring_publisher_reliable(pub)) code = slipring_publisher_wait_space(pub, SLIPRING_FOREVER);
        if (code == SLIPRING_OK || code == SLIPRING_INTERRUPTED) continue;
        write_down(me, MAYBE, last, 0, count - done, 0);
        return code;
    }
    return SLIPRING_OK;
}

static int lend(struct storm *me, slipring_publisher *pub) {
    uint64_t counter = me->counter++;
    uint32_t size = body_size(me);
    const char *type = type_of(counter);
    slipring_claim claim;
    int code;
    do code = slipring_publisher_claim(pub, size, type, strlen(type), patience(pub), &claim);
    while (again(me, code));
    if (code != SLIPRING_OK) return code;
    body_make(me->actor.incarnation | POISON, counter, claim.body, size);
    if (throw_dice(&me->actor, 10) == 0) {
        code = slipring_publisher_abort(pub, &claim);
        if (code == SLIPRING_OK) write_down(me, ABORT, 0, 0, 0, 0);
        return code;
    }
    body_make(me->actor.incarnation, counter, claim.body, size);
    code = slipring_publisher_commit(pub, &claim);
    if (code == SLIPRING_OK) write_down(me, SENT, counter, claim.seq, 1, 0);
    return code;
}

int publish(struct storm *me, char **options, int count) {
    struct actor *actor = &me->actor;
    slipring_publisher *pub;
    if (count < 2) return 2;
    me->largest = strtoull(options[0], NULL, 10);
    if (slipring_publisher_open(actor->bus, actor->topic, actor->sender, strlen(actor->sender), NULL, &pub)) actor_fail("open");
    while (!stopping(actor)) {
        const char *way = options[1 + throw_dice(actor, (uint64_t)count - 1)];
        int code = strcmp(way, "send") == 0 ? send_one(me, pub) : strcmp(way, "loan") == 0 ? lend(me, pub) : send_many(me, pub);
        if (code != SLIPRING_OK && code != SLIPRING_FULL) actor_fail(way);
        beat(actor);
    }
    slipring_publisher_close(pub);
    return 0;
}
