/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 21 under a race, ends as threads over one mapping: never torn, never backwards, never twice, exact accounts.
 * Elements are filled and read in place by ordinary accesses, so that a missing release or acquire is a data race for
 * TSAN. Arguments: depth, and take | newest | both.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "stamped.h"

static uint64_t total;
static atomic_bool finished;

static void *write_all(void *argument) {
    for (uint64_t i = 0; i < total; i++) CHECK_EQ(put_stamped(argument, i), i);
    atomic_store(&finished, true);
    return NULL;
}

static uint64_t next, seen;

static void judge(const slipring_cells_reader *reader, const slipring_element *element) {
    if (element->seq < next) FAIL("%llu after %llu", (unsigned long long)element->seq, (unsigned long long)next - 1);
    CHECK_EQ(stamp_of(reader, element), element->seq);
    next = element->seq + 1;
    seen++;
}

static void take_all(slipring_cells_reader *reader) {
    const slipring_element *elements;
    size_t count;
    CHECK_OK(slipring_cells_reader_take(reader, &elements, &count));
    for (size_t i = 0; i < count; i++) judge(reader, &elements[i]);
    for (size_t i = 0; i < count; i++) CHECK_EQ(stamp_of(reader, &elements[i]), elements[i].seq); /* still ours */
}

static void take_newest(slipring_cells_reader *reader) {
    slipring_element element;
    int code = slipring_cells_reader_take_newest(reader, &element);
    if (code != SLIPRING_EMPTY) CHECK_OK(code);
    if (!code) judge(reader, &element);
}

static void run(void) {
    const char *how = harness_arguments[1];
    total = scaled(3000000);
    make_cells("c", (uint32_t)atoi(harness_arguments[0]));
    slipring_cells_writer *writer = cells_writer("c");
    slipring_cells_reader *reader = cells_reader("c");
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, write_all, writer) == 0);
    for (unsigned round = 0; !atomic_load(&finished); round++) {
        if (strcmp(how, "newest") == 0 || (strcmp(how, "both") == 0 && round % 3)) take_newest(reader);
        else take_all(reader);
    }
    pthread_join(thread, NULL);
    take_all(reader);
    CHECK_EQ(next, total);
    slipring_cells_counts counts = cells_counts(reader);
    CHECK_EQ(counts.received, seen);
    CHECK_EQ(counts.received + counts.lost + counts.skipped, total);
    CHECK_EQ(counts.position, total);
    CHECK_EQ(cells_info("c").puts, total);
    slipring_cells_reader_close(reader);
    slipring_cells_writer_close(writer);
    printf("%llu of %llu seen\n", (unsigned long long)seen, (unsigned long long)total);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
