/* SPDX-License-Identifier: Apache-2.0
 *
 * What every test of the core shares. A test is one program:
 *
 *     static void run(void) { CHECK_OK(slipring_topic_create(bus, "t", …)); … }
 *     int main(int argc, char **argv) { return harness_main(argc, argv, run); }
 *
 * run() has a bus directory of its own under /dev/shm, removed afterwards, and a watchdog. A failed check ends the
 * process at once, with the place and what the core said last. Exit codes: 0 kept, 1 broken, 77 not applicable.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "slipring.h"

extern unsigned harness_watchdog_s; /* 120; a long test sets it before harness_main */
extern char bus[64];            /* the test's bus directory */
extern char **harness_arguments; /* what stands behind the program's name, NULL at the end */

int harness_main(int argc, char **argv, void (*run)(void));
_Noreturn void harness_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool harness_argument(const char *name);
/* count times $SLIPRING_TEST_SCALE (default 1), at least 1. */
uint64_t scaled(uint64_t count);

#define FAIL(...) harness_fail(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(condition) \
    do { \
        if (!(condition)) FAIL("%s", #condition); \
    } while (0)
#define CHECK_EQ(found, expected) \
    do { \
        unsigned long long found_ = (unsigned long long)(found), expected_ = (unsigned long long)(expected); \
        if (found_ != expected_) FAIL("%s is %llu, not %s = %llu", #found, found_, #expected, expected_); \
    } while (0)
#define CHECK_CODE(call, expected) \
    do { \
        int code_ = (call); \
        if (code_ != (expected)) FAIL("%s gives %s, not %s", #call, code_name(code_), #expected); \
    } while (0)
#define CHECK_OK(call) CHECK_CODE(call, SLIPRING_OK)

const char *code_name(int code);

/* Processes. fn's return ends the child with exit code 0. */
pid_t child_start(void (*fn)(void *), void *argument);
void child_join(pid_t pid);   /* fails unless it ended with 0 */
bool child_killed(pid_t pid); /* whether SIGKILL ended it; fails if it ended badly otherwise */
void child_kill(pid_t pid);

/* Places where processes or threads wait for each other: shared memory of this test and its children. */
void *shared_memory(size_t size);
void pause_us(unsigned us);
bool asleep(pid_t id); /* a process or a thread, in the kernel */

/* Topics. */
#define SETTINGS(...) (&(slipring_settings){__VA_ARGS__}) /* lossy and many writers unless said otherwise */
enum { AS_TOPIC = 0, ASK_LOSSY = 1, ASK_RELIABLE = 2 };    /* for .lossy below */
#define SUBSCRIBING(...) subscribing((slipring_subscriber_settings){__VA_ARGS__})
const slipring_subscriber_settings *subscribing(slipring_subscriber_settings how);
int try_publisher(const char *topic, const char *sender, const slipring_settings *how, slipring_publisher **out);
slipring_publisher *publisher(const char *topic, const slipring_settings *how);
slipring_subscriber *subscriber(const char *topic, const slipring_subscriber_settings *how);
uint64_t send_text(slipring_publisher *pub, const char *text);
uint64_t send_typed(slipring_publisher *pub, const char *text, const char *type);

struct message {
    slipring_message head;
    char type[256], sender[256];
    char body[1 << 17];
};
/* The next message, or false if there is none now. */
bool receive(slipring_subscriber *sub, struct message *out);
void expect_text(slipring_subscriber *sub, const char *text);
void expect_empty(slipring_subscriber *sub);
slipring_counts counts(slipring_subscriber *sub);
slipring_topic_info topic_info(const char *topic);
void verify(const char *topic);
/* After a sweep: no entry of a dead process in any table, nothing unsettled. */
void no_dead_entries(const char *topic);
bool file_exists(const char *topic, const char *suffix);
/* Fails if the bus directory has a file that is not one of the two files of the topic. */
void no_other_files(const char *topic);

#endif
