/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads, checks and writes down every message. Options: take (recv, recv_many, view, wait), start, lossy (-1 or 1),
 * conflate (0 or 1), cursor or "", type or "", largest body, nanoseconds between two accounts, longest hold in ns, commits in
 * a thousand. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "slipring.h"
#include "storm.h"

#define MOST 40
#define META (SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8)
static uint8_t *room;
static uint32_t largest;
static char metas[MOST][META];
static struct record rows[MOST + 1];
static slipring_message shown[MOST];
static int64_t account_ns, counted_ns, hold_ns;
static uint64_t lost_before;

static struct record row(const struct worker *me, const slipring_message *m, const uint8_t *body, const char *meta) {
    uint64_t sent_ns, who = body_check(body, m->size, meta, m->type_size, m->sender_size, &sent_ns);
    return who ? record(me, RECEIVED, m->seq, who, sent_ns, m->size) : record(me, CORRUPT, m->seq, 0, TORN, 0);
}

static int copy_one(struct worker *me, slipring_subscriber *sub, size_t *count) {
    slipring_message m;
    int code = slipring_subscriber_recv(sub, room, largest, &m, metas[0], slipring_deadline(POLL_S));
    if (code == SLIPRING_OK) rows[(*count)++] = row(me, &m, room, metas[0]);
    return code;
}

static int wait_and_copy(struct worker *me, slipring_subscriber *sub, size_t *count) {
    int code = slipring_wait(&sub, 1, NULL, 0, slipring_deadline(POLL_S), 0);
    slipring_message m;
    if (code != SLIPRING_OK) return code;
    code = slipring_subscriber_recv(sub, room, largest, &m, metas[0], SLIPRING_NOW);
    if (code == SLIPRING_OK) rows[(*count)++] = row(me, &m, room, metas[0]);
    return code;
}

static bool keep(void *context, const slipring_message *m) {
    size_t *kept = context;
    if (*kept == MOST || m->size > largest) return false;
    slipring_copy(room + *kept * largest, m->body, m->size);
    slipring_copy(metas[*kept], m->meta, (size_t)m->type_size + m->sender_size);
    shown[(*kept)++] = *m;
    return true;
}

static int drain(struct worker *me, slipring_subscriber *sub, size_t *count) {
    size_t kept = 0, taken = 0;
    int code = slipring_subscriber_drain(sub, 1 + throw_dice(&me->life, MOST - 1), keep, &kept, &taken);
    for (size_t i = 0; i < taken; i++) rows[(*count)++] = row(me, &shown[i], room + i * largest, metas[i]);
    if (taken) return SLIPRING_OK;
    if (code != SLIPRING_EMPTY) return code;
    code = slipring_wait(&sub, 1, NULL, 0, slipring_deadline(POLL_S), 0);
    return code == SLIPRING_OK ? SLIPRING_LAPPED : code; /* come again */
}

static int hold(struct worker *me, slipring_subscriber *sub, size_t *count) {
    slipring_message m;
    int code = slipring_subscriber_hold(sub, &m);
    if (code == SLIPRING_EMPTY) {
        code = slipring_wait(&sub, 1, NULL, 0, slipring_deadline(POLL_S), 0);
        return code == SLIPRING_OK ? SLIPRING_LAPPED : code;
    }
    if (code != SLIPRING_OK) return code;
    struct record first = row(me, &m, m.body, m.meta);
    for (uint64_t i = throw_dice(&me->life, 4); i > 0; i--) sched_yield();
    if (hold_ns && throw_dice(&me->life, 10) == 0) {
        struct timespec rest = {0, (long)throw_dice(&me->life, (uint64_t)hold_ns)};
        nanosleep(&rest, NULL);
    }
    struct record second = row(me, &m, m.body, m.meta);
    second.time_ns = first.time_ns;
    rows[(*count)++] = memcmp(&first, &second, sizeof first) == 0 ? first : record(me, CORRUPT, m.seq, 0, CHANGED, 0);
    return slipring_subscriber_release(sub, m.seq);
}

