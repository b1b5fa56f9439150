/* SPDX-License-Identifier: Apache-2.0
 *
 * A publisher: single messages, batches and claims, some aborted, at a steady pace until told to stop. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "life.h"
#include "slipring.h"

#define MOST_IN_A_BATCH 6u
static uint8_t room[MOST_IN_A_BATCH][LARGEST_BYTES];
static uint64_t counter;

static uint64_t next_identity(const struct actor *me) { return me->incarnation << 32 | ++counter; }

static int send_one(struct actor *me, slipring_publisher *pub) {
    uint64_t who = next_identity(me), seq;
    uint32_t size = body_size(me, false);
    body_make(who, room[0], size);
    int code;
    do code = slipring_publisher_send(pub, room[0], size, "one", 3, slipring_publisher_reliable(pub) ? SLIPRING_FOREVER : 0, &seq);
    while (code == SLIPRING_INTERRUPTED);
    if (code == SLIPRING_OK) note(me, SENT, seq, who, 1, 0);
    return code;
}

static int send_batch(struct actor *me, slipring_publisher *pub) {
    slipring_body bodies[MOST_IN_A_BATCH];
    size_t count = 1 + throw_dice(me, MOST_IN_A_BATCH - 1), done = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t size = body_size(me, true);
        body_make(next_identity(me), room[i], size);
        bodies[i] = (slipring_body){room[i], size};
    }
    uint64_t first = counter - count + 1;
    while (done < count) {
        size_t sent = 0;
        uint64_t seq = 0;
        int code = slipring_publisher_try_send_many(pub, bodies + done, count - done, "many", 4, &sent, &seq);
        done += sent;
        if (sent) note(me, SENT, seq, me->incarnation << 32 | (first + done - 1), sent, 0);
        if (code == SLIPRING_FULL && slipring_publisher_reliable(pub)) code = slipring_publisher_wait_space(pub, SLIPRING_FOREVER);
        if (code != SLIPRING_OK && code != SLIPRING_INTERRUPTED) return code;
    }
    return SLIPRING_OK;
}

static int lend(struct actor *me, slipring_publisher *pub) {
    slipring_claim claim;
    uint64_t who = next_identity(me);
    uint32_t size = body_size(me, true);
    int code;
    do code = slipring_publisher_claim(pub, size, "lent", 4, slipring_publisher_reliable(pub) ? SLIPRING_FOREVER : 0, &claim);
    while (code == SLIPRING_INTERRUPTED);
    if (code != SLIPRING_OK) return code;
    body_make(who | POISON, claim.body, size);
    if (throw_dice(me, 20) == 0) {
        code = slipring_publisher_abort(pub, &claim);
        if (code == SLIPRING_OK) note(me, ABORTED, 0, who, 0, 0);
        return code;
    }
    body_make(who, claim.body, size);
    code = slipring_publisher_commit(pub, &claim);
    if (code == SLIPRING_OK) note(me, SENT, claim.seq, who, 1, 0);
    return code;
}

static void keep_pace(int64_t *next) { /* ticks missed by being paused are skipped */
    *next += PERIOD_NS;
    if (*next < now_ns()) *next = now_ns();
    struct timespec until = {*next / 1000000000, *next % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) continue;
}

int publish(struct actor *me) {
    static int (*const ways[])(struct actor *, slipring_publisher *) = {send_one, send_one, send_batch, lend};
    slipring_publisher *pub;
    if (slipring_publisher_open(me->bus, me->topic, me->sender, strlen(me->sender), NULL, &pub)) actor_fail("open");
    memset(room, 1, sizeof room); /* all of it resident from the beginning: what grows later is not ours */
    note(me, HELLO, 0, 0, 0, 0);
    for (int64_t next = now_ns(); !stopping(me);) {
        keep_pace(&next);
        int code = ways[throw_dice(me, 4)](me, pub);
        if (code == SLIPRING_FULL) note(me, SKIPPED, 0, 0, 0, 0);
        else if (code != SLIPRING_OK) actor_fail("publish");
        beat(me);
    }
    slipring_publisher_close(pub);
    return 0;
}
