/* SPDX-License-Identifier: Apache-2.0
 *
 * The C core alone answers the questions, between two C processes. The difference to Slipring's figures is the cost of
 * Python. The topics are those of slipring/bench/ours.py, the phases those of bench/processes.py.
 *
 *     core throughput c-core PLACE SECONDS size=BYTES             one at a time, copied out into a buffer
 *     core batches    c-core PLACE SECONDS size=BYTES             many at a time, into columns
 *     core round_trip c-core|c-core-sleeping PLACE SECONDS        spinning first, or asleep at once
 */
#include "two.h"

#include "slipring.h"

enum { LARGE_MESSAGES = 4, PER_SEND = 1000, ROWS = 65536, SPIN_NS = 20000, SMALL = 64 };
#define CAPACITY (UINT64_C(16) << 20)

static const char *bus;
static double seconds;
static size_t size = SMALL;
static int64_t spin_ns = SPIN_NS;
static char *body, *received;
static slipring_publisher *pub;
static slipring_subscriber *sub;
static slipring_message message;
static char meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];

static void must(int code) {
    if (code) fail(slipring_last_error()->message);
}

static void create(const char *topic) {
    slipring_settings settings = SLIPRING_SETTINGS_DEFAULT;
    settings.capacity = CAPACITY > LARGE_MESSAGES * size ? CAPACITY : LARGE_MESSAGES * size;
    settings.delivery = SLIPRING_RELIABLE;
    must(slipring_topic_create(bus, topic, &settings, false));
}

static void open_subscriber(const char *topic) {
    slipring_subscriber_settings how = {.start = SLIPRING_START_NEW, .lossy = -1};
    must(slipring_subscriber_open(bus, topic, &how, &sub));
}

static void open_publisher(const char *topic) { must(slipring_publisher_open(bus, topic, "", 0, NULL, &pub)); }

static void close_both(void) {
    if (pub) slipring_publisher_close(pub);
    if (sub) slipring_subscriber_close(sub);
}

static void send_one(void) { must(slipring_publisher_send(pub, body, size, "", 0, SLIPRING_FOREVER, NULL)); }

static void recv_one(void) {
    int code;
    while ((code = slipring_subscriber_recv(sub, received, size, &message, meta, SLIPRING_NOW)) == SLIPRING_EMPTY)
        must(slipring_wait(&sub, 1, NULL, 0, SLIPRING_FOREVER, spin_ns));
    must(code);
}

/* One way, one at a time: from the sender's first send to the receiver's last receive. */

static uint64_t receive_some(int line, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) recv_one();
    uint64_t last = now_ns();
    if (message.size != size) fail("a message has the wrong size");
    return last - hear(line);
}

static uint64_t send_some(int line, uint64_t count) {
    uint64_t first = now_ns();
    for (uint64_t i = 0; i < count; i++) send_one();
    tell(line, first);
    return 0;
}

/* One way, many at a time: count is of lists. */

static int64_t seqs[ROWS], times_ns[ROWS];
static int32_t ends[ROWS];

static size_t take_batch(void) {
    uint64_t no_type_and_sender = 0;
    slipring_columns c = {.seqs = seqs, .times_ns = times_ns, .ends = ends, .data = (uint8_t *)received,
                          .data_room = ROWS * size, .meta_words = &no_type_and_sender};
    /* Take the messages that are present, like recv_batch: more would slow the writer down. */
    slipring_counts counts;
    slipring_subscriber_counts(sub, &counts);
    uint64_t there = counts.tail > counts.position ? counts.tail - counts.position : 1;
    size_t goal = there < ROWS ? (size_t)there : ROWS;
    while (c.rows < goal && slipring_subscriber_take_columns(sub, &c, goal - c.rows)) {
    }
    if (c.rows) return c.rows;
    int code = slipring_subscriber_peek(sub, &message);
    if (code == SLIPRING_EMPTY) code = slipring_wait(&sub, 1, NULL, 0, SLIPRING_FOREVER, spin_ns);
    must(code);
    return 0;
}

