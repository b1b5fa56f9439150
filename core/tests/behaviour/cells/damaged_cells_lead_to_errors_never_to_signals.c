/* SPDX-License-Identifier: Apache-2.0
 *
 * Every word of the header and the slots set to extreme values, files cut and extended, links and devices; and random bytes
 * written into live cells while both ends work: codes, never a signal or a hang.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stamped.h"

static char path[128];
static const uint64_t extremes[] = {0, 1, 2, 3, 7, 4095, 4096, UINT32_MAX, UINT64_MAX, UINT64_MAX - 1, INT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 40};
#define EXTREMES (sizeof extremes / sizeof extremes[0])

static bool is_refusal(int code) {
    return code == SLIPRING_CORRUPT || code == SLIPRING_WRONG_LAYOUT || code == SLIPRING_TOPIC_GONE;
}

static void fine_or_refused(int code) {
    if (code != SLIPRING_EMPTY && !is_refusal(code)) CHECK_OK(code);
}

/* Opens and uses everything; whatever is found. */
static void use_all(void) {
    slipring_cells_writer *writer = NULL;
    slipring_cells_reader *reader = NULL;
    slipring_cells_info info;
    slipring_element element;
    const slipring_element *elements;
    size_t count;
    char value[STAMP_WORDS * 8] = "value";
    fine_or_refused(slipring_cells_inspect(bus, "c", &info));
    int code = slipring_cells_writer_open(bus, "c", &writer);
    fine_or_refused(code);
    if (!code) {
        for (int i = 0; i < 9; i++) fine_or_refused(slipring_cells_writer_put(writer, value, sizeof value, NULL));
        slipring_cells_writer_close(writer);
    }
    code = slipring_cells_reader_open(bus, "c", &reader);
    fine_or_refused(code);
    if (!code) {
        slipring_cells_shape shape;
        slipring_cells_reader_shape(reader, &shape);
        code = slipring_cells_reader_take_newest(reader, &element);
        fine_or_refused(code);
        CHECK(code || element.cell < shape.cell_count);
        code = slipring_cells_reader_take(reader, &elements, &count);
        fine_or_refused(code);
        for (size_t i = 0; i < count && !code; i++) CHECK(elements[i].cell < shape.cell_count);
        code = slipring_cells_reader_wait(reader, slipring_deadline(0.0001), 0);
        if (code != SLIPRING_TIMEOUT) fine_or_refused(code);
        slipring_cells_reader_close(reader);
    }
}

static void fresh(void) {
    slipring_cells_remove(bus, "c");
    make_cells("c", 3);
    use_all();
    slipring_cells_writer *writer = cells_writer("c");
    for (uint64_t i = 0; i < 2; i++) put_stamped(writer, i); /* for a reader to take */
    slipring_cells_writer_close(writer);
}

static void every_word(void) {
    for (off_t offset = 0; offset < 4096 + 3 * 64; offset += 8) {
        if (offset == 384) offset = 2040; /* nothing is there */
        for (size_t v = 0; v < EXTREMES; v++) {
            fresh();
            int fd = open(path, O_RDWR);
            CHECK(fd >= 0 && pwrite(fd, &extremes[v], 8, offset) == 8);
            close(fd);
            use_all();
        }
    }
}

static void other_files(void) {
    static const off_t sizes[] = {0, 1, 4095, 4096, 8191, 1 << 20};
    struct stat status;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        slipring_cells_info info;
        fresh();
        CHECK(stat(path, &status) == 0 && status.st_size != sizes[i] && truncate(path, sizes[i]) == 0);
        CHECK(is_refusal(slipring_cells_inspect(bus, "c", &info)));
        use_all();
    }
    CHECK_OK(slipring_cells_remove(bus, "c"));
    CHECK(symlink("/dev/zero", path) == 0);
    use_all();
    CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
    use_all();
    CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
    use_all();
    CHECK(rmdir(path) == 0);
}

static void work(void *ignored) {
    (void)ignored;
    for (;;) use_all();
}

static void random_bytes(void) {
    fresh();
    uint64_t state = 88172645463325252u;
    for (uint64_t round = 0; round < scaled(60); round++) {
        fresh();
        int fd = open(path, O_RDWR);
        CHECK(fd >= 0);
        uint8_t *file = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK(file != MAP_FAILED);
        close(fd);
        pid_t child = child_start(work, NULL);
        for (int i = 0; i < 3000; i++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            size_t place = state >> 8 & 1 ? 4096 + state % 192 : 128 + state % 256;
            file[place] = (uint8_t)(state >> 40);
            if (i % 64 == 0) pause_us(20);
        }
        kill(child, SIGKILL);
        CHECK(child_killed(child)); /* and by nothing else */
        munmap(file, 3 * 4096);
    }
}

static void run(void) {
    snprintf(path, sizeof path, "%s/c.cells", bus);
    every_word();
    other_files();
    random_bytes();
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
