/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 19. The core sleeps in slices, which would hide a lost wake-up; this program is linked so that every futex
 * sleep has no time limit at all: one wake-up lost among the ping-pongs, and the watchdog ends it.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
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

static void next(slipring_subscriber *sub) {
    slipring_message m;
    int code;
    while ((code = slipring_subscriber_peek(sub, &m)) == SLIPRING_EMPTY)
        CHECK_OK(slipring_wait(&sub, 1, NULL, 0, SLIPRING_FOREVER, 0));
    CHECK_OK(code);
    CHECK_OK(slipring_subscriber_accept(sub));
}

static void *answer(void *argument) {
    slipring_publisher *pong = argument;
    slipring_subscriber *ping = subscriber("ping", SUBSCRIBING(.start = SLIPRING_START_OLDEST));
    for (uint64_t i = 0; i < rounds; i++) {
        next(ping);
        CHECK_OK(slipring_publisher_send(pong, "", 0, "", 0, SLIPRING_FOREVER, NULL));
    }
    slipring_subscriber_close(ping);
    return NULL;
}

static void run(void) {
    pthread_t thread;
    slipring_publisher *ping = publisher("ping", SETTINGS(.slots = 16, .capacity = 4096));
    slipring_publisher *pong = publisher("pong", SETTINGS(.slots = 16, .capacity = 4096));
    slipring_subscriber *sub = subscriber("pong", SUBSCRIBING(.start = SLIPRING_START_NEW));
    rounds = scaled(20000);
    pthread_create(&thread, NULL, answer, pong);
    for (uint64_t i = 0; i < rounds; i++) {
        send_text(ping, "");
        next(sub);
    }
    pthread_join(thread, NULL);
    slipring_subscriber_close(sub);
    slipring_publisher_close(ping);
    slipring_publisher_close(pong);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