static uint64_t receive_lists(int line, uint64_t count) {
    for (uint64_t left = count * PER_SEND; left > 0;) {
        size_t taken = take_batch();
        if (taken > left) fail("more messages than were sent");
        left -= taken;
    }
    uint64_t last = now_ns();
    return last - hear(line);
}

static uint64_t send_lists(int line, uint64_t count) {
    slipring_body bodies[PER_SEND];
    for (size_t i = 0; i < PER_SEND; i++) bodies[i] = (slipring_body){.data = body, .size = size};
    uint64_t first = now_ns();
    for (uint64_t i = 0; i < count; i++)
        for (size_t done = 0, sent = 0; done < PER_SEND; done += sent) {
            uint64_t seq;
            int code = slipring_publisher_try_send_many(pub, bodies + done, PER_SEND - done, "", 0, &sent, &seq);
            if (code == SLIPRING_FULL) code = slipring_publisher_wait_space(pub, SLIPRING_FOREVER);
            must(code);
        }
    tell(line, first);
    return 0;
}

/* There and back. */

static uint64_t ask(int line, uint64_t count) {
    (void)line;
    memset(buckets, 0, sizeof buckets);
    uint64_t begun = now_ns(), before = begun;
    for (uint64_t i = 0; i < count; i++) {
        send_one();
        recv_one();
        uint64_t now = now_ns();
        note_time(now - before);
        before = now;
    }
    return before - begun;
}

static uint64_t answer(int line, uint64_t count) {
    (void)line;
    for (uint64_t i = 0; i < count; i++) {
        recv_one();
        must(slipring_publisher_send(pub, received, message.size, "", 0, SLIPRING_FOREVER, NULL));
    }
    return 0;
}

/* The two processes: a receiving end is open before its sending end, as transport.py asks. */

static struct {
    const char *to_here, *to_there; /* topics; NULL: none */
    uint64_t first;
    uint64_t (*lead)(int line, uint64_t count);
    uint64_t (*follow)(int line, uint64_t count);
} question;

static void side(int line, const char *from, const char *to) {
    if (from) open_subscriber(from);
    meet(line);
    if (to) open_publisher(to);
    meet(line);
}

static void here(int line) {
    side(line, question.to_here, question.to_there);
    struct measured found = lead(line, question.first, seconds, question.lead);
    meet(line);
    close_both();
    if (question.lead == receive_lists) found.count *= PER_SEND;
    if (question.lead == ask)
        print_times(&found);
    else
        print_rate(&found);
}

static void there(int line) {
    side(line, question.to_there, question.to_here);
    follow(line, question.follow);
    meet(line);
    close_both();
}

int main(int argc, char **argv) {
    unsigned long long given;
    if (argc < 5) fail("usage: core QUESTION TRANSPORT PLACE SECONDS [size=BYTES]");
    bus = argv[3];
    seconds = atof(argv[4]);
    if (argc > 5 && sscanf(argv[5], "size=%llu", &given) == 1) size = (size_t)given;
    if (strcmp(argv[2], "c-core-sleeping") == 0) spin_ns = 0;
    question.to_here = "here";
    question.first = size > SMALL ? (32u << 20) / size : 2000; /* as throughput.py has it */
    if (question.first < 4) question.first = 4;
    if (question.first > 2000) question.first = 2000;
    if (strcmp(argv[1], "throughput") == 0) {
        question.lead = receive_some;
        question.follow = send_some;
    } else if (strcmp(argv[1], "batches") == 0) {
        question.first = 10;
        question.lead = receive_lists;
        question.follow = send_lists;
    } else {
        question.first = 200;
        question.to_there = "there";
        question.lead = ask;
        question.follow = answer;
    }
    body = malloc(size);
    received = malloc(question.lead == receive_lists ? ROWS * size : size);
    if (!body || !received) fail("no memory");
    memset(body, 'x', size);
    create(question.to_here);
    if (question.to_there) create(question.to_there);
    in_two_processes(here, there);
    return 0;
}
