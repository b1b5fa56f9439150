/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the floors. Two processes run on the two processors whose distance placement.py measures. A sample has the
 * phases of bench/processes.py: a cold one, one that measures the pace, and the one that counts. Also processor time, and
 * a histogram of times with the buckets of histogram.py. A program prints its figures as JSON and exits with 0; after a
 * failure it prints the reason to stderr and exits with 1.
 */
#ifndef SLIPRING_BENCH_TWO_H
#define SLIPRING_BENCH_TWO_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIFETIME_S 20 /* the time limit of a sample in bench/processes.py */
#define SUB_BITS 6    /* 64 buckets for each power of two */
#define BUCKETS ((64 - SUB_BITS + 1) << SUB_BITS)

static inline void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static inline uint64_t now_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static inline uint64_t spent_us(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000u +
           (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* Control line -------------------------------------------------------------------------------------------- */

static inline void tell(int line, uint64_t value) {
    if (write(line, &value, sizeof value) != sizeof value) fail("the other process ended early");
}

static inline uint64_t hear(int line) {
    uint64_t value;
    if (read(line, &value, sizeof value) != sizeof value) fail("the other process ended early");
    return value;
}

static inline void meet(int line) {
    tell(line, 1);
    hear(line);
}

static inline void stay_on(int wanted) {
    cpu_set_t allowed, only;
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (int i = 0, found = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &allowed) || found++ != wanted) continue;
        CPU_ZERO(&only);
        CPU_SET(i, &only);
        sched_setaffinity(0, sizeof only, &only);
        return;
    }
}

/* Runs there in a child, here in this process; each gets its end of the line. */
static inline void in_two_processes(void (*here)(int line), void (*there)(int line)) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) fail("no socket pair");
    pid_t child = fork();
    alarm(LIFETIME_S);
    if (child < 0) fail("no second process");
    stay_on(child == 0);
    close(ends[child != 0]);
    if (child == 0) {
        there(ends[1]);
        _exit(0);
    }
    here(ends[0]);
    waitpid(child, NULL, 0);
}

/* Phases ---------------------------------------------------------------------------------------------------- */

struct measured {
    uint64_t count, took_ns, cpu_us; /* of the phase that counts; cpu_us of both processes */
};

/* do_some does its side of count messages, and returns how long they took altogether. */
static inline struct measured lead(int line, uint64_t first, double seconds, uint64_t (*do_some)(int line, uint64_t count)) {
    const double shares[] = {0.2, 1.0, 0};
    struct measured found = {.count = first};
    for (int phase = 0; phase < 3; phase++) {
        tell(line, found.count);
        uint64_t cpu = spent_us();
        found.took_ns = do_some(line, found.count);
        found.cpu_us = spent_us() - cpu;
        if (!found.took_ns) found.took_ns = 1;
        if (!shares[phase]) break;
        double count = (double)found.count * 1e9 / (double)found.took_ns * seconds * shares[phase];
        found.count = count > (double)first ? (uint64_t)count : first;
    }
    tell(line, 0);
    found.cpu_us += hear(line);
    return found;
}

static inline void follow(int line, uint64_t (*do_some)(int line, uint64_t count)) {
    uint64_t spent = 0;
    for (uint64_t count; (count = hear(line)) != 0;) {
        uint64_t cpu = spent_us();
        do_some(line, count);
        spent = spent_us() - cpu;
    }
    tell(line, spent);
}

/* Figures --------------------------------------------------------------------------------------------------- */

static inline double cpu_per_million(const struct measured *found) {
    return (double)found->cpu_us / (double)found->count; /* microseconds a message are seconds a million */
}

static inline void print_rate(const struct measured *found) {
    printf("{\"figures\": {\"messages_per_s\": %.1f, \"messages\": %llu, \"cpu_s_per_million\": %.6f}}\n",
           (double)found->count * 1e9 / (double)found->took_ns, (unsigned long long)found->count, cpu_per_million(found));
}

static uint64_t buckets[BUCKETS];

static inline void note_time(uint64_t ns) {
    int shift = 0;
    while (ns >> shift >= 2u << SUB_BITS) shift++;
    buckets[((uint64_t)shift << SUB_BITS) + (ns >> shift)]++;
}

static inline void print_times(const struct measured *found) {
    printf("{\"figures\": {\"messages\": %llu, \"cpu_s_per_million\": %.6f}, \"histogram\": \"",
           (unsigned long long)found->count, cpu_per_million(found));
    const char *apart = "";
    for (int i = 0; i < BUCKETS; i++)
        if (buckets[i]) {
            printf("%s%d:%llu", apart, i, (unsigned long long)buckets[i]);
            apart = " ";
        }
    printf("\"}\n");
}

#endif
