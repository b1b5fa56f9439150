// SPDX-License-Identifier: Apache-2.0
// Prints the round trip of one cache line between the first two processors this process may use, in nanoseconds.
// Where a hypervisor moves virtual processors about, this figure moves 2 to 8 times and takes every other one with it.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 20, TRIPS = 2000 };

// The line that travels; alone on it so that nothing else is dragged along.
static _Alignas(128) atomic_uint ball;

static void stay_on(int processor) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(processor, &only);
    sched_setaffinity(0, sizeof only, &only);
}

static void *answer(void *processor) {
    stay_on(*(int *)processor);
    for (unsigned i = 0; i < BLOCKS * TRIPS; i++) {
        while (atomic_load_explicit(&ball, memory_order_acquire) != 2 * i + 1) {
        }
        atomic_store_explicit(&ball, 2 * i + 2, memory_order_release);
    }
    return NULL;
}

static double now_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

int main(void) {
    cpu_set_t allowed;
    int processors[2], found = 0;
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (int i = 0; i < CPU_SETSIZE && found < 2; i++)
        if (CPU_ISSET(i, &allowed))
            processors[found++] = i;
    if (found < 2) {
        fputs("only one processor\n", stderr);
        return 77;
    }
    alarm(10);  // a machine so busy that this does not end tells nothing
    pthread_t other;
    if (pthread_create(&other, NULL, answer, &processors[1]) != 0)
        return 1;
    stay_on(processors[0]);
    double best = 1e18;
    for (unsigned block = 0, i = 0; block < BLOCKS; block++) {
        double start = now_ns();
        for (unsigned trip = 0; trip < TRIPS; trip++, i++) {
            atomic_store_explicit(&ball, 2 * i + 1, memory_order_release);
            while (atomic_load_explicit(&ball, memory_order_acquire) != 2 * i + 2) {
            }
        }
        double each = (now_ns() - start) / TRIPS;
        if (each < best)
            best = each;  // interruptions only ever add
    }
    pthread_join(other, NULL);
    printf("%.1f\n", best);
    return 0;
}
