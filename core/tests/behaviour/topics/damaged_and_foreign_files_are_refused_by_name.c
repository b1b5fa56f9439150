/* SPDX-License-Identifier: Apache-2.0
 *
 * Every word of both headers set wrong, files cut and extended, links, directories, devices: a code, never a signal.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

static char path[128];

static void name_of(const char *suffix) { snprintf(path, sizeof path, "%s/t.%s", bus, suffix); }

static int open_all(void) {
    slipring_publisher *pub;
    slipring_subscriber *sub;
    slipring_inspector *inspector;
    int code = try_publisher("t", "", NULL, &pub);
    if (code == SLIPRING_OK) slipring_publisher_close(pub);
    int other = slipring_subscriber_open(bus, "t", SUBSCRIBING(.start = SLIPRING_START_OLDEST), &sub);
    if (other == SLIPRING_OK) slipring_subscriber_close(sub);
    if (other != code) FAIL("publisher %s, subscriber %s", code_name(code), code_name(other));
    other = slipring_inspector_open(bus, "t", &inspector);
    if (other == SLIPRING_OK) slipring_inspector_close(inspector);
    CHECK_CODE(other, code);
    return code;
}

static void refused(void) {
    int code = open_all();
    if (code != SLIPRING_WRONG_LAYOUT) CHECK_CODE(code, SLIPRING_CORRUPT);
}

static void poke_word(const char *suffix, off_t offset, uint64_t value) {
    name_of(suffix);
    uint64_t old;
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0 && pread(fd, &old, 8, offset) == 8 && pwrite(fd, &value, 8, offset) == 8);
    if (old != value) refused();
    CHECK(pwrite(fd, &old, 8, offset) == 8);
    close(fd);
    CHECK_OK(open_all());
}

static void every_header_word(void) {
    static const uint64_t values[] = {0, 1, 7, 4095, 4096, UINT64_MAX, INT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 40};
    for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
        for (off_t offset = 0; offset < 112; offset += 8) poke_word("ring", offset, values[v]);
        poke_word("ring", 144, values[v] | UINT64_C(1) << 32); /* content and the size of the schema */
        for (off_t offset = 0; offset < 64; offset += 8) poke_word("readers", offset, values[v]);
    }
}

static void other_sizes(const char *suffix) {
    name_of(suffix);
    struct stat status;
    CHECK(stat(path, &status) == 0);
    const off_t sizes[] = {0, 1, 100, 4095, 4096, status.st_size - 1, status.st_size + 1, status.st_size * 2};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        CHECK(truncate(path, sizes[i]) == 0);
        refused();
    }
    CHECK_OK(slipring_topic_remove(bus, "t")); /* what cannot be opened can be removed */
    CHECK_OK(slipring_topic_create(bus, "t", SETTINGS(.slots = 16, .capacity = 4096), false));
}

static void instead(const char *suffix) {
    char aside[160];
    name_of(suffix);
    snprintf(aside, sizeof aside, "%s.aside", path);
    CHECK(rename(path, aside) == 0);
    CHECK(symlink(aside, path) == 0);
    refused();
    CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
    refused();
    CHECK(rmdir(path) == 0 && mkfifo(path, 0600) == 0);
    refused();
    CHECK(unlink(path) == 0 && rename(aside, path) == 0);
    CHECK_OK(open_all());
}

/* The readers of another topic beside this ring. */
static void mixed(void) {
    char other[128];
    CHECK_OK(slipring_topic_create(bus, "u", SETTINGS(.slots = 16, .capacity = 4096), false));
    name_of("readers");
    snprintf(other, sizeof other, "%s/u.readers", bus);
    CHECK(rename(other, path) == 0);
    refused();
    CHECK_OK(slipring_topic_remove(bus, "t"));
}

static void run(void) {
    CHECK_OK(slipring_topic_create(bus, "t", SETTINGS(.slots = 16, .capacity = 4096), false));
    every_header_word();
    other_sizes("ring");
    other_sizes("readers");
    instead("ring");
    instead("readers");
    mixed();
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
