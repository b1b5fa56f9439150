/* SPDX-License-Identifier: Apache-2.0
 *
 * Options: usual and largest body, smallest one of a single send, aborted loans in a thousand, nanoseconds between two
 * messages (0: as fast as it can), then ways: send, send_many, loan. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "slipring.h"
#include "storm.h"

static struct sizes sizes;
static uint64_t aborted;
static uint8_t *room[MOST_IN_A_BATCH];

static int64_t patience(slipring_publisher *pub) { return slipring_publisher_reliable(pub) ? SLIPRING_FOREVER : SLIPRING_NOW; }

/* FULL on a lossy topic: a reader holds a message a whole ring old. */
static bool again(struct worker *me, int code) {
    if (code == SLIPRING_INTERRUPTED) return true;
    if (code != SLIPRING_FULL) return false;
    sched_yield();
    return !stopping(&me->life);
}

static int report(struct worker *me, int code, uint64_t seq, uint64_t identity) {
    if (code == SLIPRING_OK) write_down(me, SENT, seq, identity, 1, 1);
    if (code == SLIPRING_FULL) write_down(me, REFUSED, 0, identity, 1, 1);
    return code;
}

static int send_one(struct worker *me, slipring_publisher *pub) {
    uint64_t who = next_identity(me, 1), seq = 0;
    uint32_t size = body_size(me, &sizes, false);
    const char *type = type_of(who);
    int code;
    body_make(who, room[0], size);
    do code = slipring_publisher_send(pub, room[0], size, type, strlen(type), patience(pub), &seq);
    while (again(me, code));
    return report(me, code, seq, who);
}

/* Every second counter, because a batch has one type. */
static int send_many(struct worker *me, slipring_publisher *pub) {
    slipring_body bodies[MOST_IN_A_BATCH];
    size_t count = 1 + throw_dice(&me->life, MOST_IN_A_BATCH - 1), done = 0;
    uint64_t first = next_identity(me, 1), last = count > 1 ? next_identity(me, 2 * (count - 1)) : first;
    const char *type = type_of(first);
    for (size_t i = 0; i < count; i++) {
        bodies[i] = (slipring_body){room[i], body_size(me, &sizes, true)};
        body_make(first + 2 * i, room[i], (uint32_t)bodies[i].size);
    }
    while (done < count) {
        size_t sent = 0;
        uint64_t seq = 0;
        int code = slipring_publisher_try_send_many(pub, bodies + done, count - done, type, strlen(type), &sent, &seq);
        done += sent;
        if (sent) write_down(me, SENT, seq, first + 2 * (done - 1), sent, 2);
        if (code == SLIPRING_FULL && slipring_publisher_reliable(pub)) code = slipring_publisher_wait_space(pub, SLIPRING_FOREVER);
        if (code == SLIPRING_OK || code == SLIPRING_INTERRUPTED) continue;
        write_down(me, REFUSED, 0, last, count - done, 2);
        return code;
    }
    return SLIPRING_OK;
}

static int lend(struct worker *me, slipring_publisher *pub) {
    uint64_t who = next_identity(me, 1);
    uint32_t size = body_size(me, &sizes, true);
    const char *type = type_of(who);
    slipring_claim claim;
    int code;
    do code = slipring_publisher_claim(pub, size, type, strlen(type), patience(pub), &claim);
    while (again(me, code));
    if (code != SLIPRING_OK) return report(me, code, 0, who);
    body_make(who | POISON, claim.body, size);
    if (throw_dice(&me->life, 1000) < aborted) {
        code = slipring_publisher_abort(pub, &claim);
        if (code == SLIPRING_OK) write_down(me, ABORTED, 0, who, 0, 0);
        return code;
    }
    body_make(who, claim.body, size);
    return report(me, slipring_publisher_commit(pub, &claim), claim.seq, who);
}

static void keep_pace(int64_t *next, int64_t period_ns) { /* ticks missed by being paused are skipped */
    *next += period_ns;
    if (*next < now_ns()) *next = now_ns();
    struct timespec until = {*next / 1000000000, *next % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) continue;
}

int publish(struct worker *me, char **options, int count) {
    struct life *life = &me->life;
    slipring_publisher *pub;
    if (count < 6) return 2;
    sizes = (struct sizes){(uint32_t)atoi(options[0]), (uint32_t)atoi(options[1]), (uint32_t)atoi(options[2])};
    aborted = strtoull(options[3], NULL, 10);
    int64_t period_ns = strtoll(options[4], NULL, 10);
    for (size_t i = 0; i < MOST_IN_A_BATCH; i++) {
        if (!(room[i] = malloc(sizes.largest))) life_fail("malloc");
        if (period_ns) memset(room[i], 1, sizes.largest); /* resident from the beginning: growth is not ours */
    }
    if (slipring_publisher_open(life->bus, life->topic, life->sender, strlen(life->sender), NULL, &pub)) life_fail("open");
    write_down(me, BEGAN, 0, 0, 0, 0);
    for (int64_t next = now_ns(); !stopping(life);) {
        if (period_ns) keep_pace(&next, period_ns);
        const char *way = options[5 + throw_dice(life, (uint64_t)count - 5)];
        int code = strcmp(way, "send") == 0 ? send_one(me, pub) : strcmp(way, "loan") == 0 ? lend(me, pub) : send_many(me, pub);
        if (code != SLIPRING_OK && code != SLIPRING_FULL) life_fail(way);
        beat(life);
    }
    slipring_publisher_close(pub);
    return 0;
}
