/* SPDX-License-Identifier: Apache-2.0
 *
 * Invariant 7: random and extreme words in a live topic, behind its users' backs, while all verbs are used. Whatever
 * they answer, they answer: no signal, no hang (watchdog), and a message shown lies inside the mapping (it is read).
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

static struct area {
    uint64_t *words;
    size_t count;
} areas[2];
static uint64_t state = 99;
static volatile unsigned char sum;

static uint64_t dice(uint64_t sides) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 20) % sides;
}

static void map(struct area *area, const char *suffix) {
    char path[128];
    struct stat status;
    snprintf(path, sizeof path, "%s/t.%s", bus, suffix);
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0 && fstat(fd, &status) == 0);
    area->words = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(area->words != MAP_FAILED);
    area->count = (size_t)status.st_size / 8;
    close(fd);
}

/* Behind the header's fixed fields; mostly where the algorithm looks: counters, slots, tables, not payload. */
static void harm(void) {
    static const uint64_t extremes[] = {
        0, 1, 2, 3, 7, UINT64_MAX, UINT64_MAX - 1, INT64_MAX, UINT64_C(1) << 63, 0xffff, 0x10000};
    struct area *area = &areas[dice(3) == 0];
    size_t limit = area == &areas[0] ? area->count - 4096 / 8 : area->count;
    uint64_t *word = &area->words[dice(4) ? 24 + dice(limit - 24) : 24 + dice(40)];
    uint64_t nearby = dice(2) ? *word + dice(64) - 32 : *word ^ UINT64_C(1) << dice(64);
    uint64_t value = dice(2) ? extremes[dice(sizeof extremes / 8)] : nearby;
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static bool look(void *context, const slipring_message *m) {
    (void)context;
    for (uint32_t i = 0; i < m->size; i++) sum ^= ((const unsigned char *)m->body)[i];
    for (int i = 0; i < m->type_size + m->sender_size; i++) sum ^= ((const unsigned char *)m->meta)[i];
    return true;
}

static void read_all(slipring_subscriber *sub) {
    static struct message m;
    slipring_message held;
    size_t taken;
    char meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
    static uint8_t data[4096];
    int64_t seqs[20], times[20];
    int32_t ends[20];
    uint64_t names[2] = {0};
    slipring_columns columns = {.seqs = seqs, .times_ns = times, .ends = ends, .data = data, .data_room = sizeof data,
                                .meta_words = names, .type_size = 1, .sender_size = (uint8_t)dice(9)};
    if (slipring_subscriber_peek(sub, &held) == SLIPRING_OK) slipring_copy(names, held.meta, 8 + 8 * dice(2));
    if (slipring_subscriber_take_columns(sub, &columns, 20)) CHECK(columns.data_used <= sizeof data);
    slipring_subscriber_drain(sub, 100, look, NULL, &taken);
    if (slipring_subscriber_recv(sub, m.body, 64, &m.head, meta, SLIPRING_NOW) == SLIPRING_OK) CHECK(m.head.size <= 64);
    if (slipring_subscriber_hold(sub, &held) == SLIPRING_OK) {
        look(NULL, &held);
        slipring_subscriber_release(sub, held.seq);
    }
    slipring_subscriber_seek(sub, (int)dice(4), dice(1000));
    counts(sub);
    slipring_wait(&sub, 1, NULL, 0, SLIPRING_NOW, 0);
}

static void publish(slipring_publisher *pub) {
    slipring_claim claim, other;
    slipring_publisher_send(pub, "hostile", 7, "t", 1, SLIPRING_NOW, NULL);
    int code = slipring_publisher_claim(pub, 100, "", 0, SLIPRING_NOW, &claim);
    if (code == SLIPRING_OK) memset(claim.body, 1, 100);
    if (dice(2)) harm();
    if (code == SLIPRING_OK && slipring_publisher_claim(pub, 4000, "", 0, SLIPRING_NOW, &other) == SLIPRING_OK) {
        memset(other.body, 2, 4000);
        slipring_publisher_abort(pub, &other);
    }
    if (code == SLIPRING_OK) slipring_publisher_commit(pub, &claim);
    slipring_publisher_subscribers(pub);
}

static bool skip(void *context, uint64_t first, uint64_t span, uint64_t lost) {
    (void)context, (void)first;
    CHECK(lost <= span);
    return true;
}

static void forget(void *context) { (void)context; }

/* From and to everywhere; no dice, so that what the others meet stays as it was. */
static void read_range(slipring_range *range, uint64_t step) {
    static const slipring_range_sink sink = {.message = look, .hole = skip, .drop = forget};
    uint64_t end, reached;
    slipring_range_at_time(range, (int64_t)step, &end);
    if (slipring_range_settled(range, 7 * step, step % 2 ? UINT64_MAX : step, 500 * step, &end) == SLIPRING_OK &&
        slipring_range_begin(range, 5 * step) == SLIPRING_OK)
        slipring_range_read(range, step % 3 ? end : UINT64_MAX, &sink, NULL, &reached);
}

static void look_around(void) {
    slipring_inspector *inspector;
    slipring_topic_info info;
    slipring_cursor_info cursor;
    uint32_t swept;
    if (slipring_inspector_open(bus, "t", &inspector) == SLIPRING_OK) {
        slipring_inspector_verify(inspector);
        slipring_inspector_topic(inspector, &info);
        slipring_inspector_cursor(inspector, 0, &cursor);
        slipring_inspector_close(inspector);
    }
    slipring_topic_sweep(bus, "t", &swept);
    slipring_cursor_drop(bus, "t", "c");
}

static void one_topic(int delivery, int writers) {
    slipring_publisher *pub, *late = NULL;
    slipring_subscriber *subs[4] = {0};
    slipring_range *range;
    const slipring_settings how = {
        .slots = 16, .capacity = 4096, .delivery = delivery, .writers = writers, .max_readers = 4};
    CHECK_OK(try_publisher("t", "me", &how, &pub));
    CHECK_OK(slipring_range_open(bus, "t", &range));
    map(&areas[0], "ring");
    map(&areas[1], "readers");
    for (int i = 0; i < 30; i++) slipring_publisher_send(pub, "before", 6, "", 0, SLIPRING_NOW, NULL);
    for (int i = 0; i < 4; i++)
        if (slipring_subscriber_open(bus, "t", SUBSCRIBING(.start = SLIPRING_START_OLDEST, .conflate = i == 1,
                                                           .cursor = i == 2 ? "c" : NULL), &subs[i])) subs[i] = NULL;
    for (int step = 0; step < 20; step++) {
        harm();
        publish(pub);
        for (int i = 0; i < 4; i++)
            if (subs[i]) read_all(subs[i]);
        look_around();
        read_range(range, (uint64_t)step);
        if (!late && try_publisher("t", "late", NULL, &late) != SLIPRING_OK) late = NULL;
        if (late) publish(late);
    }
    for (int i = 0; i < 4; i++)
        if (subs[i]) slipring_subscriber_close(subs[i]);
    slipring_range_close(range);
    if (late) slipring_publisher_close(late);
    slipring_publisher_close(pub);
    for (int i = 0; i < 2; i++) munmap(areas[i].words, areas[i].count * 8);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

static void run(void) {
    uint64_t topics = scaled(200);
    for (uint64_t i = 0; i < topics; i++) one_topic((int)(i & 1), (int)(i >> 1 & 1));
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
