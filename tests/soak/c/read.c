/* SPDX-License-Identifier: Apache-2.0
 *
 * Readers that copy, and that hold and look twice. Every message is checked and noted; the account once a second and
 * whenever a loss was counted. */
#include <string.h>
#include <time.h>

#include "life.h"
#include "slipring.h"

#define POLL_S 0.2
#define ACCOUNT_NS INT64_C(1000000000)

static uint8_t room[LARGEST_BYTES];
static int64_t counted_ns;
static uint64_t lost_before;

static void account(struct actor *me, slipring_subscriber *sub, enum kind kind, bool always) {
    slipring_counts counts;
    slipring_subscriber_counts(sub, &counts);
    if (!always && counts.lost == lost_before && now_ns() - counted_ns < ACCOUNT_NS) return;
    note(me, kind, counts.position, counts.received, counts.lost, counts.filtered);
    counted_ns = now_ns(), lost_before = counts.lost;
    tell(me, WORD_LOST, counts.lost);
    tell(me, WORD_RECEIVED, counts.received);
}

static void row(struct actor *me, uint64_t seq, uint64_t identity, uint32_t size) {
    if (identity) note(me, GOT, seq, identity, size, 0);
    else note(me, CORRUPT, seq, 0, 0, 0);
}

static int copy(struct actor *me, slipring_subscriber *sub) {
    char meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
    slipring_message got;
    int code = slipring_subscriber_recv(sub, room, sizeof room, &got, meta, slipring_deadline(POLL_S));
    if (code == SLIPRING_OK)
        row(me, got.seq, body_check(meta + got.type_size, got.sender_size, room, got.size), got.size);
    return code;
}

static int hold(struct actor *me, slipring_subscriber *sub) {
    slipring_message got;
    int code = slipring_subscriber_hold(sub, &got);
    if (code == SLIPRING_EMPTY) {
        code = slipring_wait(&sub, 1, NULL, 0, slipring_deadline(POLL_S), 0);
        return code == SLIPRING_OK ? SLIPRING_INTERRUPTED : code; /* look again */
    }
    if (code != SLIPRING_OK) return code;
    const char *sender = (const char *)got.meta + got.type_size;
    uint64_t before = body_check(sender, got.sender_size, got.body, got.size);
    if (throw_dice(me, 10) == 0) {
        struct timespec rest = {0, (long)throw_dice(me, 20000000)};
        nanosleep(&rest, NULL);
    }
    uint64_t after = body_check(sender, got.sender_size, got.body, got.size);
    row(me, got.seq, before == after ? before : 0, got.size);
    return slipring_subscriber_release(sub, got.seq);
}

static int read_all(struct actor *me, int start, int (*take)(struct actor *, slipring_subscriber *)) {
    slipring_subscribing how = {.start = start, .lossy = -1};
    slipring_subscriber *sub;
    slipring_counts counts;
    if (slipring_subscriber_open(me->bus, me->topic, &how, &sub)) actor_fail("open");
    memset(room, 1, sizeof room); /* all of it resident from the beginning */
    account(me, sub, START, true);
    for (;;) {
        int code = take(me, sub);
        slipring_subscriber_counts(sub, &counts);
        if (code == SLIPRING_OK) {
            account(me, sub, COUNT, false);
            beat(me);
        } else if (code == SLIPRING_TIMEOUT || code == SLIPRING_EMPTY) {
            if (reached_end(me, counts.position)) break;
        } else if (code != SLIPRING_INTERRUPTED && code != SLIPRING_LAPPED) {
            actor_fail("read");
        }
    }
    account(me, sub, COUNT, true);
    note(me, DONE, 0, 0, 0, 0);
    slipring_subscriber_close(sub);
    return 0;
}

int read_copies(struct actor *me) { return read_all(me, SLIPRING_START_NEW, copy); }
int read_held(struct actor *me) { return read_all(me, SLIPRING_START_OLDEST, hold); }
