// SPDX-License-Identifier: Apache-2.0
// A participant for tests. The command line names its task. It prints its observations as Python literals.
//   peer publish DIRECTORY TOPIC SENDER COUNT LARGEST EVERY    prints 'ready', reads a line, sends COUNT
//                                                             messages; prints one in EVERY and the last
//   peer subscribe DIRECTORY TOPIC lossy|reliable new|oldest each|sum|paused
//                                                             receives until a message of type "end"
//   peer schema DIRECTORY TOPIC                               prints the bytes of the schema in hex, or None
//   peer decode DIRECTORY TOPIC                               prints the fields of all messages up to one of type
//                                                             "end", of a topic with a fixed layout of numbers
// Message n of a publisher: type "type-<n % 3>", body "<n> " and bytes up to n * 7919 % (LARGEST + 1) in all.
#define _GNU_SOURCE
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "shared.h"

enum { WATCHDOG_S = 300 };
#define PATIENCE_NS INT64_C(60000000000)

_Noreturn void fail(int code, const char *why, ...)
{
    va_list arguments;
    va_start(arguments, why);
    vfprintf(stderr, why, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    fflush(NULL);
    _exit(code);
}

void step(const char *name)
{
    static const char *place;
    static long visits;
    if (!place) {
        place = getenv("PEER_DIE_AT") ? getenv("PEER_DIE_AT") : "";
        visits = strchr(place, ':') ? atol(strchr(place, ':') + 1) : 1;
    }
    size_t size = strcspn(place, ":");
    if (size && strlen(name) == size && memcmp(name, place, size) == 0 && --visits == 0)
        raise(SIGKILL);
}

static void hear(void)
{
    char line[256];
    if (!fgets(line, sizeof line, stdin))
        exit(0); // the test went away
}

static uint32_t make_body(uint8_t *body, unsigned long number, unsigned long largest)
{
    uint32_t size = (uint32_t)(number * 7919 % (largest + 1));
    uint32_t prefix = (uint32_t)sprintf((char *)body, "%lu ", number);
    for (uint32_t k = prefix; k < size; k++)
        body[k] = (uint8_t)(number + k);
    return size > prefix ? size : prefix;
}

static void publish(char **arguments)
{
    struct topic topic;
    struct publisher publisher;
    unsigned long count = strtoul(arguments[3], NULL, 10), largest = strtoul(arguments[4], NULL, 10);
    unsigned long every = strtoul(arguments[5], NULL, 10);
    uint8_t *body = malloc(largest + 32);
    topic_open(&topic, arguments[0], arguments[1], true);
    publisher_attach(&publisher, &topic, arguments[2]);
    puts("'ready'");
    fflush(stdout);
    hear();
    for (unsigned long number = 0; number < count; number++) {
        char type[16];
        sprintf(type, "type-%lu", number % 3);
        uint64_t seq = publisher_send(&publisher, type, body, make_body(body, number, largest), PATIENCE_NS);
        if (number % every == 0 || number + 1 == count) {
            printf("('sent', %lu, %llu)\n", number + 1, (unsigned long long)seq);
            fflush(stdout);
        }
    }
    publisher_detach(&publisher);
    free(body);
}

static uint32_t crc32_of(uint32_t crc, const uint8_t *bytes, size_t size)
{
    static uint32_t table[256];
    for (uint32_t n = 0; n < 256 && !table[255]; n++) {
        uint32_t entry = n;
        for (int bit = 0; bit < 8; bit++)
            entry = entry >> 1 ^ (entry & 1 ? UINT32_C(0xedb88320) : 0);
        table[n] = entry;
    }
    crc = ~crc;
    while (size--)
        crc = table[(crc ^ *bytes++) & 0xff] ^ crc >> 8;
    return ~crc;
}

static void print_hex(const uint8_t *bytes, size_t size)
{
    printf(", '");
    while (size--)
        printf("%02x", *bytes++);
    putchar('\'');
}

static void print_message(const struct message *m)
{
    printf("(%llu, %lld", (unsigned long long)m->seq, (long long)m->time_ns);
    print_hex(m->sender, m->sender_size);
    print_hex(m->type, m->type_size);
    print_hex(m->body, m->body_size);
    puts(")");
    fflush(stdout);
}

static void subscribe(char **arguments)
{
    struct topic topic;
    struct subscriber subscriber;
    struct message m;
    uint32_t crc = 0;
    topic_open(&topic, arguments[0], arguments[1], false);
    subscriber_attach(&subscriber, &topic, strcmp(arguments[2], "reliable") == 0, strcmp(arguments[3], "oldest") == 0);
    printf("('ready', %llu)\n", (unsigned long long)subscriber.position);
    fflush(stdout);
    if (strcmp(arguments[4], "paused") == 0)
        hear();
    do {
        if (!subscriber_receive(&subscriber, &m, PATIENCE_NS))
            fail(EXIT_FULL, "nothing came");
        crc = crc32_of(crc, (const uint8_t *)&m.seq, sizeof m.seq);
        crc = crc32_of(crc, (const uint8_t *)&m.time_ns, sizeof m.time_ns);
        crc = crc32_of(crc, m.type, m.type_size + m.sender_size);
        crc = crc32_of(crc, m.body, m.body_size);
        if (strcmp(arguments[4], "each") == 0)
            print_message(&m);
    } while (m.type_size != 3 || memcmp(m.type, "end", 3) != 0);
    printf("('end', %llu, %llu, %llu, %u)\n", (unsigned long long)subscriber.received,
           (unsigned long long)subscriber.lost, (unsigned long long)subscriber.position, crc);
    fflush(stdout);
    subscriber_detach(&subscriber);
}

static void show_schema(char **arguments)
{
    struct topic topic;
    topic_open(&topic, arguments[0], arguments[1], false);
    uint8_t *bytes = topic_schema(&topic);
    printf(topic.schema_size ? "('schema'" : "('schema', None)\n");
    if (topic.schema_size) {
        print_hex(bytes, topic.schema_size);
        puts(")");
    }
    free(bytes);
}

static void decode(char **arguments)
{
    enum { MOST_FIELDS = 64 };
    struct topic topic;
    struct subscriber subscriber;
    struct message m;
    struct field_place fields[MOST_FIELDS];
    topic_open(&topic, arguments[0], arguments[1], false);
    uint8_t *schema = topic_schema(&topic);
    uint32_t size, count = fields_of((const char *)schema, fields, MOST_FIELDS, &size);
    subscriber_attach(&subscriber, &topic, false, true);
    while (subscriber_receive(&subscriber, &m, PATIENCE_NS) && (m.type_size != 3 || memcmp(m.type, "end", 3) != 0)) {
        if (m.body_size != size)
            puts("'another size'");
        else
            print_record(fields, count, m.body);
    }
    subscriber_detach(&subscriber);
    free(schema);
}

int main(int count, char **arguments)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(WATCHDOG_S);
    if (count == 8 && strcmp(arguments[1], "publish") == 0)
        publish(arguments + 2);
    else if (count == 7 && strcmp(arguments[1], "subscribe") == 0)
        subscribe(arguments + 2);
    else if (count == 4 && strcmp(arguments[1], "schema") == 0)
        show_schema(arguments + 2);
    else if (count == 4 && strcmp(arguments[1], "decode") == 0)
        decode(arguments + 2);
    else
        fail(EXIT_USAGE, "see the head of main.c");
    return 0;
}
