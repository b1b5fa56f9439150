/* SPDX-License-Identifier: Apache-2.0 */
#include "storm.h"

#include <stdlib.h>
#include <string.h>

void write_down(struct storm *me, enum kind kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    struct record record = {(uint64_t)kind, a, b, c, d};
    append(&me->actor, &record, sizeof record);
}

struct head {
    uint64_t incarnation, counter;
    uint32_t size, checksum;
};

const char *type_of(uint64_t counter) { return counter % 2 ? "odd" : "even"; }

uint32_t body_size(struct storm *me) {
    uint64_t most = throw_dice(&me->actor, 100) == 0 ? me->largest : 400;
    return (uint32_t)(sizeof(struct head) + throw_dice(&me->actor, most - sizeof(struct head)));
}

static uint32_t checksum(struct head head, const uint8_t *filling) {
    head.checksum = 0;
    return crc32(filling, head.size - sizeof head, crc32(&head, sizeof head, 0));
}

void body_make(uint64_t incarnation, uint64_t counter, uint8_t *body, uint32_t size) {
    struct head head = {incarnation, counter, size, 0};
    uint64_t word = incarnation * 8191 + counter * 127;
    for (uint32_t i = sizeof head; i < size; i++) {
        word = word * UINT64_C(6364136223846793005) + 1;
        body[i] = (uint8_t)(word >> 56);
    }
    head.checksum = checksum(head, body + sizeof head);
    memcpy(body, &head, sizeof head);
}

static bool is_sender(uint64_t incarnation, const char *sender, size_t size) {
    char name[24] = "";
    if (size < 2 || size >= sizeof name) return false;
    memcpy(name, sender, size);
    return name[0] == 'i' && strtoull(name + 1, NULL, 10) == incarnation;
}

uint64_t element_check(const uint8_t *body, uint32_t size, uint64_t *counter) {
    struct head head;
    *counter = 0;
    if (size < sizeof head) return TORN;
    memcpy(&head, body, sizeof head);
    *counter = head.counter;
    return head.size == size && head.checksum == checksum(head, body + sizeof head) ? head.incarnation : TORN;
}

uint64_t body_check(const uint8_t *body, uint32_t size, const char *meta, uint8_t type_size, uint8_t sender_size,
                    uint64_t *counter) {
    uint64_t who = element_check(body, size, counter);
    const char *type = type_of(*counter);
    bool right = who != TORN && strlen(type) == type_size && memcmp(type, meta, type_size) == 0;
    return right && is_sender(who & ~POISON, meta + type_size, sender_size) ? who : TORN;
}

/* role, what actor_begin wants, options of the role */
int main(int count, char **arguments) {
    static struct storm me;
    static const struct {
        const char *name;
        int (*play)(struct storm *me, char **options, int count);
    } roles[] = {{"publisher", publish},       {"reader", read_topic},     {"cells_writer", write_cells},
                 {"cells_reader", read_cells}, {"frame_writer", write_frames}, {"frame_reader", read_frames}};
    if (count < 2 + ACTOR_ARGUMENTS) return 2;
    actor_begin(&me.actor, arguments + 2);
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].name, arguments[1]) == 0)
            return roles[i].play(&me, arguments + 2 + ACTOR_ARGUMENTS, count - 2 - ACTOR_ARGUMENTS);
    return 2;
}
