/* SPDX-License-Identifier: Apache-2.0
 *
 * A program in C that uses a topic while its files are damaged: it publishes, reads by copy and in place, reads ranges and
 * inspects. Every code is acceptable; the program then attaches again. It counts its rounds on the board
 * (tests/storm/board.py), as the processes of participants.py do.
 *
 *     participant BUS BOARD ROW
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "slipring.h"

enum { FIRST_ROW = 8, ROW_WORDS = 8, ROUND = 300, BOARD_SIZE = 4096 };

static volatile unsigned char sum;

static bool read_body(void *context, const slipring_message *m) {
    (void)context;
    for (uint32_t i = 0; i < m->size; i++) sum ^= ((const volatile unsigned char *)m->body)[i];
    return true;
}

static bool skip(void *context, uint64_t first, uint64_t span, uint64_t lost) {
    (void)context, (void)first;
    return lost <= span;
}

static void forget(void *context) { (void)context; }

static void publish(const char *bus, const char *topic) {
    static const char text[100];
    slipring_settings any = SLIPRING_SETTINGS_DEFAULT;
    slipring_publisher *pub;
    slipring_claim claim;
    any.must_exist = true;
    if (slipring_publisher_open(bus, topic, "c", 1, &any, &pub)) return;
    for (int i = 0; i < 5; i++) slipring_publisher_send(pub, text, (size_t)i * 20, "t", 1, SLIPRING_NOW, NULL);
    if (slipring_publisher_claim(pub, 50, "", 0, SLIPRING_NOW, &claim) == SLIPRING_OK) {
        memset(claim.body, 1, claim.size);
        slipring_publisher_commit(pub, &claim);
    }
    slipring_publisher_close(pub);
}

static void subscribe(const char *bus, const char *topic, unsigned kind) {
    slipring_subscriber_settings how = {.start = SLIPRING_START_OLDEST, .lossy = -1, .conflate = kind == 1, .cursor = kind == 2 ? "c" : NULL};
    slipring_subscriber *sub;
    slipring_message held;
    size_t taken;
    if (slipring_subscriber_open(bus, topic, &how, &sub)) return;
    slipring_subscriber_drain(sub, 50, read_body, NULL, &taken);
    if (slipring_subscriber_hold(sub, &held) == SLIPRING_OK) {
        read_body(NULL, &held);
        slipring_subscriber_release(sub, held.seq);
    }
    slipring_wait(&sub, 1, NULL, 0, slipring_deadline(0.001), 0);
    slipring_subscriber_close(sub);
}

static void inspect(const char *bus, const char *topic) {
    static const slipring_range_sink sink = {.message = read_body, .hole = skip, .drop = forget};
    slipring_inspector *inspector;
    slipring_topic_info info;
    slipring_range *range;
    uint64_t end, reached;
    if (slipring_inspector_open(bus, topic, &inspector) == SLIPRING_OK) {
        slipring_inspector_verify(inspector);
        slipring_inspector_topic(inspector, &info);
        slipring_inspector_close(inspector);
    }
    if (slipring_range_open(bus, topic, &range)) return;
    if (slipring_range_settled(range, 0, UINT64_MAX, UINT64_MAX, &end) == SLIPRING_OK && !slipring_range_begin(range, 0))
        slipring_range_read(range, end, &sink, NULL, &reached);
    slipring_range_close(range);
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int fd = open(argv[2], O_RDWR);
    volatile uint64_t *board = mmap(NULL, BOARD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    volatile uint64_t *beats = board + FIRST_ROW + ROW_WORDS * strtoul(argv[3], NULL, 10);
    if (fd < 0 || board == MAP_FAILED) return 2;
    for (unsigned turn = 0;; turn++) {
        char topic[32];
        snprintf(topic, sizeof topic, "t%llu", (unsigned long long)board[ROUND]);
        publish(argv[1], topic);
        subscribe(argv[1], topic, turn % 3);
        inspect(argv[1], topic);
        *beats += 1;
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
}
