/* SPDX-License-Identifier: Apache-2.0 */
#include "life.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define NOISE_BYTES (8u << 20)

const uint8_t *noise;

void note(struct actor *me, enum kind kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    uint64_t record[6] = {(uint64_t)kind | (uint64_t)me->topic_number << 8, (uint64_t)now_ns(), a, b, c, d};
    append(me, record, sizeof record);
}

/* role, what actor_begin wants, noise */
int main(int count, char **arguments) {
    static struct actor me;
    static const struct {
        const char *name;
        int (*play)(struct actor *me);
    } roles[] = {{"publish", publish}, {"copies", read_copies}, {"held", read_held}};
    if (count != 3 + ACTOR_ARGUMENTS) return 2;
    actor_begin(&me, arguments + 2);
    noise = map_file(arguments[2 + ACTOR_ARGUMENTS], O_RDONLY, PROT_READ, NOISE_BYTES);
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].name, arguments[1]) == 0) return roles[i].play(&me);
    return 2;
}
