/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 19. Sleeps are endless here; the sender sends at the very moment the reader falls asleep, give or take a
 * microsecond, again and again: one wake-up lost, and the watchdog ends it. Bodies are large, so that the word that
 * makes a message readable stands in the processor's store buffer for long: without the fence behind it, it would
 * still stand there when the sender looks for sleepers.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "endless_sleeps.h"
#include "harness.h"

#define SIZE 3000

static uint64_t rounds;
static atomic_uint_fast64_t received;

static void delay(uint64_t *dice) {
    *dice = *dice * 6364136223846793005u + 1442695040888963407u;
    for (volatile unsigned i = (unsigned)(*dice >> 40) % 1500; i > 0; i--) continue;
}

static void *read_on(void *argument) {
    slipring_subscriber *sub = argument;
    static char body[SIZE];
    uint64_t dice = 2;
    for (uint64_t i = 0; i < rounds; i++) {
        slipring_message m;
        int code;
        while ((code = slipring_subscriber_peek(sub, &m)) == SLIPRING_EMPTY)
            CHECK_OK(slipring_wait(&sub, 1, NULL, 0, SLIPRING_FOREVER, 0));
        CHECK_OK(code);
        slipring_copy(body, m.body, SIZE);
        CHECK_OK(slipring_subscriber_accept(sub));
        atomic_store(&received, i + 1);
        delay(&dice);
    }
    return NULL;
}

static void run(void) {
    static char body[SIZE];
    pthread_t thread;
    int writers = harness_argument("one") ? SLIPRING_WRITERS_ONE : SLIPRING_WRITERS_MANY;
    slipring_publisher *pub = publisher("t", SETTINGS(.slots = 16, .capacity = 65536, .writers = writers));
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    endless_sleeps = true;
    rounds = scaled(100000);
    pthread_create(&thread, NULL, read_on, sub);
    uint64_t dice = 1;
    for (uint64_t i = 0; i < rounds; i++) {
        CHECK_OK(slipring_publisher_send(pub, body, SIZE, "", 0, SLIPRING_NOW, NULL));
        for (unsigned spins = 0; atomic_load(&received) <= i; spins++)
            if (spins > 1000) sched_yield();
        delay(&dice);
    }
    pthread_join(thread, NULL);
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
