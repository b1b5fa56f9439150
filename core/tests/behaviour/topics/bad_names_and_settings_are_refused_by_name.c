/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "harness.h"

static void bad_topic(const char *name) {
    slipring_publisher *pub;
    slipring_subscriber *sub;
    slipring_inspector *inspector;
    uint32_t swept;
    CHECK_CODE(slipring_check_name("topic", name), SLIPRING_BAD_ARGUMENT);
    CHECK_CODE(try_publisher(name, "", NULL, &pub), SLIPRING_BAD_ARGUMENT);
    CHECK(strcmp(slipring_last_error()->argument, "topic") == 0);
    CHECK_CODE(slipring_topic_create(bus, name, SETTINGS(.slots = 16), true), SLIPRING_BAD_ARGUMENT);
    CHECK_CODE(slipring_subscriber_open(bus, name, SUBSCRIBING(.conflate = true), &sub), SLIPRING_BAD_ARGUMENT);
    CHECK_CODE(slipring_inspector_open(bus, name, &inspector), SLIPRING_BAD_ARGUMENT);
    CHECK_CODE(slipring_topic_remove(bus, name), SLIPRING_BAD_ARGUMENT);
    CHECK_CODE(slipring_topic_sweep(bus, name, &swept), SLIPRING_BAD_ARGUMENT);
}

static void bad_setting(slipring_settings how, const char *argument) {
    slipring_publisher *pub;
    CHECK_CODE(slipring_topic_create(bus, "t", &how, true), SLIPRING_BAD_ARGUMENT);
    CHECK(strcmp(slipring_last_error()->argument, argument) == 0);
    CHECK_CODE(try_publisher("t", "", &how, &pub), SLIPRING_BAD_ARGUMENT);
    CHECK(strcmp(slipring_last_error()->argument, argument) == 0);
}

static void nothing_was_made(void) {
    DIR *directory = opendir(bus);
    int entries = 0;
    while (readdir(directory)) entries++;
    closedir(directory);
    CHECK_EQ(entries, 2);
}

static void missing(void) {
    slipring_publisher *pub;
    slipring_subscriber *sub;
    CHECK_CODE(slipring_subscriber_open(bus, "t", SUBSCRIBING(.start = SLIPRING_START_NEW), &sub), SLIPRING_NOT_FOUND);
    CHECK_CODE(slipring_topic_remove(bus, "t"), SLIPRING_NOT_FOUND);
    CHECK_CODE(slipring_publisher_open("/dev/shm/no/such/bus", "t", "", 0, NULL, &pub), SLIPRING_NOT_FOUND);
    CHECK_CODE(slipring_topic_remove("/dev/shm/no/such/bus", "t"), SLIPRING_NOT_FOUND);
}

static void modes(void) {
    char path[128];
    struct stat status;
    CHECK_OK(slipring_topic_create(bus, "shared", SETTINGS(.mode = 0640), false));
    snprintf(path, sizeof path, "%s/shared.ring", bus);
    CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0640);
    snprintf(path, sizeof path, "%s/shared.readers", bus);
    CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0660);
}

static void run(void) {
    char name[SLIPRING_MAX_NAME + 2];
    memset(name, 'n', sizeof name);
    name[SLIPRING_MAX_NAME + 1] = 0;
    bad_topic(name);
    static const char *const bad[] = {"",        ".",  "..",  "../t", "a/b",        "/t",
                                      ".hidden", "-t", "a b", "a\n",  "t\xc3\xa4", "a*"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) bad_topic(bad[i]);
    bad_setting((slipring_settings){.capacity = UINT64_MAX}, "capacity");
    bad_setting((slipring_settings){.capacity = (UINT64_C(1) << 40) + 1}, "capacity");
    bad_setting((slipring_settings){.slots = UINT64_MAX}, "slots");
    bad_setting((slipring_settings){.max_readers = UINT32_MAX}, "max_readers");
    bad_setting((slipring_settings){.max_writers = 4097}, "max_writers");
    bad_setting((slipring_settings){.max_cursors = 4097}, "max_cursors");
    bad_setting((slipring_settings){.mode = 01600}, "mode");
    bad_setting((slipring_settings){.mode = 0440}, "mode");
    nothing_was_made();
    missing();
    name[SLIPRING_MAX_NAME] = 0;
    static const char *const good[] = {"a", "A-b.c_9", "_x", "0", "a..b"};
    CHECK_OK(slipring_topic_create(bus, name, SETTINGS(.slots = 16), false));
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CHECK_OK(slipring_topic_create(bus, good[i], SETTINGS(.slots = 16, .capacity = 4096), false));
    modes();
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
