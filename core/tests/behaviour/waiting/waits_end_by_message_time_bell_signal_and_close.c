/* SPDX-License-Identifier: Apache-2.0
 *
 * Promises 7, 19, 20. A helper thread acts when the waiter sleeps in the kernel; no wait here can end otherwise. Waits for many
 * topics are made twice: as they begin, and as they are when they have lasted for a second, in threads.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"
#include "wait/sleep.h"
#include "ports/subscriber.h"

#define TOPICS 100

static slipring_publisher *pubs[TOPICS];
static slipring_subscriber *subs[TOPICS];
static slipring_bell bell;
static _Atomic pid_t sleeper;
static pthread_t waiter;
static _Atomic bool ended; /* the wait that the helper is to end */
static bool long_since;

static void *act(void *action) {
    while (!asleep(sleeper)) pause_us(200);
    ((void (*)(void))(uintptr_t)action)();
    return NULL;
}

static void send_last(void) { send_text(pubs[TOPICS - 1], "now"); }
static void ring_bell(void) { slipring_bell_ring(&bell); }
static void interrupt(void) { slipring_subscriber_interrupt(subs[0]); }
static void interrupt_publisher(void) { slipring_publisher_interrupt(pubs[0]); }
static void take_one(void) { expect_text(subs[0], "x"); }
/* Again and again: one that arrives between two slices of a wait ends neither. */
static void send_signals(void) {
    do {
        pthread_kill(waiter, SIGUSR1);
        pause_us(200);
    } while (!ended);
}
static void remove_topic(void) { CHECK_OK(slipring_topic_remove(bus, "t0")); }
static void ignore(int number) { (void)number; }

/* A wait may come back for nothing ("look, and come again"); what ends it for good is the code or `found`. */
static int wait_until(size_t count, bool with_bell, void (*action)(void), bool (*found)(void)) {
    pthread_t thread;
    int code;
    sleeper = (pid_t)syscall(SYS_gettid);
    ended = false;
    pthread_create(&thread, NULL, act, (void *)(uintptr_t)action);
    do {
        if (long_since) subs[0]->slice_ns = SLR_LONGEST_BOUNDED_SLICE_NS;
        code = slipring_wait(subs, count, with_bell ? &bell : NULL, 0, SLIPRING_FOREVER, 1000);
    } while (code == SLIPRING_OK && !found());
    ended = true;
    pthread_join(thread, NULL);
    return code;
}

static bool last_has_some(void) {
    slipring_message m;
    return slipring_subscriber_peek(subs[TOPICS - 1], &m) == SLIPRING_OK;
}
static bool rung(void) { return atomic_load((_Atomic uint32_t *)&bell.rings) != 0; }
static bool never(void) { return false; }

static void times(void) {
    int64_t deadline = slipring_deadline(0.03);
    int code;
    CHECK_CODE(slipring_wait(subs, 1, NULL, 0, SLIPRING_NOW, 0), SLIPRING_TIMEOUT);
    do code = slipring_wait(subs, TOPICS, NULL, 0, deadline, 0);
    while (code == SLIPRING_OK);
    CHECK_CODE(code, SLIPRING_TIMEOUT);
    CHECK(slipring_deadline(1e-9) > deadline);
    send_text(pubs[3], "x");
    CHECK_OK(slipring_wait(subs, TOPICS, NULL, 0, slipring_deadline(100), 0));
    CHECK_OK(slipring_wait(subs, TOPICS, NULL, 0, slipring_deadline(100), 1000));
    expect_text(subs[3], "x");
}

static void publisher_waits(void) {
    pthread_t thread;
    while (slipring_publisher_send(pubs[0], "x", 1, "", 0, SLIPRING_NOW, NULL) == SLIPRING_OK) continue;
    int64_t deadline = slipring_deadline(0.02);
    CHECK_CODE(slipring_publisher_send(pubs[0], "x", 1, "", 0, deadline, NULL), SLIPRING_FULL);
    CHECK(slipring_deadline(1e-9) > deadline);
    sleeper = (pid_t)syscall(SYS_gettid);
    pthread_create(&thread, NULL, act, (void *)(uintptr_t)take_one);
    CHECK_OK(slipring_publisher_send(pubs[0], "y", 1, "", 0, SLIPRING_FOREVER, NULL));
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, act, (void *)(uintptr_t)interrupt_publisher);
    CHECK_CODE(slipring_publisher_send(pubs[0], "y", 1, "", 0, SLIPRING_FOREVER, NULL), SLIPRING_CLOSED);
    pthread_join(thread, NULL);
}

static void many_wait(void) {
    CHECK_OK(wait_until(TOPICS, false, send_last, last_has_some));
    expect_text(subs[TOPICS - 1], "now");
    atomic_store((_Atomic uint32_t *)&bell.rings, 0);
    CHECK_OK(wait_until(TOPICS, true, ring_bell, rung));
    CHECK_CODE(wait_until(1, false, send_signals, never), SLIPRING_INTERRUPTED);
    CHECK_CODE(wait_until(TOPICS, false, send_signals, never), SLIPRING_INTERRUPTED);
}

static void run(void) {
    char name[16];
    struct sigaction action = {.sa_handler = ignore};
    sigaction(SIGUSR1, &action, NULL);
    waiter = pthread_self();
    for (int i = 0; i < TOPICS; i++) {
        snprintf(name, sizeof name, "t%d", i);
        pubs[i] = publisher(name, SETTINGS(.slots = 16, .capacity = 4096, .delivery = SLIPRING_RELIABLE));
        subs[i] = subscriber(name, SUBSCRIBING(.start = SLIPRING_START_NEW));
    }
    times();
    for (int i = 0; i < 2; i++, long_since = true) many_wait();
    publisher_waits();
    static struct message m;
    while (receive(subs[0], &m)) continue;
    for (size_t count = TOPICS; count; count = count == TOPICS ? 1 : 0) {
        CHECK_CODE(wait_until(count, false, interrupt, never), SLIPRING_CLOSED);
        slipring_subscriber_close(subs[0]);
        subs[0] = subscriber("t0", SUBSCRIBING(.start = SLIPRING_START_NEW));
    }
    CHECK_CODE(wait_until(TOPICS, false, remove_topic, never), SLIPRING_TOPIC_GONE);
    for (int i = 0; i < TOPICS; i++) {
        slipring_subscriber_close(subs[i]);
        slipring_publisher_close(pubs[i]);
    }
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
