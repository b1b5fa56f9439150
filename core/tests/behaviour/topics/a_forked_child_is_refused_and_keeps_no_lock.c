/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 14.
 */
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "harness.h"

static slipring_publisher *pub;
static slipring_subscriber *sub;

static void in_the_child(void *unused) {
    slipring_message m;
    slipring_claim claim = {0};
    (void)unused;
    CHECK_CODE(slipring_publisher_send(pub, "x", 1, "", 0, SLIPRING_NOW, NULL), SLIPRING_FORKED);
    CHECK_CODE(slipring_publisher_claim(pub, 1, "", 0, SLIPRING_NOW, &claim), SLIPRING_FORKED);
    CHECK_CODE(slipring_publisher_commit(pub, &claim), SLIPRING_FORKED);
    CHECK_CODE(slipring_publisher_abort(pub, &claim), SLIPRING_FORKED);
    CHECK_CODE(slipring_subscriber_peek(sub, &m), SLIPRING_FORKED);
    CHECK_CODE(slipring_subscriber_hold(sub, &m), SLIPRING_FORKED);
    CHECK_CODE(slipring_subscriber_release(sub, 0), SLIPRING_FORKED);
    CHECK_CODE(slipring_subscriber_seek(sub, SLIPRING_START_OLDEST, 0), SLIPRING_FORKED);
    CHECK_CODE(slipring_wait(&sub, 1, NULL, 0, SLIPRING_FOREVER, 0), SLIPRING_FORKED);
    CHECK_EQ(counts(sub).received, 0);
    slipring_subscriber_interrupt(sub);
    slipring_publisher_interrupt(pub);
    slipring_publisher_close(pub);
    slipring_subscriber_close(sub);
    pub = publisher("t", NULL); /* a handle of one's own works */
    send_text(pub, "from the child");
    slipring_publisher_close(pub);
}

/* Process id of the child of the killed process. The child sets it when it runs, after all fork handlers. */
static volatile pid_t *left;

static void sleep_on(void) {
    *left = getpid();
    for (;;) pause();
}

/* Opens, claims, forks a child that lives on, and dies. */
static void die_leaving_a_child(void *unused) {
    slipring_publisher *own = publisher("t", NULL);
    slipring_subscriber *own_sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    slipring_claim claim;
    (void)unused;
    (void)own_sub;
    CHECK_OK(slipring_publisher_claim(own, 1, "", 0, SLIPRING_NOW, &claim));
    pid_t pid = fork();
    if (pid == 0) sleep_on();
    while (*left == 0) sched_yield();
    kill(getpid(), SIGKILL);
}

static void run(void) {
    pub = publisher("t", SETTINGS(.slots = 16, .capacity = 4096, .delivery = SLIPRING_RELIABLE));
    sub = subscriber("t", SUBSCRIBING(.start = SLIPRING_START_NEW));
    child_join(child_start(in_the_child, NULL));
    expect_text(sub, "from the child");
    left = shared_memory(sizeof *left);
    CHECK(child_killed(child_start(die_leaving_a_child, NULL)));
    for (int i = 0; i < 100; i++) { /* the dead claim and the dead reader are in nobody's way */
        send_text(pub, "on");
        expect_text(sub, "on");
    }
    uint32_t swept;
    CHECK_OK(slipring_topic_sweep(bus, "t", &swept));
    no_dead_entries("t");
    kill(*left, SIGKILL);
    slipring_publisher_close(pub);
    slipring_subscriber_close(sub);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
