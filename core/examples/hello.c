/* SPDX-License-Identifier: Apache-2.0
 *
 * A C program that exchanges messages with Python. With the installed library:
 *
 *     cc hello.c $(pkg-config --cflags --libs slipring) -o hello
 *
 * Without it, from the root of the repository:
 *
 *     cc -std=c11 -D_GNU_SOURCE -O2 -Icore/include -Icore/src core/examples/hello.c $(find core/src -name '*.c') -lpthread -o hello
 *
 * Publish from C, subscribe in Python:
 *
 *     ./hello publish /dev/shm/slipring-$(id -u)/robot greetings "hello" "world"
 *     python -c 'import slipring; print(slipring.Bus("robot").subscriber("greetings", start="oldest").recv())'
 *
 * Subscribe from C, publish in Python. The topic must exist before the subscriber opens it:
 *
 *     ./hello subscribe /dev/shm/slipring-$(id -u)/robot greetings 1
 *     python -c 'import slipring; slipring.Bus("robot").publisher("greetings", sender="me").send(b"hi", type="text")'
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slipring.h"

static int report_error(void) {
    fprintf(stderr, "hello: %s\n", slipring_last_error()->message);
    return 1;
}

static int publish(const char *bus, const char *topic, char **texts) {
    slipring_publisher *pub;
    if (slipring_publisher_open(bus, topic, "hello.c", strlen("hello.c"), NULL, &pub)) return report_error();
    int code = SLIPRING_OK;
    for (; *texts && code == SLIPRING_OK; texts++) {
        uint64_t seq;
        code = slipring_publisher_send(pub, *texts, strlen(*texts), "text", 4, SLIPRING_FOREVER, &seq);
        if (code == SLIPRING_OK) printf("sent %llu\n", (unsigned long long)seq);
    }
    slipring_publisher_close(pub);
    return code ? report_error() : 0;
}

static int subscribe(const char *bus, const char *topic, int count) {
    static char body[1 << 20];
    char meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
    slipring_subscriber_settings how = {.start = SLIPRING_START_NEW, .lossy = -1};
    slipring_subscriber *sub;
    slipring_message m;
    if (slipring_subscriber_open(bus, topic, &how, &sub)) return report_error();
    puts("ready");
    fflush(stdout);
    int code = SLIPRING_OK;
    for (; count > 0 && code == SLIPRING_OK; count--) {
        code = slipring_subscriber_recv(sub, body, sizeof body, &m, meta, SLIPRING_FOREVER);
        if (code == SLIPRING_OK) /* meta: the type, then the sender */
            printf("%llu from %.*s, %.*s: %.*s\n", (unsigned long long)m.seq, (int)m.sender_size, meta + m.type_size,
                   (int)m.type_size, meta, (int)m.size, body);
    }
    slipring_subscriber_close(sub);
    return code ? report_error() : 0;
}

int main(int argc, char **argv) {
    if (argc >= 4 && strcmp(argv[1], "publish") == 0) return publish(argv[2], argv[3], argv + 4);
    if (argc == 5 && strcmp(argv[1], "subscribe") == 0) return subscribe(argv[2], argv[3], atoi(argv[4]));
    fprintf(stderr, "usage: hello publish BUS TOPIC TEXT… | hello subscribe BUS TOPIC COUNT\n");
    return 2;
}
