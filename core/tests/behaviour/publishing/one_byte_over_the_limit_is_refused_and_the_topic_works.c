/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "harness.h"

static char body[1 << 17], type[300];

static void refused(slipring_publisher *pub, size_t size, size_t type_size, int code, const char *argument) {
    slipring_claim claim;
    slipring_body many = {body, size};
    size_t sent = 7;
    uint64_t seq;
    CHECK_CODE(slipring_publisher_check(pub, size, type, type_size), code);
    CHECK_CODE(slipring_publisher_send(pub, body, size, type, type_size, SLIPRING_NOW, &seq), code);
    CHECK(strcmp(slipring_last_error()->argument, argument) == 0);
    CHECK_CODE(slipring_publisher_claim(pub, size, type, type_size, SLIPRING_FOREVER, &claim), code);
    CHECK_CODE(slipring_publisher_try_send_many(pub, &many, 1, type, type_size, &sent, &seq), code);
    CHECK_EQ(sent, 0);
}

static void limits_of(size_t capacity, int writers) {
    slipring_publisher *pub;
    slipring_subscriber *sub;
    static struct message m;
    size_t largest = capacity - 256 - 8; /* a type of 255 bytes and a sender of 6: 264 with padding */
    memset(type, 't', sizeof type);
    CHECK_OK(try_publisher("t", "tester", SETTINGS(.capacity = capacity, .writers = writers), &pub));
    sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    for (int i = 0; i < 3; i++) {
        refused(pub, largest + 1, 255, SLIPRING_TOO_LARGE, "capacity");
        refused(pub, capacity + 1, 0, SLIPRING_TOO_LARGE, "capacity");
        refused(pub, (size_t)UINT32_MAX + 1, 0, SLIPRING_TOO_LARGE, "body");
        refused(pub, SIZE_MAX, 0, SLIPRING_TOO_LARGE, "body");
        refused(pub, SIZE_MAX - 15, 255, SLIPRING_TOO_LARGE, "body");
        refused(pub, 1, 256, SLIPRING_BAD_ARGUMENT, "type");
        CHECK_OK(slipring_publisher_check(pub, largest, type, 255));
        CHECK_OK(slipring_publisher_send(pub, body, largest, type, 255, SLIPRING_NOW, NULL));
        CHECK(receive(sub, &m) && m.head.size == largest && strlen(m.type) == 255);
        send_text(pub, "on it goes");
        expect_text(sub, "on it goes");
    }
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

static void run(void) {
    char sender[SLIPRING_MAX_SENDER + 2];
    slipring_publisher *pub;
    limits_of(4096, SLIPRING_WRITERS_MANY);
    limits_of(4096, SLIPRING_WRITERS_ONE);
    limits_of(65536, SLIPRING_WRITERS_MANY);
    memset(sender, 's', sizeof sender);
    sender[SLIPRING_MAX_SENDER + 1] = 0;
    CHECK_CODE(try_publisher("u", sender, NULL, &pub), SLIPRING_BAD_ARGUMENT);
    CHECK(strcmp(slipring_last_error()->argument, "sender") == 0 && !file_exists("u", "ring"));
    sender[SLIPRING_MAX_SENDER] = 0;
    CHECK_OK(try_publisher("u", sender, NULL, &pub));
    slipring_publisher_close(pub);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