static void commit(struct worker *me, slipring_subscriber *sub) {
    slipring_counts counts;
    slipring_subscriber_counts(sub, &counts);
    write_down(me, COMMITTING, counts.position, 0, 0, 0);
    if (slipring_subscriber_commit(sub, counts.position)) life_fail("commit");
    write_down(me, COMMITTED, counts.position, 0, 0, 0);
}

static struct record counters(const struct worker *me, enum kind kind, const slipring_counts *counts) {
    return record(me, kind, counts->position, counts->received, counts->lost, counts->filtered);
}

/* The rows, and the counters behind them: always with a change of lost, else from time to time. */
static void write_rows(struct worker *me, size_t count, const slipring_counts *counts) {
    if (counts->lost != lost_before || now_ns() - counted_ns >= account_ns) {
        rows[count++] = counters(me, COUNTED, counts);
        counted_ns = now_ns(), lost_before = counts->lost;
        tell(&me->life, WORD_LOST, counts->lost);
        tell(&me->life, WORD_RECEIVED, counts->received);
    }
    append(&me->life, rows, count * sizeof *rows);
}

static slipring_subscriber *subscribe(struct worker *me, char **options) {
    static const char *const starts[] = {"new", "last", "oldest"};
    slipring_text type = {options[5], strlen(options[5])};
    slipring_filter filter = {.types = &type, .type_count = 1, .only_types = true};
    slipring_subscriber_settings how = {.lossy = atoi(options[2]), .conflate = atoi(options[3]) != 0};
    slipring_subscriber *sub;
    while (how.start < 2 && strcmp(starts[how.start], options[1]) != 0) how.start++;
    if (*options[4]) how.cursor = options[4];
    if (*options[5]) how.filter = &filter;
    if (slipring_subscriber_open(me->life.bus, me->life.topic, &how, &sub)) life_fail("open");
    return sub;
}

int read_topic(struct worker *me, char **options, int option_count) {
    if (option_count != 10) return 2;
    const char *take = options[0];
    bool has_cursor = *options[4];
    uint64_t commits = strtoull(options[9], NULL, 10);
    int (*act)(struct worker *, slipring_subscriber *, size_t *) = strcmp(take, "view") == 0        ? hold
                                                                   : strcmp(take, "recv_many") == 0 ? drain
                                                                   : strcmp(take, "wait") == 0      ? wait_and_copy
                                                                                                    : copy_one;
    largest = (uint32_t)atoi(options[6]), account_ns = atoll(options[7]), hold_ns = atoll(options[8]);
    size_t bytes = (size_t)largest * (act == drain ? MOST : 1);
    if (!(room = malloc(bytes))) life_fail("malloc");
    if (account_ns) memset(room, 1, bytes); /* resident from the beginning: growth is not ours */
    slipring_subscriber *sub = subscribe(me, options);
    slipring_counts counts;
    slipring_subscriber_counts(sub, &counts);
    struct record last[2] = {counters(me, STARTED, &counts)};
    append(&me->life, last, sizeof *last);
    for (;;) {
        size_t count = 0;
        int code = act(me, sub, &count);
        slipring_subscriber_counts(sub, &counts);
        if (count) {
            write_rows(me, count, &counts);
            beat(&me->life);
        } else if (code == SLIPRING_TIMEOUT || code == SLIPRING_EMPTY) {
            if (reached_end(&me->life, counts.position)) break;
        } else if (code != SLIPRING_INTERRUPTED && code != SLIPRING_LAPPED && code != SLIPRING_OK) {
            life_fail(take);
        }
        if (has_cursor && (!count || throw_dice(&me->life, 1000) < commits)) commit(me, sub);
    }
    last[0] = counters(me, COUNTED, &counts), last[1] = record(me, ENDED, 0, 0, 0, 0);
    append(&me->life, last, sizeof last);
    slipring_subscriber_close(sub);
    return 0;
}
