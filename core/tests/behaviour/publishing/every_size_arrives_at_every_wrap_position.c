/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 1. A ring of 4096 bytes has 512 places where a message can begin; every size is sent from each of them.
 */
#include <string.h>

#include "harness.h"

#define CAPACITY 4096u
#define PLACES (CAPACITY / 8)
#define META 8u /* "tester" */
#define LARGEST (CAPACITY - META)

static slipring_publisher *pub;
static slipring_subscriber *sub;

static void fill(char *body, size_t size, unsigned salt) {
    for (size_t i = 0; i < size; i++) body[i] = (char)(i * 7 + salt * 13 + (i >> 8));
}

static void pass_one(size_t size, unsigned salt) {
    static char body[CAPACITY];
    static struct message m;
    uint64_t seq;
    fill(body, size, salt);
    CHECK_OK(slipring_publisher_send(pub, body, size, "", 0, SLIPRING_NOW, &seq));
    CHECK(receive(sub, &m));
    CHECK_EQ(m.head.seq, seq);
    CHECK_EQ(m.head.size, size);
    CHECK(memcmp(m.body, body, size) == 0);
    CHECK(strcmp(m.sender, "tester") == 0 && strcmp(m.type, "") == 0);
}

/* Steps of an odd number of words reach every place. */
static void everywhere(size_t size) {
    bool even = (size + 7) / 8 % 2 == 1; /* with the word of the sender's name */
    for (unsigned place = 0; place < PLACES; place++) {
        pass_one(size, place);
        if (even) pass_one(0, place);
    }
}

static void run(void) {
    int delivery = harness_argument("reliable") ? SLIPRING_RELIABLE : SLIPRING_LOSSY;
    int writers = harness_argument("one") ? SLIPRING_WRITERS_ONE : SLIPRING_WRITERS_MANY;
    pub = publisher("t", SETTINGS(.capacity = CAPACITY, .slots = 16, .delivery = delivery, .writers = writers));
    sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    for (size_t size = 0; size <= 200; size++) everywhere(size);
    for (size_t size = 255; size < LARGEST; size = size * 2 + 1)
        for (size_t more = 0; more <= 2; more++) everywhere(size + more);
    for (size_t size = LARGEST - 9; size <= LARGEST; size++) everywhere(size);
    CHECK_EQ(counts(sub).lost, 0);
    verify("t");
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
