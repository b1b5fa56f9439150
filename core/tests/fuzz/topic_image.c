/* SPDX-License-Identifier: Apache-2.0 */
#include "topic_image.h"

#include <stdlib.h>
#include <string.h>

struct image topic_images[VARIANTS];
static volatile unsigned char sum;

static slipring_settings settings_of(int variant) {
    return (slipring_settings){.capacity = CAPACITY,
                               .slots = SLOTS,
                               .delivery = variant & 1,
                               .writers = variant >> 1,
                               .max_readers = 3,
                               .max_writers = variant >> 1 ? 1 : 3,
                               .max_cursors = 2};
}

/* Taken while publisher, claim and reader are there: put back without them, it is what they would leave by dying. */
static void make_image(int variant) {
    static const char *const names[] = {TOPIC ".ring", TOPIC ".readers"};
    slipring_settings settings = settings_of(variant);
    slipring_publisher *pub;
    slipring_subscriber *sub, *plain;
    slipring_claim claim;
    slipring_message m;
    char buffer[128], meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
    CHECK(slipring_publisher_open(bus, TOPIC, "fuzz", 4, &settings, &pub) == SLIPRING_OK);
    for (int i = 0; i < 40; i++)
        CHECK(slipring_publisher_send(pub, "0123456789abcdef", (size_t)i % 17, i % 3 ? "a" : "b", 1, SLIPRING_NOW, NULL) == SLIPRING_OK);
    slipring_subscriber_settings how = {.start = SLIPRING_START_OLDEST, .lossy = -1, .cursor = "c", .expires_ns = INT64_C(1) << 40};
    CHECK(slipring_subscriber_open(bus, TOPIC, &how, &sub) == SLIPRING_OK);
    for (int i = 0; i < 4; i++) CHECK(slipring_subscriber_recv(sub, buffer, sizeof buffer, &m, meta, SLIPRING_NOW) == SLIPRING_OK);
    CHECK(slipring_subscriber_commit(sub, m.seq + 1) == SLIPRING_OK);
    slipring_subscriber_close(sub);
    how.cursor = NULL;
    how.start = SLIPRING_START_LAST;
    CHECK(slipring_subscriber_open(bus, TOPIC, &how, &plain) == SLIPRING_OK);
    CHECK(slipring_publisher_claim(pub, 100, "a", 1, SLIPRING_NOW, &claim) == SLIPRING_OK);
    CHECK(slipring_publisher_send(pub, "behind", 6, "b", 1, SLIPRING_NOW, NULL) == SLIPRING_OK);
    image_take(&topic_images[variant], 2, names, (size_t[]){0, 0});
    topic_images[variant].file[0].steering -= CAPACITY;
    slipring_publisher_abort(pub, &claim);
    slipring_subscriber_close(plain);
    slipring_publisher_close(pub);
    CHECK(slipring_topic_remove(bus, TOPIC) == SLIPRING_OK);
}

void make_topic_images(void) {
    fuzz_start();
    for (int variant = 0; variant < VARIANTS; variant++) make_image(variant);
}

bool look_at_message(void *context, const slipring_message *m) {
    (void)context;
    CHECK(m->size <= CAPACITY);
    for (uint32_t i = 0; i < m->size; i++) sum ^= ((const volatile unsigned char *)m->body)[i];
    for (int i = 0; i < m->type_size + m->sender_size; i++) sum ^= ((const volatile unsigned char *)m->meta)[i];
    return true;
}

slipring_publisher *try_publisher(const char *sender) {
    slipring_settings any = SLIPRING_SETTINGS_DEFAULT;
    slipring_publisher *pub;
    any.must_exist = true;
    return answered(slipring_publisher_open(bus, TOPIC, sender, strlen(sender), &any, &pub)) ? NULL : pub;
}

slipring_subscriber *try_subscriber(unsigned kind) {
    slipring_text a = {"a", 1};
    slipring_filter filter = {.types = &a, .type_count = 1, .only_types = true};
    slipring_subscriber_settings how = {.start = SLIPRING_START_OLDEST, .lossy = -1};
    slipring_subscriber *sub;
    if (kind % 5 == 1) how.conflate = true;
    if (kind % 5 == 2) how.cursor = "c";
    if (kind % 5 == 3) how.lossy = 1, how.filter = &filter, how.start = SLIPRING_START_LAST;
    if (kind % 5 == 4) how.lossy = 0, how.start = SLIPRING_START_NEW;
    return answered(slipring_subscriber_open(bus, TOPIC, &how, &sub)) ? NULL : sub;
}

static void lend(slipring_publisher *pub, size_t size, bool commit) {
    slipring_claim claim;
    if (answered(slipring_publisher_claim(pub, size, "", 0, SLIPRING_NOW, &claim))) return;
    memset(claim.body, 1, claim.size);
    answered(commit ? slipring_publisher_commit(pub, &claim) : slipring_publisher_abort(pub, &claim));
}

void use_publisher(slipring_publisher *pub, unsigned verb) {
    static char text[2000];
    slipring_body bodies[20];
    size_t sent;
    uint64_t seq;
    switch (verb % PUBLISHER_VERBS) {
        case 0: answered(slipring_publisher_send(pub, text, 30, "a", 1, SLIPRING_NOW, &seq)); break;
        case 1:
            for (int i = 0; i < 20; i++) bodies[i] = (slipring_body){text, (size_t)i * 20};
            answered(slipring_publisher_try_send_many(pub, bodies, 20, "b", 1, &sent, &seq));
            CHECK(sent <= 20);
            break;
        case 2: lend(pub, 100, true); break;
        case 3: lend(pub, 3000, false); break;
        case 4: {
            int live = slipring_publisher_subscribers(pub);
            CHECK(live <= 3 && (live >= 0 || answered(live)));
            break;
        }
        default:
            answered(slipring_publisher_send_as(pub, text, 2000, "", 0, "other", 5, 1, SLIPRING_NOW, &seq));
            answered(slipring_publisher_wait_space(pub, slipring_deadline(0.000001)));
    }
}

