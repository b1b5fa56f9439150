/* SPDX-License-Identifier: Apache-2.0
 *
 * The round trip of two processes that sleep: each waits on a futex word of its own and wakes the other, nothing else.
 * Nobody who sleeps in the kernel between messages can be faster than this.
 *
 *     futex QUESTION TRANSPORT PLACE SECONDS
 */
#include "two.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

struct word {
    _Alignas(128) _Atomic uint32_t turn;
};

static struct word *words; /* there, back */
static double seconds;

static void ring(struct word *word) {
    atomic_fetch_add(&word->turn, 1);
    syscall(SYS_futex, &word->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Until the word is no longer what it was. */
static void await(struct word *word, uint32_t *seen) {
    while (atomic_load(&word->turn) == *seen) syscall(SYS_futex, &word->turn, FUTEX_WAIT, *seen, NULL, NULL, 0);
    *seen = atomic_load(&word->turn);
}

static uint64_t ask(int line, uint64_t count) {
    (void)line;
    uint32_t seen = atomic_load(&words[1].turn);
    memset(buckets, 0, sizeof buckets);
    uint64_t begun = now_ns(), before = begun;
    for (uint64_t i = 0; i < count; i++) {
        ring(&words[0]);
        await(&words[1], &seen);
        uint64_t now = now_ns();
        note_time(now - before);
        before = now;
    }
    return before - begun;
}

static uint32_t answered; /* what the first word was when it was last answered */

static uint64_t answer(int line, uint64_t count) {
    (void)line;
    for (uint64_t i = 0; i < count; i++) {
        await(&words[0], &answered);
        ring(&words[1]);
    }
    return 0;
}

static void here(int line) {
    struct measured found = lead(line, 200, seconds, ask);
    print_times(&found);
}

static void there(int line) { follow(line, answer); }

int main(int argc, char **argv) {
    if (argc < 5) fail("usage: futex QUESTION TRANSPORT PLACE SECONDS");
    seconds = atof(argv[4]);
    words = mmap(NULL, 2 * sizeof *words, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (words == MAP_FAILED) fail("no memory");
    in_two_processes(here, there);
    return 0;
}
