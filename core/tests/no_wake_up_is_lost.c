/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 19. The core sleeps in slices, which would hide a lost wake-up; this program is linked so that every futex
 * sleep has no time limit at all. The sender sends at the very moment the reader falls asleep, give or take a
 * microsecond, again and again: one wake-up lost, and the watchdog ends it.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "harness.h"

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
/* Every system call the core makes by number is a futex call of at most six arguments. */
long __wrap_syscall(long number, ...) {
    va_list list;
    uintptr_t a[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, uintptr_t);
    va_end(list);
    if (number == SYS_futex && ((int)a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET) a[3] = 0;
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static uint64_t rounds;
static atomic_uint_fast64_t received;

static void *read_on(void *argument) {
    slipring_subscriber *sub = argument;
    for (uint64_t i = 0; i < rounds; i++) {
        slipring_message m;
        int code;
        while ((code = slipring_subscriber_peek(sub, &m)) == SLIPRING_EMPTY)
            CHECK_OK(slipring_wait(&sub, 1, NULL, 0, SLIPRING_FOREVER, 0));
        CHECK_OK(code);
        CHECK_OK(slipring_subscriber_accept(sub));
        atomic_store(&received, i + 1);
    }
    return NULL;
}

static void delay(unsigned turns) {
    for (volatile unsigned i = 0; i < turns; i++) continue;
}

static void run(void) {
    pthread_t thread;
    int writers = harness_argument("one") ? SLIPRING_WRITERS_ONE : SLIPRING_WRITERS_MANY;
    slipring_publisher *pub = publisher("t", SETTINGS(.slots = 16, .capacity = 4096, .writers = writers));
    slipring_subscriber *sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    rounds = scaled(150000);
    pthread_create(&thread, NULL, read_on, sub);
    uint64_t dice = 1;
    for (uint64_t i = 0; i < rounds; i++) {
        send_text(pub, "");
        for (unsigned spins = 0; atomic_load(&received) <= i; spins++)
            if (spins > 1000) sched_yield();
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        delay((unsigned)(dice >> 40) % 500);
    }
    pthread_join(thread, NULL);
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
