// SPDX-License-Identifier: Apache-2.0
// The smallest useful participant: a lossy reader that only looks. It opens `t.ring` read-only, takes no entry and no
// lock, cannot disturb anybody, and counts exactly what it was too late for. Numbers: docs/spec/memory-layout.md.
//
//   cc -O2 tap.c -o tap && ./tap /dev/shm/slipring-1000/robot/imu.ring
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#define GET(offset) __atomic_load_n((const uint64_t *)(ring + (offset)), __ATOMIC_ACQUIRE)
#define PEEK(offset) __atomic_load_n((const uint64_t *)(ring + (offset)), __ATOMIC_RELAXED)
enum { SLOT_COUNT = 40, CAPACITY = 48, SLOTS = 64, PASSED = 72, PAYLOAD = 88, REMOVED = 192, TAIL = 256, OLDEST = 320 };
enum { SLOT = 32, WORD = 0, END = 8, TIME_NS = 16, LENGTHS = 24, READY = 2, GONE = 3 };

static const uint8_t *ring;
static uint64_t slots, capacity, slots_at, passed_at, payload_at;

static uint64_t slot(uint64_t seq) { return slots_at + (seq & (slots - 1)) * SLOT; }
static uint64_t round8(uint64_t size) { return (size + 7) & ~UINT64_C(7); }

static int open_ring(const char *path)
{
    struct stat facts;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0 || fstat(file, &facts) != 0 || facts.st_size < 4096)
        return 0;
    ring = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_SHARED, file, 0);
    if (ring == MAP_FAILED || GET(0) != UINT64_C(0x31474e5250494c53) || GET(16) != UINT64_C(0xcac9ff5e7b6ff6a7))
        return 0; // another magic or layout hash
    slots = GET(SLOT_COUNT), capacity = GET(CAPACITY);
    slots_at = GET(SLOTS), passed_at = GET(PASSED), payload_at = GET(PAYLOAD);
    return slots >= 16 && slots <= 1u << 28 && !(slots & (slots - 1)) && capacity >= 4096 && capacity <= UINT64_C(1) << 40
           && !(capacity & (capacity - 1)) && slots_at % 4096 == 0 && slots_at < (uint64_t)facts.st_size
           && passed_at == slots_at + slots * SLOT && payload_at > passed_at && payload_at % 4096 == 0
           && payload_at + capacity == (uint64_t)facts.st_size;
}

// Section 9.1. 1: a message was printed; 0: nothing yet; -1: overtaken. *end: it was the last one.
static int look(uint64_t seq, uint64_t *copy, int *end)
{
    uint64_t word = GET(slot(seq) + WORD), lap = seq / slots + 1;
    if (word >> 16 != lap)
        return word >> 16 < lap ? 0 : -1;
    if ((word & 3) != READY)
        return (word & 3) == GONE && GET(TAIL) > seq ? 2 : 0; // an open claim: wait (its owner's death is not asked)
    uint64_t lengths = PEEK(slot(seq) + LENGTHS), last = PEEK(slot(seq) + END), time_ns = PEEK(slot(seq) + TIME_NS);
    uint64_t body = lengths & 0xffffffff, type = lengths >> 32 & 0xff, sender = lengths >> 40 & 0xff;
    uint64_t reserved = round8(body) + round8(type + sender);
    reserved = reserved ? reserved : 8;
    for (uint64_t at = 0; at < reserved && reserved <= capacity; at += 8)
        copy[at / 8] = PEEK(payload_at + ((last - reserved + at) & (capacity - 1) & ~UINT64_C(7)));
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (PEEK(OLDEST) > seq)
        return -1;
    if (reserved > capacity)
        exit(3);
    const char *meta = (const char *)copy + round8(body);
    printf("%llu %llu %.*s %.*s %llu\n", (unsigned long long)seq, (unsigned long long)time_ns, (int)sender, meta + type,
           (int)type, meta, (unsigned long long)body);
    *end = type == 3 && memcmp(meta, "end", 3) == 0;
    return 1;
}

int main(int count, char **arguments)
{
    if (count != 2 || !open_ring(arguments[1]))
        return 2;
    uint64_t oldest = GET(OLDEST), seq = oldest, abandoned = GET(passed_at + (oldest & (slots - 1)) * 8) - oldest, lost = 0;
    uint64_t *copy = malloc(capacity);
    for (int end = 0; copy && !end && GET(REMOVED) == 0;) {
        int seen = look(seq, copy, &end);
        if (seen > 0) {
            seq++;
            abandoned += seen == 2; // a sequence without a message
        } else if (seen < 0) { // section 9.2
            uint64_t below; // abandoned sequences below oldest
            do {
                oldest = GET(OLDEST);
                below = GET(passed_at + (oldest & (slots - 1)) * 8) - oldest;
            } while (GET(OLDEST) != oldest);
            lost += oldest - seq - (below - abandoned);
            abandoned = below;
            seq = oldest;
        } else {
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        }
    }
    printf("lost %llu\n", (unsigned long long)lost);
    return 0;
}
