/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

const slipring_subscriber_settings *subscribing(slipring_subscriber_settings how) {
    static _Thread_local slipring_subscriber_settings last;
    last = how;
    last.lossy = how.lossy == AS_TOPIC ? -1 : how.lossy == ASK_LOSSY;
    return &last;
}

int try_publisher(const char *topic, const char *sender, const slipring_settings *how, slipring_publisher **out) {
    return slipring_publisher_open(bus, topic, sender, strlen(sender), how, out);
}

slipring_publisher *publisher(const char *topic, const slipring_settings *how) {
    slipring_publisher *pub;
    CHECK_OK(try_publisher(topic, "tester", how, &pub));
    return pub;
}

slipring_subscriber *subscriber(const char *topic, const slipring_subscriber_settings *how) {
    slipring_subscriber *sub;
    CHECK_OK(slipring_subscriber_open(bus, topic, how, &sub));
    return sub;
}

uint64_t send_typed(slipring_publisher *pub, const char *text, const char *type) {
    uint64_t seq;
    CHECK_OK(slipring_publisher_send(pub, text, strlen(text), type, strlen(type), SLIPRING_NOW, &seq));
    return seq;
}

uint64_t send_text(slipring_publisher *pub, const char *text) { return send_typed(pub, text, ""); }

bool receive(slipring_subscriber *sub, struct message *out) {
    char meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
    int code = slipring_subscriber_recv(sub, out->body, sizeof out->body - 1, &out->head, meta, SLIPRING_NOW);
    if (code == SLIPRING_EMPTY) return false;
    CHECK_OK(code);
    memcpy(out->type, meta, out->head.type_size);
    out->type[out->head.type_size] = 0;
    memcpy(out->sender, meta + out->head.type_size, out->head.sender_size);
    out->sender[out->head.sender_size] = 0;
    out->body[out->head.size] = 0;
    return true;
}

void expect_text(slipring_subscriber *sub, const char *text) {
    static _Thread_local struct message m;
    if (!receive(sub, &m)) FAIL("there is no message, not '%s'", text);
    if (m.head.size != strlen(text) || memcmp(m.body, text, m.head.size) != 0)
        FAIL("the message %llu is '%s', not '%s'", (unsigned long long)m.head.seq, m.body, text);
}

void expect_empty(slipring_subscriber *sub) {
    static _Thread_local struct message m;
    if (receive(sub, &m)) FAIL("there is a message: '%s', sequence %llu", m.body, (unsigned long long)m.head.seq);
}

slipring_counts counts(slipring_subscriber *sub) {
    slipring_counts found;
    slipring_subscriber_counts(sub, &found);
    return found;
}

static slipring_inspector *inspector(const char *topic) {
    slipring_inspector *found;
    CHECK_OK(slipring_inspector_open(bus, topic, &found));
    return found;
}

slipring_topic_info topic_info(const char *topic) {
    slipring_inspector *opened = inspector(topic);
    slipring_topic_info info;
    CHECK_OK(slipring_inspector_topic(opened, &info));
    slipring_inspector_close(opened);
    return info;
}

void verify(const char *topic) {
    slipring_inspector *opened = inspector(topic);
    CHECK_OK(slipring_inspector_verify(opened));
    slipring_inspector_close(opened);
}

void no_dead_entries(const char *topic) {
    slipring_inspector *opened = inspector(topic);
    slipring_topic_info info;
    slipring_writer_info writer;
    slipring_reader_info reader;
    CHECK_OK(slipring_inspector_topic(opened, &info));
    CHECK_EQ(info.unsettled, 0);
    for (uint32_t e = 0; e < info.max_writers; e++) {
        CHECK_OK(slipring_inspector_writer(opened, e, &writer));
        if (writer.used && !writer.alive) FAIL("writer entry %u is a dead one's", e);
    }
    for (uint32_t e = 0; e < info.max_readers; e++) {
        CHECK_OK(slipring_inspector_reader(opened, e, &reader));
        if (reader.used && !reader.alive) FAIL("reader entry %u is a dead one's", e);
    }
    slipring_inspector_close(opened);
}

bool file_exists(const char *topic, const char *suffix) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s.%s", bus, topic, suffix);
    return access(path, F_OK) == 0;
}

void no_other_files(const char *topic) {
    DIR *directory = opendir(bus);
    struct dirent *entry;
    char ring[64], readers[64];
    snprintf(ring, sizeof ring, "%s.ring", topic);
    snprintf(readers, sizeof readers, "%s.readers", topic);
    while ((entry = readdir(directory)))
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, ring) != 0 && strcmp(entry->d_name, readers) != 0)
            FAIL("%s was left in the bus", entry->d_name);
    closedir(directory);
}