static void hold_some(slipring_subscriber *sub) {
    slipring_message held[3];
    int count = 0;
    while (count < 3 && answered(slipring_subscriber_hold(sub, &held[count])) == SLIPRING_OK) look_at_message(NULL, &held[count++]);
    while (count--) answered(slipring_subscriber_release(sub, held[count].seq));
}

/* Into arrays that are just large enough to be overrun. */
static size_t take_run(void *context, slipring_subscriber *sub, uint64_t most) {
    enum { ROWS = 10, BYTES = 300 };
    (void)context;
    slipring_message m;
    if (slipring_subscriber_peek(sub, &m) != SLIPRING_OK) return 0;
    size_t names_size = ((size_t)m.type_size + m.sender_size + 7) / 8 * 8, limit = most < ROWS ? (size_t)most : ROWS;
    uint64_t *names = malloc(names_size + 1);
    int64_t *seqs = malloc(sizeof *seqs * ROWS), *times = malloc(sizeof *times * ROWS);
    int32_t *ends = malloc(sizeof *ends * ROWS);
    uint8_t *data = malloc(BYTES);
    CHECK(names && seqs && times && ends && data);
    slipring_copy(names, m.meta, names_size);
    slipring_columns columns = {.seqs = seqs, .times_ns = times, .ends = ends, .data = data, .data_room = BYTES,
                                .meta_words = names, .type_size = m.type_size, .sender_size = m.sender_size};
    size_t rows = slipring_subscriber_take_columns(sub, &columns, limit);
    CHECK(rows <= limit && rows == columns.rows && columns.data_used <= BYTES);
    free(names), free(seqs), free(times), free(ends), free(data);
    return rows;
}

void use_subscriber(slipring_subscriber *sub, unsigned verb, uint64_t number) {
    static char buffer[CAPACITY], meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
    slipring_message m;
    slipring_counts counts;
    size_t taken;
    switch (verb % SUBSCRIBER_VERBS) {
        case 0:
            take_run(NULL, sub, number % 20);
            answered(slipring_subscriber_drain(sub, 100, look_at_message, NULL, &taken));
            CHECK(taken <= 100);
            break;
        case 1:
            if (answered(slipring_subscriber_recv(sub, buffer, sizeof buffer, &m, meta, SLIPRING_NOW)) == SLIPRING_OK)
                CHECK(m.size <= sizeof buffer);
            break;
        case 2:
            if (answered(slipring_subscriber_recv(sub, buffer, 5, &m, meta, SLIPRING_NOW)) == SLIPRING_OK) CHECK(m.size <= 5);
            break;
        case 3: hold_some(sub); break;
        case 4: answered(slipring_subscriber_seek(sub, (int)(number % 4), number / 4)); break;
        case 5: slipring_subscriber_counts(sub, &counts); break;
        case 6: answered(slipring_wait(&sub, 1, NULL, 0, slipring_deadline(0.000001), 0)); break;
        case 7: slipring_subscriber_counts(sub, &counts), answered(slipring_subscriber_commit(sub, counts.position - number % 3)); break;
        default: answered(slipring_subscriber_keep(sub, number)); break;
    }
}

static bool pass_hole(void *context, uint64_t first, uint64_t span, uint64_t lost) {
    (void)context, (void)first;
    CHECK(lost <= span && span > 0);
    return true;
}

static void drop_last(void *context) { (void)context; }

void use_range(uint64_t number) {
    static const slipring_range_sink sink = {.message = look_at_message, .hole = pass_hole, .drop = drop_last, .run = take_run};
    slipring_range *range;
    uint64_t end = 0, from = 0, reached;
    if (answered(slipring_range_open(bus, TOPIC, &range))) return;
    answered(slipring_range_at_time(range, (int64_t)number, &from));
    answered(slipring_range_oldest(range, &from));
    if (answered(slipring_range_settled(range, number % 64, number % 3 ? UINT64_MAX : number, 500, &end)) == SLIPRING_OK &&
        answered(slipring_range_begin(range, number % 2 ? from : number % 64)) == SLIPRING_OK)
        answered(slipring_range_read(range, number % 5 ? end : UINT64_MAX, &sink, NULL, &reached));
    slipring_range_close(range);
}

void look_around(void) {
    slipring_inspector *inspector;
    slipring_topic_info info;
    slipring_writer_info writer;
    slipring_reader_info reader;
    slipring_cursor_info cursor;
    uint32_t swept;
    if (answered(slipring_inspector_open(bus, TOPIC, &inspector)) == SLIPRING_OK) {
        answered(slipring_inspector_verify(inspector));
        answered(slipring_inspector_topic(inspector, &info));
        for (uint32_t e = 0; e < 4; e++) {
            if (answered(slipring_inspector_writer(inspector, e, &writer)) == SLIPRING_OK) CHECK(strlen(writer.name) < sizeof writer.name);
            answered(slipring_inspector_reader(inspector, e, &reader));
            if (answered(slipring_inspector_cursor(inspector, e, &cursor)) == SLIPRING_OK) CHECK(strlen(cursor.name) < sizeof cursor.name);
        }
        slipring_inspector_close(inspector);
    }
    answered(slipring_topic_sweep(bus, TOPIC, &swept));
}
