/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and writes down every message; options: take (recv, recv_many, view, wait), start, lossy (-1 or 1), conflate
 * (0 or 1), cursor or "", type or "". */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "slipring.h"
#include "storm.h"

#define MOST 40
static uint8_t room[MOST][LARGEST];
static char metas[MOST][SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
static struct record rows[MOST];
static slipring_message shown[MOST];

static struct record row(const slipring_message *m, const uint8_t *body, const char *meta) {
    uint64_t counter, who = body_check(body, m->size, meta, m->type_size, m->sender_size, &counter);
    return (struct record){GOT, m->seq, who, counter, UNKNOWN};
}

static int copy_one(struct storm *me, slipring_subscriber *sub, size_t *count) {
    slipring_message m;
    (void)me;
    int code = slipring_subscriber_recv(sub, room[0], LARGEST, &m, metas[0], slipring_deadline(POLL_S));
    if (code == SLIPRING_OK) rows[(*count)++] = row(&m, room[0], metas[0]);
    return code;
}

static int wait_and_copy(struct storm *me, slipring_subscriber *sub, size_t *count) {
    int code = slipring_wait(&sub, 1, NULL, 0, slipring_deadline(POLL_S), 0);
    slipring_message m;
    (void)me;
    if (code != SLIPRING_OK) return code;
    code = slipring_subscriber_recv(sub, room[0], LARGEST, &m, metas[0], SLIPRING_NOW);
    if (code == SLIPRING_OK) rows[(*count)++] = row(&m, room[0], metas[0]);
    return code;
}

static bool keep(void *context, const slipring_message *m) {
    size_t *kept = context;
    if (*kept == MOST || m->size > LARGEST) return false;
    slipring_copy(room[*kept], m->body, m->size);
    slipring_copy(metas[*kept], m->meta, (size_t)m->type_size + m->sender_size);
    shown[(*kept)++] = *m;
    return true;
}

static int drain(struct storm *me, slipring_subscriber *sub, size_t *count) {
    size_t kept = 0, taken = 0;
    int code = slipring_subscriber_drain(sub, 1 + throw_dice(&me->actor, MOST - 1), keep, &kept, &taken);
    for (size_t i = 0; i < taken; i++) rows[(*count)++] = row(&shown[i], room[i], metas[i]);
    if (taken) return SLIPRING_OK;
    if (code != SLIPRING_EMPTY) return code;
    code = slipring_wait(&sub, 1, NULL, 0, slipring_deadline(POLL_S), 0);
    return code == SLIPRING_OK ? SLIPRING_LAPPED : code; /* come again */
}

static int hold(struct storm *me, slipring_subscriber *sub, size_t *count) {
    slipring_message m;
    int code = slipring_subscriber_hold(sub, &m);
    if (code == SLIPRING_EMPTY) {
        code = slipring_wait(&sub, 1, NULL, 0, slipring_deadline(POLL_S), 0);
        return code == SLIPRING_OK ? SLIPRING_LAPPED : code;
    }
    if (code != SLIPRING_OK) return code;
    struct record first = row(&m, m.body, m.meta);
    for (uint64_t i = throw_dice(&me->actor, 4); i > 0; i--) sched_yield();
    struct record second = row(&m, m.body, m.meta);
    if (memcmp(&first, &second, sizeof first) != 0) first.b = CHANGED;
    rows[(*count)++] = first;
    return slipring_subscriber_release(sub, m.seq);
}

static void commit(struct storm *me, slipring_subscriber *sub) {
    slipring_counts counts;
    slipring_subscriber_counts(sub, &counts);
    write_down(me, INTENT, counts.position, 0, 0, 0);
    if (slipring_subscriber_commit(sub, counts.position)) actor_fail("commit");
    write_down(me, COMMIT, counts.position, 0, 0, 0);
}

static slipring_subscriber *subscribe(struct storm *me, char **options) {
    static const char *const starts[] = {"new", "last", "oldest"};
    slipring_text type = {options[5], strlen(options[5])};
    slipring_filter filter = {.types = &type, .type_count = 1, .only_types = true};
    slipring_subscribing how = {.lossy = atoi(options[2]), .conflate = atoi(options[3]) != 0};
    slipring_subscriber *sub;
    while (how.start < 2 && strcmp(starts[how.start], options[1]) != 0) how.start++;
    if (*options[4]) how.cursor = options[4];
    if (*options[5]) how.filter = &filter;
    if (slipring_subscriber_open(me->actor.bus, me->actor.topic, &how, &sub)) actor_fail("open");
    return sub;
}

int read_topic(struct storm *me, char **options, int option_count) {
    if (option_count != 6) return 2;
    const char *take = options[0];
    bool has_cursor = *options[4];
    int (*act)(struct storm *, slipring_subscriber *, size_t *) = strcmp(take, "view") == 0        ? hold
                                                                  : strcmp(take, "recv_many") == 0 ? drain
                                                                  : strcmp(take, "wait") == 0      ? wait_and_copy
                                                                                                   : copy_one;
    slipring_subscriber *sub = subscribe(me, options);
    slipring_counts counts;
    slipring_subscriber_counts(sub, &counts);
    write_down(me, START, counts.position, 0, 0, 0);
    for (;;) {
        size_t count = 0;
        int code = act(me, sub, &count);
        slipring_subscriber_counts(sub, &counts);
        if (count) {
            rows[count - 1].d = counts.lost;
            append(&me->actor, rows, count * sizeof *rows);
            beat(&me->actor);
        } else if (code == SLIPRING_TIMEOUT || code == SLIPRING_EMPTY) {
            if (reached_end(&me->actor, counts.position)) break;
        } else if (code != SLIPRING_INTERRUPTED && code != SLIPRING_LAPPED && code != SLIPRING_OK) {
            actor_fail(take);
        }
        if (has_cursor && (!count || throw_dice(&me->actor, 5) == 0)) commit(me, sub);
    }
    write_down(me, END, counts.received, counts.lost, counts.filtered, counts.position);
    slipring_subscriber_close(sub);
    return 0;
}
