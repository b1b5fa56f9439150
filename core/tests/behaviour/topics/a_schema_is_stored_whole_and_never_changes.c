/* SPDX-License-Identifier: Apache-2.0
 *
 * A topic has the schema of its creator, byte for byte, or none. An opener with another one is refused and changes nothing.
 * Damaged bytes are CORRUPT for a process that asks for the schema, and harm no other.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

static uint8_t bytes[SLIPRING_MAX_SCHEMA + 1], found[SLIPRING_MAX_SCHEMA + 1];

static slipring_settings with_schema(size_t size) {
    return (slipring_settings){.capacity = 65536, .delivery = -1, .writers = -1, .schema = bytes, .schema_size = size};
}

static void same_for_all(const char *topic, size_t size) {
    size_t seen[4] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
    slipring_publisher *pub = publisher(topic, NULL);
    slipring_subscriber *sub;
    slipring_inspector *inspector;
    slipring_range *range;
    CHECK_OK(slipring_subscriber_open(bus, topic, SUBSCRIBING(.start = SLIPRING_START_OLDEST), &sub));
    CHECK_OK(slipring_inspector_open(bus, topic, &inspector));
    CHECK_OK(slipring_range_open(bus, topic, &range));
    for (int reader = 0; reader < 4; reader++) {
        memset(found, 0x55, sizeof found);
        CHECK_OK(reader == 0   ? slipring_publisher_schema(pub, found, sizeof found, &seen[0])
                 : reader == 1 ? slipring_subscriber_schema(sub, found, sizeof found, &seen[1])
                 : reader == 2 ? slipring_inspector_schema(inspector, found, sizeof found, &seen[2])
                               : slipring_range_schema(range, found, sizeof found, &seen[3]));
        CHECK_EQ(seen[reader], size);
        CHECK(memcmp(found, bytes, size) == 0 && found[size] == 0x55);
    }
    CHECK_EQ(topic_info(topic).schema_size, size);
    /* A buffer that is too small is not written to; the size is reported. */
    memset(found, 0x55, 8);
    CHECK_OK(slipring_publisher_schema(pub, found, size ? size - 1 : 0, &seen[0]));
    CHECK(seen[0] == size && (size == 0 || found[0] == 0x55));
    slipring_range_close(range);
    slipring_inspector_close(inspector);
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
}

static void messages_pass(const char *topic) {
    slipring_publisher *pub = publisher(topic, NULL);
    slipring_subscriber *sub;
    char body[1000], got[1000], meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
    slipring_message message;
    CHECK_OK(slipring_subscriber_open(bus, topic, SUBSCRIBING(.start = SLIPRING_START_NEW), &sub));
    for (int i = 0; i < 500; i++) { /* several times round the ring: the schema behind it is not overwritten */
        memset(body, i, sizeof body);
        CHECK_OK(slipring_publisher_send(pub, body, sizeof body, "", 0, SLIPRING_NOW, NULL));
        CHECK_OK(slipring_subscriber_recv(sub, got, sizeof got, &message, meta, SLIPRING_NOW));
        CHECK(memcmp(body, got, sizeof body) == 0);
    }
    slipring_subscriber_close(sub);
    slipring_publisher_close(pub);
}

static void refused(const char *topic, slipring_settings asked) {
    slipring_publisher *pub;
    uint64_t generation = topic_info(topic).generation;
    CHECK_CODE(try_publisher(topic, "x", &asked, &pub), SLIPRING_SCHEMA_MISMATCH);
    CHECK_CODE(slipring_topic_create(bus, topic, &asked, true), SLIPRING_SCHEMA_MISMATCH);
    const slipring_error *e = slipring_last_error();
    CHECK(strcmp(e->argument, "schema") == 0 && e->found[0] && e->asked[0] && strstr(e->message, topic));
    CHECK_EQ(topic_info(topic).generation, generation);
}

static void other_schemas_are_refused(void) {
    slipring_settings asked = with_schema(5000);
    static uint8_t other[5000];
    memcpy(other, bytes, sizeof other);
    other[4999] ^= 1; /* behind the first part that is compared */
    asked.schema = other;
    refused("size5000", asked);
    refused("size5000", with_schema(4999));
    refused("size0", with_schema(1));
    asked = with_schema(5000);
    slipring_publisher *pub = publisher("size5000", &asked); /* the same one is accepted */
    slipring_publisher_close(pub);
    same_for_all("size5000", 5000);
}

static void wrong_settings_are_refused_by_name(void) {
    slipring_settings asked = with_schema(SLIPRING_MAX_SCHEMA + 1);
    CHECK_CODE(slipring_topic_create(bus, "w", &asked, false), SLIPRING_BAD_ARGUMENT);
    CHECK(strcmp(slipring_last_error()->argument, "schema_size") == 0);
    asked = with_schema(10);
    asked.schema = NULL;
    CHECK_CODE(slipring_topic_create(bus, "w", &asked, false), SLIPRING_BAD_ARGUMENT);
    CHECK(strcmp(slipring_last_error()->argument, "schema") == 0);
    asked = (slipring_settings)SLIPRING_SETTINGS_FRAMES;
    asked.schema = bytes;
    asked.schema_size = 10;
    CHECK_CODE(slipring_topic_create(bus, "w", &asked, false), SLIPRING_BAD_ARGUMENT);
    CHECK(strcmp(slipring_last_error()->argument, "schema") == 0);
}

static void damaged_bytes_are_corrupt(void) {
    char path[256];
    size_t size;
    slipring_publisher *pub = publisher("size5000", NULL);
    snprintf(path, sizeof path, "%s/size5000.ring", bus);
    int fd = open(path, O_RDWR);
    off_t at = lseek(fd, 0, SEEK_END) - 2 * 4096 + 4998;
    CHECK(fd >= 0 && pread(fd, found, 1, at) == 1 && found[0] == bytes[4998]);
    found[0] ^= 0x80;
    CHECK(pwrite(fd, found, 1, at) == 1);
    CHECK_CODE(slipring_publisher_schema(pub, found, sizeof found, &size), SLIPRING_CORRUPT);
    slipring_publisher_close(pub);
    messages_pass("size5000");
    close(fd);
}

static void run(void) {
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 5000, SLIPRING_MAX_SCHEMA};
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7 + i / 256);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char topic[32];
        slipring_settings asked = with_schema(sizes[i]);
        snprintf(topic, sizeof topic, "size%zu", sizes[i]);
        CHECK_OK(slipring_topic_create(bus, topic, &asked, false));
        same_for_all(topic, sizes[i]);
        messages_pass(topic);
        same_for_all(topic, sizes[i]);
    }
    other_schemas_are_refused();
    wrong_settings_are_refused_by_name();
    damaged_bytes_are_corrupt();
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
